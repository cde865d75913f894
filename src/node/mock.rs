//! The mock controller: in place of a real arm. It hears trajectories on the controller's topic
//! and takes goals of its action like the real one, accepts and rejects by the same rules, follows
//! in time, and says where it is.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::StreamExt;
use r2r::{sensor_msgs, trajectory_msgs};
use tokio::time::MissedTickBehavior;

use super::context::{RobotState, Shared};
use super::convert::{header, nanoseconds_of, text, trajectory_from};
use super::model_source::Robot;
use super::parameters::MockParameters;
use crate::trajectory::{ControllerParameters, Follower};

/// More joint states a second than this would be a busy loop \[Hz\].
const FASTEST: f64 = 1000.0;
/// How often it looks for a robot while there is none.
const LOOK: Duration = Duration::from_millis(50);

/// The arm and everything else that moves.
struct Mock {
    robot: Arc<Robot>,
    follower: Follower,
    /// Joints that the controller does not move, and where they rest.
    resting: HashMap<String, f64>,
    #[cfg(has_control_msgs)]
    goals: super::mock_action::Goals,
}

/// Where a joint rests: 0, or the middle of its limits where 0 lies outside them.
fn rest(lower: f64, upper: f64) -> f64 {
    if (lower..=upper).contains(&0.0) {
        0.0
    } else if lower.is_finite() && upper.is_finite() {
        0.5 * lower + 0.5 * upper
    } else if lower > 0.0 {
        lower
    } else {
        upper
    }
}

impl Mock {
    fn new(robot: Arc<Robot>, parameters: &MockParameters) -> Mock {
        let mut resting: HashMap<String, f64> = robot
            .free_joints()
            .map(|(_, joint)| {
                (
                    joint.name.clone(),
                    rest(joint.limits.lower, joint.limits.upper),
                )
            })
            .collect();
        for (index, dof) in robot.chain.dofs.iter().enumerate() {
            let given = parameters.initial_positions.get(index).copied();
            let position = given.unwrap_or_else(|| rest(dof.lower, dof.upper));
            let inside = dof.clamp(position);
            if inside != position {
                tracing::warn!(
                    "mock_initial_positions: {position} for joint \"{}\" is outside its limits, {inside} is used",
                    dof.name
                );
            }
            resting.insert(dof.name.clone(), inside);
        }
        let joints = robot.controller_joints.clone();
        let start = joints
            .iter()
            .map(|name| resting.remove(name).unwrap_or(0.0))
            .collect();
        Mock {
            follower: Follower::new(joints, start),
            resting,
            #[cfg(has_control_msgs)]
            goals: super::mock_action::Goals::default(),
            robot,
        }
    }

    fn hear(&mut self, message: &trajectory_msgs::msg::JointTrajectory, now_ns: i64) {
        let trajectory = trajectory_from(message);
        let parameters = ControllerParameters::default();
        match self.follower.accept(&trajectory, now_ns, &parameters) {
            Ok(()) => tracing::debug!(
                "mock controller: follows a trajectory of {} points",
                trajectory.points.len()
            ),
            Err(rejection) => tracing::warn!("mock controller: rejected a trajectory: {rejection}"),
        }
    }

    /// Position and velocity of every joint that moves, by name in the robot's order.
    fn joints(&self, now_ns: i64) -> Vec<(&str, f64, f64)> {
        let commanded = self.follower.at(now_ns);
        let own = |name: &str| -> (f64, f64) {
            match self
                .follower
                .joints()
                .iter()
                .position(|joint| joint == name)
            {
                Some(index) => {
                    let value = |list: &[f64]| list.get(index).copied().unwrap_or(0.0);
                    (value(&commanded.positions), value(&commanded.velocities))
                }
                None => (self.resting.get(name).copied().unwrap_or(0.0), 0.0),
            }
        };
        let model = &self.robot.model;
        let mut all = Vec::new();
        for joint in &model.joints {
            use crate::model::JointKind::{Continuous, Prismatic, Revolute};
            if !matches!(joint.kind, Continuous | Prismatic | Revolute) {
                continue;
            }
            let driver = joint
                .mimic
                .and_then(|mimic| Some((mimic, model.joints.get(mimic.driver)?)));
            let (position, velocity) = match driver {
                Some((mimic, driver)) => {
                    let (position, velocity) = own(&driver.name);
                    (
                        mimic.multiplier * position + mimic.offset,
                        mimic.multiplier * velocity,
                    )
                }
                None => own(&joint.name),
            };
            all.push((joint.name.as_str(), position, velocity));
        }
        all
    }

    fn publish(&self, shared: &Shared) {
        let stamp = shared.stamp();
        let joints = self.joints(nanoseconds_of(&stamp));
        if let Some(out) = &shared.outputs.mock_joint_states {
            out.publish(&sensor_msgs::msg::JointState {
                header: header(&self.robot.chain.base, stamp.clone()),
                name: joints.iter().map(|(name, ..)| text(*name)).collect(),
                position: joints.iter().map(|(_, position, _)| *position).collect(),
                velocity: joints.iter().map(|(.., velocity)| *velocity).collect(),
                // As from a broadcaster of an arm without torque sensors.
                effort: vec![f64::NAN; joints.len()],
            });
        }
        #[cfg(has_tf2_msgs)]
        if let Some(out) = &shared.outputs.mock_tf {
            out.publish(&tf::moving(&self.robot.model, &joints, &stamp));
        }
    }
}

/// What the mock controller hears.
pub enum Heard {
    /// A trajectory on its topic.
    Trajectory(trajectory_msgs::msg::JointTrajectory),
    /// A request to its action.
    #[cfg(has_control_msgs)]
    Action(super::mock_action::Asked),
}

/// Runs the mock controller.
pub async fn control(shared: Arc<Shared>, mut heard: BoxStream<'static, Heard>) {
    let parameters = shared.parameters.get().mock.clone();
    let period = Duration::from_secs_f64(1.0 / parameters.rate.clamp(1e-3, FASTEST));
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut mock: Option<Mock> = None;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            heard = heard.next() => {
                let Some(heard) = heard else { return };
                match (&mut mock, heard) {
                    (Some(mock), Heard::Trajectory(message)) => {
                        mock.hear(&message, nanoseconds_of(&shared.stamp()));
                    }
                    #[cfg(has_control_msgs)]
                    (Some(mock), Heard::Action(asked)) => {
                        mock.goals.answer(asked, &mut mock.follower, &shared);
                    }
                    // A controller without a robot is not active yet: it answers nothing.
                    (None, _) => {}
                }
                continue;
            }
        }
        let RobotState::Ready(robot) = &*shared.robot.get() else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        if !mock
            .as_ref()
            .is_some_and(|mock| Arc::ptr_eq(&mock.robot, robot))
        {
            tracing::info!(
                "mock controller: stands in for {}",
                robot.controller_joints.join(", ")
            );
            #[cfg(has_tf2_msgs)]
            if let Some(out) = &shared.outputs.mock_tf_static {
                out.publish(&tf::fixed(&robot.model, &shared.stamp()));
            }
            mock = Some(Mock::new(Arc::clone(robot), &parameters));
        }
        if let Some(mock) = &mut mock {
            mock.publish(&shared);
            #[cfg(has_control_msgs)]
            mock.goals.tick(&mock.follower, &shared);
        }
    }
}

/// Transforms of the links, as robot_state_publisher sends them.
#[cfg(has_tf2_msgs)]
mod tf {
    use nalgebra::Isometry3;
    use r2r::builtin_interfaces::msg::Time;
    use r2r::geometry_msgs::msg::TransformStamped;
    use r2r::tf2_msgs::msg::TFMessage;

    use crate::model::{Joint, JointKind, RobotModel};
    use crate::node::convert::{header, text, transform_message};

    fn stamped(
        model: &RobotModel,
        joint: &Joint,
        pose: &Isometry3<f64>,
        stamp: &Time,
    ) -> Option<TransformStamped> {
        Some(TransformStamped {
            header: header(&model.links.get(joint.parent)?.name, stamp.clone()),
            child_frame_id: text(model.links.get(joint.child)?.name.as_str()),
            transform: transform_message(pose),
        })
    }

    /// The links whose pose in their parent does not change.
    pub fn fixed(model: &RobotModel, stamp: &Time) -> TFMessage {
        let fixed = model.joints.iter().filter(|joint| {
            matches!(
                joint.kind,
                JointKind::Fixed | JointKind::Floating | JointKind::Planar
            )
        });
        let transforms = fixed.filter_map(|joint| stamped(model, joint, &joint.origin, stamp));
        TFMessage {
            transforms: transforms.collect(),
        }
    }

    /// The links that the given joints move.
    pub fn moving(model: &RobotModel, joints: &[(&str, f64, f64)], stamp: &Time) -> TFMessage {
        let transforms = joints.iter().filter_map(|(name, position, _)| {
            let joint = model.joints.get(model.joint_index(name)?)?;
            let motion = match joint.kind {
                JointKind::Prismatic => Isometry3::from_parts(
                    (joint.axis.into_inner() * *position).into(),
                    nalgebra::UnitQuaternion::identity(),
                ),
                _ => Isometry3::from_parts(
                    nalgebra::Translation3::identity(),
                    nalgebra::UnitQuaternion::from_axis_angle(&joint.axis, *position),
                ),
            };
            stamped(model, joint, &(joint.origin * motion), stamp)
        });
        TFMessage {
            transforms: transforms.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::parameter_values::defaults;
    use crate::node::parameters::Parameters;
    use r2r::ParameterValue;

    const GRIPPER: &str = r#"<robot name="r"><link name="base"/><link name="a"/><link name="f"/><link name="g"/>
        <joint name="arm" type="revolute"><parent link="base"/><child link="a"/>
          <limit lower="0.5" upper="1.5" velocity="1"/></joint>
        <joint name="finger" type="prismatic"><parent link="a"/><child link="f"/>
          <limit lower="0" upper="0.04" velocity="1"/></joint>
        <joint name="other_finger" type="prismatic"><parent link="a"/><child link="g"/>
          <limit lower="-0.1" upper="0.1" velocity="1"/><mimic joint="finger" multiplier="-1" offset="0.01"/></joint></robot>"#;

    fn mock(initial: &[f64]) -> Mock {
        let mut values = defaults();
        values.insert("tip_link", ParameterValue::String("a".into()));
        values.insert(
            "mock_initial_positions",
            ParameterValue::DoubleArray(initial.to_vec()),
        );
        let parameters = Parameters::new(&values);
        let robot = Robot::new(GRIPPER, "here", &parameters).unwrap();
        Mock::new(Arc::new(robot), &parameters.mock)
    }

    #[test]
    fn all_joints_have_a_state_and_the_arm_starts_inside_its_limits() {
        let expected = [
            ("arm", 1.0, 0.0),
            ("finger", 0.0, 0.0),
            ("other_finger", 0.01, 0.0),
        ];
        assert_eq!(mock(&[]).joints(0), expected);
        assert_eq!(mock(&[0.75]).joints(0)[0], ("arm", 0.75, 0.0));
        assert_eq!(mock(&[7.0]).joints(0)[0], ("arm", 1.5, 0.0));
        assert_eq!(rest(f64::NEG_INFINITY, -2.0), -2.0);
        assert_eq!(rest(2.0, f64::INFINITY), 2.0);
    }

    #[test]
    fn trajectories_are_followed_and_bad_ones_rejected() {
        let mut mock = mock(&[1.0]);
        let point = |sec, position| trajectory_msgs::msg::JointTrajectoryPoint {
            positions: vec![position],
            time_from_start: r2r::builtin_interfaces::msg::Duration { sec, nanosec: 0 },
            ..Default::default()
        };
        let mut message = trajectory_msgs::msg::JointTrajectory {
            joint_names: vec!["arm".into()],
            points: vec![point(2, 1.25)],
            ..Default::default()
        };
        mock.hear(&message, 0);
        assert_eq!(mock.joints(1_000_000_000)[0].1, 1.125);
        message.joint_names = vec!["leg".into()];
        mock.hear(&message, 1_000_000_000);
        assert_eq!(mock.joints(3_000_000_000)[0], ("arm", 1.25, 0.0));
    }
}
