//! Three hinges whose axes meet in a point, taken for one ball joint \[Aristidou2011\].
//!
//! The limb that the ball carries may swing inside a cone around its rest direction (all three
//! hinges at the middle of their limits). The cone's section is made of four quarters of ellipses
//! whose half-axes, the four quarter angles, come from the hinges' limits: how far the limb
//! swings towards either side of two directions across before no hinge values inside the
//! limits are left. A direction asked for outside is moved to the cone's rim; the orientation
//! is then split into the three hinge values.

use nalgebra::{Isometry3, UnitQuaternion, Vector3};

use super::closed_form::subproblems::{align, meet};
use crate::model::{Chain, ChainJoint, Dof, Motion};

/// Axes meet if they pass a point at less than this share of the arm's length.
const MEET: f64 = 1e-4;
/// Bisections for a quarter angle.
const BISECTIONS: u32 = 6;
/// Turns about the limb that are tried for one direction.
const TWISTS: u32 = 8;

/// A ball joint; all vectors in the frame of the first hinge before its motion, hinges at zero.
#[derive(Debug, Clone)]
pub(super) struct BallJoint {
    /// Position of the first of the three hinges among the chain's joints.
    pub(super) first: usize,
    axes: [Vector3<f64>; 3],
    /// The child frame at zero, relative to the first hinge's.
    zero: Isometry3<f64>,
    centre: Vector3<f64>,
    /// The point beyond the ball, in the child frame.
    pub(super) limb: Vector3<f64>,
    /// Direction of the limb from the centre, hinges at zero.
    direction: Vector3<f64>,
    hinges: [Dof; 3],
    /// Rest direction and two directions across it.
    rest: [Vector3<f64>; 3],
    /// Largest swing towards the two directions across and against them \[rad\].
    quarters: [f64; 4],
}

/// The hinge's own limits, from those of the value that drives it.
fn hinge(chain: &Chain, joint: &ChainJoint) -> Option<Dof> {
    let shared = chain.joints.iter().filter(|j| j.dof == joint.dof).count();
    let plain = joint.motion == Motion::Rotation
        && shared == 1
        && joint.multiplier == 1.0
        && joint.offset == 0.0;
    let dof = chain.dofs.get(joint.dof)?;
    plain.then(|| dof.clone())
}

/// The point nearest to two lines, and their distance; `None` for parallels.
fn crossing(
    a: &Vector3<f64>,
    k: &Vector3<f64>,
    b: &Vector3<f64>,
    s: &Vector3<f64>,
) -> Option<(Vector3<f64>, f64)> {
    let normal = k.cross(s);
    let square = normal.norm_squared();
    if square < 1e-6 {
        return None;
    }
    let way = b - a;
    let on_a = a + k * (way.cross(s).dot(&normal) / square);
    let on_b = b + s * (way.cross(k).dot(&normal) / square);
    Some(((on_a + on_b) * 0.5, (on_a - on_b).norm()))
}

impl BallJoint {
    /// The ball joints of a chain, base first, no hinge in two of them.
    pub(super) fn all(chain: &Chain, reach: f64) -> Vec<BallJoint> {
        let mut found: Vec<BallJoint> = Vec::new();
        let mut first = 0;
        while first + 2 < chain.joints.len() {
            match BallJoint::at(chain, first, reach) {
                Some(ball) => {
                    found.push(ball);
                    first += 3;
                }
                None => first += 1,
            }
        }
        found
    }

    fn at(chain: &Chain, first: usize, reach: f64) -> Option<BallJoint> {
        let [one, two, three] = chain.joints.get(first..first + 3)? else {
            return None;
        };
        let hinges = [hinge(chain, one)?, hinge(chain, two)?, hinge(chain, three)?];
        let second = two.before;
        let zero = second * three.before;
        let axes = [
            one.axis.into_inner(),
            (second.rotation * two.axis).into_inner(),
            (zero.rotation * three.axis).into_inner(),
        ];
        let [k1, k2, k3] = &axes;
        let origin = Vector3::zeros();
        let (centre, gap) = crossing(&origin, k1, &second.translation.vector, k2)?;
        let (other, gap2) = crossing(&second.translation.vector, k2, &zero.translation.vector, k3)?;
        let tolerance = MEET * reach;
        if gap > tolerance || gap2 > tolerance || (centre - other).norm() > tolerance {
            return None;
        }
        let limb = match chain.joints.get(first + 3) {
            Some(next) => next.before.translation.vector,
            None => chain.tip_offset.translation.vector,
        };
        let along = (zero * nalgebra::Point3::from(limb)).coords - centre;
        let length = along.norm();
        if length.is_nan() || length < 0.01 * reach {
            return None;
        }
        let mut ball = BallJoint {
            first,
            axes,
            zero,
            centre,
            limb,
            direction: along / length,
            hinges,
            rest: [Vector3::zeros(); 3],
            quarters: [std::f64::consts::PI; 4],
        };
        ball.measure();
        Some(ball)
    }

    /// Rest direction and quarter angles from the limits.
    fn measure(&mut self) {
        let middle = [0, 1, 2].map(|index: usize| self.hinges.get(index).map_or(0.0, Dof::middle));
        let rest = self.turned(&middle);
        let axis = rest * self.direction;
        let side = if axis.x.abs() < 0.9 {
            Vector3::x()
        } else {
            Vector3::y()
        };
        let u = axis.cross(&side).normalize();
        let v = axis.cross(&u);
        self.rest = [axis, u, v];
        let directions = [u, v, -u, -v];
        self.quarters = directions.map(|across| {
            let about = axis.cross(&across);
            let holds = |angle: f64| {
                let swung = UnitQuaternion::from_scaled_axis(about * angle) * rest;
                let limb = swung * self.direction;
                (0..TWISTS).any(|number| {
                    let twist = std::f64::consts::TAU * f64::from(number) / f64::from(TWISTS);
                    let turned = UnitQuaternion::from_scaled_axis(limb * twist) * swung;
                    self.split(&turned, &middle)
                        .is_some_and(|(_, inside)| inside)
                })
            };
            let (mut low, mut high) = (0.0, std::f64::consts::PI);
            for _ in 0..BISECTIONS {
                let angle = 0.5 * (low + high);
                if holds(angle) {
                    low = angle;
                } else {
                    high = angle;
                }
            }
            high
        });
    }

    /// The ball's rotation for hinge values.
    fn turned(&self, values: &[f64; 3]) -> UnitQuaternion<f64> {
        let pairs = self.axes.iter().zip(values);
        pairs.fold(UnitQuaternion::identity(), |turned, (axis, value)| {
            turned * UnitQuaternion::from_scaled_axis(axis * *value)
        })
    }

    /// Hinge values for a rotation of the ball, those nearest to `current` of the two sets, sets
    /// inside the limits first (values outside are clamped); and whether they are inside.
    fn split(&self, turned: &UnitQuaternion<f64>, current: &[f64; 3]) -> Option<([f64; 3], bool)> {
        let [k1, k2, k3] = &self.axes;
        let image = turned * k3;
        let mut best: Option<([f64; 3], bool, f64)> = None;
        for pair in meet(k1, &image, k2, k3).into_iter().flatten() {
            let first = pair.0.map_or(current[0], |turn| -turn);
            let second = pair.1.unwrap_or(current[1]);
            let rest = UnitQuaternion::from_scaled_axis(k2 * -second)
                * UnitQuaternion::from_scaled_axis(k1 * -first)
                * turned;
            let across = if k3.x.abs() < 0.9 {
                k3.cross(&Vector3::x())
            } else {
                k3.cross(&Vector3::y())
            };
            let third = align(k3, &across, &(rest * across)).unwrap_or(current[2]);
            let mut values = [first, second, third];
            let mut inside = true;
            let mut moved = 0.0;
            for ((value, dof), &now) in values.iter_mut().zip(&self.hinges).zip(current) {
                let wound = super::winding::nearest(
                    *value,
                    now,
                    std::f64::consts::TAU,
                    dof.lower,
                    dof.upper,
                );
                *value = dof.clamp(wound);
                inside &= *value == wound;
                moved += (wound - now) * (wound - now);
            }
            let better = best
                .as_ref()
                .is_none_or(|(_, was, least)| (inside, -moved) > (*was, -*least));
            if better {
                best = Some((values, inside, moved));
            }
        }
        best.map(|(values, inside, _)| (values, inside))
    }

    /// The nearest direction inside the cone.
    fn clipped(&self, direction: &Vector3<f64>) -> Vector3<f64> {
        let [axis, u, v] = &self.rest;
        let (along, x, y) = (axis.dot(direction), u.dot(direction), v.dot(direction));
        let across = x.hypot(y);
        if across < 1e-9 {
            return if along > 0.0 { *direction } else { *axis };
        }
        let [right, up, left, down] = self.quarters;
        let (cosine, sine) = (x / across, y / across);
        let a = cosine / if x >= 0.0 { right } else { left };
        let b = sine / if y >= 0.0 { up } else { down };
        let most = 1.0 / a.hypot(b);
        let angle = across.atan2(along);
        if angle <= most {
            return *direction;
        }
        let (s, c) = most.sin_cos();
        axis * c + (u * cosine + v * sine) * s
    }

    /// Hinge values that bring the limb towards `point` and keep the child's orientation
    /// as near to `orientation` as that allows, both in the frame of the first hinge.
    pub(super) fn aim(
        &self,
        point: &Vector3<f64>,
        orientation: &UnitQuaternion<f64>,
        current: &[f64; 3],
    ) -> Option<[f64; 3]> {
        let way = point - self.centre;
        let length = way.norm();
        if length.is_nan() || length < 1e-9 {
            return None;
        }
        let wanted = self.clipped(&(way / length));
        let turned = orientation * self.zero.rotation.inverse();
        let swing = UnitQuaternion::rotation_between(&(turned * self.direction), &wanted)?;
        self.split(&(swing * turned), current)
            .map(|(values, _)| values)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_arms::Random;
    use super::*;
    use crate::kinematics::joint_frames;
    use crate::model::{ChainJoint, DofKind};

    /// Three hinges through one point with oblique axes and offsets along them, and a limb.
    fn ball(random: &mut Random) -> Chain {
        let mut chain = super::super::test_arms::planar(&[0.3, 0.3, 0.3], 2.0);
        let axes = [
            Vector3::z(),
            Vector3::y() + random.vector(0.2),
            Vector3::x() + random.vector(0.2),
        ];
        chain.joints = axes
            .iter()
            .enumerate()
            .map(|(index, axis)| {
                let axis = nalgebra::Unit::new_normalize(*axis);
                // Origins slide along the axis, which still meets the others at (0, 0, 0.2).
                let at = match index {
                    0 => Vector3::zeros(),
                    1 => Vector3::new(0.0, 0.0, 0.2) + axis.into_inner() * 0.05,
                    _ => {
                        let last = nalgebra::Unit::new_normalize(axes[1]).into_inner() * 0.05;
                        axis.into_inner() * -0.04 - last
                    }
                };
                ChainJoint {
                    before: Isometry3::translation(at.x, at.y, at.z),
                    axis,
                    ..chain.joints[index].clone()
                }
            })
            .collect();
        for dof in &mut chain.dofs {
            dof.kind = DofKind::Revolute;
            dof.lower = random.between(-2.0, -0.5);
            dof.upper = random.between(0.5, 2.0);
        }
        chain.tip_offset =
            Isometry3::new(random.vector(0.1) + Vector3::x() * 0.3, random.vector(1.0));
        chain
    }

    #[test]
    fn rotations_split_into_the_hinges_that_made_them() {
        let mut random = Random(111);
        for _ in 0..60 {
            let chain = ball(&mut random);
            let balls = BallJoint::all(&chain, 0.6);
            assert_eq!(balls.len(), 1);
            let ball = &balls[0];
            let q = random.configuration(&chain);
            let values = [q[0], q[1], q[2]];
            let mut frames = Vec::new();
            let tip = joint_frames(&chain, &q, &mut frames).unwrap();
            let child = frames[2].pose;
            let found = ball
                .aim(&tip.translation.vector, &child.rotation, &values)
                .unwrap();
            let inside_cone = (ball.clipped(&(tip.translation.vector - ball.centre).normalize())
                - (tip.translation.vector - ball.centre).normalize())
            .norm()
                < 1e-9;
            // Cones are an approximation of what hinges reach; inside, the answer is exact.
            if inside_cone {
                for (found, value) in found.iter().zip(values) {
                    assert!((found - value).abs() < 1e-6, "{found} {value}");
                }
            }
        }
    }

    #[test]
    fn cones_have_unequal_quarters_and_clip_to_their_rim() {
        let mut random = Random(112);
        let mut unequal = 0;
        for _ in 0..30 {
            let chain = ball(&mut random);
            let ball = &BallJoint::all(&chain, 0.6)[0];
            let [a, b, c, d] = ball.quarters;
            unequal += u32::from((a - c).abs() > 0.02 && (b - d).abs() > 0.02);
            let [axis, u, v] = ball.rest;
            for (across, most) in [(u, a), (v, b), (-u, c), (-v, d)] {
                let at = |angle: f64| axis * angle.cos() + across * angle.sin();
                let inside = at(0.9 * most);
                assert!((ball.clipped(&inside) - inside).norm() < 1e-9);
                if most < 3.0 {
                    let outside = ball.clipped(&at(most + 0.1));
                    assert!((outside - at(most)).norm() < 1e-9);
                }
            }
            // Whatever is asked for, values stay inside the limits.
            for _ in 0..20 {
                let turn = UnitQuaternion::from_scaled_axis(random.vector(2.0));
                if let Some(values) = ball.aim(&random.vector(1.0), &turn, &[0.0; 3]) {
                    for (value, dof) in values.iter().zip(&chain.dofs) {
                        assert!(dof.contains(*value));
                    }
                }
            }
        }
        assert!(unequal > 10, "{unequal} of 30");
    }

    #[test]
    fn axes_that_do_not_meet_are_no_ball() {
        let mut random = Random(113);
        let mut chain = ball(&mut random);
        chain.joints[1].before.translation.vector.x += 0.01;
        assert!(BallJoint::all(&chain, 0.6).is_empty());
    }
}
