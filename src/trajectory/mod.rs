//! From a path of the joints to motion that a controller may execute: limits, smooth paths,
//! time-optimal timing, sampling, stops, and the gate that every outgoing trajectory passes.

mod averaged;
mod blend;
mod bounds;
mod certify;
mod controller_rules;
mod crossing;
mod gate;
mod gate_error;
mod gate_motion;
mod intervals;
mod jerk;
mod limits;
mod message;
mod point_to_point;
mod polynomial;
mod profile;
mod program;
mod retime;
mod rows;
mod sampled;
mod solver;
mod spline;
mod stage;
mod states;
mod stop;
mod sweep;
mod third_order;
mod tip;

pub use blend::{
    blend, stop_configuration, stop_then_go, Blend, BlendError, BLEND_START_TOLERANCE,
    BLEND_STOP_SHARE,
};
pub use controller_rules::{
    controller_verdict, Commanded, ControllerParameters, Follower, Rejection,
};
pub use gate::{
    check, joint_bounds, Checked, Clamp, ConfigurationCheck, GateContext, GatePolicy, JointBounds,
    MeasuredJoint,
};
pub use gate_error::{Field, GateError, Obstruction};
pub use limits::{LimitDefaults, LimitsError, MotionLimits};
pub use message::{nanoseconds, seconds, OutgoingPoint, OutgoingTrajectory};
pub use point_to_point::{point_to_point, PointToPointError};
pub use polynomial::{JointState, Segment};
pub use retime::{
    retime, RetimeError, TimedPath, TimingKnot, TimingOptions, KNOT_SLACK, SAMPLING_SLACK,
    START_ANGLE_COSINE,
};
pub use sampled::{Interpolation, Trajectory, TrajectoryPoint};
pub use spline::{EndCondition, Spline, SplineError};
pub use stop::{stop_trajectory, Stop, StopError};
