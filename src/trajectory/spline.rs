//! A smooth curve through the configurations of a joint path.
//!
//! Each joint is a piecewise cubic in the chord length of the path. The slopes at the points make
//! it C² (natural cubic spline \[deBoor1978\]); where that would swing beyond a joint's limits the
//! slopes beside the fault are those of a monotone interpolant instead \[FritschCarlson1980\],
//! which stays between its points: there the curve is C¹.

/// Configurations closer than this \[rad, m\] are one: their distance has no direction left.
const SAME: f64 = 1e-9;

/// Why no curve can be laid through points.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SplineError {
    /// No point at all.
    #[error("the joint path has no points")]
    Empty,
    /// A point of the wrong length.
    #[error("point {point} of the joint path has {got} values, the arm has {expected} joints")]
    Length {
        /// Which point, from zero.
        point: usize,
        /// How many values it has.
        got: usize,
        /// How many joints there are.
        expected: usize,
    },
    /// NaN or infinity.
    #[error("joint {joint} is {value} at point {point} of the joint path: it must be finite")]
    NotFinite {
        /// Which point, from zero.
        point: usize,
        /// Which joint, from zero.
        joint: usize,
        /// The value.
        value: f64,
    },
    /// Numbers of knots and points differ, or knots do not rise.
    #[error("the knots of a spline must rise strictly and be as many as its points")]
    Knots,
}

/// What happens at the two ends of a spline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndCondition {
    /// Second derivative zero.
    Natural,
    /// First derivative zero.
    Clamped,
}

/// A piecewise cubic curve q(s) through configurations.
#[derive(Debug, Clone, PartialEq)]
pub struct Spline {
    dof: usize,
    /// Parameter at the points, strictly rising.
    knots: Vec<f64>,
    /// Values and slopes at the points, `dof` after `dof`.
    values: Vec<f64>,
    slopes: Vec<f64>,
}

/// One joint on one piece: `c[0] + c[1] u + c[2] u² + c[3] u³`, u from the piece's start.
pub(super) type Cubic = [f64; 4];

impl Spline {
    /// The curve through `points` (one value a joint each) by chord length, natural ends.
    /// Neighbours that are equal count once; so a curve may have a single point. `bounds` are
    /// each joint's limits, between which the curve stays wherever its points do.
    ///
    /// # Errors
    /// [`SplineError`].
    pub fn through(points: &[Vec<f64>], bounds: &[(f64, f64)]) -> Result<Self, SplineError> {
        Self::through_from(points, bounds, None)
    }

    /// As [`Spline::through`], with the derivative q' at the start, if it is given (one value a
    /// joint).
    ///
    /// # Errors
    /// [`SplineError`].
    pub(super) fn through_from(
        points: &[Vec<f64>],
        bounds: &[(f64, f64)],
        start: Option<&[f64]>,
    ) -> Result<Self, SplineError> {
        let dof = bounds.len();
        validate(points, dof)?;
        let mut kept: Vec<&[f64]> = Vec::with_capacity(points.len());
        let mut knots: Vec<f64> = Vec::with_capacity(points.len());
        for (index, point) in points.iter().enumerate() {
            let Some(last) = kept.last() else {
                kept.push(point);
                knots.push(0.0);
                continue;
            };
            let step = distance(last, point);
            let at = knots.last().copied().unwrap_or(0.0) + step;
            if step > SAME {
                kept.push(point);
                knots.push(at);
            } else if index + 1 == points.len() && kept.len() > 1 {
                // The goal is met exactly, whatever was merged with it.
                kept.pop();
                kept.push(point);
            }
        }
        let values: Vec<f64> = kept.concat();
        let slopes = smooth_slopes(dof, &knots, &values, EndCondition::Natural, start);
        let mut spline = Self {
            dof,
            knots,
            values,
            slopes,
        };
        spline.keep_inside(bounds);
        Ok(spline)
    }

    /// The C² spline through `points` at the given knots.
    ///
    /// # Errors
    /// [`SplineError`].
    pub fn with_knots(
        knots: &[f64],
        points: &[Vec<f64>],
        ends: EndCondition,
    ) -> Result<Self, SplineError> {
        let dof = points.first().ok_or(SplineError::Empty)?.len();
        validate(points, dof)?;
        let rising = knots.windows(2).all(|pair| pair[0] < pair[1]);
        if knots.len() != points.len() || !rising || knots.iter().any(|s| !s.is_finite()) {
            return Err(SplineError::Knots);
        }
        let values = points.concat();
        let slopes = smooth_slopes(dof, knots, &values, ends, None);
        Ok(Self {
            dof,
            knots: knots.to_vec(),
            values,
            slopes,
        })
    }

    /// The number of joints.
    pub fn dof(&self) -> usize {
        self.dof
    }

    /// The parameter at the points; the curve begins at the first and ends at the last.
    pub fn knots(&self) -> &[f64] {
        &self.knots
    }

    /// The number of pieces.
    pub fn pieces(&self) -> usize {
        self.knots.len().saturating_sub(1)
    }

    /// Whether all its points are the same.
    pub(super) fn is_constant(&self) -> bool {
        let mut points = self.values.chunks_exact(self.dof.max(1));
        let first = points.next();
        points.all(|point| Some(point) == first)
    }

    /// Length of the parameter's range.
    pub fn length(&self) -> f64 {
        match (self.knots.first(), self.knots.last()) {
            (Some(first), Some(last)) => last - first,
            _ => 0.0,
        }
    }

    /// The piece that contains `s` (the later one at a knot).
    pub fn piece_at(&self, s: f64) -> usize {
        self.knots
            .partition_point(|&knot| knot <= s)
            .saturating_sub(1)
            .min(self.pieces().saturating_sub(1))
    }

    /// Cubic of `joint` on `piece`, in the parameter from the piece's start.
    pub(super) fn cubic(&self, piece: usize, joint: usize) -> Cubic {
        let (from, to) = (piece * self.dof + joint, (piece + 1) * self.dof + joint);
        if to >= self.values.len() {
            return [self.values.get(from).copied().unwrap_or(0.0), 0.0, 0.0, 0.0];
        }
        let h = self.knots[piece + 1] - self.knots[piece];
        let secant = (self.values[to] - self.values[from]) / h;
        let (m0, m1) = (self.slopes[from], self.slopes[to]);
        [
            self.values[from],
            m0,
            (3.0 * secant - 2.0 * m0 - m1) / h,
            (m0 + m1 - 2.0 * secant) / (h * h),
        ]
    }

    /// Whether all derivatives are exactly zero at the start and at the end.
    pub(super) fn rests_at_ends(&self) -> [bool; 2] {
        let still = |slopes: Option<&[f64]>| slopes.is_some_and(|s| s.iter().all(|m| *m == 0.0));
        [
            still(self.slopes.get(..self.dof)),
            still(
                self.slopes
                    .get(self.slopes.len().saturating_sub(self.dof)..),
            ),
        ]
    }

    /// Value, first and second derivative of `joint` at `s`, by the polynomial of `piece`.
    pub fn evaluate(&self, piece: usize, joint: usize, s: f64) -> [f64; 3] {
        let u = s - self.knots.get(piece).copied().unwrap_or(0.0);
        let [c0, c1, c2, c3] = self.cubic(piece, joint);
        // Points are met to the last digit, so that a goal on a limit is not beyond it.
        if self.knots.get(piece + 1) == Some(&s) {
            let end = (piece + 1) * self.dof + joint;
            return [
                self.values.get(end).copied().unwrap_or(c0),
                (3.0 * c3 * u + 2.0 * c2) * u + c1,
                6.0 * c3 * u + 2.0 * c2,
            ];
        }
        [
            ((c3 * u + c2) * u + c1) * u + c0,
            (3.0 * c3 * u + 2.0 * c2) * u + c1,
            6.0 * c3 * u + 2.0 * c2,
        ]
    }

    /// Replaces slopes, beside pieces that leave `bounds`, by those of a monotone interpolant.
    fn keep_inside(&mut self, bounds: &[(f64, f64)]) {
        let points = self.knots.len();
        for (joint, &(lower, upper)) in bounds.iter().enumerate() {
            let mut tamed = vec![false; points];
            loop {
                let mut changed = false;
                for piece in 0..self.pieces() {
                    if self.stays_inside(piece, joint, lower, upper) {
                        continue;
                    }
                    for point in [piece, piece + 1] {
                        if !tamed[point] {
                            tamed[point] = true;
                            changed = true;
                            self.slopes[point * self.dof + joint] =
                                self.monotone_slope(point, joint);
                        }
                    }
                }
                // Each round tames at least one point, so this ends.
                if !changed {
                    break;
                }
            }
        }
    }

    /// Whether the piece stays within the limits, widened to its end points where these lie outside.
    fn stays_inside(&self, piece: usize, joint: usize, lower: f64, upper: f64) -> bool {
        let (q0, q1) = (
            self.values[piece * self.dof + joint],
            self.values[(piece + 1) * self.dof + joint],
        );
        let (low, high) = (lower.min(q0).min(q1), upper.max(q0).max(q1));
        let h = self.knots[piece + 1] - self.knots[piece];
        let [_, c1, c2, c3] = self.cubic(piece, joint);
        // Turning points: roots of the derivative.
        let (a, b, c) = (3.0 * c3, 2.0 * c2, c1);
        let discriminant = b * b - 4.0 * a * c;
        if discriminant < 0.0 {
            return true;
        }
        let q = -0.5 * (b + discriminant.sqrt().copysign(b));
        [q / a, c / q]
            .into_iter()
            .filter(|u| *u > 0.0 && *u < h)
            .all(|u| {
                let [_, c1, c2, c3] = self.cubic(piece, joint);
                let value = ((c3 * u + c2) * u + c1) * u + q0;
                // Rounding alone is no reason to bend the curve.
                value >= low - 1e-12 && value <= high + 1e-12
            })
    }

    /// Slope of a monotone cubic interpolant: zero at extremes, else the weighted harmonic mean of
    /// the secants on both sides.
    fn monotone_slope(&self, point: usize, joint: usize) -> f64 {
        let secant = |piece: usize| {
            let h = self.knots[piece + 1] - self.knots[piece];
            let step =
                self.values[(piece + 1) * self.dof + joint] - self.values[piece * self.dof + joint];
            (step / h, h)
        };
        if point == 0 || point + 1 >= self.knots.len() {
            return 0.0;
        }
        let ((before, h0), (after, h1)) = (secant(point - 1), secant(point));
        if before * after <= 0.0 {
            return 0.0;
        }
        let (w0, w1) = (2.0 * h1 + h0, h1 + 2.0 * h0);
        (w0 + w1) / (w0 / before + w1 / after)
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(x, y)| (x - y) * (x - y))
        .sum::<f64>()
        .sqrt()
}

fn validate(points: &[Vec<f64>], dof: usize) -> Result<(), SplineError> {
    if points.is_empty() {
        return Err(SplineError::Empty);
    }
    for (point, values) in points.iter().enumerate() {
        if values.len() != dof {
            return Err(SplineError::Length {
                point,
                got: values.len(),
                expected: dof,
            });
        }
        if let Some((joint, &value)) = values.iter().enumerate().find(|(_, v)| !v.is_finite()) {
            return Err(SplineError::NotFinite {
                point,
                joint,
                value,
            });
        }
    }
    Ok(())
}

/// Slopes that make the piecewise cubic C², by the tridiagonal system for all joints at once.
fn smooth_slopes(
    dof: usize,
    knots: &[f64],
    values: &[f64],
    ends: EndCondition,
    start: Option<&[f64]>,
) -> Vec<f64> {
    let n = knots.len();
    let mut slopes = vec![0.0; n * dof];
    if n < 2 || dof == 0 {
        return slopes;
    }
    let h = |i: usize| knots[i + 1] - knots[i];
    let secant =
        |i: usize, joint: usize| (values[(i + 1) * dof + joint] - values[i * dof + joint]) / h(i);
    // Rows: lower * m[i-1] + diagonal * m[i] + upper * m[i+1] = right. Forward elimination keeps
    // `upper / pivot` and writes the right sides into `slopes`.
    let mut ratio = vec![0.0; n];
    for i in 0..n {
        let end = i == 0 || i + 1 == n;
        let given = start.filter(|slopes| i == 0 && slopes.len() == dof);
        let (lower, diagonal, upper) = match (end, ends) {
            _ if given.is_some() => (0.0, 1.0, 0.0),
            (true, EndCondition::Clamped) => (0.0, 1.0, 0.0),
            (true, EndCondition::Natural) if i == 0 => (0.0, 2.0, 1.0),
            (true, EndCondition::Natural) => (1.0, 2.0, 0.0),
            (false, _) => (h(i), 2.0 * (h(i - 1) + h(i)), h(i - 1)),
        };
        let before = if i > 0 { ratio[i - 1] } else { 0.0 };
        let pivot = diagonal - lower * before;
        ratio[i] = upper / pivot;
        for joint in 0..dof {
            let right = match (end, ends) {
                _ if given.is_some() => given.map_or(0.0, |slopes| slopes[joint]),
                (true, EndCondition::Clamped) => 0.0,
                (true, EndCondition::Natural) => 3.0 * secant(i.min(n - 2), joint),
                (false, _) => 3.0 * (h(i) * secant(i - 1, joint) + h(i - 1) * secant(i, joint)),
            };
            let above = if i > 0 {
                slopes[(i - 1) * dof + joint]
            } else {
                0.0
            };
            slopes[i * dof + joint] = (right - lower * above) / pivot;
        }
    }
    for i in (0..n - 1).rev() {
        for joint in 0..dof {
            let next = slopes[(i + 1) * dof + joint];
            slopes[i * dof + joint] -= ratio[i] * next;
        }
    }
    slopes
}
