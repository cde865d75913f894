//! Polynomial pieces of a trajectory, and rigorous bounds of their values.
//!
//! Bounds come from Bernstein coefficients: a polynomial never leaves the hull of its
//! coefficients, and halving the interval pulls them towards the curve \[Farouki2012\].

/// Largest degree of a piece: quintics.
const DEGREE: usize = 5;
/// Binomial coefficients up to `DEGREE`.
const BINOMIAL: [[f64; DEGREE + 1]; DEGREE + 1] = [
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    [1.0, 2.0, 1.0, 0.0, 0.0, 0.0],
    [1.0, 3.0, 3.0, 1.0, 0.0, 0.0],
    [1.0, 4.0, 6.0, 4.0, 1.0, 0.0],
    [1.0, 5.0, 10.0, 10.0, 5.0, 1.0],
];

/// One joint's motion between two points of a trajectory: a polynomial of the time since the
/// first of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Coefficient of `time^k` \[rad/sᵏ or m/sᵏ\].
    coefficients: [f64; DEGREE + 1],
    /// Length \[s\], positive.
    duration: f64,
}

/// Position, velocity and acceleration of one joint.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct JointState {
    /// Position \[rad or m\].
    pub position: f64,
    /// Velocity \[rad/s or m/s\].
    pub velocity: f64,
    /// Acceleration \[rad/s² or m/s²\].
    pub acceleration: f64,
}

impl Segment {
    /// A straight line between two positions; `duration` \[s\] must be positive.
    pub fn linear(from: f64, to: f64, duration: f64) -> Self {
        Self {
            coefficients: [from, (to - from) / duration, 0.0, 0.0, 0.0, 0.0],
            duration,
        }
    }

    /// The cubic with the given positions and velocities at its ends.
    pub fn cubic(from: JointState, to: JointState, duration: f64) -> Self {
        let t = duration;
        let step = to.position - from.position;
        Self {
            coefficients: [
                from.position,
                from.velocity,
                (3.0 * step / t - 2.0 * from.velocity - to.velocity) / t,
                (from.velocity + to.velocity - 2.0 * step / t) / (t * t),
                0.0,
                0.0,
            ],
            duration,
        }
    }

    /// The quintic with the given positions, velocities and accelerations at its ends.
    pub fn quintic(from: JointState, to: JointState, duration: f64) -> Self {
        let t = duration;
        // In normalised time, where the three conditions at the far end are small integers.
        let (v0, v1) = (from.velocity * t, to.velocity * t);
        let (a0, a1) = (from.acceleration * t * t, to.acceleration * t * t);
        let step = to.position - from.position;
        let c3 = 10.0 * step - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1;
        let c4 = -15.0 * step + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1;
        let c5 = 6.0 * step - 3.0 * (v0 + v1) - 0.5 * (a0 - a1);
        Self {
            coefficients: [
                from.position,
                from.velocity,
                0.5 * from.acceleration,
                c3 / t.powi(3),
                c4 / t.powi(4),
                c5 / t.powi(5),
            ],
            duration,
        }
    }

    /// The state `time` \[s\] after the segment's start (not clamped).
    pub fn at(&self, time: f64) -> JointState {
        let c = &self.coefficients;
        let mut state = JointState::default();
        for k in (0..=DEGREE).rev() {
            state.acceleration = state.acceleration * time + 2.0 * state.velocity;
            state.velocity = state.velocity * time + state.position;
            state.position = state.position * time + c[k];
        }
        state
    }

    /// Bernstein coefficients of the `derivative`-th derivative over the whole segment.
    fn bernstein(&self, derivative: usize) -> ([f64; DEGREE + 1], usize) {
        let degree = DEGREE - derivative;
        let mut power = [0.0; DEGREE + 1];
        let mut scale = 1.0;
        for (k, slot) in power.iter_mut().enumerate().take(degree + 1) {
            let mut factor = 1.0;
            for fall in 0..derivative {
                factor *= (k + derivative - fall) as f64;
            }
            *slot = self.coefficients[k + derivative] * factor * scale;
            scale *= self.duration;
        }
        let mut control = [0.0; DEGREE + 1];
        for i in 0..=degree {
            control[i] = (0..=i)
                .map(|k| BINOMIAL[i][k] / BINOMIAL[degree][k] * power[k])
                .sum();
        }
        (control, degree)
    }

    /// Smallest and largest position \[rad or m\], from outside, within `tolerance`.
    pub fn position_range(&self, tolerance: f64) -> (f64, f64) {
        let (control, degree) = self.bernstein(0);
        let high = upper_bound(&control, degree, tolerance);
        let low = -upper_bound(&control.map(|value| -value), degree, tolerance);
        (low, high)
    }

    /// Largest absolute velocity \[rad/s or m/s\], from above, within a millionth.
    pub fn max_speed(&self) -> f64 {
        self.max_absolute(1, 0.0)
    }

    /// Largest absolute acceleration \[rad/s² or m/s²\], from above, within a millionth.
    pub fn max_acceleration(&self) -> f64 {
        self.max_absolute(2, 0.0)
    }

    /// As [`Segment::max_speed`] where that is above `limit`; else any bound up to `limit`, quickly.
    pub(super) fn speed_against(&self, limit: f64) -> f64 {
        self.max_absolute(1, limit)
    }

    /// As [`Segment::max_acceleration`] where that is above `limit`; else any bound up to `limit`,
    /// quickly.
    pub(super) fn acceleration_against(&self, limit: f64) -> f64 {
        self.max_absolute(2, limit)
    }

    fn max_absolute(&self, derivative: usize, enough: f64) -> f64 {
        let (control, degree) = self.bernstein(derivative);
        let scale = control.iter().fold(0.0_f64, |most, c| most.max(c.abs()));
        if scale.is_nan() || control.iter().any(|c| c.is_nan()) {
            return f64::INFINITY;
        }
        if scale <= enough {
            return scale;
        }
        let tolerance = 1e-6 * scale;
        let high = upper_bound(&control, degree, tolerance);
        let low = upper_bound(&control.map(|value| -value), degree, tolerance);
        high.max(low)
    }
}

/// An upper bound of the polynomial with these Bernstein coefficients, at most `tolerance`
/// above its maximum (as far as 30 halvings go). Infinite if a coefficient is NaN.
pub(super) fn upper_bound(control: &[f64; DEGREE + 1], degree: usize, tolerance: f64) -> f64 {
    if control.iter().take(degree + 1).any(|c| c.is_nan()) {
        return f64::INFINITY;
    }
    let mut reached = control[0].max(control[degree]);
    let mut bound = reached;
    descend(control, degree, tolerance, 30, &mut reached, &mut bound);
    bound
}

fn descend(
    control: &[f64; DEGREE + 1],
    degree: usize,
    tolerance: f64,
    depth: u32,
    reached: &mut f64,
    bound: &mut f64,
) {
    let hull = control
        .iter()
        .take(degree + 1)
        .fold(f64::NEG_INFINITY, |most, &c| most.max(c));
    *reached = reached.max(control[0]).max(control[degree]);
    if hull <= *reached + tolerance || depth == 0 {
        *bound = bound.max(hull);
        return;
    }
    let (mut left, mut right) = (*control, *control);
    for (level, slot) in left.iter_mut().enumerate().take(degree + 1).skip(1) {
        for i in 0..=(degree - level) {
            right[i] = 0.5 * (right[i] + right[i + 1]);
        }
        *slot = right[0];
    }
    descend(&left, degree, tolerance, depth - 1, reached, bound);
    descend(&right, degree, tolerance, depth - 1, reached, bound);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn state(position: f64, velocity: f64, acceleration: f64) -> JointState {
        JointState {
            position,
            velocity,
            acceleration,
        }
    }

    fn near(a: JointState, b: JointState, tolerance: f64) -> bool {
        (a.position - b.position).abs() < tolerance
            && (a.velocity - b.velocity).abs() < tolerance
            && (a.acceleration - b.acceleration).abs() < tolerance
    }

    proptest! {
        #[test]
        fn a_quintic_meets_its_ends(v in prop::array::uniform6(-3.0..3.0f64), t in 0.05..4.0f64) {
            let (from, to) = (state(v[0], v[1], v[2]), state(v[3], v[4], v[5]));
            let segment = Segment::quintic(from, to, t);
            prop_assert!(near(segment.at(0.0), from, 1e-12));
            prop_assert!(near(segment.at(t), to, 1e-7 / t / t));
        }

        #[test]
        fn a_cubic_meets_its_ends(v in prop::array::uniform4(-3.0..3.0f64), t in 0.05..4.0f64) {
            let (from, to) = (state(v[0], v[1], 0.0), state(v[2], v[3], 0.0));
            let segment = Segment::cubic(from, to, t);
            let (first, last) = (segment.at(0.0), segment.at(t));
            prop_assert!((first.position - v[0]).abs() < 1e-12 && (first.velocity - v[1]).abs() < 1e-12);
            prop_assert!((last.position - v[2]).abs() < 1e-9 && (last.velocity - v[3]).abs() < 1e-8);
        }

        #[test]
        fn bounds_hold_and_are_tight(v in prop::array::uniform6(-3.0..3.0f64), t in 0.05..4.0f64) {
            let segment = Segment::quintic(state(v[0], v[1], v[2]), state(v[3], v[4], v[5]), t);
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            let (mut speed, mut acceleration) = (0.0_f64, 0.0_f64);
            for i in 0..=4000 {
                let s = segment.at(t * f64::from(i) / 4000.0);
                low = low.min(s.position);
                high = high.max(s.position);
                speed = speed.max(s.velocity.abs());
                acceleration = acceleration.max(s.acceleration.abs());
            }
            let (below, above) = segment.position_range(1e-9);
            prop_assert!(below <= low + 1e-8 && above >= high - 1e-8);
            prop_assert!(low - below < 1e-4 && above - high < 1e-4);
            prop_assert!(segment.max_speed() >= speed * (1.0 - 1e-9));
            prop_assert!(segment.max_speed() <= speed * 1.0001 + 1e-9);
            prop_assert!(segment.max_acceleration() >= acceleration * (1.0 - 1e-9));
            prop_assert!(segment.max_acceleration() <= acceleration * 1.0001 + 1e-9);
        }
    }

    #[test]
    fn nan_is_never_within_bounds() {
        let segment = Segment::linear(0.0, f64::NAN, 1.0);
        assert_eq!(segment.max_speed(), f64::INFINITY);
        assert_eq!(segment.position_range(1e-9).1, f64::INFINITY);
    }
}
