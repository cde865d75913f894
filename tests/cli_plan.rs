//! `arm-planner plan` as a user meets it: what it prints, writes, and returns.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

const START: &str = "-0.9133647334034031,-1.4291107431895678,2.035887315469656,\
                     -2.1775728995203676,-1.5707963268098852,-2.4841610602126463";

const SCENE: &str = r#"{"obstacles": [
    {"id": "crate", "polygon": [[0.36, -0.16], [0.52, -0.16], [0.52, -0.04], [0.36, -0.04]], "max_height": 0.28},
    [[0.42, 0.07], [0.52, 0.07], [0.52, 0.17], [0.42, 0.17]]]}"#;

fn temporary(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn plan(arguments: &[&str]) -> Output {
    let urdf = format!("{}/urdf/six_axis.urdf", env!("CARGO_MANIFEST_DIR"));
    Command::new(env!("CARGO_BIN_EXE_arm-planner"))
        .args(["plan", "--urdf", &urdf, "--start", START])
        .args(arguments)
        .output()
        .unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn plans_writes_and_draws() {
    let scene = temporary("plan_scene.json", SCENE);
    let csv = temporary("plan.csv", "");
    let svg = temporary("plan.svg", "");
    let output = plan(&[
        "--scene",
        scene.to_str().unwrap(),
        "--goal",
        "0.42,0.28,0.26",
        "--csv",
        csv.to_str().unwrap(),
        "--svg",
        svg.to_str().unwrap(),
        "--json",
    ]);
    assert!(output.status.success(), "{}", words(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["ok"], true);
    assert!(json["length"].as_f64().unwrap() > 0.58);
    assert!((json["min_clearance"].as_f64().unwrap() - 0.03).abs() < 1e-4);
    let points = json["trajectory"].as_array().unwrap();
    assert_eq!(points[0]["positions"].as_array().unwrap().len(), 6);

    let csv = std::fs::read_to_string(csv).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), points.len() + 1);
    assert!(lines[0].starts_with("time,position shoulder_pan_joint"));
    assert!(lines.iter().all(|line| line.split(',').count() == 19));
    let last: Vec<f64> = lines[lines.len() - 1]
        .split(',')
        .map(|cell| cell.parse().unwrap())
        .collect();
    assert!((last[0] - json["duration"].as_f64().unwrap()).abs() < 1e-9);
    assert!(
        last[7..13].iter().all(|velocity| velocity.abs() < 1e-9),
        "must end at rest"
    );

    let svg = std::fs::read_to_string(svg).unwrap();
    for word in ["crate", "start", "goal", "Velocity", "wrist_3_joint"] {
        assert!(svg.contains(word), "{word} is not in the picture");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf\""));
}

#[test]
fn a_table_for_people() {
    let output = plan(&["--goal", "0.42,0.28,0.26,1,0,0,0", "--goal", "0.42,0.1,0.3"]);
    assert!(output.status.success(), "{}", words(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    for word in [
        "tip path",
        "no obstacle",
        "trajectory",
        "elbow_joint",
        "top speed",
    ] {
        assert!(text.contains(word), "{word} is not in:\n{text}");
    }
}

#[test]
fn no_solution_is_1_and_says_why() {
    for (goal, word) in [("2,0,0.3", "out of reach"), ("0.44,-0.1,0.26", "crate")] {
        let scene = temporary("plan_no_solution.json", SCENE);
        let output = plan(&["--scene", scene.to_str().unwrap(), "--goal", goal, "--json"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(words(&output).contains(word), "{}", words(&output));
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["ok"], false);
        assert!(json["reason"].as_str().unwrap().contains(word));
    }
}

#[test]
fn bad_input_is_2_and_says_what() {
    let crossing = temporary(
        "plan_crossing.json",
        r#"{"obstacles": [[[0,0],[1,1],[1,0],[0,1]]]}"#,
    );
    let crossing = crossing.to_str().unwrap();
    let goal = "0.42,0.28,0.26";
    for (arguments, word) in [
        (vec!["--goal", "1,2"], "3 or 7 numbers"),
        (vec!["--goal", "0.4,0.2,0.3,0,0,0,0"], "quaternion is zero"),
        (vec!["--goal", "0.4,nan,0.3"], "not finite"),
        (
            vec!["--goal", goal, "--roadmap", "voronoi"],
            "visibility_graph",
        ),
        (vec!["--goal", goal, "--solver", "magic"], "damped_svd"),
        (vec!["--goal", goal, "--clearance", "-1"], "clearance"),
        (vec!["--goal", goal, "--velocity-scaling", "2"], "scaling"),
        (vec!["--goal", goal, "--sample-period", "0"], "period"),
        (vec!["--goal", goal, "--timeout", "0"], "--timeout"),
        (
            vec!["--goal", goal, "--scene", "nowhere.json"],
            "nowhere.json",
        ),
        (vec!["--goal", goal, "--scene", crossing], "crosses itself"),
        (vec!["--goal", goal, "--tip", "tol0"], "did you mean"),
        (vec!["--goal", goal, "--contact", "maybe"], "contact"),
        (vec!["--goal", "1e9,0,0.3"], "1e7"),
    ] {
        let output = plan(&arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            words(&output)
        );
        assert!(
            words(&output).contains(word),
            "{arguments:?}: {}",
            words(&output)
        );
    }
}
