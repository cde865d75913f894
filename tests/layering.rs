//! The drawing in `ARCHITECTURE.md` holds: no room looks into one that it may not know.

use std::path::{Path, PathBuf};

const CORE: &[&str] = &[
    "planar",
    "roadmap",
    "model",
    "kinematics",
    "ik",
    "collision",
    "planning",
    "trajectory",
    "motion",
];

/// What the outer rooms may look into: the core, and the room that finds files.
const OUTER: &[&str] = &[
    "planar",
    "roadmap",
    "model",
    "kinematics",
    "ik",
    "collision",
    "planning",
    "trajectory",
    "motion",
    "resource",
];

/// Each room and the rooms it may import.
const ROOMS: &[(&str, &[&str])] = &[
    ("planar", &[]),
    ("roadmap", &["planar"]),
    ("model", &[]),
    ("kinematics", &["model"]),
    ("ik", &["kinematics", "model"]),
    ("collision", &["kinematics", "model", "planar"]),
    (
        "planning",
        &[
            "planar",
            "roadmap",
            "model",
            "kinematics",
            "ik",
            "collision",
        ],
    ),
    (
        "trajectory",
        &["model", "kinematics", "collision", "planning::JointPath"],
    ),
    ("motion", CORE),
    ("resource", &["collision", "model"]),
    ("cli", OUTER),
    ("node", OUTER),
];

/// Words that only the named places may contain.
const RESERVED: &[(&str, &[&str])] = &[
    ("urdf_rs", &["model"]),
    ("k::", &["model"]),
    ("r2r::", &["node"]),
    ("tokio::", &["node"]),
    ("robust::", &["planar/predicates"]),
    ("std::fs", &["cli", "node", "resource"]),
    ("std::net", &["node"]),
    ("std::thread", &["node"]),
    ("Instant", &["cli", "node"]),
    ("SystemTime", &["node"]),
    ("println!", &["cli"]),
    ("tracing::", &["node", "cli"]),
    ("rand::", &[]),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file: no comments, nothing from the first test module on.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap();
    text.lines()
        .map(|line| line.split("//").next().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

/// What follows each `crate::` in `code`, up to two path segments, with `{…}` groups opened.
fn imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let inner = group.split("};").next().unwrap();
            let mut depth = 0;
            let mut item = String::new();
            for character in inner.chars() {
                match character {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => found.push(std::mem::take(&mut item).trim().to_owned()),
                    _ if depth == 0 && !character.is_whitespace() => item.push(character),
                    _ => {}
                }
            }
            found.push(item);
        } else {
            let path: String = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_' || *c == ':')
                .collect();
            found.push(path);
        }
    }
    found.retain(|path| !path.is_empty());
    found
}

/// Whether `word` stands in `code` as a word of its own.
fn contains_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
            || word.chars().next().is_some_and(|c| !c.is_alphanumeric())
    })
}

#[test]
fn rooms_import_only_what_the_drawing_allows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for (room, allowed) in ROOMS {
        let mut files = Vec::new();
        sources(&root.join(room), &mut files);
        for file in files {
            for import in imports(&code(&file)) {
                seen += 1;
                let target = import.split("::").next().unwrap();
                let fine = target == *room
                    || allowed.iter().any(|allowed| {
                        *allowed == target || import.trim_end_matches("::").starts_with(allowed)
                    });
                assert!(
                    fine,
                    "{}: `{room}` must not import `crate::{import}`",
                    file.display()
                );
            }
        }
    }
    assert!(
        seen > 30,
        "only {seen} imports were found: the search is broken"
    );
}

#[test]
fn every_folder_is_a_known_room() {
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() && name != "bin" {
            assert!(
                ROOMS.iter().any(|(room, _)| *room == name),
                "{name} is not in the drawing"
            );
        }
    }
}

#[test]
fn the_core_is_pure() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (room, _) in ROOMS {
        let mut files = Vec::new();
        sources(&root.join(room), &mut files);
        for file in files {
            let place = file
                .strip_prefix(&root)
                .unwrap()
                .to_str()
                .unwrap()
                .replace('\\', "/");
            let code = code(&file);
            for (word, places) in RESERVED {
                let fine = places.iter().any(|allowed| place.starts_with(allowed));
                assert!(fine || !contains_word(&code, word), "{place} uses `{word}`");
            }
        }
    }
}

#[test]
fn the_search_finds_groups_and_paths() {
    assert_eq!(
        imports("use crate::{a::{B, C}, d::E}; crate::f::g()"),
        ["a::", "d::E", "f::g"]
    );
    assert!(contains_word("let t = Instant::now()", "Instant"));
    assert!(!contains_word("network::x", "k::"));
}
