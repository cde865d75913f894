use r2r::sensor_msgs::msg::JointState;

use super::*;
use crate::kinematics::{forward_kinematics, residual};
use crate::node::convert::{point, pose_from, pose_message};
use crate::node::test_data::{square, view, with_obstacles};

const Q: [f64; 6] = [0.0, -1.2, 1.6, -0.4, 1.57, 0.0];

fn six_axis() -> View {
    view("six_axis", &Q, &[])
}

fn request(view: &View, q: &[f64]) -> Request {
    let mut request = Request::default();
    request.target.pose = pose_message(&forward_kinematics(&view.robot.chain, q).unwrap());
    request
}

fn ask(view: &View, request: &Request) -> Response {
    solve_ik(view, request, &|| false)
}

#[test]
fn every_solution_is_at_the_target_and_the_nearest_comes_first() {
    let view = six_axis();
    let goal = [0.3, -1.0, 1.4, -0.2, 1.4, 0.2];
    let mut request = request(&view, &goal);
    request.max_solutions = 8;
    let response = ask(&view, &request);
    assert_eq!(
        response.code.value,
        Code::Success.value(),
        "{}",
        response.message
    );
    assert!(response.solutions.len() > 1 && response.solutions.len() <= 8);
    let target = pose_from(&request.target.pose).unwrap();
    let mut before = 0.0;
    for solution in &response.solutions {
        assert_eq!(solution.name, view.robot.chain.joint_names());
        assert_eq!(solution.header.stamp.sec, 7);
        let pose = forward_kinematics(&view.robot.chain, &solution.position).unwrap();
        let off = residual(&target, &pose);
        assert!(off.position < 2e-6 && off.orientation < 2e-6, "{off:?}");
        let steps = solution
            .position
            .iter()
            .zip(&Q)
            .map(|(a, b)| (a - b).powi(2));
        let distance = steps.sum::<f64>();
        assert!(distance >= before, "not sorted");
        before = distance;
    }
}

#[test]
fn each_field_that_is_wrong_has_its_own_code_and_words() {
    let view = six_axis();
    let asked = |change: &dyn Fn(&mut Request)| {
        let mut request = request(&view, &Q);
        change(&mut request);
        let response = ask(&view, &request);
        assert!(response.solutions.is_empty());
        (response.code.value, response.message)
    };
    type Case<'a> = (&'a dyn Fn(&mut Request), Code, &'a str);
    let cases: [Case; 11] = [
        (
            &|r| r.target.pose.position.x = f64::NAN,
            Code::InvalidRequest,
            "target: the position",
        ),
        (
            &|r| r.target.header.frame_id = "nowhere".into(),
            Code::FrameTransformFailure,
            "\"nowhere\"",
        ),
        (
            &|r| r.tip_link = "tol0".into(),
            Code::InvalidLinkName,
            "did you mean \"tool0\"",
        ),
        (
            &|r| r.solver = "magic".into(),
            Code::UnknownSolver,
            "\"magic\"",
        ),
        (
            &|r| r.position_tolerance = -1.0,
            Code::InvalidRequest,
            "position_tolerance is -1",
        ),
        (
            &|r| r.orientation_tolerance = f64::NAN,
            Code::InvalidRequest,
            "orientation_tolerance is NaN",
        ),
        (
            &|r| r.timeout.sec = -2,
            Code::InvalidRequest,
            "timeout is negative",
        ),
        (
            &|r| r.seed.position = vec![1.0],
            Code::InvalidRequest,
            "the seed has 0 joint names",
        ),
        (
            &|r| {
                r.preferred_posture = JointState {
                    name: vec!["elbow_joint".into()],
                    ..JointState::default()
                };
            },
            Code::InvalidRequest,
            "preferred_posture has 1",
        ),
        (
            &|r| r.target.pose.position = point(9.0, 0.0, 0.0),
            Code::Unreachable,
            "too far",
        ),
        (
            &|r| {
                r.target.pose.orientation = r2r::geometry_msgs::msg::Quaternion {
                    w: 0.0,
                    ..Default::default()
                }
            },
            Code::InvalidRequest,
            "quaternion is zero",
        ),
    ];
    for (change, code, words) in cases {
        let (value, message) = asked(change);
        assert_eq!(value, code.value(), "{message}");
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn without_joint_states_a_full_seed_is_enough_and_a_partial_one_is_not() {
    let mut view = six_axis();
    let mut request = request(&view, &Q);
    view.states = std::sync::Arc::new(crate::node::joint_states::JointStates::new("/js"));
    let response = ask(&view, &request);
    assert_eq!(response.code.value, Code::NoJointState.value());
    assert!(response.message.contains("/js"), "{}", response.message);
    request.seed.name = view.robot.chain.joint_names();
    request.seed.position = Q.iter().map(|value| value + 0.05).collect();
    assert_eq!(ask(&view, &request).code.value, Code::Success.value());
    request.seed.name.pop();
    request.seed.position.pop();
    let response = ask(&view, &request);
    assert_eq!(response.code.value, Code::InvalidRobotState.value());
    assert!(
        response.message.contains("wrist_3_joint"),
        "{}",
        response.message
    );
    assert!(
        response.message.contains("the current state"),
        "{}",
        response.message
    );
}

#[test]
fn other_links_and_positions_alone_can_be_asked_for() {
    let view = six_axis();
    let mut request = request(&view, &Q);
    request.tip_link = "wrist_1_link".into();
    request.position_only = true;
    request.target.pose.orientation = r2r::geometry_msgs::msg::Quaternion::default();
    let response = ask(&view, &request);
    assert_eq!(
        response.code.value,
        Code::Success.value(),
        "{}",
        response.message
    );
    let chain = view.robot.chain_to("wrist_1_link").unwrap();
    let solution = &response.solutions[0];
    assert_eq!(solution.name, chain.joint_names());
    let tip = forward_kinematics(&chain, &solution.position)
        .unwrap()
        .translation
        .vector;
    let target = &request.target.pose.position;
    assert!((tip - nalgebra::Vector3::new(target.x, target.y, target.z)).norm() < 2e-6);
}

#[test]
fn answers_in_collision_are_none_where_that_is_asked() {
    let view = six_axis();
    let mut request = request(&view, &Q);
    request.avoid_collisions = true;
    let free = ask(&view, &request);
    assert_eq!(free.code.value, Code::Success.value(), "{}", free.message);
    // A prism of any height around the target: whatever the arm does, its tip is in there.
    let at = &request.target.pose.position;
    let view = with_obstacles(view.clone(), &[square("box", at.x, at.y, 0.2)]);
    let response = ask(&view, &request);
    assert_ne!(response.code.value, Code::Success.value());
    assert!(response.solutions.is_empty());
    request.avoid_collisions = false;
    assert_eq!(ask(&view, &request).code.value, Code::Success.value());
}
