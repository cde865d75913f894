//! Vector pictures: [`Picture`] is one panel with a title above and a legend underneath. Styles, texts and round
//! numbers serve all pictures.

use std::fmt::Write;

use super::panel::{Frame, Panel};

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

    /// As SVG attributes.
    pub fn attributes(&self) -> String {
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

/// The fonts of all texts.
pub const FONT: &str = "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\"";

/// Width of a text \[px\], about.
pub fn text_width(text: &str, size: f64) -> f64 {
    0.6 * size * text.chars().count() as f64
}

/// A round number not below `step`: 1, 2 or 5 times a power of ten.
pub fn round_step(step: f64) -> f64 {
    let step = step.max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= step)
        .unwrap_or(10.0);
    factor * power
}

/// A number along an axis, with as many decimals as its step needs.
pub fn label(value: f64, step: f64) -> String {
    if value.abs() >= 1e6 || step < 1e-6 {
        return format!("{value:.2e}");
    }
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.trim_start_matches(['-', '0', '.']).is_empty() {
        "0".to_owned()
    } else {
        text
    }
}

/// Text that may stand in SVG, in attributes too.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A text in lines that are at most `width` \[px\] wide, unless a single word is wider.
pub fn wrapped(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(word, size) + size < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// What a sample in a legend stands for.
#[derive(Debug, Clone)]
pub struct Legend {
    sample: Option<Style>,
    text: String,
}

impl Legend {
    /// A sample of a line or an area.
    pub fn new(style: &Style, text: impl Into<String>) -> Self {
        Legend {
            sample: Some(style.clone()),
            text: text.into(),
        }
    }

    /// A text alone.
    pub fn note(text: impl Into<String>) -> Self {
        Legend {
            sample: None,
            text: text.into(),
        }
    }

    /// Width (px), about.
    pub fn width(&self) -> f64 {
        SAMPLE + text_width(&self.text, 13.0)
    }

    /// Writes it, the text's baseline at `y`.
    pub fn draw(&self, svg: &mut String, x: f64, y: f64) {
        if let Some(style) = &self.sample {
            let attributes = style.attributes();
            let _ = if style.fill == "none" {
                writeln!(
                    svg,
                    "<line x1=\"{x:.1}\" y1=\"{0:.1}\" x2=\"{1:.1}\" y2=\"{0:.1}\" {attributes}/>",
                    y - 5.0,
                    x + 30.0
                )
            } else {
                writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"30\" height=\"11\" {attributes}/>",
                    y - 10.0
                )
            };
        }
        let indent = if self.sample.is_some() { SAMPLE } else { 0.0 };
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{y:.1}\" {FONT} font-size=\"13\" fill=\"#222222\">{}</text>",
            x + indent,
            escape(&self.text)
        );
    }
}

/// Width of a legend's sample with the gap behind it \[px\].
const SAMPLE: f64 = 40.0;

/// Height of a legend's row \[px\].
pub const ROW: f64 = 20.0;

/// The beginning of a picture of this size \[px\], on white.
pub fn header(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    )
}

/// Writes a line of text.
pub fn line_of_text(svg: &mut String, x: f64, y: f64, size: f64, colour: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" {FONT} font-size=\"{size}\" fill=\"{colour}\">{}</text>",
        escape(text)
    );
}

/// A panel with a title and a legend.
#[derive(Debug, Default)]
pub struct Picture {
    title: String,
    /// What is drawn.
    pub panel: Panel,
    legend: Vec<Legend>,
}

/// Width of the drawing area, and the largest height it may have. \[px\]
const PAPER: (f64, f64) = (900.0, 900.0);
const LEFT: f64 = 64.0;
const TOP: f64 = 48.0;
const RIGHT: f64 = 24.0;

impl Picture {
    /// An empty picture. The unit stands under the axes' numbers.
    pub fn new(title: impl Into<String>, unit: impl Into<String>) -> Self {
        Picture {
            title: title.into(),
            panel: Panel::new(unit),
            legend: Vec::new(),
        }
    }

    /// Adds a row to the legend with a sample of a line or an area.
    pub fn legend(&mut self, style: &Style, text: impl Into<String>) {
        self.legend.push(Legend::new(style, text));
    }

    /// Adds a row of text to the legend.
    pub fn note(&mut self, text: impl Into<String>) {
        self.legend.push(Legend::note(text));
    }

    /// Draws.
    pub fn to_svg(&self) -> String {
        let shape = self.panel.shape();
        // A picture narrower than its legend serves nobody.
        let frame = Frame {
            x: LEFT,
            y: TOP,
            width: (PAPER.1 / shape).clamp(PAPER.0 * 0.7, PAPER.0),
            height: (PAPER.0 * shape).clamp(PAPER.1 * 0.1, PAPER.1),
        };
        let rows: Vec<Legend> = self
            .legend
            .iter()
            .flat_map(|row| {
                let room = frame.width + RIGHT - if row.sample.is_some() { SAMPLE } else { 0.0 };
                let lines = wrapped(&row.text, 13.0, room).into_iter().enumerate();
                lines.map(|(k, text)| Legend {
                    sample: row.sample.clone().filter(|_| k == 0),
                    text,
                })
            })
            .collect();
        let legend_top = TOP + frame.height + 52.0;
        let height = legend_top + ROW * rows.len() as f64 + 8.0;
        let mut svg = header(LEFT + frame.width + RIGHT, height);
        line_of_text(&mut svg, LEFT, 28.0, 17.0, "#222222", &self.title);
        self.panel.draw(&mut svg, frame);
        for (k, row) in rows.iter().enumerate() {
            row.draw(&mut svg, LEFT, legend_top + ROW * k as f64);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Point2;

    #[test]
    fn titles_are_escaped_and_legends_wrapped() {
        let mut picture = Picture::new("a < b", "m");
        picture.panel.line(
            vec![Point2::new(0.0, 0.0), Point2::new(2.0, 1.0)],
            &Style::line("#000000", 1.0),
        );
        picture.note("word ".repeat(60));
        let svg = picture.to_svg();
        assert!(svg.contains("a &lt; b") && svg.ends_with("</svg>\n"));
        assert!(svg.matches(">word word").count() > 1);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
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
        assert!(round_step(0.0) > 0.0);
        assert_eq!(label(-0.0, 0.5), "0");
        assert_eq!(label(0.25, 0.05), "0.25");
        assert_eq!(label(2e300, 1e300), "2.00e300");
    }
}
