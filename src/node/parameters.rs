//! Parameters: from checked values to what they mean.

use std::collections::BTreeMap;
use std::time::Duration;

use r2r::ParameterValue;

use super::parameter_values::{ParameterError, Values};
use crate::ik::Posture;
use crate::model::Chain;
use crate::planar::{Contact, PolygonOptions, SelfCrossing};
use crate::trajectory::{LimitDefaults, LimitsError, MotionLimits, TimingOptions};

/// Parameters of the mock controller.
#[derive(Debug, Clone, PartialEq)]
pub struct MockParameters {
    /// Whether there is one.
    pub enabled: bool,
    /// Rate of its joint states \[Hz\].
    pub rate: f64,
    /// Where the arm starts \[rad or m\]; empty or one a degree of freedom.
    pub initial_positions: Vec<f64>,
    /// Whether it publishes TF.
    pub publish_tf: bool,
}

/// Parameters of inverse kinematics.
#[derive(Debug, Clone, PartialEq)]
pub struct IkParameters {
    /// Solver to use alone; empty: the default order.
    pub solver: String,
    /// \[m\]
    pub position_tolerance: f64,
    /// \[rad\]
    pub orientation_tolerance: f64,
    /// Most iterations of one solver from one start.
    pub max_iterations: u32,
    /// Time for one request \[s\].
    pub timeout: f64,
    /// Largest change of a joint in one iteration \[rad or m\].
    pub max_step: f64,
    /// Empty or one value a degree of freedom \[rad or m\].
    pub preferred_posture: Vec<f64>,
    /// Empty or one weight a degree of freedom.
    pub posture_weights: Vec<f64>,
}

/// Parameters of path planning.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanningParameters {
    /// Distance to be kept \[m\].
    pub clearance: f64,
    /// Name of the road map.
    pub roadmap: String,
    /// Whether contacts can be passed.
    pub contact: Contact,
    /// How obstacle polygons are read.
    pub polygon: PolygonOptions,
    /// \[m\]
    pub arc_tolerance: f64,
    /// \[m\]
    pub tip_step: f64,
    /// \[rad\]
    pub angle_step: f64,
    /// \[rad or m\]
    pub max_joint_step: f64,
    /// Frame of the planning plane, empty: the base link.
    pub plane_frame: String,
    /// Whether all links are kept out of obstacles.
    pub whole_arm: bool,
    /// Whether the tip may leave its route.
    pub leave_route: bool,
    /// Height above the plane for going over obstacles \[m\], if that is allowed.
    pub safe_height: Option<f64>,
    /// \[m\]
    pub deviation: f64,
    /// \[rad\]
    pub angle_deviation: f64,
    /// Time for one plan, waiting for others included.
    pub timeout: Duration,
}

/// Parameters of timing.
#[derive(Debug, Clone, PartialEq)]
pub struct TimingParameters {
    /// Fraction of the velocity limits.
    pub velocity_scaling: f64,
    /// Fraction of the acceleration limits.
    pub acceleration_scaling: f64,
    /// \[rad/s or m/s\]
    pub default_max_velocity: f64,
    /// Empty or one value a degree of freedom \[rad/s² or m/s²\].
    pub max_acceleration: Vec<f64>,
    /// \[rad/s² or m/s²\]
    pub default_max_acceleration: f64,
    /// Empty or one value a degree of freedom \[rad/s³ or m/s³\].
    pub max_jerk: Vec<f64>,
    /// \[rad/s³ or m/s³\]; none: not limited.
    pub default_max_jerk: Option<f64>,
    /// Limits of the tip.
    pub tip: TimingOptions,
    /// \[s\]
    pub sample_period: f64,
}

/// Parameters of checks of the whole arm.
#[derive(Debug, Clone, PartialEq)]
pub struct CollisionParameters {
    /// Path or `package://` of the SRDF; may be empty.
    pub srdf_file: String,
    /// Folders with packages.
    pub mesh_paths: Vec<String>,
    /// \[m\]
    pub link_clearance: f64,
    /// Height of the ground \[m\], if there is one.
    pub ground: Option<f64>,
    /// Whether motions are checked before they are sent, and while the arm moves.
    pub check_motion: bool,
}

/// How trajectories get to the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// By topic.
    Topic,
    /// By action.
    Action,
}

/// Parameters of the controller.
#[derive(Debug, Clone, PartialEq)]
pub struct ControllerSettings {
    /// How trajectories get there.
    pub interface: Interface,
    /// Where they go by topic.
    pub topic: String,
    /// Where they go by action.
    pub action: String,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Its joints in its order; empty: the chain's.
    pub joints: Vec<String>,
}

/// All parameters, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// Path or `package://` of the URDF; may be empty.
    pub urdf_file: String,
    /// URDF text; may be empty.
    pub robot_description: String,
    /// May be empty.
    pub base_link: String,
    /// May be empty.
    pub tip_link: String,
    /// Whether soft limits count.
    pub use_soft_limits: bool,
    /// The mock controller.
    pub mock: MockParameters,
    /// The controller.
    pub controller: ControllerSettings,
    /// \[s\]
    pub joint_state_max_age: f64,
    /// \[rad or m\]
    pub start_tolerance: f64,
    /// \[rad or m\]
    pub limit_tolerance: f64,
    /// Whether goal poses move the arm.
    pub execute_on_goal_pose: bool,
    /// Inverse kinematics.
    pub ik: IkParameters,
    /// Path planning.
    pub planning: PlanningParameters,
    /// Timing.
    pub timing: TimingParameters,
    /// Checks of the whole arm.
    pub collision: CollisionParameters,
    /// Whether an obstacle in the way makes the arm plan anew.
    pub replan: bool,
    /// Largest change of a joint by one tracking pose \[rad or m\].
    pub tracking_max_step: f64,
}

/// Reads checked values; a name that is not there gives the type's default, which the test on
/// the table of parameters rules out.
struct Reader<'a>(&'a Values);

impl Reader<'_> {
    fn text(&self, name: &str) -> String {
        match self.0.get(name) {
            Some(ParameterValue::String(text)) => text.clone(),
            _ => String::new(),
        }
    }

    fn flag(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(ParameterValue::Bool(true)))
    }

    fn number(&self, name: &str) -> f64 {
        match self.0.get(name) {
            Some(ParameterValue::Double(number)) => *number,
            _ => 0.0,
        }
    }

    /// A limit, zero for none.
    fn limit(&self, name: &str) -> Option<f64> {
        Some(self.number(name)).filter(|limit| *limit > 0.0)
    }

    fn count(&self, name: &str) -> u32 {
        match self.0.get(name) {
            Some(ParameterValue::Integer(count)) => u32::try_from(*count).unwrap_or(u32::MAX),
            _ => 0,
        }
    }

    fn numbers(&self, name: &str) -> Vec<f64> {
        match self.0.get(name) {
            Some(ParameterValue::DoubleArray(list)) => list.clone(),
            _ => Vec::new(),
        }
    }

    fn texts(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(ParameterValue::StringArray(list)) => list.clone(),
            _ => Vec::new(),
        }
    }
}

impl Parameters {
    /// From values that [`checked`] has passed.
    pub fn new(values: &Values) -> Parameters {
        let read = Reader(values);
        Parameters {
            urdf_file: read.text("urdf_file"),
            robot_description: read.text("robot_description"),
            base_link: read.text("base_link"),
            tip_link: read.text("tip_link"),
            use_soft_limits: read.flag("use_soft_limits"),
            mock: MockParameters {
                enabled: read.flag("mock_controller"),
                rate: read.number("mock_rate"),
                initial_positions: read.numbers("mock_initial_positions"),
                publish_tf: read.flag("mock_publish_tf"),
            },
            controller: ControllerSettings {
                interface: match read.text("controller_interface").as_str() {
                    "action" => Interface::Action,
                    _ => Interface::Topic,
                },
                topic: read.text("controller_topic"),
                action: read.text("controller_action"),
                timeout: Duration::try_from_secs_f64(read.number("controller_timeout"))
                    .unwrap_or(Duration::MAX),
                joints: read.texts("controller_joints"),
            },
            joint_state_max_age: read.number("joint_state_max_age"),
            start_tolerance: read.number("start_tolerance"),
            limit_tolerance: read.number("limit_tolerance"),
            execute_on_goal_pose: read.flag("execute_on_goal_pose"),
            ik: IkParameters {
                solver: read.text("ik.solver"),
                position_tolerance: read.number("ik.position_tolerance"),
                orientation_tolerance: read.number("ik.orientation_tolerance"),
                max_iterations: read.count("ik.max_iterations"),
                timeout: read.number("ik.timeout"),
                max_step: read.number("ik.max_step"),
                preferred_posture: read.numbers("ik.preferred_posture"),
                posture_weights: read.numbers("ik.posture_weights"),
            },
            planning: PlanningParameters {
                clearance: read.number("planning.clearance"),
                roadmap: read.text("planning.roadmap"),
                contact: match read.text("planning.contact").as_str() {
                    "passable" => Contact::Passable,
                    _ => Contact::Blocked,
                },
                polygon: PolygonOptions {
                    self_crossing: match read.text("planning.self_crossing").as_str() {
                        "resolve" => SelfCrossing::Resolve,
                        _ => SelfCrossing::Refuse,
                    },
                    ..PolygonOptions::default()
                },
                arc_tolerance: read.number("planning.arc_tolerance"),
                tip_step: read.number("planning.tip_step"),
                angle_step: read.number("planning.angle_step"),
                max_joint_step: read.number("planning.max_joint_step"),
                plane_frame: read.text("planning.plane_frame"),
                whole_arm: read.flag("planning.whole_arm"),
                leave_route: read.flag("planning.leave_route"),
                safe_height: read
                    .flag("planning.over")
                    .then(|| read.number("planning.safe_height")),
                deviation: read.number("planning.deviation"),
                angle_deviation: read.number("planning.angle_deviation"),
                timeout: Duration::try_from_secs_f64(read.number("planning.timeout"))
                    .unwrap_or(Duration::MAX),
            },
            timing: TimingParameters {
                velocity_scaling: read.number("trajectory.velocity_scaling"),
                acceleration_scaling: read.number("trajectory.acceleration_scaling"),
                default_max_velocity: read.number("trajectory.default_max_velocity"),
                max_acceleration: read.numbers("trajectory.max_acceleration"),
                default_max_acceleration: read.number("trajectory.default_max_acceleration"),
                max_jerk: read.numbers("trajectory.max_jerk"),
                default_max_jerk: read.limit("trajectory.default_max_jerk"),
                tip: TimingOptions {
                    tip_speed: read.limit("trajectory.max_tip_speed"),
                    tip_acceleration: read.limit("trajectory.max_tip_acceleration"),
                    ..TimingOptions::default()
                },
                sample_period: read.number("trajectory.sample_period"),
            },
            collision: CollisionParameters {
                srdf_file: read.text("srdf_file"),
                mesh_paths: read.texts("mesh_paths"),
                link_clearance: read.number("collision.link_clearance"),
                ground: read
                    .flag("collision.ground")
                    .then(|| read.number("collision.ground_height")),
                check_motion: read.flag("collision.check_motion"),
            },
            replan: read.flag("execution.replan"),
            tracking_max_step: read.number("tracking.max_step"),
        }
    }

    /// Checks the lists that have one value a joint against the arm.
    ///
    /// # Errors
    /// [`ParameterError::NotAllowed`].
    pub fn check_lengths(&self, chain: &Chain) -> Result<(), ParameterError> {
        for (name, list) in [
            ("mock_initial_positions", &self.mock.initial_positions),
            ("ik.preferred_posture", &self.ik.preferred_posture),
            ("ik.posture_weights", &self.ik.posture_weights),
            ("trajectory.max_acceleration", &self.timing.max_acceleration),
            ("trajectory.max_jerk", &self.timing.max_jerk),
        ] {
            if !list.is_empty() && list.len() != chain.dof() {
                return Err(ParameterError::NotAllowed {
                    name: name.to_owned(),
                    value: format!("a list of {}", list.len()),
                    allowed: format!(
                        "empty or a list of {}: {}",
                        chain.dof(),
                        chain.joint_names().join(", ")
                    ),
                });
            }
        }
        Ok(())
    }

    /// The preferred posture for `chain`, joint by joint from that of the arm: the parameter's,
    /// else the middle of the limits.
    pub fn posture(&self, arm: &Chain, chain: &Chain) -> Posture {
        let of_arm = |list: &[f64], name: &str| {
            arm.dof_index(name)
                .and_then(|index| list.get(index).copied())
        };
        let values = chain.dofs.iter().map(|dof| {
            of_arm(&self.ik.preferred_posture, &dof.name).unwrap_or_else(|| dof.middle())
        });
        let weights = chain
            .dofs
            .iter()
            .map(|dof| of_arm(&self.ik.posture_weights, &dof.name).unwrap_or(1.0));
        Posture {
            values: values.collect(),
            weights: weights.collect(),
        }
    }

    /// The motion limits of the arm, not yet scaled.
    ///
    /// # Errors
    /// See [`LimitsError`].
    pub fn motion_limits(&self, chain: &Chain) -> Result<MotionLimits, LimitsError> {
        let accelerations = chain.joint_names().into_iter();
        MotionLimits::from_chain(
            chain,
            &LimitDefaults {
                velocity: self.timing.default_max_velocity,
                acceleration: self.timing.default_max_acceleration,
                velocity_by_joint: BTreeMap::new(),
                acceleration_by_joint: accelerations
                    .zip(self.timing.max_acceleration.iter().copied())
                    .collect(),
                jerk: self.timing.default_max_jerk,
                jerk_by_joint: chain
                    .joint_names()
                    .into_iter()
                    .zip(self.timing.max_jerk.iter().copied())
                    .collect(),
            },
        )
    }
}

#[cfg(test)]
#[path = "parameters_tests.rs"]
mod tests;
