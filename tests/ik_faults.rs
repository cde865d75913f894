//! Inverse kinematics as it fails in the field, each after public reports, with what must come
//! of it. The inputs and the expectations lie in `tests/data/faults`.

mod ik_support;

use arm_planner::ik::{
    seed_from_names, solver, Goal, IkError, IkRequest, IkSolution, SeedError, SeedWarning,
};
use arm_planner::kinematics::{forward_kinematics, validated_pose, Pose, PoseError};
use arm_planner::model::{Chain, RobotModel};
use serde_json::Value;

fn read(name: &str) -> String {
    let folder = format!("{}/tests/data/faults", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

fn case(name: &str) -> Value {
    serde_json::from_str(&read(&format!("{name}.json"))).unwrap()
}

fn chain(file: &str, tip: &str) -> Chain {
    let model = RobotModel::from_urdf(&read(file)).unwrap();
    model.chain("base", tip, false).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().unwrap();
    list.iter().map(|v| v.as_f64().unwrap()).collect()
}

fn pose(target: &Value) -> Pose {
    let xyz: [f64; 3] = numbers(&target["xyz"]).try_into().unwrap();
    let quaternion: [f64; 4] = match target.get("quat_xyzw") {
        Some(value) => numbers(value).try_into().unwrap(),
        None => [0.0, 0.0, 0.0, 1.0],
    };
    validated_pose(xyz, quaternion).unwrap()
}

/// The variant of a case called `id`.
fn variant<'a>(case: &'a Value, id: &str) -> &'a Value {
    let variants = case["input"]["variants"].as_array().unwrap();
    variants.iter().find(|v| v["id"] == id).unwrap()
}

fn request(target: Pose, goal: Goal) -> IkRequest<'static> {
    let mut request = IkRequest::new(target);
    request.goal = goal;
    request
}

fn solve(chain: &Chain, request: &IkRequest<'_>, seed: &[f64]) -> Result<IkSolution, IkError> {
    solver("").unwrap().solve(chain, request, seed)
}

#[track_caller]
fn assert_near(q: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(q.len(), expected.len());
    for (value, wanted) in q.iter().zip(expected) {
        assert!(
            (value - wanted).abs() <= tolerance,
            "{q:?} is not {expected:?}"
        );
    }
}

fn on_base_axis(id: &str) {
    let case = case("ik_on_base_axis");
    let chain = chain("ik_on_base_axis.urdf", "tip");
    let variant = variant(&case, id);
    let request = request(pose(&variant["target"]), Goal::Position);
    let seed = numbers(&variant["seed"]);
    for name in ["", "damped_svd", "levenberg_marquardt"] {
        let solution = solver(name)
            .unwrap()
            .solve(&chain, &request, &seed)
            .unwrap();
        assert!(solution.position_error <= 1e-6);
        assert!(
            (solution.q[0] - 1.234).abs() <= 0.05,
            "the base swings: {:?}",
            solution.q
        );
        let branches = case["expected"]["sho_elb_solutions"].as_array().unwrap();
        assert!(
            branches.iter().any(|branch| {
                let wanted = numbers(branch);
                (solution.q[1] - wanted[0]).abs() < 1e-4 && (solution.q[2] - wanted[1]).abs() < 1e-4
            }),
            "{:?}",
            solution.q
        );
    }
}

#[test]
fn on_base_axis_on_axis() {
    on_base_axis("on_axis");
}

#[test]
fn on_base_axis_noise() {
    on_base_axis("noise");
}

#[test]
fn on_base_axis_other_elbow() {
    on_base_axis("other_elbow");
}

#[test]
fn planar2r_each_seed_finds_its_elbow() {
    let case = case("ik_planar2r_branches");
    let chain = chain("ik_planar2r_branches.urdf", "tip");
    let mut request = request(pose(&case["input"]["target"]), Goal::Position);
    request.tolerances.position = 1e-8;
    for id in ["near_elbow_pos", "near_elbow_neg"] {
        let seed = numbers(&variant(&case, id)["seed"]);
        let solution = solve(&chain, &request, &seed).unwrap();
        assert_near(&solution.q, &numbers(&case["expected"][id]), 1e-6);
    }
}

#[test]
fn planar2r_straight_seed_does_not_stall() {
    let case = case("ik_planar2r_branches");
    let chain = chain("ik_planar2r_branches.urdf", "tip");
    let mut request = request(pose(&case["input"]["target"]), Goal::Position);
    request.restarts = false;
    for name in ["", "damped_svd", "levenberg_marquardt", "ccd", "fabrik"] {
        let solution = solver(name)
            .unwrap()
            .solve(&chain, &request, &[0.0, 0.0])
            .unwrap();
        assert!(solution.position_error <= 1e-6, "{name}");
    }
}

#[test]
fn planar2r_all_branches() {
    let case = case("ik_planar2r_branches");
    let chain = chain("ik_planar2r_branches.urdf", "tip");
    let mut request = request(pose(&case["input"]["target"]), Goal::Position);
    request.tolerances.position = 1e-8;
    request.max_solutions = 10;
    let seed = [1.0, -1.0];
    let solutions = solver("")
        .unwrap()
        .solve_all(&chain, &request, &seed)
        .unwrap();
    assert_eq!(solutions.len(), 2, "{solutions:?}");
    // Nearest to the seed first.
    assert_near(
        &solutions[0].q,
        &numbers(&case["expected"]["near_elbow_neg"]),
        1e-6,
    );
    assert_near(
        &solutions[1].q,
        &numbers(&case["expected"]["near_elbow_pos"]),
        1e-6,
    );
}

#[test]
fn planar3r_full_pose_in_its_plane() {
    let case = case("ik_planar3r_pose");
    let chain = chain("ik_planar3r_pose.urdf", "tip");
    let mut request = request(pose(&case["input"]["target"]), Goal::Pose);
    request.tolerances.position = 1e-8;
    request.tolerances.orientation = 1e-8;
    for id in ["a", "b"] {
        let seed = numbers(&variant(&case, id)["seed"]);
        for name in ["", "damped_svd", "levenberg_marquardt"] {
            let solution = solver(name)
                .unwrap()
                .solve(&chain, &request, &seed)
                .unwrap();
            assert_near(&solution.q, &numbers(&case["expected"][id]), 1e-6);
        }
    }
}

#[test]
fn planar3r_out_of_plane_is_unreachable() {
    let case = case("ik_planar3r_pose");
    let chain = chain("ik_planar3r_pose.urdf", "tip");
    let variant = variant(&case, "out_of_plane");
    let mut target = pose(&case["input"]["target"]);
    target.translation.vector = numbers(&variant["target_xyz"])
        .as_slice()
        .try_into()
        .map(|[x, y, z]: [f64; 3]| nalgebra::Vector3::new(x, y, z))
        .unwrap();
    let seed = numbers(&variant["seed"]);
    for name in ["", "damped_svd", "levenberg_marquardt", "fabrik"] {
        let request = request(target, Goal::Pose);
        let error = solver(name)
            .unwrap()
            .solve(&chain, &request, &seed)
            .unwrap_err();
        assert!(error.is_unreachable(), "{error:?}");
        let IkError::OffMotionPlane {
            position,
            orientation,
            ..
        } = &error
        else {
            panic!("{error:?}");
        };
        assert!((position - 0.05).abs() < 1e-12 && *orientation < 1e-9);
        assert!(error.to_string().contains("0.05"), "{error}");
        let best = error.best().unwrap();
        if name != "fabrik" {
            assert!(
                (best.position_error - 0.05).abs() < 1e-6,
                "{name}: {best:?}"
            );
        }
    }
}

fn seed_case(id: &str) -> (Chain, Vec<String>, Vec<f64>) {
    let case = case("ik_seed_vectors");
    let variant = variant(&case, id);
    let names = variant["name"].as_array().unwrap();
    let names = names
        .iter()
        .map(|v| v.as_str().unwrap().to_owned())
        .collect();
    let positions = variant["position"].as_array().unwrap();
    let positions = positions
        .iter()
        .map(|v| v.as_f64().unwrap_or(f64::NAN))
        .collect();
    (chain("ik_seed_vectors.urdf", "tip"), names, positions)
}

#[test]
fn seed_vectors_are_read_by_name() {
    let target = pose(&case("ik_seed_vectors")["input"]["target"]);
    for id in ["chain_order", "alphabetical", "extra_joint"] {
        let (chain, names, positions) = seed_case(id);
        let (seed, warnings) = seed_from_names(&chain, &names, &positions, None).unwrap();
        assert_eq!(seed, [0.6, -0.4, 1.0], "{id}");
        assert!(warnings.is_empty());
        let mut request = request(target, Goal::Position);
        request.tolerances.position = 1e-8;
        let solution = solve(&chain, &request, &seed).unwrap();
        assert_near(&solution.q, &[0.7, -0.5, 1.1], 1e-6);
    }
}

#[test]
fn seed_vectors_missing_joint() {
    let (chain, names, positions) = seed_case("missing_joint");
    let error = seed_from_names(&chain, &names, &positions, None).unwrap_err();
    assert_eq!(
        error,
        SeedError::SeedMissingJoint {
            joints: vec!["lift".into()]
        }
    );
    assert!(error.to_string().contains("lift"));
    let fallback = chain.middle();
    let (seed, warnings) = seed_from_names(&chain, &names, &positions, Some(&fallback)).unwrap();
    assert_eq!(seed, [0.6, 0.0, 1.0]);
    assert_eq!(
        warnings,
        [SeedWarning::Missing {
            joint: "lift".into(),
            value: 0.0
        }]
    );
}

#[test]
fn seed_vectors_wrong_length() {
    for (id, values) in [("too_short", 2), ("too_long", 4)] {
        let (chain, names, positions) = seed_case(id);
        let error = seed_from_names(&chain, &names, &positions, None).unwrap_err();
        assert_eq!(error, SeedError::SeedLength { names: 3, values });
    }
}

#[test]
fn seed_vectors_nan() {
    let (chain, names, positions) = seed_case("nan");
    let error = seed_from_names(&chain, &names, &positions, None).unwrap_err();
    assert!(matches!(&error, SeedError::SeedNotFinite { joint, .. } if joint == "lift"));
}

#[test]
fn seed_vectors_joint_twice() {
    let (chain, names, positions) = seed_case("twice");
    let error = seed_from_names(&chain, &names, &positions, None).unwrap_err();
    assert_eq!(
        error,
        SeedError::SeedDuplicateJoint {
            joint: "bend".into()
        }
    );
}

#[test]
fn seed_vectors_none() {
    let (chain, names, positions) = seed_case("none");
    assert!(seed_from_names(&chain, &names, &positions, None).is_err());
    let fallback = [0.1, 0.2, 0.3];
    let (seed, warnings) = seed_from_names(&chain, &names, &positions, Some(&fallback)).unwrap();
    assert_eq!(seed, fallback);
    assert!(warnings.is_empty());
}

#[test]
fn tool_offset_and_tip_in_the_middle() {
    let case = case("ik_tool_offset_mid_tip");
    let expected = &case["expected"];
    let seed = &case["input"]["seed"];
    let seed: Vec<f64> = ["q1", "q2", "q3"]
        .map(|name| seed[name].as_f64().unwrap())
        .into();
    let by_name = |value: &Value| ["q1", "q2", "q3"].map(|name| value[name].as_f64().unwrap());
    let mut request = request(pose(&case["input"]["target"]), Goal::Pose);
    request.tolerances.position = 1e-8;
    request.tolerances.orientation = 1e-8;

    let pen = chain("ik_tool_offset_mid_tip.urdf", "pen");
    assert_eq!(pen.joint_names(), ["q1", "q2", "q3"]);
    let solution = solve(&pen, &request, &seed).unwrap();
    assert_near(&solution.q, &by_name(&expected["pen"]["q"]), 1e-6);

    let palm = chain("ik_tool_offset_mid_tip.urdf", "palm");
    assert_eq!(palm.joint_names(), ["q1", "q2", "q3"]);
    let tip = forward_kinematics(&palm, &solution.q).unwrap();
    let wanted = pose(&expected["pen"]["palm_pose"]);
    assert!((tip.translation.vector - wanted.translation.vector).norm() < 1e-7);
    assert!(tip.rotation.angle_to(&wanted.rotation) < 1e-7);
    let solution = solve(&palm, &request, &seed).unwrap();
    assert_near(
        &solution.q,
        &by_name(&expected["palm"]["nearest_to_seed"]),
        1e-6,
    );
}

fn winding(id: &str) -> (Result<IkSolution, IkError>, Value) {
    let case = case("ik_windings");
    let variant = variant(&case, id);
    let chain = chain(variant["urdf"].as_str().unwrap(), "tip");
    let mut request = request(pose(&variant["target"]), Goal::Pose);
    request.tolerances.position = 1e-8;
    request.tolerances.orientation = 1e-8;
    let result = solve(&chain, &request, &numbers(&variant["seed"]));
    (result, case["expected"][id].clone())
}

#[test]
fn windings_nearest_to_the_seed() {
    for id in ["A_350", "A_back", "B_offset_limits", "C_gap"] {
        let (result, expected) = winding(id);
        assert_near(&result.unwrap().q, &numbers(&expected["q"]), 1e-6);
    }
}

#[test]
fn windings_dead_zone_names_the_limit() {
    let (result, expected) = winding("C_dead_zone");
    let error = result.unwrap_err();
    let best = error.best().unwrap();
    assert!((best.q[0].abs() - 3.1).abs() < 1e-9, "{best:?}");
    let angle = expected["angle_error_rad"].as_f64().unwrap();
    assert!((best.orientation_error - angle).abs() < 1e-6);
    let IkError::NotConverged { beyond_limits, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(beyond_limits[0].joint, "turn");
    assert!((beyond_limits[0].needed.abs() - std::f64::consts::PI).abs() < 1e-6);
    assert!(error.to_string().contains("turn"), "{error}");
}

#[test]
fn windings_all_answers_hold_every_turn() {
    let case = case("ik_windings");
    let variant = variant(&case, "A_back");
    let chain = chain("ik_windings.urdf", "tip");
    let mut request = request(pose(&variant["target"]), Goal::Pose);
    request.max_solutions = 5;
    let solutions = solver("")
        .unwrap()
        .solve_all(&chain, &request, &[-0.5])
        .unwrap();
    assert_eq!(solutions.len(), 2, "{solutions:?}");
    assert_near(&solutions[0].q, &[-0.174_532_925_199_432_95], 1e-5);
    assert_near(&solutions[1].q, &[6.108_652_381_980_153_5], 1e-5);
}

#[test]
fn quaternions_of_any_length_are_normalised_and_solved() {
    let case = case("quaternion_scaled");
    let chain = ik_support::six_joints();
    for variant in case["input"]["variants"].as_array().unwrap() {
        let id = variant["id"].as_str().unwrap();
        let quaternion: [f64; 4] = numbers(&variant["quat_xyzw"]).try_into().unwrap();
        let target = validated_pose([0.3, 0.2, 0.4], quaternion).unwrap();
        let expected = &case["expected"][id];
        let normalised = numbers(&expected["normalised_xyzw"]);
        let dot: f64 = target
            .rotation
            .coords
            .iter()
            .zip(&normalised)
            .map(|(a, b)| a * b)
            .sum();
        assert!((dot.abs() - 1.0).abs() < 1e-12, "{id}");
        let matrix = target.rotation.to_rotation_matrix();
        for (row, values) in expected["rotation_rows"]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
        {
            for (column, value) in numbers(values).iter().enumerate() {
                assert!((matrix[(row, column)] - value).abs() < 1e-12, "{id}");
            }
        }
        let request = request(target, Goal::Pose);
        let solution = solve(&chain, &request, &chain.middle()).unwrap();
        let tip = forward_kinematics(&chain, &solution.q).unwrap();
        assert!(tip.rotation.angle_to(&target.rotation) < 2e-6, "{id}");
    }
    assert_eq!(
        validated_pose([0.0; 3], [0.0; 4]),
        Err(PoseError::QuaternionZero)
    );
    assert!(validated_pose([0.0; 3], [f64::NAN, 0.0, 0.0, 1.0]).is_err());
}
