use super::*;
use nalgebra::Vector2;
use proptest::prelude::*;

fn pose(x: f64, y: f64, z: f64, yaw: f64) -> Pose {
    Pose::from_parts(
        Vector3::new(x, y, z).into(),
        UnitQuaternion::from_euler_angles(0.0, 0.0, yaw),
    )
}

fn path(points: &[[f64; 2]], radius: f64, heights: (f64, f64)) -> TipPath {
    let points: Vec<Point2<f64>> = points.iter().map(|p| Point2::new(p[0], p[1])).collect();
    let (first, last) = (points[0], points[points.len() - 1]);
    TipPath::new(
        &Pose::identity(),
        &points,
        radius,
        pose(first.x, first.y, heights.0, 0.0),
        pose(last.x, last.y, heights.1, 1.0),
    )
}

#[test]
fn a_straight_path_interpolates_everything() {
    let path = path(&[[0.0, 0.0], [0.3, 0.4]], 0.1, (0.0, 0.0));
    assert!((path.length() - 0.5).abs() < 1e-12);
    let middle = path.pose(0.5);
    assert!((middle.translation.vector - Vector3::new(0.15, 0.2, 0.0)).norm() < 1e-12);
    assert!((middle.rotation.angle() - 0.5).abs() < 1e-12);
    assert_eq!(path.samples(0.1, 10.0).0.len(), 6);
}

#[test]
fn a_corner_becomes_an_arc_of_the_radius() {
    let path = path(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], 0.2, (0.0, 0.0));
    let expected = 1.6 + 0.2 * std::f64::consts::FRAC_PI_2;
    assert!((path.length() - expected).abs() < 1e-12);
    let middle = path.pose(0.5).translation.vector.xy();
    let corner_gap = (middle - Vector2::new(0.8, 0.2)).norm();
    assert!((corner_gap - 0.2).abs() < 1e-12);
    assert_eq!(path.samples(0.05, 1.0).1, Vec::<usize>::new());
}

#[test]
fn without_a_radius_corners_are_stops() {
    let path = path(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], 0.0, (0.0, 0.0));
    let (fractions, stops) = path.samples(0.1, 10.0);
    assert_eq!(stops.len(), 1);
    assert!((fractions[stops[0]] - 0.5).abs() < 1e-12);
}

#[test]
fn paths_flow_into_each_other_only_straight_on() {
    let first = path(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], 0.2, (0.0, 0.0));
    let turn = first.turn / first.length();
    let next = |to: [f64; 2], height: f64| {
        let mut next = path(&[[1.0, 1.0], to], 0.2, (0.0, height));
        next.turn = turn * next.length();
        next
    };
    assert!(first.flows_into(&next([1.0, 1.5], 0.0)));
    assert!(!first.flows_into(&next([1.1, 1.5], 0.0)));
    assert!(!first.flows_into(&next([1.0, 1.5], 0.1)));
    assert!(!first.flows_into(&next([1.0, 0.5], 0.0)));
    let mut turning = next([1.0, 1.5], 0.0);
    turning.turn *= 2.0;
    assert!(!first.flows_into(&turning));
    let upwards = path(&[[1.0, 1.0]], 0.2, (0.0, 0.5));
    assert!(!first.flows_into(&upwards) && !upwards.flows_into(&first));
}

#[test]
fn a_goal_above_the_start_needs_no_route() {
    let point = [[0.2, 0.1]];
    let path = path(&point, 0.1, (0.0, 0.3));
    assert!((path.length() - 0.3).abs() < 1e-12);
    assert!((path.pose(0.5).translation.z - 0.15).abs() < 1e-12);
    assert!(path.samples(0.1, 10.0).0.len() >= 4);
}

#[test]
fn up_over_and_down_has_a_continuous_tangent_in_any_plane() {
    let plane = Pose::from_parts(
        Vector3::new(0.3, -0.2, 0.5).into(),
        UnitQuaternion::from_euler_angles(0.4, -0.3, 1.1),
    );
    let at = |x: f64, y: f64, z: f64| plane * pose(x, y, z, 0.0);
    let route = [[0.0, 0.0], [0.4, 0.0], [0.4, 0.3]].map(|[x, y]| Point2::new(x, y));
    let (start, goal) = (at(0.0, 0.0, 0.1), at(0.4, 0.3, 0.2));
    let path = TipPath::over(&plane, &route, 0.5, 0.05, start, goal);
    // Three right angles, each an arc instead of two legs.
    let saved = 3.0 * 0.05 * (2.0 - std::f64::consts::FRAC_PI_2);
    assert!((path.length() - (0.4 + 0.7 + 0.3 - saved)).abs() < 1e-12);
    assert_eq!(path.samples(0.01, 0.1).1, Vec::<usize>::new());
    let point = |k: usize| path.pose(f64::from(k as u32) / 4000.0).translation.vector;
    let way = |k: usize| (point(k + 1) - point(k)).normalize();
    for k in 0..3999 {
        assert!(way(k).angle(&way(k + 1)) < 0.02, "a kink at {k}");
        let height = plane.inverse_transform_point(&point(k).into()).z;
        assert!((0.1 - 1e-9..=0.5 + 1e-9).contains(&height));
    }
    let middle = plane.inverse_transform_point(&path.pose(0.5).translation.vector.into());
    assert!((middle.z - 0.5).abs() < 1e-12);
    let sharp = TipPath::over(&plane, &route, 0.5, 0.0, start, goal);
    assert_eq!(sharp.samples(0.01, 0.1).1.len(), 3, "corners are stops");
}

#[test]
fn height_changes_evenly_along_a_rounded_way() {
    let path = path(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], 0.2, (0.1, 0.9));
    for k in 0..=100 {
        let u = f64::from(k) / 100.0;
        assert!((path.pose(u).translation.z - (0.1 + 0.8 * u)).abs() < 1e-12);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Continuous position, continuous tangent where no stop is, never longer than the route,
    /// never further from it than a fillet's corner, samples strictly rising.
    #[test]
    fn rounding_keeps_to_the_route(
        points in prop::collection::vec((-1.0..1.0_f64, -1.0..1.0_f64), 2..8),
        radius in prop_oneof![Just(0.0), 0.001..0.5_f64],
    ) {
        let points: Vec<[f64; 2]> = points.into_iter().map(|(x, y)| [x, y]).collect();
        let route: f64 = points.windows(2).map(|w| (w[1][0] - w[0][0]).hypot(w[1][1] - w[0][1])).sum();
        let path = path(&points, radius, (0.0, 0.0));
        prop_assert!(path.length() <= route * (1.0 + 1e-12) + 1e-12);
        let (fractions, stops) = path.samples(0.01, 0.1);
        prop_assert!(fractions.windows(2).all(|w| w[0] < w[1]));
        prop_assert_eq!(fractions[0], 0.0);
        prop_assert_eq!(fractions[fractions.len() - 1], 1.0);
        prop_assert!(stops.iter().all(|stop| *stop > 0 && *stop < fractions.len() - 1));
        let count = 2000;
        let at = |k: usize| path.pose(k as f64 / count as f64).translation.vector.xy();
        let spacing = path.length() / count as f64;
        for k in 0..count {
            let step = (at(k + 1) - at(k)).norm();
            prop_assert!(step <= spacing * (1.0 + 1e-9) + 1e-12, "gap of {} at {}", step, k);
        }
        for (before, after) in path.pieces.iter().zip(path.pieces.iter().skip(1)) {
            let gap = (before.at(before.length()) - after.at(0.0)).norm();
            prop_assert!(gap < 1e-9, "pieces do not meet: {}", gap);
        }
    }
}
