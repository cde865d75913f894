//! Closed forms: all branches of arms whose geometry allows them.
//!
//! | arm | closed form |
//! |---|---|
//! | two or three parallel axes | both elbows; a position goal with three joints sweeps the tip's heading |
//! | six joints | three parallel axes (second to fourth), or a spherical wrist or shoulder |
//! | five joints | the same with one more, imagined joint at zero |
//! | seven joints | six of them, the seventh swept from its seed value outwards |
//!
//! The geometry is read off the chain within a tolerance; each branch is turned to the winding
//! nearest to the seed inside the limits, measured on the true chain and, where the geometry
//! fits almost only, polished by a few Levenberg–Marquardt steps.

mod geometry;
mod plan;
mod planar;
mod six;
pub(super) mod subproblems;
mod walk;

use super::request::{Attempt, Goal, IkError, IkRequest, IkSolution, IkSolver};
use super::verify::{self, Verdict};
use super::winding;
use crate::model::Chain;
pub use plan::closed_form_of;
pub(super) use plan::Plan;
pub(super) use walk::{Polish, Walk};

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClosedForm;

const NAME: &str = "closed_form";

impl ClosedForm {
    fn search(
        chain: &Chain,
        request: &IkRequest<'_>,
        seed: &[f64],
        wanted: usize,
    ) -> Result<Vec<IkSolution>, IkError> {
        let (chain, seed) = verify::prepare(chain, request, seed)?;
        let chain = chain.as_ref();
        let unsupported = |reason: &str| IkError::UnsupportedChain {
            solver: NAME,
            reason: reason.to_owned(),
        };
        let plan = Plan::of(chain).ok_or_else(|| {
            unsupported("its axes fit none of the closed forms (see `arm-planner info`)")
        })?;
        if !plan.treats(request.goal) {
            return Err(unsupported(match request.goal {
                Goal::Axes(_) => "closed forms treat whole poses, not single task axes",
                Goal::Pose | Goal::Position => "it has more joints than a position goal asks for",
            }));
        }
        let mut polish = Polish::new(chain, request);
        let mut found: Vec<IkSolution> = Vec::new();
        let mut best: Option<(f64, Attempt)> = None;
        let mut refused = 0;
        let mut timed_out = false;
        let walk = Walk {
            chain,
            request,
            seed: &seed,
        };
        walk.run(&plan, &mut |q| {
            if request.give_up.is_some_and(|give_up| give_up()) {
                timed_out = true;
                return false;
            }
            let (attempt, verdict) = polish.judge(q);
            if verdict == Verdict::Accepted {
                found.push(attempt);
                // Sorted within one step of a sweep only.
                return found.len() < wanted;
            }
            refused += u32::from(verdict == Verdict::Refused);
            let badness = verify::badness(request, &attempt);
            if best.as_ref().is_none_or(|(least, _)| badness < *least) {
                best = Some((badness, attempt));
            }
            true
        });
        if !found.is_empty() {
            if wanted > 1 {
                for solution in found.clone() {
                    for q in winding::all(chain, &solution.q, wanted).into_iter().skip(1) {
                        let (attempt, verdict) =
                            verify::judge(chain, request, q, solution.iterations, NAME);
                        if verdict == Verdict::Accepted {
                            found.push(attempt);
                        }
                    }
                }
                found.sort_by(|a, b| {
                    winding::distance(&a.q, &seed).total_cmp(&winding::distance(&b.q, &seed))
                });
                found.truncate(wanted);
            }
            return Ok(found);
        }
        let best = match best {
            Some((_, best)) => best,
            None => verify::judge(chain, request, seed.clone(), polish.iterations, NAME).0,
        };
        Err(verify::failure(
            chain, request, best, NAME, timed_out, refused,
        ))
    }
}

impl IkSolver for ClosedForm {
    fn name(&self) -> &'static str {
        NAME
    }

    fn solve(
        &self,
        chain: &Chain,
        request: &IkRequest<'_>,
        seed: &[f64],
    ) -> Result<IkSolution, IkError> {
        let found = ClosedForm::search(chain, request, seed, 1)?;
        // `search` returns at least one.
        found.into_iter().next().ok_or(IkError::UnsupportedChain {
            solver: NAME,
            reason: String::new(),
        })
    }

    fn solve_all(
        &self,
        chain: &Chain,
        request: &IkRequest<'_>,
        seed: &[f64],
    ) -> Result<Vec<IkSolution>, IkError> {
        ClosedForm::search(chain, request, seed, request.max_solutions)
    }
}
