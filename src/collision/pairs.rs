//! Which pairs of links are looked at for self-collision.

use super::arm::{CheckScratch, CollisionModel, PairGroup};
use super::bodies::CollisionOptions;
use crate::model::RobotModel;

/// A pair of links that may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedPair {
    /// Joined by a joint.
    Adjacent(String, String),
    /// Named in the options.
    Named(String, String),
    /// In contact in every configuration that was sampled.
    AlwaysInContact(String, String),
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
    }

    fn set_pairs(&mut self, links: &[(usize, usize)]) {
        self.pairs.clear();
        self.pair_groups.clear();
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
                    self.pair_groups.push(PairGroup {
                        groups: [h, g],
                        pairs: start..self.pairs.len(),
                    });
                }
            }
        }
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
                self.pairs.iter().enumerate().any(|(pair, &(i, j))| {
                    let of = |k: usize| self.bodies.get(k).map(|body| body.link);
                    of(i.min(j)) == Some(a)
                        && of(i.max(j)) == Some(b)
                        && self.pair_within(pair, 0.0, &mut scratch)
                })
            });
        }
        links
    }
}
