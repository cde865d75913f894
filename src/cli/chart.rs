//! Curves over time, drawn as SVG.

use std::fmt::Write as _;

/// Colours that stay apart for people who see colours differently.
pub const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#555555",
];

/// One curve.
pub struct Series {
    /// Points: time \[s\] and value.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper limit, drawn as dashed lines where finite.
    pub limits: (f64, f64),
}

/// A chart of several curves over one time axis.
pub struct Chart<'a> {
    /// What is drawn, with its unit.
    pub title: &'a str,
    /// The curves.
    pub series: &'a [Series],
    /// Times \[s\] at which something happens, as vertical lines.
    pub marks: &'a [f64],
}

/// Round steps for about `count` marks on an axis of this length.
fn round_step(length: f64, count: f64) -> f64 {
    let rough = (length / count).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|step| step * power >= rough)
        .unwrap_or(10.0);
    step * power
}

/// A number with as many decimals as its step needs.
fn label(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.trim_start_matches(['-', '0', '.']).is_empty() {
        "0".to_owned()
    } else {
        text
    }
}

impl Chart<'_> {
    /// The chart as an SVG group whose upper left corner is at `x`, `y`.
    pub fn draw(&self, x: f64, y: f64, width: f64, height: f64) -> String {
        let (left, top, bottom) = (56.0, 24.0, 24.0);
        let (plot_width, plot_height) = (width - left - 8.0, height - top - bottom);
        let points = || self.series.iter().flat_map(|series| &series.points);
        let last = points().map(|point| point.0).fold(0.0, f64::max).max(1e-9);
        let mut low = points().map(|point| point.1).fold(f64::INFINITY, f64::min);
        let mut high = points()
            .map(|point| point.1)
            .fold(f64::NEG_INFINITY, f64::max);
        if !(low.is_finite() && high.is_finite()) {
            (low, high) = (0.0, 1.0);
        }
        // Limits that are near the curves belong into the picture, far ones would flatten it.
        let span = (high - low).max(1e-6);
        for series in self.series {
            for limit in [series.limits.0, series.limits.1] {
                if limit.is_finite() && limit > low - 0.6 * span && limit < high + 0.6 * span {
                    (low, high) = (low.min(limit), high.max(limit));
                }
            }
        }
        let margin = 0.06 * (high - low).max(1e-6);
        (low, high) = (low - margin, high + margin);
        let px = |time: f64| x + left + plot_width * time / last;
        let py = |value: f64| y + top + plot_height * (high - value) / (high - low);

        let mut svg = String::from("<g font-family=\"sans-serif\" font-size=\"11\">\n");
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"13\" font-weight=\"bold\">{}</text>",
            x + left,
            y + 15.0,
            self.title
        );
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{plot_width:.1}\" height=\"{plot_height:.1}\" fill=\"white\" stroke=\"#999\"/>",
            x + left,
            y + top
        );
        let step = round_step(high - low, 4.0);
        let mut value = (low / step).ceil() * step;
        while value <= high {
            let _ = writeln!(
                svg,
                "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y1:.1}\" y2=\"{y1:.1}\" stroke=\"#e4e4e4\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                px(0.0),
                px(last),
                px(0.0) - 5.0,
                py(value) + 4.0,
                label(value, step),
                y1 = py(value),
            );
            value += step;
        }
        let step = round_step(last, 6.0);
        let mut time = 0.0;
        while time <= last * (1.0 + 1e-9) {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                px(time),
                y + top + plot_height + 15.0,
                label(time, step)
            );
            time += step;
        }
        for mark in self.marks {
            let _ = writeln!(
                svg,
                "<line x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{1:.1}\" y2=\"{2:.1}\" stroke=\"#bbb\" stroke-dasharray=\"2 3\"/>",
                px(*mark),
                y + top,
                y + top + plot_height
            );
        }
        for (index, series) in self.series.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            for limit in [series.limits.0, series.limits.1] {
                if limit > low && limit < high {
                    let _ = writeln!(
                        svg,
                        "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y1:.1}\" y2=\"{y1:.1}\" stroke=\"{colour}\" stroke-dasharray=\"5 4\" opacity=\"0.6\"/>",
                        px(0.0),
                        px(last),
                        y1 = py(limit)
                    );
                }
            }
            let mut line = String::new();
            for (time, value) in &series.points {
                let _ = write!(line, "{:.1},{:.1} ", px(*time), py(*value));
            }
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>",
                line.trim_end()
            );
        }
        svg.push_str("</g>\n");
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(round_step(10.0, 5.0), 2.0);
        assert!((round_step(0.37, 4.0) - 0.1).abs() < 1e-12);
        assert_eq!(label(-0.0, 0.5), "0");
        assert_eq!(label(0.25, 0.05), "0.25");
    }

    #[test]
    fn curves_stay_inside_the_frame() {
        let series = [Series {
            points: (0..50)
                .map(|k| (k as f64 * 0.1, (k as f64).sin() * 3.0))
                .collect(),
            limits: (-3.2, 40.0),
        }];
        let svg = Chart {
            title: "t",
            series: &series,
            marks: &[1.0],
        }
        .draw(10.0, 20.0, 300.0, 200.0);
        let line = svg
            .split("<polyline points=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        for pair in line.split_whitespace() {
            let (x, y) = pair.split_once(',').unwrap();
            let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
            assert!(
                (66.0..=302.1).contains(&x) && (44.0..=196.1).contains(&y),
                "{pair}"
            );
        }
        // The near limit is drawn, the far one is not.
        assert_eq!(svg.matches("5 4").count(), 1);
    }

    #[test]
    fn nothing_to_draw_is_no_error() {
        let svg = Chart {
            title: "t",
            series: &[],
            marks: &[],
        }
        .draw(0.0, 0.0, 100.0, 80.0);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
