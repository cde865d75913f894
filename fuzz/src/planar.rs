//! What the planar fuzz targets do with their bytes, and the invariants of a world and its road
//! maps, which the planar tests of the main crate check by the same functions.

use std::sync::Arc;

use arm_planner::planar::polygon::MAX_COORDINATE;
use arm_planner::planar::{
    Contact, Join, Obstacle, PlanarWorld, Polygon, PolygonOptions, SelfCrossing, WorldOptions,
};
use arm_planner::roadmap::{
    build_roadmap, check_end, shorten, End, Roadmap, Route, RouteError, VisibilityGraph, ROADMAPS,
};
use nalgebra::Point2;

type P = Point2<f64>;

/// Every promise of a route that can be judged without knowing the answer.
pub fn check_route(world: &PlanarWorld, route: &Route, start: &P, goal: &P) {
    // Coordinates next to nothing are taken for 0.
    let is_at = |p: Option<&P>, end: &P| p.is_some_and(|p| (p - end).norm() < 1e-100);
    assert!(is_at(route.points.first(), start), "{route:?}");
    assert!(is_at(route.points.last(), goal), "{route:?}");
    assert_eq!(route.points.len(), route.obstacles.len());
    let mut length = 0.0;
    for leg in route.points.windows(2) {
        assert_ne!(leg[0], leg[1], "a leg without length");
        assert!(
            world.segment_is_free(&leg[0], &leg[1]),
            "leg {leg:?} is not free"
        );
        length += (leg[1] - leg[0]).norm();
    }
    assert!((length - route.length).abs() <= 1e-12 * length.max(1.0));
}

fn edges(graph: &VisibilityGraph) -> Vec<[[u64; 2]; 2]> {
    let bits = |i: u32| {
        let q = graph.nodes()[i as usize];
        // Both zeros are one place.
        [q.x + 0.0, q.y + 0.0].map(f64::to_bits)
    };
    // As sorted pairs of points: the builders number their nodes differently.
    let mut edges: Vec<[[u64; 2]; 2]> = graph
        .adjacency()
        .edges()
        .map(|e| {
            let mut ends = e.map(bits);
            ends.sort_unstable();
            ends
        })
        .collect();
    edges.sort_unstable();
    edges
}

/// Sweep and oracle find the same nodes and the same edges.
pub fn same_edges(world: &Arc<PlanarWorld>) {
    let naive = VisibilityGraph::naive(world.clone());
    let sweep = VisibilityGraph::by_sweep("visibility_sweep", world.clone());
    let sorted = |graph: &VisibilityGraph| {
        let mut nodes: Vec<[f64; 2]> = graph.nodes().iter().map(|q| [q.x, q.y]).collect();
        nodes.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        nodes
    };
    assert_eq!(sorted(&naive), sorted(&sweep));
    let (a, b) = (edges(&naive), edges(&sweep));
    let missing = |a: &[[[u64; 2]; 2]], b: &[[[u64; 2]; 2]]| -> Vec<[[f64; 2]; 2]> {
        let of = |e: &[[u64; 2]; 2]| e.map(|q| q.map(f64::from_bits));
        a.iter().filter(|e| !b.contains(e)).map(of).collect()
    };
    assert!(
        a == b,
        "only naive: {:?}, only sweep: {:?}",
        missing(&a, &b),
        missing(&b, &a)
    );
}

/// Every road map of a world, built once.
pub fn roadmaps(world: &Arc<PlanarWorld>, except: &[&str]) -> Vec<Box<dyn Roadmap>> {
    ROADMAPS
        .iter()
        .filter(|(name, _)| !except.contains(name))
        .map(|(name, _)| build_roadmap(name, world.clone()).expect("its name is on the list"))
        .collect()
}

/// All promises of a world, its road maps and their answers: every road map finds a way or none,
/// and for the same reason; ways are free; those of optimal road maps have one length, forth and
/// back, and no other is shorter. Whether there was a way.
pub fn check_answers(maps: &[Box<dyn Roadmap>], start: &P, goal: &P) -> bool {
    let mut shortest: Option<Result<Route, RouteError>> = None;
    for map in maps.iter().filter(|map| map.is_optimal()) {
        let name = map.name();
        let answer = map.shortest_path(start, goal);
        let back = map.shortest_path(goal, start);
        if let Ok(route) = &answer {
            check_route(map.world(), route, start, goal);
            let back = back.as_ref().map(|back| back.length);
            assert!(
                back.is_ok_and(|back| same_length(back, route.length)),
                "{name}: {back:?} back, {route:?}"
            );
        } else {
            assert!(back.is_err(), "{name}: only back");
        }
        match (&answer, &shortest) {
            (_, None) => shortest = Some(answer),
            (Ok(a), Some(Ok(b))) => {
                assert!(same_length(a.length, b.length), "{name}: {a:?}, {b:?}")
            }
            (a, Some(b)) => same_reason(name, a, b),
        }
    }
    let Some(shortest) = shortest else {
        return false;
    };
    for map in maps.iter().filter(|map| !map.is_optimal()) {
        let name = map.name();
        match (map.shortest_path(start, goal), &shortest) {
            (Ok(route), Ok(best)) => {
                let world = map.world();
                check_route(world, &route, start, goal);
                let short = shorten(world, &route);
                check_route(world, &short, start, goal);
                let slack = 1e-9 * best.length;
                assert!(short.length <= route.length + slack, "{name}: {short:?}");
                assert!(short.length >= best.length - slack, "{name}: {short:?}");
            }
            (a, b) => same_reason(name, &a, b),
        }
    }
    if let Some(map) = maps.first() {
        let ends = [(End::Start, start), (End::Goal, goal)];
        let checked = ends.map(|(end, p)| check_end(map.world(), end, p).is_ok());
        match &shortest {
            Ok(_) => assert_eq!(checked, [true; 2]),
            Err(RouteError::NoPath { by, .. }) => {
                assert_eq!(checked, [true; 2]);
                assert!(!by.is_empty());
            }
            Err(_) => assert!(checked.contains(&false)),
        }
    }
    shortest.is_ok()
}

fn same_reason(name: &str, a: &Result<Route, RouteError>, b: &Result<Route, RouteError>) {
    // As texts: a point may be NaN.
    let reason =
        |answer: &Result<Route, RouteError>| answer.as_ref().err().map(ToString::to_string);
    assert_eq!(reason(a), reason(b), "{name}: {a:?}, {b:?}");
}

fn same_length(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.max(b)
}

/// A stream of numbers from bytes.
struct Numbers<'a> {
    bytes: &'a [u8],
    /// What kind of coordinates a scene has.
    kind: u8,
}

impl Numbers<'_> {
    fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((&first, rest)) => {
                self.bytes = rest;
                first
            }
            None => 0,
        }
    }

    fn raw(&mut self) -> f64 {
        f64::from_le_bytes([0; 8].map(|_: u8| self.byte()))
    }

    /// Mostly on a small grid, where touching and collinear things are common.
    fn coordinate(&mut self) -> f64 {
        let byte = self.byte();
        let cell = f64::from(byte % 12);
        match self.kind {
            0..=3 => cell,
            4 => 1e6 + cell * 1e-3,
            5 => f64::from((cell / 10.0) as f32),
            // A few units in the last place off the grid.
            6 => f64::from_bits((cell + 1.0).to_bits() + u64::from(byte / 64)),
            7 => (f64::from(byte) - 128.0) * 0.1 / 3.0,
            8 if byte > 250 => MAX_COORDINATE,
            8 if byte == 250 => f64::MIN_POSITIVE,
            8 => cell * 1e-200,
            9 if byte == 255 => f64::NAN,
            9 if byte == 254 => f64::INFINITY,
            9 if byte == 253 => self.raw(),
            _ => cell,
        }
    }

    fn point(&mut self) -> P {
        Point2::new(self.coordinate(), self.coordinate())
    }

    fn ring(&mut self) -> Vec<P> {
        let count = self.byte();
        if count.is_multiple_of(3) {
            let (low, size) = (self.point(), self.byte());
            let (w, h) = (f64::from(1 + size % 5), f64::from(1 + size / 5 % 5));
            let unit = if self.kind == 4 { 1e-3 } else { 1.0 };
            let (high_x, high_y) = (low.x + w * unit, low.y + h * unit);
            return vec![
                low,
                Point2::new(high_x, low.y),
                Point2::new(high_x, high_y),
                Point2::new(low.x, high_y),
            ];
        }
        let mut ring: Vec<P> = (0..count % 10).map(|_| self.point()).collect();
        match (count / 10 % 4, ring.first().copied()) {
            (1, Some(first)) => ring.push(first),
            (2, Some(first)) => ring.insert(0, first),
            // A spike.
            (3, Some(first)) => {
                let tip = self.point();
                ring.extend([first, tip]);
            }
            _ => {}
        }
        ring
    }

    fn world(&mut self) -> Option<Arc<PlanarWorld>> {
        self.kind = self.byte() % 10;
        let options = self.byte();
        let reading = PolygonOptions {
            self_crossing: match options & 1 {
                0 => SelfCrossing::Resolve,
                _ => SelfCrossing::Refuse,
            },
            ..PolygonOptions::default()
        };
        let unit = if self.kind == 4 { 1e-3 } else { 1.0 };
        let clearance = match options >> 1 & 7 {
            0 => 0.1 * unit,
            1 => 0.5 * unit,
            2 => self.coordinate() - 1.0,
            _ => 0.0,
        };
        let join = match options >> 4 & 1 {
            0 => Join::Round {
                arc_tolerance: Some(0.1 * unit),
            },
            _ => Join::Mitre { limit: 2.0 },
        };
        let contact = match options >> 5 & 1 {
            0 => Contact::Blocked,
            _ => Contact::Passable,
        };
        let is_bounded = options >> 6 & 3 == 0;
        let mut obstacles = Vec::new();
        for k in 0..self.byte() % 7 {
            let ring = self.ring();
            match Obstacle::from_ring(&k.to_string(), &ring, &reading) {
                Ok((read, _)) => obstacles.extend(read),
                Err(error) => assert!(error.to_string().contains(&format!("'{k}'"))),
            }
        }
        for obstacle in &obstacles {
            obstacle.polygon.sanity_check().expect("a valid polygon");
        }
        let boundary = match is_bounded {
            true => Polygon::from_points(&self.ring()).ok(),
            false => None,
        };
        let options = WorldOptions {
            clearance,
            join,
            contact,
            ..WorldOptions::default()
        };
        match PlanarWorld::build(obstacles, boundary, &options) {
            Ok(world) => {
                world.sanity_check().expect("a sane world");
                Some(Arc::new(world))
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                None
            }
        }
    }

    /// A vertex, or anything.
    fn end(&mut self, world: &PlanarWorld) -> P {
        let vertices = world.arrangement().vertices();
        match vertices.get(usize::from(self.byte())) {
            Some(vertex) => vertex.point,
            None => self.point(),
        }
    }
}

/// Larger worlds only take longer.
const MOST_VERTICES: usize = 120;

/// Any bytes as obstacles, boundary and questions, for all road maps. Whether there was a way.
pub fn polygons(bytes: &[u8]) -> bool {
    let mut numbers = Numbers { bytes, kind: 0 };
    let Some(world) = numbers.world() else {
        return false;
    };
    if world.arrangement().vertices().len() > MOST_VERTICES {
        return false;
    }
    let maps = roadmaps(&world, &[]);
    (0..3).fold(false, |found, _| {
        let ends = [numbers.end(&world), numbers.end(&world)];
        check_answers(&maps, &ends[0], &ends[1]) || found
    })
}

/// Any bytes as obstacles and boundary: sweep against oracle. Whether there was an edge.
///
/// The edges must be the same but where outlines cross nearer to a corner than the spacing of
/// numbers there: rounding takes the crossing for the corner itself. No answer changes by it.
pub fn sweep_against_naive(bytes: &[u8]) -> bool {
    let mut numbers = Numbers { bytes, kind: 0 };
    match numbers.world() {
        Some(world) if world.arrangement().vertices().len() <= MOST_VERTICES => {
            if numbers.kind <= 3 || !world.arrangement().is_rounded() {
                same_edges(&world);
            } else {
                let maps = ["visibility_naive", "visibility_sweep"].map(|name| {
                    build_roadmap(name, world.clone()).expect("its name is on the list")
                });
                for _ in 0..4 {
                    let ends = [numbers.end(&world), numbers.end(&world)];
                    check_answers(&maps, &ends[0], &ends[1]);
                }
            }
            !world.arrangement().edges().is_empty()
        }
        _ => false,
    }
}
