//! Between messages and the core's types.

use std::time::Duration;

use nalgebra::Isometry3;
use r2r::{builtin_interfaces, geometry_msgs, nav_msgs, sensor_msgs, std_msgs, trajectory_msgs};

use super::codes::{Code, Failure};
use crate::kinematics::{validated_pose, Pose, PoseError};
use crate::model::Chain;
use crate::trajectory::{OutgoingPoint, OutgoingTrajectory};

/// A text that C strings can carry: r2r panics on a NUL inside.
pub fn text(text: impl Into<String>) -> String {
    let text = text.into();
    if text.contains('\0') {
        text.replace('\0', "\u{fffd}")
    } else {
        text
    }
}

/// Checks a pose.
///
/// # Errors
/// See [`PoseError`].
pub fn pose_from(pose: &geometry_msgs::msg::Pose) -> Result<Pose, PoseError> {
    let (p, q) = (&pose.position, &pose.orientation);
    validated_pose([p.x, p.y, p.z], [q.x, q.y, q.z, q.w])
}

/// Checks a pose whose orientation does not count: a message that leaves it all zero, or never
/// filled it in, is fine.
///
/// # Errors
/// [`PoseError::PositionNotFinite`].
pub fn position_from(pose: &geometry_msgs::msg::Pose) -> Result<Pose, PoseError> {
    pose_from(pose).or_else(|_| {
        let p = &pose.position;
        validated_pose([p.x, p.y, p.z], [0.0, 0.0, 0.0, 1.0])
    })
}

/// Checks a transform.
///
/// # Errors
/// See [`PoseError`].
pub fn transform_from(
    transform: &geometry_msgs::msg::Transform,
) -> Result<Isometry3<f64>, PoseError> {
    let (t, q) = (&transform.translation, &transform.rotation);
    validated_pose([t.x, t.y, t.z], [q.x, q.y, q.z, q.w])
}

/// A point.
pub fn point(x: f64, y: f64, z: f64) -> geometry_msgs::msg::Point {
    geometry_msgs::msg::Point { x, y, z }
}

fn quaternion(pose: &Isometry3<f64>) -> geometry_msgs::msg::Quaternion {
    let q = pose.rotation.quaternion();
    geometry_msgs::msg::Quaternion {
        x: q.i,
        y: q.j,
        z: q.k,
        w: q.w,
    }
}

/// A pose as a message.
pub fn pose_message(pose: &Isometry3<f64>) -> geometry_msgs::msg::Pose {
    let t = &pose.translation.vector;
    geometry_msgs::msg::Pose {
        position: point(t.x, t.y, t.z),
        orientation: quaternion(pose),
    }
}

/// A transform as a message.
pub fn transform_message(pose: &Isometry3<f64>) -> geometry_msgs::msg::Transform {
    let t = &pose.translation.vector;
    geometry_msgs::msg::Transform {
        translation: geometry_msgs::msg::Vector3 {
            x: t.x,
            y: t.y,
            z: t.z,
        },
        rotation: quaternion(pose),
    }
}

/// A header.
pub fn header(frame: &str, stamp: builtin_interfaces::msg::Time) -> std_msgs::msg::Header {
    std_msgs::msg::Header {
        stamp,
        frame_id: text(frame),
    }
}

/// A path of poses in `frame`.
pub fn path_message(
    poses: &[Pose],
    frame: &str,
    stamp: &builtin_interfaces::msg::Time,
) -> nav_msgs::msg::Path {
    let header = header(frame, stamp.clone());
    let stamped = |pose| geometry_msgs::msg::PoseStamped {
        header: header.clone(),
        pose: pose_message(pose),
    };
    nav_msgs::msg::Path {
        poses: poses.iter().map(stamped).collect(),
        header: header.clone(),
    }
}

/// A time span that was sent, zero where none was.
///
/// # Errors
/// [`Code::InvalidRequest`] if it is negative.
pub fn duration_from(
    what: &str,
    duration: &builtin_interfaces::msg::Duration,
) -> Result<Duration, Failure> {
    let seconds = u64::try_from(duration.sec).map_err(|_| {
        let message = format!(
            "{what} is negative ({} s): send 0 for the parameter's value",
            duration.sec
        );
        Failure::new(Code::InvalidRequest, message)
    })?;
    // More nanoseconds than a second has are carried over, not refused.
    Ok(Duration::from_secs(seconds) + Duration::from_nanos(u64::from(duration.nanosec)))
}

/// A time span as a message; what does not fit becomes the longest that does.
pub fn duration_message(duration: Duration) -> builtin_interfaces::msg::Duration {
    builtin_interfaces::msg::Duration {
        sec: i32::try_from(duration.as_secs()).unwrap_or(i32::MAX),
        nanosec: duration.subsec_nanos(),
    }
}

/// Nanoseconds of a stamp.
pub fn nanoseconds_of(stamp: &builtin_interfaces::msg::Time) -> i64 {
    i64::from(stamp.sec) * 1_000_000_000 + i64::from(stamp.nanosec)
}

fn time_from_start(nanoseconds: i64) -> builtin_interfaces::msg::Duration {
    let seconds = nanoseconds.div_euclid(1_000_000_000);
    builtin_interfaces::msg::Duration {
        sec: i32::try_from(seconds).unwrap_or(if seconds < 0 { i32::MIN } else { i32::MAX }),
        nanosec: u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap_or(0),
    }
}

/// Joint values of a chain as a message.
pub fn joint_state_message(
    chain: &Chain,
    q: &[f64],
    stamp: &builtin_interfaces::msg::Time,
) -> sensor_msgs::msg::JointState {
    sensor_msgs::msg::JointState {
        header: header(&chain.base, stamp.clone()),
        name: chain.joint_names().into_iter().map(text).collect(),
        position: q.to_vec(),
        velocity: Vec::new(),
        effort: Vec::new(),
    }
}

/// A stamp of that many nanoseconds; zero for what does not fit.
pub fn stamp_message(nanoseconds: i64) -> builtin_interfaces::msg::Time {
    builtin_interfaces::msg::Time {
        sec: i32::try_from(nanoseconds.div_euclid(1_000_000_000)).unwrap_or(0),
        nanosec: u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap_or(0),
    }
}

/// A trajectory as a message; without a stamp of its own with stamp 0: "start on arrival".
pub fn trajectory_message(
    trajectory: &OutgoingTrajectory,
    frame: &str,
) -> trajectory_msgs::msg::JointTrajectory {
    let stamp = stamp_message(trajectory.stamp_ns.unwrap_or(0));
    trajectory_msgs::msg::JointTrajectory {
        header: header(frame, stamp),
        joint_names: trajectory.joint_names.iter().cloned().map(text).collect(),
        points: trajectory
            .points
            .iter()
            .map(|point| trajectory_msgs::msg::JointTrajectoryPoint {
                positions: point.positions.clone(),
                velocities: point.velocities.clone(),
                accelerations: point.accelerations.clone(),
                effort: point.effort.clone(),
                time_from_start: time_from_start(point.time_from_start_ns),
            })
            .collect(),
    }
}

/// A trajectory from a message.
pub fn trajectory_from(message: &trajectory_msgs::msg::JointTrajectory) -> OutgoingTrajectory {
    let points = message.points.iter().map(|point| OutgoingPoint {
        time_from_start_ns: i64::from(point.time_from_start.sec) * 1_000_000_000
            + i64::from(point.time_from_start.nanosec),
        positions: point.positions.clone(),
        velocities: point.velocities.clone(),
        accelerations: point.accelerations.clone(),
        effort: point.effort.clone(),
    });
    OutgoingTrajectory {
        stamp_ns: Some(nanoseconds_of(&message.header.stamp)),
        joint_names: message.joint_names.clone(),
        points: points.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::test_data::{fault, number, numbers};

    #[test]
    fn quaternion_scaled() {
        let case = fault("quaternion_scaled");
        for variant in case["input"]["variants"].as_array().unwrap() {
            let [x, y, z, w]: [f64; 4] = numbers(&variant["quat_xyzw"]).try_into().unwrap();
            let pose = geometry_msgs::msg::Pose {
                position: point(0.0, 0.0, 0.0),
                orientation: geometry_msgs::msg::Quaternion { x, y, z, w },
            };
            let rotation = pose_from(&pose).unwrap().rotation.to_rotation_matrix();
            let id = variant["id"].as_str().unwrap();
            for (row, expected) in case["expected"][id]["rotation_rows"]
                .as_array()
                .unwrap()
                .iter()
                .enumerate()
            {
                for (column, expected) in numbers(expected).into_iter().enumerate() {
                    assert!((rotation[(row, column)] - expected).abs() < 1e-12, "{id}");
                }
            }
        }
        assert!(number(&case["expected"]["w2"]["norm_squared"]) > 1.0);
        let zero = geometry_msgs::msg::Pose {
            position: point(1.0, 2.0, 3.0),
            orientation: geometry_msgs::msg::Quaternion {
                x: 0.0,
                y: 0.0,
                z: 0.0,
                w: 0.0,
            },
        };
        assert_eq!(pose_from(&zero), Err(PoseError::QuaternionZero));
        assert_eq!(position_from(&zero).unwrap().translation.vector.z, 3.0);
    }

    #[test]
    fn time_spans_keep_their_nanoseconds() {
        let sent = builtin_interfaces::msg::Duration {
            sec: 0,
            nanosec: 250_000_000,
        };
        assert_eq!(
            duration_from("timeout", &sent).unwrap(),
            Duration::from_millis(250)
        );
        assert_eq!(
            duration_message(Duration::from_millis(2250)).nanosec,
            250_000_000
        );
        let negative = builtin_interfaces::msg::Duration {
            sec: -1,
            nanosec: 0,
        };
        let failure = duration_from("timeout", &negative).unwrap_err();
        assert!(
            failure.message.contains("timeout is negative (-1 s)"),
            "{failure}"
        );
    }

    #[test]
    fn trajectories_survive_the_way_out_and_back_with_stamp_zero() {
        let out = OutgoingTrajectory {
            stamp_ns: None,
            joint_names: vec!["a".into(), "b".into()],
            points: vec![OutgoingPoint {
                time_from_start_ns: 1_250_000_000,
                positions: vec![1.0, 2.0],
                velocities: vec![0.5, 0.25],
                accelerations: vec![0.0, 0.0],
                effort: vec![],
            }],
        };
        let message = trajectory_message(&out, "base");
        assert_eq!(
            (message.header.stamp.sec, message.header.stamp.nanosec),
            (0, 0)
        );
        let back = trajectory_from(&message);
        assert_eq!(back.points, out.points);
        assert_eq!(back.stamp_ns, Some(0));
    }

    #[test]
    fn texts_for_c_have_no_nul() {
        assert_eq!(text("a\0b"), "a\u{fffd}b");
    }
}
