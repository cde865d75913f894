//! What `joint_trajectory_controller` accepts and refuses, and how it follows what it accepted.
//!
//! The gate is stricter; these are the rules of the receiver, for the mock controller and to
//! tell a user beforehand why a controller would refuse without a word. Version 4.42 (Jazzy).

use super::message::{seconds, OutgoingPoint, OutgoingTrajectory};
use super::sampled::{Trajectory, TrajectoryPoint};

/// The controller's parameters that decide what it accepts, with its own defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ControllerParameters {
    /// Accept trajectories that name only some of the joints.
    pub allow_partial_joints_goal: bool,
    /// Accept a velocity at the last point.
    pub allow_nonzero_velocity_at_trajectory_end: bool,
    /// Accept points without positions, and integrate.
    pub allow_integration_in_goal_trajectories: bool,
    /// The hardware takes effort commands.
    pub has_effort_command_interface: bool,
}

/// Why the controller refuses a trajectory. Points are counted from zero.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Rejection {
    /// Not as many names as the controller has joints.
    #[error("{got} joints are named, the controller has {expected}")]
    JointCount {
        /// Names in the trajectory.
        got: usize,
        /// Joints of the controller.
        expected: usize,
    },
    /// No names at all.
    #[error("no joints are named")]
    NoJointNames,
    /// No points.
    #[error("the trajectory is empty")]
    Empty,
    /// Over before it arrives.
    #[error("the trajectory ends {:.3} s in the past", *.late_ns as f64 / 1e9)]
    EndsInPast {
        /// By how much \[ns\].
        late_ns: i64,
    },
    /// A name that is not the controller's.
    #[error("joint '{joint}' is not one of the controller's joints")]
    UnknownJoint {
        /// The name.
        joint: String,
    },
    /// The last point has a velocity.
    #[error("the velocity of joint '{joint}' at the last point is not zero: {velocity}")]
    EndVelocity {
        /// The joint.
        joint: String,
        /// Its velocity \[rad/s or m/s\].
        velocity: f64,
    },
    /// Times that do not rise.
    #[error("the time of point {point} is not later than that of the point before")]
    TimeNotIncreasing {
        /// The later point.
        point: usize,
    },
    /// A list of the wrong length.
    #[error("point {point} has {got} {field} for {expected} joints")]
    Size {
        /// The point.
        point: usize,
        /// Which list.
        field: &'static str,
        /// How many it has.
        got: usize,
        /// How many joints are named.
        expected: usize,
    },
    /// Nothing in a point.
    #[error("point {point} has neither positions nor velocities nor accelerations")]
    NoValues {
        /// The point.
        point: usize,
    },
    /// Effort values for hardware that takes none.
    #[error("point {point} has effort values, the controller has no effort interface")]
    Effort {
        /// The point.
        point: usize,
    },
}

/// Accepts or refuses exactly as the controller does: it looks neither at limits nor for NaN,
/// nor for joints that are named twice.
///
/// # Errors
/// [`Rejection`]: the first rule that is broken, in the controller's order.
pub fn controller_verdict(
    message: &OutgoingTrajectory,
    joints: &[String],
    now_ns: i64,
    parameters: &ControllerParameters,
) -> Result<(), Rejection> {
    let named = message.joint_names.len();
    if !parameters.allow_partial_joints_goal && named != joints.len() {
        return Err(Rejection::JointCount {
            got: named,
            expected: joints.len(),
        });
    }
    if named == 0 {
        return Err(Rejection::NoJointNames);
    }
    let Some(last) = message.points.last() else {
        return Err(Rejection::Empty);
    };
    if let Some(stamp) = message.stamp_ns.filter(|&stamp| stamp != 0) {
        let end = stamp.saturating_add(last.time_from_start_ns);
        if end < now_ns {
            return Err(Rejection::EndsInPast {
                late_ns: now_ns.saturating_sub(end),
            });
        }
    }
    if let Some(joint) = message
        .joint_names
        .iter()
        .find(|name| !joints.contains(name))
    {
        return Err(Rejection::UnknownJoint {
            joint: joint.clone(),
        });
    }
    if !parameters.allow_nonzero_velocity_at_trajectory_end {
        for (joint, &velocity) in message.joint_names.iter().zip(&last.velocities) {
            // Written as the controller does: NaN gets through.
            if velocity.abs() > f64::from(f32::EPSILON) {
                return Err(Rejection::EndVelocity {
                    joint: joint.clone(),
                    velocity,
                });
            }
        }
    }
    let mut before = None;
    for (point, values) in message.points.iter().enumerate() {
        let time = values.time_from_start_ns;
        if before.is_some_and(|before| time <= before) {
            return Err(Rejection::TimeNotIncreasing { point });
        }
        before = Some(time);
        sizes(point, values, named, parameters)?;
    }
    Ok(())
}

fn sizes(
    point: usize,
    values: &OutgoingPoint,
    expected: usize,
    parameters: &ControllerParameters,
) -> Result<(), Rejection> {
    let integrates = parameters.allow_integration_in_goal_trajectories;
    let lists = [
        ("positions", &values.positions, integrates),
        ("velocities", &values.velocities, true),
        ("accelerations", &values.accelerations, true),
    ];
    if integrates && lists.iter().all(|(_, list, _)| list.is_empty()) {
        return Err(Rejection::NoValues { point });
    }
    for (field, list, may_be_empty) in lists {
        if list.len() != expected && !(may_be_empty && list.is_empty()) {
            return Err(Rejection::Size {
                point,
                field,
                got: list.len(),
                expected,
            });
        }
    }
    if parameters.has_effort_command_interface {
        if !values.effort.is_empty() && values.effort.len() != expected {
            return Err(Rejection::Size {
                point,
                field: "effort",
                got: values.effort.len(),
                expected,
            });
        }
    } else if !values.effort.is_empty() {
        return Err(Rejection::Effort { point });
    }
    Ok(())
}

/// What the controller commands at some time, one value a joint in the controller's order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Commanded {
    /// Positions \[rad or m\].
    pub positions: Vec<f64>,
    /// Velocities \[rad/s or m/s\].
    pub velocities: Vec<f64>,
    /// Accelerations \[rad/s² or m/s²\].
    pub accelerations: Vec<f64>,
}

/// Follows accepted trajectories like the controller: from the state at which it was taken over
/// to the first point, through the points, and holds the last position. Time is handed in.
#[derive(Debug, Clone)]
pub struct Follower {
    joints: Vec<String>,
    /// Where the arm holds or starts from.
    hold: Commanded,
    active: Option<Active>,
}

#[derive(Debug, Clone)]
struct Active {
    /// When its time zero is \[ns\].
    start_ns: i64,
    /// Points in the controller's joint order; the state at the take-over comes first where the
    /// first point of the message lies later.
    trajectory: Trajectory,
}

impl Follower {
    /// A controller of `joints` that holds `positions`, one a joint (missing ones are zero).
    pub fn new(joints: Vec<String>, mut positions: Vec<f64>) -> Self {
        positions.resize(joints.len(), 0.0);
        Self {
            hold: Commanded::resting(positions),
            joints,
            active: None,
        }
    }

    /// The joints, in the order of the commanded values.
    pub fn joints(&self) -> &[String] {
        &self.joints
    }

    /// Takes over `message`, replacing what was being followed, from the state commanded at
    /// `now_ns`. Joints it does not name hold their position. A stamp of zero means now.
    ///
    /// # Errors
    /// [`Rejection`] as from [`controller_verdict`]; then the old trajectory goes on.
    pub fn accept(
        &mut self,
        message: &OutgoingTrajectory,
        now_ns: i64,
        parameters: &ControllerParameters,
    ) -> Result<(), Rejection> {
        controller_verdict(message, &self.joints, now_ns, parameters)?;
        let state = self.at(now_ns);
        let start_ns = message
            .stamp_ns
            .filter(|&stamp| stamp != 0)
            .unwrap_or(now_ns);
        let mut points: Vec<TrajectoryPoint> = message
            .points
            .iter()
            .map(|point| self.ordered(&message.joint_names, point, &state))
            .collect();
        let first_ns = message
            .points
            .first()
            .map_or(0, |point| point.time_from_start_ns);
        if start_ns.saturating_add(first_ns) > now_ns {
            points.insert(
                0,
                TrajectoryPoint {
                    time: seconds(now_ns.saturating_sub(start_ns)),
                    positions: state.positions.clone(),
                    velocities: state.velocities.clone(),
                    // The controller knows no measured acceleration.
                    accelerations: Vec::new(),
                },
            );
        }
        self.hold = state;
        self.active = Some(Active {
            start_ns,
            trajectory: Trajectory {
                joint_names: self.joints.clone(),
                points,
            },
        });
        Ok(())
    }

    /// A message's point with all of the controller's joints in their order.
    fn ordered(
        &self,
        names: &[String],
        point: &OutgoingPoint,
        state: &Commanded,
    ) -> TrajectoryPoint {
        // The last of several equal names wins, as in the controller.
        let place = |joint: &String| names.iter().rposition(|name| name == joint);
        let list = |values: &[f64], other: &[f64]| -> Vec<f64> {
            if values.is_empty() {
                return Vec::new();
            }
            self.joints
                .iter()
                .enumerate()
                .map(|(index, joint)| {
                    place(joint)
                        .and_then(|at| values.get(at))
                        .or_else(|| other.get(index))
                        .copied()
                        .unwrap_or(0.0)
                })
                .collect()
        };
        TrajectoryPoint {
            time: seconds(point.time_from_start_ns),
            positions: list(&point.positions, &state.positions),
            velocities: list(&point.velocities, &[]),
            accelerations: list(&point.accelerations, &[]),
        }
    }

    /// What is commanded at `now_ns`.
    pub fn at(&self, now_ns: i64) -> Commanded {
        let Some(active) = &self.active else {
            return Commanded::resting(self.hold.positions.clone());
        };
        let time = seconds(now_ns.saturating_sub(active.start_ns));
        let sampled = active.trajectory.sample(time);
        let fits = |point: &TrajectoryPoint| point.positions.len() == self.joints.len();
        match sampled.filter(fits) {
            Some(point) => Commanded {
                positions: point.positions,
                velocities: point.velocities,
                accelerations: point.accelerations,
            },
            // Points without positions, which only integration would make sense of.
            None => Commanded::resting(self.hold.positions.clone()),
        }
    }

    /// Whether a trajectory is still being followed at `now_ns`.
    pub fn is_moving(&self, now_ns: i64) -> bool {
        self.active.as_ref().is_some_and(|active| {
            seconds(now_ns.saturating_sub(active.start_ns)) < active.trajectory.duration()
        })
    }

    /// Drops the trajectory and holds the position commanded at `now_ns`, as on a cancelled goal.
    pub fn hold(&mut self, now_ns: i64) {
        self.hold = Commanded::resting(self.at(now_ns).positions);
        self.active = None;
    }
}

impl Commanded {
    /// At rest.
    fn resting(positions: Vec<f64>) -> Self {
        let zeros = vec![0.0; positions.len()];
        Self {
            velocities: zeros.clone(),
            accelerations: zeros,
            positions,
        }
    }
}
