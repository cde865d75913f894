//! The inner loop of the numeric solvers: forward kinematics, Jacobian and damped
//! normal equations on arrays of fixed size, without allocation.
//!
//! A [`Kernel`] is a chain rewritten once a call: every axis is turned to z, so a joint's
//! rotation mixes two columns instead of multiplying matrices. `N` is the room for degrees
//! of freedom, `M` the number of task rows (6: pose, 3: position). Unused places of `N` have
//! zero columns, which the damped equations leave at rest.
//!
//! Longer than other files because its tests look inside the loop.

// Several small fixed arrays are walked in step; iterators would hide the formulas.
#![allow(clippy::needless_range_loop)]

use nalgebra::{Isometry3, Matrix3, Rotation3, UnitQuaternion, Vector3};

use super::task::{self, TaskAxes};
use crate::model::{Chain, Motion};

/// A three-vector.
pub(super) type V3 = [f64; 3];
/// A 3×3 matrix as its three columns.
pub(super) type Columns = [V3; 3];

fn cross(a: &V3, b: &V3) -> V3 {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn dot(a: &V3, b: &V3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// `matrix * vector`.
fn apply(matrix: &Columns, v: &V3) -> V3 {
    let mut result = [0.0; 3];
    for row in 0..3 {
        result[row] = matrix[0][row] * v[0] + matrix[1][row] * v[1] + matrix[2][row] * v[2];
    }
    result
}

fn product(a: &Columns, b: &Columns) -> Columns {
    [apply(a, &b[0]), apply(a, &b[1]), apply(a, &b[2])]
}

fn columns(rotation: &UnitQuaternion<f64>) -> Columns {
    let matrix = rotation.to_rotation_matrix();
    let m = matrix.matrix();
    [
        [m[(0, 0)], m[(1, 0)], m[(2, 0)]],
        [m[(0, 1)], m[(1, 1)], m[(2, 1)]],
        [m[(0, 2)], m[(1, 2)], m[(2, 2)]],
    ]
}

fn quaternion(rotation: &Columns) -> UnitQuaternion<f64> {
    let matrix = Matrix3::from_fn(|row, column| rotation[column][row]);
    UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(matrix))
}

/// The rotation vector of `target * currentᵀ`, of length at most π \[rad\].
fn rotation_error(target: &Columns, current: &Columns) -> V3 {
    // e[r][c] of target * currentᵀ is the sum of outer products of columns.
    let e = |row: usize, column: usize| {
        target[0][row] * current[0][column]
            + target[1][row] * current[1][column]
            + target[2][row] * current[2][column]
    };
    let v = [
        0.5 * (e(2, 1) - e(1, 2)),
        0.5 * (e(0, 2) - e(2, 0)),
        0.5 * (e(1, 0) - e(0, 1)),
    ];
    let (d0, d1, d2) = (e(0, 0), e(1, 1), e(2, 2));
    let cosine = 0.5 * (d0 + d1 + d2 - 1.0);
    let sine = dot(&v, &v).sqrt();
    if sine > 1e-7 {
        let scale = sine.atan2(cosine) / sine;
        return [v[0] * scale, v[1] * scale, v[2] * scale];
    }
    if cosine > 0.0 {
        return v;
    }
    // Half a turn: the axis is the longest column of (E + Eᵀ)/2 + I.
    let symmetric = |row: usize, column: usize| 0.5 * (e(row, column) + e(column, row));
    let column = if d0 >= d1 && d0 >= d2 {
        [d0 + 1.0, symmetric(1, 0), symmetric(2, 0)]
    } else if d1 >= d2 {
        [symmetric(0, 1), d1 + 1.0, symmetric(2, 1)]
    } else {
        [symmetric(0, 2), symmetric(1, 2), d2 + 1.0]
    };
    let length = dot(&column, &column).sqrt();
    if length > 0.0 {
        let scale = std::f64::consts::PI / length;
        [column[0] * scale, column[1] * scale, column[2] * scale]
    } else {
        v
    }
}

#[derive(Debug, Clone)]
struct KernelJoint {
    rotation: Columns,
    translation: V3,
    slides: bool,
    dof: usize,
    multiplier: f64,
    offset: f64,
}

/// A chain and a target in the form that the inner loop needs.
#[derive(Debug, Clone)]
pub(super) struct Kernel<const N: usize, const M: usize> {
    joints: Vec<KernelJoint>,
    tip_rotation: Columns,
    tip_translation: V3,
    target_rotation: Columns,
    target_translation: V3,
    /// Limits of the degrees of freedom, ±∞ where there are none.
    pub(super) lower: [f64; N],
    pub(super) upper: [f64; N],
    /// Metres that count like a radian.
    length: f64,
    /// Task axes where not all `M` rows are asked for.
    axes: Option<TaskAxes>,
}

/// Task error at a configuration, in the kernel's units (positions divided by its length).
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskError<const M: usize> {
    /// The error vector towards the target.
    pub(super) vector: [f64; M],
    /// Its squared length.
    pub(super) squared: f64,
    /// Squared distance of the positions \[m²\].
    pub(super) position2: f64,
    /// Squared angle between the orientations \[rad²\], 0 for position goals.
    pub(super) orientation2: f64,
}

/// Columns of the task Jacobian.
pub(super) type TaskJacobian<const N: usize, const M: usize> = [[f64; M]; N];

impl<const N: usize, const M: usize> Kernel<N, M> {
    /// `None` if the chain has more degrees of freedom than there is room for.
    pub(super) fn new(chain: &Chain, target: &Isometry3<f64>, length: f64) -> Option<Self> {
        if chain.dof() > N {
            return None;
        }
        let mut lower = [0.0; N];
        let mut upper = [0.0; N];
        for (index, dof) in chain.dofs.iter().enumerate() {
            lower[index] = dof.lower;
            upper[index] = dof.upper;
        }
        let mut joints = Vec::with_capacity(chain.joints.len());
        // What is left to undo of the last joint's turn of its axis to z.
        let mut undo = UnitQuaternion::identity();
        for joint in &chain.joints {
            let to_axis = if joint.axis.z == 1.0 {
                UnitQuaternion::identity()
            } else {
                UnitQuaternion::rotation_between(&Vector3::z(), &joint.axis).unwrap_or_else(|| {
                    UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::PI)
                })
            };
            let translation = undo * joint.before.translation.vector;
            joints.push(KernelJoint {
                rotation: columns(&(undo * joint.before.rotation * to_axis)),
                translation: [translation.x, translation.y, translation.z],
                slides: joint.motion == Motion::Translation,
                dof: joint.dof,
                multiplier: joint.multiplier,
                offset: joint.offset,
            });
            undo = to_axis.inverse();
        }
        let tip = undo * chain.tip_offset.translation.vector;
        let goal = target.translation.vector;
        Some(Kernel {
            joints,
            tip_rotation: columns(&(undo * chain.tip_offset.rotation)),
            tip_translation: [tip.x, tip.y, tip.z],
            target_rotation: columns(&target.rotation),
            target_translation: [goal.x, goal.y, goal.z],
            lower,
            upper,
            length,
            axes: None,
        })
    }

    /// Another target.
    pub(super) fn aim(&mut self, target: &Isometry3<f64>) {
        let goal = target.translation.vector;
        self.target_rotation = columns(&target.rotation);
        self.target_translation = [goal.x, goal.y, goal.z];
    }

    /// Asks for some of six rows.
    pub(super) fn masked(mut self, axes: TaskAxes) -> Self {
        self.axes = Some(axes);
        self
    }

    /// Lays the mask on the error and its Jacobian; apart from the hot path of whole poses.
    #[cold]
    fn lay_mask(
        &self,
        axes: &TaskAxes,
        rotation: &Columns,
        vector: &mut [f64; M],
        matrix: Option<&mut TaskJacobian<N, M>>,
    ) {
        let local = quaternion(&self.target_rotation).inverse();
        let (angular, slope) =
            task::rotation_part(axes.rotation(), &(local * quaternion(rotation)));
        for row in 0..3 {
            if !axes.position[row] {
                vector[row] = 0.0;
            }
            vector[row + 3] = angular[row];
        }
        let Some(matrix) = matrix else { return };
        let slope = slope * local.to_rotation_matrix().into_inner();
        for column in matrix {
            let turned = slope * Vector3::new(column[3], column[4], column[5]);
            for row in 0..3 {
                if !axes.position[row] {
                    column[row] = 0.0;
                }
                column[row + 3] = turned[row];
            }
        }
    }

    /// The task error at `q`, and its Jacobian where asked for.
    fn evaluate(
        &self,
        q: &[f64; N],
        jacobian: Option<(&mut TaskJacobian<N, M>, &mut [(V3, V3)])>,
    ) -> TaskError<M> {
        let mut rotation: Columns = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let mut position = [0.0; 3];
        let (mut matrix, frames) = match jacobian {
            Some((matrix, frames)) => (Some(matrix), frames),
            None => (None, [].as_mut_slice()),
        };
        let wanted = matrix.is_some();
        let mut frames_left = frames.iter_mut();
        for joint in &self.joints {
            let step = apply(&rotation, &joint.translation);
            rotation = product(&rotation, &joint.rotation);
            for row in 0..3 {
                position[row] += step[row];
            }
            let value = joint.multiplier * q.get(joint.dof).copied().unwrap_or(0.0) + joint.offset;
            if joint.slides {
                for row in 0..3 {
                    position[row] += rotation[2][row] * value;
                }
            } else {
                let (sine, cosine) = value.sin_cos();
                for row in 0..3 {
                    let (x, y) = (rotation[0][row], rotation[1][row]);
                    rotation[0][row] = cosine * x + sine * y;
                    rotation[1][row] = cosine * y - sine * x;
                }
            }
            if wanted {
                if let Some(frame) = frames_left.next() {
                    *frame = (rotation[2], position);
                }
            }
        }
        let step = apply(&rotation, &self.tip_translation);
        for row in 0..3 {
            position[row] += step[row];
        }
        let scale = 1.0 / self.length;
        if let Some(matrix) = matrix.as_deref_mut() {
            *matrix = [[0.0; M]; N];
            for (joint, (axis, origin)) in self.joints.iter().zip(frames.iter()) {
                let Some(column) = matrix.get_mut(joint.dof) else {
                    continue;
                };
                if joint.slides {
                    for row in 0..3 {
                        column[row] += joint.multiplier * axis[row] * scale;
                    }
                } else {
                    let arm = [
                        position[0] - origin[0],
                        position[1] - origin[1],
                        position[2] - origin[2],
                    ];
                    let linear = cross(axis, &arm);
                    for row in 0..3 {
                        column[row] += joint.multiplier * linear[row] * scale;
                        if M == 6 {
                            column[row + 3] += joint.multiplier * axis[row];
                        }
                    }
                }
            }
        }
        let mut vector = [0.0; M];
        let mut position2 = 0.0;
        let mut orientation2 = 0.0;
        for row in 0..3 {
            let difference = self.target_translation[row] - position[row];
            position2 += difference * difference;
            vector[row] = difference * scale;
        }
        if M == 6 {
            rotation = product(&rotation, &self.tip_rotation);
            let angular = rotation_error(&self.target_rotation, &rotation);
            vector[3..].copy_from_slice(&angular);
            orientation2 = dot(&angular, &angular);
            if let Some(axes) = &self.axes {
                self.lay_mask(axes, &rotation, &mut vector, matrix);
                position2 = 0.0;
                orientation2 = 0.0;
                for row in 0..3 {
                    position2 += (vector[row] * self.length) * (vector[row] * self.length);
                    orientation2 += vector[row + 3] * vector[row + 3];
                }
            }
        }
        TaskError {
            vector,
            squared: position2 * scale * scale + orientation2,
            position2,
            orientation2,
        }
    }

    /// The task error at `q`.
    pub(super) fn error(&self, q: &[f64; N]) -> TaskError<M> {
        self.evaluate(q, None)
    }

    /// The task error at `q`, its Jacobian written to `jacobian`; `scratch` has one place a joint.
    pub(super) fn linearise(
        &self,
        q: &[f64; N],
        jacobian: &mut TaskJacobian<N, M>,
        scratch: &mut [(V3, V3)],
    ) -> TaskError<M> {
        self.evaluate(q, Some((jacobian, scratch)))
    }

    /// Room for [`Kernel::linearise`].
    pub(super) fn scratch(&self) -> Vec<(V3, V3)> {
        vec![([0.0; 3], [0.0; 3]); self.joints.len()]
    }
}

/// Solves `matrix x = right` for a symmetric positive definite matrix (lower triangle read,
/// destroyed) by Cholesky factorisation; `None` if it is not positive definite.
fn cholesky_solve<const K: usize>(
    matrix: &mut [[f64; K]; K],
    mut right: [f64; K],
) -> Option<[f64; K]> {
    for column in 0..K {
        let mut diagonal = matrix[column][column];
        for k in 0..column {
            diagonal -= matrix[column][k] * matrix[column][k];
        }
        if diagonal <= 0.0 || !diagonal.is_finite() {
            return None;
        }
        let inverse = 1.0 / diagonal.sqrt();
        matrix[column][column] = inverse;
        for row in column + 1..K {
            let mut sum = matrix[row][column];
            for k in 0..column {
                sum -= matrix[row][k] * matrix[column][k];
            }
            matrix[row][column] = sum * inverse;
        }
    }
    for row in 0..K {
        let mut sum = right[row];
        for k in 0..row {
            sum -= matrix[row][k] * right[k];
        }
        right[row] = sum * matrix[row][row];
    }
    for row in (0..K).rev() {
        let mut sum = right[row];
        for k in row + 1..K {
            sum -= matrix[k][row] * right[k];
        }
        right[row] = sum * matrix[row][row];
    }
    Some(right)
}

/// The minimiser of `|J x − e|² + damping |x|²`, by whichever of the two equal forms,
/// `Jᵀ(JJᵀ + d)⁻¹e` or `(JᵀJ + d)⁻¹Jᵀe`, has the smaller matrix.
pub(super) fn damped_step<const N: usize, const M: usize>(
    jacobian: &TaskJacobian<N, M>,
    error: &[f64; M],
    damping: f64,
) -> Option<[f64; N]> {
    let mut step = [0.0; N];
    if N < M {
        let mut normal = [[0.0; N]; N];
        for row in 0..N {
            for column in 0..=row {
                let mut sum = 0.0;
                for k in 0..M {
                    sum += jacobian[row][k] * jacobian[column][k];
                }
                normal[row][column] = sum;
            }
            normal[row][row] += damping;
            for k in 0..M {
                step[row] += jacobian[row][k] * error[k];
            }
        }
        cholesky_solve(&mut normal, step)
    } else {
        let mut normal = [[0.0; M]; M];
        for column in jacobian {
            for row in 0..M {
                for k in 0..=row {
                    normal[row][k] += column[row] * column[k];
                }
            }
        }
        for (row, values) in normal.iter_mut().enumerate() {
            values[row] += damping;
        }
        let weights = cholesky_solve(&mut normal, *error)?;
        for (value, column) in step.iter_mut().zip(jacobian) {
            for k in 0..M {
                *value += column[k] * weights[k];
            }
        }
        Some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_arms::{arm, rotation, Random};
    use super::*;
    use crate::kinematics::{jacobian, pose_error};

    #[test]
    fn error_and_jacobian_equal_the_plain_ones() {
        let mut random = Random(51);
        for round in 0..60 {
            let dof = 1 + round % 8;
            let chain = arm(&mut random, dof, true, round % 2 == 0);
            let target = Isometry3::from_parts(random.vector(0.5).into(), rotation(&mut random));
            let mut kernel = Kernel::<8, 6>::new(&chain, &target, 1.0).unwrap();
            let q = random.configuration(&chain);
            let mut wide = [0.0; 8];
            wide[..dof].copy_from_slice(&q);
            let mut columns = [[9.0; 6]; 8];
            let mut scratch = kernel.scratch();
            let found = kernel.linearise(&wide, &mut columns, &mut scratch);
            let tip = crate::kinematics::forward_kinematics(&chain, &q).unwrap();
            let error = pose_error(&target, &tip);
            let plain = jacobian(&chain, &q).unwrap();
            for row in 0..6 {
                assert!((found.vector[row] - error[row]).abs() < 1e-9);
                for column in 0..8 {
                    let wanted = if column < dof {
                        plain[(row, column)]
                    } else {
                        0.0
                    };
                    assert!((columns[column][row] - wanted).abs() < 1e-9);
                }
            }
            assert!((found.squared - error.norm_squared()).abs() < 1e-9);
            assert_eq!(kernel.error(&wide).vector, found.vector);
            // Positions alone, in units of a length.
            kernel.length = 0.5;
            assert!((kernel.error(&wide).vector[0] - 2.0 * error[0]).abs() < 1e-9);
        }
    }

    #[test]
    fn half_turns_have_an_axis() {
        let mut random = Random(52);
        for _ in 0..200 {
            let axis = random.vector(1.0).normalize();
            for away in [0.0, 1e-9, 1e-5] {
                let turn = UnitQuaternion::from_scaled_axis(axis * (std::f64::consts::PI - away));
                let current = rotation(&mut random);
                let found = rotation_error(&columns(&(turn * current)), &columns(&current));
                let back = UnitQuaternion::from_scaled_axis(Vector3::from(found));
                assert!(back.angle_to(&turn) < 1e-6, "{away}");
            }
        }
    }

    #[test]
    fn damped_steps_solve_the_normal_equations() {
        // Both forms against a dense inverse: few columns, and more columns than rows.
        fn check<const N: usize>(random: &mut Random) {
            let mut columns = [[0.0; 6]; N];
            let mut error = [0.0; 6];
            for value in columns.iter_mut().flatten().chain(&mut error) {
                *value = random.between(-1.0, 1.0);
            }
            let step = damped_step(&columns, &error, 1e-3).unwrap();
            let matrix = nalgebra::DMatrix::from_fn(6, N, |row, column| columns[column][row]);
            let normal = matrix.tr_mul(&matrix) + nalgebra::DMatrix::identity(N, N) * 1e-3;
            let right = matrix.tr_mul(&nalgebra::DVector::from_row_slice(&error));
            let wanted = normal.lu().solve(&right).unwrap();
            for index in 0..N {
                assert!((step[index] - wanted[index]).abs() < 1e-8);
            }
        }
        let mut random = Random(53);
        for _ in 0..50 {
            check::<3>(&mut random);
            check::<6>(&mut random);
            check::<8>(&mut random);
        }
    }
}
