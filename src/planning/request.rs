//! What is asked of the planner, and what it answers.

use nalgebra::{Point2, Vector3};

use super::{JointPath, JointSpaceSettings};
use crate::collision::{CollisionModel, CollisionWorld, Prism};
use crate::ik::IkRequest;
use crate::kinematics::Pose;
use crate::planar::{Contact, Polygon};
use crate::roadmap::AUTO;

/// A prism that the tip must go around, in the coordinates of the planning plane (see
/// [`PathSettings::plane`]; by default those of the chain's base frame).
#[derive(Debug, Clone, PartialEq)]
pub struct Obstacle {
    /// Name for messages.
    pub id: String,
    /// Outline in the plane \[m\].
    pub polygon: Polygon,
    /// Lower end along the plane's z \[m\], minus infinity if unbounded.
    pub min_height: f64,
    /// Upper end along the plane's z \[m\], infinity if unbounded.
    pub max_height: f64,
}

impl Obstacle {
    /// Whether a tip that moves at heights from `low` to `high` \[m\] comes closer than `clearance` \[m\]
    /// to the prism's height range; touching is allowed.
    pub fn blocks(&self, (low, high): (f64, f64), clearance: f64) -> bool {
        high > self.min_height - clearance && low < self.max_height + clearance
    }
}

/// Half the thickness that a wall without thickness is given for checks of the whole arm \[m\].
const WALL: f64 = 5e-4;

/// How far the z axis of a planning plane may lean from the base frame's for its obstacles to count as
/// upright there \[rad\].
const UPRIGHT: f64 = 1e-6;

impl Obstacle {
    /// The obstacle as prisms for [`CollisionWorld::new`]: its outline, and its walls with a little
    /// thickness. `plane` is the planning plane's pose in the base frame; prisms are given in
    /// [`collision_frame`] of it.
    pub fn prisms(&self, plane: &Pose) -> Vec<Prism> {
        let plane = if leans(plane) {
            Pose::identity()
        } else {
            *plane
        };
        let lift = plane.translation.z;
        let corner = |point: &Point2<f64>| {
            let moved = plane * nalgebra::Point3::new(point.x, point.y, 0.0);
            [moved.x, moved.y]
        };
        let prism = |polygon: Vec<[f64; 2]>| Prism {
            id: self.id.clone(),
            polygon,
            min_z: self.min_height + lift,
            max_z: self.max_height + lift,
        };
        let mut all = vec![prism(self.polygon.outer().iter().map(corner).collect())];
        for [a, b] in self.polygon.walls() {
            let along = b - a;
            if along.norm() > 0.0 {
                let across = nalgebra::Vector2::new(-along.y, along.x).normalize() * WALL;
                let corners = [a + across, a - across, b - across, b + across];
                all.push(prism(corners.iter().map(corner).collect()));
            }
        }
        all
    }
}

/// The frame (pose in the base frame) in which the obstacles of a planning plane are compared with the arm,
/// see [`crate::collision::CollisionOptions::frame`]: the base frame where the plane is level, since they
/// stand upright there, too; else that of the plane.
pub fn collision_frame(plane: &Pose) -> Pose {
    if leans(plane) {
        *plane
    } else {
        Pose::identity()
    }
}

fn leans(plane: &Pose) -> bool {
    let up = plane.rotation * Vector3::z();
    up.angle(&Vector3::z()) > UPRIGHT
}

/// How to plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PathSettings {
    /// The planning plane: pose in the chain's base frame of the frame whose XY plane holds the obstacles'
    /// outlines and the route, and along whose z heights are measured. Identity: the base frame's.
    pub plane: Pose,
    /// Height \[m\] above the plane at which the tip may go "up, over, down" where the way in the plan view
    /// is blocked, or longer; `None`: never.
    pub safe_height: Option<f64>,
    /// Distance \[m\] that the tip keeps from obstacles.
    pub clearance: f64,
    /// Name of the road map, see [`crate::roadmap::ROADMAPS`].
    pub roadmap: String,
    /// Whether obstacles that touch can be slipped between.
    pub contact: Contact,
    /// How exactly inflated corners follow a circle \[m\].
    pub arc_tolerance: f64,
    /// Largest distance between two samples of the tip's path \[m\].
    pub tip_step: f64,
    /// Largest turn between two samples \[rad\].
    pub angle_step: f64,
    /// Largest move of one joint between two samples \[rad or m\].
    pub max_joint_step: f64,
    /// Largest distance \[m\] of the tip from its path anywhere between two samples, when the joints
    /// move in a straight line between them.
    pub deviation: f64,
    /// The same for the orientation \[rad\].
    pub angle_deviation: f64,
    /// How many configurations a search through the null space of a redundant arm may look at, where the
    /// plain way along the tip's path breaks.
    pub search_nodes: usize,
    /// Whether [`ArmPath::scene`] is wanted: drawing the road map means to build all of it, even for
    /// one question.
    pub scene: bool,
    /// How a motion off the route is searched, see [`PathRequest::leave_route`].
    pub joint_space: JointSpaceSettings,
    /// How far outside of its limits a start value may be \[rad or m\]; it is clamped.
    pub limit_tolerance: f64,
}

impl Default for PathSettings {
    /// The defaults of the node's parameters.
    fn default() -> Self {
        PathSettings {
            plane: Pose::identity(),
            safe_height: None,
            clearance: 0.03,
            roadmap: AUTO.to_owned(),
            contact: Contact::Blocked,
            arc_tolerance: 1e-3,
            tip_step: 0.01,
            angle_step: 0.05,
            max_joint_step: 0.2,
            deviation: 1e-3,
            angle_deviation: 0.5 * std::f64::consts::PI / 180.0,
            search_nodes: 2_500,
            scene: true,
            joint_space: JointSpaceSettings::default(),
            limit_tolerance: 0.01,
        }
    }
}

/// The whole arm and what it must not meet.
#[derive(Debug, Clone, Copy)]
pub struct ArmCheck<'a> {
    /// The arm's shapes, for the chain that plans; its clearance is the one that links keep.
    pub model: &'a CollisionModel,
    /// The obstacles, not inflated.
    pub world: &'a CollisionWorld,
}

/// One question to the planner.
#[derive(Clone)]
pub struct PathRequest<'a> {
    /// Where the joints are \[rad, m\].
    pub start: &'a [f64],
    /// Poses of the tip in the base frame, visited in order.
    pub goals: &'a [Pose],
    /// Tolerances, budgets, posture and hooks for every IK question; its target is replaced.
    pub ik: &'a IkRequest<'a>,
    /// Name of the solver for the goals, empty: the default.
    pub solver: &'a str,
    /// The whole arm must be free, too; `None`: the tip alone goes around obstacles.
    pub collision: Option<ArmCheck<'a>>,
    /// Whether the tip may leave its route to a goal where the arm cannot follow it: a motion free of
    /// collisions is then planned in joint space. Without `collision`, self-collisions and obstacles are
    /// unknown, and the route is never left.
    pub leave_route: bool,
    /// Whether [`super::PathError::PathBroken`] holds the part of the path that is possible.
    pub partial: bool,
}

impl<'a> PathRequest<'a> {
    /// From `start` to `goals` by the default solver, the tip alone, on the route, with the possible part
    /// in the error.
    pub fn new(start: &'a [f64], goals: &'a [Pose], ik: &'a IkRequest<'a>) -> Self {
        PathRequest {
            start,
            goals,
            ik,
            solver: "",
            collision: None,
            leave_route: false,
            partial: true,
        }
    }
}

/// What the planner is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Inflate the obstacles and merge them.
    World,
    /// Build the road map.
    Roadmap,
    /// Find the route.
    Route,
    /// Joint values for the goals.
    Goals,
    /// Follow the tip's path with the joints.
    Follow,
    /// Search a motion in joint space.
    JointSpace,
    /// Time the joint path.
    Timing,
    /// Compare the finished motion with the obstacles.
    Check,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stage::World => "obstacles",
            Stage::Roadmap => "road map",
            Stage::Route => "route",
            Stage::Goals => "goal IK",
            Stage::Follow => "follow",
            Stage::JointSpace => "joint space",
            Stage::Timing => "timing",
            Stage::Check => "check",
        })
    }
}

/// Told of each stage as it begins, so that a caller with a clock can tell what took how long.
pub type Observer<'a> = dyn FnMut(Stage) + 'a;

/// What the planner saw, for drawing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathScene {
    /// Inflated and merged outlines, closed implicitly.
    pub outlines: Vec<Vec<Point2<f64>>>,
    /// Edges of the road map.
    pub edges: Vec<[Point2<f64>; 2]>,
    /// Name of the road map (see [`crate::roadmap::ROADMAPS`]); empty where no way was searched.
    pub roadmap: &'static str,
}

/// A path of the arm, without time.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmPath {
    /// Poses of the tip in the base frame, one a configuration.
    pub tip_path: Vec<Pose>,
    /// The route in the planning plane for each goal.
    pub routes: Vec<Vec<Point2<f64>>>,
    /// Goals, from 1, on the way to which the tip left its route.
    pub left_route: Vec<usize>,
    /// The configurations.
    pub joint_path: JointPath,
    /// Length of the tip's path \[m\].
    pub length: f64,
    /// Smallest distance \[m\] of the tip's route from the obstacles at its height; infinity without any.
    pub min_clearance: f64,
    /// What the planner saw.
    pub scene: PathScene,
    /// What the user should know.
    pub notes: Vec<String>,
}
