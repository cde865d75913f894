//! The default order of solvers: closed form, the seed, restarts, FABRIK.
//!
//! 1. The closed form where one fits that gives all answers there are: the nearest to the seed.
//! 2. Levenberg–Marquardt from the seed; where the seed is close to the target and the answer
//!    is not, between narrower limits around the seed, too.
//! 3. A closed form that samples the answers of a redundant arm, from the seed outwards.
//! 4. Levenberg–Marquardt from a fixed sequence of configurations. These descents give up
//!    early: another start is cheaper than a slow one.
//! 5. The damped pseudo-inverse from the seed, which takes another way through singular poses.
//! 6. FABRIK from the best try, polished.
//!
//! Steps 3 and 4 are left out where restarts are forbidden. A target that is proven out of reach
//! is only approached as near as one descent comes. When nothing converges the best try of all
//! is reported.

use super::closed_form::{Plan, Polish, Walk};
use super::lm::{self, Budget, Descend};
use super::reach;
use super::request::{Attempt, IkError, IkRequest, IkSolution, IkSolver};
use super::restart;
use super::verify::{self, Outcome, Verdict};
use super::{beyond_limits, damped_svd, fabrik, winding};
use crate::model::Chain;

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub struct Portfolio;

const NAME: &str = "portfolio";
const DESCENT_NAME: &str = "levenberg_marquardt";

/// Restarts for one answer. A target that most starts reach needs a few; those with a joint at
/// its limit need some hundred.
const RESTARTS: u32 = 500;
/// Restarts after which a search for several answers ends.
const RESTARTS_FOR_SEVERAL: u32 = 300;
/// Restarts where a closed form that should know all answers has found none.
const RESTARTS_AFTER_CLOSED_FORM: u32 = 60;
/// Two answers are the same if no value differs by more \[rad, m\]: for arms without redundancy,
/// whose answers are isolated points, and for the others, whose answers are continua.
const SAME_ISOLATED: f64 = 1e-3;
const SAME_REDUNDANT: f64 = 0.1;

/// Task error \[m, rad\] below which a seed counts as close to the target.
const NEAR: f64 = 0.4;
/// A joint that moves by more although the seed is close has jumped \[rad, m\].
const JUMP: f64 = 0.25;
/// Starts in the neighbourhood of such a seed.
const NEARBY_STARTS: u32 = 24;

impl IkSolver for Portfolio {
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
        let mut search = Search::new(&chain, request, seed, 1);
        search.run();
        search.found.pop().ok_or_else(|| search.failure())
    }

    /// Distinct answers by the Euclidean distance of joint values (radians and metres alike)
    /// from the seed. Joints whose limits hold several turns are offered with each of them.
    fn solve_all(
        &self,
        chain: &Chain,
        request: &IkRequest<'_>,
        seed: &[f64],
    ) -> Result<Vec<IkSolution>, IkError> {
        let (chain, seed) = verify::prepare(chain, request, seed)?;
        let mut search = Search::new(&chain, request, seed, request.max_solutions);
        search.run();
        search.add_windings();
        if search.found.is_empty() {
            return Err(search.failure());
        }
        let seed = &search.seed;
        let mut found = search.found;
        found.sort_by(|a, b| {
            winding::distance(&a.q, seed).total_cmp(&winding::distance(&b.q, seed))
        });
        found.truncate(request.max_solutions);
        Ok(found)
    }
}

/// One search for one or several answers.
struct Search<'a> {
    chain: &'a Chain,
    request: &'a IkRequest<'a>,
    seed: Vec<f64>,
    wanted: usize,
    same: f64,
    found: Vec<IkSolution>,
    refused: Vec<Vec<f64>>,
    best: Option<(f64, Attempt)>,
    iterations: u32,
    timed_out: bool,
}

impl<'a> Search<'a> {
    fn new(chain: &'a Chain, request: &'a IkRequest<'a>, seed: Vec<f64>, wanted: usize) -> Self {
        Search {
            chain,
            request,
            seed,
            wanted,
            same: if chain.dof() > request.goal.rows() {
                SAME_REDUNDANT
            } else {
                SAME_ISOLATED
            },
            found: Vec::new(),
            refused: Vec::new(),
            best: None,
            iterations: 0,
            timed_out: false,
        }
    }

    fn done(&self) -> bool {
        self.timed_out || self.found.len() >= self.wanted
    }

    fn run(&mut self) {
        let plan = Plan::of(self.chain).filter(|plan| plan.treats(self.request.goal));
        let complete = plan
            .as_ref()
            .is_some_and(|plan| plan.complete(self.request.goal));
        if let (Some(plan), true) = (&plan, complete) {
            self.walk(plan);
            // Other answers than these there are none: refused ones stay refused.
            if self.done() || !self.found.is_empty() || !self.refused.is_empty() {
                return;
            }
        }
        let prepared = lm::prepare(self.chain, self.request);
        let reachable = reach::proof(self.chain, self.request).is_none();
        let restarts = self.request.restarts && reachable;
        if let Some(mut descent) = prepared {
            self.descend(descent.as_mut(), self.seed.clone(), !restarts);
            if restarts {
                self.look_nearby(descent.as_ref());
            }
            if let (Some(plan), true, false) = (&plan, restarts && self.found.is_empty(), complete)
            {
                self.walk(plan);
            }
            if restarts {
                let most = if complete {
                    RESTARTS_AFTER_CLOSED_FORM
                } else if self.wanted > 1 {
                    RESTARTS_FOR_SEVERAL
                } else {
                    RESTARTS
                };
                for number in 1..=most {
                    if self.done() {
                        break;
                    }
                    let start = restart::configuration(self.chain, &self.seed, number);
                    self.descend(descent.as_mut(), start, false);
                }
            }
        }
        // Further answers are not worth the slow methods; a first one is.
        if self.done() || !self.found.is_empty() {
            return;
        }
        let outcome = damped_svd::descend(self.chain, self.request, &self.seed);
        self.take(outcome, "damped_svd");
        if self.done() {
            return;
        }
        let start = match &self.best {
            Some((_, best)) => best.q.clone(),
            None => self.seed.clone(),
        };
        let outcome = fabrik::descend(self.chain, self.request, &start);
        self.take(outcome, "fabrik");
    }

    /// Files the branches of a closed form, nearest to the seed first.
    fn walk(&mut self, plan: &Plan) {
        let (chain, request, seed) = (self.chain, self.request, self.seed.clone());
        let mut polish = Polish::new(chain, request);
        let walk = Walk {
            chain,
            request,
            seed: &seed,
        };
        walk.run(plan, &mut |q| {
            if request.give_up.is_some_and(|give_up| give_up()) {
                self.timed_out = true;
                return false;
            }
            let (attempt, verdict) = polish.judge(q);
            self.file(attempt, verdict);
            !self.done()
        });
        self.iterations = self.iterations.saturating_add(polish.iterations);
    }

    /// A seed close to the target deserves an answer close to the seed: where the first descent
    /// has jumped or failed (near a singular pose or a limit it may), a few more are made between
    /// narrower limits around the seed.
    fn look_nearby(&mut self, descent: &dyn Descend) {
        let moved = self.found.first().map(|first| {
            let moves = first
                .q
                .iter()
                .zip(&self.seed)
                .map(|(to, from)| (to - from).abs());
            moves.fold(0.0, f64::max)
        });
        if moved.is_some_and(|moved| moved <= JUMP)
            || descent.squared_error(&self.seed) > NEAR * NEAR
        {
            return;
        }
        let narrow = verify::narrowed(self.chain, &self.seed, &vec![JUMP; self.seed.len()]);
        let Some(mut nearby) = lm::prepare(&narrow, self.request) else {
            return;
        };
        let tries = if self.request.restarts {
            NEARBY_STARTS
        } else {
            0
        };
        for number in 0..=tries {
            let mut q = match number {
                0 => self.seed.clone(),
                number => restart::configuration(&narrow, &self.seed, number),
            };
            let end = nearby.descend(&mut q, &Budget::of(self.request, true));
            self.iterations = self.iterations.saturating_add(end.iterations);
            if end.timed_out {
                return;
            }
            if !end.converged {
                continue;
            }
            let outcome = Outcome {
                q,
                iterations: self.iterations,
                timed_out: false,
            };
            let (nearer, verdict) =
                verify::finish(self.chain, self.request, &self.seed, outcome, DESCENT_NAME);
            if verdict == Verdict::Accepted {
                self.found.clear();
                self.found.push(nearer);
                return;
            }
        }
    }

    fn descend(&mut self, descent: &mut dyn Descend, mut q: Vec<f64>, patient: bool) {
        let end = descent.descend(&mut q, &Budget::of(self.request, !patient));
        let outcome = Outcome {
            q,
            iterations: end.iterations,
            timed_out: end.timed_out,
        };
        // Only what is near the best so far is worth measuring again.
        self.take(outcome, DESCENT_NAME);
        if self.request.give_up.is_some_and(|give_up| give_up()) {
            self.timed_out = true;
        }
    }

    /// Judges where a solver ended and files it under found, refused or best try.
    fn take(&mut self, outcome: Outcome, solver: &'static str) {
        self.iterations = self.iterations.saturating_add(outcome.iterations);
        self.timed_out |= outcome.timed_out;
        let outcome = Outcome {
            iterations: self.iterations,
            ..outcome
        };
        if !self.refused.is_empty() || !self.found.is_empty() {
            let mut q = outcome.q.clone();
            winding::to_nearest(self.chain, &self.seed, &mut q);
            let known = self.found.iter().map(|solution| &solution.q);
            if self
                .refused
                .iter()
                .chain(known)
                .any(|other| self.alike(other, &q))
            {
                return;
            }
        }
        let (attempt, verdict) =
            verify::finish(self.chain, self.request, &self.seed, outcome, solver);
        self.file(attempt, verdict);
    }

    fn file(&mut self, attempt: Attempt, verdict: Verdict) {
        match verdict {
            Verdict::Accepted => {
                let known = self
                    .found
                    .iter()
                    .any(|other| self.alike(&other.q, &attempt.q));
                if !known {
                    self.found.push(attempt);
                }
            }
            Verdict::Refused => {
                self.refused.push(attempt.q.clone());
                self.consider(attempt);
            }
            Verdict::Off => self.consider(attempt),
        }
    }

    fn consider(&mut self, attempt: Attempt) {
        let badness = verify::badness(self.request, &attempt);
        if self.best.as_ref().is_none_or(|(least, _)| badness < *least) {
            self.best = Some((badness, attempt));
        }
    }

    fn alike(&self, a: &[f64], b: &[f64]) -> bool {
        a.iter().zip(b).all(|(x, y)| (x - y).abs() <= self.same)
    }

    /// Other windings of what was found, each judged like any answer.
    fn add_windings(&mut self) {
        if self.wanted <= 1 {
            return;
        }
        for solution in self.found.clone() {
            for q in winding::all(self.chain, &solution.q, self.wanted.saturating_mul(4)) {
                if self.found.iter().any(|other| self.alike(&other.q, &q)) {
                    continue;
                }
                let (attempt, verdict) = verify::judge(
                    self.chain,
                    self.request,
                    q,
                    solution.iterations,
                    solution.solver,
                );
                if verdict == Verdict::Accepted {
                    self.found.push(attempt);
                }
            }
        }
    }

    /// Why there is no answer.
    fn failure(&self) -> IkError {
        let refused = u32::try_from(self.refused.len()).unwrap_or(u32::MAX);
        let mut best = match &self.best {
            Some((_, best)) => best.clone(),
            None => verify::judge(self.chain, self.request, self.seed.clone(), 0, NAME).0,
        };
        best.iterations = self.iterations;
        let mut failure = verify::failure(
            self.chain,
            self.request,
            best,
            NAME,
            self.timed_out,
            refused,
        );
        if let IkError::NotConverged {
            timed_out: false,
            refused: 0,
            beyond_limits,
            best,
            ..
        } = &mut failure
        {
            *beyond_limits = beyond_limits::of(self.chain, self.request, &best.q);
        }
        failure
    }
}
