//! From a curve of tip poses to the joints that follow it, whichever posture that takes.
//!
//! The order: the plain way from the start (each joint as little as possible), with and without the pull of
//! the preferred posture; then the search through the null space; then the pull towards the middle of the
//! ranges, and the search on closer layers. Where the start may be chosen, all branches there are tried,
//! and the least joint motion wins.

use super::follow::{Broken, FollowSettings, Trail, Walker};
use super::guide::Guide;
use super::null_search::{straighten, walk_on, NullSearch, Pass, Refused, PASSES};
use super::{ArmCheck, BreakCause};
use crate::ik::{ClosedForm, IkError, IkRequest, IkSolver, Portfolio, Posture};
use crate::kinematics::Pose;
use crate::model::Chain;

/// A joint path that follows a curve.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Followed {
    /// Configurations; between them the joints move in straight lines.
    pub points: Vec<Vec<f64>>,
    /// Fraction of the curve at each; equal ones in a row are motion in the null space.
    pub fractions: Vec<f64>,
    /// Positions in `points` at which the arm must come to rest.
    pub stops: Vec<usize>,
}

/// Why the joints cannot follow the curve to its end.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the arm can follow {:.1} % of the path: {cause}", 100.0 * fraction)]
pub struct FollowError {
    /// Fraction of the path that can be followed, 0 to 1.
    pub fraction: f64,
    /// Why no more of it.
    pub cause: BreakCause,
    /// The part that can be followed.
    pub partial: Box<Followed>,
}

impl FollowError {
    /// Whether time was up.
    pub fn gave_up(&self) -> bool {
        self.cause == BreakCause::GaveUp
    }
}

/// Most branches at the start that are tried.
const BRANCHES: usize = 32;

/// How often a search on one grid begins again without a transition that could not be walked.
const REFUSALS: usize = 4;

/// Bends of the joint path \[rad\] between samples at which the arm comes to rest.
const KINK: f64 = 0.5;

/// Follows `guide` with the joints of `chain`, from `start` (whose tip must be at the curve's begin, else the
/// nearest configuration there is taken), or from whichever branch takes the least joint motion.
///
/// Goal, tolerances, posture, `accept` and time budget are those of `ik`.
///
/// # Errors
/// [`FollowError`] with the part that is possible: the longest that was found.
pub fn follow_path(
    chain: &Chain,
    guide: &dyn Guide,
    start: Option<&[f64]>,
    ik: &IkRequest<'_>,
    settings: &FollowSettings,
    arm: Option<ArmCheck<'_>>,
) -> Result<Followed, FollowError> {
    let fail = |cause| FollowError {
        fraction: 0.0,
        cause,
        partial: Box::default(),
    };
    let mut walker = Walker::new(chain, guide, settings, ik, arm).ok_or_else(|| {
        fail(BreakCause::Ik(IkError::UnsupportedChain {
            solver: "levenberg_marquardt",
            reason: format!("it has {} degrees of freedom", chain.dof()),
        }))
    })?;
    let (samples, rests) = guide.samples(settings.tip_step, settings.angle_step);
    let starts = match start {
        Some(start) => vec![start.to_vec()],
        None => {
            branches(chain, &guide.pose(0.0), ik).map_err(|error| fail(BreakCause::Ik(error)))?
        }
    };
    let mut best: Option<(f64, Trail)> = None;
    let mut worst: Option<(Trail, Broken)> = None;
    for start in &starts {
        match from_start(&mut walker, &samples, start) {
            Ok(trail) => {
                let motion = trail.motion();
                if best.as_ref().is_none_or(|(least, _)| motion < *least) {
                    best = Some((motion, trail));
                }
            }
            Err((trail, broken)) => {
                if worst
                    .as_ref()
                    .is_none_or(|(_, known)| broken.fraction > known.fraction)
                {
                    worst = Some((trail, broken));
                }
            }
        }
    }
    let corners: Vec<f64> = rests
        .iter()
        .filter_map(|index| samples.get(*index).copied())
        .collect();
    match (best, worst) {
        (Some((_, trail)), _) => Ok(finished(trail, &corners)),
        (None, Some((trail, broken))) => Err(FollowError {
            fraction: broken.fraction,
            cause: broken.cause,
            partial: Box::new(finished(trail, &corners)),
        }),
        (None, None) => Err(fail(BreakCause::GaveUp)),
    }
}

/// All branches at a pose, the nearest to the preferred posture (or the middle of the ranges) first.
fn branches(chain: &Chain, pose: &Pose, ik: &IkRequest<'_>) -> Result<Vec<Vec<f64>>, IkError> {
    let mut request = ik.clone();
    request.target = *pose;
    request.max_solutions = BRANCHES;
    let seed = match &ik.posture {
        Some(posture) => posture.values.clone(),
        None => chain.middle(),
    };
    let found = ClosedForm
        .solve_all(chain, &request, &seed)
        .or_else(|_| Portfolio.solve_all(chain, &request, &seed))?;
    Ok(found.into_iter().map(|solution| solution.q).collect())
}

fn from_start(
    walker: &mut Walker<'_>,
    samples: &[f64],
    start: &[f64],
) -> Result<Trail, (Trail, Broken)> {
    let mut start = start.to_vec();
    walker.tracker.aim(&walker.guide.pose(0.0));
    if !walker.tracker.settle(walker.chain, &mut start) {
        let cause = walker.explain(&start);
        let broken = Broken {
            fraction: 0.0,
            cause,
        };
        return Err((Trail::default(), broken));
    }
    let start = start.as_slice();
    let preferred = walker.ik.posture.clone();
    let mut trail = Trail::from(start);
    let mut broken = match walker.go(samples, preferred.as_ref(), &mut trail) {
        Ok(()) => return Ok(trail),
        Err(broken) => broken,
    };
    if !walker.is_redundant() || broken.cause == BreakCause::GaveUp {
        return Err((trail, broken));
    }
    let middle = Posture {
        values: walker.chain.middle(),
        weights: vec![1.0; walker.chain.dof()],
    };
    let mut budget = walker.settings.search_nodes;
    for (pass, posture) in PASSES.into_iter().zip([None, Some(&middle)]) {
        // Without the pull that the first way had; later, with another.
        if posture.is_some() || preferred.is_some() {
            let mut other = Trail::from(start);
            match walker.go(samples, posture, &mut other) {
                Ok(()) => return Ok(other),
                Err(another) if another.fraction > broken.fraction => {
                    (trail, broken) = (other, another);
                }
                Err(_) => {}
            }
        }
        if let Some(found) = search(
            walker,
            samples,
            start,
            pass,
            &mut budget,
            &mut trail,
            &mut broken,
        ) {
            return Ok(found);
        }
    }
    Err((trail, broken))
}

/// Looks for a way through the null space and walks it. `best` and `broken` keep what leads farthest.
fn search(
    walker: &mut Walker<'_>,
    samples: &[f64],
    start: &[f64],
    pass: Pass,
    budget: &mut usize,
    best: &mut Trail,
    broken: &mut Broken,
) -> Option<Trail> {
    let mut refused: Vec<Refused> = Vec::new();
    for _ in 0..=REFUSALS {
        if walker.gives_up() || *budget == 0 {
            break;
        }
        let usual = best.motion() / best.reached().max(0.05);
        let found = NullSearch::new(walker, pass, start, usual, *budget, &refused).run();
        *budget = budget.saturating_sub(found.looked_at);
        let straight = straighten(walker, &found.nodes);
        let mut stuck = None;
        for nodes in [&straight, &found.nodes] {
            let (trail, outcome) = walk_on(walker, samples, nodes, start);
            let (fraction, cause) = match outcome {
                Ok(()) => return Some(trail),
                Err(broken) => broken,
            };
            stuck = Some(fraction);
            if fraction > broken.fraction {
                *best = trail;
                *broken = Broken { fraction, cause };
            }
            if !found.complete {
                return None;
            }
        }
        // Looks for another way around where this one broke.
        let mut pairs = found.nodes.iter().zip(found.nodes.iter().skip(1));
        let edge = pairs.rfind(|(from, _)| stuck.is_some_and(|stuck| from.0 <= stuck));
        let (from, to) = edge?;
        refused.push(Refused {
            from: from.clone(),
            to: to.clone(),
        });
    }
    None
}

/// Puts down where the arm must rest: at corners of the tip's path, and where the joints turn sharply.
fn finished(trail: Trail, corners: &[f64]) -> Followed {
    let mut stops = Vec::new();
    let inner = 1..trail.points.len().saturating_sub(1);
    for index in inner {
        let at = |index: usize| trail.points.get(index).map_or(&[][..], Vec::as_slice);
        let u = trail.fractions.get(index).copied().unwrap_or(0.0);
        let standing = trail.fractions.get(index + 1) == Some(&u)
            || index > 0 && trail.fractions.get(index - 1) == Some(&u);
        let corner = corners
            .binary_search_by(|known| known.total_cmp(&u))
            .is_ok();
        if corner || standing && bend(at(index - 1), at(index), at(index + 1)) > KINK {
            stops.push(index);
        }
    }
    Followed {
        points: trail.points,
        fractions: trail.fractions,
        stops,
    }
}

/// Angle between the ways into and out of `b` \[rad\].
fn bend(a: &[f64], b: &[f64], c: &[f64]) -> f64 {
    let mut product = 0.0;
    let mut squares = (0.0, 0.0);
    for ((a, b), c) in a.iter().zip(b).zip(c) {
        let (into, out) = (b - a, c - b);
        product += into * out;
        squares.0 += into * into;
        squares.1 += out * out;
    }
    let scale: f64 = (squares.0 * squares.1).sqrt();
    if scale > 0.0 {
        (product / scale).clamp(-1.0, 1.0).acos()
    } else {
        0.0
    }
}
