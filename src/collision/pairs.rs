//! Which pairs of links are looked at for self-collision.

use super::arm::{CheckScratch, CollisionModel, Meeting, PairGroup};
use super::bodies::CollisionOptions;
use crate::model::RobotModel;

/// A pair of links that is not looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedPair {
    /// Joined by a joint.
    Adjacent(String, String),
    /// Named in the options.
    Named(String, String),
    /// In contact in every configuration that was sampled.
    AlwaysInContact(String, String),
    /// Proven to keep the clearance in every configuration inside the joint limits; outside of them
    /// it is compared.
    NeverInContact(String, String),
}

/// Pseudo-random numbers in [0, 1), the same every time \[Steele2014\].
pub(crate) struct Samples(u64);

impl Samples {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Memory of the search for pairs that never meet.
#[derive(Default)]
struct Looks {
    /// Boxes still to look at: a range for each degree of freedom.
    open: Vec<Vec<(f64, f64)>>,
    low: Vec<f64>,
    high: Vec<f64>,
    middle: Vec<f64>,
    /// Whether the pair met at the last look.
    contact: bool,
}

impl CollisionModel {
    pub(super) fn choose_pairs(&mut self, model: &RobotModel, options: &CollisionOptions) {
        let joined = |a: usize, b: usize| {
            model
                .joints
                .iter()
                .any(|j| (j.parent == a && j.child == b) || (j.parent == b && j.child == a))
        };
        let named = |a: &str, b: &str| {
            let is = |(x, y): &(String, String)| (x == a && y == b) || (x == b && y == a);
            options.allowed.iter().any(is)
        };
        let mut links: Vec<(usize, usize)> = Vec::new();
        for (i, first) in self.bodies.iter().enumerate() {
            for second in self.bodies.iter().skip(i + 1) {
                // What hangs on the same frame never moves against each other.
                if first.carrier == second.carrier || links.contains(&(first.link, second.link)) {
                    continue;
                }
                links.push((first.link, second.link));
            }
        }
        let mut allowed = Vec::new();
        links.retain(|&(a, b)| {
            let (Some(x), Some(y)) = (self.names.get(a), self.names.get(b)) else {
                return false;
            };
            if named(x, y) {
                allowed.push(AllowedPair::Named(x.clone(), y.clone()));
            } else if joined(a, b) {
                allowed.push(AllowedPair::Adjacent(x.clone(), y.clone()));
            } else {
                return true;
            }
            false
        });
        self.allowed = allowed;
        self.set_pairs(&links);
        let always = self.always_in_contact(links.clone(), options.samples);
        links.retain(|pair| !always.contains(pair));
        for (a, b) in always {
            if let (Some(a), Some(b)) = (self.names.get(a), self.names.get(b)) {
                self.allowed
                    .push(AllowedPair::AlwaysInContact(a.clone(), b.clone()));
            }
        }
        self.set_pairs(&links);
        let mut scratch = CheckScratch::default();
        let mut looks = Looks::default();
        let apart: Vec<(usize, usize)> = links
            .iter()
            .copied()
            .filter(|&pair| self.never_meet(pair, options.looks, &mut looks, &mut scratch))
            .collect();
        links.retain(|pair| !apart.contains(pair));
        for &(a, b) in &apart {
            if let (Some(a), Some(b)) = (self.names.get(a), self.names.get(b)) {
                self.allowed
                    .push(AllowedPair::NeverInContact(a.clone(), b.clone()));
            }
        }
        self.set_pairs(&links);
        self.far_groups = self.group_pairs(&apart);
    }

    /// The numbers of the pairs of bodies of two links.
    fn pairs_of(&self, (a, b): (usize, usize)) -> impl Iterator<Item = usize> + '_ {
        let of = |k: usize| self.bodies.get(k).map(|body| body.link);
        let wanted = (Some(a), Some(b));
        let pairs = self.pairs.iter().enumerate();
        pairs
            .filter(move |(_, &(i, j))| (of(i.min(j)), of(i.max(j))) == wanted)
            .map(|(number, _)| number)
    }

    /// Whether two links keep their clearance everywhere inside the joint limits: proven by cutting
    /// the ranges of the joints between them into boxes, in each of which they cannot move as far as they
    /// are apart in its middle. No after at most `most` boxes.
    fn never_meet(
        &self,
        links: (usize, usize),
        most: usize,
        looks: &mut Looks,
        scratch: &mut CheckScratch,
    ) -> bool {
        let pairs: Vec<usize> = self.pairs_of(links).collect();
        let bodies = pairs.iter().filter_map(|&pair| self.pairs.get(pair));
        let carrier = |k: usize| self.bodies.get(k).map_or(0, |body| body.carrier);
        let (mut inner, mut outer) = (usize::MAX, 0);
        for &(i, j) in bodies {
            (inner, outer) = (inner.min(carrier(i)), outer.max(carrier(j)));
        }
        let Some(between) = self.chain.joints.get(inner..outer) else {
            return false;
        };
        // Where nothing else matters, the middle does.
        let range = |(index, dof): (usize, &crate::model::Dof)| {
            let middle = dof.middle();
            if !between.iter().any(|joint| joint.dof == index) {
                return Some((middle, middle));
            }
            let turn = std::f64::consts::PI;
            let turns = dof.kind == crate::model::DofKind::Continuous;
            let (low, high) = if turns {
                (middle - turn, middle + turn)
            } else {
                (dof.lower, dof.upper)
            };
            (low.is_finite() && high.is_finite()).then_some((low, high))
        };
        let Some(whole) = self.chain.dofs.iter().enumerate().map(range).collect() else {
            return false;
        };
        looks.open.clear();
        looks.open.push(whole);
        for _ in 0..most {
            let Some(mut ranges) = looks.open.pop() else {
                return true;
            };
            let split = self.widest(&ranges, &pairs, (inner, outer), looks, scratch);
            let Some(dof) = split else { continue };
            let Some(range) = ranges.get_mut(dof) else {
                return false;
            };
            let (low, high) = *range;
            let middle = 0.5 * (low + high);
            *range = (low, middle);
            let lower = ranges.clone();
            if let Some(range) = ranges.get_mut(dof) {
                *range = (middle, high);
            }
            if looks.contact {
                return false;
            }
            looks.open.extend([ranges, lower]);
        }
        looks.open.is_empty()
    }

    /// Looks at the middle of a box: none if the pairs stay apart in all of it, else the degree of
    /// freedom that moves them most.
    fn widest(
        &self,
        ranges: &[(f64, f64)],
        pairs: &[usize],
        (inner, outer): (usize, usize),
        looks: &mut Looks,
        scratch: &mut CheckScratch,
    ) -> Option<usize> {
        let fill = |to: &mut Vec<f64>, of: fn(&(f64, f64)) -> f64| {
            to.clear();
            to.extend(ranges.iter().map(of));
        };
        fill(&mut looks.low, |range| range.0);
        fill(&mut looks.high, |range| range.1);
        fill(&mut looks.middle, |range| 0.5 * (range.0 + range.1));
        looks.contact = self.place(&looks.middle, scratch).is_err();
        self.measure_into(&looks.low, &looks.high, scratch);
        let near = pairs.iter().copied().find(|&pair| {
            let travel = 0.5 * self.approach(Meeting::Pair { pair }, scratch);
            self.pair_within(pair, self.self_clearance + travel, scratch)
        })?;
        looks.contact |= self.pair_within(near, self.self_clearance, scratch);
        let &(_, body) = self.pairs.get(near)?;
        let part = |joint: usize| {
            self.travel(joint, body, scratch) - self.travel(joint + 1, body, scratch)
        };
        let mut most = (0.0, None);
        for (number, joint) in self.chain.joints.iter().enumerate().take(outer).skip(inner) {
            if part(number) > most.0 {
                most = (part(number), Some(joint.dof));
            }
        }
        // Nothing moves any more: as good as a contact.
        looks.contact |= most.1.is_none();
        most.1.or(Some(0))
    }

    fn set_pairs(&mut self, links: &[(usize, usize)]) {
        self.pairs.clear();
        self.pair_groups = self.group_pairs(links);
    }

    /// Adds the pairs of bodies of `links` to the pairs, those of the same two groups side by side.
    fn group_pairs(&mut self, links: &[(usize, usize)]) -> Vec<PairGroup> {
        let mut found = Vec::new();
        for (g, outer) in self.groups.iter().enumerate() {
            for (h, inner) in self.groups.iter().enumerate().skip(g + 1) {
                let start = self.pairs.len();
                for &i in &inner.bodies {
                    for &j in &outer.bodies {
                        let of = |k: usize| self.bodies.get(k).map(|body| body.link);
                        let pair = (of(i.min(j)), of(i.max(j)));
                        if links.iter().any(|&(a, b)| pair == (Some(a), Some(b))) {
                            self.pairs.push((i, j));
                        }
                    }
                }
                if self.pairs.len() > start {
                    found.push(PairGroup {
                        groups: [h, g],
                        pairs: start..self.pairs.len(),
                    });
                }
            }
        }
        found
    }

    /// Of `links`, the pairs that meet in every one of `samples` configurations, spread over the
    /// joints' ranges (one turn or one metre where there are no limits).
    fn always_in_contact(
        &self,
        mut links: Vec<(usize, usize)>,
        samples: usize,
    ) -> Vec<(usize, usize)> {
        if samples == 0 {
            return Vec::new();
        }
        let mut random = Samples::new(0x5eed);
        let mut scratch = CheckScratch::default();
        for _ in 0..samples {
            if links.is_empty() {
                break;
            }
            let q: Vec<f64> = self
                .chain
                .dofs
                .iter()
                .map(|dof| {
                    let middle = dof.middle();
                    let lower = dof.lower.max(middle - std::f64::consts::PI);
                    let upper = dof.upper.min(middle + std::f64::consts::PI);
                    lower + (upper - lower) * random.next()
                })
                .collect();
            if self.place(&q, &mut scratch).is_err() {
                return Vec::new();
            }
            links.retain(|&(a, b)| {
                self.pairs_of((a, b))
                    .any(|pair| self.pair_within(pair, 0.0, &mut scratch))
            });
        }
        links
    }
}
