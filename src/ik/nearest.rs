//! The nearest answer to a target that cannot be reached.
//!
//! "Nearest" is least in d² + φ², the distance \[m\] and the angle \[rad\] from what the goal asks
//! for, a metre counting like a radian; for position goals that is the distance alone. Descents
//! for reachable targets stop as soon as they see that they will not arrive, so the best try of
//! a solver is taken further here: candidates (the best try, the arm stretched out towards the
//! target, restarts) are brought to a minimum by Newton steps with the limits as bounds
//! \[Bertsekas1982\]. The minimum is a local one; the least of all candidates is returned.

use nalgebra::{DMatrix, DVector};

use super::posture::linearise;
use super::request::{Attempt, IkError, IkRequest, IkSolution, IkSolver};
use super::{fabrik, restart, verify};
use crate::model::Chain;

/// An answer, or the nearest there is to one.
#[derive(Debug, Clone, PartialEq)]
pub enum Nearest {
    /// The target is reached within the tolerances.
    Reached(IkSolution),
    /// The target is not reached: `reason` says why, and `best` comes nearest, inside the limits,
    /// with its residuals. Not to be taken for an answer.
    Approached {
        /// The nearest configuration found.
        best: Attempt,
        /// Why there is no answer.
        reason: IkError,
    },
}

impl Nearest {
    /// The configuration, whether it reaches the target or not.
    pub fn attempt(&self) -> &Attempt {
        match self {
            Nearest::Reached(attempt) | Nearest::Approached { best: attempt, .. } => attempt,
        }
    }
}

/// Candidates beside the best try, where restarts are allowed.
const RESTARTS: u32 = 12;
/// Newton steps for one candidate.
const STEPS: u32 = 100;
/// Step of the finite differences that make the Hessian from gradients \[rad, m\].
const DIFFERENCE: f64 = 1e-6;

/// As [`IkSolver::solve`], but a target out of reach (or not found) has the nearest
/// configuration for an answer. Solutions that the request's `accept` refuses are no candidates.
///
/// # Errors
/// [`IkError`] where there is nothing to approach: unsupported chains and invalid requests.
pub fn solve_nearest(
    solver: &dyn IkSolver,
    chain: &Chain,
    request: &IkRequest<'_>,
    seed: &[f64],
) -> Result<Nearest, IkError> {
    let reason = match solver.solve(chain, request, seed) {
        Ok(solution) => return Ok(Nearest::Reached(solution)),
        Err(reason) => reason,
    };
    let Some(tried) = reason.best().cloned() else {
        return Err(reason);
    };
    let (chain, seed) = verify::prepare(chain, request, seed)?;
    let chain = chain.as_ref();
    let stretched = fabrik::descend(chain, request, &tried.q).q;
    let restarts = if request.restarts { RESTARTS } else { 0 };
    let mut candidates = vec![tried.q.clone(), stretched];
    candidates.extend((1..=restarts).map(|number| restart::configuration(chain, &seed, number)));
    let mut best: Option<(f64, Vec<f64>)> = None;
    let mut iterations = tried.iterations;
    for (number, start) in candidates.into_iter().enumerate() {
        if number > 0 && request.give_up.is_some_and(|give_up| give_up()) {
            break;
        }
        let (q, used) = descend(chain, request, start);
        iterations = iterations.saturating_add(used);
        let Some(cost) = cost(chain, request, &q) else {
            continue;
        };
        let allowed = request.accept.is_none_or(|accept| accept(&q));
        // Of equals the first wins, so that the best try is not left for rounding's sake.
        let better = best
            .as_ref()
            .is_none_or(|(least, _)| cost < least - 1e-12 * (1.0 + least));
        if allowed && better {
            best = Some((cost, q));
        }
    }
    let q = best.map_or(tried.q, |(_, q)| q);
    let (best, verdict) = verify::judge(chain, request, q, iterations, tried.solver);
    Ok(match verdict {
        // A restart may find what the solver did not.
        verify::Verdict::Accepted => Nearest::Reached(best),
        _ => Nearest::Approached { best, reason },
    })
}

/// Half the squared error; `None` where it is not finite.
fn cost(chain: &Chain, request: &IkRequest<'_>, q: &[f64]) -> Option<f64> {
    let tip = crate::kinematics::forward_kinematics(chain, q).ok()?;
    let error = super::task::error(request.goal, &request.target, &tip);
    let cost = 0.5 * error.norm_squared();
    cost.is_finite().then_some(cost)
}

/// The gradient of [`cost`].
fn gradient(chain: &Chain, request: &IkRequest<'_>, q: &[f64]) -> Option<DVector<f64>> {
    let mut frames = Vec::with_capacity(chain.joints.len());
    let (matrix, error) = linearise(chain, request, q, &mut frames)?;
    let gradient = -matrix.tr_mul(&error);
    gradient
        .iter()
        .all(|part| part.is_finite())
        .then_some(gradient)
}

/// The Hessian of [`cost`] by differences of gradients, made symmetric.
fn hessian(
    chain: &Chain,
    request: &IkRequest<'_>,
    q: &[f64],
    at: &DVector<f64>,
) -> Option<DMatrix<f64>> {
    let mut hessian = DMatrix::zeros(q.len(), q.len());
    let mut moved = q.to_vec();
    for index in 0..q.len() {
        let value = *q.get(index)?;
        *moved.get_mut(index)? = value + DIFFERENCE;
        let column = (gradient(chain, request, &moved)? - at) / DIFFERENCE;
        hessian.set_column(index, &column);
        *moved.get_mut(index)? = value;
    }
    Some((&hessian + hessian.transpose()) * 0.5)
}

/// Newton steps with bounds: joints at a limit that the gradient holds there rest, the others
/// take a damped step that is accepted when it lowers the cost.
fn descend(chain: &Chain, request: &IkRequest<'_>, mut q: Vec<f64>) -> (Vec<f64>, u32) {
    let mut used = 0;
    let Some(mut now) = cost(chain, request, &q) else {
        return (q, used);
    };
    let mut damping = 1e-3;
    while used < STEPS {
        if request.give_up.is_some_and(|give_up| give_up()) {
            break;
        }
        let Some(slope) = gradient(chain, request, &q) else {
            break;
        };
        let free: Vec<usize> = chain
            .dofs
            .iter()
            .zip(q.iter().zip(slope.iter()))
            .enumerate()
            .filter(|(_, (dof, (&value, &slope)))| {
                !((value <= dof.lower && slope >= 0.0) || (value >= dof.upper && slope <= 0.0))
            })
            .map(|(index, _)| index)
            .collect();
        let down = slope.select_rows(&free);
        if free.is_empty() || down.amax() < 1e-12 {
            break;
        }
        let Some(full) = hessian(chain, request, &q, &slope) else {
            break;
        };
        let curvature = full.select_rows(&free).select_columns(&free);
        let mut lowered = false;
        while used < STEPS && damping < 1e12 {
            used += 1;
            let damped = &curvature + DMatrix::identity(free.len(), free.len()) * damping;
            if let Some(factor) = damped.cholesky() {
                let mut step = factor.solve(&-&down);
                let largest = step.amax();
                if largest > request.max_step {
                    step *= request.max_step / largest;
                }
                let mut next = q.clone();
                for (&index, part) in free.iter().zip(step.iter()) {
                    if let (Some(value), Some(dof)) = (next.get_mut(index), chain.dofs.get(index)) {
                        *value = dof.clamp(*value + part);
                    }
                }
                match cost(chain, request, &next) {
                    Some(then) if then < now => {
                        lowered = true;
                        damping = (damping * 0.1).max(1e-9);
                        q = next;
                        now = then;
                        break;
                    }
                    _ => {}
                }
            }
            damping *= 10.0;
        }
        if !lowered {
            break;
        }
    }
    (q, used)
}

#[cfg(test)]
mod tests {
    use super::super::test_arms::{arm, planar, Random};
    use super::super::{solver, Goal};
    use super::*;
    use crate::kinematics::{forward_kinematics, Pose};

    #[test]
    fn far_targets_are_pointed_at_by_a_straight_arm() {
        let chain = planar(&[0.5, 0.4, 0.3], 3.1);
        for name in ["portfolio", "levenberg_marquardt", "ccd", "fabrik"] {
            for angle in [-2.5_f64, -0.3, 0.0, 1.2] {
                let (sine, cosine) = angle.sin_cos();
                let target = Pose::translation(4.0 * cosine, 4.0 * sine, 0.0);
                let mut request = IkRequest::new(target);
                request.goal = Goal::Position;
                let solver = solver(name).unwrap();
                let found = solve_nearest(solver, &chain, &request, &[0.3, -0.8, 1.0]).unwrap();
                let Nearest::Approached { best, reason } = found else {
                    panic!("{found:?}")
                };
                assert!(reason.is_unreachable());
                assert!((best.position_error - 2.8).abs() < 1e-9, "{best:?}");
                assert!((best.q[0] - angle).abs() < 1e-6, "{name} {best:?}");
                assert!(best.q[1].abs() < 1e-6 && best.q[2].abs() < 1e-6, "{best:?}");
            }
        }
    }

    #[test]
    fn no_neighbour_and_no_sample_is_nearer() {
        // Slow oracle: dense random sampling inside the limits.
        let mut random = Random(95);
        for round in 0..12 {
            let chain = arm(&mut random, 3, round % 2 == 0, false);
            let target = Pose::new(random.vector(2.0), random.vector(2.0));
            let mut request = IkRequest::new(target);
            if round % 3 != 0 {
                request.goal = Goal::Position;
            }
            let seed = random.configuration(&chain);
            let portfolio = solver("").unwrap();
            let found = solve_nearest(portfolio, &chain, &request, &seed).unwrap();
            let q = &found.attempt().q;
            assert!(chain.within_limits(q));
            let reached = cost(&chain, &request, q).unwrap();
            for _ in 0..20_000 {
                let other = cost(&chain, &request, &random.configuration(&chain)).unwrap();
                assert!(reached <= other + 1e-9, "{reached} {other}");
            }
            let again = solve_nearest(portfolio, &chain, &request, &seed).unwrap();
            assert_eq!(found, again);
        }
    }

    #[test]
    fn reachable_targets_are_reached() {
        let chain = planar(&[0.5, 0.4, 0.3], 2.0);
        let target = forward_kinematics(&chain, &[0.4, 0.5, -0.6]).unwrap();
        let request = IkRequest::new(target);
        let found = solve_nearest(solver("").unwrap(), &chain, &request, &[0.0; 3]).unwrap();
        assert!(matches!(found, Nearest::Reached(_)));
    }
}
