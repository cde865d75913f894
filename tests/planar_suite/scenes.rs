//! Random scenes with lengths that were computed independently.

use arm_planner::planar::Contact;
use serde::Deserialize;

use crate::common::{check_route, obstacle, p, roadmap, world};

#[derive(Deserialize)]
struct Scene {
    obstacles: Vec<Vec<[f64; 2]>>,
    queries: Vec<[[f64; 2]; 2]>,
    lengths: Vec<f64>,
}

fn run(text: &str, names: &[&str]) {
    let scene: Scene = serde_json::from_str(text).unwrap();
    assert_eq!(scene.queries.len(), scene.lengths.len());
    let obstacles = scene
        .obstacles
        .iter()
        .enumerate()
        .map(|(k, ring)| obstacle(&format!("{k}"), ring))
        .collect();
    let world = world(obstacles, None, Contact::Blocked);
    for name in names {
        let map = roadmap(name, &world);
        for ([start, goal], length) in scene.queries.iter().zip(&scene.lengths) {
            let (start, goal) = (p(start[0], start[1]), p(goal[0], goal[1]));
            let route = map.shortest_path(&start, &goal).unwrap();
            check_route(&world, &route, &start, &goal);
            let error = (route.length - length).abs() / length;
            assert!(error <= 1e-9, "{name}: {} is not {length}", route.length);
        }
    }
}

#[test]
fn convex_50() {
    run(
        include_str!("../data/planar/convex_50.json"),
        &crate::common::OPTIMAL,
    );
}

#[test]
fn convex_200() {
    run(
        include_str!("../data/planar/convex_200.json"),
        &crate::common::OPTIMAL,
    );
}

#[test]
fn nonconvex_1000() {
    run(
        include_str!("../data/planar/nonconvex_1000.json"),
        &["visibility_graph"],
    );
}
