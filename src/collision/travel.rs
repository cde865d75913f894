//! How far parts of the arm move along a straight way in joint space.

use parry3d_f64::math::Vector;

use super::frames::Frame;
use crate::model::{Chain, Motion};

/// How a chain's joints move along a straight way in joint space.
#[derive(Debug, Clone, Default)]
pub(super) struct Rates {
    /// Of each moving joint: radians or metres for the whole way.
    rates: Vec<f64>,
    /// Farthest that each sliding joint is from its zero; zero for the others \[m\].
    slides: Vec<f64>,
}

impl Rates {
    pub(super) fn set(&mut self, chain: &Chain, from: &[f64], to: &[f64]) {
        self.rates.clear();
        self.slides.clear();
        for joint in &chain.joints {
            let (first, last) = (joint.value(from), joint.value(to));
            self.rates.push(last - first);
            self.slides.push(match joint.motion {
                Motion::Rotation => 0.0,
                Motion::Translation => first.abs().max(last.abs()),
            });
        }
    }

    /// A bound of the second derivative by the fraction of the way of any point that `carrier` joints
    /// move and that is at most `far` (one number a joint) away from each joint's origin when nothing has slid,
    /// seen from the frame that `inner` joints move \[m\]. With w_i the rate of a turning joint i and r_i
    /// the farthest that the point can be from it, a turn about i of a turn about j contributes at
    /// most |w_i| |w_j| r of the outer one, and a turn about i of a slide by j twice |w_i| |v_j|.
    pub(super) fn bend(&self, chain: &Chain, far: &[f64], inner: usize) -> f64 {
        let carrier = far.len();
        // The slides that lie between a joint and the point.
        let mut slid: f64 = self.slides.iter().take(carrier).sum();
        let mut turned = 0.0;
        let mut bend = 0.0;
        let joints = chain.joints.iter().zip(&self.rates).zip(&self.slides);
        for (number, (((joint, rate), slide), far)) in joints.zip(far).enumerate() {
            let rate = rate.abs();
            let far = far + slid;
            slid -= slide;
            if number < inner {
                continue;
            }
            match joint.motion {
                Motion::Rotation => {
                    bend += far * rate * (2.0 * turned + rate);
                    turned += rate;
                }
                Motion::Translation => bend += 2.0 * turned * rate,
            }
        }
        bend
    }

    /// The velocities of the frames (the base's first), by the fraction of the way.
    pub(super) fn twists(&self, chain: &Chain, frames: &[Frame], twists: &mut Vec<Twist>) {
        twists.clear();
        let mut twist = Twist::ZERO;
        twists.push(twist);
        let joints = chain.joints.iter().zip(&self.rates);
        for (frame, (joint, &rate)) in frames.iter().skip(1).zip(joints) {
            // Frames are turned so that z is the joint's axis.
            let axis = frame.axes.z_axis * rate;
            match joint.motion {
                Motion::Rotation => {
                    twist.angular += axis;
                    twist.linear += frame.origin.cross(axis);
                }
                Motion::Translation => twist.linear += axis,
            }
            twists.push(twist);
        }
    }
}

/// The velocity of a rigid body by the fraction of the way: of a point p, `linear + angular × p`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Twist {
    pub linear: Vector,
    pub angular: Vector,
}

impl Twist {
    pub(super) const ZERO: Self = Self {
        linear: Vector::ZERO,
        angular: Vector::ZERO,
    };

    #[inline]
    pub(super) fn at(&self, point: Vector) -> Vector {
        self.linear + self.angular.cross(point)
    }

    /// As seen from something that moves.
    pub(super) fn seen_from(&self, other: &Self) -> Self {
        Self {
            linear: self.linear - other.linear,
            angular: self.angular - other.angular,
        }
    }
}

/// Bounds of how far points of a rigid body move in an interval of the way to both sides of its middle.
pub(super) struct Travel {
    /// Half the interval's length, as a fraction of the way.
    pub half: f64,
    /// The most that second derivatives contribute \[m\].
    pub second: f64,
    pub twist: Twist,
}

impl Travel {
    pub(super) fn new(half: f64, bend: f64, twist: Twist) -> Self {
        Self {
            half,
            // Of a single configuration, nothing is known of bounds.
            second: if half > 0.0 {
                0.5 * half * half * bend
            } else {
                0.0
            },
            twist,
        }
    }

    /// Of one point \[m\].
    #[inline]
    pub(super) fn point(&self, point: Vector) -> f64 {
        self.half * self.twist.at(point).length() + self.second
    }

    /// Of one point along `normal` (of unit length) \[m\].
    #[inline]
    pub(super) fn point_along(&self, point: Vector, normal: Vector) -> f64 {
        self.half * self.twist.at(point).dot(normal).abs() + self.second
    }

    /// Of all points within `reach` of `centre` \[m\].
    pub(super) fn body(&self, centre: Vector, reach: f64) -> f64 {
        let speed = self.twist.at(centre).length() + self.twist.angular.length() * reach;
        self.half * speed + self.second
    }

    /// Of all points within `reach` of `centre`, along `normal` (of unit length) \[m\].
    #[inline]
    pub(super) fn body_along(&self, centre: Vector, reach: f64, normal: Vector) -> f64 {
        let turn = self.twist.angular.cross(normal).length();
        let speed = self.twist.at(centre).dot(normal).abs() + turn * reach;
        self.half * speed + self.second
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collision::frames::tests::chain;
    use crate::collision::frames::Steps;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]
        #[test]
        fn nothing_moves_farther_than_the_bound(
            from in prop::array::uniform4(-3.0..3.0f64), to in prop::array::uniform4(-3.0..3.0f64),
            middle in 0.2..0.8f64, half in 0.0..0.2f64, inner in 0..4usize,
            offset in prop::array::uniform3(-0.5..0.5f64), normal in prop::array::uniform3(-1.0..1.0f64),
            centre in prop::array::uniform3(-0.2..0.2f64),
        ) {
            let chain = chain();
            let steps = Steps::new(&chain, &nalgebra::Isometry3::identity());
            let at = |share: f64| {
                let q: Vec<f64> = from.iter().zip(&to).map(|(a, b)| a + (b - a) * share).collect();
                let mut frames = Vec::new();
                steps.place(&q, &mut frames);
                frames
            };
            let frames = at(middle);
            let mut rates = Rates::default();
            rates.set(&chain, &from, &to);
            let mut twists = Vec::new();
            rates.twists(&chain, &frames, &mut twists);
            let (centre, offset) = (Vector::from_array(centre), Vector::from_array(offset));
            let point = centre + offset;
            let mut far = vec![0.0; 4];
            let mut most = centre.length() + offset.length();
            for (far, joint) in far.iter_mut().zip(&chain.joints).rev() {
                *far = most;
                most += joint.before.translation.vector.norm();
            }
            // Seen from the inner frame as it is in the middle.
            let travel = Travel::new(half, rates.bend(&chain, &far, inner), twists[4].seen_from(&twists[inner]));
            let place = |frames: &[Frame], p: Vector| {
                let seen = frames[inner].relative(&frames[4]).point(p);
                at(middle)[inner].point(seen)
            };
            let normal = Vector::from_array(normal).try_normalize().unwrap_or(Vector::X);
            let (p, c) = (place(&frames, point), place(&frames, centre));
            for k in -10..=10 {
                let there = at(middle + half * f64::from(k) / 10.0);
                let moved = place(&there, point) - p;
                let slack = 1e-9;
                prop_assert!(moved.length() <= travel.point(p) + slack);
                prop_assert!(moved.dot(normal).abs() <= travel.point_along(p, normal) + slack);
                prop_assert!(moved.length() <= travel.body(c, offset.length()) + slack);
                prop_assert!(moved.dot(normal).abs() <= travel.body_along(c, offset.length(), normal) + slack);
            }
        }
    }
}
