//! From the branches of a closed form to joint values: windings, limits, order, polish.

use super::super::lm::{self, Budget, Descend};
use super::super::request::{Attempt, Goal, IkRequest};
use super::super::verify::{self, Verdict};
use super::super::winding;
use super::geometry::SixR;
use super::plan::Plan;
use super::NAME;
use crate::model::{Chain, Dof};

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
pub(in crate::ik) struct Walk<'a> {
    pub(in crate::ik) chain: &'a Chain,
    pub(in crate::ik) request: &'a IkRequest<'a>,
    pub(in crate::ik) seed: &'a [f64],
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

    pub(in crate::ik) fn run(&self, plan: &Plan, take: &mut dyn FnMut(Vec<f64>) -> bool) {
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
pub(in crate::ik) struct Polish<'a> {
    chain: &'a Chain,
    request: &'a IkRequest<'a>,
    descent: Option<Box<dyn Descend>>,
    /// Steps made so far.
    pub(in crate::ik) iterations: u32,
}

impl<'a> Polish<'a> {
    pub(in crate::ik) fn new(chain: &'a Chain, request: &'a IkRequest<'a>) -> Self {
        Polish {
            chain,
            request,
            descent: None,
            iterations: 0,
        }
    }

    pub(in crate::ik) fn judge(&mut self, mut q: Vec<f64>) -> (Attempt, Verdict) {
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
