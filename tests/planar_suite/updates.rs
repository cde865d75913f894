//! Worlds that change: after every change everything must be as if it were built anew.

use std::sync::Arc;

use arm_planner::planar::{Contact, Edit, Obstacle, PlanarWorld, Polygon, WorldOptions};
use arm_planner::roadmap::{DynamicRoadmap, UpdateError};
use proptest::prelude::*;

use crate::common::{
    config, exact, integer_points, obstacle, p, ring, spiked_ring, world, CONTACTS, P,
};

/// One change: which obstacle (counted around), and its new ring; none: it goes. Beyond the
/// number of obstacles: a new one.
type Change = (usize, Option<Vec<[i32; 2]>>);

fn polygons(ring: &[[i32; 2]]) -> Vec<Polygon> {
    Polygon::from_ring("", &integer_points(ring), &exact())
        .unwrap()
        .polygons
}

fn rebuilt(world: &PlanarWorld) -> DynamicRoadmap {
    let again = PlanarWorld::build(
        world.obstacles().to_vec(),
        world.boundary().cloned(),
        world.options(),
    );
    DynamicRoadmap::new(Arc::new(again.unwrap_or_else(|e| panic!("{e}"))))
}

/// Everything that can be asked is as in a world that was built anew.
fn same_as_rebuilt(updated: &DynamicRoadmap, asked: &[P]) {
    updated.sanity_check().unwrap_or_else(|e| panic!("{e}"));
    let fresh = rebuilt(updated.world());
    assert_eq!(updated.world().arrangement(), fresh.world().arrangement());
    assert_eq!(updated.world().outlines(), fresh.world().outlines());
    assert_eq!(updated.graph(), fresh.graph());
    for a in asked {
        assert_eq!(updated.world().locate(a), fresh.world().locate(a));
        for b in asked {
            let paths = [updated, &fresh].map(|r| r.roadmap().shortest_path(a, b));
            assert_eq!(paths[0], paths[1]);
        }
    }
}

fn changes(size: i32) -> impl Strategy<Value = Vec<Change>> {
    let rings = prop_oneof![3 => ring(size), 1 => spiked_ring(size)];
    prop::collection::vec((0usize..12, prop::option::weighted(0.8, rings)), 1..8)
}

fn run(
    rings: &[Vec<[i32; 2]>],
    boundary: Option<Polygon>,
    options: &WorldOptions,
    changes: &[Change],
) {
    let obstacles = rings
        .iter()
        .enumerate()
        .flat_map(|(k, ring)| {
            let named = move |polygon| Obstacle {
                id: k.to_string(),
                polygon,
            };
            polygons(ring).into_iter().map(named)
        })
        .collect();
    let Ok(world) = PlanarWorld::build(obstacles, boundary, options) else {
        return;
    };
    let mut snapshot = DynamicRoadmap::new(Arc::new(world));
    let asked = [p(-1.5, 0.25), p(4.25, 4.5), p(9.75, 2.5), p(3.0, 7.0)];
    for (which, ring) in changes {
        let before = snapshot.clone();
        let old_outlines = before.world().arrangement().clone();
        let id = which.to_string();
        let polygons = ring.as_deref().map(polygons).unwrap_or_default();
        snapshot = snapshot
            .set(&id, polygons)
            .unwrap_or_else(|e| panic!("{e}"));
        same_as_rebuilt(&snapshot, &asked);
        // The old snapshot is what it was.
        assert_eq!(*before.world().arrangement(), old_outlines);
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn updates_are_rebuilds(
        rings in prop::collection::vec(ring(9), 0..8),
        changes in changes(9),
        passable in any::<bool>(),
    ) {
        let options = WorldOptions { contact: CONTACTS[usize::from(passable)], ..WorldOptions::default() };
        run(&rings, None, &options, &changes);
    }

    #[test]
    fn updates_are_rebuilds_inside_a_boundary(
        rings in prop::collection::vec(ring(9), 0..6),
        bounds in ring(14),
        changes in changes(12),
        passable in any::<bool>(),
    ) {
        let options = WorldOptions { contact: CONTACTS[usize::from(passable)], ..WorldOptions::default() };
        run(&rings, polygons(&bounds).pop(), &options, &changes);
    }

    #[test]
    fn updates_are_rebuilds_with_clearance(
        rings in prop::collection::vec(ring(9), 0..6),
        changes in changes(9),
        clearance in prop_oneof![Just(0.25), Just(0.5), Just(1.0), 0.01..0.8],
        passable in any::<bool>(),
        bounded in any::<bool>(),
    ) {
        let options = WorldOptions {
            contact: CONTACTS[usize::from(passable)],
            clearance,
            ..WorldOptions::default()
        };
        let bounds = bounded.then(|| polygons(&[[-3, -3], [12, -3], [12, 12], [-3, 12]]).remove(0));
        run(&rings, bounds, &options, &changes);
    }

    /// Sparse worlds of many small obstacles, as in the benchmark.
    #[test]
    fn updates_are_rebuilds_among_many(
        cells in prop::collection::btree_set((0i32..12, 0i32..12), 20..60),
        changes in changes(60),
    ) {
        let rings: Vec<Vec<[i32; 2]>> = cells
            .iter()
            .map(|(x, y)| {
                let (x, y, s) = (5 * x, 5 * y, 1 + (3 * x + 7 * y) % 3);
                vec![[x, y], [x + s, y], [x + 3, y + s], [x, y + 3]]
            })
            .collect();
        run(&rings, None, &WorldOptions::default(), &changes);
    }
}

#[test]
fn an_obstacle_that_covers_others_and_goes_again() {
    let square =
        |id: &str, x: f64, s: f64| obstacle(id, &[[x, x], [x + s, x], [x + s, x + s], [x, x + s]]);
    let inner = vec![square("a", 1.0, 1.0), square("b", 3.0, 2.0)];
    for contact in CONTACTS {
        let small = DynamicRoadmap::new(world(inner.clone(), None, contact));
        let big = small.add("big", square("", 0.0, 9.0).polygon).unwrap();
        same_as_rebuilt(&big, &[p(-1.0, -1.0), p(11.0, 10.0)]);
        assert_eq!(big.world().arrangement().vertices().len(), 4);
        let again = big.remove("big").unwrap();
        same_as_rebuilt(&again, &[p(-1.0, -1.0), p(2.5, 2.5)]);
        assert_eq!(again.world().arrangement(), small.world().arrangement());
    }
}

#[test]
fn a_world_that_empties_and_fills() {
    let empty = DynamicRoadmap::new(world(Vec::new(), None, Contact::Blocked));
    same_as_rebuilt(&empty, &[p(0.0, 0.0), p(1.0, 1.0)]);
    let square =
        |x: f64| obstacle("", &[[x, 0.0], [x + 1.0, 0.0], [x + 1.0, 1.0], [x, 1.0]]).polygon;
    let mut full = empty;
    for k in 0..5 {
        // Each one further away than the box around the others.
        full = full.add(&k.to_string(), square(10f64.powi(k))).unwrap();
        same_as_rebuilt(&full, &[p(0.0, 0.5), p(30.0, 0.5)]);
    }
    for k in [2, 0, 4, 1, 3] {
        full = full.remove(&k.to_string()).unwrap();
        same_as_rebuilt(&full, &[p(0.0, 0.5), p(30.0, 0.5)]);
    }
    assert_eq!(full.roadmap().node_count(), 0);
}

#[test]
fn names_are_checked() {
    let square = obstacle("a", &[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]);
    let polygon = square.polygon.clone();
    let one = DynamicRoadmap::new(world(vec![square], None, Contact::Blocked));
    let known = UpdateError::KnownId { id: "a".to_owned() };
    assert_eq!(one.add("a", polygon.clone()).unwrap_err(), known);
    for error in [
        one.replace("b", polygon).unwrap_err(),
        one.remove("b").unwrap_err(),
    ] {
        assert_eq!(error, UpdateError::UnknownId { id: "b".to_owned() });
        assert!(error.to_string().contains("'b'"));
    }
}

#[test]
fn edits_put_obstacles_in_between() {
    let square =
        |id: &str, x: f64| obstacle(id, &[[x, 0.0], [x + 1.0, 0.0], [x + 1.0, 1.0], [x, 1.0]]);
    let all: Vec<Obstacle> = (0..6)
        .map(|k| square(&k.to_string(), 2.0 * f64::from(k)))
        .collect();
    let before = DynamicRoadmap::new(world(all, None, Contact::Blocked));
    let edit = Edit {
        remove: vec![4, 1],
        at: 2,
        insert: vec![square("x", 2.5), square("y", 20.0)],
    };
    let after = before.edited(&edit).unwrap();
    let ids: Vec<&str> = after
        .world()
        .obstacles()
        .iter()
        .map(|o| o.id.as_str())
        .collect();
    assert_eq!(ids, ["0", "2", "x", "y", "3", "5"]);
    same_as_rebuilt(&after, &[p(-1.0, 0.5), p(21.0, 3.0)]);
}

/// An end far outside, in line with an edge: the box around the world depends on what was there
/// before, the vertices of a route must not.
#[test]
fn a_goal_in_line_with_an_edge_outside_the_old_box() {
    let square = obstacle("0", &[[8.0, 3.0], [10.0, 3.0], [10.0, 6.0], [8.0, 6.0]]);
    let triangle = obstacle("0", &[[5.0, 0.0], [7.0, 5.0], [5.0, 6.0]]).polygon;
    let before = DynamicRoadmap::new(world(vec![square], None, Contact::Blocked));
    let after = before.replace("0", triangle).unwrap();
    same_as_rebuilt(&after, &[p(9.75, 2.5), p(3.0, 7.0)]);
}

/// The long edge of a thin obstacle is seen through a gap behind which its ends are hidden from
/// each other.
#[test]
fn a_long_edge_seen_through_a_gap() {
    let cells = [
        (0, 0),
        (0, 1),
        (0, 2),
        (0, 3),
        (0, 4),
        (0, 5),
        (0, 7),
        (0, 8),
        (1, 0),
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 0),
        (4, 6),
        (5, 3),
        (5, 6),
        (6, 0),
        (6, 1),
        (7, 3),
    ];
    let mut all: Vec<Obstacle> = cells
        .iter()
        .map(|(x, y)| {
            let s = f64::from(1 + (3 * x + 7 * y) % 3);
            let (x, y) = (f64::from(5 * x), f64::from(5 * y));
            obstacle("", &[[x, y], [x + s, y], [x + 3.0, y + s], [x, y + 3.0]])
        })
        .collect();
    all.push(obstacle("thin", &[[19.0, 27.0], [46.0, 0.0], [20.0, 27.0]]));
    let before = DynamicRoadmap::new(world(all, None, Contact::Blocked));
    same_as_rebuilt(
        &before.remove("thin").unwrap(),
        &[p(-1.0, 8.0), p(50.0, 15.0)],
    );
}
