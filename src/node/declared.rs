//! All parameters, each declared once: name, type, default, what is allowed, and whether it may
//! be changed while the node runs.

use r2r::ParameterValue;

use crate::ik;

/// Type, default and allowed values of a parameter.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Any text.
    Text(&'static str),
    /// One of some texts; the function lists them.
    Choice(&'static str, fn() -> Vec<&'static str>),
    /// True or false.
    Flag(bool),
    /// A number.
    Number(f64, Range),
    /// A whole number, at least 1 and at most the second value.
    Count(i64, i64),
    /// A list of numbers, empty by default.
    Numbers(Range),
    /// A list of texts, empty by default.
    Texts,
}

/// Which numbers are allowed; never NaN or infinity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// Any finite number.
    Finite,
    /// Zero or more.
    NotNegative,
    /// More than zero.
    Positive,
    /// More than zero, at most one.
    Fraction,
}

impl Range {
    /// Whether the number is allowed.
    pub fn contains(self, value: f64) -> bool {
        value.is_finite()
            && match self {
                Range::Finite => true,
                Range::NotNegative => value >= 0.0,
                Range::Positive => value > 0.0,
                Range::Fraction => value > 0.0 && value <= 1.0,
            }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Range::Finite => "a finite number",
            Range::NotNegative => "a finite number of at least 0",
            Range::Positive => "a finite number greater than 0",
            Range::Fraction => "a number greater than 0 and at most 1",
        }
    }
}

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub struct Declared {
    /// Its name.
    pub name: &'static str,
    /// Type, default and what is allowed.
    pub kind: Kind,
    /// Whether it may be changed while the node runs.
    pub runtime: bool,
    /// What it is for, with its unit.
    pub description: &'static str,
}

const fn fixed(name: &'static str, kind: Kind, description: &'static str) -> Declared {
    Declared {
        name,
        kind,
        runtime: false,
        description,
    }
}

const fn runtime(name: &'static str, kind: Kind, description: &'static str) -> Declared {
    Declared {
        name,
        kind,
        runtime: true,
        description,
    }
}

fn solvers() -> Vec<&'static str> {
    let mut names = vec![""];
    names.extend(ik::solver_names());
    names
}

fn roadmaps() -> Vec<&'static str> {
    crate::roadmap::ROADMAPS
        .iter()
        .map(|(name, _)| *name)
        .collect()
}

fn contacts() -> Vec<&'static str> {
    vec!["blocked", "passable"]
}

fn interfaces() -> Vec<&'static str> {
    vec!["topic", "action"]
}

fn self_crossings() -> Vec<&'static str> {
    vec!["refuse", "resolve"]
}

use Kind::{Choice, Count, Flag, Number, Numbers, Text, Texts};
use Range::{Finite, Fraction, NotNegative, Positive};

/// Every parameter of the node.
pub const DECLARED: &[Declared] = &[
    fixed("urdf_file", Text(""), "Path of the URDF file, or package://PACKAGE/path; goes before robot_description"),
    fixed("robot_description", Text(""), "URDF text; empty, and no urdf_file: the topic robot_description is waited for"),
    fixed("base_link", Text(""), "First link of the arm; empty: found when there is one choice"),
    fixed("tip_link", Text(""), "Last link of the arm; empty: found when there is one choice"),
    fixed("use_soft_limits", Flag(false), "Use the soft limits of the description where they are narrower"),
    fixed("mock_controller", Flag(false), "Stand in for a controller and its joint states; never beside a real arm"),
    fixed("mock_rate", Number(100.0, Positive), "Rate of the mock controller's joint states [Hz]"),
    fixed("mock_initial_positions", Numbers(Finite), "Where the mock controller starts [rad or m], one a joint of the arm; empty: 0 or the middle of the limits"),
    fixed("mock_publish_tf", Flag(true), "Let the mock controller publish the transforms of all links"),
    fixed("controller_interface", Choice("topic", interfaces), "How trajectories get to the controller: by its topic, which tells nothing back, or by its action"),
    fixed("controller_topic", Text("joint_trajectory_controller/joint_trajectory"), "Topic that trajectories are sent to"),
    fixed("controller_action", Text("joint_trajectory_controller/follow_joint_trajectory"), "Action (control_msgs/FollowJointTrajectory) that trajectories are sent to"),
    fixed("controller_timeout", Number(1.0, Positive), "How long the controller may take to accept a trajectory that is sent by action [s]"),
    fixed("controller_joints", Texts, "Joints of the controller in its order; empty: the joints of the arm"),
    runtime("joint_state_max_age", Number(0.5, Positive), "Joint states older than this are not moved on [s]"),
    runtime("start_tolerance", Number(0.01, Positive), "Greatest distance of a trajectory's start from the current joint states [rad or m]"),
    runtime("limit_tolerance", Number(0.01, NotNegative), "A start at most this far outside its limits is moved onto them [rad or m]"),
    runtime("execute_on_goal_pose", Flag(true), "Send the motion to a goal pose to the controller; false: plan and show it only"),
    runtime("ik.solver", Choice("", solvers), "Solver to use alone; empty: the default order"),
    runtime("ik.position_tolerance", Number(1e-6, Positive), "Greatest distance of a solution from the target [m]"),
    runtime("ik.orientation_tolerance", Number(1e-6, Positive), "Greatest angle between a solution and the target [rad]"),
    runtime("ik.max_iterations", Count(200, 1_000_000), "Most iterations of one solver from one start"),
    runtime("ik.timeout", Number(0.1, Positive), "Time for one request [s]"),
    runtime("ik.max_step", Number(0.35, Positive), "Largest change of a joint in one iteration [rad or m]"),
    runtime("ik.preferred_posture", Numbers(Finite), "Posture to be near to where the target leaves a choice [rad or m], one a joint; empty: the middle of the limits"),
    runtime("ik.posture_weights", Numbers(NotNegative), "How much each joint's distance from that posture counts; empty: all 1"),
    runtime("planning.clearance", Number(0.03, NotNegative), "Distance to be kept from every obstacle [m]"),
    runtime("planning.roadmap", Choice("auto", roadmaps), "Road map on which routes are searched; auto: by the size of the world"),
    runtime("planning.contact", Choice("blocked", contacts), "Whether a path may slip between obstacles that touch"),
    runtime("planning.self_crossing", Choice("refuse", self_crossings), "What becomes of an obstacle that crosses itself"),
    runtime("planning.arc_tolerance", Number(0.001, Positive), "Greatest distance between a rounded corner and its polygon [m]"),
    runtime("planning.tip_step", Number(0.01, Positive), "Greatest distance between two poses at which a path is followed [m]"),
    runtime("planning.angle_step", Number(0.05, Positive), "Greatest rotation between two such poses [rad]"),
    fixed("planning.plane_frame", Text(""), "Frame whose XY plane is the planning plane: obstacles stand upright on it, heights count along its z; empty: the base link"),
    runtime("planning.whole_arm", Flag(true), "Keep all links out of obstacles and off each other, not the tip alone"),
    runtime("planning.leave_route", Flag(false), "Let the tip leave its route around the obstacles where the arm cannot follow it; requests may ask for that too"),
    runtime("planning.over", Flag(false), "Let the tip go up, over and down where it cannot go around, or where that is shorter"),
    runtime("planning.safe_height", Number(0.5, Finite), "Height at which it then crosses, above the planning plane [m]"),
    runtime("planning.deviation", Number(0.001, Positive), "Greatest distance of the tip from its path between two configurations [m]"),
    runtime("planning.angle_deviation", Number(0.008_726_646_259_971_648, Positive), "The same for its orientation [rad]"),
    runtime("planning.timeout", Number(10.0, Positive), "Time that one plan may take, waiting included [s]"),
        runtime("planning.max_joint_step", Number(0.2, Positive), "Largest move of a joint between two such poses [rad or m]"),
    runtime("trajectory.velocity_scaling", Number(1.0, Fraction), "Fraction of the velocity limits to use"),
    runtime("trajectory.acceleration_scaling", Number(1.0, Fraction), "Fraction of the acceleration limits to use"),
    runtime("trajectory.default_max_velocity", Number(1.0, Positive), "Velocity limit of joints whose description has none [rad/s or m/s]"),
    runtime("trajectory.max_acceleration", Numbers(Positive), "Acceleration limits, one a joint [rad/s^2 or m/s^2]; empty: the default for all"),
    runtime("trajectory.default_max_acceleration", Number(3.0, Positive), "Acceleration limit of all joints without one [rad/s^2 or m/s^2]"),
    runtime("trajectory.max_jerk", Numbers(Positive), "Jerk limits, one a joint [rad/s^3 or m/s^3]; empty: the default for all"),
    runtime("trajectory.default_max_jerk", Number(0.0, NotNegative), "Jerk limit of all joints without one [rad/s^3 or m/s^3]; 0: none"),
    runtime("trajectory.max_tip_speed", Number(0.0, NotNegative), "Largest speed of the tip [m/s]; 0: as fast as the joints allow"),
    runtime("trajectory.max_tip_acceleration", Number(0.0, NotNegative), "Largest acceleration of the tip [m/s^2]; 0: as the joints allow"),
    runtime("trajectory.sample_period", Number(0.02, Positive), "Time between two points of a trajectory [s]"),
    fixed("srdf_file", Text(""), "Path of an SRDF file whose disable_collisions are heeded, or package://PACKAGE/path; empty: the topic robot_description_semantic, if there is one"),
    fixed("mesh_paths", Texts, "Folders that hold packages with the meshes of the description, looked at before those of the environment"),
    runtime("collision.link_clearance", Number(0.01, NotNegative), "Distance that links keep from obstacles where the whole arm is planned for [m]"),
    runtime("collision.ground", Flag(false), "Whether there is solid ground that links must not meet"),
    runtime("collision.ground_height", Number(0.0, Finite), "Height of that ground along z of the base link [m]"),
    runtime("collision.check_motion", Flag(true), "Hold back what would bring any link into an obstacle or another link, and stop for an obstacle that comes into the way of any link; false: look at the tip alone"),
    runtime("execution.replan", Flag(true), "Plan anew when an obstacle comes into the way of a motion; false: stop and leave it at that"),
    runtime("tracking.max_step", Number(0.1, Positive), "Largest change of a joint that one tracking pose may ask for [rad or m]"),
];

impl Kind {
    /// The default.
    pub fn default_value(self) -> ParameterValue {
        match self {
            Text(text) | Choice(text, _) => ParameterValue::String(text.to_owned()),
            Flag(flag) => ParameterValue::Bool(flag),
            Number(number, _) => ParameterValue::Double(number),
            Count(count, _) => ParameterValue::Integer(count),
            Numbers(_) => ParameterValue::DoubleArray(Vec::new()),
            Texts => ParameterValue::StringArray(Vec::new()),
        }
    }

    /// The type in words.
    pub fn type_name(self) -> &'static str {
        match self {
            Text(_) | Choice(..) => "a text",
            Flag(_) => "true or false",
            Number(..) => "a number",
            Count(..) => "a whole number",
            Numbers(_) => "a list of numbers",
            Texts => "a list of texts",
        }
    }
}

/// The parameter called `name`.
pub fn declared(name: &str) -> Option<&'static Declared> {
    DECLARED.iter().find(|declared| declared.name == name)
}
