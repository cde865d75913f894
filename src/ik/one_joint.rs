//! The analytic minimum over one joint: what coordinate descent and FABRIK share.
//!
//! While one joint turns, squared distances of points and squared (chordal) distances of
//! orientations are sinusoids of its angle, so their sum has one minimum a turn; while one
//! slides, they are a parabola.

use nalgebra::{Point3, UnitQuaternion, Vector3};

use crate::model::Dof;

/// `a cos Δ + b sin Δ`, to be made as large as possible by turning a body by Δ.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sinusoid {
    a: f64,
    b: f64,
}

impl Sinusoid {
    /// Adds half the negative squared distance between a point of the body and its goal.
    pub(super) fn add_point(
        &mut self,
        weight: f64,
        axis: &Vector3<f64>,
        origin: &Point3<f64>,
        point: &Point3<f64>,
        goal: &Point3<f64>,
    ) {
        let arm = point - origin;
        let wanted = goal - origin;
        self.a += weight * (arm.dot(&wanted) - axis.dot(&arm) * axis.dot(&wanted));
        self.b += weight * axis.dot(&arm.cross(&wanted));
    }

    /// Adds the negative squared chordal distance between the body's orientation and its goal,
    /// scaled to half the squared angle for small angles.
    pub(super) fn add_orientation(
        &mut self,
        weight: f64,
        axis: &Vector3<f64>,
        current: &UnitQuaternion<f64>,
        goal: &UnitQuaternion<f64>,
    ) {
        // trace(goalᵀ R(Δ) current) = const + a cos Δ + b sin Δ, by the quaternion of the rest:
        // with r = current * goal⁻¹ = (w, v) and s = axis·v it is 4 (w cos(Δ/2) − s sin(Δ/2))² − 1.
        let rest = current * goal.inverse();
        let w = rest.w;
        let s = axis.dot(&rest.imag());
        self.a += weight * (w * w - s * s);
        self.b -= weight * 2.0 * w * s;
    }

    /// The turn Δ in (−π, π] at the maximum, `None` if the angle makes no difference worth
    /// `least`.
    fn phase(&self, least: f64) -> Option<f64> {
        let phase = self.b.atan2(self.a);
        (self.a.hypot(self.b) > least && phase.is_finite()).then_some(phase)
    }

    /// The value inside the limits of `dof` that is best for a joint whose angle is
    /// `multiplier * value`, the nearest to `value` of equals.
    pub(super) fn best(&self, dof: &Dof, value: f64, multiplier: f64, least: f64) -> f64 {
        let Some(phase) = self.phase(least) else {
            return value;
        };
        let gain = |to: f64| (multiplier * (to - value) - phase).cos();
        let period = std::f64::consts::TAU / multiplier.abs();
        let direct = value + phase / multiplier;
        let mut nearest: Option<f64> = None;
        for turns in [0.0, -1.0, 1.0, -2.0, 2.0] {
            let candidate = direct + turns * period;
            let nearer = nearest
                .is_none_or(|so_far: f64| (candidate - value).abs() < (so_far - value).abs());
            if dof.contains(candidate) && nearer {
                nearest = Some(candidate);
            }
        }
        nearest.unwrap_or_else(|| {
            // The maximum is outside: a sinusoid is best at one of the ends.
            if gain(dof.lower) > gain(dof.upper) {
                dof.lower
            } else {
                dof.upper
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DofKind;

    fn dof(lower: f64, upper: f64) -> Dof {
        Dof {
            name: "joint".into(),
            kind: DofKind::Revolute,
            lower,
            upper,
            velocity: None,
        }
    }

    /// The oracle: the objective computed by turning the body, sampled densely.
    fn sampled(dof: &Dof, value: f64, objective: impl Fn(f64) -> f64) -> (f64, f64) {
        let steps = 20_000;
        (0..=steps)
            .map(|k| dof.lower + (dof.upper - dof.lower) * f64::from(k) / f64::from(steps))
            .map(|to| (to, objective(to - value)))
            .fold((value, f64::NEG_INFINITY), |best, next| {
                if next.1 > best.1 {
                    next
                } else {
                    best
                }
            })
    }

    #[test]
    fn analytic_minimum_equals_dense_search() {
        let mut state = 7_u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 * 2.0 - 1.0
        };
        for _ in 0..40 {
            let mut vector = || Vector3::new(random(), random(), random());
            let axis = vector().normalize();
            let (origin, point, goal) = (vector(), vector(), vector());
            let current = UnitQuaternion::from_scaled_axis(vector() * 3.0);
            let wanted = UnitQuaternion::from_scaled_axis(vector() * 3.0);
            let value = random();
            let dof = dof(value - 1.5 - random(), value + 1.5 + random());
            let mut sinusoid = Sinusoid::default();
            sinusoid.add_point(0.7, &axis, &origin.into(), &point.into(), &goal.into());
            sinusoid.add_orientation(0.4, &axis, &current, &wanted);
            let objective = |turn: f64| {
                let rotation = UnitQuaternion::from_scaled_axis(axis * turn);
                let moved = origin + rotation * (point - origin);
                let chord = ((rotation * current).to_rotation_matrix().into_inner()
                    - wanted.to_rotation_matrix().into_inner())
                .norm_squared();
                -0.7 * 0.5 * (moved - goal).norm_squared() - 0.4 * 0.25 * chord
            };
            let found = sinusoid.best(&dof, value, 1.0, 0.0);
            let (_, best) = sampled(&dof, value, objective);
            assert!(dof.contains(found));
            assert!(objective(found - value) >= best - 1e-6, "{found}");
        }
    }
}
