//! How a controller follows what it accepted: interpolation, replacement, holding.

use arm_planner::trajectory::{
    nanoseconds, ControllerParameters, Follower, OutgoingPoint, OutgoingTrajectory, Rejection,
};

fn names() -> Vec<String> {
    ["sho", "elb"].map(String::from).to_vec()
}

fn point(time: f64, positions: [f64; 2], velocities: Option<[f64; 2]>) -> OutgoingPoint {
    OutgoingPoint {
        time_from_start_ns: nanoseconds(time),
        positions: positions.to_vec(),
        velocities: velocities.map(|v| v.to_vec()).unwrap_or_default(),
        ..Default::default()
    }
}

fn message(points: Vec<OutgoingPoint>) -> OutgoingTrajectory {
    OutgoingTrajectory {
        stamp_ns: None,
        joint_names: names(),
        points,
    }
}

fn near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-9)
}

const PARAMETERS: ControllerParameters = ControllerParameters {
    allow_partial_joints_goal: false,
    allow_nonzero_velocity_at_trajectory_end: false,
    allow_integration_in_goal_trajectories: false,
    has_effort_command_interface: false,
};

#[test]
fn positions_alone_are_followed_in_straight_lines_from_the_current_state() {
    let mut follower = Follower::new(names(), vec![1.0, 0.0]);
    let now = nanoseconds(50.0);
    let goal = message(vec![point(2.0, [2.0, -1.0], None)]);
    follower.accept(&goal, now, &PARAMETERS).unwrap();
    let half = follower.at(now + nanoseconds(1.0));
    assert!(near(&half.positions, &[1.5, -0.5]) && near(&half.velocities, &[0.5, -0.5]));
    assert!(follower.is_moving(now) && !follower.is_moving(now + nanoseconds(2.0)));
    let held = follower.at(now + nanoseconds(99.0));
    assert!(near(&held.positions, &[2.0, -1.0]) && near(&held.velocities, &[0.0, 0.0]));
}

#[test]
fn velocities_give_cubics_and_the_first_piece_leaves_with_the_current_velocity() {
    let mut follower = Follower::new(names(), vec![0.0, 0.0]);
    let goal = message(vec![point(1.0, [1.0, 0.0], Some([0.0; 2]))]);
    follower.accept(&goal, 0, &PARAMETERS).unwrap();
    let quarter = follower.at(nanoseconds(0.25));
    assert!(near(&quarter.positions, &[0.15625, 0.0]));
    // Replaced in the middle, where the velocity is 1.5: no jump in position or velocity.
    let before = follower.at(nanoseconds(0.5));
    let other = message(vec![point(1.0, [0.2, 0.3], Some([0.0; 2]))]);
    follower
        .accept(&other, nanoseconds(0.5), &PARAMETERS)
        .unwrap();
    let after = follower.at(nanoseconds(0.5) + 1);
    assert!(before.positions[0] - after.positions[0] < 1e-6);
    assert!((before.velocities[0] - 1.5).abs() < 1e-9 && (after.velocities[0] - 1.5).abs() < 1e-6);
    assert!(near(&follower.at(nanoseconds(1.5)).positions, &[0.2, 0.3]));
}

#[test]
fn accelerations_give_quintics_between_points() {
    let mut follower = Follower::new(names(), vec![0.0, 0.0]);
    let mut points = vec![
        point(0.0, [0.0; 2], Some([0.0; 2])),
        point(1.0, [1.0, -1.0], Some([0.0; 2])),
    ];
    for point in &mut points {
        point.accelerations = vec![0.0; 2];
    }
    follower.accept(&message(points), 0, &PARAMETERS).unwrap();
    let quarter = follower.at(nanoseconds(0.25));
    assert!(near(&quarter.positions, &[0.103_515_625, -0.103_515_625]));
}

#[test]
fn joints_in_another_order_are_sorted() {
    let mut follower = Follower::new(names(), vec![0.0, 0.0]);
    let mut goal = message(vec![point(1.0, [0.1, 0.9], None)]);
    goal.joint_names.reverse();
    follower.accept(&goal, 0, &PARAMETERS).unwrap();
    assert!(near(&follower.at(nanoseconds(1.0)).positions, &[0.9, 0.1]));
}

#[test]
fn partial_goals_hold_the_other_joints() {
    let parameters = ControllerParameters {
        allow_partial_joints_goal: true,
        ..PARAMETERS
    };
    let mut follower = Follower::new(names(), vec![0.4, 0.0]);
    let mut goal = message(vec![point(1.0, [0.1, 0.9], None)]);
    goal.joint_names.truncate(1);
    goal.joint_names[0] = "elb".into();
    goal.points[0].positions = vec![0.7];
    let refused = follower.accept(&goal, 0, &PARAMETERS);
    assert_eq!(
        refused,
        Err(Rejection::JointCount {
            got: 1,
            expected: 2
        })
    );
    follower.accept(&goal, 0, &parameters).unwrap();
    assert!(near(&follower.at(nanoseconds(1.0)).positions, &[0.4, 0.7]));
}

#[test]
fn a_stamp_in_the_future_starts_late_and_one_in_the_past_skips() {
    let path = || {
        message(vec![
            point(0.0, [0.0; 2], None),
            point(1.0, [1.0, 0.0], None),
        ])
    };
    let mut follower = Follower::new(names(), vec![0.0, 0.0]);
    let mut late = path();
    late.stamp_ns = Some(nanoseconds(11.0));
    follower
        .accept(&late, nanoseconds(10.0), &PARAMETERS)
        .unwrap();
    assert!(near(&follower.at(nanoseconds(10.5)).positions, &[0.0, 0.0]));
    assert!(near(&follower.at(nanoseconds(11.5)).positions, &[0.5, 0.0]));
    let mut follower = Follower::new(names(), vec![0.0, 0.0]);
    let mut begun = path();
    begun.stamp_ns = Some(nanoseconds(9.5));
    follower
        .accept(&begun, nanoseconds(10.0), &PARAMETERS)
        .unwrap();
    assert!(near(&follower.at(nanoseconds(10.0)).positions, &[0.5, 0.0]));
}

#[test]
fn what_is_refused_changes_nothing_and_hold_stops_where_the_arm_is() {
    let mut follower = Follower::new(names(), vec![0.0, 0.0]);
    let goal = message(vec![point(2.0, [2.0, 0.0], None)]);
    follower.accept(&goal, 0, &PARAMETERS).unwrap();
    let empty = message(vec![]);
    let refused = follower.accept(&empty, nanoseconds(0.5), &PARAMETERS);
    assert_eq!(refused, Err(Rejection::Empty));
    assert!(near(&follower.at(nanoseconds(1.0)).positions, &[1.0, 0.0]));
    follower.hold(nanoseconds(1.0));
    assert!(near(&follower.at(nanoseconds(9.0)).positions, &[1.0, 0.0]));
    assert!(!follower.is_moving(nanoseconds(1.0)));
}
