//! Two trees that grow towards each other.

use super::tree::{square_distance, Tree};
use super::{JointSpaceError, JointSpaceSettings};
use crate::collision::{MotionChecker, Samples};
use crate::model::{Chain, DofKind};

/// What the search found.
pub(super) struct Found {
    pub points: Vec<Vec<f64>>,
    pub goal: usize,
    pub samples: usize,
}

/// Where to draw a joint from.
#[derive(Debug, Clone, Copy)]
struct Range {
    lower: f64,
    upper: f64,
}

pub(super) struct Search<'a> {
    settings: &'a JointSpaceSettings,
    ranges: Vec<Range>,
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
            Range {
                lower: dof.lower.max(start - room),
                upper: dof.upper.min(start + room),
            }
        });
        Self {
            settings,
            ranges: ranges.collect(),
            weights: vec![1.0; chain.dof()],
            random: Samples::new(settings.seed),
        }
    }

    fn sample(&mut self, q: &mut [f64]) {
        for (value, range) in q.iter_mut().zip(&self.ranges) {
            *value = range.lower + (range.upper - range.lower) * self.random.next();
        }
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
        let mut trees = [Tree::new(dof), Tree::new(dof)];
        let [from, to] = &mut trees;
        from.add(start, None);
        for (_, goal) in &order {
            to.add(goal, None);
        }
        let mut sample = vec![0.0; dof];
        let mut next = vec![0.0; dof];
        let mut active = 0;
        for samples in 1..=self.settings.max_samples {
            if give_up() {
                return Err(JointSpaceError::GaveUp { samples });
            }
            // The smaller tree grows.
            active = if trees[0].len() <= trees[1].len() {
                0
            } else {
                1
            };
            let (a, b) = trees.split_at_mut(1);
            let (grows, other) = if active == 0 {
                (&mut a[0], &mut b[0])
            } else {
                (&mut b[0], &mut a[0])
            };
            self.sample(&mut sample);
            let (near, square) = grows.nearest(&sample, &self.weights);
            step(
                grows.get(near),
                &sample,
                square.sqrt(),
                self.settings.range,
                &mut next,
            );
            if !checker.motion_is_free(grows.get(near), &next, resolution)? {
                continue;
            }
            let reached = grows.add(&next, Some(near));
            // The other tree comes as near as it can.
            let target = next.clone();
            let (mut near, mut square) = other.nearest(&target, &self.weights);
            loop {
                let distance = square.sqrt();
                step(
                    other.get(near),
                    &target,
                    distance,
                    self.settings.range,
                    &mut next,
                );
                if !checker.motion_is_free(other.get(near), &next, resolution)? {
                    break;
                }
                if distance <= self.settings.range {
                    let (one, two) = if active == 0 {
                        (reached, near)
                    } else {
                        (near, reached)
                    };
                    let mut points = trees[0].branch(one);
                    points.reverse();
                    let tail = trees[1].branch(two);
                    let goal = trees[1].root(two);
                    points.extend(tail);
                    return Ok(Found {
                        points,
                        goal: order.get(goal).map_or(0, |goal| goal.0),
                        samples,
                    });
                }
                near = other.add(&next, Some(near));
                square = square_distance(&next, &target, &self.weights);
            }
        }
        let _ = active;
        Err(JointSpaceError::BudgetSpent {
            samples: self.settings.max_samples,
            start_nodes: trees[0].len(),
            goal_nodes: trees[1].len(),
        })
    }
}

/// From `from` towards `to`, which is `distance` away, at most `range` far.
fn step(from: &[f64], to: &[f64], distance: f64, range: f64, next: &mut [f64]) {
    let share = if distance > range {
        range / distance
    } else {
        1.0
    };
    for ((next, from), to) in next.iter_mut().zip(from).zip(to) {
        *next = if share < 1.0 {
            from + (to - from) * share
        } else {
            *to
        };
    }
}
