//! What tests of whole plans share: a start of the six-axis arm, poses, obstacles.

use arm_planner::kinematics::{validated_pose, Pose};
use arm_planner::model::Chain;
use arm_planner::motion::PlanSettings;
use arm_planner::planar::Polygon;
use arm_planner::planning::{Obstacle, PathSettings};
use arm_planner::trajectory::{LimitDefaults, MotionLimits, TimingOptions};
use nalgebra::Point2;

/// Six joints, tool pointing down, elbow up, tip at (0.40, -0.30, 0.26).
pub const START: [f64; 6] = [
    -0.9133647334034031,
    -1.4291107431895678,
    2.035887315469656,
    -2.1775728995203676,
    -1.5707963268098852,
    -2.4841610602126463,
];

/// The pose at a place \[m\], tool pointing down.
pub fn down(x: f64, y: f64, z: f64) -> Pose {
    validated_pose([x, y, z], [1.0, 0.0, 0.0, 0.0]).unwrap()
}

/// The usual settings, with the limits of a chain's description.
pub fn settings(chain: &Chain) -> PlanSettings {
    PlanSettings {
        path: PathSettings::default(),
        limits: MotionLimits::from_chain(chain, &LimitDefaults::default()).unwrap(),
        sample_period: 0.02,
        timing: TimingOptions::default(),
    }
}

/// An obstacle of these corners between two heights \[m\].
pub fn prism(id: &str, corners: &[[f64; 2]], min_height: f64, max_height: f64) -> Obstacle {
    let points: Vec<Point2<f64>> = corners.iter().map(|c| Point2::new(c[0], c[1])).collect();
    Obstacle {
        id: id.into(),
        polygon: Polygon::from_points(&points).unwrap(),
        min_height,
        max_height,
    }
}

/// A rectangle about a place, half as long along x and y as given, between two heights \[m\].
pub fn block(id: &str, (x, y): (f64, f64), (a, b): (f64, f64), heights: (f64, f64)) -> Obstacle {
    let corners = [
        [x - a, y - b],
        [x + a, y - b],
        [x + a, y + b],
        [x - a, y + b],
    ];
    prism(id, &corners, heights.0, heights.1)
}
