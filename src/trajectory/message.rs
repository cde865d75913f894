//! Trajectories in the shape of `trajectory_msgs/JointTrajectory`, not yet checked.

use super::sampled::{Trajectory, TrajectoryPoint};

/// A point in the shape of `trajectory_msgs/JointTrajectoryPoint`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OutgoingPoint {
    /// Time from the start \[ns\].
    pub time_from_start_ns: i64,
    /// Positions \[rad or m\], in the order of the message's joint names.
    pub positions: Vec<f64>,
    /// Velocities \[rad/s or m/s\], or empty.
    pub velocities: Vec<f64>,
    /// Accelerations \[rad/s² or m/s²\], or empty.
    pub accelerations: Vec<f64>,
    /// Efforts \[Nm or N\]; the planner never sends any.
    pub effort: Vec<f64>,
}

/// A trajectory as it would be published: the input of the gate.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OutgoingTrajectory {
    /// The header's stamp \[ns\]: when the trajectory starts. `None` and zero mean "on arrival".
    pub stamp_ns: Option<i64>,
    /// Names of the joints in the order of the values.
    pub joint_names: Vec<String>,
    /// Points.
    pub points: Vec<OutgoingPoint>,
}

/// Seconds to whole nanoseconds, rounded; what does not fit becomes the nearest that does,
/// NaN becomes zero (positions are checked for NaN, times must rise).
pub fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

/// Whole nanoseconds to seconds.
pub fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e9
}

impl From<&Trajectory> for OutgoingTrajectory {
    fn from(trajectory: &Trajectory) -> Self {
        Self {
            stamp_ns: None,
            joint_names: trajectory.joint_names.clone(),
            points: trajectory
                .points
                .iter()
                .map(|point| OutgoingPoint {
                    time_from_start_ns: nanoseconds(point.time),
                    positions: point.positions.clone(),
                    velocities: point.velocities.clone(),
                    accelerations: point.accelerations.clone(),
                    effort: Vec::new(),
                })
                .collect(),
        }
    }
}

impl From<&OutgoingTrajectory> for Trajectory {
    fn from(message: &OutgoingTrajectory) -> Self {
        Self {
            joint_names: message.joint_names.clone(),
            points: message.points.iter().map(TrajectoryPoint::from).collect(),
        }
    }
}

impl From<&OutgoingPoint> for TrajectoryPoint {
    fn from(point: &OutgoingPoint) -> Self {
        Self {
            time: seconds(point.time_from_start_ns),
            positions: point.positions.clone(),
            velocities: point.velocities.clone(),
            accelerations: point.accelerations.clone(),
        }
    }
}
