//! Levenberg–Marquardt on the stacked Jacobian of all tips, with limits by the column rule
//! \[Sugihara2011\].

use nalgebra::{DMatrix, DVector, Isometry3, Translation3, UnitQuaternion, Vector3};

use super::super::lm::sign;
use super::super::task;
use super::request::{TreeBase, TreeRequest};
use super::{cost, frames, State};
use crate::kinematics::{pose_error, Jacobian};
use crate::model::{Motion, TreeChain};

/// Pushes off a stationary point in one descent.
const NUDGES: u32 = 2;

/// The tree made ready for any number of descents.
pub(super) struct Polish<'a> {
    tree: &'a TreeChain,
    request: &'a TreeRequest<'a>,
    /// For each tip the joints on its way, and nothing else: other columns are zero.
    paths: Vec<Vec<usize>>,
}

/// How a descent ended.
pub(super) struct End {
    pub(super) state: State,
    pub(super) iterations: u32,
    pub(super) timed_out: bool,
}

impl<'a> Polish<'a> {
    pub(super) fn new(tree: &'a TreeChain, request: &'a TreeRequest<'a>) -> Self {
        let path = |tip: usize| {
            let mut path = Vec::new();
            let mut next = Some(tip);
            while let Some(index) = next {
                path.push(index);
                next = tree.joints.get(index).and_then(|node| node.parent);
            }
            path
        };
        Polish {
            tree,
            request,
            paths: tree.tips.iter().map(|tip| path(tip.after)).collect(),
        }
    }

    fn free_base(&self) -> bool {
        matches!(self.request.base, TreeBase::Free(_))
    }

    /// Stacked, weighted errors and Jacobian; a free base adds six columns, its velocity and
    /// its rotation about its own origin. Also whether all tips are within their tolerances.
    pub(super) fn linearise(&self, state: &State) -> (DMatrix<f64>, DVector<f64>, bool) {
        let dof = self.tree.dof();
        let columns = dof + if self.free_base() { 6 } else { 0 };
        let rows = 6 * self.tree.tips.len();
        let mut matrix = DMatrix::zeros(rows, columns);
        let mut errors = DVector::zeros(rows);
        let mut within = true;
        let frames = frames(self.tree, &state.base, &state.q);
        let parts = self.tree.tips.iter().zip(&self.request.tips);
        for (number, ((tip, asked), path)) in parts.zip(&self.paths).enumerate() {
            let carrier = frames.get(tip.after + 1).copied().unwrap_or(state.base);
            let pose = carrier * tip.offset;
            let mut part = Jacobian::zeros(columns);
            for &index in path {
                let Some(node) = self.tree.joints.get(index) else {
                    continue;
                };
                let (joint, Some(frame)) = (&node.joint, frames.get(index + 1)) else {
                    continue;
                };
                // The frame after the motion has the axis of the one before.
                let axis = (frame.rotation * joint.axis).into_inner();
                let (linear, angular) = match joint.motion {
                    Motion::Rotation => (
                        axis.cross(&(pose.translation.vector - frame.translation.vector)),
                        axis,
                    ),
                    Motion::Translation => (axis, Vector3::zeros()),
                };
                if joint.dof < dof {
                    let mut column = part.column_mut(joint.dof);
                    for row in 0..3 {
                        column[row] += joint.multiplier * linear[row];
                        column[row + 3] += joint.multiplier * angular[row];
                    }
                }
            }
            if self.free_base() {
                let arm = pose.translation.vector - state.base.translation.vector;
                for row in 0..3 {
                    part[(row, dof + row)] = 1.0;
                    part[(row + 3, dof + 3 + row)] = 1.0;
                    let unit = Vector3::ith(row, 1.0);
                    part.fixed_view_mut::<3, 1>(0, dof + 3 + row)
                        .copy_from(&unit.cross(&arm));
                }
            }
            let mut error = pose_error(&asked.target, &pose);
            task::mask(
                asked.goal,
                &asked.target,
                &pose,
                &mut error,
                Some(&mut part),
            );
            within &= error.fixed_rows::<3>(0).norm() <= 0.9 * self.request.tolerances.position
                && error.fixed_rows::<3>(3).norm() <= 0.9 * self.request.tolerances.orientation;
            let root = asked.weight.sqrt();
            matrix.rows_mut(6 * number, 6).copy_from(&(part * root));
            errors.rows_mut(6 * number, 6).copy_from(&(error * root));
        }
        (matrix, errors, within)
    }

    /// Descends from `state`; `patient` as long as anything is gained.
    pub(super) fn descend(&mut self, mut state: State, patient: bool) -> End {
        let mut iterations = 0;
        let mut timed_out = false;
        let mut factor = 0.1;
        let mut nudges = 0;
        let mut now = cost(self.tree, self.request, &state);
        let mut milestone = now;
        let mut since = 0;
        let mut best = (now, state.clone());
        while iterations < self.request.max_iterations && now.is_finite() {
            let (matrix, errors, within) = self.linearise(&state);
            if within {
                break;
            }
            if self.request.give_up.is_some_and(|give_up| give_up()) {
                timed_out = true;
                break;
            }
            iterations += 1;
            let mut lowered = false;
            // A step that would lengthen the error is not taken; the damping grows instead.
            for _ in 0..24 {
                let damping = factor * now + 1e-14;
                let Some(step) = self.limited_step(&state, &matrix, &errors, damping) else {
                    factor *= 6.0;
                    continue;
                };
                if step.amax() < 1e-11 {
                    break;
                }
                let next = self.moved(&state, &step);
                let then = cost(self.tree, self.request, &next);
                if then < now {
                    state = next;
                    now = then;
                    factor = (factor * 0.2).max(1e-6);
                    lowered = true;
                    break;
                }
                factor *= 6.0;
            }
            if now < best.0 {
                best = (now, state.clone());
            }
            if !lowered {
                if nudges >= NUDGES {
                    break;
                }
                nudges += 1;
                factor = 0.1;
                let push = DVector::from_fn(matrix.ncols(), |index, _| {
                    if index < self.tree.dof() {
                        0.1 * f64::from(nudges) * sign(index)
                    } else {
                        0.0
                    }
                });
                state = self.moved(&state, &push);
                now = cost(self.tree, self.request, &state);
                milestone = now;
                since = 0;
                continue;
            }
            since += 1;
            let (span, share) = if patient { (20, 0.999_999) } else { (8, 0.7) };
            if since >= span {
                if now > share * milestone {
                    break;
                }
                milestone = now;
                since = 0;
            }
        }
        End {
            state: if now <= best.0 { state } else { best.1 },
            iterations,
            timed_out,
        }
    }

    fn moved(&self, state: &State, step: &DVector<f64>) -> State {
        let values = self.tree.dofs.iter().zip(state.q.iter().zip(step.iter()));
        let q = values
            .map(|(dof, (&value, part))| dof.clamp(value + part))
            .collect();
        let part = |index: usize| step.get(self.tree.dof() + index).copied().unwrap_or(0.0);
        let base = if self.free_base() {
            let turn = UnitQuaternion::from_scaled_axis(Vector3::new(part(3), part(4), part(5)));
            let shift = Vector3::new(part(0), part(1), part(2));
            let mut rotation = turn * state.base.rotation;
            rotation.renormalize_fast();
            Isometry3::from_parts(
                Translation3::from(state.base.translation.vector + shift),
                rotation,
            )
        } else {
            state.base
        };
        State { q, base }
    }

    /// The damped step; joints at a limit that the gradient pushes outwards rest, one that would
    /// leave goes to its limit and is taken out, and the rest is solved again.
    fn limited_step(
        &self,
        state: &State,
        jacobian: &DMatrix<f64>,
        errors: &DVector<f64>,
        damping: f64,
    ) -> Option<DVector<f64>> {
        let count = jacobian.ncols();
        let mut matrix = jacobian.clone();
        let mut left = errors.clone();
        let mut fixed: Vec<Option<f64>> = vec![None; count];
        let gradient = jacobian.tr_mul(errors);
        let joints = self.tree.dofs.iter().zip(&state.q);
        for (index, ((dof, &value), slope)) in joints.clone().zip(gradient.iter()).enumerate() {
            if (value <= dof.lower && *slope <= 0.0) || (value >= dof.upper && *slope >= 0.0) {
                if let Some(slot) = fixed.get_mut(index) {
                    *slot = Some(0.0);
                }
                matrix.column_mut(index).fill(0.0);
            }
        }
        for _ in 0..=count {
            let mut normal = matrix.tr_mul(&matrix);
            for index in 0..count {
                normal[(index, index)] += damping;
            }
            let mut step = normal.cholesky()?.solve(&matrix.tr_mul(&left));
            let largest = step.amax();
            if !largest.is_finite() {
                return None;
            }
            if largest > self.request.max_step {
                step *= self.request.max_step / largest;
            }
            let mut leaving = false;
            for (index, (dof, &value)) in joints.clone().enumerate() {
                let (Some(slot), Some(part)) = (fixed.get_mut(index), step.get_mut(index)) else {
                    continue;
                };
                if let Some(kept) = *slot {
                    *part = kept;
                    continue;
                }
                let end = dof.clamp(value + *part);
                if end != value + *part {
                    let moved = end - value;
                    *slot = Some(moved);
                    leaving = true;
                    left -= jacobian.column(index) * moved;
                    matrix.column_mut(index).fill(0.0);
                }
            }
            if !leaving {
                return Some(step);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{random_state, torso, Random};
    use super::super::{tip_poses, TipGoal};
    use super::*;
    use crate::ik::Goal;
    use crate::kinematics::Pose;

    #[test]
    fn stacked_jacobian_equals_finite_differences() {
        let tree = torso();
        let mut random = Random(101);
        for round in 0..20 {
            let state = random_state(&mut random, &tree);
            let poses = tip_poses(&tree, &state.base, &state.q);
            let goals = poses.iter().map(|pose| TipGoal {
                target: *pose,
                goal: Goal::Pose,
                weight: 1.0,
            });
            let mut request = TreeRequest::new(goals.collect());
            request.base = if round % 2 == 0 {
                TreeBase::Free(state.base)
            } else {
                TreeBase::Fixed(state.base)
            };
            let polish = Polish::new(&tree, &request);
            let (matrix, errors, within) = polish.linearise(&state);
            assert!(within && errors.norm() < 1e-9);
            for column in 0..matrix.ncols() {
                let mut step = DVector::zeros(matrix.ncols());
                step[column] = 1e-6;
                let ahead = polish.moved(&state, &step);
                let behind = polish.moved(&state, &-step);
                let slope: Vec<f64> = tip_poses(&tree, &ahead.base, &ahead.q)
                    .iter()
                    .zip(&tip_poses(&tree, &behind.base, &behind.q))
                    .flat_map(|(to, from): (&Pose, &Pose)| {
                        (pose_error(to, from) / 2e-6)
                            .iter()
                            .copied()
                            .collect::<Vec<_>>()
                    })
                    .collect();
                let difference = (matrix.column(column) - DVector::from_vec(slope)).amax();
                assert!(difference < 1e-7, "column {column}: {difference}");
            }
        }
    }
}
