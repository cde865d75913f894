//! What the tests share: reading, building, and random worlds on integer grids.

use std::sync::Arc;

use arm_planner::planar::{Contact, Obstacle, PlanarWorld, Polygon, PolygonOptions, WorldOptions};
use arm_planner::roadmap::{build_roadmap, Roadmap};
use nalgebra::Point2;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

pub use crate::bodies::{check_answers, check_route, roadmaps, same_edges};

pub type P = Point2<f64>;

pub const CONTACTS: [Contact; 2] = [Contact::Blocked, Contact::Passable];
/// Road maps whose paths are the shortest ones.
pub const OPTIMAL: [&str; 4] = [
    "visibility_naive",
    "visibility_sweep",
    "visibility_graph",
    "lazy",
];

pub fn p(x: f64, y: f64) -> P {
    Point2::new(x, y)
}

pub fn points(raw: &[[f64; 2]]) -> Vec<P> {
    raw.iter().map(|c| p(c[0], c[1])).collect()
}

pub fn obstacle(id: &str, raw: &[[f64; 2]]) -> Obstacle {
    let (obstacles, _) =
        Obstacle::from_ring(id, &points(raw), &exact()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(obstacles.len(), 1);
    obstacles.into_iter().next().unwrap()
}

/// Merge only what is exactly equal.
pub fn exact() -> PolygonOptions {
    PolygonOptions {
        merge_tolerance: 0.0,
        ..PolygonOptions::default()
    }
}

pub fn world(
    obstacles: Vec<Obstacle>,
    boundary: Option<Polygon>,
    contact: Contact,
) -> Arc<PlanarWorld> {
    let options = WorldOptions {
        contact,
        ..WorldOptions::default()
    };
    world_with(obstacles, boundary, &options)
}

pub fn world_with(
    obstacles: Vec<Obstacle>,
    boundary: Option<Polygon>,
    options: &WorldOptions,
) -> Arc<PlanarWorld> {
    let world = PlanarWorld::build(obstacles, boundary, options).unwrap_or_else(|e| panic!("{e}"));
    world.sanity_check().unwrap_or_else(|e| panic!("{e}"));
    Arc::new(world)
}

pub fn roadmap(name: &str, world: &Arc<PlanarWorld>) -> Box<dyn Roadmap> {
    build_roadmap(name, world.clone()).unwrap_or_else(|e| panic!("{e}"))
}

/// The same cases every time, unless `PROPTEST_CASES` asks for a long random search.
pub fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: None,
        rng_seed: asked.map_or(RngSeed::Fixed(20_240_517), |_: u32| RngSeed::Random),
        ..ProptestConfig::default()
    }
}

/// Integer rings on a small grid, so that touching, overlapping and collinear cases are common.
pub fn ring(size: i32) -> impl Strategy<Value = Vec<[i32; 2]>> {
    let point = move || [0..=size, 0..=size];
    prop_oneof![
        // Rectangles.
        (0..size, 0..size, 1..=4, 1..=4).prop_map(|(x, y, w, h)| vec![
            [x, y],
            [x + w, y],
            [x + w, y + h],
            [x, y + h]
        ]),
        // Triangles and other small rings, of which only simple ones are kept.
        prop::collection::vec(point(), 3..=6),
        // L shapes.
        (0..size, 0..size, 2..=5, 2..=5).prop_map(|(x, y, w, h)| vec![
            [x, y],
            [x + w, y],
            [x + w, y + 1],
            [x + 1, y + 1],
            [x + 1, y + h],
            [x, y + h]
        ]),
    ]
    .prop_filter("simple rings", |ring| {
        Polygon::from_ring("", &integer_points(ring), &exact())
            .is_ok_and(|r| r.polygons[0].walls().is_empty())
    })
}

/// Small rings that go out and back along the same line somewhere.
pub fn spiked_ring(size: i32) -> impl Strategy<Value = Vec<[i32; 2]>> {
    let point = move || [0..=size, 0..=size];
    (ring(size), 0usize..8, point())
        .prop_map(|(mut ring, at, tip)| {
            let at = at % ring.len();
            let foot = ring[at];
            ring.insert(at, tip);
            ring.insert(at, foot);
            ring
        })
        .prop_filter("readable rings", |ring| {
            Polygon::from_ring("", &integer_points(ring), &exact()).is_ok()
        })
}

pub fn integer_points(ring: &[[i32; 2]]) -> Vec<P> {
    ring.iter()
        .map(|c| p(f64::from(c[0]), f64::from(c[1])))
        .collect()
}

pub fn integer_world(rings: &[Vec<[i32; 2]>], options: &WorldOptions) -> Arc<PlanarWorld> {
    let obstacles = rings
        .iter()
        .enumerate()
        .map(|(k, ring)| Obstacle {
            id: format!("{k}"),
            polygon: Polygon::from_ring("", &integer_points(ring), &exact())
                .unwrap()
                .polygons
                .remove(0),
        })
        .collect();
    world_with(obstacles, None, options)
}
