//! Road maps on random worlds: fast against slow, both against an independent oracle.

use arm_planner::planar::{Contact, Location, Obstacle, Polygon, WorldOptions};
use arm_planner::roadmap::search::Search;
use arm_planner::roadmap::{
    build_roadmap, End, Roadmap, RouteError, TrapezoidalRoadmap, VisibilityGraph,
};
use proptest::prelude::*;

use crate::common::{
    check_answers, check_route, config, integer_world, obstacle, p, ring, roadmap, roadmaps,
    same_edges, world, world_with, CONTACTS, OPTIMAL, P,
};
use crate::oracle;

const GRID: i32 = 9;

fn cells(rings: &[Vec<[i32; 2]>]) -> Vec<Vec<oracle::Cell>> {
    rings
        .iter()
        .map(|r| r.iter().map(|c| c.map(i64::from)).collect())
        .collect()
}

fn options(contact: Contact) -> WorldOptions {
    WorldOptions {
        contact,
        ..WorldOptions::default()
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn sweep_and_naive_agree_on_grids(rings in prop::collection::vec(ring(GRID), 1..7)) {
        for contact in CONTACTS {
            same_edges(&integer_world(&rings, &options(contact)));
        }
    }

    /// The clipping library as the judge of what was merged.
    #[test]
    fn outlines_enclose_the_union(
        rings in prop::collection::vec(ring(GRID), 1..8),
        clearance in prop::sample::select(vec![0.0, 0.2, 0.5]),
    ) {
        use arm_planner::planar::offset::inflate_all;
        use arm_planner::planar::polygon::signed_area;
        let options = WorldOptions { clearance, ..WorldOptions::default() };
        let world = integer_world(&rings, &options);
        let polygons: Vec<Polygon> = world.obstacles().iter().map(|o| o.polygon.clone()).collect();
        let union = inflate_all(&polygons, clearance, &options.join).unwrap();
        let expected: f64 = union.iter().map(Polygon::area).sum();
        let area: f64 = world.outlines().iter().map(|o| signed_area(&o.ring)).sum();
        prop_assert!((area - expected).abs() < 1e-9, "{area} instead of {expected}");
    }

    #[test]
    fn sweep_and_naive_agree_with_clearance(
        rings in prop::collection::vec(ring(GRID), 1..4),
        clearance in 0.01..0.7,
    ) {
        let options = WorldOptions {
            clearance,
            join: arm_planner::planar::Join::Mitre { limit: 1.3 },
            ..WorldOptions::default()
        };
        same_edges(&integer_world(&rings, &options));
    }

    #[test]
    fn lengths_agree_with_the_integer_oracle(
        rings in prop::collection::vec(ring(GRID), 1..6),
        ends in [[-1..GRID + 5, -1..GRID + 5], [-1..GRID + 5, -1..GRID + 5]],
    ) {
        let rings_exact = cells(&rings);
        let [a, b] = ends.map(|e| e.map(i64::from));
        let [start, goal] = ends.map(|e| p(f64::from(e[0]), f64::from(e[1])));
        let world = integer_world(&rings, &options(Contact::Passable));
        for (cell, point) in [(a, start), (b, goal)] {
            let free = world.locate(&point).is_free();
            if free != oracle::point_is_free(cell, &rings_exact) {
                // Only a boundary point that every direction from leads into an interior.
                prop_assert!(!free);
                let other = if cell == a { b } else { a };
                prop_assert!(cell == other || oracle::shortest(cell, other, &rings_exact).is_none());
                return Ok(());
            }
        }
        if !oracle::point_is_free(a, &rings_exact) || !oracle::point_is_free(b, &rings_exact) {
            return Ok(());
        }
        prop_assert_eq!(
            oracle::segment_is_free(a, b, &rings_exact),
            world.segment_is_free(&start, &goal)
        );
        let expected = oracle::shortest(a, b, &rings_exact);
        for name in OPTIMAL {
            match (roadmap(name, &world).shortest_path(&start, &goal), expected) {
                (Ok(route), Some(length)) => {
                    check_route(&world, &route, &start, &goal);
                    prop_assert!((route.length - length).abs() <= 1e-9 * length.max(1.0),
                        "{name}: {} instead of {length}: {:?}", route.length, route.points);
                    for leg in route.points.windows(2) {
                        let [u, v] = [leg[0], leg[1]].map(|q| [q.x as i64, q.y as i64]);
                        prop_assert!(oracle::segment_is_free(u, v, &rings_exact), "leg {leg:?}");
                    }
                }
                (Err(RouteError::NoPath { by, .. }), None) => prop_assert!(!by.is_empty()),
                (answer, length) => prop_assert!(false, "{name}: {answer:?} instead of {length:?}"),
            }
        }
    }

    /// Where contact blocks, the answer is the limit of ever smaller inflation. On the grid no
    /// gap but a contact is narrower than the inflation taken here.
    #[test]
    fn blocked_contact_is_the_limit_of_inflation(
        rings in prop::collection::vec(ring(GRID), 1..6),
        ends in [[-1..GRID + 5, -1..GRID + 5], [-1..GRID + 5, -1..GRID + 5]],
    ) {
        let [start, goal] = ends.map(|e| p(f64::from(e[0]), f64::from(e[1])));
        let blocked = integer_world(&rings, &options(Contact::Blocked));
        let grown = WorldOptions {
            clearance: 1e-7,
            join: arm_planner::planar::Join::Mitre { limit: 2.0 },
            ..WorldOptions::default()
        };
        let inflated = integer_world(&rings, &grown);
        if [start, goal].iter().any(|q| blocked.locate(q) != Location::Free) {
            return Ok(());
        }
        let limit = roadmap("visibility_naive", &inflated).shortest_path(&start, &goal);
        for name in OPTIMAL {
            let answer = roadmap(name, &blocked).shortest_path(&start, &goal);
            match (&answer, &limit) {
                (Ok(route), Ok(limit)) => {
                    check_route(&blocked, route, &start, &goal);
                    prop_assert!((route.length - limit.length).abs() <= 1e-4,
                        "{name}: {:?} instead of {:?}", route.points, limit.points);
                }
                (Err(RouteError::NoPath { .. }), Err(RouteError::NoPath { .. })) => {}
                other => prop_assert!(false, "{name}: {other:?}"),
            }
        }
    }

    #[test]
    fn trapezoidal_routes_are_free_and_exist_when_there_is_a_way(
        rings in prop::collection::vec(ring(14), 1..12),
        ends in [[-1..20, -1..20], [-1..20, -1..20]],
        clearance in prop::sample::select(vec![0.0, 0.1]),
        contact in prop::sample::select(CONTACTS.to_vec()),
        bounded: bool,
    ) {
        let [start, goal] = ends.map(|e| p(f64::from(e[0]), f64::from(e[1])));
        let options = WorldOptions { clearance, contact, ..WorldOptions::default() };
        let plain = integer_world(&rings, &options);
        let boundary = Polygon::from_points(&[p(-2.0, -2.0), p(21.0, -3.0), p(22.0, 20.0), p(-3.0, 21.0)]).unwrap();
        let world = if bounded {
            world_with(plain.obstacles().to_vec(), Some(boundary), &options)
        } else {
            plain
        };
        let map = TrapezoidalRoadmap::new(world.clone(), &|| false).unwrap();
        map.sanity_check().unwrap();
        let maps: Vec<Box<dyn Roadmap>> = vec![Box::new(map), roadmap("visibility_graph", &world)];
        check_answers(&maps, &start, &goal);
    }

    #[test]
    fn optimal_road_maps_agree_with_clearance(
        rings in prop::collection::vec(ring(14), 2..8),
        ends in prop::collection::vec([[-2.0..20.0f64, -2.0..20.0f64], [-2.0..20.0f64, -2.0..20.0f64]], 4),
        clearance in 0.0..1.0f64,
        contact in prop::sample::select(CONTACTS.to_vec()),
    ) {
        let options = WorldOptions { clearance, contact, ..WorldOptions::default() };
        let world = integer_world(&rings, &options);
        let maps = roadmaps(&world, &[]);
        for [start, goal] in ends {
            let (start, goal) = (p(start[0], start[1]), p(goal[0], goal[1]));
            if check_answers(&maps, &start, &goal) && clearance > 0.0 {
                let route = maps[0].shortest_path(&start, &goal).unwrap();
                let kept = world.clearance_of_path(&route.points).unwrap().distance;
                prop_assert!(kept >= clearance, "{kept} is less than {clearance}");
            }
        }
    }

    /// Rings with spikes, which become walls without thickness.
    #[test]
    fn optimal_road_maps_agree_among_walls(
        rings in prop::collection::vec(crate::common::spiked_ring(7), 1..5),
        ends in [[-1..10, -1..10], [-1..10, -1..10]],
        clearance in prop::sample::select(vec![0.0, 0.2]),
        contact in prop::sample::select(CONTACTS.to_vec()),
    ) {
        let options = WorldOptions { clearance, contact, ..WorldOptions::default() };
        let world = integer_world(&rings, &options);
        same_edges(&world);
        let [start, goal] = ends.map(|e| p(f64::from(e[0]), f64::from(e[1])));
        check_answers(&roadmaps(&world, &[]), &start, &goal);
    }

    #[test]
    fn dijkstra_and_a_star_find_the_same_length(
        rings in prop::collection::vec(ring(40), 4..20),
        ends in [[-1..46, -1..46], [-1..46, -1..46]],
    ) {
        let world = integer_world(&rings, &options(Contact::Blocked));
        let [start, goal] = ends.map(|e| p(f64::from(e[0]), f64::from(e[1])));
        let graph = |search| VisibilityGraph::by_sweep("visibility_sweep", world.clone()).with_search(search);
        let a_star = graph(Search::AStar).shortest_path(&start, &goal);
        let dijkstra = graph(Search::Dijkstra).shortest_path(&start, &goal);
        match (a_star, dijkstra) {
            (Ok(a), Ok(d)) => {
                prop_assert!((a.length - d.length).abs() <= 1e-12 * a.length.max(1.0));
                prop_assert!(a.expanded <= d.expanded);
            }
            (a, d) => prop_assert_eq!(a, d),
        }
    }
}

fn square(id: &str, x: f64, y: f64, size: f64) -> Obstacle {
    obstacle(
        id,
        &[[x, y], [x + size, y], [x + size, y + size], [x, y + size]],
    )
}

#[test]
fn equal_ends_give_one_point() {
    let world = world(vec![square("a", 0.0, 0.0, 1.0)], None, Contact::Blocked);
    for name in OPTIMAL {
        for at in [p(2.0, 2.0), p(1.0, 1.0), p(0.5, 0.0)] {
            let route = roadmap(name, &world).shortest_path(&at, &at).unwrap();
            assert_eq!((route.points, route.length), (vec![at], 0.0));
        }
    }
}

#[test]
fn an_empty_world_is_free() {
    let world = world(Vec::new(), None, Contact::Blocked);
    for name in OPTIMAL {
        let map = roadmap(name, &world);
        assert_eq!((map.node_count(), map.edge_count()), (0, 0));
        let route = map.shortest_path(&p(0.0, 0.0), &p(3.0, 4.0)).unwrap();
        assert_eq!((route.points.len(), route.length), (2, 5.0));
    }
    assert!(world.outlines().is_empty());
    assert!(world.distance_to_obstacles(&p(0.0, 0.0)).is_none());
    assert!(world.clearance_of_path(&[p(0.0, 0.0)]).is_none());
}

#[test]
fn route_names_the_obstacles_it_turns_at() {
    let world = world(
        vec![
            square("low", 1.0, -3.0, 4.0),
            square("high", 7.0, -1.0, 4.0),
        ],
        None,
        Contact::Blocked,
    );
    for name in OPTIMAL {
        let route = roadmap(name, &world)
            .shortest_path(&p(0.0, 0.5), &p(12.0, 0.5))
            .unwrap();
        let turns: Vec<_> = route.obstacles.iter().map(|o| o.as_deref()).collect();
        assert_eq!(
            turns,
            [
                None,
                Some("low"),
                Some("low"),
                Some("high"),
                Some("high"),
                None
            ],
            "{:?}",
            route.points
        );
    }
}

#[test]
fn unknown_road_map_lists_the_choices() {
    let world = world(Vec::new(), None, Contact::Blocked);
    let error = build_roadmap("voronoi", world).unwrap_err().to_string();
    for name in OPTIMAL {
        assert!(error.contains(name), "{error}");
    }
    assert!(error.contains("voronoi"));
}

#[test]
fn ends_that_are_not_free_say_why() {
    let far = 1e8;
    let boundary =
        Polygon::from_points(&[p(-9.0, -9.0), p(9.0, -9.0), p(9.0, 9.0), p(-9.0, 9.0)]).unwrap();
    let obstacles = vec![square("table", 0.0, 0.0, 4.0), square("box", 3.0, 3.0, 4.0)];
    let options = WorldOptions {
        clearance: 0.5,
        ..WorldOptions::default()
    };
    let world = world_with(obstacles, Some(boundary), &options);
    let free = p(-5.0, -5.0);
    for name in OPTIMAL {
        let map = roadmap(name, &world);
        let error = |q: P| map.shortest_path(&free, &q).unwrap_err();
        assert!(matches!(
            error(p(f64::NAN, 0.0)),
            RouteError::InvalidPoint { end: End::Goal, .. }
        ));
        assert!(matches!(
            error(p(0.0, f64::INFINITY)),
            RouteError::InvalidPoint { .. }
        ));
        assert!(matches!(
            error(p(far, 0.0)),
            RouteError::InvalidPoint { .. }
        ));
        assert!(
            matches!(error(p(20.0, 0.0)), RouteError::OutsideBoundary { depth, .. } if (depth - 11.5).abs() < 1e-6)
        );
        match error(p(3.5, 3.5)) {
            RouteError::InObstacle { end, obstacles, .. } => {
                assert_eq!(
                    (end, obstacles),
                    (End::Goal, vec!["table".to_owned(), "box".to_owned()])
                );
            }
            other => panic!("{other}"),
        }
        match error(p(4.2, 1.0)) {
            RouteError::TooClose {
                obstacles,
                distance,
                clearance,
                ..
            } => {
                assert_eq!(
                    (obstacles.as_slice(), clearance),
                    (&["table".to_owned()][..], 0.5)
                );
                assert!((distance - 0.2).abs() < 1e-12);
            }
            other => panic!("{other}"),
        }
        match error(p(8.9, 0.0)) {
            RouteError::TooClose { obstacles, .. } => assert_eq!(obstacles, ["boundary"]),
            other => panic!("{other}"),
        }
        let text = error(p(4.2, 1.0)).to_string();
        assert!(
            text.contains("'table'") && text.contains("0.300000 m less"),
            "{text}"
        );
    }
}

fn ring_of_walls(gap: f64) -> Vec<Obstacle> {
    vec![
        obstacle("south", &[[0.0, 0.0], [10.0, 0.0], [10.0, 1.0], [0.0, 1.0]]),
        obstacle(
            "north",
            &[[0.0, 9.0], [10.0, 9.0], [10.0, 10.0], [0.0, 10.0]],
        ),
        obstacle("west", &[[0.0, 1.0], [1.0, 1.0], [1.0, 9.0], [0.0, 9.0]]),
        obstacle(
            "east",
            &[[9.0, 1.0 + gap], [10.0, 1.0 + gap], [10.0, 9.0], [9.0, 9.0]],
        ),
        obstacle("island", &[[4.0, 4.0], [5.0, 4.0], [5.0, 5.0], [4.0, 5.0]]),
        obstacle("far", &[[40.0, 4.0], [45.0, 4.0], [45.0, 5.0], [40.0, 5.0]]),
    ]
}

#[test]
fn no_path_names_the_obstacles_around() {
    let (inside, outside) = (p(2.0, 4.5), p(20.0, 5.0));
    for name in OPTIMAL {
        let closed = world(ring_of_walls(0.0), None, Contact::Blocked);
        for (start, goal, end) in [(inside, outside, End::Start), (outside, inside, End::Goal)] {
            match roadmap(name, &closed).shortest_path(&start, &goal) {
                Err(RouteError::NoPath { enclosed, by }) => {
                    assert_eq!(enclosed, end);
                    assert_eq!(by, ["south", "north", "west", "east", "island"]);
                }
                other => panic!("{other:?}"),
            }
        }
        // Where contact can be passed there is a way along the seam between two walls.
        let seams = world(ring_of_walls(0.0), None, Contact::Passable);
        roadmap(name, &seams)
            .shortest_path(&inside, &outside)
            .unwrap();
        // With a gap there is one, unless the clearance closes it.
        let open = world(ring_of_walls(0.5), None, Contact::Blocked);
        roadmap(name, &open)
            .shortest_path(&inside, &outside)
            .unwrap();
        let options = WorldOptions {
            clearance: 0.3,
            ..WorldOptions::default()
        };
        let narrow = world_with(ring_of_walls(0.5), None, &options);
        assert!(matches!(
            roadmap(name, &narrow).shortest_path(&inside, &outside),
            Err(RouteError::NoPath {
                enclosed: End::Start,
                ..
            })
        ));
    }
}

#[test]
fn ends_on_edges_vertices_and_contacts() {
    let squares = || vec![square("a", 0.0, 0.0, 4.0), square("b", 4.0, 4.0, 4.0)];
    for contact in CONTACTS {
        let world = world(squares(), None, contact);
        for name in OPTIMAL {
            let map = roadmap(name, &world);
            // From the shared corner one may leave to either side.
            for goal in [p(1.0, 7.0), p(7.0, 1.0), p(4.0, 2.0), p(2.0, 4.0)] {
                let route = map.shortest_path(&p(4.0, 4.0), &goal).unwrap();
                assert!((route.length - (goal - p(4.0, 4.0)).norm()).abs() < 1e-12);
            }
            let along = map.shortest_path(&p(0.0, 0.0), &p(4.0, 0.0)).unwrap();
            assert_eq!(along.length, 4.0);
            let around = map.shortest_path(&p(2.0, 0.0), &p(0.0, 2.0)).unwrap();
            assert_eq!(around.length, 4.0);
        }
    }
}

#[test]
fn points_inside_a_blocked_seam_are_inside_both() {
    let squares = vec![square("a", 0.0, 0.0, 4.0), square("b", 4.0, 0.0, 4.0)];
    let blocked = world(squares.clone(), None, Contact::Blocked);
    assert_eq!(
        blocked.locate(&p(4.0, 2.0)),
        Location::Inside {
            obstacles: vec!["a".into(), "b".into()],
            depth: 2.0
        }
    );
    let passable = world(squares, None, Contact::Passable);
    assert!(passable.locate(&p(4.0, 2.0)).is_free());
}

#[test]
fn nearest_free_point_is_free_and_near() {
    let squares = vec![square("a", 0.0, 0.0, 4.0), square("b", 3.0, 3.0, 4.0)];
    for clearance in [0.0, 0.1] {
        let options = WorldOptions {
            clearance,
            ..WorldOptions::default()
        };
        let world = world_with(squares.clone(), None, &options);
        for (q, distance) in [
            (p(1.0, 2.0), 1.0),
            (p(3.5, 3.5), 0.5f64.hypot(0.5)),
            (p(6.5, 5.0), 0.5),
        ] {
            let free = world.nearest_free_point(&q).unwrap();
            assert!(world.locate(&free).is_free());
            let moved = (free - q).norm();
            assert!(
                moved >= distance && moved < distance + clearance * 1.5 + 1e-9,
                "{q}: {moved}"
            );
        }
        let already = p(-3.0, 1.0);
        assert_eq!(world.nearest_free_point(&already), Some(already));
        assert_eq!(world.nearest_free_point(&p(f64::NAN, 0.0)), None);
    }
}

#[test]
fn a_point_a_hair_inside_is_moved_out_when_allowed() {
    let squares = vec![square("a", 0.0, 0.0, 4.0)];
    let options = WorldOptions {
        clearance: 0.1,
        snap_tolerance: 1e-6,
        ..WorldOptions::default()
    };
    let world = world_with(squares, None, &options);
    let goal = p(4.1 - 1e-8, 2.0);
    for name in OPTIMAL {
        let route = roadmap(name, &world)
            .shortest_path(&p(6.0, 2.0), &goal)
            .unwrap();
        assert_eq!(route.points.last(), Some(&goal));
        assert!((route.length - 1.9).abs() < 1e-6);
        assert!(matches!(
            roadmap(name, &world).shortest_path(&p(6.0, 2.0), &p(4.05, 2.0)),
            Err(RouteError::TooClose { .. })
        ));
    }
}

#[test]
fn clearance_of_a_path_is_measured_on_the_original_shapes() {
    let options = WorldOptions {
        clearance: 0.5,
        ..WorldOptions::default()
    };
    let world = world_with(vec![square("a", 0.0, 0.0, 4.0)], None, &options);
    let route = roadmap("visibility_graph", &world)
        .shortest_path(&p(-2.0, 2.0), &p(6.0, 2.5))
        .unwrap();
    let clearance = world.clearance_of_path(&route.points).unwrap();
    assert!(
        clearance.distance >= 0.5 && clearance.distance < 0.5 + 1e-6,
        "{clearance:?}"
    );
    assert_eq!(clearance.obstacle, "a");
    assert_eq!(
        world.clearance_of_path(&[p(2.0, 2.0)]).unwrap().distance,
        0.0
    );
}

#[test]
fn obstacle_outside_the_boundary_and_around_it() {
    let boundary =
        Polygon::from_points(&[p(0.0, 0.0), p(9.0, 0.0), p(9.0, 9.0), p(0.0, 9.0)]).unwrap();
    for contact in CONTACTS {
        let inside = vec![
            square("out", 20.0, 0.0, 4.0),
            square("across", 7.0, 3.0, 4.0),
        ];
        let world = world(inside, Some(boundary.clone()), contact);
        for name in OPTIMAL {
            let route = roadmap(name, &world)
                .shortest_path(&p(8.0, 1.0), &p(8.0, 8.0))
                .unwrap();
            check_route(&world, &route, &p(8.0, 1.0), &p(8.0, 8.0));
            assert_eq!(route.points.len(), 4, "{:?}", route.points);
        }
        let everything = vec![square("all", -1.0, -1.0, 20.0)];
        let world = crate::common::world(everything, Some(boundary.clone()), contact);
        assert_eq!(world.nearest_free_point(&p(1.0, 1.0)), None);
        assert!(matches!(
            world.locate(&p(1.0, 1.0)),
            Location::Inside { .. }
        ));
    }
}

#[test]
fn walls_without_thickness_block() {
    // A square with a spike of four metres to the right.
    let ring = [
        [0.0, 0.0],
        [4.0, 0.0],
        [4.0, 2.0],
        [8.0, 2.0],
        [4.0, 2.0],
        [4.0, 4.0],
        [0.0, 4.0],
    ];
    for (contact, length) in [
        (Contact::Blocked, 2.0 * 5f64.sqrt()),
        (Contact::Passable, 2.0),
    ] {
        let world = world(vec![obstacle("a", &ring)], None, contact);
        for name in OPTIMAL {
            let route = roadmap(name, &world)
                .shortest_path(&p(6.0, 1.0), &p(6.0, 3.0))
                .unwrap();
            assert!(
                (route.length - length).abs() < 1e-12,
                "{contact:?}: {:?}",
                route.points
            );
        }
        if contact == Contact::Blocked {
            same_edges(&world);
            assert_eq!(world.outlines().len(), 2);
        }
    }
}

/// Cases that the random tests found.
mod found {
    use super::*;

    fn rings(raw: &[&[[i32; 2]]]) -> Vec<Vec<[i32; 2]>> {
        raw.iter().map(|r| r.to_vec()).collect()
    }

    #[test]
    fn partly_coincident_edges_cross_a_third_in_one_point() {
        let rings = rings(&[
            &[[4, 2], [6, 2], [6, 3], [5, 3], [5, 7], [4, 7]],
            &[[2, 5], [4, 0], [8, 9]],
            &[[4, 5], [6, 5], [6, 6], [5, 6], [5, 7], [4, 7]],
        ]);
        for contact in CONTACTS {
            same_edges(&integer_world(&rings, &options(contact)));
        }
    }

    #[test]
    fn inflated_outlines_that_nearly_coincide() {
        let rings = rings(&[
            &[[7, 3], [12, 3], [12, 4], [8, 4], [8, 8], [7, 8]],
            &[[7, 6], [9, 6], [9, 7], [8, 7], [8, 11], [7, 11]],
        ]);
        for clearance in [1e-7, 0.1, 0.375_546_684_634_481_26] {
            let options = WorldOptions {
                clearance,
                ..WorldOptions::default()
            };
            same_edges(&integer_world(&rings, &options));
        }
    }

    #[test]
    fn a_seam_that_ends_where_everything_else_is_covered() {
        let rings = rings(&[
            &[[5, 1], [7, 1], [7, 2], [6, 2], [6, 6], [5, 6]],
            &[[2, 9], [0, 0], [8, 3]],
            &[[6, 0], [7, 0], [7, 3], [6, 3]],
        ]);
        for contact in CONTACTS {
            same_edges(&integer_world(&rings, &options(contact)));
        }
    }

    #[test]
    fn a_corner_on_a_split_edge_is_still_flat() {
        let rings = rings(&[
            &[[0, 0], [9, 4], [0, 7]],
            &[[1, 4], [6, 4], [6, 5], [2, 5], [2, 7], [1, 7]],
        ]);
        for contact in CONTACTS {
            same_edges(&integer_world(&rings, &options(contact)));
        }
    }

    #[test]
    fn a_split_edge_is_not_seen_through() {
        let rings = rings(&[&[[2, 5], [3, 5], [3, 6], [2, 6]], &[[6, 2], [0, 8], [0, 7]]]);
        for contact in CONTACTS {
            same_edges(&integer_world(&rings, &options(contact)));
        }
    }

    #[test]
    fn a_trapezoid_beside_an_edge_that_was_split_elsewhere() {
        let rings = rings(&[&[[6, 2], [3, 11], [0, 0]], &[[9, 6], [0, 0], [3, 5]]]);
        let world = integer_world(&rings, &options(Contact::Blocked));
        let (start, goal) = (p(4.0, 8.0), p(6.0, 0.0));
        let route = roadmap("trapezoidal_map", &world)
            .shortest_path(&start, &goal)
            .unwrap();
        check_route(&world, &route, &start, &goal);
    }

    #[test]
    fn a_trapezoidal_way_that_comes_by_its_goal() {
        let rings = rings(&[
            &[[10, 8], [13, 8], [13, 9], [10, 9]],
            &[[12, 1], [14, 1], [14, 2], [13, 2], [13, 6], [12, 6]],
        ]);
        let world = integer_world(&rings, &options(Contact::Blocked));
        let (start, goal) = (p(0.0, 0.0), p(12.0, 7.0));
        let route = roadmap("trapezoidal_map", &world)
            .shortest_path(&start, &goal)
            .unwrap();
        check_route(&world, &route, &start, &goal);
    }

    /// A goal a rounding error outside an edge whose rounded pieces pass it on the other side.
    #[test]
    fn a_goal_a_hair_off_an_edge_that_was_split_elsewhere() {
        let bar = obstacle("bar", &[[-2.0, 4.0], [6.0, -2.0], [-4.0, 4.0]]);
        let wedge = obstacle("wedge", &[[4.0, 0.0], [0.0, -6.0], [6.0, -2.0]]);
        let (start, goal) = (p(0.0, -7.2), p(2.4, -2.4));
        for contact in CONTACTS {
            let world = world(vec![bar.clone(), wedge.clone()], None, contact);
            let maps = roadmaps(&world, &[]);
            assert!(check_answers(&maps, &start, &goal));
        }
    }

    #[test]
    fn a_start_on_an_edge_that_was_split_elsewhere() {
        let rings = rings(&[
            &[[2, 4], [4, 4], [4, 5], [3, 5], [3, 6], [2, 6]],
            &[[0, 7], [0, 6], [8, 0]],
        ]);
        for contact in CONTACTS {
            let world = integer_world(&rings, &options(contact));
            for name in OPTIMAL {
                let route = roadmap(name, &world)
                    .shortest_path(&p(4.0, 3.0), &p(5.0, 3.0))
                    .unwrap();
                assert!(
                    (route.length - 5.0 - 18f64.sqrt()).abs() < 1e-12,
                    "{:?}",
                    route.points
                );
            }
        }
    }
}

#[test]
fn one_trapezoid_means_a_straight_line() {
    let world = world(vec![square("a", 0.0, 0.0, 4.0)], None, Contact::Blocked);
    let map = TrapezoidalRoadmap::new(world, &|| false).unwrap();
    // Left of, right of, above and below the square; the others have no width.
    let has_area = |c: &[P; 4]| arm_planner::planar::polygon::signed_area(c) > 1e-12;
    assert_eq!(map.cells().iter().filter(|c| has_area(c)).count(), 4);
    let route = map.shortest_path(&p(1.0, 5.0), &p(3.0, 4.0)).unwrap();
    assert_eq!(route.points.len(), 2);
    let around = map.shortest_path(&p(2.0, 5.0), &p(2.0, -1.0)).unwrap();
    assert!(around.points.len() > 3);
    // Far outside the box around everything.
    let far = map.shortest_path(&p(-500.0, 2.0), &p(500.0, 2.0)).unwrap();
    check_route(map.world(), &far, &p(-500.0, 2.0), &p(500.0, 2.0));
}
