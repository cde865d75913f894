//! Why there is no motion in joint space.

use crate::collision::{CheckError, Contact, Obstacle};

/// Which end of a motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Where the arm is.
    Start,
    /// A goal, by its number from zero.
    Goal(usize),
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start => f.write_str("the start"),
            Self::Goal(number) => write!(f, "goal {number}"),
        }
    }
}

/// What a link meets, in words.
struct Words<'a>(&'a Contact);

impl std::fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let link = &self.0.link;
        match &self.0.with {
            Obstacle::Obstacle(id) => write!(f, "link '{link}' meets obstacle '{id}'"),
            Obstacle::Link(other) => write!(f, "link '{link}' meets link '{other}'"),
        }
    }
}

/// Why there is no motion in joint space.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum JointSpaceError {
    /// The collision model was made for another chain.
    #[error("the collision model is for {got} degrees of freedom, the chain has {expected}")]
    OtherChain {
        /// Degrees of freedom of the chain.
        expected: usize,
        /// Of the collision model.
        got: usize,
    },
    /// No goal at all.
    #[error("no goal configuration was given")]
    NoGoal,
    /// A configuration of the wrong length.
    #[error("{end} has {got} joint values, the chain has {expected} degrees of freedom")]
    Size {
        /// Which.
        end: End,
        /// Degrees of freedom.
        expected: usize,
        /// Values given.
        got: usize,
    },
    /// NaN or infinity.
    #[error("{end}: joint \"{joint}\" is {value}: joint values must be finite")]
    NotFinite {
        /// Which.
        end: End,
        /// The joint.
        joint: String,
        /// Its value.
        value: f64,
    },
    /// Outside a joint's limits.
    #[error("{end}: joint \"{joint}\" is at {value}, its limits are {lower} to {upper}")]
    BeyondLimits {
        /// Which.
        end: End,
        /// The joint.
        joint: String,
        /// Its value \[rad or m\].
        value: f64,
        /// Its lower limit \[rad or m\].
        lower: f64,
        /// Its upper limit \[rad or m\].
        upper: f64,
    },
    /// The arm would touch something (or come closer than the clearance) at an end already.
    #[error("{end} is in collision: {}", Words(.contact))]
    InCollision {
        /// Which.
        end: End,
        /// What meets what; of several goals, at the first.
        contact: Contact,
    },
    /// The budget is spent. There may be a motion, there may be none.
    #[error("no free motion was found with {samples} samples ({start_nodes} configurations were reached from the start, {goal_nodes} from the goal): raise the budget, or look for what encloses {}", if *start_nodes <= *goal_nodes { "the start" } else { "the goal" })]
    BudgetSpent {
        /// Samples drawn.
        samples: usize,
        /// Configurations reached from the start.
        start_nodes: usize,
        /// Configurations reached from the goals.
        goal_nodes: usize,
    },
    /// The caller said so.
    #[error("the search was given up after {samples} samples")]
    GaveUp {
        /// Samples drawn until then.
        samples: usize,
    },
    /// Anything else that the collision check says.
    #[error(transparent)]
    Check(#[from] CheckError),
}
