//! First checks.
use arm_planner::planar::*;
use arm_planner::roadmap::*;
use nalgebra::Point2;
use std::sync::Arc;

fn square(id: &str, x: f64, y: f64, s: f64) -> Obstacle {
    let pts = [(x, y), (x + s, y), (x + s, y + s), (x, y + s)].map(|(x, y)| Point2::new(x, y));
    Obstacle {
        id: id.into(),
        polygon: Polygon::from_points(&pts).unwrap(),
    }
}

#[test]
fn touching_squares() {
    for (contact, corner, edge) in [
        (Contact::Blocked, 14.32455532033676, 12.94427190999916),
        (Contact::Passable, 8.48528137423857, 8.0),
    ] {
        for name in ["visibility_naive", "visibility_sweep"] {
            let o = WorldOptions {
                contact,
                ..Default::default()
            };
            let w = PlanarWorld::build(
                vec![square("a", 0.0, 0.0, 4.0), square("b", 4.0, 4.0, 4.0)],
                None,
                &o,
            )
            .unwrap();
            w.sanity_check().unwrap();
            let m = build_roadmap(name, Arc::new(w)).unwrap();
            let r = m
                .shortest_path(&Point2::new(1.0, 7.0), &Point2::new(7.0, 1.0))
                .unwrap();
            assert!((r.length - corner).abs() < 1e-9, "{r:?}");
            let w = PlanarWorld::build(
                vec![square("a", 0.0, 0.0, 4.0), square("b", 4.0, 0.0, 4.0)],
                None,
                &o,
            )
            .unwrap();
            w.sanity_check().unwrap();
            let m = build_roadmap(name, Arc::new(w)).unwrap();
            let r = m
                .shortest_path(&Point2::new(4.0, -2.0), &Point2::new(4.0, 6.0))
                .unwrap();
            assert!((r.length - edge).abs() < 1e-9, "{r:?}");
        }
    }
}
