//! The preferred posture: redundancy is led towards it without moving the tip \[Liegeois1977\].

use nalgebra::DVector;

use super::pseudo_inverse::Decomposition;
use super::request::{IkRequest, Posture};
use super::task;
use crate::kinematics::{jacobian_from_frames, joint_frames, pose_error, Jacobian};
use crate::model::{Chain, DofKind};

/// Rounds of null-space motion after convergence.
const ROUNDS: u32 = 60;
/// Newton steps that bring the tip back after each round.
const CORRECTIONS: u32 = 4;

/// Where a degree of freedom should go, the short way round where it has no limits.
fn wish(chain: &Chain, posture: &Posture, index: usize, value: f64) -> f64 {
    let wanted = posture.values.get(index).copied().unwrap_or(value);
    let difference = wanted - value;
    match chain.dofs.get(index) {
        Some(dof) if dof.kind == DofKind::Continuous => {
            difference - (difference / std::f64::consts::TAU).round() * std::f64::consts::TAU
        }
        _ => difference,
    }
}

/// Steepest descent of half the weighted squared distance to the posture, with the largest
/// weight scaled to one.
pub(super) fn pull(chain: &Chain, posture: &Posture, q: &[f64]) -> DVector<f64> {
    let largest = posture.weights.iter().fold(0.0_f64, |most, w| most.max(*w));
    DVector::from_iterator(
        q.len(),
        q.iter().enumerate().map(|(index, &value)| {
            if largest > 0.0 {
                let weight = posture.weights.get(index).copied().unwrap_or(0.0) / largest;
                weight * wish(chain, posture, index, value)
            } else {
                0.0
            }
        }),
    )
}

/// The weighted squared distance to the posture.
pub(super) fn distance(chain: &Chain, posture: &Posture, q: &[f64]) -> f64 {
    q.iter()
        .enumerate()
        .map(|(index, &value)| {
            let difference = wish(chain, posture, index, value);
            posture.weights.get(index).copied().unwrap_or(0.0) * difference * difference
        })
        .sum()
}

/// Moves the converged configuration `q` in the null space towards the posture as long as that
/// brings it nearer, inside limits and tolerances; also returns the iterations used.
pub(super) fn improve(
    chain: &Chain,
    request: &IkRequest<'_>,
    posture: &Posture,
    q: &[f64],
) -> (Vec<f64>, u32) {
    let mut best = q.to_vec();
    let mut best_distance = distance(chain, posture, &best);
    let mut frames = Vec::with_capacity(chain.joints.len());
    let mut scale = 1.0;
    let mut used = 0;
    while used < ROUNDS && scale > 1e-3 {
        if request.give_up.is_some_and(|give_up| give_up()) {
            break;
        }
        used += 1;
        let Some(step) = null_step(chain, request, posture, &best, &mut frames) else {
            break;
        };
        let largest = step.amax();
        if largest < 1e-7 {
            break;
        }
        let shrink = scale * (request.max_step / largest).min(1.0);
        let mut next: Vec<f64> = chain
            .dofs
            .iter()
            .zip(best.iter().zip(step.iter()))
            .map(|(dof, (&value, &part))| dof.clamp(value + shrink * part))
            .collect();
        let back = correct(chain, request, &mut next, &mut frames);
        let next_distance = distance(chain, posture, &next);
        if back && next_distance < best_distance {
            let gained = best_distance - next_distance;
            best = next;
            best_distance = next_distance;
            scale = (2.0 * scale).min(1.0);
            if gained <= 1e-9 * best_distance {
                break;
            }
        } else {
            scale *= 0.4;
        }
    }
    (best, used)
}

/// Rows of the task Jacobian and the error for the request's goal, at `q`.
pub(super) fn linearise(
    chain: &Chain,
    request: &IkRequest<'_>,
    q: &[f64],
    frames: &mut Vec<crate::kinematics::JointFrame>,
) -> Option<(Jacobian, nalgebra::Vector6<f64>)> {
    let tip = joint_frames(chain, q, frames).ok()?;
    let mut matrix = Jacobian::zeros(chain.dof());
    jacobian_from_frames(chain, frames, &tip, &mut matrix);
    let mut error = pose_error(&request.target, &tip);
    task::mask(
        request.goal,
        &request.target,
        &tip,
        &mut error,
        Some(&mut matrix),
    );
    Some((matrix, error))
}

/// The pull projected into the null space of the free columns: joints at a limit that it would
/// push outwards are taken out one by one.
fn null_step(
    chain: &Chain,
    request: &IkRequest<'_>,
    posture: &Posture,
    q: &[f64],
    frames: &mut Vec<crate::kinematics::JointFrame>,
) -> Option<DVector<f64>> {
    let (mut matrix, _) = linearise(chain, request, q, frames)?;
    let mut direction = pull(chain, posture, q);
    for _ in 0..=chain.dof() {
        let step = Decomposition::of(&matrix)?.project(&direction);
        let blocked =
            chain
                .dofs
                .iter()
                .zip(q.iter().zip(step.iter()))
                .position(|(dof, (&value, &part))| {
                    (value >= dof.upper && part > 0.0) || (value <= dof.lower && part < 0.0)
                });
        match blocked {
            None => return Some(step),
            Some(index) => {
                matrix.column_mut(index).fill(0.0);
                *direction.get_mut(index)? = 0.0;
            }
        }
    }
    None
}

/// Newton steps back to the target; whether the tolerances are met again.
fn correct(
    chain: &Chain,
    request: &IkRequest<'_>,
    q: &mut [f64],
    frames: &mut Vec<crate::kinematics::JointFrame>,
) -> bool {
    for round in 0..=CORRECTIONS {
        let Some((mut matrix, error)) = linearise(chain, request, q, frames) else {
            return false;
        };
        let within = error.fixed_rows::<3>(0).norm() <= 0.9 * request.tolerances.position
            && error.fixed_rows::<3>(3).norm() <= 0.9 * request.tolerances.orientation;
        if within {
            return true;
        }
        if round == CORRECTIONS {
            return false;
        }
        // Joints that rest on a limit stay there during the correction.
        for (index, (dof, &value)) in chain.dofs.iter().zip(q.iter()).enumerate() {
            if value <= dof.lower || value >= dof.upper {
                matrix.column_mut(index).fill(0.0);
            }
        }
        let Some(decomposition) = Decomposition::of(&matrix) else {
            return false;
        };
        let step = decomposition.damped(&error, 0.0);
        for ((dof, value), part) in chain.dofs.iter().zip(q.iter_mut()).zip(step.iter()) {
            *value = dof.clamp(*value + part);
        }
    }
    false
}
