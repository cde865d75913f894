//! Small vector pictures: world coordinates in, SVG text out.
//!
//! A [`Picture`] collects shapes in world coordinates (y up), then
//! [`Picture::to_svg`] scales them to the paper, draws a frame with round
//! numbers along it, and puts a legend underneath. Nothing here knows about
//! arms or obstacles.
//!
//! Longer than most files here: one picture, its layers and its legend.

use std::fmt::Write;

use nalgebra::Point2;

/// How a shape is drawn. Sizes are in pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct Style {
    /// Fill colour, or `none`.
    pub fill: &'static str,
    /// Line colour, or `none`.
    pub stroke: &'static str,
    /// Line width.
    pub width: f64,
    /// Dash pattern, empty for a solid line.
    pub dash: &'static str,
    /// Opacity of everything, 0 to 1.
    pub opacity: f64,
}

impl Style {
    /// A line.
    pub const fn line(stroke: &'static str, width: f64) -> Self {
        Style {
            fill: "none",
            stroke,
            width,
            dash: "",
            opacity: 1.0,
        }
    }

    /// A filled shape with an outline.
    pub const fn filled(fill: &'static str, stroke: &'static str, width: f64) -> Self {
        Style {
            fill,
            stroke,
            width,
            dash: "",
            opacity: 1.0,
        }
    }

    /// The same, dashed.
    pub const fn dashed(mut self, dash: &'static str) -> Self {
        self.dash = dash;
        self
    }

    /// The same, see-through.
    pub const fn opacity(mut self, opacity: f64) -> Self {
        self.opacity = opacity;
        self
    }

    fn attributes(&self) -> String {
        let mut text = format!(
            r#"fill="{}" fill-rule="evenodd" stroke="{}" stroke-width="{}" stroke-linejoin="round" stroke-linecap="round""#,
            self.fill, self.stroke, self.width
        );
        if !self.dash.is_empty() {
            let _ = write!(text, r#" stroke-dasharray="{}""#, self.dash);
        }
        if self.opacity < 1.0 {
            let _ = write!(text, r#" opacity="{}""#, self.opacity);
        }
        text
    }
}

/// Shape of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A filled circle.
    Disc,
    /// A filled square standing on its tip.
    Diamond,
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
    Text {
        at: Point2<f64>,
        text: String,
        size: f64,
        above: bool,
    },
}

/// A picture in world coordinates.
#[derive(Debug, Default)]
pub struct Picture {
    title: String,
    unit: String,
    shapes: Vec<(Shape, Style)>,
    legend: Vec<(Option<(Style, bool)>, String)>,
    stretch: bool,
}

/// Width of the drawing area, and the largest height it may have. \[px\]
const PAPER: (f64, f64) = (900.0, 900.0);
const LEFT: f64 = 64.0;
const TOP: f64 = 48.0;
const RIGHT: f64 = 24.0;
const ROW: f64 = 20.0;
const FONT: &str = "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\"";

impl Picture {
    /// An empty picture. The unit stands beside the axes' numbers.
    pub fn new(title: impl Into<String>, unit: impl Into<String>) -> Self {
        Picture {
            title: title.into(),
            unit: unit.into(),
            ..Picture::default()
        }
    }

    /// Lets x and y have scales of their own: for curves over time.
    pub fn stretched(mut self) -> Self {
        self.stretch = true;
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

    /// Adds a marker of the given radius \[px\].
    pub fn marker(&mut self, at: Point2<f64>, mark: Mark, radius: f64, style: &Style) {
        self.shapes
            .push((Shape::Marker { at, mark, radius }, style.clone()));
    }

    /// Adds a text centred on a point, or above it. The style's fill is its colour.
    pub fn text(
        &mut self,
        at: Point2<f64>,
        text: impl Into<String>,
        size: f64,
        above: bool,
        color: &'static str,
    ) {
        let shape = Shape::Text {
            at,
            text: text.into(),
            size,
            above,
        };
        self.shapes.push((shape, Style::filled(color, "none", 0.0)));
    }

    /// Adds a row to the legend with a sample of a line or an area.
    pub fn legend(&mut self, style: &Style, text: impl Into<String>) {
        let area = style.fill != "none";
        self.legend.push((Some((style.clone(), area)), text.into()));
    }

    /// Adds a row of text to the legend.
    pub fn note(&mut self, text: impl Into<String>) {
        self.legend.push((None, text.into()));
    }

    fn points(&self) -> impl Iterator<Item = &Point2<f64>> {
        self.shapes.iter().flat_map(
            |(shape, _)| -> Box<dyn Iterator<Item = &Point2<f64>> + '_> {
                match shape {
                    Shape::Rings(rings) => Box::new(rings.iter().flatten()),
                    Shape::Line(points) => Box::new(points.iter()),
                    Shape::Segments(segments) => Box::new(segments.iter().flatten()),
                    Shape::Marker { at, .. } | Shape::Text { at, .. } => {
                        Box::new(std::iter::once(at))
                    }
                }
            },
        )
    }

    /// Draws.
    pub fn to_svg(&self) -> String {
        let view = View::around(self.points(), self.stretch);
        let legend_top = TOP + view.size[1] + 48.0;
        let height = legend_top + ROW * self.legend.len() as f64 + 8.0;
        let width = LEFT + view.size[0] + RIGHT;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text x=\"{LEFT}\" y=\"28\" {FONT} font-size=\"17\" fill=\"#222222\">{}</text>\n",
            escape(&self.title)
        );
        view.axes(&mut svg, &self.unit);
        let _ = writeln!(
            svg,
            "<clipPath id=\"frame\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"/></clipPath>\n<g clip-path=\"url(#frame)\">",
            view.size[0], view.size[1]
        );
        for (shape, style) in &self.shapes {
            view.shape(&mut svg, shape, style);
        }
        svg.push_str("</g>\n");
        for (k, (sample, text)) in self.legend.iter().enumerate() {
            let y = legend_top + ROW * k as f64;
            let x = if sample.is_some() { LEFT + 40.0 } else { LEFT };
            if let Some((style, area)) = sample {
                let attributes = style.attributes();
                let _ = if *area {
                    writeln!(
                        svg,
                        "<rect x=\"{LEFT}\" y=\"{:.1}\" width=\"30\" height=\"11\" {attributes}/>",
                        y - 10.0
                    )
                } else {
                    writeln!(
                        svg,
                        "<line x1=\"{LEFT}\" y1=\"{0:.1}\" x2=\"{1}\" y2=\"{0:.1}\" {attributes}/>",
                        y - 5.0,
                        LEFT + 30.0
                    )
                };
            }
            let _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y:.1}\" {FONT} font-size=\"13\" fill=\"#222222\">{}</text>",
                escape(text)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// World to paper.
struct View {
    low: [f64; 2],
    high: [f64; 2],
    scale: [f64; 2],
    size: [f64; 2],
}

impl View {
    fn around<'a>(points: impl Iterator<Item = &'a Point2<f64>>, stretch: bool) -> Self {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for p in points.filter(|p| p.x.is_finite() && p.y.is_finite()) {
            low = [low[0].min(p.x), low[1].min(p.y)];
            high = [high[0].max(p.x), high[1].max(p.y)];
        }
        if low[0] > high[0] {
            (low, high) = ([0.0; 2], [1.0; 2]);
        }
        let largest = (high[0] - low[0]).max(high[1] - low[1]).max(1e-9);
        for k in 0..2 {
            let extent = if stretch {
                (high[k] - low[k]).max(1e-9)
            } else {
                largest
            };
            low[k] -= extent * 0.04;
            high[k] += extent * 0.04;
        }
        let extent = [high[0] - low[0], high[1] - low[1]];
        let scale = if stretch {
            [PAPER.0 / extent[0], PAPER.1 * 0.5 / extent[1]]
        } else {
            [(PAPER.0 / extent[0]).min(PAPER.1 / extent[1]); 2]
        };
        // A picture narrower than its legend serves nobody.
        let size = [
            (extent[0] * scale[0]).max(PAPER.0 * 0.7),
            extent[1] * scale[1],
        ];
        let spare = size[0] / scale[0] - extent[0];
        low[0] -= spare / 2.0;
        high[0] += spare / 2.0;
        View {
            low,
            high,
            scale,
            size,
        }
    }

    fn x(&self, x: f64) -> f64 {
        LEFT + (x - self.low[0]) * self.scale[0]
    }

    fn y(&self, y: f64) -> f64 {
        TOP + (self.high[1] - y) * self.scale[1]
    }

    fn axes(&self, svg: &mut String, unit: &str) {
        let (right, bottom) = (LEFT + self.size[0], TOP + self.size[1]);
        for axis in 0..2 {
            let step = round_step((self.high[axis] - self.low[axis]) / 8.0);
            let digits = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
            let mut k = (self.low[axis] / step).ceil();
            while k * step <= self.high[axis] {
                let value = k * step;
                let label = format!("{:.digits$}", if value == 0.0 { 0.0 } else { value });
                let _ = if axis == 0 {
                    let x = self.x(value);
                    writeln!(
                        svg,
                        "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#eeeeee\"/><text x=\"{x:.1}\" y=\"{:.1}\" {FONT} font-size=\"11\" fill=\"#777777\" text-anchor=\"middle\">{label}</text>",
                        bottom + 15.0
                    )
                } else {
                    let y = self.y(value);
                    writeln!(
                        svg,
                        "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\" stroke=\"#eeeeee\"/><text x=\"{:.1}\" y=\"{:.1}\" {FONT} font-size=\"11\" fill=\"#777777\" text-anchor=\"end\">{label}</text>",
                        LEFT - 6.0,
                        y + 4.0
                    )
                };
                k += 1.0;
            }
        }
        let _ = writeln!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"none\" stroke=\"#bbbbbb\"/><text x=\"{right:.1}\" y=\"{:.1}\" {FONT} font-size=\"11\" fill=\"#777777\" text-anchor=\"end\">{}</text>",
            self.size[0],
            self.size[1],
            bottom + 30.0,
            escape(unit)
        );
    }

    fn path(&self, points: &[Point2<f64>]) -> String {
        let mut text = String::with_capacity(points.len() * 16);
        for (k, p) in points.iter().enumerate() {
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
                    Mark::Disc => writeln!(svg, "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{r}\" {attributes}/>"),
                    Mark::Diamond => writeln!(
                        svg,
                        "<path d=\"M{:.2} {y:.2}L{x:.2} {:.2}L{:.2} {y:.2}L{x:.2} {:.2}Z\" {attributes}/>",
                        x - r, y - r, x + r, y + r
                    ),
                }
            }
            Shape::Text {
                at,
                text,
                size,
                above,
            } => {
                let x = self.x(at.x);
                let y = self.y(at.y) + if *above { -size } else { size * 0.35 };
                let text = escape(text);
                // A white copy underneath: not every viewer knows `paint-order`.
                let halo = "fill=\"#ffffff\" stroke=\"#ffffff\" stroke-width=\"3\"";
                let color = format!("fill=\"{}\"", style.fill);
                [halo, &color].iter().try_for_each(|paint| {
                    writeln!(
                        svg,
                        "<text x=\"{x:.2}\" y=\"{y:.2}\" {FONT} font-size=\"{size}\" text-anchor=\"middle\" {paint}>{text}</text>"
                    )
                })
            }
        };
    }
}

/// A round number near `step`: 1, 2 or 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|f| f * power >= step)
        .unwrap_or(10.0);
    factor * power
}

/// Text that may stand in SVG, in attributes too.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn y_points_up_and_everything_is_on_the_paper() {
        let mut picture = Picture::new("a < b", "m");
        picture.line(
            vec![Point2::new(0.0, 0.0), Point2::new(2.0, 1.0)],
            &Style::line("#000000", 1.0),
        );
        let view = View::around(picture.points(), false);
        assert!(view.y(1.0) < view.y(0.0));
        assert!(view.x(0.0) > LEFT && view.x(2.0) < LEFT + view.size[0]);
        let svg = picture.to_svg();
        assert!(svg.contains("a &lt; b") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn empty_and_pointlike_pictures_are_finite() {
        for points in [vec![], vec![Point2::new(3.0, 3.0)]] {
            let mut picture = Picture::new("", "");
            picture.line(points, &Style::line("#000000", 1.0));
            let svg = picture.to_svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
        }
    }

    #[test]
    fn steps_are_round() {
        for (raw, round) in [
            (0.9, 1.0),
            (1.1, 2.0),
            (3.0, 5.0),
            (7.0, 10.0),
            (0.03, 0.05),
        ] {
            assert!((round_step(raw) - round).abs() < 1e-12);
        }
    }
}
