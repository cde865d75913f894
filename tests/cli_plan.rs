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
        "--no-collision",
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
fn the_whole_arm_is_checked_unless_it_is_not_wanted() {
    let scene = temporary("plan_whole_arm.json", SCENE);
    let scene = scene.to_str().unwrap();
    let near = ["--scene", scene, "--goal", "0.42,0.28,0.26", "--json"];
    // The tip keeps three centimetres, the wrist around it is wider.
    let refused = plan(&near);
    assert_eq!(refused.status.code(), Some(1));
    for word in ["wrist_3_link", "crate", "%"] {
        assert!(words(&refused).contains(word), "{}", words(&refused));
    }
    let read = |output: &Output| -> Value { serde_json::from_slice(&output.stdout).unwrap() };
    let json = read(&refused);
    assert!(json["fraction"].as_f64().unwrap() > 0.0 && json.get("partial").is_none());
    let partial = plan(&[&near[..], &["--partial"]].concat());
    assert!(read(&partial)["partial"].as_array().unwrap().len() > 2);
    let alone = plan(&[&near[..], &["--no-collision"]].concat());
    assert!(alone.status.success(), "{}", words(&alone));
    assert_eq!(read(&alone)["left_route"].as_array().unwrap().len(), 0);
    let left = plan(&[&near[..], &["--leave-route"]].concat());
    assert!(left.status.success(), "{}", words(&left));
    assert_eq!(read(&left)["left_route"], serde_json::json!([1]));
    let stages = read(&left)["stages"].clone();
    for stage in ["obstacles", "route", "follow", "joint space", "timing"] {
        assert!(stages[stage].as_f64().unwrap() >= 0.0, "{stages}");
    }
}

#[test]
fn planes_and_safe_heights() {
    let scene = temporary("plan_plane.json", SCENE);
    let scene = scene.to_str().unwrap();
    let ask = |more: &[&str]| {
        let goal = ["--scene", scene, "--goal", "0.42,0.28,0.26", "--json"];
        let clearance = ["--clearance", "0.05"];
        plan(&[&goal[..], &clearance, more].concat())
    };
    let length = |output: &Output| -> f64 {
        assert!(output.status.success(), "{}", words(output));
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        json["length"].as_f64().unwrap()
    };
    let around = length(&ask(&["--no-collision"]));
    // The obstacles a metre aside: no more in the way.
    let aside = length(&ask(&["--plane", "0,1,0"]));
    assert!(aside < around - 0.01 && (aside - 0.58_f64.hypot(0.02)).abs() < 1e-3);
    let over = ask(&["--safe-height", "0.27", "--no-collision"]);
    assert!(length(&over) <= around);
    // In a plane that leans the whole arm counts, too.
    let tilted = length(&ask(&["--plane", "0,1,0,0.1,0,0,1"]));
    assert!((tilted - aside).abs() < 1e-3, "{tilted} {aside}");
}

#[test]
fn random_tables_tell_the_time_of_each_stage() {
    let urdf = format!("{}/urdf/six_axis.urdf", env!("CARGO_MANIFEST_DIR"));
    let out = temporary("plan_random.json", "");
    let output = Command::new(env!("CARGO_BIN_EXE_arm-planner"))
        .args(["plan-random", "--urdf", &urdf, "--tip", "tool0"])
        .args(["--pairs", "6", "--obstacles", "4", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("6 pairs among 4 obstacles") && text.contains("timing"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&std::fs::read_to_string(out).unwrap()).unwrap();
    let results = json["results"].as_array().unwrap();
    assert_eq!(results.len(), 6);
    assert!(results.iter().any(|result| result["ok"] == true));
    assert!(results
        .iter()
        .all(|result| result["time_us"].as_f64().unwrap() > 0.0));
}

#[test]
fn dense_paths_are_followed_and_measured() {
    let urdf = format!("{}/urdf/six_axis.urdf", env!("CARGO_MANIFEST_DIR"));
    let start: Vec<f64> = START
        .split(',')
        .map(|value| value.trim().parse().unwrap())
        .collect();
    let line = |from: f64, to: f64| -> Vec<[f64; 7]> {
        let at = |k: u32| from + (to - from) * f64::from(k) / 50.0;
        (0..=50)
            .map(|k| [0.4, at(k), 0.26, 1.0, 0.0, 0.0, 0.0])
            .collect()
    };
    let file = serde_json::json!({
        "urdf": urdf, "tip": "tool0",
        "paths": [
            {"id": "there", "q_start": start, "poses": line(-0.3, -0.1)},
            {"id": "too far", "q_start": start, "poses": line(-0.3, -3.0)},
            {"poses": line(-0.3, 0.2)},
        ]
    });
    let paths = temporary("follow_paths.json", &file.to_string());
    let out = temporary("followed.json", "");
    let follow = |more: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_arm-planner"))
            .args(["follow-batch", "--paths", paths.to_str().unwrap(), "--out"])
            .arg(&out)
            .args(more)
            .output()
            .unwrap()
    };
    let output = follow(&["--tolerance", "1e-5"]);
    assert!(output.status.success(), "{}", words(&output));
    let json: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    let results = json["results"].as_array().unwrap();
    for (result, ok) in results.iter().zip([true, false, true]) {
        assert_eq!(result["ok"], ok, "{result}");
        assert!(result["max_deviation"].as_f64().unwrap() <= 1e-5);
        assert_eq!(result["reason"].as_str().unwrap().is_empty(), ok);
        let fraction = result["fraction"].as_f64().unwrap();
        assert!(if ok { fraction == 1.0 } else { fraction < 0.5 });
        assert!(result["joint_path"].as_array().unwrap().len() > 5);
    }
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("followed 2 of 3"), "{table}");
    let output = follow(&["--tolerance", "0"]);
    assert_eq!(output.status.code(), Some(2));
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
