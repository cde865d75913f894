//! Jacobian transpose with the optimal step length \[Buss2004\].
//!
//! Each step is the steepest descent of the squared error, as long as the linearised error
//! asks for. Simple and never unstable, but slow near the answer: it wants many iterations or
//! wide tolerances.

use nalgebra::DVector;

use super::damped_svd::nudge;
use super::posture::linearise;
use super::request::{IkError, IkRequest, IkSolution, IkSolver};
use super::verify::{self, Outcome};
use crate::model::Chain;

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub struct JacobianTranspose;

const NAME: &str = "jacobian_transpose";

/// Steps for each iteration of the request's budget: they are much cheaper and do much less.
const STEPS_PER_ITERATION: u32 = 50;
/// Pushes off a stationary point in one descent.
const NUDGES: u32 = 3;

impl IkSolver for JacobianTranspose {
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

fn descend(chain: &Chain, request: &IkRequest<'_>, start: &[f64]) -> Outcome {
    let mut frames = Vec::with_capacity(chain.joints.len());
    let mut q = start.to_vec();
    let mut best = q.clone();
    let mut best_error = f64::INFINITY;
    let mut nudges = 0;
    let mut iterations = 0;
    let mut timed_out = false;
    // Shortens the optimal step where the error is too curved for it.
    let mut shorten = 1.0;
    let mut last_error = f64::INFINITY;
    while let Some((mut matrix, error)) = linearise(chain, request, &q, &mut frames) {
        let size = error.norm();
        if size < best_error {
            best_error = size;
            best.clone_from(&q);
        }
        shorten = if size <= last_error {
            (shorten * 1.5_f64).min(1.0)
        } else {
            shorten * 0.5
        };
        last_error = size;
        let within = error.fixed_rows::<3>(0).norm() <= 0.9 * request.tolerances.position
            && error.fixed_rows::<3>(3).norm() <= 0.9 * request.tolerances.orientation;
        let budget = request.max_iterations.saturating_mul(STEPS_PER_ITERATION);
        if within || iterations >= budget {
            break;
        }
        if request.give_up.is_some_and(|give_up| give_up()) {
            timed_out = true;
            break;
        }
        iterations += 1;
        let mut gradient: DVector<f64> = matrix.tr_mul(&error);
        for (index, (dof, &value)) in chain.dofs.iter().zip(&q).enumerate() {
            let outwards = gradient.get(index).copied().unwrap_or(0.0);
            if (value >= dof.upper && outwards > 0.0) || (value <= dof.lower && outwards < 0.0) {
                matrix.column_mut(index).fill(0.0);
                if let Some(part) = gradient.get_mut(index) {
                    *part = 0.0;
                }
            }
        }
        let image = &matrix * &gradient;
        let square = image.norm_squared();
        let length = if square > 0.0 {
            error.dot(&image) / square
        } else {
            0.0
        };
        let step = gradient * (length * shorten);
        let largest = step.amax();
        if largest.is_nan() || largest < 1e-14 {
            if nudges >= NUDGES {
                break;
            }
            nudges += 1;
            last_error = f64::INFINITY;
            nudge(chain, &mut q, nudges);
            continue;
        }
        let scale = (request.max_step / largest).min(1.0);
        for ((dof, value), part) in chain.dofs.iter().zip(q.iter_mut()).zip(step.iter()) {
            *value = dof.clamp(*value + scale * part);
        }
    }
    Outcome {
        q: best,
        iterations,
        timed_out,
    }
}
