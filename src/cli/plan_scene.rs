//! Scenes for `plan`: obstacles with or without names and heights.

use std::path::Path;

use nalgebra::Point2;
use serde::Deserialize;

use super::arm::read_text;
use super::CliError;
use crate::planar::{Obstacle as PlanarObstacle, PolygonOptions};
use crate::planning::Obstacle;

/// A scene file: `{"obstacles": [...]}`; unknown fields are left to other readers.
#[derive(Debug, Deserialize)]
struct Scene {
    obstacles: Vec<Entry>,
}

/// An obstacle: its corners alone, or with a name and heights.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Entry {
    Corners(Vec<[f64; 2]>),
    Named(Named),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    #[serde(default)]
    id: Option<String>,
    polygon: Vec<[f64; 2]>,
    #[serde(default)]
    min_height: Option<f64>,
    #[serde(default)]
    max_height: Option<f64>,
}

/// Reads the obstacles of the scene at `path` \[m\]; repairs go to standard error.
pub(super) fn read_obstacles(path: &Path) -> Result<Vec<Obstacle>, CliError> {
    parse_obstacles(&read_text(path)?)
        .map_err(|message| CliError::BadInput(format!("{}: {message}", path.display())))
}

fn parse_obstacles(text: &str) -> Result<Vec<Obstacle>, String> {
    let scene: Scene = serde_json::from_str(text).map_err(|error| {
        format!(
            "{error}; expected {{\"obstacles\": [...]}} with lists of [x, y] corners, or objects with polygon, id, \
             min_height, max_height"
        )
    })?;
    let mut obstacles = Vec::new();
    for (index, entry) in scene.obstacles.into_iter().enumerate() {
        let named = match entry {
            Entry::Corners(polygon) => Named {
                id: None,
                polygon,
                min_height: None,
                max_height: None,
            },
            Entry::Named(named) => named,
        };
        let id = named.id.unwrap_or_else(|| index.to_string());
        let (low, high) = match (named.min_height, named.max_height) {
            // As in the messages: both zero means unbounded.
            (Some(0.0), Some(0.0)) => (f64::NEG_INFINITY, f64::INFINITY),
            (low, high) => (
                low.unwrap_or(f64::NEG_INFINITY),
                high.unwrap_or(f64::INFINITY),
            ),
        };
        if low.is_nan() || high.is_nan() || low >= high {
            return Err(format!(
                "obstacle \"{id}\": min_height {low} is not below max_height {high} (both 0: unbounded)"
            ));
        }
        let points: Vec<Point2<f64>> = named
            .polygon
            .iter()
            .map(|p| Point2::new(p[0], p[1]))
            .collect();
        let (polygons, repairs) =
            PlanarObstacle::from_ring(&id, &points, &PolygonOptions::default())
                .map_err(|error| error.to_string())?;
        for repair in repairs {
            errln!("arm-planner: obstacle \"{id}\": {repair}");
        }
        obstacles.extend(polygons.into_iter().map(|part| Obstacle {
            id: part.id,
            polygon: part.polygon,
            min_height: low,
            max_height: high,
        }));
    }
    Ok(obstacles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let text = r#"{"name": "x", "obstacles": [[[0,0],[1,0],[1,1]],
            {"id": "box", "polygon": [[0,0],[0,1],[1,1]], "max_height": 0.5}]}"#;
        let obstacles = parse_obstacles(text).unwrap();
        assert_eq!(obstacles[0].id, "0");
        assert_eq!(obstacles[0].max_height, f64::INFINITY);
        assert_eq!(
            (obstacles[1].id.as_str(), obstacles[1].max_height),
            ("box", 0.5)
        );
        assert_eq!(obstacles[1].min_height, f64::NEG_INFINITY);
    }

    #[test]
    fn heights_mean_the_same_as_in_messages() {
        let named = |heights: &str| {
            parse_obstacles(&format!(
                r#"{{"obstacles": [{{"polygon": [[0,0],[0,1],[1,1]], {heights}}}]}}"#
            ))
        };
        let both_zero = named(r#""min_height": 0.0, "max_height": 0"#).unwrap();
        assert_eq!(both_zero[0].max_height, f64::INFINITY);
        assert_eq!(both_zero[0].min_height, f64::NEG_INFINITY);
        let equal = named(r#""min_height": 0.2, "max_height": 0.2"#).unwrap_err();
        assert!(equal.contains("0.2"), "{equal}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, word) in [
            ("{", "expected"),
            ("{\"obstacles\": [[[0,0],[1,0]]]}", "'0'"),
            ("{\"obstacles\": [{\"id\": \"a\", \"polygon\": [[0,0],[1,0],[1,1]], \"min_height\": 2, \"max_height\": 1}]}", "\"a\""),
            ("{\"obstacles\": [{\"polygon\": [[0,0],[1,0],[1,1]], \"hight\": 2}]}", "expected"),
        ] {
            let error = parse_obstacles(text).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
