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

/// A plan with its picture.
fn drawn(name: &str, arguments: &[&str]) -> (Output, String) {
    let svg = temporary(name, "");
    let output = plan(&[arguments, &["--svg", svg.to_str().unwrap()]].concat());
    let picture = std::fs::read_to_string(svg).unwrap();
    assert!(!picture.contains("NaN") && !picture.contains("inf\""));
    (output, picture)
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
fn a_plan_that_fails_is_drawn_with_the_place_and_the_reason() {
    let scene = temporary("plan_failing.json", SCENE);
    let ring = r#"{"obstacles": [[[0.3,0.15],[0.55,0.15],[0.55,0.18],[0.3,0.18]], [[0.3,0.38],[0.55,0.38],[0.55,0.41],[0.3,0.41]],
        [[0.28,0.15],[0.31,0.15],[0.31,0.41],[0.28,0.41]], [[0.53,0.15],[0.56,0.15],[0.56,0.41],[0.53,0.41]]]}"#;
    let ring = temporary("plan_ring.json", ring);
    let goal = "0.42,0.28,0.26";
    for (name, scene, goal, more, there) in [
        // Followed up to a place: route, cross, what it meets.
        (
            "meets",
            &scene,
            goal,
            &[][..],
            &[
                ">20.",
                "wrist_3_link meets crate",
                ">as far as it goes<",
                ">route<",
                ">in the way<",
            ][..],
        ),
        (
            "inside",
            &scene,
            "0.44,-0.1,0.26",
            &[],
            &[">inside crate<", ">straight to the goal<", ">in the way<"],
        ),
        (
            "shut in",
            &ring,
            goal,
            &[],
            &[">shut in<", ">straight to the goal<", ">in the way<"],
        ),
        (
            "far",
            &scene,
            "2,0.28,0.26",
            &[],
            &[">out of reach<", ">route<"],
        ),
        (
            "start",
            &scene,
            goal,
            &["--link-clearance", "5"],
            &["meets"],
        ),
        (
            "late",
            &scene,
            goal,
            &["--timeout", "1e-9"],
            &["time was up"],
        ),
    ] {
        let scene = ["--scene", scene.to_str().unwrap(), "--goal", goal];
        let file = format!("plan_fails_{}.svg", name.replace(' ', "_"));
        let (output, picture) = drawn(&file, &[&scene[..], more].concat());
        assert_eq!(output.status.code(), Some(1), "{name}: {}", words(&output));
        for word in there.iter().chain(&["No plan", "start", "goal", "base"]) {
            assert!(
                picture.contains(word),
                "{name}: {word} is not in the picture"
            );
        }
        // The reason as it is told, in however many lines.
        let reason = words(&output);
        let reason = reason.trim().trim_start_matches("arm-planner: ");
        let first: Vec<&str> = reason.split(' ').take(4).collect();
        let first = first.join(" ").replace('"', "&quot;");
        assert!(picture.contains(&first), "{name}: {first}");
        assert!(picture.contains("No curves"), "{name}");
    }
}

#[test]
fn the_part_before_the_break_is_timed_written_and_drawn() {
    let scene = temporary("plan_part.json", SCENE);
    let csv = temporary("plan_part.csv", "what an earlier plan left");
    let ask = [
        "--scene",
        scene.to_str().unwrap(),
        "--goal",
        "0.42,0.28,0.26",
        "--csv",
        csv.to_str().unwrap(),
    ];
    let (output, _) = drawn("plan_no_part.svg", &ask);
    assert!(
        words(&output).contains("plan_part.csv is not written"),
        "{}",
        words(&output)
    );
    let (output, picture) = drawn("plan_part.svg", &[&ask[..], &["--partial"]].concat());
    assert_eq!(output.status.code(), Some(1));
    for word in ["Velocity [rad/s, m/s] of the part", "wrist_3_joint"] {
        assert!(picture.contains(word), "{word} is not in the picture");
    }
    let csv = std::fs::read_to_string(csv).unwrap();
    let rows: Vec<Vec<f64>> = csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
        .collect();
    let start: Vec<f64> = START
        .split(',')
        .map(|value| value.trim().parse().unwrap())
        .collect();
    assert!(rows[0][1..7]
        .iter()
        .zip(&start)
        .all(|(a, b)| (a - b).abs() < 1e-9));
    // From rest to rest, and not as far as the whole way would go.
    let last = rows.last().unwrap();
    assert!(last[7..13].iter().all(|velocity| velocity.abs() < 1e-9));
    assert!(last[0] > 0.2 && last[1] < start[0] + 0.3, "{last:?}");
}

#[test]
fn every_limit_is_in_the_picture_as_a_line_or_with_an_arrow() {
    let (output, picture) = drawn(
        "plan_limits.svg",
        &[
            "--goal",
            "0.42,0.28,0.26",
            "--velocity-scaling",
            "0.01",
            "--max-acceleration",
            "1000",
        ],
    );
    assert!(output.status.success(), "{}", words(&output));
    // Joint ranges of the description, 1 % of its velocities, an acceleration that is never reached then.
    for word in [
        "3.14 (3)",
        "6.28 (1, 2, 4–6)",
        "↑ 1000 (all)",
        "↓ -1000 (all)",
        ">0.0314 (all)<",
    ] {
        assert!(picture.contains(word), "{word} is not in the picture");
    }
}

#[test]
fn what_the_tip_passes_over_or_under_is_in_the_curve_of_its_height() {
    let scene = r#"{"obstacles": [
        {"id": "wall", "polygon": [[-1, -0.06], [1, -0.06], [1, 0.0], [-1, 0.0]], "max_height": 0.28},
        {"id": "beam", "polygon": [[0.2, 0.1], [0.6, 0.1], [0.6, 0.14], [0.2, 0.14]], "min_height": 0.6},
        {"id": "aside", "polygon": [[0.7, 0.1], [0.8, 0.1], [0.8, 0.14], [0.7, 0.14]], "min_height": 0.6}]}"#;
    let scene = temporary("plan_heights.json", scene);
    let ask = [
        "--scene",
        scene.to_str().unwrap(),
        "--goal",
        "0.42,0.28,0.26",
        "--no-collision",
    ];
    let over = [&ask[..], &["--safe-height", "0.4"]].concat();
    let (output, picture) = drawn("plan_heights.svg", &over);
    assert!(output.status.success(), "{}", words(&output));
    for word in [
        "Height of the tip",
        ">wall: up to 0.28 m<",
        ">beam: from 0.6 m up<",
        ">safe height<",
        ">passed over or under<",
    ] {
        assert!(picture.contains(word), "{word} is not in the picture");
    }
    assert!(!picture.contains("aside:"));
}

/// Sampled once in a blue moon, the way around the crate is a way through it.
#[test]
fn points_too_far_apart_are_blamed_themselves() {
    let scene = temporary("plan_period.json", SCENE);
    let ask = [
        "--scene",
        scene.to_str().unwrap(),
        "--goal",
        "0.42,0.28,0.26",
        "--clearance",
        "0.05",
        "--no-collision",
    ];
    let period = |period: &str| plan(&[&ask[..], &["--sample-period", period]].concat());
    let output = period("1e300");
    assert_eq!(output.status.code(), Some(2));
    let told = words(&output);
    assert!(
        told.contains("points 1e300 s apart are too few") && told.contains("shorter period"),
        "{told}"
    );
    assert!(!told.contains("crate"), "{told}");
    assert!(period("0.1").status.success(), "{}", words(&period("0.1")));
}

#[test]
fn random_tables_that_cannot_be_drawn_are_told() {
    let urdf = format!("{}/urdf/six_axis.urdf", env!("CARGO_MANIFEST_DIR"));
    for (more, word) in [
        (
            &["--obstacles", "1000000000", "--timeout", "0.1"][..],
            "fewer --obstacles",
        ),
        (&["--timeout", "0"], "--timeout"),
        (&["--height", "nan"], "--height"),
        (&["--safe-height", "1e300"], "--safe-height: 1e300"),
        (&["--clearance", "inf"], "--clearance"),
        (&["--ring", "0.7", "0.3"], "--ring"),
        (&["--ring", "0.1", "1e300"], "--ring: 1e300"),
        (&["--pairs", "0"], "--pairs"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_arm-planner"))
            .args(["plan-random", "--urdf", &urdf])
            .args(more)
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(2),
            "{more:?}: {}",
            words(&output)
        );
        assert!(
            words(&output).contains(word),
            "{more:?}: {}",
            words(&output)
        );
    }
}

#[test]
fn a_malformed_item_is_bad_input_and_a_path_without_a_motion_is_not() {
    let good = serde_json::json!({"bc": "clamped", "ss": [0.0, 0.5, 1.0], "waypoints": [[0.0, 0.0], [0.3, 0.1], [0.5, 0.5]]});
    let with = |field: &str, value: Value| {
        let mut item = good.clone();
        item[field] = value;
        item
    };
    let endless = with(
        "waypoints",
        serde_json::json!([[1e200, 0.0], [2e200, 0.0], [3e200, 0.0]]),
    );
    for (item, code, word) in [
        (
            with("bc", "periodic".into()),
            2,
            "number 1 from 0: 'bc' is 'periodic'",
        ),
        (with("ss", serde_json::json!([0.0, 0.5])), 2, "malformed"),
        (
            with("ss", serde_json::json!([0.0, 0.5, 0.5])),
            2,
            "malformed",
        ),
        (
            with("waypoints", serde_json::json!([[0.0], [0.3], [0.5]])),
            2,
            "malformed",
        ),
        (
            with(
                "waypoints",
                serde_json::json!([[0.0, 0.0], [0.3], [0.5, 0.5]]),
            ),
            2,
            "malformed",
        ),
        (endless, 1, "could not be timed"),
        (good.clone(), 0, ""),
    ] {
        let file =
            serde_json::json!({"vmax": [1.0, 1.0], "amax": [2.0, 2.0], "paths": [good, item]});
        let paths = temporary("topp_items.json", &file.to_string());
        let out = temporary("topp_out.json", "");
        let output = Command::new(env!("CARGO_BIN_EXE_arm-planner"))
            .args(["topp-batch", "--paths", paths.to_str().unwrap(), "--out"])
            .arg(&out)
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{item}: {}",
            words(&output)
        );
        assert!(words(&output).contains(word), "{item}: {}", words(&output));
        // The others are timed all the same.
        let json: Value = serde_json::from_str(&std::fs::read_to_string(out).unwrap()).unwrap();
        assert_eq!(json["results"][0]["ok"], true);
        assert_eq!(json["results"][1]["ok"], code == 0);
    }
    for (name, value) in [("vmax", 1e300), ("amax", 1e-300)] {
        let mut file = serde_json::json!({"vmax": [1.0, 1.0], "amax": [2.0, 2.0], "paths": [good]});
        file[name][1] = value.into();
        let paths = temporary("topp_limits.json", &file.to_string());
        let output = Command::new(env!("CARGO_BIN_EXE_arm-planner"))
            .args(["topp-batch", "--paths", paths.to_str().unwrap()])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let told = words(&output);
        assert!(
            told.contains(&format!("{name} must be")) && told.len() < 300,
            "{told}"
        );
    }
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
    for more in [
        ["--tolerance", "0"],
        ["--tolerance", "1e-300"],
        ["--timeout", "0"],
    ] {
        let output = follow(&more);
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(words(&output).contains(more[0]), "{}", words(&output));
    }
    let mut far = file;
    far["paths"][1]["poses"][3][0] = 1e300.into();
    std::fs::write(&paths, far.to_string()).unwrap();
    let output = follow(&[]);
    assert_eq!(output.status.code(), Some(2));
    let told = words(&output);
    assert!(
        told.contains("path 1") && told.contains("1e300 is not within"),
        "{told}"
    );
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
        (
            vec!["--goal", "0.4,0,1e300"],
            "coordinate 1e300 is not within",
        ),
        (
            vec!["--goal", goal, "--plane", "1e300,0,0"],
            "--plane: the coordinate",
        ),
        (
            vec!["--goal", goal, "--max-acceleration", "1e300"],
            "between 1e-4 and 1e6, not 1e300",
        ),
        (
            vec!["--goal", goal, "--max-acceleration", "1e-300"],
            "not 1e-300",
        ),
        (
            vec!["--goal", goal, "--default-max-velocity", "1e300"],
            "--default-max-velocity",
        ),
        (vec!["--goal", goal, "--tip-speed", "1e300"], "--tip-speed"),
        (
            vec!["--goal", goal, "--tip-acceleration", "0"],
            "--tip-acceleration",
        ),
        (vec!["--goal", goal, "--deviation", "1e-300"], "--deviation"),
        (
            vec!["--goal", goal, "--package-path", "/no/such"],
            "no such folder",
        ),
        (
            vec!["--goal", goal, "--srdf", "urdf/six_axis.urdf"],
            "not an SRDF",
        ),
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
