//! Why there is no motion.

use crate::collision::{Contact, Obstacle as Met};
use crate::ik::IkError;
use crate::planning::{BreakCause, JointSpaceError, Partial, PathError};
use crate::roadmap::{End, RoadmapError, RouteError};
use crate::trajectory::RetimeError;

/// The kinds of [`PlanError`], for those who answer with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanErrorKind {
    /// The request makes no sense.
    InvalidRequest,
    /// No road map of that name.
    UnknownRoadmap,
    /// No solver of that name.
    UnknownSolver,
    /// The start lies inside an obstacle, or closer to one than the clearance.
    StartInObstacle,
    /// The goal lies inside an obstacle, or closer to one than the clearance.
    GoalInObstacle,
    /// No way leads around the obstacles.
    NoRoute,
    /// A start value is outside of its limits by more than the tolerance.
    StartOutsideLimits,
    /// The goal is proven to be out of reach.
    GoalUnreachable,
    /// No joint values were found for the goal.
    GoalNoIk,
    /// The arm cannot follow the tip's path all the way.
    PathBroken,
    /// At the start a link meets an obstacle or another link.
    StartCollides,
    /// The arm reaches the goal in collision only.
    GoalCollides,
    /// On the way a link would meet an obstacle or another link.
    WayCollides,
    /// No timing was found, or the timed motion comes too close to an obstacle.
    Timing,
    /// Time was up.
    TimedOut,
}

/// Why there is no motion.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PlanError {
    /// No path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// No timing for the path.
    #[error("timing: {0}")]
    Timing(#[from] RetimeError),
    /// The timed motion comes too close to an obstacle, at the finest sampling.
    #[error(
        "between its samples the motion comes {missing:.2e} m too close to obstacle \"{obstacle}\""
    )]
    TooClose {
        /// The obstacle.
        obstacle: String,
        /// How much is missing \[m\].
        missing: f64,
    },
    /// A link comes closer than its clearance in the timed motion, at the finest sampling.
    #[error("between its samples, after {time:.3} s, the motion brings link \"{}\" too close to {}", contact.link, words(&contact.with))]
    Collides {
        /// When \[s\].
        time: f64,
        /// What meets what.
        contact: Contact,
    },
    /// Time was up before the path could be sampled so finely that the motion is free.
    #[error("time was up before the path was sampled finely enough: {fault}; allow more time, or less velocity and acceleration")]
    Late {
        /// What is wrong with the motion through coarser samples.
        fault: Box<PlanError>,
    },
    /// The motion is free, but its points are too far apart for a controller to know it from them.
    #[error("points {period} s apart are too few for this motion of {duration:.2} s: between them the tip would leave its path by {off:.2e} m; take a shorter period")]
    TooFewPoints {
        /// Time between two points \[s\].
        period: f64,
        /// Duration of the motion \[s\].
        duration: f64,
        /// How far the tip leaves its path \[m\].
        off: f64,
    },
}

fn words(with: &Met) -> String {
    match with {
        Met::Obstacle(id) => format!("obstacle \"{id}\""),
        Met::Link(name) => format!("link \"{name}\""),
    }
}

impl PlanError {
    /// Which kind of error this is.
    pub fn kind(&self) -> PlanErrorKind {
        let path = match self {
            PlanError::Path(path) => path,
            PlanError::Timing(RetimeError::Period { .. } | RetimeError::TipLimit { .. })
            | PlanError::TooFewPoints { .. } => return PlanErrorKind::InvalidRequest,
            PlanError::Late { .. } => return PlanErrorKind::TimedOut,
            PlanError::Timing(_) | PlanError::TooClose { .. } | PlanError::Collides { .. } => {
                return PlanErrorKind::Timing
            }
        };
        match path {
            PathError::NoGoal
            | PathError::WrongSize { .. }
            | PathError::StartNotFinite { .. }
            | PathError::GoalNotFinite { .. }
            | PathError::NotPositive { .. }
            | PathError::Check(_)
            | PathError::Plane(_)
            | PathError::World(_) => PlanErrorKind::InvalidRequest,
            PathError::Roadmap(RoadmapError::UnknownName { .. }) => PlanErrorKind::UnknownRoadmap,
            PathError::Roadmap(RoadmapError::GivenUp { .. }) => PlanErrorKind::TimedOut,
            PathError::UnknownSolver(_) => PlanErrorKind::UnknownSolver,
            PathError::StartOutsideLimits { .. } => PlanErrorKind::StartOutsideLimits,
            PathError::Route { source, .. } | PathError::RouteOver { source, .. } => {
                route_kind(source)
            }
            PathError::Goal { source, .. } => match source {
                source if source.is_unreachable() => PlanErrorKind::GoalUnreachable,
                IkError::NotConverged {
                    timed_out: true, ..
                } => PlanErrorKind::TimedOut,
                IkError::NotConverged { .. } => PlanErrorKind::GoalNoIk,
                _ => PlanErrorKind::InvalidRequest,
            },
            PathError::OffRoute { source, .. }
                if matches!(**source, JointSpaceError::GaveUp { .. }) =>
            {
                PlanErrorKind::TimedOut
            }
            PathError::PathBroken { cause, .. } | PathError::OffRoute { cause, .. } => {
                match cause {
                    BreakCause::GaveUp => PlanErrorKind::TimedOut,
                    BreakCause::Collision { .. } => PlanErrorKind::WayCollides,
                    _ => PlanErrorKind::PathBroken,
                }
            }
            PathError::StartCollides { .. } => PlanErrorKind::StartCollides,
            PathError::GoalCollides { .. } => PlanErrorKind::GoalCollides,
        }
    }

    /// Which part of the path is possible, 0 to 1.
    pub fn fraction(&self) -> f64 {
        match self {
            PlanError::Path(path) => path.fraction(),
            _ => 0.0,
        }
    }

    /// What was reached, where something was.
    pub fn partial(&self) -> Option<&Partial> {
        match self {
            PlanError::Path(path) => path.partial(),
            _ => None,
        }
    }
}

fn route_kind(error: &RouteError) -> PlanErrorKind {
    match error {
        RouteError::InvalidPoint { .. } => PlanErrorKind::InvalidRequest,
        RouteError::InObstacle { end, .. }
        | RouteError::TooClose { end, .. }
        | RouteError::OutsideBoundary { end, .. } => match end {
            End::Start => PlanErrorKind::StartInObstacle,
            End::Goal => PlanErrorKind::GoalInObstacle,
        },
        RouteError::NoPath { .. } => PlanErrorKind::NoRoute,
    }
}
