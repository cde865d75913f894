//! Where the chain's moving frames are, quickly.
//!
//! Each frame is turned, once and for all, so that its joint's axis is z: then a joint value is a
//! rotation of two columns. `kinematics` stays the reference; a test compares them.

use nalgebra::{Isometry3, UnitQuaternion, Vector3};
use parry3d_f64::math::{Matrix, Vector};

use crate::model::{Chain, Motion};

/// A frame: columns of its axes, and its origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    pub axes: Matrix,
    pub origin: Vector,
}

impl Frame {
    pub const IDENTITY: Self = Self {
        axes: Matrix::IDENTITY,
        origin: Vector::ZERO,
    };

    fn new(isometry: &Isometry3<f64>) -> Self {
        let r = isometry.rotation.to_rotation_matrix();
        let m = r.matrix();
        let column = |k: usize| Vector::new(m[(0, k)], m[(1, k)], m[(2, k)]);
        let t = &isometry.translation.vector;
        Self {
            axes: Matrix::from_cols(column(0), column(1), column(2)),
            origin: Vector::new(t.x, t.y, t.z),
        }
    }

    /// A point given in this frame.
    #[inline]
    pub fn point(&self, p: Vector) -> Vector {
        self.axes * p + self.origin
    }

    /// A direction of the outer frame, in this frame.
    #[inline]
    pub fn inward(&self, d: Vector) -> Vector {
        Vector::new(
            self.axes.x_axis.dot(d),
            self.axes.y_axis.dot(d),
            self.axes.z_axis.dot(d),
        )
    }

    /// `other` as seen from this frame.
    #[inline]
    pub fn relative(&self, other: &Self) -> Self {
        Self {
            axes: Matrix::from_cols(
                self.inward(other.axes.x_axis),
                self.inward(other.axes.y_axis),
                self.inward(other.axes.z_axis),
            ),
            origin: self.inward(other.origin - self.origin),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Step {
    before: Frame,
    motion: Motion,
    dof: usize,
    multiplier: f64,
    offset: f64,
}

/// A chain, prepared.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steps {
    /// The chain's base in the frame in which obstacles are given.
    base: Frame,
    steps: Vec<Step>,
    /// From each joint's own frame to the turned one; the first is the base's, which is not turned.
    turns: Vec<UnitQuaternion<f64>>,
}

impl Steps {
    /// `frame`: pose in the chain's base frame of the frame in which obstacles are given.
    pub fn new(chain: &Chain, frame: &Isometry3<f64>) -> Self {
        let base = if *frame == Isometry3::identity() {
            Frame::IDENTITY
        } else {
            Frame::new(&frame.inverse())
        };
        let mut turns = vec![UnitQuaternion::identity()];
        let mut steps = Vec::with_capacity(chain.joints.len());
        let mut last = UnitQuaternion::identity();
        for joint in &chain.joints {
            // For the opposite direction any half turn does.
            let turn =
                UnitQuaternion::rotation_between(&Vector3::z(), &joint.axis).unwrap_or_else(|| {
                    UnitQuaternion::from_scaled_axis(Vector3::x() * std::f64::consts::PI)
                });
            let before = last.inverse() * joint.before * turn;
            steps.push(Step {
                before: Frame::new(&before),
                motion: joint.motion,
                dof: joint.dof,
                multiplier: joint.multiplier,
                offset: joint.offset,
            });
            turns.push(turn);
            last = turn;
        }
        Self { base, steps, turns }
    }

    /// A transform given in the frame that `carrier` joints move, in the turned frame.
    pub fn turned(&self, carrier: usize, offset: &Isometry3<f64>) -> Isometry3<f64> {
        match self.turns.get(carrier) {
            Some(turn) => turn.inverse() * offset,
            None => *offset,
        }
    }

    /// Writes the base's frame and one for each joint; `q` must be long enough.
    pub fn place(&self, q: &[f64], frames: &mut Vec<Frame>) {
        frames.clear();
        let mut at = self.base;
        frames.push(at);
        for step in &self.steps {
            let value =
                step.multiplier * q.get(step.dof).copied().unwrap_or(f64::NAN) + step.offset;
            let origin = at.point(step.before.origin);
            let axes = at.axes * step.before.axes;
            at = match step.motion {
                Motion::Rotation => {
                    let (s, c) = value.sin_cos();
                    let (x, y) = (axes.x_axis, axes.y_axis);
                    Frame {
                        axes: Matrix::from_cols(x * c + y * s, y * c - x * s, axes.z_axis),
                        origin,
                    }
                }
                Motion::Translation => Frame {
                    axes,
                    origin: origin + axes.z_axis * value,
                },
            };
            frames.push(at);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::kinematics::joint_frames;
    use crate::model::RobotModel;
    use proptest::prelude::*;

    /// Joints of both kinds with slanted axes, for the tests of this room.
    pub(in crate::collision) fn chain() -> Chain {
        let joint = |name: &str, kind: &str, parent: &str, child: &str, axis: &str| {
            format!(
                r#"<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
                <origin xyz="0.1 -0.2 0.3" rpy="0.4 1.1 -2"/><axis xyz="{axis}"/>
                <limit lower="-9" upper="9" effort="1" velocity="1"/></joint>"#
            )
        };
        let text = format!(
            r#"<robot name="r"><link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="e"/>{}{}{}{}</robot>"#,
            joint("1", "revolute", "a", "b", "0 0 -1"),
            joint("2", "prismatic", "b", "c", "1 2 3"),
            joint("3", "revolute", "c", "d", "0 1 0"),
            joint("4", "revolute", "d", "e", "-1 0.5 0.25"),
        );
        RobotModel::from_urdf(&text)
            .unwrap()
            .chain("a", "e", false)
            .unwrap()
    }

    proptest! {
        #[test]
        fn frames_are_those_of_the_kinematics(q in prop::array::uniform4(-7.0..7.0f64)) {
            let chain = chain();
            let steps = Steps::new(&chain, &Isometry3::identity());
            let (mut fast, mut slow) = (Vec::new(), Vec::new());
            steps.place(&q, &mut fast);
            joint_frames(&chain, &q, &mut slow).unwrap();
            let at = Isometry3::translation(0.3, -0.5, 0.7);
            for (k, frame) in slow.iter().enumerate() {
                let expected = (frame.pose * at).translation.vector;
                let t = steps.turned(k + 1, &at).translation.vector;
                let found = fast[k + 1].point(Vector::new(t.x, t.y, t.z));
                let off = Vector::new(expected.x, expected.y, expected.z) - found;
                prop_assert!(off.length() < 1e-13);
            }
        }
    }
}
