//! Free motions in joint space, off any route: for where the tip's path is free and the arm is not.
//!
//! The straight way first; else two trees of configurations, one from the start and one from all goals,
//! grow towards random configurations and towards each other until they meet \[Kuffner2000\]; what
//! comes of it is cut short. Every edge is proven to be free as a whole
//! ([`crate::collision::MotionChecker`]), not sampled.

mod corners;
mod error;
mod search;
mod shortcut;
mod tree;

pub use error::{End, JointSpaceError};

use super::JointPath;
use crate::collision::{CheckError, CollisionModel, CollisionWorld, MotionChecker};
use crate::model::{Chain, DofKind};
use search::Search;

/// How to search.
#[derive(Debug, Clone, PartialEq)]
pub struct JointSpaceSettings {
    /// The same seed gives the same motion.
    pub seed: u64,
    /// How many random configurations may be tried.
    pub max_samples: usize,
    /// Motions that come closer to a contact than about this \[m\] may be taken for colliding, never
    /// the other way round.
    pub resolution: f64,
    /// How many attempts to cut the motion short.
    pub shortcuts: usize,
    /// Farthest from a corner that its rounding begins \[rad; metres of sliding joints count as
    /// radians\]; zero makes every corner a stop.
    pub blend: f64,
    /// Farthest that neighbouring points of the [`JointPath`] are from each other \[rad, m\].
    pub step: f64,
}

impl Default for JointSpaceSettings {
    fn default() -> Self {
        Self {
            seed: 1,
            max_samples: 2_000,
            resolution: 1e-3,
            shortcuts: 24,
            blend: 0.3,
            step: 0.05,
        }
    }
}

/// A free motion in joint space.
#[derive(Debug, Clone, PartialEq)]
pub struct JointSpacePath {
    /// Configurations from the start to a goal \[rad, m\]; straight lines between them are free.
    pub points: Vec<Vec<f64>>,
    /// Which goal, from zero. Joints without limits may be off by whole turns: the way to the goal
    /// that is nearest to the start.
    pub goal: usize,
    /// Sum of the Euclidean lengths of all pieces \[rad, m\].
    pub length: f64,
    /// Random configurations that were tried; none if the straight way is free.
    pub samples: usize,
    /// Configurations that were looked at for collisions.
    pub checks: u64,
}

impl JointSpacePath {
    /// The same motion as points close to each other, its corners rounded where that is free, else
    /// stops. `model` and `world` are those that it was planned with. Straight lines between the
    /// points are free.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn joint_path(
        &self,
        model: &CollisionModel,
        world: &CollisionWorld,
        settings: &JointSpaceSettings,
    ) -> Result<JointPath, CheckError> {
        let mut checker = MotionChecker::new(model, world);
        corners::round(&self.points, &mut checker, settings)
    }
}

/// Plans a free motion from `start` to any of `goals` (one value a degree of freedom of `chain`, for
/// which `model` was made). Goals in collision or beyond limits are left out as long as one
/// remains. `give_up` is asked once for each sample.
///
/// # Errors
/// [`JointSpaceError`].
pub fn plan_joint_path(
    chain: &Chain,
    model: &CollisionModel,
    world: &CollisionWorld,
    start: &[f64],
    goals: &[Vec<f64>],
    settings: &JointSpaceSettings,
    give_up: &dyn Fn() -> bool,
) -> Result<JointSpacePath, JointSpaceError> {
    if model.dof() != chain.dof() {
        return Err(JointSpaceError::OtherChain {
            expected: chain.dof(),
            got: model.dof(),
        });
    }
    let mut checker = MotionChecker::new(model, world);
    check_end(chain, &mut checker, End::Start, start)?;
    let mut usable = Vec::new();
    let mut first = None;
    for (number, goal) in goals.iter().enumerate() {
        match check_end(chain, &mut checker, End::Goal(number), goal) {
            Ok(()) => usable.push((number, nearest_turn(chain, start, goal))),
            Err(error) => {
                first.get_or_insert(error);
            }
        }
    }
    if usable.is_empty() {
        return Err(first.unwrap_or(JointSpaceError::NoGoal));
    }
    let mut search = Search::new(chain, settings, start);
    let found = search.run(&mut checker, start, &usable, give_up)?;
    let points = if found.samples == 0 {
        found.points
    } else {
        shortcut::shorten(found.points, &mut checker, settings)?
    };
    Ok(JointSpacePath {
        goal: found.goal,
        length: length(&points),
        points,
        samples: found.samples,
        checks: checker.looked_at(),
    })
}

fn length(points: &[Vec<f64>]) -> f64 {
    let pairs = points.iter().zip(points.iter().skip(1));
    pairs.map(|(a, b)| distance(a, b)).sum()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b));
    squares.sum::<f64>().sqrt()
}

/// The configuration at `share` of the way from `a` to `b`.
fn between(a: &[f64], b: &[f64], share: f64) -> Vec<f64> {
    let values = a.iter().zip(b);
    values.map(|(a, b)| a + (b - a) * share).collect()
}

fn check_end(
    chain: &Chain,
    checker: &mut MotionChecker,
    end: End,
    q: &[f64],
) -> Result<(), JointSpaceError> {
    if q.len() != chain.dof() {
        return Err(JointSpaceError::Size {
            end,
            expected: chain.dof(),
            got: q.len(),
        });
    }
    for (dof, &value) in chain.dofs.iter().zip(q) {
        if !value.is_finite() {
            return Err(JointSpaceError::NotFinite {
                end,
                joint: dof.name.clone(),
                value,
            });
        }
        if !dof.contains(value) {
            return Err(JointSpaceError::BeyondLimits {
                end,
                joint: dof.name.clone(),
                value,
                lower: dof.lower,
                upper: dof.upper,
            });
        }
    }
    match checker.configuration(q)? {
        Some(contact) => Err(JointSpaceError::InCollision { end, contact }),
        None => Ok(()),
    }
}

/// `goal`, joints without limits turned to where they are nearest to `start`.
fn nearest_turn(chain: &Chain, start: &[f64], goal: &[f64]) -> Vec<f64> {
    let values = chain.dofs.iter().zip(start).zip(goal);
    let turned = values.map(|((dof, start), goal)| match dof.kind {
        DofKind::Continuous => {
            let turn = std::f64::consts::TAU;
            goal - ((goal - start) / turn).round() * turn
        }
        DofKind::Revolute | DofKind::Prismatic => *goal,
    });
    turned.collect()
}
