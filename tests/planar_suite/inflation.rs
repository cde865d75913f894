//! Inflation: never less than asked, everywhere.

use arm_planner::planar::offset::{deflate, inflate, inflate_all};
use arm_planner::planar::predicates::Side;
use arm_planner::planar::{Join, OffsetError, Polygon};
use proptest::prelude::*;
use serde::Deserialize;

use crate::common::{config, exact, integer_points, p, points, ring};

#[derive(Deserialize)]
struct Case {
    name: String,
    polygons: Vec<Vec<[f64; 2]>>,
    distance: f64,
    join: String,
    expected_parts: usize,
    expected_holes: usize,
    expected_area_approx: f64,
    expected_bbox: [f64; 4],
}

fn run(name: &str) {
    let cases: Vec<Case> =
        serde_json::from_str(include_str!("../data/planar/inflations.json")).unwrap();
    let case = cases.iter().find(|c| c.name == name).unwrap();
    let polygons: Vec<Polygon> = case
        .polygons
        .iter()
        .flat_map(|r| {
            Polygon::from_ring("", &points(r), &exact())
                .unwrap()
                .polygons
        })
        .collect();
    let join = match case.join.as_str() {
        "round" => Join::Round {
            arc_tolerance: Some(1e-5 * case.distance),
        },
        _ => Join::Mitre { limit: 2.0 },
    };
    let result = inflate_all(&polygons, case.distance, &join).unwrap();
    assert_eq!(result.len(), case.expected_parts);
    assert_eq!(
        result.iter().map(|r| r.holes().len()).sum::<usize>(),
        case.expected_holes
    );
    let area: f64 = result.iter().map(Polygon::area).sum();
    assert!(
        (area / case.expected_area_approx - 1.0).abs() < 1e-4,
        "{area}"
    );
    let all = || result.iter().flat_map(|r| r.outer());
    let bbox = [
        all().map(|v| v.x).fold(f64::INFINITY, f64::min),
        all().map(|v| v.y).fold(f64::INFINITY, f64::min),
        all().map(|v| v.x).fold(f64::NEG_INFINITY, f64::max),
        all().map(|v| v.y).fold(f64::NEG_INFINITY, f64::max),
    ];
    for (got, want) in bbox.iter().zip(case.expected_bbox) {
        assert!((got - want).abs() < 2e-5 * case.distance, "{bbox:?}");
    }
}

#[test]
fn geos531_square_mitre() {
    run("infl_geos531_square_mitre");
}

#[test]
fn ioverlay74_sliver() {
    run("infl_ioverlay74_sliver");
}

/// Samples the result's boundary and asks for the distance, whatever the library checked itself.
fn keeps_clearance(inner: &Polygon, outer: &Polygon, clearance: f64) {
    outer.sanity_check().unwrap();
    for (a, b) in outer.edges() {
        for k in 0..=8 {
            let q = a + (b - a) * (f64::from(k) / 8.0);
            let distance = inner.boundary_distance(&q);
            assert!(distance >= clearance, "{distance} at {q}");
        }
    }
    for (a, b) in inner.edges() {
        for k in 0..=4 {
            let q = a + (b - a) * (f64::from(k) / 4.0);
            assert_eq!(outer.locate(&q), Side::Inside);
        }
    }
}

fn joins() -> [Join; 5] {
    [
        Join::default(),
        Join::Round {
            arc_tolerance: Some(0.2),
        },
        Join::Mitre { limit: 1.0 },
        Join::Mitre { limit: 2.0 },
        Join::Mitre { limit: 100.0 },
    ]
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn never_less_than_asked(raw in ring(9), clearance in 0.001..3.0f64) {
        let polygon = Polygon::from_ring("", &integer_points(&raw), &exact()).unwrap().polygons.remove(0);
        for join in joins() {
            let inflated = inflate(&polygon, clearance, &join).unwrap();
            keeps_clearance(&polygon, &inflated, clearance);
        }
    }

    #[test]
    fn round_joins_stay_within_the_arc_tolerance(raw in ring(9), clearance in 0.01..3.0f64) {
        let polygon = Polygon::from_ring("", &integer_points(&raw), &exact()).unwrap().polygons.remove(0);
        let join = Join::Round { arc_tolerance: Some(0.01) };
        let inflated = inflate(&polygon, clearance, &join).unwrap();
        for v in inflated.rings().flatten() {
            prop_assert!(polygon.boundary_distance(v) <= clearance + 0.01 + 1e-7);
        }
    }

    #[test]
    fn far_from_the_origin(raw in ring(9), clearance in 0.001..2.0f64, scale in prop::sample::select(vec![1e-3, 1.0])) {
        let moved: Vec<_> = integer_points(&raw)
            .iter()
            .map(|v| p(1e6 + v.x * scale, -1e6 + v.y * scale))
            .collect();
        let Ok(mut read) = Polygon::from_ring("", &moved, &exact()) else { return Ok(()) };
        let polygon = read.polygons.remove(0);
        let clearance = clearance * scale;
        for join in joins() {
            let inflated = inflate(&polygon, clearance, &join).unwrap();
            keeps_clearance(&polygon, &inflated, clearance);
        }
    }

    #[test]
    fn deflated_boundaries_keep_their_distance(raw in ring(9), clearance in 0.001..1.5f64) {
        let boundary = Polygon::from_ring("", &integer_points(&raw), &exact()).unwrap().polygons.remove(0);
        match deflate(&boundary, clearance, &Join::default()) {
            Ok(parts) => for part in parts {
                part.sanity_check().unwrap();
                for (a, b) in part.edges() {
                    let middle = nalgebra::center(&a, &b);
                    for q in [a, middle] {
                        prop_assert_eq!(boundary.locate(&q), Side::Inside);
                        prop_assert!(boundary.boundary_distance(&q) >= clearance);
                    }
                }
            },
            Err(error) => prop_assert_eq!(error, OffsetError::NothingLeft { clearance }),
        }
    }
}

fn read(raw: &[[f64; 2]]) -> Polygon {
    Polygon::from_ring("", &points(raw), &exact())
        .unwrap()
        .polygons
        .remove(0)
}

#[test]
fn bays_close_into_holes_and_holes_vanish() {
    // A room of 8 by 8 with a door one wide.
    let room = read(&[
        [0.0, 0.0],
        [10.0, 0.0],
        [10.0, 10.0],
        [0.0, 10.0],
        [0.0, 6.0],
        [1.0, 6.0],
        [1.0, 9.0],
        [9.0, 9.0],
        [9.0, 1.0],
        [1.0, 1.0],
        [1.0, 5.0],
        [0.0, 5.0],
    ]);
    let open = inflate(&room, 0.4, &Join::default()).unwrap();
    assert!(open.holes().is_empty());
    let closed = inflate(&room, 0.6, &Join::default()).unwrap();
    assert_eq!(closed.holes().len(), 1);
    let full = inflate(&room, 4.1, &Join::default()).unwrap();
    assert!(full.holes().is_empty());
    keeps_clearance(&room, &closed, 0.6);
}

#[test]
fn neighbours_merge() {
    let squares = [
        read(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]),
        read(&[[1.5, 0.0], [2.5, 0.0], [2.5, 1.0], [1.5, 1.0]]),
    ];
    assert_eq!(
        inflate_all(&squares, 0.2, &Join::default()).unwrap().len(),
        2
    );
    assert_eq!(
        inflate_all(&squares, 0.3, &Join::default()).unwrap().len(),
        1
    );
    let same = inflate_all(&squares, 0.0, &Join::default()).unwrap();
    assert_eq!(same.iter().map(Polygon::area).sum::<f64>(), 2.0);
    assert!(same
        .iter()
        .zip(&squares)
        .all(|(a, b)| a.outer().iter().all(|v| b.outer().contains(v))));
    assert!(inflate_all(&[], 0.3, &Join::default()).unwrap().is_empty());
}

#[test]
fn walls_of_spikes_are_inflated_too() {
    let spiked = read(&[
        [0.0, 0.0],
        [4.0, 0.0],
        [4.0, 2.0],
        [8.0, 2.0],
        [4.0, 2.0],
        [4.0, 4.0],
        [0.0, 4.0],
    ]);
    for join in joins() {
        let inflated = inflate(&spiked, 0.5, &join).unwrap();
        keeps_clearance(&spiked, &inflated, 0.5);
        assert_eq!(inflated.locate(&p(8.4, 2.0)), Side::Inside);
    }
}

#[test]
fn bad_numbers_are_refused() {
    let square = read(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]);
    for clearance in [-1.0, f64::NAN, f64::INFINITY, 1e9] {
        assert!(matches!(
            inflate(&square, clearance, &Join::default()),
            Err(OffsetError::InvalidClearance { .. })
        ));
    }
    for join in [
        Join::Round {
            arc_tolerance: Some(0.0),
        },
        Join::Round {
            arc_tolerance: Some(f64::NAN),
        },
        Join::Mitre { limit: -1.0 },
    ] {
        assert!(matches!(
            inflate(&square, 1.0, &join),
            Err(OffsetError::InvalidJoin { .. })
        ));
    }
    assert!(matches!(
        deflate(&square, 0.6, &Join::default()),
        Err(OffsetError::NothingLeft { .. })
    ));
}
