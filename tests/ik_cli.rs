//! The commands `ik`, `ik-batch`, `fk` and `info`, run as a user runs them.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

fn data(name: &str) -> String {
    format!("{}/tests/data/faults/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_arm-planner"))
        .args(arguments)
        .output()
        .unwrap()
}

#[track_caller]
fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A folder of its own for a test's files.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn ik_prints_a_table_and_fk_agrees() {
    let urdf = data("ik_planar2r_branches.urdf");
    let output = run(&[
        "ik",
        "--urdf",
        &urdf,
        "--position",
        "0.6,0.3,0",
        "--position-only",
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let table = text(&output.stdout);
    assert!(
        table.contains("q1") && table.contains("position error"),
        "{table}"
    );

    let arguments = [
        "ik",
        "--urdf",
        &urdf,
        "--position",
        "0.6,0.3,0",
        "--position-only",
    ];
    let all = run(&[&arguments[..], &["--all", "--json", "--seed", "q2=-1,q1=1"]].concat());
    let answer = json(&all);
    assert_eq!(answer["solutions"].as_array().unwrap().len(), 2);
    let q = &answer["solutions"][0]["q"];
    assert!(q[1].as_f64().unwrap() < 0.0, "nearest to the seed first");
    let q = format!("{},{}", q[0], q[1]);
    let fk = run(&[
        "fk", "--urdf", &urdf, "--tip", "tip", "--q", &q, "--json", "--check",
    ]);
    assert_eq!(fk.status.code(), Some(0), "{fk:?}");
    let pose = json(&fk);
    assert!((pose["position"][0].as_f64().unwrap() - 0.6).abs() < 2e-6);
    assert!((pose["position"][1].as_f64().unwrap() - 0.3).abs() < 2e-6);
    assert!(pose["check"]["position_difference"].as_f64().unwrap() < 1e-9);
}

#[test]
fn exit_codes_tell_no_solution_from_bad_input() {
    let urdf = data("ik_planar2r_branches.urdf");
    let ik = |more: &[&str]| run(&[&["ik", "--urdf", urdf.as_str()], more].concat());
    let far = ik(&["--position", "3,0,0", "--position-only"]);
    assert_eq!(far.status.code(), Some(1));
    assert!(text(&far.stderr).contains("too far"), "{far:?}");
    let far = ik(&["--position", "3,0,0", "--position-only", "--json"]);
    assert_eq!(far.status.code(), Some(1));
    assert_eq!(json(&far)["ok"], false);
    assert!(json(&far)["best"]["q"].is_array());

    for (more, mention) in [
        (&["--position", "1,2", "--position-only"][..], "3 numbers"),
        (&["--position", "nan,0,0", "--position-only"], "not finite"),
        (&["--position", "1,0,x", "--position-only"], "not a number"),
        (&["--position", "1,0,0", "--quaternion", "0,0,0,0"], "zero"),
        (&["--position", "1,0,0"], "--quaternion"),
        (
            &["--position", "1,0,0", "--position-only", "--seed", "1"],
            "degrees of freedom",
        ),
        (
            &["--position", "1,0,0", "--position-only", "--seed", "q9=1"],
            "q9",
        ),
        (
            &[
                "--position",
                "1,0,0",
                "--position-only",
                "--solver",
                "magic",
            ],
            "damped_svd",
        ),
        (
            &["--position", "1,0,0", "--position-only", "--tip", "toe"],
            "toe",
        ),
        (
            &["--position", "1,0,0", "--position-only", "--timeout", "-1"],
            "--timeout",
        ),
        (
            &[
                "--position",
                "1,0,0",
                "--position-only",
                "--position-tolerance",
                "0",
            ],
            "tolerance",
        ),
    ] {
        let output = ik(more);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {output:?}");
        let error = text(&output.stderr);
        assert!(error.contains(mention), "{more:?}: {error}");
    }
    let missing = run(&["info", "--urdf", "there-is-no-such.urdf"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("there-is-no-such.urdf"));
}

#[test]
fn every_solver_can_be_chosen() {
    let urdf = data("ik_planar2r_branches.urdf");
    for solver in [
        "portfolio",
        "damped_svd",
        "levenberg_marquardt",
        "fabrik",
        "ccd",
        "jacobian_transpose",
    ] {
        let arguments = [
            "ik",
            "--urdf",
            &urdf,
            "--position",
            "0.6,0.3,0",
            "--position-only",
        ];
        let output = run(&[
            &arguments[..],
            &["--solver", solver, "--seed", "0,1", "--json"],
        ]
        .concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let name = json(&output)["solutions"][0]["solver"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(solver == "portfolio" || name == solver);
    }
}

#[test]
fn info_lists_links_joints_and_chains() {
    let urdf = data("ik_tool_offset_mid_tip.urdf");
    let output = run(&["info", "--urdf", &urdf]);
    assert_eq!(output.status.code(), Some(0));
    let table = text(&output.stdout);
    for word in ["scribe", "palm", "grip", "fingertip", "pen", "-3.1000"] {
        assert!(table.contains(word), "{word}: {table}");
    }
    let info = json(&run(&["info", "--urdf", &urdf, "--json"]));
    assert_eq!(info["joints"].as_array().unwrap().len(), 6);
    let chains = info["chains"].as_array().unwrap();
    let pen = chains.iter().find(|chain| chain["tip"] == "pen").unwrap();
    assert_eq!(pen["joints"], serde_json::json!(["q1", "q2", "q3"]));
}

#[test]
fn ik_batch_solves_a_file_and_writes_the_answers() {
    let folder = folder("ik_batch");
    std::fs::copy(data("ik_planar3r_pose.urdf"), folder.join("arm.urdf")).unwrap();
    // Joints in another order than the chain's.
    let targets = serde_json::json!({
        "urdf": "arm.urdf", "base": "base", "tip": "tip",
        "joints": ["q3", "q2", "q1"],
        "lower": [null, null, null],
        "mid": [0.0, 0.5, 0.0],
        "q": [[-0.8312480749743201, 1.9357249211755254, -0.20447684620120543]],
        "pose": [[0.55, 0.45, 0.0, 0.0, 0.0, 0.43496553411123023, 0.9004471023526769]],
        "seed": [[1.0, -2.0, 1.0]],
    });
    let file = folder.join("targets.json");
    std::fs::write(&file, targets.to_string()).unwrap();
    let out = folder.join("out.json");
    for (protocol, elbow) in [
        ("far", 1.9357249),
        ("random", -1.9357249),
        ("near", 1.9357249),
    ] {
        let output = run(&[
            "ik-batch",
            "--targets",
            file.to_str().unwrap(),
            "--protocol",
            protocol,
            "--out",
            out.to_str().unwrap(),
            "--repeat",
            "--json",
        ]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let summary = json(&output);
        assert_eq!(summary["success_percent"], 100.0);
        assert_eq!(summary["calls"], 1);
        assert_eq!(summary["differing_answers"], 0);
        let answers: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
        assert_eq!(answers["solver"], "portfolio");
        let answer = &answers["results"][0];
        assert_eq!(answer["ok"], true);
        assert!(
            (answer["q"][1].as_f64().unwrap() - elbow).abs() < 1e-5,
            "{answer}"
        );
        for key in [
            "solver",
            "iterations",
            "time_us",
            "position_error",
            "orientation_error",
        ] {
            assert!(!answer[key].is_null(), "{key}");
        }
    }
    let output = run(&["ik-batch", "--targets", file.to_str().unwrap()]);
    assert!(text(&output.stdout).contains("success %"), "{output:?}");
    std::fs::write(&file, "{}").unwrap();
    let output = run(&["ik-batch", "--targets", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("targets.json"), "{output:?}");
}

fn torso() -> String {
    format!("{}/urdf/two_arm_torso.urdf", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn ik_of_some_axes() {
    let urdf = data("ik_planar2r_branches.urdf");
    let ik = |more: &[&str]| run(&[&["ik", "--urdf", urdf.as_str(), "--json"], more].concat());
    // Height is free, or the plane of the arm would be too far below.
    let free = ik(&["--position", "0.6,0.3,9", "--axes", "x,y"]);
    assert_eq!(free.status.code(), Some(0), "{free:?}");
    let off = json(&free)["solutions"][0]["position_error"].as_f64();
    assert!(off.unwrap() < 1e-6);
    let asked = ik(&["--position", "0.6,0.3,9", "--axes", "xyz"]);
    assert_eq!(asked.status.code(), Some(1), "{asked:?}");
    for (axes, mention) in [
        ("w", "names no task axes"),
        ("xx", "named twice"),
        ("", "no task axis"),
        ("x,rz", "--quaternion"),
    ] {
        let bad = ik(&["--position", "0.6,0.3,0", "--axes", axes]);
        assert_eq!(bad.status.code(), Some(2), "{bad:?}");
        assert!(text(&bad.stderr).contains(mention), "{bad:?}");
    }
}

#[test]
fn nearest_is_told_from_an_answer() {
    let urdf = data("ik_planar2r_branches.urdf");
    let ik = |more: &[&str]| {
        let all = [
            "ik",
            "--urdf",
            urdf.as_str(),
            "--position-only",
            "--nearest",
        ];
        run(&[&all[..], more].concat())
    };
    let far = ik(&["--position", "3,3,0", "--json"]);
    assert_eq!(far.status.code(), Some(1), "{far:?}");
    let answer = json(&far);
    assert_eq!(answer["ok"], false);
    assert!(answer["solutions"].as_array().unwrap().is_empty());
    // Stretched out along the diagonal.
    let q = &answer["nearest"]["q"];
    let quarter = std::f64::consts::FRAC_PI_4;
    assert!((q[0].as_f64().unwrap() - quarter).abs() < 1e-6, "{answer}");
    assert!(q[1].as_f64().unwrap().abs() < 1e-6, "{answer}");
    let table = ik(&["--position", "3,3,0"]);
    assert!(text(&table.stdout).contains("nearest"), "{table:?}");
    let near = ik(&["--position", "0.6,0.3,0", "--json"]);
    assert_eq!(near.status.code(), Some(0), "{near:?}");
    assert!(json(&near)["nearest"].is_null());
}

#[test]
fn ik_tree_brings_both_hands_to_their_targets() {
    let urdf = torso();
    let tree = |more: &[&str]| run(&[&["ik-tree", "--urdf", urdf.as_str()], more].concat());
    let goals = [
        "--goal",
        "left_hand=0.35,0.25,0.9",
        "--goal",
        "right_hand=0.3,-0.2,1.1,0,0.7,0,0.7",
    ];
    let output = tree(&[&goals[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let answer = json(&output);
    let (names, q) = (answer["joints"].as_array().unwrap(), &answer["q"]);
    assert_eq!(names.len(), 14);
    // The answer seen by `fk`, chain by chain.
    for (hand, position) in [
        ("left_hand", [0.35, 0.25, 0.9]),
        ("right_hand", [0.3, -0.2, 1.1]),
    ] {
        let side = hand.split('_').next().unwrap();
        let values: Vec<String> = names
            .iter()
            .zip(q.as_array().unwrap())
            .filter(|(name, _)| {
                let name = name.as_str().unwrap();
                name.starts_with("torso") || name.starts_with(side)
            })
            .map(|(_, value)| value.to_string())
            .collect();
        let fk = run(&[
            "fk",
            "--urdf",
            &urdf,
            "--tip",
            hand,
            "--q",
            &values.join(","),
            "--json",
        ]);
        let pose = json(&fk);
        for (row, wanted) in position.iter().enumerate() {
            let off = pose["position"][row].as_f64().unwrap() - wanted;
            assert!(off.abs() < 2e-6, "{pose}");
        }
    }
    let table = text(&tree(&goals).stdout);
    assert!(
        table.contains("torso_yaw") && table.contains("right_hand"),
        "{table}"
    );

    let far = tree(&["--goal", "left_hand=5,0,1", "--json"]);
    assert_eq!(far.status.code(), Some(1));
    assert!(json(&far)["tips"][0]["position_error"].as_f64().unwrap() > 3.0);
    let free = tree(&["--goal", "left_hand=5,0,1", "--free-base", "--json"]);
    assert_eq!(free.status.code(), Some(0), "{free:?}");
    for (more, mention) in [
        (&["--goal", "left_hand=1,2"][..], "3 numbers"),
        (&["--goal", "left_hnd=1,2,3"], "left_hand"),
        (&["--goal", "left_hand=0,0,1,0,0,0,0"], "quaternion is zero"),
        (
            &["--goal", "left_hand=0,0,1", "--weight", "right_hand=2"],
            "no --goal",
        ),
        (
            &["--goal", "left_hand=0,0,1", "--seed", "elbow=1"],
            "left_elbow",
        ),
    ] {
        let bad = tree(more);
        assert_eq!(bad.status.code(), Some(2), "{bad:?}");
        assert!(text(&bad.stderr).contains(mention), "{bad:?}");
    }
}
