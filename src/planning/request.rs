//! What is asked of the planner, and what it answers.

use nalgebra::Point2;

use super::JointPath;
use crate::ik::IkRequest;
use crate::kinematics::Pose;
use crate::planar::{Contact, Polygon};
use crate::roadmap::AUTO;

/// A prism that the tip must go around, in the chain's base frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Obstacle {
    /// Name for messages.
    pub id: String,
    /// Outline in the XY plane \[m\].
    pub polygon: Polygon,
    /// Lower end along z \[m\], minus infinity if unbounded.
    pub min_height: f64,
    /// Upper end along z \[m\], infinity if unbounded.
    pub max_height: f64,
}

impl Obstacle {
    /// Whether a tip that moves at heights from `low` to `high` \[m\] comes closer than `clearance` \[m\]
    /// to the prism's height range; touching is allowed.
    pub fn blocks(&self, (low, high): (f64, f64), clearance: f64) -> bool {
        high > self.min_height - clearance && low < self.max_height + clearance
    }
}

/// How to plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PathSettings {
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
    /// How far outside of its limits a start value may be \[rad or m\]; it is clamped.
    pub limit_tolerance: f64,
}

impl Default for PathSettings {
    /// The defaults of the node's parameters.
    fn default() -> Self {
        PathSettings {
            clearance: 0.03,
            roadmap: AUTO.to_owned(),
            contact: Contact::Blocked,
            arc_tolerance: 1e-3,
            tip_step: 0.01,
            angle_step: 0.05,
            max_joint_step: 0.2,
            limit_tolerance: 0.01,
        }
    }
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
}

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
    /// The route in the base frame's XY plane for each goal.
    pub routes: Vec<Vec<Point2<f64>>>,
    /// The configurations.
    pub joint_path: JointPath,
    /// Length of the tip's path \[m\].
    pub length: f64,
    /// Smallest distance \[m\] of the tip's path from the obstacles at its height; infinity without any.
    pub min_clearance: f64,
    /// What the planner saw.
    pub scene: PathScene,
    /// What the user should know.
    pub notes: Vec<String>,
}
