//! One frame of a picture: shapes in coordinates of their own (y up), axes with round numbers, labels that
//! keep out of each other's way. Nothing here knows about arms or obstacles.

use std::fmt::Write;

use nalgebra::Point2;

use super::labels::{self, Label};
pub use super::labels::{Frame, Spot};
use super::svg::{escape, label, round_step, Style, FONT};

/// Shape of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A filled circle.
    Disc,
    /// A diagonal cross.
    Cross,
}

#[derive(Debug)]
enum Shape {
    /// Closed rings (holes by the even-odd rule).
    Rings(Vec<Vec<Point2<f64>>>),
    Line(Vec<Point2<f64>>),
    Segments(Vec<[Point2<f64>; 2]>),
    Marker {
        at: Point2<f64>,
        mark: Mark,
        radius: f64,
    },
}

/// Size of the numbers along the axes \[px\].
const NUMBER: f64 = 11.0;

/// A frame with what is drawn in it.
#[derive(Debug, Default)]
pub struct Panel {
    unit: String,
    shapes: Vec<(Shape, Style)>,
    labels: Vec<(Label, Point2<f64>)>,
    stretch: bool,
    heights: Option<(f64, f64)>,
}

impl Panel {
    /// An empty panel. The unit stands under the axes' numbers.
    pub fn new(unit: impl Into<String>) -> Self {
        Panel {
            unit: unit.into(),
            ..Panel::default()
        }
    }

    /// Lets x and y have scales of their own, and x begin at the left edge: for curves.
    pub fn stretched(mut self) -> Self {
        self.stretch = true;
        self
    }

    /// Shows the given range of y, whatever is drawn.
    pub fn heights(mut self, low: f64, high: f64) -> Self {
        self.heights = Some((low, high));
        self
    }

    /// Adds a closed shape, with holes by the even-odd rule.
    pub fn rings(&mut self, rings: Vec<Vec<Point2<f64>>>, style: &Style) {
        self.shapes.push((Shape::Rings(rings), style.clone()));
    }

    /// Adds a polyline.
    pub fn line(&mut self, points: Vec<Point2<f64>>, style: &Style) {
        self.shapes.push((Shape::Line(points), style.clone()));
    }

    /// Adds many separate segments.
    pub fn segments(&mut self, segments: Vec<[Point2<f64>; 2]>, style: &Style) {
        self.shapes.push((Shape::Segments(segments), style.clone()));
    }

    /// Adds a marker of the given radius (px).
    pub fn marker(&mut self, at: Point2<f64>, mark: Mark, radius: f64, style: &Style) {
        self.shapes
            .push((Shape::Marker { at, mark, radius }, style.clone()));
    }

    /// Adds a text; those added first are placed first. One that is not needed is left out where there is no
    /// room for it.
    pub fn label(
        &mut self,
        at: Point2<f64>,
        text: impl Into<String>,
        spot: Spot,
        needed: bool,
        colour: &'static str,
    ) {
        let label = Label {
            text: text.into(),
            spot,
            colour,
            needed,
        };
        self.labels.push((label, at));
    }

    fn points(&self) -> impl Iterator<Item = &Point2<f64>> {
        self.shapes.iter().flat_map(
            |(shape, _)| -> Box<dyn Iterator<Item = &Point2<f64>> + '_> {
                match shape {
                    Shape::Rings(rings) => Box::new(rings.iter().flatten()),
                    Shape::Line(points) => Box::new(points.iter()),
                    Shape::Segments(segments) => Box::new(segments.iter().flatten()),
                    Shape::Marker { at, .. } => Box::new(std::iter::once(at)),
                }
            },
        )
    }

    /// Smallest and largest coordinates of what is drawn, with a margin.
    fn extent(&self) -> [(f64, f64); 2] {
        let mut extent = [(f64::INFINITY, f64::NEG_INFINITY); 2];
        for p in self.points().filter(|p| p.x.is_finite() && p.y.is_finite()) {
            for (range, value) in extent.iter_mut().zip([p.x, p.y]) {
                *range = (range.0.min(value), range.1.max(value));
            }
        }
        if extent[0].0 > extent[0].1 {
            extent = [(0.0, 1.0); 2];
        }
        let spans = extent.map(|(low, high)| high - low);
        let largest = spans[0].max(spans[1]).max(1e-9);
        for (axis, (range, span)) in extent.iter_mut().zip(spans).enumerate() {
            let span = if self.stretch {
                span.max(1e-9)
            } else {
                largest
            };
            let margin = if self.stretch && axis == 0 {
                0.0
            } else {
                0.04 * span
            };
            *range = (range.0 - margin, range.1 + margin);
            if range.0 >= range.1 {
                *range = (range.0, range.0 + span);
            }
        }
        if let Some(heights) = self.heights {
            extent[1] = heights;
        }
        extent
    }

    /// Height over width at which both axes have one scale and nothing is left over.
    pub fn shape(&self) -> f64 {
        let [x, y] = self.extent();
        (y.1 - y.0) / (x.1 - x.0)
    }

    /// Draws into a frame; the numbers of the axes stand outside, to the left and below.
    pub fn draw(&self, svg: &mut String, frame: Frame) -> View {
        let view = View::new(self.extent(), frame, self.stretch);
        view.axes(svg, &self.unit);
        // Frames of one picture lie apart, so that their corners tell them apart.
        let clip = format!("frame-{:.0}-{:.0}", frame.x, frame.y);
        let _ = writeln!(
            svg,
            "<clipPath id=\"{clip}\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/></clipPath>\n<g clip-path=\"url(#{clip})\">",
            frame.x, frame.y, frame.width, frame.height
        );
        for (shape, style) in &self.shapes {
            view.shape(svg, shape, style);
        }
        self.write_labels(svg, &view);
        svg.push_str("</g>\n");
        view
    }

    fn write_labels(&self, svg: &mut String, view: &View) {
        let mut taken = Vec::new();
        let mut dots = Vec::new();
        for (shape, _) in &self.shapes {
            match shape {
                // Small ones are many and may be written over.
                Shape::Marker { at, radius, .. } if *radius > 4.0 => taken.push(Frame {
                    x: view.x(at.x) - radius,
                    y: view.y(at.y) - radius,
                    width: 2.0 * radius,
                    height: 2.0 * radius,
                }),
                Shape::Line(points) => dots.extend(view.dotted(points)),
                _ => {}
            }
        }
        let labels = self.labels.iter();
        let placed = labels.map(|(label, at)| (label, [view.x(at.x), view.y(at.y)]));
        labels::write(svg, placed, &view.frame, taken, &dots);
    }
}

/// From a panel's coordinates to the paper.
#[derive(Debug, Clone, Copy)]
pub struct View {
    low: [f64; 2],
    high: [f64; 2],
    scale: [f64; 2],
    frame: Frame,
}

impl View {
    fn new(extent: [(f64, f64); 2], frame: Frame, stretch: bool) -> Self {
        let size = [frame.width, frame.height];
        let mut low = extent.map(|range| range.0);
        let mut high = extent.map(|range| range.1);
        let mut scale = [0, 1].map(|axis| size[axis] / (high[axis] - low[axis]));
        if !stretch {
            scale = [scale[0].min(scale[1]); 2];
            for axis in 0..2 {
                let spare = size[axis] / scale[axis] - (high[axis] - low[axis]);
                low[axis] -= spare / 2.0;
                high[axis] += spare / 2.0;
            }
        }
        View {
            low,
            high,
            scale,
            frame,
        }
    }

    /// Place on the paper (px) of a value of the first axis.
    pub fn x(&self, x: f64) -> f64 {
        self.frame.x + (x - self.low[0]) * self.scale[0]
    }

    /// Place on the paper (px) of a value of the second axis.
    pub fn y(&self, y: f64) -> f64 {
        self.frame.y + (self.high[1] - y) * self.scale[1]
    }

    fn axes(&self, svg: &mut String, unit: &str) {
        let Frame {
            x: left,
            y: top,
            width,
            height,
        } = self.frame;
        let (right, bottom) = (left + width, top + height);
        for axis in 0..2 {
            let room = if axis == 0 {
                width / 90.0
            } else {
                height / 32.0
            };
            let step = round_step((self.high[axis] - self.low[axis]) / room.clamp(2.0, 9.0));
            let first = (self.low[axis] / step).ceil();
            // Beyond 2⁵³ steps from zero the numbers could not be told apart.
            for k in 0..20 {
                let value = (first + f64::from(k)) * step;
                if value.is_nan() || value > self.high[axis] {
                    break;
                }
                let text = label(value, step);
                let _ = if axis == 0 {
                    let x = self.x(value);
                    writeln!(
                        svg,
                        "<line x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#eeeeee\"/><text x=\"{x:.1}\" y=\"{:.1}\" {FONT} font-size=\"{NUMBER}\" fill=\"#777777\" text-anchor=\"middle\">{text}</text>",
                        bottom + 15.0
                    )
                } else {
                    let y = self.y(value);
                    writeln!(
                        svg,
                        "<line x1=\"{left:.1}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\" stroke=\"#eeeeee\"/><text x=\"{:.1}\" y=\"{:.1}\" {FONT} font-size=\"{NUMBER}\" fill=\"#777777\" text-anchor=\"end\">{text}</text>",
                        left - 6.0,
                        y + 4.0
                    )
                };
            }
        }
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"none\" stroke=\"#bbbbbb\"/><text x=\"{right:.1}\" y=\"{:.1}\" {FONT} font-size=\"{NUMBER}\" fill=\"#777777\" text-anchor=\"end\">{}</text>",
            bottom + 29.0,
            escape(unit)
        );
    }

    /// Points on the paper a few pixels apart along a line, as far as they are in the frame.
    fn dotted(&self, points: &[Point2<f64>]) -> Vec<[f64; 2]> {
        const APART: f64 = 5.0;
        let mut dots = Vec::new();
        for pair in points.windows(2) {
            let [a, b] = [&pair[0], &pair[1]].map(|p| [self.x(p.x), self.y(p.y)]);
            let length = (b[0] - a[0]).hypot(b[1] - a[1]);
            // A line that leaves the frame by far is not looked at.
            if !length.is_finite() || length > 1e4 {
                continue;
            }
            let parts = (length / APART).ceil().max(1.0);
            let at = |k: f64| [0, 1].map(|axis| a[axis] + (b[axis] - a[axis]) * k / parts);
            let all = (0..parts as u32).map(|k| at(f64::from(k)));
            dots.extend(all.filter(|dot| self.frame.has(dot)));
        }
        dots
    }

    fn path(&self, points: &[Point2<f64>]) -> String {
        let mut text = String::with_capacity(points.len() * 16);
        let finite = |p: &&Point2<f64>| p.x.is_finite() && p.y.is_finite();
        for (k, p) in points.iter().filter(finite).enumerate() {
            let _ = write!(
                text,
                "{}{:.2} {:.2}",
                if k == 0 { "M" } else { "L" },
                self.x(p.x),
                self.y(p.y)
            );
        }
        text
    }

    fn shape(&self, svg: &mut String, shape: &Shape, style: &Style) {
        let attributes = style.attributes();
        let _ = match shape {
            Shape::Rings(rings) => {
                let d: String = rings.iter().map(|r| self.path(r) + "Z").collect();
                writeln!(svg, "<path d=\"{d}\" {attributes}/>")
            }
            Shape::Line(points) => {
                writeln!(svg, "<path d=\"{}\" {attributes}/>", self.path(points))
            }
            Shape::Segments(segments) => {
                let d: String = segments.iter().map(|s| self.path(s)).collect();
                writeln!(svg, "<path d=\"{d}\" {attributes}/>")
            }
            Shape::Marker {
                at,
                mark,
                radius: r,
            } => {
                let (x, y) = (self.x(at.x), self.y(at.y));
                match mark {
                    Mark::Disc => writeln!(
                        svg,
                        "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{r}\" {attributes}/>"
                    ),
                    Mark::Cross => writeln!(
                        svg,
                        "<path d=\"M{0:.2} {1:.2}L{2:.2} {3:.2}M{0:.2} {3:.2}L{2:.2} {1:.2}\" {attributes}/>",
                        x - r, y - r, x + r, y + r
                    ),
                }
            }
        };
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

    #[test]
    fn y_points_up_and_everything_is_in_the_frame() {
        for stretch in [false, true] {
            let mut panel = Panel::new("m");
            panel.stretch = stretch;
            let ends = [Point2::new(-1.0, 0.0), Point2::new(2.0, 1.0)];
            panel.line(ends.to_vec(), &Style::line("#000000", 1.0));
            let view = panel.draw(&mut String::new(), FRAME);
            assert!(view.y(1.0) < view.y(0.0));
            for end in ends {
                assert!((50.0..=350.0).contains(&view.x(end.x)));
                assert!((20.0..=220.0).contains(&view.y(end.y)));
            }
            let one = (view.x(1.0) - view.x(0.0)) / (view.y(0.0) - view.y(1.0));
            assert_eq!((one - 1.0).abs() < 1e-9, !stretch, "{one}");
        }
    }

    #[test]
    fn empty_and_pointlike_panels_are_finite() {
        for points in [
            vec![],
            vec![Point2::new(3.0, 3.0)],
            vec![Point2::new(1e300, f64::NAN)],
            vec![Point2::new(1e7, 1e7); 2],
        ] {
            let mut panel = Panel::new("").stretched();
            panel.line(points, &Style::line("#000000", 1.0));
            let mut svg = String::new();
            let view = panel.draw(&mut svg, FRAME);
            assert!(view.x(0.0).is_finite() && view.scale[0].is_finite());
            assert!(svg.matches("text-anchor=\"middle\"").count() < 30);
        }
    }
}
