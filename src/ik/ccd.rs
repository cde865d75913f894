//! Cyclic coordinate descent: one joint at a time, tip to base, each by its analytic minimum
//! \[Wang1991\].

use nalgebra::{Isometry3, Point3, Translation3, UnitQuaternion, Vector3};

use super::one_joint::Sinusoid;
use super::request::{Goal, IkError, IkRequest, IkSolution, IkSolver};
use super::task;
use super::verify::{self, Outcome};
use crate::kinematics::{jacobian_from_frames, joint_frames, pose_error, Jacobian, Pose};
use crate::model::{Chain, Motion};

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub struct CyclicCoordinateDescent;

const NAME: &str = "ccd";

/// Sweeps for each iteration of the request's budget: they are cheaper and do less.
const SWEEPS_PER_ITERATION: u32 = 20;
/// Sweeps without one percent of progress after which the descent ends.
const PATIENCE: u32 = 100;
/// Pushes off a stationary point in one descent.
const NUDGES: u32 = 3;

impl IkSolver for CyclicCoordinateDescent {
    fn name(&self) -> &'static str {
        NAME
    }

    fn solve(
        &self,
        chain: &Chain,
        request: &IkRequest<'_>,
        seed: &[f64],
    ) -> Result<IkSolution, IkError> {
        let (chain, seed) = verify::prepare(chain, request, seed)?;
        let chain = chain.as_ref();
        let outcome = descend(chain, request, &seed);
        verify::conclude(chain, request, &seed, outcome, NAME)
    }
}

/// Metres that count like a radian: a share of the arm's length, so that neither part of the
/// goal rules the other.
fn characteristic_length(chain: &Chain) -> f64 {
    let (_, reach) = chain.reach();
    if reach.is_finite() && reach > 0.0 {
        0.3 * reach
    } else {
        1.0
    }
}

fn cost(request: &IkRequest<'_>, tip: &Pose, length: f64) -> f64 {
    let error = task::error(request.goal, &request.target, tip);
    let position = error.fixed_rows::<3>(0).norm_squared();
    position + length * length * error.fixed_rows::<3>(3).norm_squared()
}

fn descend(chain: &Chain, request: &IkRequest<'_>, start: &[f64]) -> Outcome {
    let length = characteristic_length(chain);
    let drives: Vec<usize> = (0..chain.dof())
        .map(|dof| chain.joints.iter().filter(|joint| joint.dof == dof).count())
        .collect();
    // A mask bends the sinusoids, too.
    let masked = matches!(request.goal, Goal::Axes(_));
    let mut frames = Vec::with_capacity(chain.joints.len());
    let mut q = start.to_vec();
    let mut best = q.clone();
    let mut best_cost = f64::INFINITY;
    let mut milestone = f64::INFINITY;
    let mut since_best = 0;
    let mut nudges = 0;
    let mut iterations = 0;
    let mut timed_out = false;
    while let Ok(mut tip) = joint_frames(chain, &q, &mut frames) {
        let now = cost(request, &tip, length);
        if now < 0.98 * milestone {
            milestone = now;
            since_best = 0;
        } else {
            since_best += 1;
        }
        if now < best_cost {
            best_cost = now;
            best.clone_from(&q);
        }
        let off = task::residual(request.goal, &request.target, &tip);
        let within = off.position <= 0.9 * request.tolerances.position
            && off.orientation <= 0.9 * request.tolerances.orientation;
        let budget = request.max_iterations.saturating_mul(SWEEPS_PER_ITERATION);
        if within || iterations >= budget || since_best > PATIENCE {
            break;
        }
        if request.give_up.is_some_and(|give_up| give_up()) {
            timed_out = true;
            break;
        }
        iterations += 1;
        let mut moved = 0.0_f64;
        for index in (0..chain.joints.len()).rev() {
            let (Some(joint), Some(frame)) = (chain.joints.get(index), frames.get(index).copied())
            else {
                continue;
            };
            let (Some(dof), Some(&value), Some(&count)) = (
                chain.dofs.get(joint.dof),
                q.get(joint.dof),
                drives.get(joint.dof),
            ) else {
                continue;
            };
            if joint.multiplier == 0.0 {
                continue;
            }
            let next = if count > 1 || masked {
                shared_joint(chain, request, &q, joint.dof, length)
            } else {
                let axis = frame.axis.into_inner();
                match joint.motion {
                    Motion::Translation => {
                        let way = request.target.translation.vector - tip.translation.vector;
                        dof.clamp(value + axis.dot(&way) / joint.multiplier)
                    }
                    Motion::Rotation => {
                        let mut sinusoid = Sinusoid::default();
                        sinusoid.add_point(
                            1.0,
                            &axis,
                            &frame.origin,
                            &tip.translation.vector.into(),
                            &request.target.translation.vector.into(),
                        );
                        if request.goal == Goal::Pose {
                            sinusoid.add_orientation(
                                length * length,
                                &axis,
                                &tip.rotation,
                                &request.target.rotation,
                            );
                        }
                        sinusoid.best(dof, value, joint.multiplier, 1e-14)
                    }
                }
            };
            let change = (next - value).clamp(-request.max_step, request.max_step);
            let next = dof.clamp(value + change);
            let change = next - value;
            moved = moved.max(change.abs());
            if let Some(slot) = q.get_mut(joint.dof) {
                *slot = next;
            }
            if count > 1 {
                // A follower upstream or in between has moved too.
                match joint_frames(chain, &q, &mut frames) {
                    Ok(pose) => tip = pose,
                    Err(_) => break,
                }
            } else {
                tip = carried(
                    joint.motion,
                    &frame.axis,
                    &frame.origin,
                    joint.multiplier * change,
                ) * tip;
            }
        }
        if moved < 1e-12 {
            if nudges >= NUDGES {
                break;
            }
            nudges += 1;
            super::damped_svd::nudge(chain, &mut q, nudges);
        }
    }
    Outcome {
        q: best,
        iterations,
        timed_out,
    }
}

/// The motion of everything downstream of a joint that moves by `change`.
fn carried(
    motion: Motion,
    axis: &nalgebra::Unit<Vector3<f64>>,
    origin: &Point3<f64>,
    change: f64,
) -> Isometry3<f64> {
    match motion {
        Motion::Translation => Isometry3::from_parts(
            (axis.into_inner() * change).into(),
            UnitQuaternion::identity(),
        ),
        Motion::Rotation => {
            let rotation = UnitQuaternion::from_axis_angle(axis, change);
            let shift = origin.coords - rotation * origin.coords;
            Isometry3::from_parts(Translation3::from(shift), rotation)
        }
    }
}

/// A value that moves several joints, or a goal of some task axes, has no closed minimum: one Gauss–Newton step along it,
/// halved until the error shrinks.
fn shared_joint(chain: &Chain, request: &IkRequest<'_>, q: &[f64], dof: usize, length: f64) -> f64 {
    let value = q.get(dof).copied().unwrap_or(0.0);
    let mut frames = Vec::with_capacity(chain.joints.len());
    let Ok(tip) = joint_frames(chain, q, &mut frames) else {
        return value;
    };
    let mut matrix = Jacobian::zeros(chain.dof());
    jacobian_from_frames(chain, &frames, &tip, &mut matrix);
    let mut error = pose_error(&request.target, &tip);
    task::mask(
        request.goal,
        &request.target,
        &tip,
        &mut error,
        Some(&mut matrix),
    );
    let column = matrix.column(dof);
    let weight = length * length;
    let inner = |a: &dyn Fn(usize) -> f64| -> f64 {
        (0..3).map(|row| column[row] * a(row)).sum::<f64>()
            + weight * (3..6).map(|row| column[row] * a(row)).sum::<f64>()
    };
    let square = inner(&|row| column[row]);
    if square <= 0.0 {
        return value;
    }
    let mut step = inner(&|row| error[row]) / square;
    let before = cost(request, &tip, length);
    let mut trial = q.to_vec();
    for _ in 0..12 {
        let next = chain.dofs.get(dof).map_or(value, |d| d.clamp(value + step));
        if let Some(slot) = trial.get_mut(dof) {
            *slot = next;
        }
        let better = joint_frames(chain, &trial, &mut frames)
            .is_ok_and(|pose| cost(request, &pose, length) < before);
        if better {
            return next;
        }
        step *= 0.5;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::super::test_arms::{arm, Random};
    use super::*;
    use crate::kinematics::forward_kinematics;

    #[test]
    fn the_rigid_motion_of_a_joint_is_forward_kinematics() {
        // No link changes its length, as what is downstream is carried as one body.
        let mut random = Random(41);
        let chain = arm(&mut random, 6, true, false);
        let q = random.configuration(&chain);
        let mut frames = Vec::new();
        let tip = joint_frames(&chain, &q, &mut frames).unwrap();
        for (index, (joint, frame)) in chain.joints.iter().zip(&frames).enumerate() {
            let mut moved = q.clone();
            moved[index] += 0.3;
            let expected = forward_kinematics(&chain, &moved).unwrap();
            let found = carried(joint.motion, &frame.axis, &frame.origin, 0.3) * tip;
            assert!((found.translation.vector - expected.translation.vector).norm() < 1e-12);
            assert!(found.rotation.angle_to(&expected.rotation) < 1e-7);
        }
    }

    #[test]
    fn sweeps_never_lengthen_the_way_to_a_position() {
        // For a position each one-joint minimum is exact, so more sweeps are never worse.
        let mut random = Random(42);
        let chain = arm(&mut random, 6, true, false);
        let target = forward_kinematics(&chain, &random.configuration(&chain)).unwrap();
        let mut request = IkRequest::new(target);
        request.goal = Goal::Position;
        let mut last = f64::INFINITY;
        for sweeps in 1..6 {
            request.max_iterations = sweeps;
            let end = descend(&chain, &request, &[0.0; 6]);
            let tip = forward_kinematics(&chain, &end.q).unwrap();
            let distance = (tip.translation.vector - target.translation.vector).norm();
            assert!(distance <= last + 1e-12, "{distance} after {last}");
            assert!(chain.within_limits(&end.q));
            last = distance;
        }
        assert!(last < 1e-2, "{last}");
    }
}
