use super::*;
use crate::node::test_data::{fault, fault_urdf};

#[test]
fn short_motions_keep_the_limits_from_any_velocity() {
    let model = fault_urdf(&fault("frame_target_other"));
    let chain = model.chain("base", "tip", false).unwrap();
    let limits = MotionLimits::new(vec![1.0, 1.0], vec![3.0, 3.0]).unwrap();
    for (speeds, goal) in [
        ([0.0, 0.0], [0.05, -0.05]),
        ([0.5, 0.0], [0.1, 0.0]),
        ([-0.5, 0.4], [0.1, 0.1]),
        ([0.9, -0.9], [0.0, 0.0]),
        ([0.0, 0.0], [2.0, -1.5]),
    ] {
        let trajectory = short_motion(&chain, &[0.0, 0.0], &speeds, &goal, &limits).unwrap();
        let duration = trajectory.duration();
        assert!(duration < 4.0, "{speeds:?} {goal:?}: {duration}");
        let mut before = speeds.to_vec();
        for step in 0..=1000 {
            let point = trajectory
                .sample(duration * f64::from(step) / 1000.0)
                .unwrap();
            for (joint, speed) in point.velocities.iter().enumerate() {
                assert!(speed.abs() <= 1.0 + 1e-9, "{speeds:?} {goal:?}");
                let change = (speed - before[joint]).abs();
                assert!(
                    change <= 3.0 * duration / 1000.0 + 1e-9,
                    "{speeds:?} {goal:?}"
                );
            }
            before = point.velocities;
        }
        assert_eq!(trajectory.sample(duration).unwrap().positions, goal);
        assert_eq!(before, [0.0, 0.0]);
    }
}

#[test]
fn a_stop_ends_a_stream_until_it_pauses() {
    let mut stream = Stream::default();
    let at = Duration::from_millis;
    assert!(
        !stream.was_stopped(3, at(0)),
        "stops before it began do not count"
    );
    assert!(!stream.was_stopped(3, at(900)));
    assert!(stream.was_stopped(4, at(1000)));
    assert!(
        stream.was_stopped(4, at(1900)),
        "it goes on, and stays stopped"
    );
    assert!(
        !stream.was_stopped(4, at(2900)),
        "after a pause it is another one"
    );
}

/// Reported: only the pose itself was compared with the obstacles, not the way to it.
#[test]
fn no_pose_is_followed_through_a_wall() {
    use crate::kinematics::forward_kinematics;
    use crate::node::test_data::{square, view, with_obstacles};
    let q = [0.0, -1.2, 1.6, -0.4, 1.57, 0.0];
    let free = view("six_axis", &q, &[]);
    let chain = free.robot.chain.clone();
    let limits = MotionLimits::from_chain(&chain, &Default::default()).unwrap();
    let mut beyond = q;
    beyond[0] = 0.2;
    let motion = short_motion(&chain, &q, &[0.0; 6], &beyond, &limits).unwrap();
    assert_eq!(outside_obstacles(&free, &motion), Ok(()));
    let mut middle = q;
    middle[0] = 0.1;
    let tip = forward_kinematics(&chain, &middle)
        .unwrap()
        .translation
        .vector;
    let wall = [square("wall", tip.x, tip.y, 0.001)];
    let refused = outside_obstacles(&with_obstacles(free.clone(), &wall), &motion).unwrap_err();
    assert!(refused.message.contains("wall"), "{}", refused.message);
    // An arm that is too near already may go away.
    let tip = forward_kinematics(&chain, &q).unwrap().translation.vector;
    let near = [square("near", tip.x, tip.y - 0.02, 0.001)];
    let near = with_obstacles(free, &near);
    assert_eq!(outside_obstacles(&near, &motion), Ok(()));
    let mut towards = q;
    towards[0] = -0.03;
    let motion = short_motion(&chain, &q, &[0.0; 6], &towards, &limits).unwrap();
    assert!(outside_obstacles(&near, &motion).is_err());
}

#[test]
fn there_is_no_short_motion_through_a_limit() {
    let model = fault_urdf(&fault("frame_target_other"));
    let chain = model.chain("base", "tip", false).unwrap();
    let limits = MotionLimits::new(vec![2.0, 2.0], vec![1.0, 1.0]).unwrap();
    // Half a radian from the limit of 3.14 at 2 rad/s with 1 rad/s²: it cannot turn in time.
    let q = [2.64, 0.0];
    assert_eq!(
        short_motion(&chain, &q, &[2.0, 0.0], &[2.7, 0.0], &limits),
        None
    );
}

#[test]
fn alternating_good_and_bad_poses_are_told_once_a_second() {
    let mut told = Told::default();
    let mut count = 0;
    for step in 0..500u32 {
        let now = Duration::from_millis(u64::from(step) * 10);
        let what = (step % 2 == 1).then_some(Code::Unreachable);
        count += u32::from(told.is_news(what, false, now));
    }
    // Five seconds, two kinds.
    assert!((8..=12).contains(&count), "{count}");
    // The end of a failure is told at once, and once.
    let later = Duration::from_secs(7);
    assert!(told.is_news(Some(Code::Unreachable), false, later));
    assert!(told.is_news(None, false, later));
    assert!(!told.is_news(None, false, later + REPORT_AGAIN));
}
