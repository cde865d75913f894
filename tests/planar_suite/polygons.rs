//! Reading rings, and hulls.

use arm_planner::planar::convex_hull::{convex_hull, convex_hull_gift_wrapping};
use arm_planner::planar::{Polygon, PolygonError, PolygonOptions, Repair, SelfCrossing};
use proptest::prelude::*;

use crate::common::{config, exact, integer_points, p, points, ring, P};

fn resolve() -> PolygonOptions {
    PolygonOptions {
        self_crossing: SelfCrossing::Resolve,
        ..exact()
    }
}

fn one(raw: &[[f64; 2]]) -> (Polygon, Vec<Repair>) {
    let mut repaired = Polygon::from_ring("ring", &points(raw), &exact()).unwrap();
    assert_eq!(repaired.polygons.len(), 1);
    let polygon = repaired.polygons.remove(0);
    polygon.sanity_check().unwrap();
    (polygon, repaired.repairs)
}

const SQUARE: [[f64; 2]; 4] = [[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]];

#[test]
fn a_plain_ring_is_left_alone() {
    let (polygon, repairs) = one(&SQUARE);
    assert_eq!(polygon.outer(), points(&SQUARE));
    assert!(repairs.is_empty());
}

#[test]
fn either_winding() {
    let mut ring = SQUARE;
    ring.reverse();
    let (polygon, repairs) = one(&ring);
    assert_eq!(polygon.outer(), points(&SQUARE));
    assert_eq!(repairs, [Repair::Reversed]);
}

#[test]
fn repeated_closing_and_collinear_vertices() {
    let ring = [
        [0.0, 0.0],
        [2.0, 0.0],
        [4.0, 0.0],
        [4.0, 0.0],
        [4.0, 4.0],
        [0.0, 4.0],
        [0.0, 1.0],
        [0.0, 0.0],
    ];
    let (polygon, mut repairs) = one(&ring);
    assert_eq!(polygon.outer(), points(&SQUARE));
    repairs.sort_by_key(|r| format!("{r:?}"));
    assert_eq!(
        repairs,
        [
            Repair::ClosingVertex { vertex: 7 },
            Repair::CollinearVertex { vertex: 1 },
            Repair::CollinearVertex { vertex: 6 },
            Repair::RepeatedVertex { vertex: 3 },
        ]
    );
}

#[test]
fn spikes_become_walls() {
    // Outward, with a bend in it.
    let ring = [
        [0.0, 0.0],
        [4.0, 0.0],
        [4.0, 2.0],
        [6.0, 2.0],
        [6.0, 5.0],
        [6.0, 2.0],
        [4.0, 2.0],
        [4.0, 4.0],
        [0.0, 4.0],
    ];
    let (polygon, repairs) = one(&ring);
    assert_eq!(polygon.outer(), points(&SQUARE));
    assert_eq!(
        polygon.walls(),
        [[p(6.0, 2.0), p(6.0, 5.0)], [p(4.0, 2.0), p(6.0, 2.0)]]
    );
    assert!(
        repairs.contains(&Repair::Spike {
            vertex: 4,
            length: 3.0
        }),
        "{repairs:?}"
    );
    // Where it starts at a corner, and where it is the ring's first vertex.
    for shift in 0..5 {
        let mut ring = vec![[0.0, 0.0], [6.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]];
        ring.rotate_left(shift);
        let (polygon, _) = one(&ring);
        assert_eq!(polygon.area(), 16.0);
        assert_eq!(polygon.walls(), [[p(4.0, 0.0), p(6.0, 0.0)]]);
    }
}

#[test]
fn crossing_is_refused_with_its_place_or_resolved() {
    let bow_tie = points(&[[0.0, 0.0], [4.0, 4.0], [4.0, 0.0], [0.0, 4.0]]);
    match Polygon::from_ring("tie", &bow_tie, &exact()) {
        Err(PolygonError::SelfCrossing {
            id,
            first,
            second,
            at,
        }) => {
            assert_eq!((id.as_str(), first, second, at), ("tie", 0, 2, p(2.0, 2.0)));
        }
        other => panic!("{other:?}"),
    }
    let repaired = Polygon::from_ring("tie", &bow_tie, &resolve()).unwrap();
    assert_eq!(repaired.repairs, [Repair::Resolved { parts: 2 }]);
    let area: f64 = repaired.polygons.iter().map(Polygon::area).sum();
    assert!((area - 8.0).abs() < 1e-12);
    for polygon in &repaired.polygons {
        polygon.sanity_check().unwrap();
        // Vertices that were only passed through are the ones that were sent.
        assert!(
            polygon
                .outer()
                .iter()
                .filter(|v| bow_tie.contains(v))
                .count()
                == 2
        );
    }
}

#[test]
fn a_pentagram_resolves_to_its_full_star() {
    let star: Vec<P> = (0..5)
        .map(|k| f64::from(k) * 4.0 * std::f64::consts::PI / 5.0)
        .map(|a| p(a.cos(), a.sin()))
        .collect();
    let repaired = Polygon::from_ring("star", &star, &resolve()).unwrap();
    assert_eq!(repaired.polygons.len(), 1);
    let polygon = &repaired.polygons[0];
    polygon.sanity_check().unwrap();
    assert_eq!((polygon.outer().len(), polygon.holes().len()), (10, 0));
    assert_eq!(
        polygon.locate(&p(0.0, 0.0)),
        arm_planner::planar::predicates::Side::Inside
    );
}

#[test]
fn touching_itself_is_told_from_crossing() {
    // A vertex that touches the opposite edge.
    let ring = points(&[[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [2.0, 0.0], [0.0, 4.0]]);
    assert!(matches!(
        Polygon::from_ring("r", &ring, &exact()),
        Err(PolygonError::SelfTouching {
            first: 0,
            second: 2,
            ..
        })
    ));
    let repaired = Polygon::from_ring("r", &ring, &resolve()).unwrap();
    let area: f64 = repaired.polygons.iter().map(Polygon::area).sum();
    assert!((area - 8.0).abs() < 1e-12);
}

#[test]
fn thousands_of_nearly_collinear_points() {
    // A long, flat arc: every turn is real although tiny.
    let n = 4000;
    let mut ring: Vec<P> = (0..=n)
        .map(|k| f64::from(k) / f64::from(n))
        .map(|t| p(t, 1e-9 * t * (t - 1.0)))
        .collect();
    ring.push(p(0.5, 1.0));
    let repaired = Polygon::from_ring("arc", &ring, &exact()).unwrap();
    repaired.polygons[0].sanity_check().unwrap();
    let kept = repaired.polygons[0].outer().len();
    let dropped = repaired.repairs.len();
    assert_eq!(kept + dropped, ring.len());
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn any_ring_is_read_or_refused(
        raw in prop::collection::vec([-3i32..4, -3i32..4], 0..12),
        tolerance in prop::sample::select(vec![0.0, 1e-6, 1.5]),
    ) {
        let ring = integer_points(&raw);
        for self_crossing in [SelfCrossing::Refuse, SelfCrossing::Resolve] {
            let options = PolygonOptions { merge_tolerance: tolerance, self_crossing };
            if let Ok(repaired) = Polygon::from_ring("any", &ring, &options) {
                prop_assert!(!repaired.polygons.is_empty());
                for polygon in &repaired.polygons {
                    prop_assert_eq!(polygon.sanity_check(), Ok(()));
                    prop_assert!(polygon.area() > 0.0);
                }
            }
        }
    }

    #[test]
    fn winding_start_and_repetitions_do_not_matter(
        raw in ring(8), shift in 0usize..6, reverse: bool, repeat in 0usize..6,
    ) {
        let plain = Polygon::from_ring("", &integer_points(&raw), &exact()).unwrap().polygons.remove(0);
        let mut other = raw.clone();
        let n = other.len();
        other.rotate_left(shift % n);
        if reverse {
            other.reverse();
        }
        other.insert(repeat % n, other[repeat % n]);
        other.push(other[0]);
        let other = Polygon::from_ring("", &integer_points(&other), &exact()).unwrap().polygons.remove(0);
        prop_assert_eq!(plain.area(), other.area());
        let mut turned = other.outer().to_vec();
        let first = turned.iter().position(|v| *v == plain.outer()[0]).unwrap();
        turned.rotate_left(first);
        prop_assert_eq!(plain.outer(), turned);
    }

    #[test]
    fn hulls_agree(raw in prop::collection::vec([-5i32..6, -5i32..6], 0..30)) {
        let set = integer_points(&raw);
        let hull = convex_hull(&set);
        prop_assert_eq!(&hull, &convex_hull_gift_wrapping(&set));
        if hull.len() > 2 {
            let polygon = Polygon::from_points(&hull).unwrap();
            prop_assert_eq!(polygon.outer().len(), hull.len());
            for q in &set {
                prop_assert!(polygon.locate(q) != arm_planner::planar::predicates::Side::Outside);
            }
        }
    }

    #[test]
    fn hulls_agree_on_reals(raw in prop::collection::vec([-1e3..1e3, -1e3..1e3f64], 0..60)) {
        let set = points(&raw);
        prop_assert_eq!(convex_hull(&set), convex_hull_gift_wrapping(&set));
    }
}

#[test]
fn hulls_of_hardly_anything() {
    assert!(convex_hull(&[]).is_empty());
    assert_eq!(convex_hull(&[p(1.0, 1.0); 3]), [p(1.0, 1.0)]);
    let line = [p(2.0, 2.0), p(0.0, 0.0), p(1.0, 1.0)];
    assert_eq!(convex_hull(&line), [p(0.0, 0.0), p(2.0, 2.0)]);
    assert_eq!(convex_hull_gift_wrapping(&line), [p(0.0, 0.0), p(2.0, 2.0)]);
    assert_eq!(convex_hull(&[p(f64::NAN, 0.0), p(0.0, f64::INFINITY)]), []);
}
