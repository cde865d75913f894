//! Scenes that geometry breaks on, from seeds, small against the oracle and large without it.

use std::sync::Arc;

use arm_planner::planar::{Contact, Obstacle, PlanarWorld, Polygon, WorldOptions};

use crate::common::{check_answers, exact, p, roadmaps, same_edges, world_with, CONTACTS, P};
use crate::support::{
    checkerboard, collinear_chain, comb, convex, lattice, near_collinear, non_convex, shared_edges,
    star, Random, Ring,
};

fn obstacles(rings: &[Ring]) -> Vec<Obstacle> {
    let read = |(k, ring): (usize, &Ring)| {
        let (obstacles, _) = Obstacle::from_ring(&format!("{k}"), ring, &exact()).unwrap();
        obstacles
    };
    rings.iter().enumerate().flat_map(read).collect()
}

fn build(rings: &[Ring], contact: Contact, clearance: f64) -> Arc<PlanarWorld> {
    let options = WorldOptions {
        contact,
        clearance,
        ..WorldOptions::default()
    };
    world_with(obstacles(rings), None, &options)
}

/// Vertices, middles of edges, and points anywhere around.
fn ends(rings: &[Ring], count: usize) -> Vec<[P; 2]> {
    let mut random = Random(17);
    let all = || rings.iter().flatten();
    let low = all().fold(p(0.0, 0.0), |low, q| low.inf(q));
    let high = all().fold(p(1.0, 1.0), |high, q| high.sup(q));
    let mut end = || {
        let ring = &rings[random.below(rings.len())];
        let k = random.below(ring.len());
        match random.below(4) {
            0 => ring[k],
            1 => nalgebra::center(&ring[k], &ring[(k + 1) % ring.len()]),
            2 => p(
                random.between(low.x - 1.0, high.x + 1.0).round(),
                random.between(low.y - 1.0, high.y + 1.0).round(),
            ),
            _ => p(
                random.between(low.x - 1.0, high.x + 1.0),
                random.between(low.y - 1.0, high.y + 1.0),
            ),
        }
    };
    (0..count).map(|_| [end(), end()]).collect()
}

/// Everything is compared with the oracle; `clearance` is one that closes some gaps.
fn small(rings: &[Ring], clearance: f64) {
    let mut ways = 0;
    for contact in CONTACTS {
        for clearance in [0.0, clearance] {
            let world = build(rings, contact, clearance);
            same_edges(&world);
            let maps = roadmaps(&world, &[]);
            for [start, goal] in ends(rings, 24) {
                ways += usize::from(check_answers(&maps, &start, &goal));
            }
        }
    }
    assert!(ways > 4, "{ways}");
}

/// Too large for the oracle.
fn large(rings: &[Ring], contacts: &[Contact]) {
    let mut ways = 0;
    for contact in contacts {
        let world = build(rings, *contact, 0.0);
        let maps = roadmaps(&world, &["visibility_naive", "visibility_sweep"]);
        for [start, goal] in ends(rings, 12) {
            ways += usize::from(check_answers(&maps, &start, &goal));
        }
    }
    assert!(ways > 0);
}

#[test]
fn random_convex() {
    small(&convex(60, 1), 9.0);
    large(&convex(3000, 2), &CONTACTS);
}

#[test]
fn random_non_convex() {
    small(&non_convex(60, 3), 5.0);
    large(&non_convex(3000, 4), &CONTACTS);
}

#[test]
fn lattices() {
    small(&lattice(64), 25.0);
    large(&lattice(2000), &CONTACTS);
}

#[test]
fn shared_edges_of_tiles() {
    for seed in 0..4 {
        small(&shared_edges(5, seed), 0.2);
    }
    large(&shared_edges(20, 5), &CONTACTS);
}

#[test]
fn checkerboards() {
    small(&checkerboard(5), 0.1);
    large(&checkerboard(24), &CONTACTS);
}

#[test]
fn collinear_chains() {
    small(&collinear_chain(6), 0.3);
    large(&collinear_chain(200), &CONTACTS);
}

#[test]
fn stars_of_needles() {
    small(&star(12), 0.2);
    large(&star(100), &CONTACTS);
}

#[test]
fn combs() {
    small(&comb(60), 3.0);
    large(&comb(1200), &CONTACTS);
}

#[test]
fn thousands_of_near_collinear_points() {
    small(&near_collinear(25, 1), 0.5);
    large(&near_collinear(2000, 2), &[Contact::Blocked]);
}

#[test]
fn a_comb_in_a_boundary_that_touches_it() {
    let rings = comb(40);
    let all = || rings.iter().flatten();
    let low = all().fold(p(0.0, 0.0), |low, q| low.inf(q));
    let high = all().fold(p(0.0, 0.0), |high, q| high.sup(q));
    let boundary = [low, p(high.x, low.y), high, p(low.x, high.y)];
    for contact in CONTACTS {
        let options = WorldOptions {
            contact,
            ..WorldOptions::default()
        };
        let boundary = Polygon::from_points(&boundary).unwrap();
        let world = world_with(obstacles(&rings), Some(boundary), &options);
        same_edges(&world);
        let maps = roadmaps(&world, &[]);
        let ways = ends(&rings, 40)
            .iter()
            .filter(|[start, goal]| check_answers(&maps, start, goal))
            .count();
        assert!(ways > 2, "{ways}");
    }
}

/// Slivers whose corners lie nearer to each other's edges than a crossing point can be rounded.
#[test]
fn slivers_far_from_the_origin_that_cross_at_rounding_distance() {
    let rings = [
        vec![
            p(1_000_000.0, -1_000_000.0),
            p(999_999.996, -999_999.998),
            p(999_999.999, -1_000_000.003),
            p(999_999.998, -1_000_000.006),
        ],
        vec![
            p(999_999.998, -1_000_000.004),
            p(999_999.999, -1_000_000.006),
            p(999_999.997, -1_000_000.001),
        ],
    ];
    let (start, goal) = (
        p(999_999.997, -1_000_000.001),
        p(999_999.999, -1_000_000.006),
    );
    for contact in CONTACTS {
        let world = build(&rings, contact, 0.0);
        let maps = roadmaps(&world, &[]);
        assert!(check_answers(&maps, &start, &goal), "{contact:?}");
        for map in maps.iter().filter(|map| map.is_optimal()) {
            let length = map.shortest_path(&start, &goal).unwrap().length;
            assert!((length - 0.0061).abs() < 1e-5, "{}: {length}", map.name());
        }
    }
}
