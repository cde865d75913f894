//! Damped pseudo-inverse from the singular value decomposition of the Jacobian, with joint
//! limits and a preferred posture in the null space \[Wampler1986\], \[Buss2004\].
//!
//! The damping grows with the error and as the smallest singular value falls below a
//! threshold, and vanishes on the way to the answer, so that the last steps are Newton's.

use nalgebra::{DVector, Vector6};

use super::posture::{self, linearise};
use super::pseudo_inverse::Decomposition;
use super::request::{IkError, IkRequest, IkSolution, IkSolver};
use super::verify::{self, Outcome};
use crate::kinematics::Jacobian;
use crate::model::Chain;

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub struct DampedSvd;

const NAME: &str = "damped_svd";

/// Below this smallest singular value the pose counts as nearly singular.
const NEARLY_SINGULAR: f64 = 0.05;
/// Damping far from singular poses, per squared error.
const BASE_DAMPING: f64 = 0.01;
/// Error (metres and radians alike) below which the posture no longer pulls: the last steps
/// belong to the tip. What the null space still has to give is taken after convergence.
const POSTURE_ERROR: f64 = 1e-3;
/// Share of the way to the posture per iteration.
const POSTURE_GAIN: f64 = 0.5;
/// Iterations without five percent of progress after which a descent ends.
const PATIENCE: u32 = 30;
/// Pushes off a stationary point in one descent.
const NUDGES: u32 = 3;

impl IkSolver for DampedSvd {
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

/// One descent from `start`, which lies inside the limits.
pub(super) fn descend(chain: &Chain, request: &IkRequest<'_>, start: &[f64]) -> Outcome {
    let mut frames = Vec::with_capacity(chain.joints.len());
    let mut q = start.to_vec();
    let mut best = q.clone();
    let mut best_error = f64::INFINITY;
    let mut last_error = f64::INFINITY;
    let mut boost = 1.0;
    let mut milestone = f64::INFINITY;
    let mut since_milestone = 0;
    let mut nudges = 0;
    let mut iterations = 0;
    let mut timed_out = false;
    while let Some((matrix, error)) = linearise(chain, request, &q, &mut frames) {
        let size = error.norm();
        if size < best_error {
            best_error = size;
            best.clone_from(&q);
        }
        if size < 0.95 * milestone {
            milestone = size;
            since_milestone = 0;
        } else {
            since_milestone += 1;
        }
        let within = error.fixed_rows::<3>(0).norm() <= 0.9 * request.tolerances.position
            && error.fixed_rows::<3>(3).norm() <= 0.9 * request.tolerances.orientation;
        if within || iterations >= request.max_iterations || since_milestone > PATIENCE {
            break;
        }
        if request.give_up.is_some_and(|give_up| give_up()) {
            timed_out = true;
            break;
        }
        iterations += 1;
        boost = if size < last_error {
            (boost * 0.3_f64).max(1.0)
        } else {
            (boost * 4.0_f64).min(1e6)
        };
        last_error = size;
        let pull = match &request.posture {
            Some(posture) if size > POSTURE_ERROR => {
                posture::pull(chain, posture, &q) * POSTURE_GAIN
            }
            _ => DVector::zeros(chain.dof()),
        };
        let step = limited_step(chain, &q, &matrix, &error, boost, &pull, request.max_step);
        let moves = step.as_ref().map_or(0.0, DVector::amax);
        match step {
            Some(step) if moves > 1e-11 => {
                for ((dof, value), part) in chain.dofs.iter().zip(q.iter_mut()).zip(step.iter()) {
                    *value = dof.clamp(*value + part);
                }
            }
            _ if nudges < NUDGES => {
                nudges += 1;
                last_error = f64::INFINITY;
                nudge(chain, &mut q, nudges);
            }
            _ => break,
        }
    }
    Outcome {
        q: best,
        iterations,
        timed_out,
    }
}

/// Pushes `q` off a stationary point: at a singular pose that opens the missing directions.
pub(super) fn nudge(chain: &Chain, q: &mut [f64], count: u32) {
    for (index, (dof, value)) in chain.dofs.iter().zip(q.iter_mut()).enumerate() {
        let push = 0.07 * f64::from(count) * super::lm::sign(index);
        let pushed = dof.clamp(*value + push);
        // At a limit the push goes inwards.
        *value = if pushed == *value {
            dof.clamp(*value - push)
        } else {
            pushed
        };
    }
}

/// Damping and posture in one step, and the column rule: a joint that would leave its range is
/// clamped and its column taken out, and the rest is solved again for the error that is left,
/// until no more joints leave. Each iteration begins with all joints, so a joint comes back as
/// soon as its step points inwards.
fn limited_step(
    chain: &Chain,
    q: &[f64],
    jacobian: &Jacobian,
    error: &Vector6<f64>,
    boost: f64,
    pull: &DVector<f64>,
    max_step: f64,
) -> Option<DVector<f64>> {
    let mut matrix = jacobian.clone();
    let mut pull = pull.clone();
    let mut left = *error;
    let mut fixed: Vec<Option<f64>> = vec![None; q.len()];
    for _ in 0..=q.len() {
        let decomposition = Decomposition::of(&matrix)?;
        let ratio = decomposition.smallest() / NEARLY_SINGULAR;
        let near = (1.0 - ratio * ratio).max(0.0);
        let damping = boost * error.norm_squared() * (BASE_DAMPING + near);
        let mut step = decomposition.damped(&left, damping) + decomposition.project(&pull);
        let largest = step.amax();
        if largest > max_step {
            step *= max_step / largest;
        }
        let mut leaving = false;
        for (index, (dof, (&value, part))) in chain
            .dofs
            .iter()
            .zip(q.iter().zip(step.iter_mut()))
            .enumerate()
        {
            let Some(slot) = fixed.get_mut(index) else {
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
                if let Some(wish) = pull.get_mut(index) {
                    *wish = 0.0;
                }
            }
        }
        if !leaving {
            return Some(step);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::test_arms::{arm, Random};
    use super::*;

    #[test]
    fn column_rule_clamps_and_solves_the_rest_again() {
        // Eight joints for six task rows: when a joint is at its limit the others can still do
        // all that is asked, and must.
        let mut random = Random(61);
        let mut clamped = 0;
        for _ in 0..60 {
            let chain = arm(&mut random, 8, false, false);
            let q = random.configuration(&chain);
            let matrix = crate::kinematics::jacobian(&chain, &q).unwrap();
            let error = Vector6::from_fn(|_, _| random.between(-1e-4, 1e-4));
            let none = DVector::zeros(8);
            let free = limited_step(&chain, &q, &matrix, &error, 1.0, &none, 1.0).unwrap();
            // Put the joint that moves most on the limit towards which it moves.
            let (index, _) = free.abs().argmax();
            let mut chain = chain;
            if free[index] > 0.0 {
                chain.dofs[index].upper = q[index];
            } else {
                chain.dofs[index].lower = q[index];
            }
            let step = limited_step(&chain, &q, &matrix, &error, 1.0, &none, 1.0).unwrap();
            assert_eq!(step[index], 0.0);
            let done = &matrix * &step;
            if (done - error).norm() < 1e-3 * error.norm() {
                clamped += 1;
            }
            // The opposite error points inwards: the joint comes back.
            let back = limited_step(&chain, &q, &matrix, &-error, 1.0, &none, 1.0).unwrap();
            assert!(back[index] * free[index] < 0.0);
        }
        assert!(clamped >= 50, "{clamped} of 60");
    }

    #[test]
    fn null_space_part_leaves_the_tip_alone() {
        let mut random = Random(62);
        for _ in 0..30 {
            let chain = arm(&mut random, 8, true, false);
            let q = random.configuration(&chain);
            let matrix = crate::kinematics::jacobian(&chain, &q).unwrap();
            let pull = DVector::from_fn(8, |_, _| random.between(-1.0, 1.0));
            let decomposition = Decomposition::of(&matrix).unwrap();
            let part = decomposition.project(&pull);
            assert!((&matrix * &part).norm() < 1e-6 * pull.norm());
            // A projection: never against the pull, and itself again when repeated.
            assert!(part.dot(&pull) >= 0.0);
            assert!((decomposition.project(&part) - &part).norm() < 1e-9);
        }
    }
}
