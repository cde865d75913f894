//! The commands as a shell sees them: output, files, exit codes.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// A folder of its own for every test, under cargo's.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_arm-planner"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const SQUARES: &str = r#"{"obstacles": [[[0,0],[4,0],[4,4],[0,4]], [[4,4],[8,4],[8,8],[4,8]]],
    "start": [1,7], "goal": [7,1]}"#;

#[test]
fn a_case_file_under_both_contact_rules() {
    let folder = Folder::new("case");
    let scene = folder.write("case.json", SQUARES);
    let out = folder.path("out.json");
    for (contact, length) in [
        ("blocked", 14.324_555_320_336_76),
        ("passable", 72f64.sqrt()),
    ] {
        let output = run(&[
            "path-batch",
            "--scene",
            &scene,
            "--contact",
            contact,
            "--out",
            &out,
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("build"));
        let written: Value = serde_json::from_str(&folder.read("out.json")).unwrap();
        let result = &written["results"][0];
        assert_eq!(result["ok"], true);
        assert!((result["length"].as_f64().unwrap() - length).abs() < 1e-9);
        assert_eq!(result["path"][0], serde_json::json!([1.0, 7.0]));
        assert!(written["build_ms"].as_f64().unwrap() > 0.0);
        assert!(result["time_us"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn a_reference_beside_the_scene_is_compared() {
    let folder = Folder::new("reference");
    let scene = folder.write(
        "scene.json",
        r#"{"polygons": 1, "obstacles": [[[0,0],[4,0],[4,4],[0,4]]],
            "queries": [[[-1,0],[5,0]], [[-1,1],[5,1]]]}"#,
    );
    folder.write("scene.ref", "6 \n6.82842712474619 0,0 4,0\n");
    let output = run(&["path-batch", "--scene", &scene, "--json"]);
    let report: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(report["reference"]["compared"], 2);
    assert!(
        report["reference"]["max_relative_difference"]
            .as_f64()
            .unwrap()
            < 1e-12
    );
    folder.write("scene.ref", "6\n7 0,0 4,0\n");
    let output = run(&["path-batch", "--scene", &scene]);
    assert!(
        text(&output.stdout).contains("(query 1)"),
        "{}",
        text(&output.stdout)
    );
    folder.write("scene.ref", "six\n");
    let output = run(&["path-batch", "--scene", &scene]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("line 1"));
}

#[test]
fn a_picture_holds_what_matters() {
    let folder = Folder::new("picture");
    let scene = folder.write("case.json", SQUARES);
    let svg = folder.path("path.svg");
    let output = run(&[
        "path",
        "--scene",
        &scene,
        "--start",
        "-2,2",
        "--goal",
        "6,2",
        "--clearance",
        "0.5",
        "--svg",
        &svg,
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let result: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert!(result["min_clearance"].as_f64().unwrap() >= 0.5);
    let picture = folder.read("path.svg");
    for part in [
        "start",
        "goal",
        "straight line: blocked",
        "clearance of 0.5 m",
        "road map",
    ] {
        assert!(picture.contains(part), "{part}");
    }
}

#[test]
fn a_road_map_that_is_not_optimal_is_compared_with_the_shortest_path() {
    let folder = Folder::new("trapezoids");
    let scene = folder.write("case.json", SQUARES);
    let svg = folder.path("path.svg");
    let map = ["--roadmap", "trapezoidal_map", "--contact", "passable"];
    let arguments = ["path", "--scene", &scene, "--json", "--svg", &svg];
    let output = run(&[&arguments[..], &map].concat());
    let result: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    let [length, shortest] = ["length", "shortest_length"].map(|key| result[key].as_f64().unwrap());
    assert!(
        (shortest - 72f64.sqrt()).abs() < 1e-9 && length >= shortest,
        "{result}"
    );
    let picture = folder.read("path.svg");
    assert!(picture.contains("trapezoids") && picture.contains("shortest path"));
    let arguments = ["path-batch", "--scene", &scene, "--json", "--shorten"];
    let output = run(&[&arguments[..], &map].concat());
    let report: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert!(report["over_shortest"]["mean_ratio"].as_f64().unwrap() >= 1.0 - 1e-12);
}

#[test]
fn the_road_map_is_chosen_and_told() {
    let folder = Folder::new("auto");
    let squares: Vec<Value> = (0..80)
        .map(|k| serde_json::json!([[2 * k, 0], [2 * k + 1, 0], [2 * k + 1, 1], [2 * k, 1]]))
        .collect();
    let scene = |name: &str, queries: usize| {
        let queries = vec![serde_json::json!([[-1, 0.5], [5, 0.5]]); queries];
        let scene = serde_json::json!({"obstacles": squares, "queries": queries});
        folder.write(name, &scene.to_string())
    };
    let (few, many) = (scene("few.json", 3), scene("many.json", 60));
    for (scene, asked, used) in [
        (&few, "auto", "lazy"),
        (&many, "auto", "visibility_graph"),
        (&few, "visibility_sweep", "visibility_sweep"),
    ] {
        let output = run(&["path-batch", "--scene", scene, "--json", "--roadmap", asked]);
        let report: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
        assert_eq!(report["roadmap"], used);
    }
    let output = run(&["path-batch", "--scene", &few, "--json"]);
    let report: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(report["roadmap"], "lazy");
}

#[test]
fn what_is_in_the_way_is_marked_in_the_picture() {
    let folder = Folder::new("marked");
    let scene = folder.write("case.json", SQUARES);
    let svg = folder.path("path.svg");
    let output = run(&["path", "--scene", &scene, "--start", "2,2", "--svg", &svg]);
    assert_eq!(output.status.code(), Some(1));
    assert!(folder.read("path.svg").contains("obstacles in the way"));
}

#[test]
fn exit_codes_and_messages() {
    let folder = Folder::new("errors");
    let scene = folder.write("case.json", SQUARES);
    let case = |arguments: &[&str], code: i32, part: &str| {
        let output = run(arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
        assert!(message.contains(part), "{arguments:?}: {message}");
    };
    case(
        &["path", "--scene", &scene, "--start", "2,2"],
        1,
        "inside obstacle '0'",
    );
    case(&["path", "--scene", &scene, "--start", "1e9,0"], 2, "1e7");
    case(&["path", "--scene", &scene, "--start", "1,x"], 2, "'1,x'");
    case(
        &["path", "--scene", &scene, "--roadmap", "maze"],
        2,
        "visibility_sweep",
    );
    case(
        &["path", "--scene", &scene, "--clearance", "-1"],
        2,
        "clearance -1",
    );
    case(
        &["path-batch", "--scene", "no-such-file.json"],
        2,
        "no-such-file.json",
    );
    let bow_tie = folder.write(
        "tie.json",
        r#"{"obstacles": [[[0,0],[1,1],[1,0],[0,1]]], "queries": []}"#,
    );
    case(&["path-batch", "--scene", &bow_tie], 2, "crosses itself");
    case(
        &[
            "path-batch",
            "--scene",
            &bow_tie,
            "--self-crossing",
            "resolve",
        ],
        2,
        "no queries",
    );
    case(
        &["inflate", "--scene", &scene, "--radius", "nan"],
        2,
        "clearance NaN",
    );
    let mitre = ["--radius", "1", "--join", "mitre", "--mitre-limit", "-3"];
    case(
        &[&["inflate", "--scene", &scene], &mitre[..]].concat(),
        2,
        "mitre limit -3",
    );
    let blunt = ["--radius", "1", "--join", "mitre", "--mitre-limit", "1"];
    let inflate = ["inflate", "--scene", &scene];
    case(&[&inflate[..], &blunt].concat(), 2, "1.01 or more");
    let fine = ["--radius", "0.5", "--arc-tolerance", "1e-300"];
    case(&[&inflate[..], &fine].concat(), 2, "5e-7 m or more");
    let far = r#"{"obstacles": [], "queries": [[[0,0],[1,1]], [[0,0],[1e300,0]]]}"#;
    let far = folder.write("far.json", far);
    case(
        &["path-batch", "--scene", &far],
        2,
        "query 1 from 0: the goal (1e300, 0)",
    );
    let closed = folder.write(
        "closed.json",
        r#"{"obstacles": [{"id": "wall", "points": [[1,-1],[2,-1],[2,5],[1,5]]}],
            "boundary": [[0,0],[4,0],[4,4],[0,4]], "start": [0.5,2], "goal": [3,2]}"#,
    );
    case(&["path-batch", "--scene", &closed], 1, "'wall'");
}

#[test]
fn inflation_is_written() {
    let folder = Folder::new("inflate");
    let scene = folder.write("case.json", SQUARES);
    let out = folder.path("out.json");
    let output = run(&[
        "inflate", "--scene", &scene, "--radius", "1", "--join", "mitre", "--out", &out,
    ]);
    assert_eq!(output.status.code(), Some(0));
    let written: Value = serde_json::from_str(&folder.read("out.json")).unwrap();
    assert_eq!(written["polygons"].as_array().unwrap().len(), 1);
    assert!((written["polygons"][0]["area"].as_f64().unwrap() - 68.0).abs() < 1e-6);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let folder = Folder::new("pipe");
    let scene = folder.write("case.json", SQUARES);
    let (svg, out) = (folder.path("path.svg"), folder.path("out.json"));
    for arguments in [
        &["path", "--scene", &scene, "--svg", &svg][..],
        &["path-batch", "--scene", &scene, "--out", &out],
        &["path-batch", "--scene", &scene, "--json"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_arm-planner"))
            .args(arguments)
            .stdout(writer)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "");
    }
    assert!(folder.read("path.svg").contains("</svg>"));
    assert!(folder.read("out.json").contains("build_ms"));
}

/// `plan` and `path` read the same scenes: heights are nothing to a path in the plane, slips are told by both.
#[test]
fn scenes_of_plans_are_scenes_of_paths() {
    let folder = Folder::new("one_reader");
    let crate_ = r#""id": "crate", "polygon": [[1,-1],[2,-1],[2,1],[1,1]], "max_height": 0.3"#;
    let scene = folder.write(
        "heights.json",
        &format!(r#"{{"obstacles": [{{{crate_}}}]}}"#),
    );
    let ends = ["--start", "0,0", "--goal", "3,0", "--json"];
    let output = run(&[&["path", "--scene", &scene][..], &ends].concat());
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let length = 2.0 * 2_f64.sqrt() + 1.0;
    assert!((json["length"].as_f64().unwrap() - length).abs() < 1e-9);
    let slip = folder.write(
        "slip.json",
        &format!(r#"{{"obstacles": [{{{crate_}, "hight": 1}}]}}"#),
    );
    let urdf = format!("{}/urdf/six_axis.urdf", env!("CARGO_MANIFEST_DIR"));
    let plan = [
        "plan",
        "--urdf",
        &urdf,
        "--start",
        "0,0,0,0,0,0",
        "--goal",
        "0.4,0,0.3",
    ];
    for command in [&[&["path"][..], &ends].concat(), &plan[..]] {
        let output = run(&[command, &["--scene", &slip]].concat());
        assert_eq!(output.status.code(), Some(2));
        let words = text(&output.stderr);
        assert!(
            words.contains("obstacle 0") && words.contains("hight"),
            "{words}"
        );
    }
}
