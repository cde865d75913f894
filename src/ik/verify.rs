//! What every solver does before and after its own work: the request is checked once, and no
//! answer becomes `Ok` but through [`judge`].

use std::borrow::Cow;

use super::posture;
use super::reach;
use super::request::{Attempt, Goal, IkError, IkRequest, IkSolution, InvalidRequest, Tolerances};
use super::task::residual;
use super::winding;
use crate::kinematics::forward_kinematics;
use crate::model::Chain;

/// Where a solver ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    /// Its best configuration.
    pub(super) q: Vec<f64>,
    /// Iterations used.
    pub(super) iterations: u32,
    /// Whether `give_up` stopped it.
    pub(super) timed_out: bool,
}

/// What an attempt is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Inside limits and tolerances, and accepted by the caller.
    Accepted,
    /// Inside limits and tolerances, refused by the caller's `accept`.
    Refused,
    /// Outside the tolerances (or the limits).
    Off,
}

/// Checks sizes and values of the request and returns the seed, clamped to the limits, and the
/// chain, its limits narrowed to the joint moves that the request allows.
pub(super) fn prepare<'a>(
    chain: &'a Chain,
    request: &IkRequest<'_>,
    seed: &[f64],
) -> Result<(Cow<'a, Chain>, Vec<f64>), IkError> {
    check_size(chain, "seed", seed)?;
    check_finite(chain, "seed", seed)?;
    let target = &request.target;
    let finite = target.translation.vector.iter().all(|v| v.is_finite())
        && (request.goal == Goal::Position || target.rotation.coords.iter().all(|v| v.is_finite()));
    if !finite {
        return Err(InvalidRequest::TargetNotFinite.into());
    }
    if request.goal.rows() == 0 {
        return Err(InvalidRequest::NoTaskAxes.into());
    }
    check_budget(
        &request.tolerances,
        request.max_step,
        request.max_iterations,
    )?;
    if request.max_solutions == 0 {
        return Err(InvalidRequest::NotPositive {
            what: "max_solutions",
            value: 0.0,
        }
        .into());
    }
    if let Some(posture) = &request.posture {
        check_size(chain, "posture", &posture.values)?;
        check_size(chain, "weights", &posture.weights)?;
        check_finite(chain, "posture", &posture.values)?;
        check_finite(chain, "weight", &posture.weights)?;
        if let Some(&value) = posture.weights.iter().find(|&&weight| weight < 0.0) {
            return Err(InvalidRequest::NotPositive {
                what: "a posture weight",
                value,
            }
            .into());
        }
    }
    let seed: Vec<f64> = chain
        .dofs
        .iter()
        .zip(seed)
        .map(|(dof, &value)| dof.clamp(value))
        .collect();
    let Some(moves) = &request.max_move else {
        return Ok((Cow::Borrowed(chain), seed));
    };
    check_size(chain, "max_move", moves)?;
    if let Some(&value) = moves.iter().find(|most| most.is_nan() || **most < 0.0) {
        return Err(InvalidRequest::NotPositive {
            what: "a max_move",
            value,
        }
        .into());
    }
    Ok((Cow::Owned(narrowed(chain, &seed, moves)), seed))
}

/// The chain with limits of at most `moves` around `centre`, which lies inside its limits.
pub(super) fn narrowed(chain: &Chain, centre: &[f64], moves: &[f64]) -> Chain {
    let mut narrow = chain.clone();
    for (dof, (&value, &most)) in narrow.dofs.iter_mut().zip(centre.iter().zip(moves)) {
        dof.lower = dof.lower.max(value - most);
        dof.upper = dof.upper.min(value + most);
    }
    narrow
}

/// What requests for chains and for trees have in common: tolerances, step and iterations.
pub(super) fn check_budget(
    tolerances: &Tolerances,
    max_step: f64,
    max_iterations: u32,
) -> Result<(), InvalidRequest> {
    for (what, value) in [
        ("position", tolerances.position),
        ("orientation", tolerances.orientation),
    ] {
        if !(value.is_finite() && value > 0.0) {
            return Err(InvalidRequest::Tolerance { what, value });
        }
    }
    // An infinite step means no clamp.
    if max_step.is_nan() || max_step <= 0.0 {
        return Err(InvalidRequest::NotPositive {
            what: "max_step",
            value: max_step,
        });
    }
    if max_iterations == 0 {
        return Err(InvalidRequest::NotPositive {
            what: "max_iterations",
            value: 0.0,
        });
    }
    Ok(())
}

fn check_size(chain: &Chain, what: &'static str, values: &[f64]) -> Result<(), IkError> {
    if values.len() == chain.dof() {
        Ok(())
    } else {
        Err(IkError::WrongSize {
            what,
            expected: chain.dof(),
            got: values.len(),
        })
    }
}

fn check_finite(chain: &Chain, what: &'static str, values: &[f64]) -> Result<(), IkError> {
    match values.iter().zip(&chain.dofs).find(|(v, _)| !v.is_finite()) {
        None => Ok(()),
        Some((&value, dof)) => Err(InvalidRequest::JointValue {
            what,
            joint: dof.name.clone(),
            value,
        }
        .into()),
    }
}

/// The one judge of answers: measures `q` by forward kinematics, checks limits and tolerances
/// and asks the caller's `accept`.
pub(super) fn judge(
    chain: &Chain,
    request: &IkRequest<'_>,
    q: Vec<f64>,
    iterations: u32,
    solver: &'static str,
) -> (Attempt, Verdict) {
    // A `q` of another length cannot come from a solver; it would be judged infinitely far off.
    let distance =
        forward_kinematics(chain, &q).map(|tip| residual(request.goal, &request.target, &tip));
    let (position_error, orientation_error) = match distance {
        Ok(distance) => (distance.position, distance.orientation),
        Err(_) => (f64::INFINITY, f64::INFINITY),
    };
    // NaN residuals compare false.
    let inside = chain.within_limits(&q)
        && position_error <= request.tolerances.position
        && orientation_error <= request.tolerances.orientation;
    let verdict = if !inside {
        Verdict::Off
    } else if request.accept.is_none_or(|accept| accept(&q)) {
        Verdict::Accepted
    } else {
        Verdict::Refused
    };
    let attempt = IkSolution {
        q,
        position_error,
        orientation_error,
        iterations,
        solver,
    };
    (attempt, verdict)
}

/// How far an attempt is from the target in units of the tolerances; the smaller the better.
pub(super) fn badness(request: &IkRequest<'_>, attempt: &Attempt) -> f64 {
    let badness = attempt.position_error / request.tolerances.position
        + attempt.orientation_error / request.tolerances.orientation;
    if badness.is_nan() {
        f64::INFINITY
    } else {
        badness
    }
}

/// From where a solver ended to what it answers: nearest winding, posture, judgement.
pub(super) fn conclude(
    chain: &Chain,
    request: &IkRequest<'_>,
    seed: &[f64],
    outcome: Outcome,
    solver: &'static str,
) -> Result<IkSolution, IkError> {
    let timed_out = outcome.timed_out;
    match finish(chain, request, seed, outcome, solver) {
        (solution, Verdict::Accepted) => Ok(solution),
        (best, verdict) => Err(failure(
            chain,
            request,
            best,
            solver,
            timed_out,
            u32::from(verdict == Verdict::Refused),
        )),
    }
}

/// Winds `outcome` to the seed, lets the posture pull where the goal leaves it free, and judges.
pub(super) fn finish(
    chain: &Chain,
    request: &IkRequest<'_>,
    seed: &[f64],
    outcome: Outcome,
    solver: &'static str,
) -> (Attempt, Verdict) {
    let mut q = outcome.q;
    winding::to_nearest(chain, seed, &mut q);
    let (first, verdict) = judge(chain, request, q, outcome.iterations, solver);
    let Some(wish) = &request.posture else {
        return (first, verdict);
    };
    if verdict == Verdict::Off {
        return (first, verdict);
    }
    let (mut pulled, rounds) = posture::improve(chain, request, wish, &first.q);
    winding::to_nearest(chain, seed, &mut pulled);
    let iterations = outcome.iterations.saturating_add(rounds);
    let (second, better) = judge(chain, request, pulled, iterations, solver);
    if better == Verdict::Accepted {
        (second, better)
    } else {
        (first, verdict)
    }
}

/// The error for a best try: out of reach where that can be proven, else not converged.
pub(super) fn failure(
    chain: &Chain,
    request: &IkRequest<'_>,
    best: Attempt,
    solver: &'static str,
    timed_out: bool,
    refused: u32,
) -> IkError {
    if refused == 0 {
        if let Some(proof) = reach::proof(chain, request) {
            return proof.into_error(Some(Box::new(best)));
        }
    }
    IkError::NotConverged {
        solver,
        best: Box::new(best),
        timed_out,
        refused,
        beyond_limits: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_arms::planar;
    use super::*;

    #[test]
    fn no_answer_outside_limits_tolerances_or_favour_is_accepted() {
        let chain = planar(&[0.5, 0.4], 1.0);
        let judged =
            |q: [f64; 2], request: &IkRequest<'_>| judge(&chain, request, q.to_vec(), 0, "test").1;
        let at = |q: [f64; 2]| IkRequest::new(forward_kinematics(&chain, &q).unwrap());
        assert_eq!(judged([0.3, 0.4], &at([0.3, 0.4])), Verdict::Accepted);
        // On the target, but beyond a limit.
        assert_eq!(judged([0.3, 1.1], &at([0.3, 1.1])), Verdict::Off);
        assert_eq!(judged([0.3, 0.4], &at([0.3, 0.4 + 4e-6])), Verdict::Off);
        assert_eq!(judged([0.3, f64::NAN], &at([0.3, 0.4])), Verdict::Off);
        let mut position = at([0.3, 0.4]);
        position.target.rotation = nalgebra::UnitQuaternion::identity();
        assert_eq!(judged([0.3, 0.4], &position), Verdict::Off);
        position.goal = Goal::Position;
        assert_eq!(judged([0.3, 0.4], &position), Verdict::Accepted);
        let never = |_: &[f64]| false;
        position.accept = Some(&never);
        assert_eq!(judged([0.3, 0.4], &position), Verdict::Refused);
        assert_eq!(
            judge(&chain, &position, vec![0.3], 0, "test").1,
            Verdict::Off
        );
    }
}
