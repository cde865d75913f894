//! The arm follows the tip's path: one configuration a sample, each found from the one before.

use nalgebra::Vector6;

use super::{BreakCause, JointPath, TipPath};
use crate::ik::{IkError, IkRequest, IkSolver, Posture};
use crate::kinematics::{forward_kinematics, jacobian, manipulability, residual, Pose};
use crate::model::Chain;

/// How finely the joints must follow the tip's path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FollowSettings {
    /// Largest distance between two samples \[m\].
    pub tip_step: f64,
    /// Largest turn between two samples \[rad\].
    pub angle_step: f64,
    /// Largest move of one joint between two samples \[rad or m\].
    pub max_joint_step: f64,
    /// Largest distance of the tip from its path half-way between two samples, when the joints
    /// move in a straight line between them \[m\].
    pub deviation: f64,
    /// The same for the orientation \[rad\].
    pub angle_deviation: f64,
}

/// Where following ended early.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Broken {
    /// Fraction of the path that was followed, 0 to 1.
    pub fraction: f64,
    /// Why it went no further.
    pub cause: BreakCause,
}

/// Samples so close together that dividing further is hopeless: a fraction of one sample step.
const FINEST: f64 = 1.0 / 256.0;

/// Share of the largest joint step that the pull towards a preferred posture may take.
const PULL: f64 = 0.1;

/// Follows `path` from the configuration `start` (whose tip is at the path's beginning), appending
/// to `joints` (which ends with `start` already) and to `poses` the tip's pose at each configuration.
pub(super) fn follow(
    chain: &Chain,
    solver: &dyn IkSolver,
    template: &IkRequest<'_>,
    path: &TipPath,
    settings: &FollowSettings,
    joints: &mut JointPath,
    poses: &mut Vec<Pose>,
) -> Result<(), Broken> {
    let (fractions, stops) = path.samples(settings.tip_step, settings.angle_step);
    let mut request = template.clone();
    request.restarts = false;
    request.max_solutions = 1;
    let Some(mut current) = joints.points.last().cloned() else {
        return Ok(());
    };
    let mut reached = 0.0;
    for (sample, &fraction) in fractions.iter().enumerate().skip(1) {
        let step = fraction - reached;
        // A stack of fractions still to reach, the nearest on top.
        let mut ahead = vec![fraction];
        while let Some(&next) = ahead.last() {
            if request.give_up.is_some_and(|give_up| give_up()) {
                return Err(Broken {
                    fraction: reached,
                    cause: BreakCause::GaveUp,
                });
            }
            request.target = path.pose(next);
            request.posture = template.posture.as_ref().map(|posture| {
                gently(
                    posture,
                    &current,
                    PULL * settings.max_joint_step * (next - reached) / step,
                )
            });
            let cause = match solver.solve(chain, &request, &current) {
                Ok(solution) => {
                    match too_far(
                        chain,
                        path,
                        settings,
                        (reached, &current),
                        (next, &solution.q),
                    ) {
                        None => {
                            current = solution.q;
                            reached = next;
                            ahead.pop();
                            joints.points.push(current.clone());
                            poses.push(request.target);
                            continue;
                        }
                        Some(cause) => cause,
                    }
                }
                Err(error) => explain(chain, error),
            };
            if next - reached <= step * FINEST {
                return Err(Broken {
                    fraction: reached,
                    cause,
                });
            }
            ahead.push(0.5 * (reached + next));
        }
        if stops.contains(&sample) {
            joints.stops.push(joints.points.len() - 1);
        }
    }
    Ok(())
}

/// The posture as far as one sample may go towards it: `bound` \[rad or m\] a joint. With only the
/// tip bound, a redundant arm would otherwise run to its preferred posture at the first sample.
fn gently(posture: &Posture, current: &[f64], bound: f64) -> Posture {
    let towards = |(wanted, value): (&f64, &f64)| value + (wanted - value).max(-bound).min(bound);
    Posture {
        values: posture.values.iter().zip(current).map(towards).collect(),
        weights: posture.weights.clone(),
    }
}

/// Why two neighbouring configurations are too far apart, if they are.
fn too_far(
    chain: &Chain,
    path: &TipPath,
    settings: &FollowSettings,
    (from_fraction, from): (f64, &[f64]),
    (to_fraction, to): (f64, &[f64]),
) -> Option<BreakCause> {
    for ((dof, a), b) in chain.dofs.iter().zip(from).zip(to) {
        if (b - a).abs() > settings.max_joint_step {
            return Some(BreakCause::JointJump {
                joint: dof.name.clone(),
                step: b - a,
                allowed: settings.max_joint_step,
            });
        }
    }
    let middle: Vec<f64> = from.iter().zip(to).map(|(a, b)| 0.5 * (a + b)).collect();
    let pose = forward_kinematics(chain, &middle).ok()?;
    let off = residual(&path.pose(0.5 * (from_fraction + to_fraction)), &pose);
    (off.position > settings.deviation || off.orientation > settings.angle_deviation).then_some(
        BreakCause::Deviation {
            position: off.position,
            orientation: off.orientation,
        },
    )
}

/// Puts the solver's failure into the words of a path: a limit, a singular place, or what it said.
fn explain(chain: &Chain, error: IkError) -> BreakCause {
    let IkError::NotConverged { best, .. } = &error else {
        return BreakCause::Ik(error);
    };
    let (position_error, orientation_error) = (best.position_error, best.orientation_error);
    for (dof, value) in chain.dofs.iter().zip(&best.q) {
        let margin = 1e-6;
        for limit in [dof.lower, dof.upper] {
            if (value - limit).abs() < margin {
                return BreakCause::JointLimit {
                    joint: dof.name.clone(),
                    limit,
                    position_error,
                    orientation_error,
                };
            }
        }
    }
    if let Ok(matrix) = jacobian(chain, &best.q) {
        let scale = matrix
            .column_iter()
            .map(|column| Vector6::from(column).norm())
            .fold(0.0, f64::max);
        if manipulability(&matrix) < 1e-4 * scale {
            return BreakCause::Singular {
                position_error,
                orientation_error,
            };
        }
    }
    BreakCause::Ik(error)
}
