//! Curves over time with their limits: those on the scale as lines, the others as a value with an arrow.

use std::fmt::Write as _;

use nalgebra::Point2;

use super::panel::{Frame, Panel};
use super::svg::{line_of_text, Style, FONT};

/// Colours that stay apart for people who see colours differently.
const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#555555",
];

/// Patterns that tell curves of the same colour apart.
const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];

/// Widths of the first and the last curve \[px\]: one that lies under another one shows at its sides.
const WIDTHS: (f64, f64) = (3.8, 1.2);

/// How the curve of the series with this number, from 0, of so many is drawn.
pub fn style(series: usize, of: usize) -> Style {
    let share = series as f64 / of.saturating_sub(1).max(1) as f64;
    let width = WIDTHS.0 + (WIDTHS.1 - WIDTHS.0) * share;
    Style::line(
        COLOURS[series % COLOURS.len()],
        (width * 10.0).round() / 10.0,
    )
    .dashed(DASHES[series / COLOURS.len() % DASHES.len()])
}

/// One curve.
pub struct Series {
    /// Points: time (s) and value.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper limit; not finite where there is none.
    pub limits: (f64, f64),
}

/// A chart of several curves over one time axis.
pub struct Chart<'a> {
    /// What is drawn, with its unit.
    pub title: &'a str,
    /// The curves; in what is written about limits they are called by their numbers, from 1.
    pub series: &'a [Series],
}

/// A limit of some of the series.
struct Limit {
    value: f64,
    upper: bool,
    series: Vec<usize>,
}

/// What stands beside the frame: where it should \[px\], its text and colour.
struct Note {
    y: f64,
    text: String,
    colour: &'static str,
}

/// Limits farther from the curves than this, in heights of theirs, would flatten them.
const NEAR: f64 = 0.7;

/// Smallest distance of two notes \[px\].
const GAP: f64 = 13.0;

/// More limits than this beyond one edge are told by their range.
const TOLD: usize = 3;

const COMMON: &str = "#333333";

impl Chart<'_> {
    /// Draws into a frame; the title stands above, what is off the scale to the right.
    pub fn draw(&self, svg: &mut String, frame: Frame) {
        line_of_text(svg, frame.x, frame.y - 6.0, 13.0, "#222222", self.title);
        let values = || {
            let points = self.series.iter().flat_map(|series| &series.points);
            points
                .map(|point| point.1)
                .filter(|value| value.is_finite())
        };
        let mut low = values().fold(f64::INFINITY, f64::min);
        let mut high = values().fold(f64::NEG_INFINITY, f64::max);
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let span = (high - low).max(1e-6);
        let near = (low - NEAR * span, high + NEAR * span);
        let limits = self.limits();
        let on_scale = |limit: &Limit| limit.value > near.0 && limit.value < near.1;
        for limit in limits.iter().filter(|limit| on_scale(limit)) {
            (low, high) = (low.min(limit.value), high.max(limit.value));
        }
        let margin = 0.06 * (high - low).max(1e-6);
        let mut panel = Panel::new("time [s]")
            .stretched()
            .heights(low - margin, high + margin);
        let last = self.series.iter().flat_map(|series| &series.points);
        let last = last.map(|point| point.0).fold(0.0, f64::max);
        for limit in limits.iter().filter(|limit| on_scale(limit)) {
            let ends = [0.0, last].map(|time| Point2::new(time, limit.value));
            let line = Style::line(colour(&limit.series), 1.0).dashed("4 3");
            panel.line(ends.to_vec(), &line);
        }
        for (number, series) in self.series.iter().enumerate() {
            let points = series
                .points
                .iter()
                .map(|(time, value)| Point2::new(*time, *value));
            panel.line(points.collect(), &style(number, self.series.len()));
        }
        let view = panel.draw(svg, frame);
        let mut notes: Vec<Note> = limits
            .iter()
            .filter(|limit| on_scale(limit))
            .map(|limit| Note {
                y: view.y(limit.value),
                text: format!("{} {}", short(limit.value), self.names(&limit.series)),
                colour: colour(&limit.series),
            })
            .collect();
        for upper in [true, false] {
            let (arrow, y) = if upper {
                ("↑", frame.y)
            } else {
                ("↓", frame.y + frame.height)
            };
            let beyond: Vec<&Limit> = limits
                .iter()
                .filter(|limit| !on_scale(limit) && limit.upper == upper)
                .collect();
            if beyond.len() > TOLD {
                let (least, most) = beyond.iter().fold(
                    (f64::INFINITY, f64::NEG_INFINITY),
                    |(least, most), limit| (least.min(limit.value), most.max(limit.value)),
                );
                notes.push(Note {
                    y,
                    text: format!("{arrow} {} to {}", short(least), short(most)),
                    colour: COMMON,
                });
            } else {
                notes.extend(beyond.into_iter().map(|limit| Note {
                    y,
                    text: format!(
                        "{arrow} {} {}",
                        short(limit.value),
                        self.names(&limit.series)
                    ),
                    colour: colour(&limit.series),
                }));
            }
        }
        write_notes(svg, frame, notes);
    }

    /// The finite limits, equal ones as one.
    fn limits(&self) -> Vec<Limit> {
        let mut limits: Vec<Limit> = Vec::new();
        for (number, series) in self.series.iter().enumerate() {
            for (value, upper) in [(series.limits.0, false), (series.limits.1, true)] {
                if !value.is_finite() {
                    continue;
                }
                let same = |limit: &&mut Limit| {
                    limit.upper == upper && (limit.value - value).abs() <= 1e-6 * value.abs()
                };
                match limits.iter_mut().find(same) {
                    Some(limit) => limit.series.push(number),
                    None => limits.push(Limit {
                        value,
                        upper,
                        series: vec![number],
                    }),
                }
            }
        }
        limits
    }

    /// "(all)", or numbers with runs of three and more as ranges.
    fn names(&self, numbers: &[usize]) -> String {
        if numbers.len() == self.series.len() && numbers.len() > 1 {
            return "(all)".to_owned();
        }
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for number in numbers {
            match runs.last_mut() {
                Some((_, end)) if *end + 1 == *number => *end = *number,
                _ => runs.push((*number, *number)),
            }
        }
        let words: Vec<String> = runs
            .into_iter()
            .map(|(begin, end)| match end - begin {
                0 => (begin + 1).to_string(),
                1 => format!("{}, {}", begin + 1, end + 1),
                _ => format!("{}–{}", begin + 1, end + 1),
            })
            .collect();
        format!("({})", words.join(", "))
    }
}

fn colour(series: &[usize]) -> &'static str {
    match series {
        [one] => COLOURS[one % COLOURS.len()],
        _ => COMMON,
    }
}

/// A value with three digits or so.
fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let size = value.abs().log10().floor();
    if !(-3.0..=4.0).contains(&size) {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.*}", (2.0 - size).clamp(0.0, 5.0) as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Writes the notes beside the frame in the order of their places, pushed apart.
fn write_notes(svg: &mut String, frame: Frame, mut notes: Vec<Note>) {
    notes.sort_by(|a, b| a.y.total_cmp(&b.y));
    let mut next = frame.y;
    for note in &mut notes {
        note.y = note.y.max(next);
        next = note.y + GAP;
    }
    let mut next = frame.y + frame.height;
    for note in notes.iter_mut().rev() {
        note.y = note.y.min(next);
        next = note.y - GAP;
    }
    for note in notes {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" {FONT} font-size=\"11\" fill=\"{}\">{}</text>",
            frame.x + frame.width + 5.0,
            note.y + 4.0,
            note.colour,
            note.text
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame {
        x: 60.0,
        y: 40.0,
        width: 300.0,
        height: 200.0,
    };

    fn drawn(series: &[Series]) -> String {
        let mut svg = String::new();
        Chart { title: "t", series }.draw(&mut svg, FRAME);
        svg
    }

    fn wave(height: f64, limits: (f64, f64)) -> Series {
        let point = |k: u32| (f64::from(k) * 0.1, f64::from(k).sin() * height);
        Series {
            points: (0..50).map(point).collect(),
            limits,
        }
    }

    #[test]
    fn every_limit_is_a_line_or_an_arrow_with_its_value() {
        let series = [
            wave(1.0, (-1.5, 40.0)),
            wave(0.5, (-1.2, 40.0)),
            wave(0.2, (-9.0, 7.5)),
        ];
        let svg = drawn(&series);
        for text in [
            "-1.5 (1)",
            "-1.2 (2)",
            "↓ -9 (3)",
            "↑ 40 (1, 2)",
            "↑ 7.5 (3)",
        ] {
            assert!(svg.contains(&format!(">{text}<")), "{text} is not in {svg}");
        }
        assert_eq!(svg.matches("stroke-dasharray=\"4 3\"").count(), 2);
    }

    #[test]
    fn notes_do_not_cover_each_other() {
        let limits = |k: u32| (-1.0 - 1e-3 * f64::from(k), 1.0 + 2e-3 * f64::from(k));
        let series: Vec<Series> = (0..7).map(|k| wave(1.0, limits(k))).collect();
        let svg = drawn(&series);
        let mut places: Vec<f64> = svg
            .lines()
            .filter(|line| line.contains("x=\"365.0\""))
            .map(|line| {
                line.split("y=\"")
                    .nth(1)
                    .unwrap()
                    .split('"')
                    .next()
                    .unwrap()
            })
            .map(|y| y.parse().unwrap())
            .collect();
        assert_eq!(places.len(), 14);
        places.sort_by(f64::total_cmp);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] > GAP - 0.2));
        assert!(places[0] >= 40.0 && places[13] <= 245.0, "{places:?}");
    }

    #[test]
    fn many_far_limits_are_told_by_their_range() {
        let limits = |k: u32| (f64::NAN, 10.0 + f64::from(k));
        let series: Vec<Series> = (0..20).map(|k| wave(1.0, limits(k))).collect();
        let svg = drawn(&series);
        assert!(svg.contains("↑ 10 to 29"), "{svg}");
        // Colours come again, with another pattern.
        assert!((0..20).all(|a| (0..a).all(|b| style(a, 20) != style(b, 20))));
    }

    #[test]
    fn nothing_to_draw_is_no_error() {
        let nowhere = Series {
            points: vec![(0.0, f64::NAN)],
            limits: (f64::NAN, f64::INFINITY),
        };
        for series in [vec![], vec![nowhere]] {
            assert!(!drawn(&series).contains("\"NaN"));
        }
    }
}
