//! Why there is no plan.

use crate::collision::{CheckError, Contact, Obstacle as Met};
use crate::ik::{IkError, UnknownSolver};
use crate::kinematics::Pose;
use crate::planar::WorldError;
use crate::roadmap::{RoadmapError, RouteError};

use super::{JointPath, JointSpaceError};

/// Why the arm cannot follow the tip's path beyond some point.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BreakCause {
    /// Neighbouring samples would need a leap.
    #[error("joint \"{joint}\" would have to jump by {step:.3} between neighbouring samples (allowed: {allowed})")]
    JointJump {
        /// The joint.
        joint: String,
        /// Its move \[rad or m\].
        step: f64,
        /// What is allowed \[rad or m\].
        allowed: f64,
    },
    /// A joint is at its limit.
    #[error("joint \"{joint}\" runs into its limit {limit:.4} ({position_error:.2e} m and {orientation_error:.2e} rad are missing)")]
    JointLimit {
        /// The joint.
        joint: String,
        /// The limit \[rad or m\].
        limit: f64,
        /// Distance from the path \[m\].
        position_error: f64,
        /// Angle from the path's orientation \[rad\].
        orientation_error: f64,
    },
    /// The arm is stretched out or folded up.
    #[error("the arm is in a singular posture ({position_error:.2e} m and {orientation_error:.2e} rad are missing)")]
    Singular {
        /// Distance from the path \[m\].
        position_error: f64,
        /// Angle from the path's orientation \[rad\].
        orientation_error: f64,
    },
    /// The tip would leave its path between samples, however close they are.
    #[error("the tip leaves its path by {position:.2e} m and {orientation:.2e} rad between neighbouring samples")]
    Deviation {
        /// Distance \[m\].
        position: f64,
        /// Angle \[rad\].
        orientation: f64,
    },
    /// A link meets an obstacle or another link.
    #[error("link \"{link}\" meets {}", met(with))]
    Collision {
        /// The link.
        link: String,
        /// What it meets.
        with: Met,
    },
    /// Anything else that the solver says.
    #[error("{0}")]
    Ik(IkError),
    /// Time is up, or the caller has gone.
    #[error("time was up")]
    GaveUp,
}

pub(super) fn met(with: &Met) -> String {
    match with {
        Met::Obstacle(id) => format!("obstacle \"{id}\""),
        Met::Link(name) => format!("link \"{name}\""),
    }
}

impl From<Contact> for BreakCause {
    fn from(contact: Contact) -> Self {
        BreakCause::Collision {
            link: contact.link,
            with: contact.with,
        }
    }
}

/// What was reached before the path broke.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Partial {
    /// Poses of the tip, base frame.
    pub tip_path: Vec<Pose>,
    /// The configurations that belong to them.
    pub joint_path: JointPath,
}

/// Why there is no path for the arm.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PathError {
    /// There is no goal.
    #[error("there is no goal: send at least one pose")]
    NoGoal,
    /// A vector of the wrong length.
    #[error("the start has {got} values, the chain has {expected} degrees of freedom")]
    WrongSize {
        /// Degrees of freedom.
        expected: usize,
        /// Values given.
        got: usize,
    },
    /// NaN or infinity in the start.
    #[error("the start value of joint \"{joint}\" is not finite ({value})")]
    StartNotFinite {
        /// The joint.
        joint: String,
        /// The value.
        value: f64,
    },
    /// NaN or infinity in a goal.
    #[error("goal {goal}: the pose is not finite")]
    GoalNotFinite {
        /// Which goal, from 1.
        goal: usize,
    },
    /// A setting that must be a positive number.
    #[error("{what} must be a finite number above zero, not {value}")]
    NotPositive {
        /// Name of the setting.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// A start value too far outside of its limits.
    #[error("the start value {value} of joint \"{joint}\" is outside of its limits [{lower}, {upper}] by {:.4}, more than the tolerance {tolerance}: move the joint back first", (lower - value).max(value - upper))]
    StartOutsideLimits {
        /// The joint.
        joint: String,
        /// Its value \[rad or m\].
        value: f64,
        /// Lower limit.
        lower: f64,
        /// Upper limit.
        upper: f64,
        /// How much is forgiven.
        tolerance: f64,
    },
    /// The arm meets something at the start already.
    #[error("at the start link \"{link}\" meets {}: a motion cannot begin in contact; move the arm out by hand or jogging, or check the obstacles", met(with))]
    StartCollides {
        /// The link.
        link: String,
        /// What it meets.
        with: Met,
    },
    /// Whichever way the arm reaches the goal, it meets something.
    #[error("goal {goal}: wherever the arm reaches it, it meets something (in one posture, link \"{link}\" meets {}): move the goal or the obstacle", met(with))]
    GoalCollides {
        /// Which goal, from 1.
        goal: usize,
        /// The link.
        link: String,
        /// What it meets.
        with: Met,
    },
    /// A configuration that cannot be checked for collisions.
    #[error("collision check: {0}")]
    Check(#[from] CheckError),
    /// The obstacles cannot be made into a world.
    #[error("obstacles: {0}")]
    World(#[from] WorldError),
    /// No road map of that name.
    #[error(transparent)]
    Roadmap(#[from] RoadmapError),
    /// No solver of that name.
    #[error(transparent)]
    UnknownSolver(#[from] UnknownSolver),
    /// No route in the plane.
    #[error("no route to goal {goal}: {source}")]
    Route {
        /// Which goal, from 1.
        goal: usize,
        /// Why.
        source: RouteError,
    },
    /// No route in the plane, and no way over the obstacles.
    #[error(
        "no route to goal {goal}: {source}; and none at the safe height of {height} m: {over}"
    )]
    RouteOver {
        /// Which goal, from 1.
        goal: usize,
        /// Why there is no route in the plan view.
        source: RouteError,
        /// Height above the plane at which a way was looked for \[m\].
        height: f64,
        /// Why there is none at that height.
        over: Box<RouteError>,
    },
    /// A planning plane or safe height that is no number.
    #[error("the planning plane and the safe height must be finite: the {0} is not")]
    Plane(&'static str),
    /// No joint values for a goal.
    #[error("goal {goal}: {source}")]
    Goal {
        /// Which goal, from 1.
        goal: usize,
        /// Why.
        source: IkError,
    },
    /// The arm cannot follow all the way.
    #[error("the arm can follow the path to goal {goal} for {:.1} % of its length only: {cause}", 100.0 * fraction)]
    PathBroken {
        /// Which goal, from 1.
        goal: usize,
        /// Fraction of the whole path (all goals) that is possible, 0 to 1.
        fraction: f64,
        /// Why it goes no further.
        cause: BreakCause,
        /// The part before.
        partial: Box<Partial>,
    },
    /// The arm cannot follow the route, and no other motion to the goal was found either.
    #[error("the arm can follow the route to goal {goal} for {:.1} % of its length only: {cause}; and off the route: {source}", 100.0 * fraction)]
    OffRoute {
        /// Which goal, from 1.
        goal: usize,
        /// Fraction of the whole path (all goals) that is possible on the route, 0 to 1.
        fraction: f64,
        /// Why the route cannot be followed any further.
        cause: BreakCause,
        /// Why there is no motion off the route.
        source: Box<JointSpaceError>,
        /// The part on the route.
        partial: Box<Partial>,
    },
}

impl PathError {
    /// Which part of the path is possible, 0 to 1.
    pub fn fraction(&self) -> f64 {
        match self {
            PathError::PathBroken { fraction, .. } | PathError::OffRoute { fraction, .. } => {
                *fraction
            }
            _ => 0.0,
        }
    }

    /// What was reached, where something was.
    pub fn partial(&self) -> Option<&Partial> {
        match self {
            PathError::PathBroken { partial, .. } | PathError::OffRoute { partial, .. } => {
                Some(partial)
            }
            _ => None,
        }
    }
}
