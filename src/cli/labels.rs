//! Where labels stand, so that they cover neither each other nor, as far as can be, what is drawn. All in
//! pixels of the paper, y down.

use std::fmt::Write;

use super::svg::{escape, text_width, FONT};

/// A rectangle of the paper \[px\].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Frame {
    fn meets(&self, other: &Frame) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }

    /// Whether a point lies inside or on the edge.
    pub fn has(&self, [x, y]: &[f64; 2]) -> bool {
        (self.x..=self.x + self.width).contains(x) && (self.y..=self.y + self.height).contains(y)
    }

    fn holds(&self, other: &Frame) -> bool {
        self.has(&[other.x, other.y]) && self.has(&[other.x + other.width, other.y + other.height])
    }
}

/// Where a label may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// On its point, or a little above or below.
    On,
    /// Beside its point, on whichever side is free.
    Beside,
}

/// A text that belongs to a place.
#[derive(Debug)]
pub struct Label {
    /// What is written.
    pub text: String,
    /// Where it may stand.
    pub spot: Spot,
    /// Its colour.
    pub colour: &'static str,
    /// Whether it is written even where it covers another one.
    pub needed: bool,
}

/// Size of labels \[px\].
const SIZE: f64 = 13.0;

/// Distance of a label from its point \[px\].
const BESIDE: f64 = 9.0;

impl Label {
    /// The places that it may have about `x`, `y`, the best first; one that would stick out of `frame` to the side is moved
    /// in.
    fn places(&self, [x, y]: [f64; 2], frame: &Frame) -> Vec<Frame> {
        let (width, height) = (text_width(&self.text, SIZE), SIZE);
        let (aside, above) = (width / 2.0 + BESIDE, height / 2.0 + BESIDE);
        let offsets: &[(f64, f64)] = match self.spot {
            Spot::On => &[(0.0, 0.0), (0.0, -14.0), (0.0, 14.0)],
            Spot::Beside => &[
                (aside, 0.0),
                (0.0, -above),
                (-aside, 0.0),
                (0.0, above),
                (aside, -above),
                (-aside, -above),
                (aside, above),
                (-aside, above),
                (0.0, -2.0 * above),
                (0.0, 2.0 * above),
            ],
        };
        let most = frame.x + frame.width - width - 2.0;
        let at = |(dx, dy): &(f64, f64)| Frame {
            x: (x + dx - width / 2.0).min(most).max(frame.x + 2.0),
            y: y + dy - height / 2.0,
            width,
            height,
        };
        offsets.iter().map(at).collect()
    }
}

/// Writes labels, those that come first placed first, each with its point: inside `frame`, off what is `taken`, and on as
/// few of the `dots` of drawn lines as can be. One that is not needed is left out where there is no room.
pub fn write<'a>(
    svg: &mut String,
    labels: impl Iterator<Item = (&'a Label, [f64; 2])>,
    frame: &Frame,
    mut taken: Vec<Frame>,
    dots: &[[f64; 2]],
) {
    for (label, point) in labels {
        let places = label.places(point, frame);
        let free = places
            .iter()
            .filter(|place| frame.holds(place) && !taken.iter().any(|other| other.meets(place)))
            // Of equal ones the first.
            .min_by_key(|place| dots.iter().filter(|dot| place.has(dot)).count());
        let Some(place) = free.or(places.first().filter(|_| label.needed)) else {
            continue;
        };
        taken.push(*place);
        let text = escape(&label.text);
        let (x, y) = (place.x, place.y + 0.85 * SIZE);
        // A white copy underneath: not every viewer knows `paint-order`.
        let halo = "fill=\"#ffffff\" stroke=\"#ffffff\" stroke-width=\"3\"";
        let colour = format!("fill=\"{}\"", label.colour);
        for paint in [halo, &colour] {
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" {FONT} font-size=\"{SIZE}\" {paint}>{text}</text>"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame {
        x: 50.0,
        y: 20.0,
        width: 300.0,
        height: 200.0,
    };

    /// Boxes of the labels written.
    fn written(labels: &[Label], point: [f64; 2], dots: &[[f64; 2]]) -> Vec<Frame> {
        let mut svg = String::new();
        let labels = labels.iter().map(|label| (label, point));
        write(&mut svg, labels, &FRAME, Vec::new(), dots);
        let coloured = svg.lines().filter(|line| line.contains("fill=\"#222222\""));
        coloured
            .map(|line| {
                let number = |name: &str| -> f64 {
                    let rest = line.split(&format!("{name}=\"")).nth(1).unwrap();
                    rest.split('"').next().unwrap().parse().unwrap()
                };
                let text = line.split('>').nth(1).unwrap().split('<').next().unwrap();
                Frame {
                    x: number(" x"),
                    y: number(" y") - 0.85 * SIZE,
                    width: text_width(text, SIZE),
                    height: SIZE,
                }
            })
            .collect()
    }

    fn label(text: &str, spot: Spot, needed: bool) -> Label {
        Label {
            text: text.to_owned(),
            spot,
            colour: "#222222",
            needed,
        }
    }

    /// Twenty labels at one place: those that are needed are all there, the others where there is room.
    #[test]
    fn labels_keep_apart_or_are_left_out() {
        let labels: Vec<Label> = (0..20)
            .map(|k| label(&format!("label-{k}"), Spot::Beside, k < 3))
            .collect();
        let places = written(&labels, [200.0, 120.0], &[]);
        assert!((3..20).contains(&places.len()), "{}", places.len());
        for (k, a) in places.iter().enumerate() {
            // Written with one decimal.
            let smaller = Frame {
                x: a.x + 0.2,
                y: a.y + 0.2,
                width: a.width - 0.4,
                height: a.height - 0.4,
            };
            assert!(FRAME.holds(&smaller));
            assert!(places[..k].iter().all(|b| !b.meets(&smaller)), "{places:?}");
        }
        let on: Vec<Label> = (0..9).map(|_| label("x", Spot::On, true)).collect();
        assert_eq!(written(&on, [200.0, 120.0], &[]).len(), 9);
    }

    #[test]
    fn labels_keep_off_lines_and_inside_the_frame() {
        let words = [label("words", Spot::Beside, true)];
        let dots: Vec<[f64; 2]> = (0..60).map(|k| [200.0 + f64::from(k), 120.0]).collect();
        let place = written(&words, [200.0, 120.0], &dots)[0];
        assert!(!dots.iter().any(|dot| place.has(dot)), "{place:?}");
        let place = written(&words, [349.0, 21.0], &[])[0];
        assert!(
            place.x + place.width <= 350.0 && place.y >= 19.9,
            "{place:?}"
        );
    }
}
