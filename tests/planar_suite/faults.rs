//! Obstacle messages after public reports: each is refused with one clear error or accepted
//! with its full extent, never dropped or shrunk in silence.

use arm_planner::planar::{
    Contact, Obstacle, Polygon, PolygonError, PolygonOptions, Repair, WorldOptions,
};

use crate::common::{p, points, roadmap, world, world_with};

fn read(raw: &[[f64; 2]]) -> Result<(Vec<Obstacle>, Vec<Repair>), PolygonError> {
    Obstacle::from_ring("shelf", &points(raw), &PolygonOptions::default())
}

fn refused(raw: &[[f64; 2]]) -> PolygonError {
    let error = read(raw).unwrap_err();
    assert!(error.to_string().contains("'shelf'"), "{error}");
    error
}

const SQUARE: [[f64; 2]; 4] = [[0.3, -0.1], [0.5, -0.1], [0.5, 0.1], [0.3, 0.1]];

#[test]
fn degenerate_empty() {
    assert!(matches!(
        refused(&[]),
        PolygonError::TooFewCorners {
            sent: 0,
            distinct: 0,
            ..
        }
    ));
}

#[test]
fn degenerate_one() {
    assert!(matches!(
        refused(&[[0.4, 0.2]]),
        PolygonError::TooFewCorners { distinct: 1, .. }
    ));
}

#[test]
fn degenerate_two() {
    let error = refused(&[[0.4, -0.2], [0.4, 0.2]]);
    assert!(matches!(
        error,
        PolygonError::TooFewCorners { distinct: 2, .. }
    ));
}

#[test]
fn degenerate_collinear() {
    let error = refused(&[[0.4, -0.2], [0.4, 0.0], [0.4, 0.2]]);
    assert!(matches!(error, PolygonError::ZeroArea { vertex: 0, .. }));
    assert!(error.to_string().contains("thickness"));
}

#[test]
fn degenerate_same_point() {
    let error = refused(&[[0.4, 0.2]; 4]);
    assert!(matches!(
        error,
        PolygonError::TooFewCorners {
            sent: 4,
            distinct: 1,
            ..
        }
    ));
}

#[test]
fn degenerate_two_plus_closing() {
    let error = refused(&[[0.4, -0.2], [0.4, 0.2], [0.4, -0.2]]);
    assert!(matches!(
        error,
        PolygonError::TooFewCorners {
            sent: 3,
            distinct: 2,
            ..
        }
    ));
}

#[test]
fn degenerate_sliver_is_kept_and_blocks() {
    let (obstacles, repairs) = read(&[[0.4, -0.2], [0.4, 0.2], [0.400_000_001, 0.0]]).unwrap();
    assert!(
        repairs.iter().all(|r| *r == Repair::Reversed),
        "{repairs:?}"
    );
    assert!((obstacles[0].polygon.area() - 2e-10).abs() < 1e-16);
    for clearance in [0.0, 0.05] {
        let options = WorldOptions {
            clearance,
            ..WorldOptions::default()
        };
        let world = world_with(obstacles.clone(), None, &options);
        assert!(!world.segment_is_free(&p(0.2, 0.0), &p(0.6, 0.0)));
        let route = roadmap("visibility_graph", &world)
            .shortest_path(&p(0.2, 0.0), &p(0.6, 0.0))
            .unwrap();
        assert!(route.length > 0.5);
    }
}

#[test]
fn nan_x() {
    let mut ring = SQUARE;
    ring[1][0] = f64::NAN;
    assert!(matches!(
        refused(&ring),
        PolygonError::NotFinite { vertex: 1, .. }
    ));
}

#[test]
fn inf() {
    let mut ring = SQUARE;
    ring[1][0] = f64::INFINITY;
    let error = refused(&ring);
    assert!(matches!(error, PolygonError::NotFinite { vertex: 1, .. }));
    assert!(error.to_string().contains("vertex 1") && error.to_string().contains("inf"));
}

#[test]
fn all_nan() {
    assert!(matches!(
        refused(&[[f64::NAN; 2]; 4]),
        PolygonError::NotFinite { vertex: 0, .. }
    ));
}

#[test]
fn max_float() {
    let mut ring = SQUARE;
    ring[1][0] = f64::from(f32::MAX);
    let error = refused(&ring);
    assert!(matches!(error, PolygonError::TooLarge { vertex: 1, .. }));
    assert!(error.to_string().contains("out of range"));
}

#[test]
fn float32_goal_at_the_clearance_is_accepted() {
    let received = SQUARE.map(|c| c.map(|v| f64::from(v as f32)));
    let (obstacles, _) = read(&received).unwrap();
    assert!((obstacles[0].polygon.area() - 0.039_999_998_211_860_62).abs() < 1e-15);
    let options = WorldOptions {
        clearance: 0.05,
        snap_tolerance: 1e-6,
        ..WorldOptions::default()
    };
    let world = world_with(obstacles, None, &options);
    let goal = p(0.25, 0.0);
    let route = roadmap("visibility_graph", &world)
        .shortest_path(&p(0.0, 0.0), &goal)
        .unwrap();
    assert!((route.length - 0.25).abs() < 1e-6);
    let (distance, id) = world.distance_to_obstacles(&goal).unwrap();
    assert!((distance - 0.050_000_011_920_928_955).abs() < 1e-16 && id == "shelf");
    // The same on the other side, where rounding made the distance too small.
    let goal = p(0.55 - 1e-8, 0.0);
    roadmap("visibility_graph", &world)
        .shortest_path(&p(0.8, 0.0), &goal)
        .unwrap();
}

#[test]
fn float32_closing_point_is_dropped_by_tolerance() {
    let mut ring: Vec<[f64; 2]> = SQUARE
        .iter()
        .map(|c| c.map(|v| f64::from(v as f32)))
        .collect();
    ring.push([0.3, -0.1]);
    let (obstacles, repairs) = read(&ring).unwrap();
    assert_eq!(obstacles[0].polygon.outer().len(), 4);
    assert_eq!(repairs, [Repair::ClosingVertex { vertex: 4 }]);
}

#[test]
fn far_away_and_tiny_obstacles_keep_their_shape() {
    let (x, y) = (1e6, -1e6);
    let ring = [[x, y], [x + 1e-3, y], [x + 1e-3, y + 1e-3], [x, y + 1e-3]];
    let (obstacles, repairs) = read(&ring).unwrap();
    assert!(repairs.is_empty());
    assert!((obstacles[0].polygon.area() - 1e-6).abs() < 1e-12);
    for contact in crate::common::CONTACTS {
        let world = world(obstacles.clone(), None, contact);
        let (a, b) = (p(x - 1e-3, y + 5e-4), p(x + 2e-3, y + 5e-4));
        assert!(!world.segment_is_free(&a, &b));
        let route = roadmap("visibility_graph", &world)
            .shortest_path(&a, &b)
            .unwrap();
        assert_eq!(route.points.len(), 4);
    }
    let options = WorldOptions {
        clearance: 1e-3,
        ..WorldOptions::default()
    };
    let world = world_with(obstacles, None, &options);
    let (a, b) = (p(x - 3e-3, y + 5e-4), p(x + 4e-3, y + 5e-4));
    let route = roadmap("visibility_graph", &world)
        .shortest_path(&a, &b)
        .unwrap();
    assert!(world.clearance_of_path(&route.points).unwrap().distance >= 1e-3);
}

#[test]
fn a_refused_ring_leaves_no_part_behind() {
    // Dropping the bad corner would leave a triangle of half the area.
    let mut ring = SQUARE;
    ring[2] = [f64::NAN, f64::NAN];
    assert!(Polygon::from_ring("shelf", &points(&ring), &PolygonOptions::default()).is_err());
    let _ = Contact::Blocked;
}
