//! FABRIK for trees: several tips at once \[Aristidou2011\].
//!
//! | file | what it holds |
//! |---|---|
//! | `request` | what is asked and answered |
//! | `passes` | backward and forward reaching over the tree, sub-bases at centroids |
//! | `polish` | Levenberg–Marquardt on the stacked Jacobian of all tips |
//!
//! Passes bring a start near, the polish takes the last digits; when that ends away from the
//! targets, a fixed sequence of starts follows. The least weighted error of all is the best try.

mod passes;
mod polish;
mod request;

use nalgebra::Isometry3;

use passes::Passes;
use polish::Polish;
pub use request::{TipGoal, TipResidual, TreeBase, TreeError, TreeRequest, TreeSolution};

use super::{restart, task, winding};
use crate::kinematics::Pose;
use crate::model::{DofKind, TreeChain};

/// Starts for one answer.
const RESTARTS: u32 = 80;

/// Poses of the links that the moving joints carry, the base's first, then one a joint.
pub(super) fn frames(tree: &TreeChain, base: &Pose, q: &[f64]) -> Vec<Isometry3<f64>> {
    let mut frames = Vec::with_capacity(tree.joints.len() + 1);
    frames.push(*base);
    for node in &tree.joints {
        let parent = frames.get(node.parent.map_or(0, |parent| parent + 1));
        let parent = parent.copied().unwrap_or(*base);
        let mut pose = parent * node.joint.before * node.joint.motion(node.joint.value(q));
        // A long product of unit quaternions drifts off unit length.
        pose.rotation.renormalize_fast();
        frames.push(pose);
    }
    frames
}

/// Poses of the tips, in the tree's order, for a base at `base`; NaN if `q` is too short.
pub fn tip_poses(tree: &TreeChain, base: &Pose, q: &[f64]) -> Vec<Pose> {
    let frames = frames(tree, base, q);
    let tips = tree.tips.iter();
    tips.map(|tip| frames.get(tip.after + 1).copied().unwrap_or(*base) * tip.offset)
        .collect()
}

/// Where a search stands: joint values and the base's pose.
#[derive(Debug, Clone, PartialEq)]
struct State {
    q: Vec<f64>,
    base: Pose,
}

/// Weighted squared error of all tips, metres and radians alike.
fn cost(tree: &TreeChain, request: &TreeRequest<'_>, state: &State) -> f64 {
    let poses = tip_poses(tree, &state.base, &state.q);
    let pairs = request.tips.iter().zip(&poses);
    pairs
        .map(|(tip, pose)| tip.weight * task::error(tip.goal, &tip.target, pose).norm_squared())
        .sum()
}

/// Measures a state by forward kinematics; whether it is an answer.
fn judge(
    tree: &TreeChain,
    request: &TreeRequest<'_>,
    state: State,
    iterations: u32,
) -> (TreeSolution, bool) {
    let poses = tip_poses(tree, &state.base, &state.q);
    let tips: Vec<TipResidual> = tree
        .tips
        .iter()
        .zip(request.tips.iter().zip(&poses))
        .map(|(tip, (goal, pose))| {
            let off = task::residual(goal.goal, &goal.target, pose);
            TipResidual {
                tip: tip.name.clone(),
                position_error: off.position,
                orientation_error: off.orientation,
            }
        })
        .collect();
    // NaN compares false.
    let arrived = tree.within_limits(&state.q)
        && tips.iter().all(|tip| {
            tip.position_error <= request.tolerances.position
                && tip.orientation_error <= request.tolerances.orientation
        });
    let solution = TreeSolution {
        q: state.q,
        base: state.base,
        tips,
        iterations,
    };
    (solution, arrived)
}

/// Finds joint values (and the base's pose, where it is free) that bring all tips to their
/// targets, starting from `seed`, clamped to the limits. Pure: the same input has the same answer.
///
/// # Errors
/// [`TreeError::NotConverged`] with the least weighted error that was found, inside the limits,
/// and its residuals tip by tip; the other kinds for requests that make no sense.
pub fn solve_tree(
    tree: &TreeChain,
    request: &TreeRequest<'_>,
    seed: &[f64],
) -> Result<TreeSolution, TreeError> {
    request::check(tree, request, seed)?;
    let seed: Vec<f64> = tree
        .dofs
        .iter()
        .zip(seed)
        .map(|(dof, &value)| dof.clamp(value))
        .collect();
    let start = request.base.pose();
    let mut iterations = 0_u32;
    let mut timed_out = false;
    let mut best: Option<(f64, State)> = None;
    let mut polish = Polish::new(tree, request);
    let last = if request.restarts { RESTARTS } else { 0 };
    for number in 0..=last {
        let patient = number == 0 && !request.restarts;
        let q = match number {
            0 => seed.clone(),
            number => restart::of_dofs(&tree.dofs, &seed, number),
        };
        let begin = State { q, base: start };
        // The passes first; a start from which they lead astray has a second chance without.
        let reached = Passes::new(tree, request, begin.clone()).run(&mut iterations);
        let mut found = [reached, begin].into_iter().map(|state| {
            let end = polish.descend(state, patient);
            iterations = iterations.saturating_add(end.iterations);
            end
        });
        let mut arrived = None;
        for end in found.by_ref() {
            timed_out |= end.timed_out;
            let mut state = end.state;
            to_nearest(tree, &seed, &mut state.q);
            let cost = cost(tree, request, &state);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, state.clone()));
            }
            let (solution, good) = judge(tree, request, state, 0);
            if good {
                arrived = Some(solution);
                break;
            }
            if timed_out {
                break;
            }
        }
        drop(found);
        if let Some(solution) = arrived {
            return Ok(TreeSolution {
                iterations,
                ..solution
            });
        }
        if timed_out || request.give_up.is_some_and(|give_up| give_up()) {
            timed_out = true;
            break;
        }
    }
    let state = best.map_or(
        State {
            q: seed.clone(),
            base: start,
        },
        |(_, state)| state,
    );
    // The starts were left early; the best of them deserves patience.
    let end = polish.descend(state, true);
    iterations = iterations.saturating_add(end.iterations);
    let mut state = end.state;
    to_nearest(tree, &seed, &mut state.q);
    match judge(tree, request, state, iterations) {
        (solution, true) => Ok(solution),
        (best, false) => Err(TreeError::NotConverged {
            best: Box::new(best),
            timed_out,
        }),
    }
}

/// Continuous joints answer within half a turn of the seed.
fn to_nearest(tree: &TreeChain, seed: &[f64], q: &mut [f64]) {
    for (index, (dof, (value, &start))) in tree.dofs.iter().zip(q.iter_mut().zip(seed)).enumerate()
    {
        if dof.kind != DofKind::Continuous || (*value - start).abs() <= std::f64::consts::PI {
            continue;
        }
        let joints = tree.joints.iter().map(|node| &node.joint);
        if let Some(period) = winding::period_of(joints.filter(|joint| joint.dof == index)) {
            *value = winding::nearest(*value, start, period, dof.lower, dof.upper);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::test_arms::rotation;
    pub(super) use super::super::test_arms::Random;
    use super::super::Goal;
    use super::*;
    use crate::model::{Motion, RobotModel};

    pub(super) fn torso() -> TreeChain {
        let text = include_str!("../../../urdf/two_arm_torso.urdf");
        let model = RobotModel::from_urdf(text).unwrap();
        model.tree("", &["left_hand", "right_hand"], false).unwrap()
    }

    /// A state a little inside the limits.
    pub(super) fn random_state(random: &mut Random, tree: &TreeChain) -> State {
        let values = tree.dofs.iter();
        State {
            q: values
                .map(|dof| random.between(dof.lower + 1e-3, dof.upper - 1e-3))
                .collect(),
            base: Pose::from_parts(random.vector(1.0).into(), rotation(random)),
        }
    }

    fn goals(poses: &[Pose], goal: Goal) -> Vec<TipGoal> {
        let tips = poses.iter();
        tips.map(|&target| TipGoal {
            target,
            goal,
            weight: 1.0,
        })
        .collect()
    }

    /// Each frame must follow from its parent by the joint between them inside its limits.
    fn check_joined(tree: &TreeChain, frames: &[Isometry3<f64>]) {
        for (index, node) in tree.joints.iter().enumerate() {
            let parent = frames[node.parent.map_or(0, |parent| parent + 1)];
            let joint = &node.joint;
            let relative = joint.before.inverse() * parent.inverse() * frames[index + 1];
            let value = match joint.motion {
                Motion::Rotation => relative.rotation.scaled_axis().dot(&joint.axis),
                Motion::Translation => relative.translation.vector.dot(&joint.axis),
            };
            let rest = relative.inverse() * joint.motion(value);
            assert!(rest.translation.vector.norm() < 1e-12, "stretched link");
            assert!(rest.rotation.angle() < 1e-7, "bent hinge");
            let dof = &tree.dofs[joint.dof];
            assert!(value >= dof.lower - 1e-9 && value <= dof.upper + 1e-9);
        }
    }

    #[test]
    fn passes_keep_lengths_hinges_and_limits_and_put_sub_bases_at_the_centroid() {
        let tree = torso();
        let mut random = Random(102);
        for round in 0..12 {
            let truth = random_state(&mut random, &tree);
            let poses = tip_poses(&tree, &truth.base, &truth.q);
            let goal = if round % 2 == 0 {
                Goal::Pose
            } else {
                Goal::Position
            };
            let mut request = TreeRequest::new(goals(&poses, goal));
            let begin = random_state(&mut random, &tree);
            request.base = if round % 3 == 0 {
                TreeBase::Free(begin.base)
            } else {
                TreeBase::Fixed(begin.base)
            };
            let mut passes = Passes::new(&tree, &request, begin.clone());
            for _ in 0..4 {
                let wished = passes.backward();
                // Both tips are on their targets.
                for (tip, pose) in tree.tips.iter().zip(&poses) {
                    let at = wished[tip.after + 1] * tip.offset;
                    assert!((at.translation.vector - pose.translation.vector).norm() < 1e-9);
                }
                // The chest carries both arms: it lies in the middle of where either would have it.
                let roots: Vec<usize> = (0..tree.joints.len())
                    .filter(|index| tree.joints[*index].parent == Some(1))
                    .collect();
                assert_eq!(roots.len(), 2);
                let middle = roots
                    .iter()
                    .map(|&root| {
                        let joint = &tree.joints[root].joint;
                        let value = joint.value(&passes.state.q);
                        let wish = wished[root + 1]
                            * joint.motion(value).inverse()
                            * joint.before.inverse();
                        wish.translation.vector
                    })
                    .sum::<nalgebra::Vector3<f64>>()
                    / 2.0;
                assert!((wished[2].translation.vector - middle).norm() < 1e-9);
                passes.forward(&wished);
                check_joined(&tree, &passes.frames);
                if round % 3 != 0 {
                    assert_eq!(passes.frames[0], begin.base);
                }
            }
        }
    }

    #[test]
    fn passes_alone_bring_the_hands_nearer() {
        let tree = torso();
        let mut random = Random(103);
        let (mut before, mut after) = (0.0, 0.0);
        for _ in 0..30 {
            let truth = random_state(&mut random, &tree);
            let poses = tip_poses(&tree, &Pose::identity(), &truth.q);
            let request = TreeRequest::new(goals(&poses, Goal::Position));
            let begin = State {
                q: random_state(&mut random, &tree).q,
                base: Pose::identity(),
            };
            let first = cost(&tree, &request, &begin).sqrt();
            let end = Passes::new(&tree, &request, begin).run(&mut 0);
            let last = cost(&tree, &request, &end).sqrt();
            assert!(last <= first);
            before += first;
            after += last;
        }
        assert!(after < 0.15 * before, "{after} of {before}");
    }
}
