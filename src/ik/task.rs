//! Task axes: which parts of a pose count, for arms with fewer joints than a pose has parts.
//!
//! Positions are masked along the axes of the chain's base frame; rotations about the axes of
//! the *target* frame, where "this axis is free" means what a user of a tool means by it:
//!
//! | asked for | error | example |
//! |---|---|---|
//! | all three | the angle between the orientations | a full pose |
//! | two | the angle between the free axis of the tip and that of the target | `rxy`: the tool's z axis points as asked, its turn about itself is free |
//! | one | the turn of the tip about that axis of the target (the twist of the swing–twist decomposition) | `rz`: heading alone |
//! | none | 0 | a position |
//!
//! A mask laid on the rotation vector would mix free and asked parts for large free turns and
//! its zero would not be approached by Newton steps; swing and twist have exact derivatives.

use std::str::FromStr;

use nalgebra::{Matrix3, UnitQuaternion, Vector3, Vector6};

use super::request::Goal;
use crate::kinematics::{pose_error, Jacobian, Pose, Residual};

/// Which axes of a pose are asked for; see the module's head for what each mask means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskAxes {
    /// Position along x, y, z of the base frame.
    pub position: [bool; 3],
    /// Rotation about x, y, z of the target frame.
    pub rotation: [bool; 3],
}

/// A word that names no task axes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskAxesError {
    /// Something else than x, y, z and r followed by these.
    #[error("\"{0}\" names no task axes: write positions as x, y, z or xyz and rotations as rx, ry, rz or rxyz, separated by commas")]
    Unknown(String),
    /// An axis twice.
    #[error("the task axis {0} is named twice")]
    Twice(String),
    /// Nothing at all.
    #[error("no task axis is named: write e.g. xyz,rz")]
    Empty,
}

impl FromStr for TaskAxes {
    type Err = TaskAxesError;

    /// From words such as `xyz`, `x,z`, `xyz,rz`, `xyz,rxy`.
    fn from_str(text: &str) -> Result<Self, TaskAxesError> {
        let mut axes = TaskAxes {
            position: [false; 3],
            rotation: [false; 3],
        };
        for word in text.split(|c: char| c == ',' || c.is_whitespace()) {
            let (mask, letters, lead) = match word.strip_prefix('r') {
                Some("") => return Err(TaskAxesError::Unknown(word.to_owned())),
                Some(letters) => (&mut axes.rotation, letters, "r"),
                None => (&mut axes.position, word, ""),
            };
            let [x, y, z] = mask;
            for letter in letters.chars() {
                let flag = match letter {
                    'x' => &mut *x,
                    'y' => &mut *y,
                    'z' => &mut *z,
                    _ => return Err(TaskAxesError::Unknown(word.to_owned())),
                };
                if *flag {
                    return Err(TaskAxesError::Twice(format!("{lead}{letter}")));
                }
                *flag = true;
            }
        }
        if axes.count() == 0 {
            return Err(TaskAxesError::Empty);
        }
        Ok(axes)
    }
}

impl TaskAxes {
    /// How many axes are asked for, 0 to 6.
    pub fn count(&self) -> usize {
        let both = self.position.iter().chain(&self.rotation);
        both.filter(|asked| **asked).count()
    }

    /// Which kind of rotation error this mask has.
    pub(super) fn rotation(&self) -> Rotation {
        match self.rotation {
            [true, true, true] => Rotation::Full,
            [false, false, false] => Rotation::Free,
            [false, true, true] => Rotation::Swing(Vector3::x()),
            [true, false, true] => Rotation::Swing(Vector3::y()),
            [true, true, false] => Rotation::Swing(Vector3::z()),
            [true, false, false] => Rotation::Twist(Vector3::x()),
            [false, true, false] => Rotation::Twist(Vector3::y()),
            [false, false, true] => Rotation::Twist(Vector3::z()),
        }
    }
}

/// What is asked of the tip's orientation; axes in the target frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rotation {
    Full,
    /// The free axis: tip and target must agree on its direction.
    Swing(Vector3<f64>),
    /// The one axis about which the turn counts.
    Twist(Vector3<f64>),
    Free,
}

/// The shortest rotation vector from `from` to `to` (unit vectors).
fn between(from: &Vector3<f64>, to: &Vector3<f64>) -> Vector3<f64> {
    let cross = from.cross(to);
    let (sine, cosine) = (cross.norm(), from.dot(to));
    let angle = sine.atan2(cosine);
    if sine > 1e-12 {
        cross * (angle / sine)
    } else if cosine > 0.0 {
        cross
    } else {
        // Opposite: any axis across will do.
        let other = if from.x.abs() < 0.9 {
            Vector3::x()
        } else {
            Vector3::y()
        };
        from.cross(&other).normalize() * std::f64::consts::PI
    }
}

/// The rotation part of a masked error in the target frame, towards the target, and the matrix
/// that takes a rotation of the tip (rotation vector in the target frame) to what it takes off
/// that error. `tip` is the tip's orientation in the target frame.
pub(super) fn rotation_part(
    asked: Rotation,
    tip: &UnitQuaternion<f64>,
) -> (Vector3<f64>, Matrix3<f64>) {
    match asked {
        Rotation::Full => (-tip.scaled_axis(), Matrix3::identity()),
        Rotation::Free => (Vector3::zeros(), Matrix3::zeros()),
        Rotation::Swing(axis) => {
            let error = between(&(tip * axis), &axis);
            (error, Matrix3::identity() - axis * axis.transpose())
        }
        Rotation::Twist(axis) => {
            let v = tip.imag();
            let (along, w) = (axis.dot(&v), tip.w);
            let square = w * w + along * along;
            // Half a turn across the axis: the twist has no value there.
            if square < 1e-16 {
                return (Vector3::zeros(), axis * axis.transpose());
            }
            // Of q and −q take the one with w ≥ 0, so that the twist lies within half a turn.
            let sign = if w < 0.0 { -1.0 } else { 1.0 };
            let twist = 2.0 * (sign * along).atan2(sign * w);
            // With q' = (1, δ/2) q and φ = 2 atan2(a·v, w):
            // dφ = [δ·a (w² + (a·v)²) + δ·(w v×a + (a·v) v⊥)] / (w² + (a·v)²).
            let across = v - axis * along;
            let slope = axis + (v.cross(&axis) * w + across * along) / square;
            (axis * -twist, axis * slope.transpose())
        }
    }
}

/// The error towards the target of the parts that `goal` asks for, as a six-vector whose other
/// parts are zero: linear in the base frame \[m\], angular \[rad\] in the base frame for
/// [`Goal::Pose`] and in the target frame for [`Goal::Axes`].
pub(super) fn error(goal: Goal, target: &Pose, tip: &Pose) -> Vector6<f64> {
    let mut error = pose_error(target, tip);
    mask(goal, target, tip, &mut error, None);
    error
}

/// Lays the goal's mask on a pose error and on the Jacobian that belongs to it.
pub(super) fn mask(
    goal: Goal,
    target: &Pose,
    tip: &Pose,
    error: &mut Vector6<f64>,
    mut matrix: Option<&mut Jacobian>,
) {
    let axes = match goal {
        Goal::Pose => return,
        Goal::Position => TaskAxes {
            position: [true; 3],
            rotation: [false; 3],
        },
        Goal::Axes(axes) => axes,
    };
    for (row, asked) in axes.position.into_iter().enumerate() {
        if !asked {
            error[row] = 0.0;
            if let Some(matrix) = matrix.as_deref_mut() {
                matrix.row_mut(row).fill(0.0);
            }
        }
    }
    let local = target.rotation.inverse();
    let (angular, slope) = rotation_part(axes.rotation(), &(local * tip.rotation));
    error.fixed_rows_mut::<3>(3).copy_from(&angular);
    if let Some(matrix) = matrix {
        let slope = slope * local.to_rotation_matrix().into_inner();
        for mut column in matrix.column_iter_mut() {
            let turned = slope * column.fixed_rows::<3>(3);
            column.fixed_rows_mut::<3>(3).copy_from(&turned);
        }
    }
}

/// Distances of the parts that `goal` asks for.
pub(super) fn residual(goal: Goal, target: &Pose, tip: &Pose) -> Residual {
    let error = error(goal, target, tip);
    Residual {
        position: error.fixed_rows::<3>(0).norm(),
        orientation: error.fixed_rows::<3>(3).norm(),
    }
}

/// The pose nearest to `tip` that has all that `goal` asks for.
pub(super) fn nearest_pose(goal: Goal, target: &Pose, tip: &Pose) -> Pose {
    let axes = match goal {
        Goal::Pose => return *target,
        Goal::Position => {
            return Pose::from_parts(target.translation, tip.rotation);
        }
        Goal::Axes(axes) => axes,
    };
    let mut position = tip.translation.vector;
    for (row, asked) in axes.position.into_iter().enumerate() {
        if asked {
            position[row] = target.translation.vector[row];
        }
    }
    let local = target.rotation.inverse() * tip.rotation;
    let rotation = match axes.rotation() {
        Rotation::Full => target.rotation,
        Rotation::Free => tip.rotation,
        asked @ Rotation::Swing(_) => {
            let (swing, _) = rotation_part(asked, &local);
            target.rotation * UnitQuaternion::from_scaled_axis(swing) * local
        }
        asked @ Rotation::Twist(_) => {
            // Taking the twist off on the right leaves the swing alone.
            let (twist, _) = rotation_part(asked, &local);
            target.rotation * local * UnitQuaternion::from_scaled_axis(twist)
        }
    };
    Pose::from_parts(position.into(), rotation)
}

#[cfg(test)]
mod tests {
    use super::super::test_arms::{rotation, Random};
    use super::*;

    const ALL: [[bool; 3]; 8] = [
        [false, false, false],
        [true, false, false],
        [false, true, false],
        [false, false, true],
        [false, true, true],
        [true, false, true],
        [true, true, false],
        [true, true, true],
    ];

    #[test]
    fn words_are_read() {
        let axes: TaskAxes = "xyz,rz".parse().unwrap();
        assert_eq!(axes.position, [true; 3]);
        assert_eq!(axes.rotation, [false, false, true]);
        assert_eq!("x rxy z".parse::<TaskAxes>().unwrap().count(), 4);
        assert_eq!("".parse::<TaskAxes>(), Err(TaskAxesError::Empty));
        assert_eq!(
            "xx".parse::<TaskAxes>(),
            Err(TaskAxesError::Twice("x".into()))
        );
        for word in ["r", "w", "xyz;rz", "zr"] {
            assert!(matches!(
                word.parse::<TaskAxes>(),
                Err(TaskAxesError::Unknown(_))
            ));
        }
    }

    #[test]
    fn derivatives_equal_finite_differences() {
        let mut random = Random(81);
        for _ in 0..100 {
            let turned = rotation(&mut random);
            for rotation in ALL {
                let axes = TaskAxes {
                    position: [false; 3],
                    rotation,
                };
                let asked = axes.rotation();
                let (error, slope) = rotation_part(asked, &turned);
                if error.norm() > 3.0 {
                    continue;
                }
                let delta = random.vector(1e-6);
                let moved = UnitQuaternion::from_scaled_axis(delta) * turned;
                let (after, _) = rotation_part(asked, &moved);
                match asked {
                    // The slope of the squared error is exact; only near zero error is that of
                    // the rotation vector itself the identity.
                    Rotation::Full | Rotation::Swing(_) => {
                        let change = after.norm_squared() - error.norm_squared();
                        let predicted = -2.0 * error.dot(&(slope * delta));
                        assert!((change - predicted).abs() < 1e-9, "{change} {predicted}");
                    }
                    Rotation::Twist(_) | Rotation::Free => {
                        let change = error - after;
                        let size = slope.norm() * slope.norm() * 1e-11 + 1e-11;
                        assert!((change - slope * delta).norm() < size);
                    }
                }
            }
        }
    }

    #[test]
    fn nearest_poses_have_what_is_asked_and_keep_the_rest() {
        let mut random = Random(82);
        for _ in 0..60 {
            let target = Pose::from_parts(random.vector(1.0).into(), rotation(&mut random));
            let tip = Pose::from_parts(random.vector(1.0).into(), rotation(&mut random));
            for position in ALL {
                for rotation in ALL {
                    let axes = TaskAxes { position, rotation };
                    let near = nearest_pose(Goal::Axes(axes), &target, &tip);
                    let off = residual(Goal::Axes(axes), &target, &near);
                    assert!(off.position < 1e-12 && off.orientation < 1e-7, "{axes:?}");
                    for (row, asked) in position.into_iter().enumerate() {
                        if !asked {
                            assert_eq!(near.translation.vector[row], tip.translation.vector[row]);
                        }
                    }
                    // It turns by no more than the masked error.
                    let turned = near.rotation.angle_to(&tip.rotation);
                    let error = residual(Goal::Axes(axes), &target, &tip).orientation;
                    assert!(turned <= error + 1e-7);
                }
            }
        }
    }
}
