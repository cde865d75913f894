//! Two trees that grow towards each other.

use super::tree::{square_distance, Tree};
use super::{JointSpaceError, JointSpaceSettings};
use crate::collision::{MotionChecker, Samples};
use crate::model::{Chain, DofKind, Motion};

/// Weight of joints that move hardly anything.
const LEAST_WEIGHT: f64 = 0.3;

/// How often a step towards a sample is half as long as it might be, and again: long steps cross
/// open space at once, short ones find the way out of narrow places.
const SHORTER: f64 = 0.4;

/// Most halvings of a step.
const HALVINGS: usize = 6;

/// What the search found.
pub(super) struct Found {
    pub points: Vec<Vec<f64>>,
    /// Number of the goal that was reached.
    pub goal: usize,
    pub samples: usize,
}

pub(super) struct Search<'a> {
    settings: &'a JointSpaceSettings,
    /// Where to draw each joint from.
    ranges: Vec<(f64, f64)>,
    weights: Vec<f64>,
    random: Samples,
}

impl<'a> Search<'a> {
    pub(super) fn new(chain: &Chain, settings: &'a JointSpaceSettings, start: &[f64]) -> Self {
        let ranges = chain.dofs.iter().zip(start).map(|(dof, &start)| {
            // Where there is no limit, as far as is ever of use: a turn to both sides, or a metre.
            let room = match dof.kind {
                DofKind::Revolute | DofKind::Continuous => std::f64::consts::TAU,
                DofKind::Prismatic => 1.0,
            };
            let near = |limit: f64, other: f64| if limit.is_finite() { limit } else { other };
            (near(dof.lower, start - room), near(dof.upper, start + room))
        });
        Self {
            settings,
            ranges: ranges.collect(),
            weights: weights(chain),
            random: Samples::new(settings.seed),
        }
    }

    fn sample(&mut self, q: &mut [f64]) {
        for (value, &(lower, upper)) in q.iter_mut().zip(&self.ranges) {
            *value = lower + (upper - lower) * self.random.next();
        }
    }

    /// Which part of the way to a sample to go.
    fn share(&mut self) -> f64 {
        let mut share = 1.0;
        for _ in 0..HALVINGS {
            if self.random.next() >= SHORTER {
                break;
            }
            share *= 0.5;
        }
        share
    }

    /// A free motion from `start` to one of `goals` (with their numbers), which are all free.
    pub(super) fn run(
        &mut self,
        checker: &mut MotionChecker,
        start: &[f64],
        goals: &[(usize, Vec<f64>)],
        give_up: &dyn Fn() -> bool,
    ) -> Result<Found, JointSpaceError> {
        let resolution = self.settings.resolution;
        let mut order: Vec<&(usize, Vec<f64>)> = goals.iter().collect();
        order.sort_by(|a, b| {
            let far = |goal: &[f64]| square_distance(start, goal, &self.weights);
            far(&a.1).total_cmp(&far(&b.1))
        });
        for (number, goal) in &order {
            if checker.motion_is_free(start, goal, resolution)? {
                return Ok(Found {
                    points: vec![start.to_vec(), goal.clone()],
                    goal: *number,
                    samples: 0,
                });
            }
        }
        let dof = start.len();
        let (mut from, mut to) = (Tree::new(dof), Tree::new(dof));
        from.add(start, None);
        for (_, goal) in &order {
            to.add(goal, None);
        }
        let mut sample = vec![0.0; dof];
        let mut next = vec![0.0; dof];
        for samples in 1..=self.settings.max_samples {
            if give_up() {
                return Err(JointSpaceError::GaveUp {
                    samples: samples - 1,
                });
            }
            self.sample(&mut sample);
            let share = self.share();
            // The smaller tree grows.
            let forward = from.len() <= to.len();
            let (grows, other) = if forward {
                (&mut from, &mut to)
            } else {
                (&mut to, &mut from)
            };
            let near = grows.nearest(&sample, &self.weights);
            let at = grows.get(near);
            for ((next, at), sample) in next.iter_mut().zip(at).zip(&sample) {
                *next = at + (sample - at) * share;
            }
            if !checker.motion_is_free(at, &next, resolution)? {
                continue;
            }
            let reached = grows.add(&next, Some(near));
            let facing = other.nearest(&next, &self.weights);
            if !checker.motion_is_free(other.get(facing), &next, resolution)? {
                continue;
            }
            let (one, two) = if forward {
                (reached, facing)
            } else {
                (facing, reached)
            };
            let mut points = from.branch(one);
            points.reverse();
            points.extend(to.branch(two));
            let goal = order.get(to.root(two));
            return Ok(Found {
                points,
                goal: goal.map_or(0, |goal| goal.0),
                samples,
            });
        }
        Err(JointSpaceError::BudgetSpent {
            samples: self.settings.max_samples,
            start_nodes: from.len(),
            goal_nodes: to.len(),
        })
    }
}

/// How much each joint's difference counts: the square root of how far the joint moves the tip's end
/// of the arm, relative to the largest; half way between angles and distances.
fn weights(chain: &Chain) -> Vec<f64> {
    let mut far = chain.tip_offset.translation.vector.norm();
    let mut moved = vec![0.0_f64; chain.dof()];
    for joint in chain.joints.iter().rev() {
        let lever = match joint.motion {
            Motion::Rotation => far,
            Motion::Translation => 1.0,
        };
        if let Some(moved) = moved.get_mut(joint.dof) {
            *moved = moved.max(lever * joint.multiplier.abs());
        }
        far += joint.before.translation.vector.norm();
    }
    let most = moved.iter().copied().fold(0.0, f64::max);
    let share = |moved: f64| if most > 0.0 { moved / most } else { 1.0 };
    moved
        .into_iter()
        .map(|moved| share(moved).sqrt().max(LEAST_WEIGHT))
        .collect()
}
