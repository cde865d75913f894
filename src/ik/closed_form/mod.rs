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
mod planar;
mod six;
mod subproblems;

use nalgebra::Vector3;

use super::lm::{self, Budget, Descend};
use super::request::{Attempt, Goal, IkError, IkRequest, IkSolution, IkSolver};
use super::verify::{self, Verdict};
use super::winding;
use crate::model::{Chain, Dof};
use geometry::{Arm, Axis, SixR};
use planar::Planar;

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClosedForm;

const NAME: &str = "closed_form";

/// Values of a swept parameter over a full turn or the joint's range.
const SWEEP: usize = 72;
/// How far outside its limits \[rad\] a branch may be to be tried at the limit: approximate
/// geometry is off by as much.
const LIMIT_SLACK: f64 = 1e-3;
/// The same for exact geometry: near double roots an angle is known to half the digits only.
const LIMIT_ROUNDING: f64 = 1e-6;
/// How far from zero \[rad\] the imagined joint of a five-joint arm may be.
const IMAGINED: f64 = 2e-3;
/// Two branches that differ by less in every joint \[rad\] are one.
const SAME: f64 = 1e-4;

/// Which closed form fits a chain.
pub(super) enum Plan {
    Planar(Planar),
    Five(Box<SixR>),
    Six(Box<SixR>),
    Seven {
        arm: Arm,
        swept: usize,
        words: &'static str,
    },
}

impl Plan {
    /// `None` if no closed form fits.
    pub(super) fn of(chain: &Chain) -> Option<Plan> {
        if !(2..=7).contains(&chain.dof()) {
            return None;
        }
        let arm = Arm::of(chain)?;
        match arm.axes.len() {
            2 | 3 => Planar::of(&arm).map(Plan::Planar),
            5 => imagined(&arm).map(|six| Plan::Five(Box::new(six))),
            6 => SixR::of(&arm).map(|six| Plan::Six(Box::new(six))),
            7 => [6, 0, 2, 4, 3, 1, 5].into_iter().find_map(|swept| {
                // A value at which no axes happen to be parallel.
                let six = SixR::of(&arm.locked(swept, 0.7)?)?;
                Some(Plan::Seven {
                    arm: arm.clone(),
                    swept,
                    words: six.kind.words(six.mirrored),
                })
            }),
            _ => None,
        }
    }

    fn words(&self) -> String {
        match self {
            Plan::Planar(planar) => format!("planar {}R", planar.joints()),
            Plan::Five(six) => format!("5R: {}", six.kind.words(six.mirrored)),
            Plan::Six(six) => format!("6R: {}", six.kind.words(six.mirrored)),
            Plan::Seven { swept, words, .. } => {
                format!("7R: {words}, joint {} swept", swept + 1)
            }
        }
    }

    /// Whether the branches are all answers there are (else they are samples of continua).
    pub(super) fn complete(&self, goal: Goal) -> bool {
        match self {
            Plan::Planar(planar) => planar.joints() == 2 || goal == Goal::Pose,
            Plan::Five(_) | Plan::Six(_) => goal == Goal::Pose,
            Plan::Seven { .. } => false,
        }
    }

    /// Whether the goal can be treated.
    pub(super) fn treats(&self, goal: Goal) -> bool {
        goal == Goal::Pose || matches!(self, Plan::Planar(_))
    }
}

/// Which closed form fits the chain, in words; `None` if none does.
pub fn closed_form_of(chain: &Chain) -> Option<String> {
    Plan::of(chain).map(|plan| plan.words())
}

/// The six-joint arm that a five-joint arm would be with one more joint at its end, chosen so
/// that a closed form fits.
fn imagined(arm: &Arm) -> Option<SixR> {
    let [.., fourth, fifth] = arm.axes.as_slice() else {
        return None;
    };
    let side = if fifth.direction.x.abs() < 0.6 {
        Vector3::x()
    } else {
        Vector3::y()
    };
    let choices = [
        (
            fourth.direction.cross(&fifth.direction),
            meeting_point(fourth, fifth),
        ),
        (fifth.direction.cross(&side), fifth.point),
    ];
    choices.into_iter().find_map(|(direction, point)| {
        let direction = direction.try_normalize(1e-3)?;
        let mut six = arm.clone();
        six.axes.push(Axis { direction, point });
        SixR::of(&six)
    })
}

/// The point of `b` that is nearest to `a`, for axes that are not parallel.
fn meeting_point(a: &Axis, b: &Axis) -> Vector3<f64> {
    let normal = a.direction.cross(&b.direction);
    let square = normal.norm_squared();
    if square <= 1e-6 {
        return b.point;
    }
    let way = b.point - a.point;
    b.point + b.direction * (way.cross(&a.direction).dot(&normal) / square)
}

/// Values of a swept parameter, `centre` first and then outwards over one turn.
fn outwards(centre: f64) -> impl Iterator<Item = f64> {
    let step = std::f64::consts::TAU / SWEEP as f64;
    (0..SWEEP).map(move |number| {
        let away = number.div_ceil(2) as f64 * step;
        if number % 2 == 0 {
            centre + away
        } else {
            centre - away
        }
    })
}

/// Looks through the branches, nearest to the seed first within each step of a sweep, and hands
/// each that lies inside the limits to `take`, which says whether it wants more.
pub(super) struct Walk<'a> {
    pub(super) chain: &'a Chain,
    pub(super) request: &'a IkRequest<'a>,
    pub(super) seed: &'a [f64],
}

impl Walk<'_> {
    /// Joint angle at the chain's value.
    fn angle(&self, index: usize, value: f64) -> f64 {
        match self.chain.joints.get(index) {
            Some(joint) => joint.multiplier * value + joint.offset,
            None => value,
        }
    }

    /// The value inside the limits that is nearest to the seed's for a joint angle.
    fn value(&self, index: usize, angle: f64) -> Option<f64> {
        let joint = self.chain.joints.get(index)?;
        let dof: &Dof = self.chain.dofs.get(index)?;
        let start = self.seed.get(index).copied().unwrap_or(0.0);
        let value = (angle - joint.offset) / joint.multiplier;
        let period = std::f64::consts::TAU / joint.multiplier.abs();
        // Rounding must not cost a turn; approximate geometry is off by more.
        for slack in [LIMIT_ROUNDING, LIMIT_SLACK] {
            let (low, high) = (dof.lower - slack, dof.upper + slack);
            let wound = winding::nearest(value, start, period, low, high);
            if wound >= low && wound <= high {
                return Some(dof.clamp(wound));
            }
        }
        None
    }

    fn values(&self, angles: &[f64]) -> Option<Vec<f64>> {
        let mut values = Vec::with_capacity(angles.len());
        for (index, &angle) in angles.iter().enumerate() {
            values.push(self.value(index, angle)?);
        }
        Some(values)
    }

    fn six_seed(&self, skip: Option<usize>) -> [f64; 6] {
        let mut angles = [0.0; 6];
        let kept = (0..self.seed.len()).filter(|index| Some(*index) != skip);
        for (slot, index) in angles.iter_mut().zip(kept) {
            *slot = self.angle(index, self.seed.get(index).copied().unwrap_or(0.0));
        }
        angles
    }

    /// Sorts by distance to the seed and hands over.
    fn offer(&self, mut found: Vec<Vec<f64>>, take: &mut dyn FnMut(Vec<f64>) -> bool) -> bool {
        found.sort_by(|a, b| {
            winding::distance(a, self.seed).total_cmp(&winding::distance(b, self.seed))
        });
        let mut last: Option<Vec<f64>> = None;
        for q in found {
            let again = last
                .as_ref()
                .is_some_and(|last| last.iter().zip(&q).all(|(x, y)| (x - y).abs() <= SAME));
            if again {
                continue;
            }
            last = Some(q.clone());
            if !take(q) {
                return false;
            }
        }
        true
    }

    pub(super) fn run(&self, plan: &Plan, take: &mut dyn FnMut(Vec<f64>) -> bool) {
        let target = &self.request.target;
        match plan {
            Plan::Planar(planar) => {
                let seed = self.six_seed(None);
                let seed = seed.get(..planar.joints()).unwrap_or(&[]);
                let swept = planar.joints() == 3 && self.request.goal == Goal::Position;
                let headings = if swept { SWEEP } else { 1 };
                let centre = if swept {
                    planar.heading(seed)
                } else {
                    planar.wanted(target)
                };
                for heading in outwards(centre).take(headings) {
                    let branches = planar.branches(target, heading, seed);
                    let found = branches.iter().filter_map(|angles| self.values(angles));
                    if !self.offer(found.collect(), take) {
                        return;
                    }
                }
            }
            Plan::Six(six) => {
                let branches = six.branches(target, &self.six_seed(None));
                let found = branches.iter().filter_map(|angles| self.values(angles));
                self.offer(found.collect(), take);
            }
            Plan::Five(six) => {
                let branches = six.branches(target, &self.six_seed(None));
                let found = branches.iter().filter_map(|angles| {
                    let [real @ .., imagined] = angles;
                    let turns = (imagined / std::f64::consts::TAU).round();
                    let off = imagined - turns * std::f64::consts::TAU;
                    if off.abs() <= IMAGINED {
                        self.values(real)
                    } else {
                        None
                    }
                });
                self.offer(found.collect(), take);
            }
            Plan::Seven { arm, swept, .. } => {
                let start = self.seed.get(*swept).copied().unwrap_or(0.0);
                for angle in outwards(self.angle(*swept, start)) {
                    let Some(held) = self.value(*swept, angle) else {
                        continue;
                    };
                    let angle = self.angle(*swept, held);
                    let Some(six) = arm.locked(*swept, angle).and_then(|six| SixR::of(&six)) else {
                        continue;
                    };
                    let branches = six.branches(target, &self.six_seed(Some(*swept)));
                    let found = branches.iter().filter_map(|six| {
                        let mut all = six.to_vec();
                        all.insert((*swept).min(all.len()), angle);
                        self.values(&all)
                    });
                    if !self.offer(found.collect(), take) {
                        return;
                    }
                }
            }
        }
    }
}

/// Measures a branch, polishing it on the true chain where that is needed.
pub(super) struct Polish<'a> {
    chain: &'a Chain,
    request: &'a IkRequest<'a>,
    descent: Option<Box<dyn Descend>>,
    /// Steps made so far.
    pub(super) iterations: u32,
}

impl<'a> Polish<'a> {
    pub(super) fn new(chain: &'a Chain, request: &'a IkRequest<'a>) -> Self {
        Polish {
            chain,
            request,
            descent: None,
            iterations: 0,
        }
    }

    pub(super) fn judge(&mut self, mut q: Vec<f64>) -> (Attempt, Verdict) {
        let plain = verify::judge(self.chain, self.request, q.clone(), self.iterations, NAME);
        if plain.1 != Verdict::Off {
            return plain;
        }
        if self.descent.is_none() {
            self.descent = lm::prepare(self.chain, self.request);
        }
        let Some(descent) = &mut self.descent else {
            return plain;
        };
        let budget = Budget {
            iterations: 12,
            ..Budget::of(self.request, true)
        };
        let end = descent.descend(&mut q, &budget);
        self.iterations = self.iterations.saturating_add(end.iterations);
        verify::judge(self.chain, self.request, q, self.iterations, NAME)
    }
}

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
            return Err(unsupported(
                "it has more joints than a position goal asks for",
            ));
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
