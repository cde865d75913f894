//! The arm follows a curve of tip poses: one configuration a sample, each found from the one
//! before.
//!
//! Between two samples the joints move in a straight line. How far the tip leaves its path there is
//! a smooth function that is zero at both ends; it is measured at a quarter, half and three quarters of
//! the way. No cubic polynomial with these zeros exceeds the largest of the three by more than a tenth,
//! and what is not cubic falls with the fourth power of the step; so samples are close enough where
//! the three stay below nine tenths.
//!
//! Long, because steps, what may go wrong with them and why belong together.

use super::guide::Guide;
use super::{ArmCheck, BreakCause};
use crate::collision::{MotionChecker, MotionVerdict};
use crate::ik::{Goal, IkError, IkRequest, IkSolution, Posture, Tracker};
use crate::kinematics::jacobian;
use crate::model::Chain;

/// How finely the joints must follow the tip's path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FollowSettings {
    /// Largest distance between two samples \[m\].
    pub tip_step: f64,
    /// Largest turn between two samples \[rad\].
    pub angle_step: f64,
    /// Largest move of one joint between two samples \[rad or m\].
    pub max_joint_step: f64,
    /// Largest distance of the tip from its path between two samples, when the joints move in a
    /// straight line between them \[m\].
    pub deviation: f64,
    /// The same for the orientation \[rad\].
    pub angle_deviation: f64,
    /// How many configurations the searches through the null space of a redundant arm may look at: it
    /// ends earlier where there are no more, mostly after some hundreds or thousands.
    pub search_nodes: usize,
}

/// Where following ended early.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Broken {
    /// Fraction of the path that was followed, 0 to 1.
    pub fraction: f64,
    /// Why it went no further.
    pub cause: BreakCause,
}

/// Configurations found so far, and the fraction of the path at each.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Trail {
    pub points: Vec<Vec<f64>>,
    pub fractions: Vec<f64>,
}

impl Trail {
    pub(super) fn from(q: &[f64]) -> Trail {
        Trail {
            points: vec![q.to_vec()],
            fractions: vec![0.0],
        }
    }

    /// Sum of all joints' ways, the measure by which postures are compared \[rad, m\].
    pub(super) fn motion(&self) -> f64 {
        let pairs = self.points.iter().zip(self.points.iter().skip(1));
        pairs.map(|(a, b)| distance(a, b)).sum()
    }

    pub(super) fn reached(&self) -> f64 {
        self.fractions.last().copied().unwrap_or(0.0)
    }
}

/// Euclidean distance of two configurations.
pub(super) fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b));
    squares.sum::<f64>().sqrt()
}

/// Samples so close together that dividing further is hopeless: a fraction of one sample step.
const FINEST: f64 = 1.0 / 1024.0;

/// The same for motion in the null space while the tip stands, as a fraction of one joint step.
const FINEST_TURN: f64 = 1.0 / 64.0;

/// Share of the largest joint step that the pull towards a preferred posture may take.
const PULL: f64 = 0.1;

/// Share of the deviation that the places looked at may use, see the file's head.
const MEASURED: f64 = 0.9;

/// Share of the deviation within which each configuration meets its pose.
const EXACT: f64 = 0.02;

/// How exactly a search meets poses \[m\], \[rad\]: what it finds is walked exactly afterwards.
const ROUGH: (f64, f64) = (1e-6, 1e-5);

/// How many meeting places of branches one path may lead over, and the steps that are tried there, relative
/// to the spacing of the samples.
const BRIDGES: usize = 16;
const HOPS: [f64; 9] = [
    1.0,
    0.5,
    0.25,
    0.125,
    1.0 / 16.0,
    1.0 / 32.0,
    1.0 / 64.0,
    2.0,
    4.0,
];

/// How far off \[m\], \[rad\] a configuration is taken where none meets the pose, and at most which share of
/// the deviation that may be.
const NEAR: (f64, f64) = (1.5e-6, 1.5e-5);
const NEAR_SHARE: f64 = 0.3;

/// Ratio of the least singular value to the largest \[1/m, or 1\] below which a posture is named singular.
const NEARLY_SINGULAR: f64 = 0.02;

/// A joint this near to a limit \[rad or m\] is at it, and so far it is moved off where that may help.
const AT_LIMIT: f64 = 1e-6;
const OFF_LIMIT: [f64; 2] = [0.004, 0.02];

/// Motions between two samples that come so close \[m\] to a contact are not told from it.
const SWEEP: f64 = 2e-5;

/// Follows one curve.
pub(super) struct Walker<'a> {
    pub chain: &'a Chain,
    pub guide: &'a dyn Guide,
    pub tracker: Tracker,
    /// The same for configurations that need not be exact.
    pub rough: Tracker,
    pub settings: &'a FollowSettings,
    /// Goal, hooks and time of the request.
    pub ik: &'a IkRequest<'a>,
    pub checker: Option<MotionChecker<'a>>,
    between: Vec<f64>,
}

impl<'a> Walker<'a> {
    /// `None` for more degrees of freedom than there is room for.
    pub(super) fn new(
        chain: &'a Chain,
        guide: &'a dyn Guide,
        settings: &'a FollowSettings,
        ik: &'a IkRequest<'a>,
        arm: Option<ArmCheck<'a>>,
    ) -> Option<Self> {
        let tolerances = &ik.tolerances;
        let position = tolerances.position.min(EXACT * settings.deviation);
        let orientation = tolerances.orientation.min(EXACT * settings.angle_deviation);
        Some(Walker {
            chain,
            guide,
            tracker: Tracker::new(chain, ik.goal, position, orientation)?,
            rough: Tracker::new(
                chain,
                ik.goal,
                ROUGH.0.max(position),
                ROUGH.1.max(orientation),
            )?,
            settings,
            ik,
            checker: arm.map(|arm| MotionChecker::new(arm.model, arm.world)),
            between: Vec::new(),
        })
    }

    /// Whether the goal leaves joints free.
    pub(super) fn is_redundant(&self) -> bool {
        self.chain.dof() > self.tracker.goal().rows()
    }

    pub(super) fn gives_up(&self) -> bool {
        self.ik.give_up.is_some_and(|give_up| give_up())
    }

    /// Follows the curve from the end of `trail` to its end, joints moving as little as they can but
    /// for a gentle pull towards `posture`.
    pub(super) fn go(
        &mut self,
        samples: &[f64],
        posture: Option<&Posture>,
        trail: &mut Trail,
    ) -> Result<(), Broken> {
        let mut bridges = 0;
        loop {
            let Err(broken) = self.follow_samples(samples, posture, trail) else {
                return Ok(());
            };
            // A redundant arm turns away from a limit through its null space, not over it.
            let hopeless = match broken.cause {
                BreakCause::GaveUp | BreakCause::Collision { .. } => true,
                BreakCause::JointLimit { .. } => self.is_redundant(),
                _ => false,
            };
            bridges += 1;
            bridges += 1;
            if hopeless || bridges > BRIDGES || !self.bridge(samples, trail) {
                return Err(broken);
            }
        }
    }

    /// From a place where branches meet, and the one that the arm came on turns away, on to the one that
    /// goes straight on: small steps get stuck there, one larger step over it does not.
    fn bridge(&mut self, samples: &[f64], trail: &mut Trail) -> bool {
        let stuck = trail.reached();
        let next = samples.partition_point(|sample| *sample <= stuck);
        let (Some(after), Some(before)) = (
            samples.get(next),
            next.checked_sub(1).and_then(|last| samples.get(last)),
        ) else {
            return false;
        };
        let spacing = after - before;
        for hop in HOPS.map(|hop| hop * spacing) {
            let place = |u: f64| trail.fractions.partition_point(|known| *known <= u);
            let count = place(stuck - 0.5 * hop);
            let Some(last) = count.checked_sub(1) else {
                continue;
            };
            let Some((begin, from)) = trail.fractions.get(last).zip(trail.points.get(last)) else {
                continue;
            };
            // Far enough back for a direction.
            let earlier = place(begin - 0.2 * hop).checked_sub(1);
            let Some((at, old)) =
                earlier.and_then(|index| trail.fractions.get(index).zip(trail.points.get(index)))
            else {
                continue;
            };
            let end = (begin + hop).min(1.0);
            let ratio = (end - begin) / (begin - at);
            if end <= stuck || !(ratio > 0.0 && ratio.is_finite()) {
                continue;
            }
            let mut q: Vec<f64> = from
                .iter()
                .zip(old)
                .map(|(new, old)| new + (new - old) * ratio)
                .collect();
            let (begin, from) = (*begin, from.clone());
            if self.step((begin, &from), end, &mut q).is_ok() {
                trail.points.truncate(count);
                trail.fractions.truncate(count);
                trail.points.push(q);
                trail.fractions.push(end);
                return true;
            }
        }
        false
    }

    fn follow_samples(
        &mut self,
        samples: &[f64],
        posture: Option<&Posture>,
        trail: &mut Trail,
    ) -> Result<(), Broken> {
        let from = trail.reached();
        let first = samples.partition_point(|sample| *sample <= from);
        for &sample in samples.get(first..).unwrap_or(&[]) {
            let bound = PULL * self.settings.max_joint_step;
            self.advance(
                sample,
                trail,
                &mut |before, last, (u, next), part, guess| {
                    guess.copy_from_slice(last);
                    // As things went on so far, unless that was long ago.
                    if let Some((earlier, at)) = before {
                        let ratio = (next - u) / (u - at);
                        if ratio > 0.0 && ratio < 3.0 {
                            for ((value, new), old) in guess.iter_mut().zip(last).zip(earlier) {
                                *value += (new - old) * ratio;
                            }
                        }
                    }
                    if let Some(posture) = posture {
                        // With only the tip bound, a redundant arm would otherwise run to its preferred
                        // posture at the first sample.
                        let bound = bound * part;
                        let wanted = posture.values.iter().zip(&posture.weights);
                        for ((value, q), (wish, weight)) in guess.iter_mut().zip(last).zip(wanted) {
                            if *weight > 0.0 {
                                *value += (wish - q).max(-bound).min(bound);
                            }
                        }
                    }
                },
            )?;
        }
        Ok(())
    }

    /// Follows the curve along configurations at given fractions (which do not fall), the first of which is
    /// the end of `trail`: between them the joints keep as close to a cubic curve through them as the tip's
    /// path allows. Two at the same fraction are joined by motion in the null space.
    pub(super) fn along(
        &mut self,
        samples: &[f64],
        nodes: &[(f64, Vec<f64>)],
        trail: &mut Trail,
    ) -> Result<(), Broken> {
        for (index, pair) in nodes.windows(2).enumerate() {
            let [(begin, from), (end, to)] = pair else {
                continue;
            };
            if end > begin {
                let first = samples.partition_point(|sample| sample <= begin);
                let last = samples.partition_point(|sample| sample < end);
                let inner = samples.get(first..last).unwrap_or(&[]);
                let slopes = [slope(nodes, index), slope(nodes, index + 1)];
                let whole = end - begin;
                for sample in inner.iter().chain([end]) {
                    self.advance(*sample, trail, &mut |_, _, (_, next), _, guess| {
                        let t = (next - begin) / whole;
                        let s = 1.0 - t;
                        let ends = from.iter().zip(to);
                        let turns = slopes[0].iter().zip(&slopes[1]);
                        for ((value, (a, b)), (m, n)) in guess.iter_mut().zip(ends).zip(turns) {
                            *value = s * s * ((1.0 + 2.0 * t) * a + t * whole * m)
                                + t * t * ((1.0 + 2.0 * s) * b - s * whole * n);
                        }
                    })?;
                }
            } else {
                self.turn_about(*begin, from, to, trail)?;
            }
        }
        Ok(())
    }

    /// Motion in the null space at one place of the path: along the straight line, in steps that are halved
    /// where one fails.
    fn turn_about(
        &mut self,
        u: f64,
        from: &[f64],
        to: &[f64],
        trail: &mut Trail,
    ) -> Result<(), Broken> {
        let moves = from.iter().zip(to).map(|(a, b)| (a - b).abs());
        let largest = moves.fold(0.0_f64, f64::max);
        let pieces = super::tip_path::pieces_of(largest, 0.5 * self.settings.max_joint_step);
        let longest = 1.0 / pieces as f64;
        let mut step = longest;
        let mut reached = 0.0;
        while reached < 1.0 {
            let next = if 1.0 - reached < 1.001 * step {
                1.0
            } else {
                reached + step
            };
            let line = from.iter().zip(to).map(|(a, b)| a + (b - a) * next);
            let mut q: Vec<f64> = line.collect();
            let Some(last) = trail.points.last() else {
                return Ok(());
            };
            let outcome = if self.gives_up() {
                Err(Stop::Because(BreakCause::GaveUp))
            } else {
                self.step((u, last), u, &mut q)
            };
            match outcome {
                Ok(()) => {
                    trail.points.push(q);
                    trail.fractions.push(u);
                    reached = next;
                    step = (2.0 * step).min(longest);
                }
                Err(stop) => {
                    step *= 0.5;
                    let hopeless = matches!(
                        stop,
                        Stop::Because(BreakCause::Collision { .. } | BreakCause::GaveUp)
                    );
                    if hopeless || step < FINEST_TURN * longest {
                        let here = trail.points.last().cloned().unwrap_or_default();
                        return Err(Broken {
                            fraction: u,
                            cause: self.cause(stop, u, &here),
                        });
                    }
                }
            }
        }
        Ok(())
    }

    /// From the end of `trail` to the fraction `target`, in one step or by halves. `guess` fills in where to
    /// begin the search, given the point before the last with its fraction, the last point, the fractions
    /// of the step, its share of the whole, and the place to fill.
    #[allow(clippy::type_complexity)]
    fn advance(
        &mut self,
        target: f64,
        trail: &mut Trail,
        guess: &mut dyn FnMut(Option<(&[f64], f64)>, &[f64], (f64, f64), f64, &mut [f64]),
    ) -> Result<(), Broken> {
        let whole = target - trail.reached();
        // A stack of fractions still to reach, the nearest on top.
        let mut ahead = vec![target];
        while let Some(&next) = ahead.last() {
            let reached = trail.reached();
            if self.gives_up() {
                return Err(Broken {
                    fraction: reached,
                    cause: BreakCause::GaveUp,
                });
            }
            let Some(last) = trail.points.last() else {
                return Ok(());
            };
            let before = trail.points.len().checked_sub(2).and_then(|index| {
                Some((
                    trail.points.get(index)?.as_slice(),
                    *trail.fractions.get(index)?,
                ))
            });
            let mut q = last.clone();
            guess(
                before,
                last,
                (reached, next),
                (next - reached) / whole,
                &mut q,
            );
            match self.step((reached, last), next, &mut q) {
                Ok(()) => {
                    trail.points.push(q);
                    trail.fractions.push(next);
                    ahead.pop();
                }
                Err(stop) => {
                    if next - reached <= whole * FINEST {
                        let here = trail.points.last().cloned().unwrap_or_default();
                        return Err(Broken {
                            fraction: reached,
                            cause: self.cause(stop, next, &here),
                        });
                    }
                    ahead.push(0.5 * (reached + next));
                }
            }
        }
        Ok(())
    }

    /// From a configuration to the one at the fraction `to`, with the guess in `q`: the tip on its path
    /// between them, no leap, no collision.
    fn step(&mut self, (from, last): (f64, &[f64]), to: f64, q: &mut [f64]) -> Result<(), Stop> {
        self.tracker.aim(&self.guide.pose(to));
        if !self.tracker.settle(self.chain, q) && !self.settle_off_limits(q) {
            // Where branches meet, and at the border of what the arm reaches, a path is easily out of
            // reach by next to nothing.
            let off = self.tracker.off(q);
            let near = to < 1.0
                && off.position <= NEAR.0.min(NEAR_SHARE * self.settings.deviation)
                && off.orientation <= NEAR.1.min(NEAR_SHARE * self.settings.angle_deviation);
            if !near {
                return Err(Stop::OffPath(q.to_vec()));
            }
        }
        if !self.ik.accept.is_none_or(|accept| accept(q)) {
            return Err(Stop::Because(BreakCause::Ik(not_converged(
                q,
                (0.0, 0.0),
                1,
            ))));
        }
        for ((dof, a), b) in self.chain.dofs.iter().zip(last).zip(q.iter()) {
            let step = (b - a).abs();
            if step > self.settings.max_joint_step || step.is_nan() {
                return Err(Stop::Because(BreakCause::JointJump {
                    joint: dof.name.clone(),
                    step: b - a,
                    allowed: self.settings.max_joint_step,
                }));
            }
        }
        // Of a cubic, what is at half and a quarter of the way bounds what is at three quarters.
        let mut bound = (0.0, 0.0);
        for (part, weight) in [(0.5, 1.5), (0.25, 1.0), (0.75, 0.0)] {
            if weight == 0.0
                && bound.0 <= MEASURED * self.settings.deviation
                && bound.1 <= MEASURED * self.settings.angle_deviation
            {
                break;
            }
            self.between.clear();
            let line = last.iter().zip(q.iter()).map(|(a, b)| a + (b - a) * part);
            self.between.extend(line);
            self.tracker
                .aim(&self.guide.pose(from + (to - from) * part));
            let off = self.tracker.off(&self.between);
            if !(off.position <= MEASURED * self.settings.deviation
                && off.orientation <= MEASURED * self.settings.angle_deviation)
            {
                return Err(Stop::Because(BreakCause::Deviation {
                    position: off.position,
                    orientation: off.orientation,
                }));
            }
            bound.0 += weight * off.position;
            bound.1 += weight * off.orientation;
        }
        if let Some(checker) = &mut self.checker {
            match checker.motion(last, q, SWEEP) {
                // So close to a contact counts as free: links keep a clearance besides.
                Ok(MotionVerdict::Free | MotionVerdict::TooClose(_)) => {}
                Ok(MotionVerdict::Contact(met)) => return Err(Stop::Because(met.contact.into())),
                // Only of numbers that are not finite, which the tracker does not give back.
                Err(_) => {
                    let cause = BreakCause::Ik(not_converged(q, (0.0, 0.0), 1));
                    return Err(Stop::Because(cause));
                }
            }
        }
        Ok(())
    }

    /// Settles once more with the joints that are at a limit moved off it: in a posture that is singular there,
    /// as that of a folded elbow, nothing else tells them to leave.
    fn settle_off_limits(&mut self, q: &mut [f64]) -> bool {
        if self.at_limits(q).is_empty() {
            return false;
        }
        OFF_LIMIT.into_iter().any(|inwards| {
            let mut off = q.to_vec();
            for (dof, value) in self.chain.dofs.iter().zip(&mut off) {
                for (limit, inwards) in [(dof.lower, inwards), (dof.upper, -inwards)] {
                    if (*value - limit).abs() < AT_LIMIT {
                        *value = limit + inwards;
                    }
                }
            }
            let settled = self.tracker.settle(self.chain, &mut off);
            if settled {
                q.copy_from_slice(&off);
            }
            settled
        })
    }

    /// Why it goes no further than `here` towards the fraction `to`.
    fn cause(&mut self, stop: Stop, to: f64, here: &[f64]) -> BreakCause {
        match stop {
            Stop::OffPath(q) => {
                self.tracker.aim(&self.guide.pose(to));
                self.explain(&q)
            }
            // However close the samples: the joints would have to run away, which they do where the arm is
            // singular alone.
            Stop::Because(BreakCause::Deviation {
                position,
                orientation,
            }) if self.is_singular(here, &self.at_limits(here)) => BreakCause::Singular {
                position_error: position,
                orientation_error: orientation,
            },
            Stop::Because(BreakCause::JointJump { .. })
                if self.is_singular(here, &self.at_limits(here)) =>
            {
                self.tracker.aim(&self.guide.pose(to));
                let off = self.tracker.off(here);
                BreakCause::Singular {
                    position_error: off.position,
                    orientation_error: off.orientation,
                }
            }
            Stop::Because(cause) => cause,
        }
    }

    /// Why the tracker failed, with `q` the nearest that it found: the limit that holds a joint which would
    /// bring the tip nearer, a singular place, or what it says.
    pub(super) fn explain(&mut self, q: &[f64]) -> BreakCause {
        let off = self.tracker.off(q);
        let (position_error, orientation_error) = (off.position, off.orientation);
        let mut pull = vec![0.0; q.len()];
        self.tracker.pull(q, &mut pull);
        let mut held = Vec::new();
        let mut strongest: Option<(f64, usize, f64)> = None;
        for (index, (dof, value)) in self.chain.dofs.iter().zip(q).enumerate() {
            let pull = pull.get(index).copied().unwrap_or(0.0);
            for (limit, outwards) in [(dof.lower, -pull), (dof.upper, pull)] {
                if (value - limit).abs() < AT_LIMIT {
                    held.push(index);
                    if outwards > 0.0 && strongest.is_none_or(|(most, ..)| outwards > most) {
                        strongest = Some((outwards, index, limit));
                    }
                }
            }
        }
        let joint =
            strongest.and_then(|(_, index, limit)| Some((self.chain.dofs.get(index)?, limit)));
        if let Some((dof, limit)) = joint {
            return BreakCause::JointLimit {
                joint: dof.name.clone(),
                limit,
                position_error,
                orientation_error,
            };
        }
        if self.is_singular(q, &held) {
            return BreakCause::Singular {
                position_error,
                orientation_error,
            };
        }
        BreakCause::Ik(not_converged(q, (position_error, orientation_error), 0))
    }

    fn at_limits(&self, q: &[f64]) -> Vec<usize> {
        let dofs = self.chain.dofs.iter().zip(q).enumerate();
        let near = |limit: f64, value: f64| (value - limit).abs() < AT_LIMIT;
        let held = dofs.filter(|(_, (dof, q))| near(dof.lower, **q) || near(dof.upper, **q));
        held.map(|(index, _)| index).collect()
    }

    /// Whether the tip can hardly move in some direction that counts, when some joints are held.
    fn is_singular(&self, q: &[f64], held: &[usize]) -> bool {
        let Ok(matrix) = jacobian(self.chain, q) else {
            return false;
        };
        let rows = match self.tracker.goal() {
            Goal::Position => 3,
            Goal::Pose | Goal::Axes(_) => matrix.nrows(),
        };
        let free = (0..matrix.ncols()).filter(|index| !held.contains(index));
        let columns: Vec<_> = free
            .map(|index| matrix.column(index).rows(0, rows).into_owned())
            .collect();
        if columns.is_empty() {
            return false;
        }
        let free = nalgebra::DMatrix::from_columns(&columns);
        // An arm with fewer joints than the goal has parts stays singular always: then what its joints can do counts.
        let rank = self.tracker.goal().rows().min(columns.len());
        let mut values: Vec<f64> = free.singular_values().iter().copied().collect();
        values.sort_by(|a, b| b.total_cmp(a));
        let largest = values.first().copied().unwrap_or(0.0);
        let least = values.get(rank.saturating_sub(1)).copied().unwrap_or(0.0);
        least < NEARLY_SINGULAR * largest
    }
}

/// Why one step failed.
enum Stop {
    /// No configuration near meets the pose; this one comes nearest.
    OffPath(Vec<f64>),
    Because(BreakCause),
}

/// Change of the joints with the fraction of the path at one of some configurations; where a motion in the null
/// space begins or ends, towards the other side.
fn slope(nodes: &[(f64, Vec<f64>)], index: usize) -> Vec<f64> {
    let Some((u, q)) = nodes.get(index) else {
        return Vec::new();
    };
    let before = index.checked_sub(1).and_then(|before| nodes.get(before));
    let before = before.filter(|(v, _)| v < u);
    let after = nodes.get(index + 1).filter(|(v, _)| v > u);
    let way = |(u, q): &(f64, Vec<f64>), (v, r): &(f64, Vec<f64>)| -> Vec<f64> {
        q.iter().zip(r).map(|(q, r)| (r - q) / (v - u)).collect()
    };
    let here = (*u, q.clone());
    match (before, after) {
        (Some(before), Some(after)) => {
            let weight = (u - before.0) / (after.0 - before.0);
            let both = way(before, &here).into_iter().zip(way(&here, after));
            both.map(|(a, b)| a * (1.0 - weight) + b * weight).collect()
        }
        (Some(before), None) => way(before, &here),
        (None, Some(after)) => way(&here, after),
        (None, None) => vec![0.0; q.len()],
    }
}

fn not_converged(
    q: &[f64],
    (position_error, orientation_error): (f64, f64),
    refused: u32,
) -> IkError {
    const SOLVER: &str = "levenberg_marquardt";
    IkError::NotConverged {
        solver: SOLVER,
        best: Box::new(IkSolution {
            q: q.to_vec(),
            position_error,
            orientation_error,
            iterations: 0,
            solver: SOLVER,
        }),
        timed_out: false,
        refused,
        beyond_limits: Vec::new(),
    }
}
