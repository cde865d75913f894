//! Inputs that made public libraries fail, each a named test, under both contact rules.

use arm_planner::planar::{Contact, Location, Polygon};
use arm_planner::roadmap::{End, RouteError};
use serde::Deserialize;

use crate::common::{check_route, exact, obstacle, p, points, roadmap, world, OPTIMAL};

#[derive(Deserialize)]
struct Case {
    name: String,
    boundary: Option<Vec<[f64; 2]>>,
    obstacles: Vec<Vec<[f64; 2]>>,
    start: [f64; 2],
    goal: [f64; 2],
    passable: Expected,
    blocked: Expected,
}

#[derive(Deserialize)]
struct Expected {
    outcome: String,
    length: Option<f64>,
    /// Measured with obstacles grown by about 1e-6 of their size.
    length_approx: Option<f64>,
}

fn run(name: &str) {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../data/planar/cases.json")).unwrap();
    let case = cases.iter().find(|c| c.name == name).unwrap();
    for (contact, expected) in [
        (Contact::Passable, &case.passable),
        (Contact::Blocked, &case.blocked),
    ] {
        let obstacles = case
            .obstacles
            .iter()
            .enumerate()
            .map(|(k, ring)| obstacle(&format!("{k}"), ring))
            .collect();
        let boundary = case.boundary.as_ref().map(|ring| {
            Polygon::from_ring("boundary", &points(ring), &exact())
                .unwrap()
                .polygons
                .remove(0)
        });
        let world = world(obstacles, boundary, contact);
        let (start, goal) = (
            p(case.start[0], case.start[1]),
            p(case.goal[0], case.goal[1]),
        );
        for name in OPTIMAL {
            let answer = roadmap(name, &world).shortest_path(&start, &goal);
            match expected.outcome.as_str() {
                "path" => {
                    let route = answer.unwrap_or_else(|e| panic!("{name}, {contact:?}: {e}"));
                    check_route(&world, &route, &start, &goal);
                    let (length, tolerance) = match (expected.length, expected.length_approx) {
                        (Some(length), _) => (length, 1e-9),
                        (None, Some(length)) => (length, 1e-5),
                        (None, None) => panic!("the case gives no length"),
                    };
                    let error = (route.length - length).abs() / length;
                    assert!(
                        error <= tolerance,
                        "{name}, {contact:?}: {} is not {length}",
                        route.length
                    );
                }
                "start_in_obstacle" => {
                    let error = answer.unwrap_err();
                    assert!(
                        matches!(&error, RouteError::InObstacle { end: End::Start, obstacles, depth }
                            if obstacles == &["0"] && *depth < 1e-9),
                        "{error}"
                    );
                    assert!(matches!(world.locate(&start), Location::Inside { .. }));
                }
                other => panic!("unknown outcome {other}"),
            }
        }
    }
}

macro_rules! cases {
    ($($name:ident)*) => { $(#[test] fn $name() { run(stringify!($name)); })* };
}

cases! {
    epf102_b_repeated_vertex
    epf11_endpoint_on_hole
    epf33_endpoints_are_vertices
    epf84_hole_through_vertices
    nav2d2_straight
    no_obstacle_between
    overlap_crossing_bars
    pv20_near_collinear_diagonal
    pv28_collinear_spur
    pv39_start_on_boundary
    pv44_two_triangles
    touch_corner_squares
    touch_edge_squares
}

#[test]
fn no_case_is_left_out() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../data/planar/cases.json")).unwrap();
    assert_eq!(cases.len(), 13);
}
