//! The command `collide-batch`, run as a user runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{json, Value};

/// A folder of its own for a test's files.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("collide_{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// A box as a binary STL: length along x from 0 to 1, 0.1 across.
fn bar() -> Vec<u8> {
    let corner = |k: usize| {
        [
            if k & 1 == 0 { 0.0_f32 } else { 1.0 },
            if k & 2 == 0 { -0.05 } else { 0.05 },
            if k & 4 == 0 { -0.05 } else { 0.05 },
        ]
    };
    let faces = [
        [0, 1, 3],
        [0, 3, 2],
        [4, 5, 7],
        [4, 7, 6],
        [0, 1, 5],
        [0, 5, 4],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
        [1, 3, 7],
        [1, 7, 5],
    ];
    let mut bytes = vec![b' '; 80];
    bytes.extend((faces.len() as u32).to_le_bytes());
    for face in faces {
        bytes.extend([0; 12]);
        for value in face.into_iter().flat_map(corner) {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend([0; 2]);
    }
    bytes
}

/// Three bars in a plane, turning about z, the third with a finger that slides (not part of the arm).
fn urdf(mesh: &str) -> String {
    let link = |name: &str| {
        format!(
            r#"<link name="{name}"><collision><geometry><mesh filename="{mesh}"/></geometry></collision></link>"#
        )
    };
    let joint = |name: &str, parent: &str, child: &str, x: f64| {
        format!(
            r#"<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
            <origin xyz="{x} 0 0"/><axis xyz="0 0 1"/>
            <limit lower="-3.1" upper="3.1" effort="1" velocity="1"/></joint>"#
        )
    };
    format!(
        r#"<robot name="bars"><link name="base"/>{}{}{}<link name="finger"/>{}{}{}
        <joint name="grip" type="prismatic"><parent link="l3"/><child link="finger"/><axis xyz="1 0 0"/>
        <limit lower="0" upper="0.1" effort="1" velocity="1"/></joint></robot>"#,
        link("l1"),
        link("l2"),
        link("l3"),
        joint("j1", "base", "l1", 0.0),
        joint("j2", "l1", "l2", 1.0),
        joint("j3", "l2", "l3", 1.0),
    )
}

fn square(x: f64, y: f64) -> Value {
    json!({"polygon": [[x - 0.1, y - 0.1], [x + 0.1, y - 0.1], [x + 0.1, y + 0.1], [x - 0.1, y + 0.1]],
        "z0": -0.5, "height": 1.0})
}

/// Everything that a call needs, in a folder.
struct Case {
    folder: PathBuf,
    urdf: String,
    srdf: String,
    prisms: String,
    configs: String,
}

impl Case {
    fn new(name: &str) -> Self {
        let folder = folder(name);
        write(&folder, "packages/bars/meshes/bar.stl", bar());
        let mut named = square(2.5, 0.0);
        named["id"] = json!("post");
        let prisms = json!({"scenes": [
            {"id": "empty", "prisms": []},
            {"id": "two", "prisms": [square(0.0, 1.5), named]},
        ]});
        // Stretched out along x it meets the post, along y the first prism; folded, itself.
        let configs = json!({
            "q": [[0.0, 0.0, 0.0], [1.57, 0.0, 0.0], [-1.0, 0.5, 0.0], [-1.5, 2.8, 2.8]],
            "scenes": {"two": {
                "verdict_hull": [true, true, false, true],
                "verdict_mesh": [true, false, null, true],
                "min_dist_hull": [-0.1, -0.1, 0.5]}},
        });
        Case {
            urdf: write(&folder, "bars.urdf", urdf("package://bars/meshes/bar.stl")),
            srdf: write(
                &folder,
                "bars.srdf",
                r#"<robot name="bars"><disable_collisions link1="l1" link2="l2" reason="Adjacent"/>
                <disable_collisions link1="l2" link2="l3" reason="Adjacent"/></robot>"#,
            ),
            prisms: write(&folder, "prisms.json", prisms.to_string()),
            configs: write(&folder, "configs.json", configs.to_string()),
            folder,
        }
    }

    fn run(&self, more: &[&str]) -> Output {
        let packages = self.folder.join("packages").display().to_string();
        let mut arguments = vec!["collide-batch"];
        let given = |name: &str| more.contains(&name);
        for (name, value) in [
            ("--urdf", &self.urdf),
            ("--prisms", &self.prisms),
            ("--configs", &self.configs),
            ("--package-path", &packages),
        ] {
            if !given(name) {
                arguments.extend([name, value]);
            }
        }
        if !given("--scene") {
            arguments.extend(["--scene", "two"]);
        }
        arguments.extend(more);
        Command::new(env!("CARGO_BIN_EXE_arm-planner"))
            .args(arguments)
            .env_remove("AMENT_PREFIX_PATH")
            .env_remove("ROS_PACKAGE_PATH")
            .output()
            .unwrap()
    }

    /// The message of a call that fails for bad input.
    #[track_caller]
    fn refused(&self, more: &[&str]) -> String {
        let output = self.run(more);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.contains("warning"))
            .collect();
        assert_eq!(lines.len(), 1, "{text}");
        lines[0].to_owned()
    }
}

#[test]
fn verdicts_pairs_and_a_comparison_are_written() {
    let case = Case::new("verdicts");
    let out = case.folder.join("out.json").display().to_string();
    let output = case.run(&["--srdf", &case.srdf, "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    let results = written["results"].as_array().unwrap();
    let verdicts: Vec<bool> = results
        .iter()
        .map(|r| r["collision"].as_bool().unwrap())
        .collect();
    assert_eq!(verdicts, [true, true, false, true]);
    assert_eq!(results[0]["pair"], json!(["l3", "post"]));
    assert_eq!(results[1]["pair"], json!(["l2", "prism_0"]));
    assert_eq!(results[2].get("pair"), None);
    assert_eq!(results[3]["pair"], json!(["l1", "l3"]));
    assert_eq!(results[3]["with"], "link");
    for result in results {
        assert!(result["ok"] == true && result["time_us"].as_f64().unwrap() > 0.0);
    }
    assert!(written["checks_per_second"].as_f64().unwrap() > 0.0);
    let comparisons = written["comparisons"].as_array().unwrap();
    assert_eq!(comparisons[0]["compared"], 4);
    assert_eq!(comparisons[0]["disagreements"], json!([]));
    assert_eq!(comparisons[1]["compared"], 3);
    assert_eq!(comparisons[1]["disagreements"][0]["index"], 1);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table.contains("checks/s") && table.contains("hulls: 0 of 4"),
        "{table}"
    );
    assert!(table.contains("meshes: 1 of 3"), "{table}");
}

#[test]
fn clearances_and_ground_count() {
    let case = Case::new("clearance");
    let collisions = |more: &[&str]| {
        let mut all = vec!["--json", "--rounds", "1"];
        all.extend(more);
        let output = case.run(&all);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        summary["collisions"].as_u64().unwrap()
    };
    assert_eq!(collisions(&[]), 3);
    assert_eq!(collisions(&["--scene", "empty"]), 1);
    assert_eq!(collisions(&["--link-clearance", "1.6"]), 4);
    assert_eq!(collisions(&["--scene", "empty", "--ground", "-0.06"]), 1);
    assert_eq!(collisions(&["--scene", "empty", "--ground", "-0.04"]), 4);
}

#[test]
fn configurations_in_another_order_of_joints_are_put_in_order() {
    let case = Case::new("order");
    let configs = json!({"base": "base", "tip": "l3", "joints": ["j3", "j1", "j2"],
        "q": [[2.8, -1.5, 2.8], [0.0, 1.57, 0.0]]});
    let path = write(&case.folder, "order.json", configs.to_string());
    let out = case.folder.join("out.json").display().to_string();
    let output = case.run(&["--configs", &path, "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(written["results"][0]["pair"], json!(["l1", "l3"]));
    assert_eq!(written["results"][1]["pair"], json!(["l2", "prism_0"]));
    let short = json!({"tip": "l3", "joints": ["j3", "j1", "jx"], "q": [[0.0, 0.0, 0.0]]});
    let path = write(&case.folder, "short.json", short.to_string());
    assert!(case.refused(&["--configs", &path]).contains("\"j2\""));
}

#[test]
fn a_mesh_that_is_missing_is_told_with_where_it_was_looked_for() {
    let case = Case::new("missing");
    let urdf = write(
        &case.folder,
        "lost.urdf",
        urdf("package://bars/meshes/lost.stl"),
    );
    let output = case.run(&["--urdf", &urdf]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("packages/bars/meshes/lost.stl"), "{said}");
    assert!(said.contains("capsule") && said.contains("'l2'"), "{said}");
    let srdf = write(
        &case.folder,
        "wrong.srdf",
        r#"<robot name="bars"><disable_collisions link1="l1" link2="l9"/></robot>"#,
    );
    let output = case.run(&["--srdf", &srdf]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("\"l9\""));
}

#[test]
fn bad_files_get_one_clear_error() {
    let case = Case::new("bad");
    let bad = |name: &str, text: &str| write(&case.folder, name, text);
    assert!(case
        .refused(&["--scene", "tow"])
        .contains("did you mean \"two\""));
    assert!(case
        .refused(&["--prisms", &bad("p", "{")])
        .contains("line 1"));
    assert!(case
        .refused(&["--configs", &bad("c", r#"{"q": []}"#)])
        .contains("'q' is empty"));
    assert!(case
        .refused(&["--configs", &bad("d", "{}")])
        .contains("`q`"));
    let four = bad("e", r#"{"q": [[0,0,0,0,0]]}"#);
    assert!(case
        .refused(&["--configs", &four])
        .contains("5 degrees of freedom"));
    let ragged = bad("f", r#"{"q": [[0,0,0],[0,0]]}"#);
    assert!(case.refused(&["--configs", &ragged]).contains("1 of 2"));
    let flat = bad(
        "g",
        r#"{"scenes":[{"id":"two","prisms":[{"polygon":[[0,0],[1,0]],"z0":0,"height":1}]}]}"#,
    );
    assert!(case.refused(&["--prisms", &flat]).contains("prism_0"));
    assert!(case
        .refused(&["--srdf", &bad("h", "<sdf/>")])
        .contains("<sdf>"));
    // A value too few, or one too many, is not taken for another chain of the robot.
    for q in ["0,0", "0"] {
        let short = bad("short", &format!(r#"{{"q": [[{q}]]}}"#));
        let words = case.refused(&["--configs", &short]);
        assert!(words.contains("finger (j1, j2, j3, grip)"), "{words}");
    }
    let urdf = case.urdf.clone();
    let words = case.refused(&["--srdf", &urdf]);
    assert!(
        words.contains("<link>") && words.contains("URDF"),
        "{words}"
    );
    let srdf = case.srdf.clone();
    let words = case.refused(&["--urdf", &srdf]);
    assert!(words.contains("looks like an SRDF"), "{words}");
    let words = case.refused(&["--package-path", "/no/such/folder"]);
    assert!(words.contains("/no/such/folder"), "{words}");
    assert!(case
        .refused(&["--link-clearance", "-1"])
        .contains("--link-clearance"));
    assert!(case.refused(&["--ground", "nan"]).contains("--ground"));
    assert!(case.refused(&["--rounds", "0"]).contains("--rounds"));
    assert!(case
        .refused(&["--urdf", "/no/such/file.urdf"])
        .contains("/no/such/file.urdf"));
}

/// A pair that is none ends `plan-batch` with bad input; one without a motion is a result like others.
#[test]
fn malformed_pairs_are_told_and_unsolved_ones_are_results() {
    let case = Case::new("pairs");
    let packages = case.folder.join("packages").display().to_string();
    let plan = |pairs: Value, more: &[&str]| {
        let file = json!({"tip": "l3", "scenes": {"two": pairs}}).to_string();
        let pairs = write(&case.folder, "pairs.json", file);
        Command::new(env!("CARGO_BIN_EXE_arm-planner"))
            .args(["plan-batch", "--urdf", &case.urdf, "--prisms", &case.prisms])
            .args([
                "--scene",
                "two",
                "--pairs",
                &pairs,
                "--package-path",
                &packages,
            ])
            .args(more)
            .output()
            .unwrap()
    };
    let away = json!([[-1.0, 0.5, 0.0], [-1.2, 0.5, 0.0]]);
    let into = json!([[-1.0, 0.5, 0.0], [0.0, 0.0, 0.0]]);
    let good = plan(json!([away, into]), &[]);
    assert_eq!(good.status.code(), Some(0), "{good:?}");
    assert!(String::from_utf8(good.stdout).unwrap().contains("1 of 2"));
    let short = json!([[-1.0, 0.5, 0.0], [-1.2, 0.5]]);
    for (pairs, more, word) in [
        (json!([away, short]), &[][..], "pair 1 from 0 is malformed"),
        (json!([away]), &["--timeout", "0"], "--timeout"),
        (json!([away]), &["--rounds", "0"], "--rounds"),
    ] {
        let bad = plan(pairs, more);
        assert_eq!(bad.status.code(), Some(2), "{bad:?}");
        let words = String::from_utf8(bad.stderr).unwrap();
        assert!(words.contains(word), "{words}");
    }
}
