//! Why the gate holds a trajectory back.

use crate::collision::{Contact, Obstacle};

/// Which list of a trajectory point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Positions.
    Positions,
    /// Velocities.
    Velocities,
    /// Accelerations.
    Accelerations,
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Positions => "positions",
            Self::Velocities => "velocities",
            Self::Accelerations => "accelerations",
        })
    }
}

/// What a configuration runs into.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstruction {
    /// A link meets an obstacle.
    #[error("link '{link}' meets obstacle '{obstacle}'")]
    Obstacle {
        /// Name of the link.
        link: String,
        /// Id of the obstacle.
        obstacle: String,
    },
    /// Two links of the arm meet.
    #[error("link '{link}' meets link '{other}'")]
    SelfContact {
        /// Name of one link.
        link: String,
        /// Name of the other.
        other: String,
    },
    /// Something else, in words.
    #[error("{0}")]
    Other(String),
}

impl From<Contact> for Obstruction {
    fn from(contact: Contact) -> Self {
        let link = contact.link;
        match contact.with {
            Obstacle::Obstacle(obstacle) => Self::Obstacle { link, obstacle },
            Obstacle::Link(other) => Self::SelfContact { link, other },
        }
    }
}

/// Why a trajectory is not handed to the controller. Points are counted from zero.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GateError {
    /// No points.
    #[error("the trajectory has no points: the arm is already there, or planning gave nothing")]
    Empty,
    /// A joint that the controller has not.
    #[error("joint '{joint}' is not one of the controller's joints ({}): check the parameter that lists them", known.join(", "))]
    UnknownJoint {
        /// The name.
        joint: String,
        /// The controller's joints.
        known: Vec<String>,
    },
    /// A joint that is named twice.
    #[error("joint '{joint}' is named more than once")]
    DuplicateJoint {
        /// The name.
        joint: String,
    },
    /// Joints of the controller that the trajectory does not name.
    #[error("the controller also moves {}: the trajectory must name all of its joints", joints.join(", "))]
    MissingJoints {
        /// Their names.
        joints: Vec<String>,
    },
    /// A controller joint whose limits are not known.
    #[error("no limits are known for joint '{joint}': it is not part of the planned chain, so its motion cannot be checked")]
    NoBounds {
        /// Its name.
        joint: String,
    },
    /// A list of the wrong length.
    #[error("point {point} has {got} {field} for {expected} joints")]
    Length {
        /// The point.
        point: usize,
        /// Which list.
        field: Field,
        /// How many it has.
        got: usize,
        /// How many joints there are.
        expected: usize,
    },
    /// Some points have the field, others not: the interpolation would change within the motion.
    #[error("only some points have {field} (point {point} differs from point 0): give them for all points or for none")]
    MixedFields {
        /// The first point that differs from point 0.
        point: usize,
        /// Which list.
        field: Field,
    },
    /// Accelerations without velocities: the controller would ignore them.
    #[error("point {point} has accelerations but no velocities: give both")]
    AccelerationsAlone {
        /// The point.
        point: usize,
    },
    /// Effort values, which position controllers refuse.
    #[error("point {point} has effort values: leave them empty, the controller takes positions")]
    Effort {
        /// The point.
        point: usize,
    },
    /// NaN or infinity.
    #[error("the {field} of joint '{joint}' at point {point} are not finite ({value})")]
    NotFinite {
        /// The joint.
        joint: String,
        /// The point.
        point: usize,
        /// Which list.
        field: Field,
        /// The value.
        value: f64,
    },
    /// A time before the start.
    #[error("point {point} lies {} ns before the start: times must not be negative", -time_ns)]
    NegativeTime {
        /// The point.
        point: usize,
        /// Its time \[ns\].
        time_ns: i64,
    },
    /// Times that do not rise.
    #[error("the time of point {point} ({time_ns} ns) is not later than that of the point before ({before_ns} ns)")]
    TimeNotRising {
        /// The later point.
        point: usize,
        /// Its time \[ns\].
        time_ns: i64,
        /// The time before \[ns\].
        before_ns: i64,
    },
    /// A stamp before now: a part of the motion would be skipped.
    #[error("the trajectory starts {:.3} s in the past: leave the stamp zero to start on arrival", *.late_ns as f64 / 1e9)]
    StampInPast {
        /// By how much \[ns\].
        late_ns: i64,
    },
    /// A stamp too far ahead.
    #[error("the trajectory starts {:.3} s from now, later than the {most:.3} s allowed: leave the stamp zero, and check that all clocks agree (use_sim_time)", *.ahead_ns as f64 / 1e9)]
    StampTooFar {
        /// By how much \[ns\].
        ahead_ns: i64,
        /// Most that is allowed \[s\].
        most: f64,
    },
    /// A joint without a measured state.
    #[error("no state of joint '{joint}' has been measured yet: is the joint state broadcaster running?")]
    NoState {
        /// The joint.
        joint: String,
    },
    /// A measured state that is too old (or from the future, with a negative age).
    #[error("the measured state of joint '{joint}' is {age:.3} s old, at most {most:.3} s are allowed: are joint states still coming, and do the clocks agree?")]
    StaleState {
        /// The joint.
        joint: String,
        /// Its age \[s\].
        age: f64,
        /// Most that is allowed \[s\].
        most: f64,
    },
    /// The first point is not where the arm is.
    #[error("joint '{joint}' is measured at {measured:.6} but the trajectory starts at {start:.6}, more than {tolerance:.6} away: plan again from the current state")]
    StartElsewhere {
        /// The joint.
        joint: String,
        /// Where it is \[rad or m\].
        measured: f64,
        /// Where the trajectory starts \[rad or m\].
        start: f64,
        /// Most that is allowed \[rad or m\].
        tolerance: f64,
    },
    /// The first point's velocity is not that of the arm.
    #[error("joint '{joint}' moves at {measured:.4} but the trajectory starts at {start:.4} (allowed difference {tolerance:.4}): stop the arm first, or plan again")]
    StartVelocity {
        /// The joint.
        joint: String,
        /// Its measured velocity \[rad/s or m/s\].
        measured: f64,
        /// The trajectory's velocity at its start \[rad/s or m/s\].
        start: f64,
        /// Most that is allowed \[rad/s or m/s\].
        tolerance: f64,
    },
    /// A position outside the limits at a point.
    #[error(
        "joint '{joint}' is at {value} at point {point}, outside its limits {lower} to {upper}"
    )]
    Position {
        /// The joint.
        joint: String,
        /// The point.
        point: usize,
        /// The position \[rad or m\].
        value: f64,
        /// Lower limit \[rad or m\].
        lower: f64,
        /// Upper limit \[rad or m\].
        upper: f64,
    },
    /// A position outside the limits between two points.
    #[error("on its way to point {point} joint '{joint}' reaches {value:.6}, outside its limits {lower} to {upper}: give more points")]
    PositionBetween {
        /// The joint.
        joint: String,
        /// The later of the two points.
        point: usize,
        /// The extreme position \[rad or m\].
        value: f64,
        /// Lower limit \[rad or m\].
        lower: f64,
        /// Upper limit \[rad or m\].
        upper: f64,
    },
    /// Faster than allowed, at a point or on the way to it.
    #[error("joint '{joint}' reaches a speed of {value:.4} on its way to point {point}, its limit is {limit:.4}: give more time")]
    Velocity {
        /// The joint.
        joint: String,
        /// The later of the two points.
        point: usize,
        /// The speed \[rad/s or m/s\].
        value: f64,
        /// The limit \[rad/s or m/s\].
        limit: f64,
    },
    /// Accelerating harder than allowed, at a point or on the way to it.
    #[error("joint '{joint}' accelerates at {value:.4} on its way to point {point}, its limit is {limit:.4}: give more time")]
    Acceleration {
        /// The joint.
        joint: String,
        /// The later of the two points.
        point: usize,
        /// The acceleration \[rad/s² or m/s²\].
        value: f64,
        /// The limit \[rad/s² or m/s²\].
        limit: f64,
    },
    /// The velocity jumps, as it does between points that have positions only.
    #[error("the velocity of joint '{joint}' jumps by {step:.4} at point {point}: give velocities and accelerations with the points")]
    VelocityJump {
        /// The joint.
        joint: String,
        /// The point.
        point: usize,
        /// The jump \[rad/s or m/s\].
        step: f64,
    },
    /// A motion that does not end at rest.
    #[error("joint '{joint}' still moves at {velocity} at the last point: end at rest")]
    EndsMoving {
        /// The joint.
        joint: String,
        /// Its velocity \[rad/s or m/s\].
        velocity: f64,
    },
    /// The arm would run into something.
    #[error("at {time:.3} s (on the way to point {point}) {what}")]
    Collision {
        /// When \[s\].
        time: f64,
        /// The point at, or the later of the two between, which it happens.
        point: usize,
        /// What meets what.
        what: Obstruction,
    },
}
