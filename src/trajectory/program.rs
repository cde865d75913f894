//! Linear programs in two unknowns, for intervals whose bend is given, and where `stage` finds nothing.
//!
//! In an interval all limits are rows −share ≤ a·x + b·y + c ≤ share, x and y being ṡ² at its two ends.
//! For a given y they leave a range of x, whose upper end is a concave function of y. Most often
//! it still rises at the largest y, and one pass over the rows answers; else its maximum is found by
//! cutting planes, which end after as many steps as lines meet there \[Seidel1991\].

/// Rows of one block of joints: four Bernstein coefficients for each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<const W: usize> {
    pub a: [[f64; W]; 4],
    pub b: [[f64; W]; 4],
    pub c: [[f64; W]; 4],
}

/// A bound and its slope.
#[derive(Debug, Clone, Copy)]
struct Line {
    value: f64,
    slope: f64,
}

/// The range of x for one y.
#[derive(Debug, Clone, Copy)]
struct Range {
    high: Line,
    low: Line,
}

impl Range {
    /// How much room there is between the bounds: concave in y.
    fn room(&self) -> Line {
        Line {
            value: self.high.value - self.low.value,
            slope: self.high.slope - self.low.slope,
        }
    }
}

/// How far bounds may contradict each other by rounding, as a share of the scale of x.
const ROUNDING: f64 = 1e-10;
/// Most steps of a search; each removes a line, and there are few.
const STEPS: usize = 60;

/// The programs of one interval.
pub(super) struct Program<'a, const W: usize> {
    pub rows: &'a [Rows<W>],
    /// What a row may reach, 1 or less.
    pub share: f64,
    /// Largest x.
    pub cap: f64,
    /// Coefficients smaller than this are as good as zero: a row's share of them is lost in rounding.
    pub tiny: f64,
}

impl<const W: usize> Program<'_, W> {
    /// Bounds of x at `y`.
    fn range(&self, y: f64) -> Range {
        let (mut high, mut high_slope) = ([f64::INFINITY; W], [0.0; W]);
        let (mut low, mut low_slope) = ([f64::NEG_INFINITY; W], [0.0; W]);
        for rows in self.rows {
            // Pairs of lanes: what they need stays in registers.
            for pair in 0..W / 2 {
                let lanes = 2 * pair;
                let (mut h, mut hs) = ([f64::INFINITY; 2], [0.0; 2]);
                let (mut l, mut ls) = ([f64::NEG_INFINITY; 2], [0.0; 2]);
                for k in 0..4 {
                    for i in 0..2 {
                        let (a, b) = (rows.a[k][lanes + i], rows.b[k][lanes + i]);
                        let a = if a.abs() < self.tiny { self.tiny } else { a };
                        let inverse = 1.0 / a;
                        let slope = -inverse * b;
                        let centre = slope * y - inverse * rows.c[k][lanes + i];
                        let half = self.share * inverse.abs();
                        let (above, below) = (centre + half, centre - half);
                        hs[i] = if above < h[i] { slope } else { hs[i] };
                        h[i] = if above < h[i] { above } else { h[i] };
                        ls[i] = if below > l[i] { slope } else { ls[i] };
                        l[i] = if below > l[i] { below } else { l[i] };
                    }
                }
                for i in 0..2 {
                    let at = lanes + i;
                    high_slope[at] = if h[i] < high[at] {
                        hs[i]
                    } else {
                        high_slope[at]
                    };
                    high[at] = if h[i] < high[at] { h[i] } else { high[at] };
                    low_slope[at] = if l[i] > low[at] { ls[i] } else { low_slope[at] };
                    low[at] = if l[i] > low[at] { l[i] } else { low[at] };
                }
            }
        }
        let top = high
            .into_iter()
            .fold(self.cap, |m, v| if v < m { v } else { m });
        let bottom = low.into_iter().fold(0.0, |m, v| if v > m { v } else { m });
        // Of lines that meet there, the one that lets x rise least with y.
        let pick = |values: &[f64; W], slopes: &[f64; W], value: f64, own: f64| {
            let pairs = values.iter().zip(slopes);
            let flat = if value == own { 0.0 } else { f64::INFINITY };
            pairs.fold(flat, |least: f64, (&v, &slope)| {
                let slope = if v == value { slope } else { f64::INFINITY };
                if slope < least {
                    slope
                } else {
                    least
                }
            })
        };
        Range {
            high: Line {
                value: top,
                slope: pick(&high, &high_slope, top, self.cap),
            },
            low: Line {
                value: bottom,
                slope: pick(&low, &low_slope, bottom, 0.0),
            },
        }
    }

    /// The largest x for which there is a y in [0, `height`]; `None` if there is none at all.
    pub fn largest_x(&self, height: f64) -> Option<f64> {
        let slack = ROUNDING * self.cap.min(1.0 / self.tiny);
        let top = self.range(height);
        if top.high.slope >= 0.0 && top.room().value >= 0.0 {
            return Some(top.high.value);
        }
        let mut right = (height, top);
        for _ in 0..STEPS {
            let room = right.1.room();
            if room.value >= -slack {
                break;
            }
            // All y above the line's zero are out, by the line; if it falls the other way, all are.
            let y = right.0 - room.value / room.slope;
            if room.slope >= 0.0 || !(0.0..right.0).contains(&y) {
                return self.at_bottom(slack);
            }
            right = (y, self.range(y));
        }
        if right.1.room().value < -slack {
            return None;
        }
        if right.1.high.slope >= 0.0 {
            return Some(right.1.high.value);
        }
        let mut left = (0.0, self.range(0.0));
        for _ in 0..STEPS {
            let room = left.1.room();
            if room.value >= -slack {
                break;
            }
            let y = left.0 - room.value / room.slope;
            if room.slope <= 0.0 || y.is_nan() || y >= right.0 {
                // Between them by rounding only.
                return Some(right.1.high.value);
            }
            left = (y, self.range(y));
        }
        if left.1.high.slope <= 0.0 {
            return Some(left.1.high.value);
        }
        for _ in 0..STEPS {
            let (l, r) = (left.1.high, right.1.high);
            let y =
                left.0 + (r.value - l.value + r.slope * (left.0 - right.0)) / (l.slope - r.slope);
            if !(y > left.0 && y < right.0) {
                break;
            }
            let expected = l.value + l.slope * (y - left.0);
            let middle = self.range(y);
            if middle.high.value >= expected - 1e-13 * expected.abs() {
                return Some(middle.high.value);
            }
            if middle.high.slope >= 0.0 {
                left = (y, middle);
            } else {
                right = (y, middle);
            }
        }
        Some(left.1.high.value.max(right.1.high.value))
    }

    fn at_bottom(&self, slack: f64) -> Option<f64> {
        let range = self.range(0.0);
        (range.room().value >= -slack).then_some(range.high.value)
    }

    /// The range of y up to `height` for a given x; `None` if it is empty.
    pub fn range_of_y(&self, x: f64, height: f64) -> Option<(f64, f64)> {
        let mut high = [f64::INFINITY; 2];
        let mut low = [f64::NEG_INFINITY; 2];
        // What decided x is met again, within rounding: a row with next to no weight on y must not
        // turn that into a statement about y.
        let share = self.share * (1.0 + 10.0 * ROUNDING);
        for rows in self.rows {
            for pair in 0..W / 2 {
                for k in 0..4 {
                    for i in 0..2 {
                        let lane = 2 * pair + i;
                        let b = rows.b[k][lane];
                        let b = if b.abs() < self.tiny { self.tiny } else { b };
                        let inverse = 1.0 / b;
                        let centre = -inverse * (rows.a[k][lane] * x + rows.c[k][lane]);
                        let half = share * inverse.abs();
                        let (above, below) = (centre + half, centre - half);
                        high[i] = if above < high[i] { above } else { high[i] };
                        low[i] = if below > low[i] { below } else { low[i] };
                    }
                }
            }
        }
        let high = high.into_iter().fold(height, f64::min);
        let low = low.into_iter().fold(0.0, f64::max);
        let slack = ROUNDING.sqrt() * height.max(x);
        (low <= high + slack).then_some((low, high.max(low.min(height)).max(0.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

    /// All pairs of lines, the slow way.
    fn oracle(program: &Program<2>, height: f64) -> Option<f64> {
        let mut lines = vec![
            (1.0, 0.0, program.cap),
            (-1.0, 0.0, 0.0),
            (0.0, 1.0, height),
            (0.0, -1.0, 0.0),
        ];
        for rows in program.rows {
            for k in 0..4 {
                for l in 0..2 {
                    let (a, b, c) = (rows.a[k][l], rows.b[k][l], rows.c[k][l]);
                    lines.push((a, b, program.share - c));
                    lines.push((-a, -b, program.share + c));
                }
            }
        }
        let mut best: Option<f64> = None;
        for (i, p) in lines.iter().enumerate() {
            for q in &lines[..i] {
                let determinant = p.0 * q.1 - p.1 * q.0;
                if determinant.abs() < 1e-14 {
                    continue;
                }
                let x = (p.2 * q.1 - p.1 * q.2) / determinant;
                let y = (p.0 * q.2 - p.2 * q.0) / determinant;
                if lines.iter().all(|l| l.0 * x + l.1 * y <= l.2 + 1e-9) {
                    best = Some(best.map_or(x, |b| b.max(x)));
                }
            }
        }
        best
    }

    fn grid() -> impl Strategy<Value = [[f64; 2]; 4]> {
        prop::array::uniform4(prop::array::uniform2(
            prop_oneof![4 => -3.0..3.0f64, 1 => Just(0.0)],
        ))
    }

    fn config() -> Config {
        Config {
            cases: 512,
            failure_persistence: None,
            rng_algorithm: RngAlgorithm::ChaCha,
            rng_seed: RngSeed::Fixed(0x0070_9903),
            ..Config::default()
        }
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn the_program_agrees_with_all_pairs_of_lines(
            a in grid(),
            b in grid(),
            c in prop::array::uniform4(prop::array::uniform2(-0.6..0.6f64)),
            offset in any::<bool>(),
            height in 0.0..4.0f64,
            share in 0.5..1.0f64,
        ) {
            let c = if offset { c } else { [[0.0; 2]; 4] };
            let rows = [Rows { a, b, c }];
            let program = Program { rows: &rows, share, cap: 50.0, tiny: 2e-12 };
            let (fast, slow) = (program.largest_x(height), oracle(&program, height));
            match (fast, slow) {
                // Never above. Below it may stay: beside rows with next to no weight on x rounding ends
                // the search early, at a lower x that is as safe.
                (Some(fast), Some(slow)) => prop_assert!(fast <= slow + 1e-6, "{fast} {slow}"),
                (None, None) => {}
                // Nearly nothing is left: a matter of tolerance.
                (Some(x), None) => {
                    let range = (0..=4000).map(|k| program.range(height * f64::from(k) / 4000.0));
                    prop_assert!(range.fold(f64::NEG_INFINITY, |m, r| m.max(r.room().value)) > -1e-3, "{x}");
                }
                (None, Some(_)) => prop_assert!(false, "nothing was found"),
            }
            // And forwards: the rows hold, and a little more does not.
            if let Some(x) = fast {
                if let Some((_, y)) = program.range_of_y(x * 0.999, height) {
                    let holds = |y: f64, slack: f64| (0..4).all(|k| (0..2).all(|l| {
                        (a[k][l] * x * 0.999 + b[k][l] * y + c[k][l]).abs() <= share + slack
                    }));
                    prop_assert!(holds(y, 1e-6));
                    prop_assert!(y >= height - 1e-12 || !holds(y + 1e-3, -1e-9) || y + 1e-3 > height);
                }
            }
        }
    }
}
