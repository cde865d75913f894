//! Levenberg–Marquardt descent with joint limits, on arrays of fixed size.
//!
//! The damping follows the squared error, so that it vanishes on the way to an answer
//! (quadratic convergence) and is strong far away and near singular poses \[Sugihara2011\].
//! A step that would lengthen the error is not taken; the damping grows instead.

// Several small fixed arrays are walked in step; iterators would hide the formulas.
#![allow(clippy::needless_range_loop)]

use super::kernel::{damped_step, Kernel};
use super::request::{Goal, IkError, IkRequest, IkSolution, IkSolver};
use super::verify::{self, Outcome};
use crate::kinematics::{Pose, Residual};
use crate::model::Chain;

/// Levenberg–Marquardt from the seed alone: the fastest single descent.
#[derive(Debug, Clone, Copy, Default)]
pub struct LevenbergMarquardt;

const NAME: &str = "levenberg_marquardt";

/// Largest number of degrees of freedom for which the fixed-size loop is compiled.
pub(super) const MAX_DOF: usize = 64;

/// What bounds a descent.
#[derive(Clone, Copy)]
pub(super) struct Budget<'a> {
    /// Iterations.
    pub(super) iterations: u32,
    /// Largest joint step in one iteration \[rad or m\].
    pub(super) max_step: f64,
    /// Squared tolerances \[m², rad²\].
    pub(super) position2: f64,
    pub(super) orientation2: f64,
    /// End early where the error shrinks too slowly to be worth it (restarts follow), or only
    /// where it does not shrink at all.
    pub(super) impatient: bool,
    /// Damping at the start, per squared error.
    pub(super) damping: f64,
    /// Time is up.
    pub(super) give_up: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl<'a> Budget<'a> {
    pub(super) fn of(request: &IkRequest<'a>, impatient: bool) -> Self {
        // A little inside the tolerances: the check recomputes the pose with other roundings.
        let inside = |tolerance: f64| {
            let t = 0.9 * tolerance;
            t * t
        };
        Budget {
            iterations: request.max_iterations,
            max_step: request.max_step,
            position2: inside(request.tolerances.position),
            orientation2: inside(request.tolerances.orientation),
            impatient,
            damping: 0.1,
            give_up: request.give_up,
        }
    }
}

/// How a descent ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Descent {
    pub(super) converged: bool,
    pub(super) timed_out: bool,
    pub(super) iterations: u32,
    /// Squared task error at the end, in the kernel's units.
    pub(super) squared: f64,
}

/// A chain and target made ready for any number of descents.
pub(super) trait Descend: Send {
    /// Descends from `q` (inside the limits) and leaves the best configuration there.
    fn descend(&mut self, q: &mut [f64], budget: &Budget<'_>) -> Descent;
    /// Squared task error at `q`.
    fn squared_error(&self, q: &[f64]) -> f64;
    /// Another target for the same chain.
    fn aim(&mut self, target: &Pose);
    /// Distance \[m\] and angle \[rad\] of `q`'s pose from the target, as far as the goal asks for them.
    fn off(&self, q: &[f64]) -> Residual;
    /// Takes out of `wish` what would move the task at `q`; what is left moves the null space alone.
    fn project_to_null_space(&mut self, q: &[f64], wish: &mut [f64]);
    /// Writes half the slope of the negative squared task error over each joint at `q`.
    fn pull(&mut self, q: &[f64], pull: &mut [f64]);
}

struct Prepared<const N: usize, const M: usize> {
    kernel: Kernel<N, M>,
    scratch: Vec<([f64; 3], [f64; 3])>,
}

fn widened<const N: usize>(q: &[f64]) -> [f64; N] {
    let mut values = [0.0; N];
    for (value, &given) in values.iter_mut().zip(q) {
        *value = given;
    }
    values
}

impl<const N: usize, const M: usize> Descend for Prepared<N, M> {
    fn squared_error(&self, q: &[f64]) -> f64 {
        self.kernel.error(&widened(q)).squared
    }

    fn aim(&mut self, target: &Pose) {
        self.kernel.aim(target);
    }

    fn off(&self, q: &[f64]) -> Residual {
        let error = self.kernel.error(&widened(q));
        Residual {
            position: error.position2.sqrt(),
            orientation: error.orientation2.sqrt(),
        }
    }

    fn project_to_null_space(&mut self, q: &[f64], wish: &mut [f64]) {
        let mut jacobian = [[0.0; M]; N];
        self.kernel
            .linearise(&widened(q), &mut jacobian, &mut self.scratch);
        let mut moved = [0.0; M];
        for (column, part) in jacobian.iter().zip(wish.iter()) {
            for (sum, slope) in moved.iter_mut().zip(column) {
                *sum += slope * part;
            }
        }
        // Masked rows are zero rows: a trace of damping keeps the equations regular.
        if let Some(step) = damped_step(&jacobian, &moved, 1e-12) {
            for (part, taken) in wish.iter_mut().zip(&step) {
                *part -= taken;
            }
        }
    }

    fn pull(&mut self, q: &[f64], pull: &mut [f64]) {
        let mut jacobian = [[0.0; M]; N];
        let error = self
            .kernel
            .linearise(&widened(q), &mut jacobian, &mut self.scratch);
        for (value, column) in pull.iter_mut().zip(&jacobian) {
            *value = column.iter().zip(&error.vector).map(|(j, e)| j * e).sum();
        }
    }

    fn descend(&mut self, values: &mut [f64], budget: &Budget<'_>) -> Descent {
        let dof = values.len();
        let kernel = &self.kernel;
        let mut q: [f64; N] = widened(values);
        let mut jacobian = [[0.0; M]; N];
        let mut ahead = jacobian;
        let mut error = kernel.linearise(&q, &mut jacobian, &mut self.scratch);
        let mut factor = budget.damping;
        let mut iterations = 0;
        let mut timed_out = false;
        // Squared error some iterations ago, to see whether it still shrinks.
        let mut milestone = error.squared;
        let mut since_milestone = 0;
        let mut nudges = 0;
        let within = |error: &super::kernel::TaskError<M>| {
            error.position2 <= budget.position2 && error.orientation2 <= budget.orientation2
        };
        while !within(&error) && iterations < budget.iterations {
            if iterations % 16 == 15 && budget.give_up.is_some_and(|give_up| give_up()) {
                timed_out = true;
                break;
            }
            iterations += 1;
            let damping = factor * error.squared + 1e-14;
            let step = limited_step(
                kernel,
                &q,
                &jacobian,
                &error.vector,
                damping,
                budget.max_step,
            );
            let mut next = q;
            let mut largest = 0.0_f64;
            if let Some(step) = step {
                for index in 0..dof.min(N) {
                    next[index] = (q[index] + step[index])
                        .max(kernel.lower[index])
                        .min(kernel.upper[index]);
                    largest = largest.max((next[index] - q[index]).abs());
                }
            }
            if largest < 1e-11 {
                // A stationary point away from the target. If it is a singular pose, a small
                // push off it opens the directions that are missing.
                if nudges >= 2 || budget.impatient && nudges >= 1 {
                    break;
                }
                nudges += 1;
                let mut pushed = q;
                for index in 0..dof.min(N) {
                    let push = 0.1 * f64::from(nudges) * sign(index);
                    pushed[index] = (q[index] + push)
                        .max(kernel.lower[index])
                        .min(kernel.upper[index]);
                }
                q = pushed;
                error = kernel.linearise(&q, &mut jacobian, &mut self.scratch);
                milestone = error.squared;
                since_milestone = 0;
                continue;
            }
            // Most steps are taken, so the Jacobian there is computed in one go with the error.
            let trial = kernel.linearise(&next, &mut ahead, &mut self.scratch);
            if trial.squared < error.squared {
                q = next;
                error = trial;
                std::mem::swap(&mut jacobian, &mut ahead);
                factor = (factor * 0.2).max(1e-6);
            } else {
                factor *= 6.0;
                if !factor.is_finite() || factor > 1e14 {
                    break;
                }
            }
            since_milestone += 1;
            let (span, share) = if budget.impatient {
                (5, 0.6)
            } else {
                (20, 0.999)
            };
            if since_milestone >= span {
                if error.squared > share * milestone {
                    break;
                }
                milestone = error.squared;
                since_milestone = 0;
            }
        }
        for (value, &found) in values.iter_mut().zip(&q) {
            *value = found;
        }
        Descent {
            converged: within(&error),
            timed_out,
            iterations,
            squared: error.squared,
        }
    }
}

/// A fixed pattern of signs without a symmetry that a singular pose could share.
pub(super) fn sign(index: usize) -> f64 {
    if (index.wrapping_mul(0x9E37_79B9) >> 4) & 1 == 0 {
        1.0
    } else {
        -0.7
    }
}

/// The damped step with the column rule: joints at a limit that the gradient pushes outwards are
/// taken out first (that reaches more targets than to let the step decide); a joint that would leave goes to its limit and is taken out, and the rest is
/// solved again for what is left of the error, until no more joints leave. As each iteration
/// starts from all joints, a joint comes back as soon as it is pulled inwards.
fn limited_step<const N: usize, const M: usize>(
    kernel: &Kernel<N, M>,
    q: &[f64; N],
    jacobian: &[[f64; M]; N],
    error: &[f64; M],
    damping: f64,
    max_step: f64,
) -> Option<[f64; N]> {
    let mut columns = *jacobian;
    let mut left = *error;
    let mut fixed = [None; N];
    for index in 0..N {
        let gradient: f64 = (0..M).map(|k| jacobian[index][k] * error[k]).sum();
        if (q[index] <= kernel.lower[index] && gradient <= 0.0)
            || (q[index] >= kernel.upper[index] && gradient >= 0.0)
        {
            fixed[index] = Some(0.0);
            columns[index] = [0.0; M];
        }
    }
    for _ in 0..=N {
        let mut step = damped_step(&columns, &left, damping)?;
        let largest = step.iter().fold(0.0_f64, |most, s| most.max(s.abs()));
        if largest > max_step {
            let scale = max_step / largest;
            for value in &mut step {
                *value *= scale;
            }
        }
        let mut leaving = false;
        for index in 0..N {
            if fixed[index].is_some() {
                continue;
            }
            let end = q[index] + step[index];
            let bound = if end > kernel.upper[index] {
                kernel.upper[index]
            } else if end < kernel.lower[index] {
                kernel.lower[index]
            } else {
                continue;
            };
            let part = bound - q[index];
            fixed[index] = Some(part);
            leaving = true;
            for k in 0..M {
                left[k] -= jacobian[index][k] * part;
            }
            columns[index] = [0.0; M];
        }
        if !leaving {
            for index in 0..N {
                if let Some(part) = fixed[index] {
                    step[index] = part;
                }
            }
            return Some(step);
        }
    }
    None
}

fn boxed<const N: usize>(
    chain: &Chain,
    request: &IkRequest<'_>,
    length: f64,
) -> Option<Box<dyn Descend>> {
    fn of<const N: usize, const M: usize>(kernel: Kernel<N, M>) -> Box<dyn Descend> {
        let scratch = kernel.scratch();
        Box::new(Prepared { kernel, scratch })
    }
    match request.goal {
        Goal::Pose => Kernel::<N, 6>::new(chain, &request.target, length).map(of),
        Goal::Position => Kernel::<N, 3>::new(chain, &request.target, length).map(of),
        Goal::Axes(axes) => Kernel::<N, 6>::new(chain, &request.target, length)
            .map(|kernel| of(kernel.masked(axes))),
    }
}

/// The chain and target made ready, `None` for more than [`MAX_DOF`] degrees of freedom.
pub(super) fn prepare(chain: &Chain, request: &IkRequest<'_>) -> Option<Box<dyn Descend>> {
    let length = 1.0;
    match chain.dof() {
        0 | 1 => boxed::<1>(chain, request, length),
        2 => boxed::<2>(chain, request, length),
        3 => boxed::<3>(chain, request, length),
        4 => boxed::<4>(chain, request, length),
        5 => boxed::<5>(chain, request, length),
        6 => boxed::<6>(chain, request, length),
        7 => boxed::<7>(chain, request, length),
        8 => boxed::<8>(chain, request, length),
        9 | 10 => boxed::<10>(chain, request, length),
        11 | 12 => boxed::<12>(chain, request, length),
        13..=24 => boxed::<24>(chain, request, length),
        25..=MAX_DOF => boxed::<MAX_DOF>(chain, request, length),
        _ => None,
    }
}

impl IkSolver for LevenbergMarquardt {
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
        let mut descent = prepare(chain, request).ok_or_else(|| IkError::UnsupportedChain {
            solver: NAME,
            reason: format!(
                "it has {} degrees of freedom, more than {MAX_DOF}",
                chain.dof()
            ),
        })?;
        let mut q = seed.clone();
        let end = descent.descend(&mut q, &Budget::of(request, false));
        verify::conclude(
            chain,
            request,
            &seed,
            Outcome {
                q,
                iterations: end.iterations,
                timed_out: end.timed_out,
            },
            NAME,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_arms::{arm, Random};
    use super::*;

    #[test]
    fn column_rule_takes_out_what_is_pushed_outwards_and_solves_the_rest() {
        let mut random = Random(71);
        let mut complete = 0;
        for _ in 0..60 {
            let chain = arm(&mut random, 8, false, false);
            let target = nalgebra::Isometry3::identity();
            let mut kernel = Kernel::<8, 6>::new(&chain, &target, 1.0).unwrap();
            let q: [f64; 8] = widened(&random.configuration(&chain));
            let mut columns = [[0.0; 6]; 8];
            let mut scratch = kernel.scratch();
            kernel.linearise(&q, &mut columns, &mut scratch);
            let error = [(); 6].map(|()| random.between(-1e-4, 1e-4));
            let step = |kernel: &Kernel<8, 6>, error: &[f64; 6]| {
                limited_step(kernel, &q, &columns, error, 1e-14, 1.0).unwrap()
            };
            let free = step(&kernel, &error);
            let index = (0..8).fold(0, |m, k| if free[k].abs() > free[m].abs() { k } else { m });
            if free[index] > 0.0 {
                kernel.upper[index] = q[index];
            } else {
                kernel.lower[index] = q[index];
            }
            let limited = step(&kernel, &error);
            assert_eq!(limited[index], 0.0);
            let left = (0..6).map(|row| {
                let done: f64 = (0..8).map(|k| columns[k][row] * limited[k]).sum();
                (done - error[row]).abs()
            });
            complete += u32::from(left.fold(0.0, f64::max) < 1e-7);
            // What the joint alone would do inwards brings it back.
            let inwards = columns[index].map(|part| -1e-4 * free[index].signum() * part);
            let back = step(&kernel, &inwards);
            assert!(back[index] * free[index] < 0.0, "it does not come back");
        }
        assert!(complete >= 50, "{complete} of 60");
    }
}
