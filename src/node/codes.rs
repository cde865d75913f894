//! What a request came to: a code for programs and a sentence for people.

use r2r::arm_planner_msgs::msg::ErrorCode;

use super::frames::FrameError;
use super::joint_states::StateError;
use super::parameter_values::ParameterError;
use crate::ik::{IkError, SeedError, UnknownSolver};
use crate::kinematics::PoseError;
use crate::model::ChainError;
use crate::motion::{PlanError, PlanErrorKind};
use crate::planning::{BreakCause, PathError};
use crate::trajectory::{GateError, LimitsError};

/// The codes of `arm_planner_msgs/ErrorCode`, see there for their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Code {
    Success,
    Failure,
    PlanningFailed,
    InvalidMotionPlan,
    ControlFailed,
    TimedOut,
    Preempted,
    StartStateInCollision,
    GoalInCollision,
    InvalidRobotState,
    InvalidLinkName,
    InvalidObjectName,
    FrameTransformFailure,
    CollisionCheckingUnavailable,
    RobotStateStale,
    StartStateInvalid,
    NoIkSolution,
    NoPath,
    Unreachable,
    InvalidObstacle,
    UnsupportedChain,
    UnknownSolver,
    UnknownRoadmap,
    JointJump,
    GateRejected,
    InvalidParameter,
    InvalidRequest,
    NoJointState,
    NoModel,
}

impl Code {
    /// The number in the message.
    pub fn value(self) -> i32 {
        match self {
            Code::Success => ErrorCode::SUCCESS as i32,
            Code::Failure => ErrorCode::FAILURE as i32,
            Code::PlanningFailed => ErrorCode::PLANNING_FAILED as i32,
            Code::InvalidMotionPlan => ErrorCode::INVALID_MOTION_PLAN as i32,
            Code::ControlFailed => ErrorCode::CONTROL_FAILED as i32,
            Code::TimedOut => ErrorCode::TIMED_OUT as i32,
            Code::Preempted => ErrorCode::PREEMPTED as i32,
            Code::StartStateInCollision => ErrorCode::START_STATE_IN_COLLISION as i32,
            Code::GoalInCollision => ErrorCode::GOAL_IN_COLLISION as i32,
            Code::InvalidRobotState => ErrorCode::INVALID_ROBOT_STATE as i32,
            Code::InvalidLinkName => ErrorCode::INVALID_LINK_NAME as i32,
            Code::InvalidObjectName => ErrorCode::INVALID_OBJECT_NAME as i32,
            Code::FrameTransformFailure => ErrorCode::FRAME_TRANSFORM_FAILURE as i32,
            Code::CollisionCheckingUnavailable => ErrorCode::COLLISION_CHECKING_UNAVAILABLE as i32,
            Code::RobotStateStale => ErrorCode::ROBOT_STATE_STALE as i32,
            Code::StartStateInvalid => ErrorCode::START_STATE_INVALID as i32,
            Code::NoIkSolution => ErrorCode::NO_IK_SOLUTION as i32,
            Code::NoPath => ErrorCode::NO_PATH as i32,
            Code::Unreachable => ErrorCode::UNREACHABLE as i32,
            Code::InvalidObstacle => ErrorCode::INVALID_OBSTACLE as i32,
            Code::UnsupportedChain => ErrorCode::UNSUPPORTED_CHAIN as i32,
            Code::UnknownSolver => ErrorCode::UNKNOWN_SOLVER as i32,
            Code::UnknownRoadmap => ErrorCode::UNKNOWN_ROADMAP as i32,
            Code::JointJump => ErrorCode::JOINT_JUMP as i32,
            Code::GateRejected => ErrorCode::GATE_REJECTED as i32,
            Code::InvalidParameter => ErrorCode::INVALID_PARAMETER as i32,
            Code::InvalidRequest => ErrorCode::INVALID_REQUEST as i32,
            Code::NoJointState => ErrorCode::NO_JOINT_STATE as i32,
            Code::NoModel => ErrorCode::NO_MODEL as i32,
        }
    }

    /// The message.
    pub fn message(self) -> ErrorCode {
        ErrorCode {
            value: self.value(),
        }
    }
}

/// Something that was asked for and cannot be had.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// For programs.
    pub code: Code,
    /// For people: what, where, and what to do.
    pub message: String,
}

impl Failure {
    /// A failure in words.
    pub fn new(code: Code, message: impl Into<String>) -> Failure {
        Failure {
            code,
            message: message.into(),
        }
    }

    /// The same with `what: ` before the message.
    #[must_use]
    pub fn of(self, what: &str) -> Failure {
        Failure {
            message: format!("{what}: {}", self.message),
            ..self
        }
    }
}

impl From<PoseError> for Failure {
    fn from(error: PoseError) -> Self {
        Failure::new(Code::InvalidRequest, error.to_string())
    }
}

impl From<FrameError> for Failure {
    fn from(error: FrameError) -> Self {
        Failure::new(Code::FrameTransformFailure, error.to_string())
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        let code = match error {
            StateError::Nothing { .. } | StateError::Missing { .. } => Code::NoJointState,
            StateError::Stale { .. } => Code::RobotStateStale,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<ChainError> for Failure {
    fn from(error: ChainError) -> Self {
        let code = match error {
            ChainError::UnsupportedJointInChain { .. } => Code::UnsupportedChain,
            _ => Code::InvalidLinkName,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<ParameterError> for Failure {
    fn from(error: ParameterError) -> Self {
        Failure::new(Code::InvalidParameter, error.to_string())
    }
}

impl From<SeedError> for Failure {
    fn from(error: SeedError) -> Self {
        let code = match error {
            SeedError::SeedMissingJoint { .. } => Code::InvalidRobotState,
            _ => Code::InvalidRequest,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<UnknownSolver> for Failure {
    fn from(error: UnknownSolver) -> Self {
        Failure::new(Code::UnknownSolver, error.to_string())
    }
}

fn ik_code(error: &IkError) -> Code {
    if error.is_unreachable() {
        return Code::Unreachable;
    }
    match error {
        IkError::NotConverged {
            timed_out: true, ..
        } => Code::TimedOut,
        IkError::UnsupportedChain { .. } => Code::UnsupportedChain,
        IkError::WrongSize { .. } | IkError::Invalid(_) => Code::InvalidRequest,
        _ => Code::NoIkSolution,
    }
}

impl From<&IkError> for Failure {
    fn from(error: &IkError) -> Self {
        Failure::new(ik_code(error), error.to_string())
    }
}

impl From<LimitsError> for Failure {
    fn from(error: LimitsError) -> Self {
        let code = match error {
            LimitsError::Scaling { .. } => Code::InvalidRequest,
            _ => Code::InvalidParameter,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<GateError> for Failure {
    fn from(error: GateError) -> Self {
        let message = format!(
            "the trajectory was not sent, the last check before the controller refused it: {error}"
        );
        Failure::new(Code::GateRejected, message)
    }
}

impl From<&PlanError> for Failure {
    fn from(error: &PlanError) -> Self {
        let code = match error.kind() {
            PlanErrorKind::InvalidRequest => Code::InvalidRequest,
            PlanErrorKind::UnknownRoadmap => Code::UnknownRoadmap,
            PlanErrorKind::UnknownSolver => Code::UnknownSolver,
            PlanErrorKind::StartInObstacle => Code::StartStateInCollision,
            PlanErrorKind::GoalInObstacle => Code::GoalInCollision,
            PlanErrorKind::NoRoute => Code::NoPath,
            PlanErrorKind::StartOutsideLimits => Code::StartStateInvalid,
            PlanErrorKind::GoalUnreachable => Code::Unreachable,
            PlanErrorKind::GoalNoIk => Code::NoIkSolution,
            PlanErrorKind::PathBroken => match error {
                PlanError::Path(PathError::PathBroken {
                    cause: BreakCause::JointJump { .. },
                    ..
                }) => Code::JointJump,
                _ => Code::PlanningFailed,
            },
            PlanErrorKind::StartCollides => Code::StartStateInCollision,
            PlanErrorKind::GoalCollides => Code::GoalInCollision,
            PlanErrorKind::WayCollides => Code::PlanningFailed,
            PlanErrorKind::Timing => Code::InvalidMotionPlan,
            PlanErrorKind::TimedOut => Code::TimedOut,
        };
        Failure::new(code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_interface() {
        for (code, number) in [
            (Code::Success, 1),
            (Code::Failure, 99999),
            (Code::TimedOut, -6),
            (Code::StartStateInCollision, -10),
            (Code::GoalInCollision, -12),
            (Code::CollisionCheckingUnavailable, -22),
            (Code::NoIkSolution, -31),
            (Code::NoPath, -1001),
            (Code::NoModel, -1012),
        ] {
            assert_eq!(code.value(), number, "{code:?}");
        }
    }

    #[test]
    fn errors_find_their_codes() {
        let stale = StateError::Stale {
            stale: vec![("elbow".into(), 1.5)],
            limit: 0.5,
        };
        assert_eq!(Failure::from(stale.clone()).code, Code::RobotStateStale);
        assert_eq!(
            Failure::from(StateError::Nothing { topic: "t".into() }).code,
            Code::NoJointState
        );
        let frame = FrameError::State {
            frame: "tool".into(),
            error: stale,
        };
        let failure = Failure::from(frame).of("goal");
        assert_eq!(failure.code, Code::FrameTransformFailure);
        assert!(
            failure.message.starts_with("goal: frame \"tool\" moves"),
            "{failure}"
        );
        let unreachable = IkError::Unreachable {
            distance: 3.0,
            reach: 1.0,
            best: None,
        };
        assert_eq!(Failure::from(&unreachable).code, Code::Unreachable);
        let path = PlanError::Path(PathError::Goal {
            goal: 1,
            source: unreachable,
        });
        assert_eq!(Failure::from(&path).code, Code::Unreachable);
        let cause = BreakCause::JointJump {
            joint: "wrist".into(),
            step: 2.0,
            allowed: 0.2,
        };
        let broken = PathError::PathBroken {
            goal: 1,
            fraction: 0.5,
            cause,
            partial: Box::default(),
        };
        assert_eq!(
            Failure::from(&PlanError::Path(broken)).code,
            Code::JointJump
        );
    }
}
