//! Planar scene files: obstacles, an optional boundary, and what is asked.

use std::path::Path;

use nalgebra::Point2;
use serde::Deserialize;
use serde_json::Value;

use super::CliError;
use crate::planar::{Contact, Obstacle, Polygon, PolygonOptions, Repair, Repaired, SelfCrossing};
use crate::planning::Obstacle as Prism;

/// The contact rule as it is written on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ContactArgument {
    /// Obstacles that touch are one obstacle.
    Blocked,
    /// Only interiors block.
    Passable,
}

impl From<ContactArgument> for Contact {
    fn from(argument: ContactArgument) -> Self {
        match argument {
            ContactArgument::Blocked => Contact::Blocked,
            ContactArgument::Passable => Contact::Passable,
        }
    }
}

/// What to do with rings that cross themselves, as it is written on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SelfCrossingArgument {
    /// An error.
    Refuse,
    /// Resolve by the non-zero rule.
    Resolve,
}

impl From<SelfCrossingArgument> for SelfCrossing {
    fn from(argument: SelfCrossingArgument) -> Self {
        match argument {
            SelfCrossingArgument::Refuse => SelfCrossing::Refuse,
            SelfCrossingArgument::Resolve => SelfCrossing::Resolve,
        }
    }
}

/// A scene as it stands in a file; what else is there belongs to other readers.
#[derive(Debug, Deserialize)]
struct SceneText {
    obstacles: Vec<Value>,
    #[serde(default)]
    boundary: Option<Vec<[f64; 2]>>,
    #[serde(default)]
    queries: Vec<[[f64; 2]; 2]>,
    #[serde(default)]
    start: Option<[f64; 2]>,
    #[serde(default)]
    goal: Option<[f64; 2]>,
}

/// An obstacle that is more than its corners.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    #[serde(default)]
    id: Option<String>,
    #[serde(alias = "points", alias = "ring")]
    polygon: Vec<[f64; 2]>,
    #[serde(default)]
    min_height: Option<f64>,
    #[serde(default)]
    max_height: Option<f64>,
}

const EXPECTED: &str =
    "expected {\"obstacles\": [...]} with lists of [x, y] corners, or objects with polygon, id, \
                        min_height, max_height; boundary, queries, start and goal are optional";

/// A scene that was read and checked.
#[derive(Debug)]
pub struct Scene {
    /// The obstacles with their heights; those without a name are called by their number in the file.
    pub obstacles: Vec<Prism>,
    /// The polygon that encloses the free space.
    pub boundary: Option<Polygon>,
    /// Pairs of start and goal.
    pub queries: Vec<[Point2<f64>; 2]>,
    /// Number of vertices of all obstacles.
    pub vertices: usize,
    /// What was repaired, by the polygon's name.
    pub repairs: Vec<(String, Repair)>,
}

fn read_entry(number: usize, entry: Value) -> Result<Named, CliError> {
    let bad = |error: serde_json::Error| {
        CliError::BadInput(format!("obstacle {number}: {error}; {EXPECTED}"))
    };
    if entry.is_array() {
        let polygon = serde_json::from_value(entry).map_err(bad)?;
        return Ok(Named {
            id: None,
            polygon,
            min_height: None,
            max_height: None,
        });
    }
    serde_json::from_value(entry).map_err(bad)
}

/// The height range \[m\]; as in the messages, both zero (or none) means unbounded.
fn heights(id: &str, named: &Named) -> Result<(f64, f64), CliError> {
    let (low, high) = match (named.min_height, named.max_height) {
        (Some(0.0), Some(0.0)) => (f64::NEG_INFINITY, f64::INFINITY),
        (low, high) => (
            low.unwrap_or(f64::NEG_INFINITY),
            high.unwrap_or(f64::INFINITY),
        ),
    };
    if low < high {
        Ok((low, high))
    } else {
        Err(CliError::BadInput(format!(
            "obstacle \"{id}\": min_height {low} is not below max_height {high} (both 0: unbounded)"
        )))
    }
}

fn points(ring: &[[f64; 2]]) -> Vec<Point2<f64>> {
    ring.iter().map(|p| Point2::new(p[0], p[1])).collect()
}

/// Reads a ring: as it stands if possible, else with the tolerance that single-precision
/// data need.
fn read_ring(
    id: &str,
    ring: &[Point2<f64>],
    self_crossing: SelfCrossing,
) -> Result<Repaired, CliError> {
    let exact = PolygonOptions {
        merge_tolerance: 0.0,
        self_crossing,
    };
    let tolerant = PolygonOptions {
        self_crossing,
        ..PolygonOptions::default()
    };
    Polygon::from_ring(id, ring, &exact)
        .or_else(|error| Polygon::from_ring(id, ring, &tolerant).map_err(|_| error))
        .map_err(|error| CliError::BadInput(error.to_string()))
}

impl Scene {
    /// Reads a scene or case file.
    ///
    /// # Errors
    /// The file cannot be read, is not the expected JSON, or holds a polygon that is none.
    pub fn read(path: &Path, self_crossing: SelfCrossing) -> Result<Scene, CliError> {
        let text = super::arm::read_text(path)?;
        Scene::parse(&text, self_crossing).map_err(|error| match error {
            CliError::BadInput(message) => {
                CliError::BadInput(format!("{}: {message}", path.display()))
            }
            other => other,
        })
    }

    /// Reads a scene from its text.
    ///
    /// # Errors
    /// As [`Scene::read`].
    pub fn parse(text: &str, self_crossing: SelfCrossing) -> Result<Scene, CliError> {
        let mut value: Value = serde_json::from_str(text)
            .map_err(|error| CliError::BadInput(format!("not a JSON file: {error}; {EXPECTED}")))?;
        if let Some(object) = value.as_object_mut() {
            // Scenes say under this name how many there are; inflation cases list them.
            let listed = object.remove("polygons");
            if let Some(listed) = listed.filter(|_| !object.contains_key("obstacles")) {
                object.insert("obstacles".to_owned(), listed);
            }
        }
        let scene: SceneText = serde_json::from_value(value).map_err(|error| {
            CliError::BadInput(format!("not a planar scene: {error}; {EXPECTED}"))
        })?;
        let mut obstacles = Vec::new();
        let mut repairs = Vec::new();
        let mut vertices = 0;
        for (k, entry) in scene.obstacles.into_iter().enumerate() {
            let named = read_entry(k, entry)?;
            let id = named.id.clone().unwrap_or_else(|| k.to_string());
            let (min_height, max_height) = heights(&id, &named)?;
            let repaired = read_ring(&id, &points(&named.polygon), self_crossing)?;
            repairs.extend(repaired.repairs.into_iter().map(|r| (id.clone(), r)));
            for polygon in repaired.polygons {
                vertices += polygon.rings().map(<[_]>::len).sum::<usize>();
                obstacles.push(Prism {
                    id: id.clone(),
                    polygon,
                    min_height,
                    max_height,
                });
            }
        }
        let boundary = match scene.boundary {
            None => None,
            Some(ring) => {
                let id = crate::planar::world::BOUNDARY;
                let mut repaired = read_ring(id, &points(&ring), self_crossing)?;
                repairs.extend(repaired.repairs.into_iter().map(|r| (id.to_owned(), r)));
                if repaired.polygons.len() != 1 {
                    return Err(CliError::BadInput(format!(
                        "the boundary crosses itself and falls into {} parts: send one of them",
                        repaired.polygons.len()
                    )));
                }
                repaired.polygons.pop()
            }
        };
        let mut queries: Vec<[Point2<f64>; 2]> = scene
            .queries
            .iter()
            .map(|q| q.map(|p| Point2::new(p[0], p[1])))
            .collect();
        if let (Some(start), Some(goal)) = (scene.start, scene.goal) {
            queries.push([start, goal].map(|p| Point2::new(p[0], p[1])));
        }
        Ok(Scene {
            obstacles,
            boundary,
            queries,
            vertices,
            repairs,
        })
    }

    /// The obstacles as seen from above, whatever their heights.
    pub fn outlines(&self) -> Vec<Obstacle> {
        let outline = |prism: &Prism| Obstacle {
            id: prism.id.clone(),
            polygon: prism.polygon.clone(),
        };
        self.obstacles.iter().map(outline).collect()
    }

    /// Says on standard error what was repaired.
    pub fn report_repairs(&self) {
        for (id, repair) in &self.repairs {
            // A winding is nobody's mistake.
            if !matches!(repair, Repair::Reversed) {
                errln!("arm-planner: polygon '{id}': {repair}");
            }
        }
    }
}

/// Reads `x,y`.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_point(text: &str) -> Result<Point2<f64>, String> {
    let numbers: Vec<f64> = text
        .split(',')
        .map(|part| part.trim().parse::<f64>())
        .collect::<Result<_, _>>()
        .map_err(|error| format!("'{text}' is not x,y: {error}"))?;
    match numbers.as_slice() {
        [x, y] if x.is_finite() && y.is_finite() => Ok(Point2::new(*x, *y)),
        [_, _] => Err(format!("'{text}' is not finite")),
        other => Err(format!("'{text}' has {} numbers, not two", other.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_two_finite_numbers() {
        assert_eq!(parse_point("1, -2.5"), Ok(Point2::new(1.0, -2.5)));
        for bad in ["", "1", "1,2,3", "a,b", "nan,1", "1,inf"] {
            assert!(parse_point(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn scenes_count_polygons_and_cases_list_them() {
        let scene =
            r#"{"polygons": 1, "obstacles": [[[0,0],[1,0],[0,1]]], "queries": [[[2,2],[3,3]]]}"#;
        let scene = Scene::parse(scene, SelfCrossing::Refuse).unwrap();
        assert_eq!((scene.vertices, scene.queries.len()), (3, 1));
        let case = r#"{"polygons": [[[0,0],[1,0],[0,1]]], "distance": 1}"#;
        assert_eq!(
            Scene::parse(case, SelfCrossing::Refuse)
                .unwrap()
                .obstacles
                .len(),
            1
        );
        let named = r#"{"obstacles": [{"id": "table", "points": [[0,0],[1,0],[0,1]]}]}"#;
        assert_eq!(
            Scene::parse(named, SelfCrossing::Refuse).unwrap().obstacles[0].id,
            "table"
        );
    }

    /// A reader that is off by one digit makes a corner that lies in its own obstacle.
    #[test]
    fn coordinates_are_read_to_the_last_digit() {
        let text = r#"{"obstacles": [[[0,0],[1.8893686587640286,-2.427989778882549],[0,1]]],
            "start": [1.8893686587640286, -1.1586893770318762], "goal": [1e-5, 0.1]}"#;
        let scene = Scene::parse(text, SelfCrossing::Refuse).unwrap();
        assert!(scene.obstacles[0].polygon.outer().contains(&Point2::new(
            1.889_368_658_764_028_6,
            -2.427_989_778_882_549
        )));
        let start = Point2::new(1.889_368_658_764_028_6, -1.158_689_377_031_876_2);
        assert_eq!(scene.queries, [[start, Point2::new(1e-5, 0.1)]]);
    }

    #[test]
    fn bad_scenes_say_what_is_wrong() {
        let error = |text: &str| {
            Scene::parse(text, SelfCrossing::Refuse)
                .unwrap_err()
                .to_string()
        };
        assert!(error("{").contains("JSON"));
        assert!(error("{}").contains("obstacles"));
        for (text, word) in [
            (r#"{"obstacles": [[[0,0],[1,0]]]}"#, "'0'"),
            (r#"{"obstacles": [[[0,0],[1,0],["a",1]]]}"#, "obstacle 0"),
            (
                r#"{"obstacles": [{"id": "a", "polygon": [[0,0],[1,0],[1,1]], "min_height": 2, "max_height": 1}]}"#,
                "\"a\"",
            ),
            (
                r#"{"obstacles": [{"polygon": [[0,0],[1,0],[1,1]], "hight": 2}]}"#,
                "hight",
            ),
        ] {
            assert!(error(text).contains(word), "{}", error(text));
        }
        let bow_tie = r#"{"obstacles": [{"id": "tie", "points": [[0,0],[1,1],[1,0],[0,1]]}]}"#;
        assert!(error(bow_tie).contains("'tie' crosses itself"));
    }

    #[test]
    fn heights_mean_the_same_as_in_messages() {
        let named = |heights: &str| {
            let polygon = r#""polygon": [[0,0],[0,1],[1,1]]"#;
            let text = format!(r#"{{"name": "x", "obstacles": [{{{polygon}{heights}}}]}}"#);
            Scene::parse(&text, SelfCrossing::Refuse).map(|scene| {
                let only = &scene.obstacles[0];
                (only.id.clone(), only.min_height, only.max_height)
            })
        };
        let unbounded = ("0".to_owned(), f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!(named("").unwrap(), unbounded);
        let zero = r#", "min_height": 0.0, "max_height": 0"#;
        assert_eq!(named(zero).unwrap(), unbounded);
        let box_ = named(r#", "id": "box", "max_height": 0.5"#).unwrap();
        assert_eq!(box_, ("box".to_owned(), f64::NEG_INFINITY, 0.5));
        let equal = named(r#", "min_height": 0.2, "max_height": 0.2"#).unwrap_err();
        assert!(equal.to_string().contains("0.2"), "{equal}");
    }
}
