//! Limits of the tip's speed and acceleration along a timed path.
//!
//! Both are checked at moments of every interval of the profile, by the Jacobian; where they are
//! exceeded the joints' limits are lowered around there, in proportion, and the profile is solved again.

use super::profile::Profile;
use super::spline::Spline;
use super::MotionLimits;
use crate::kinematics::jacobian;
use crate::model::Chain;
use nalgebra::Vector3;

/// Rounds of lowering limits locally.
const ROUNDS: usize = 20;
/// Share of the limits that lowering aims at, for what happens between the moments.
const AIM: f64 = 0.995;
/// Moments in an interval, at its ends and between.
const MOMENTS: usize = 4;

/// Largest speed \[m/s\] and acceleration \[m/s²\] of the tip; infinite where there is no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TipLimits {
    pub speed: f64,
    pub acceleration: f64,
}

/// Shares of the tip's limits in use.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct TipUse {
    pub speed: f64,
    pub acceleration: f64,
}

impl TipUse {
    pub fn max(self, other: Self) -> Self {
        Self {
            speed: self.speed.max(other.speed),
            acceleration: self.acceleration.max(other.acceleration),
        }
    }

    /// How much slower the motion has to be as a whole.
    pub fn stretch(&self) -> f64 {
        self.speed.max(self.acceleration.sqrt())
    }
}

impl TipLimits {
    /// Use of the limits on the spline at `s`, with ṡ and s̈.
    pub fn usage(
        &self,
        chain: &Chain,
        spline: &Spline,
        piece: usize,
        s: f64,
        rate: f64,
        u: f64,
    ) -> TipUse {
        let tangent = |s: f64| -> Vector3<f64> {
            let (mut q, mut d) = (Vec::new(), Vec::new());
            for joint in 0..spline.dof() {
                let [value, slope, _] = spline.evaluate(piece, joint, s);
                q.push(value);
                d.push(slope);
            }
            let Ok(jacobian) = jacobian(chain, &q) else {
                return Vector3::zeros();
            };
            let mut tangent = Vector3::zeros();
            for (column, slope) in jacobian.column_iter().zip(&d) {
                tangent += Vector3::new(column[0], column[1], column[2]) * *slope;
            }
            tangent
        };
        let here = tangent(s);
        let step = 1e-5 * spline.length();
        let bend = (tangent(s + step) - tangent(s - step)) / (2.0 * step);
        TipUse {
            speed: here.norm() * rate / self.speed,
            acceleration: (here * u + bend * (rate * rate)).norm() / self.acceleration,
        }
    }

    /// Lowers the shares of the joints' limits in `profile` and solves it again until the tip keeps its
    /// own, as far as local lowering goes; what is left is for [`TipUse::stretch`].
    pub fn lower(
        &self,
        chain: &Chain,
        spline: &Spline,
        limits: &MotionLimits,
        profile: &mut Profile,
    ) {
        for _ in 0..ROUNDS {
            let mut over = false;
            for i in 0..profile.piece.len() {
                let (mut tip, mut velocity, mut acceleration) = (TipUse::default(), 0.0, 0.0);
                let ends = profile.ends(i);
                for moment in 0..=MOMENTS {
                    let part = moment as f64 / MOMENTS as f64;
                    let (s, x) = profile.inside(i, part);
                    let u = ends[0] + part * (ends[1] - ends[0]);
                    let rate = x.sqrt();
                    tip = tip.max(self.usage(chain, spline, profile.piece[i], s, rate, u));
                    for joint in 0..spline.dof() {
                        let [_, d, dd] = spline.evaluate(profile.piece[i], joint, s);
                        let v = (d * rate).abs() / limits.velocity()[joint];
                        let a = (d * u + dd * x).abs() / limits.acceleration()[joint];
                        velocity = f64::max(velocity, v);
                        acceleration = f64::max(acceleration, a);
                    }
                }
                if tip.speed > 1.0 {
                    over = true;
                    let share = velocity * AIM / tip.speed;
                    profile.velocity_share[i] = profile.velocity_share[i].min(share);
                }
                if tip.acceleration > 1.0 {
                    over = true;
                    let factor = (AIM / tip.acceleration).max(0.5);
                    profile.acceleration_share[i] =
                        (acceleration * factor).min(profile.acceleration_share[i]);
                    profile.velocity_share[i] =
                        (velocity * factor.sqrt()).min(profile.velocity_share[i]);
                }
                // Shares have to stay positive.
                profile.acceleration_share[i] = profile.acceleration_share[i].max(1e-3);
                profile.velocity_share[i] = profile.velocity_share[i].max(1e-3);
            }
            if !over {
                return;
            }
            profile.solve(spline, limits);
        }
    }
}
