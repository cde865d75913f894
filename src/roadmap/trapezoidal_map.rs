//! The road map of the trapezoidal map: from the centre of every free trapezoid
//! to the middle of every wall that it shares with another one \[deBerg2008\].
//!
//! A path goes straight to the centre of the start's trapezoid, by breadth-first
//! search along the map, and straight to the goal; within one trapezoid it is the
//! straight line. It is not the shortest one, keeps off obstacles where there is
//! room, and is found in time linear in the map. [`shorten`] pulls it taut.
//!
//! Where contact can be passed, free trapezoids also hang together through the
//! vertices in which obstacles touch, and along seams, which have no trapezoids:
//! these vertices are nodes of the road map, too, joined to the centres around
//! them and to each other along the seams.
//!
//! There is a path if and only if the visibility graph has one: where the
//! trapezoids leave none, for rounding may close what is narrower than the
//! spacing of numbers, the lazy road map is asked.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use nalgebra::Point2;

use crate::planar::{Contact, PlanarWorld};

use super::ends::{assemble, free_end, no_path, FreeEnd};
use super::trapezoid::{compare, TrapezoidMap, NONE};
use super::{build_roadmap, End, Roadmap, Route, RouteError};

/// Decides the order of insertion only: the map is always the same.
const SEED: u64 = 0x7261_7065_7a6f_6964;

/// Trapezoidal map with its road map.
#[derive(Debug)]
pub struct TrapezoidalRoadmap {
    world: Arc<PlanarWorld>,
    map: TrapezoidMap,
    /// Ends of the map's segments (smaller vertex first), sorted.
    pairs: Vec<[u32; 2]>,
    low: Point2<f64>,
    high: Point2<f64>,
    /// Centre of every free trapezoid, then the vertices in which contact can be passed.
    nodes: Vec<Point2<f64>>,
    /// How many of the nodes are centres.
    centers: usize,
    /// The vertices of the other nodes, sorted.
    contacts: Vec<u32>,
    /// Whether a segment (by its number) is blocked on both sides and can be gone along.
    seams: Vec<bool>,
    /// The road-map number of every trapezoid, `NONE` for blocked ones.
    number: Vec<u32>,
    /// Roads from each node to another, flat: over a wall's middle, or straight.
    start: Vec<u32>,
    roads: Vec<Road>,
    /// Decides where no trapezoids lead.
    exact: OnceLock<Option<Box<dyn Roadmap>>>,
}

/// A road to another node.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Road {
    to: u32,
    /// Middle of the wall that it passes, if it passes one.
    over: Option<Point2<f64>>,
}

impl TrapezoidalRoadmap {
    /// Builds map and roads; `None` if the caller gives up.
    pub fn new(world: Arc<PlanarWorld>, give_up: &dyn Fn() -> bool) -> Option<Self> {
        let arrangement = world.arrangement();
        let points: Vec<Point2<f64>> = arrangement.vertices().iter().map(|v| v.point).collect();
        let (mut low, mut high) = (Point2::new(0.0, 0.0), Point2::new(0.0, 0.0));
        if let Some(first) = points.first() {
            (low, high) = (*first, *first);
        }
        for p in &points {
            (low, high) = (low.inf(p), high.sup(p));
        }
        // Room to pass around everything.
        let room = 0.1 * (high - low).norm() + world.options().clearance + 1e-3;
        let room = nalgebra::Vector2::repeat(room);
        let (low, high) = (low - room, high + room);

        // Segments once each, with what is blocked above and below them.
        let mut sides: Vec<([u32; 2], [bool; 2])> = arrangement
            .edges()
            .iter()
            .map(|edge| {
                let [a, b] = edge.ends;
                let to_right = compare(&points[a as usize], &points[b as usize]).is_lt();
                let blocked = !edge.is_wall;
                (
                    [a.min(b), a.max(b)],
                    [to_right && blocked, !to_right && blocked],
                )
            })
            .collect();
        sides.sort_unstable();
        sides.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = [kept.1[0] || next.1[0], kept.1[1] || next.1[1]];
            }
            same
        });
        let pairs: Vec<[u32; 2]> = sides.iter().map(|s| s.0).collect();
        let map = TrapezoidMap::new(points, &pairs, low, high, SEED, give_up)?;
        let outside_is_blocked = world.boundary().is_some();
        let blocked = |segment: u32, side: usize| {
            sides
                .get(segment as usize)
                .map_or(outside_is_blocked, |s| s.1[side])
        };
        let can_pass = world.options().contact == Contact::Passable;
        let mut this = TrapezoidalRoadmap {
            low,
            high,
            nodes: Vec::new(),
            centers: 0,
            contacts: Vec::new(),
            seams: sides
                .iter()
                .map(|(_, blocked)| can_pass && *blocked == [true; 2])
                .collect(),
            number: Vec::new(),
            start: vec![0],
            roads: Vec::new(),
            exact: OnceLock::new(),
            pairs,
            map,
            world,
        };
        let mut free = Vec::new();
        for (t, trapezoid) in this.map.trapezoids() {
            if !blocked(trapezoid.bottom, 0) && !blocked(trapezoid.top, 1) {
                let center = this.center(t);
                // The centre of a trapezoid of no size may be rounded into an obstacle.
                if this.is_free(&center) {
                    free.push(t);
                    this.nodes.push(center);
                }
            }
        }
        this.centers = free.len();
        this.number = vec![NONE; free.last().map_or(0, |t| *t as usize + 1)];
        for (k, t) in (0u32..).zip(&free) {
            this.number[*t as usize] = k;
        }
        if can_pass {
            this.find_contacts();
        }
        let gates = this.gates();
        let mut at_gate = gates.iter().peekable();
        for (k, &t) in (0u32..).zip(&free) {
            if give_up() {
                return None;
            }
            this.add_roads_over_walls(k, t);
            while let Some((_, to)) = at_gate.next_if(|(from, _)| *from == k) {
                this.roads.push(Road {
                    to: *to,
                    over: None,
                });
            }
            this.start.push(this.roads.len() as u32);
        }
        for k in this.centers..this.nodes.len() {
            while let Some((_, to)) = at_gate.next_if(|(from, _)| *from as usize == k) {
                this.roads.push(Road {
                    to: *to,
                    over: None,
                });
            }
            this.start.push(this.roads.len() as u32);
        }
        Some(this)
    }

    fn is_free(&self, p: &Point2<f64>) -> bool {
        self.world.segment_is_free(p, p)
    }

    /// Whether one can go straight from one free point to another.
    fn sees(&self, a: &Point2<f64>, b: &Point2<f64>) -> bool {
        a == b || self.world.open_segment_is_free(a, b)
    }

    /// Makes nodes of the vertices in which free trapezoids may hang together: those where
    /// several obstacles meet.
    fn find_contacts(&mut self) {
        let world = Arc::clone(&self.world);
        for (v, vertex) in (0u32..).zip(world.arrangement().vertices()) {
            if vertex.sectors.len() > 1 && self.is_free(&vertex.point) {
                self.contacts.push(v);
                self.nodes.push(vertex.point);
            }
        }
    }

    /// The node of a vertex in which contact can be passed.
    fn contact(&self, vertex: u32) -> Option<u32> {
        let k = self.contacts.binary_search(&vertex).ok()?;
        Some((self.centers + k) as u32)
    }

    /// Straight roads, both ways, sorted: between contacts and the centres around them, and
    /// along seams.
    fn gates(&self) -> Vec<(u32, u32)> {
        let mut gates = Vec::new();
        let mut found = Vec::new();
        for (k, p) in (self.centers as u32..).zip(&self.nodes[self.centers..]) {
            self.map.locate(p, &mut found);
            for center in found.iter().filter_map(|t| self.node(*t)) {
                if self.sees(p, &self.nodes[center as usize]) {
                    gates.extend([(k, center), (center, k)]);
                }
            }
        }
        for (ends, is_seam) in self.pairs.iter().zip(&self.seams) {
            if let (true, [Some(a), Some(b)]) = (*is_seam, ends.map(|v| self.contact(v))) {
                if self.sees(&self.nodes[a as usize], &self.nodes[b as usize]) {
                    gates.extend([(a, b), (b, a)]);
                }
            }
        }
        gates.sort_unstable();
        gates
    }

    /// Adds the roads from the centre of trapezoid `t`, which is node `k`.
    fn add_roads_over_walls(&mut self, k: u32, t: u32) {
        let trapezoid = *self.map.trapezoid(t);
        let right = trapezoid
            .right_neighbours
            .map(|n| (n, trapezoid.right, [t, n]));
        let left = trapezoid
            .left_neighbours
            .map(|n| (n, trapezoid.left, [n, t]));
        for (neighbour, wall, sides) in right.into_iter().chain(left) {
            let Some(to) = self.node(neighbour) else {
                continue;
            };
            let Some(middle) = self.middle(wall, sides) else {
                continue;
            };
            let ends = [k, to].map(|n| self.nodes[n as usize]);
            // Rounding could only spoil roads through trapezoids of no size.
            if self.is_free(&middle) && ends.iter().all(|end| self.sees(end, &middle)) {
                self.roads.push(Road {
                    to,
                    over: Some(middle),
                });
            }
        }
    }

    fn node(&self, trapezoid: u32) -> Option<u32> {
        self.number
            .get(trapezoid as usize)
            .copied()
            .filter(|n| *n != NONE)
    }

    /// The corners of a trapezoid: lower left, lower right, upper right, upper left.
    fn corners(&self, t: u32) -> [Point2<f64>; 4] {
        let trapezoid = self.map.trapezoid(t);
        let x = |v: u32| self.map.points[v as usize].x;
        let corner = |v: u32, s: u32| Point2::new(x(v), self.map.height(s, v));
        [
            corner(trapezoid.left, trapezoid.bottom),
            corner(trapezoid.right, trapezoid.bottom),
            corner(trapezoid.right, trapezoid.top),
            corner(trapezoid.left, trapezoid.top),
        ]
    }

    fn center(&self, t: u32) -> Point2<f64> {
        let sum = self
            .corners(t)
            .iter()
            .fold(nalgebra::Vector2::zeros(), |s, c| s + c.coords);
        Point2::from(sum / 4.0)
    }

    /// Middle of the wall at vertex `v` between the trapezoids `left` and `right`.
    fn middle(&self, v: u32, [left, right]: [u32; 2]) -> Option<Point2<f64>> {
        let [a, b] = [left, right].map(|t| self.map.trapezoid(t));
        let top = self.map.height(a.top, v).min(self.map.height(b.top, v));
        let bottom = self
            .map
            .height(a.bottom, v)
            .max(self.map.height(b.bottom, v));
        let at = &self.map.points[v as usize];
        // The wall does not pass the vertex if both see each other on one side of it only.
        let (low, high) = if a.right_neighbours[0] == right && a.right_neighbours[1] != right {
            (bottom.max(at.y), top)
        } else {
            (bottom, top.min(at.y))
        };
        (high > low).then(|| Point2::new(at.x, low + (high - low) / 2.0))
    }

    /// The trapezoids as polygons, for drawing.
    pub fn trapezoids(&self) -> Vec<[Point2<f64>; 4]> {
        self.map
            .trapezoids()
            .filter(|(t, _)| self.node(*t).is_some())
            .map(|(t, _)| self.corners(t))
            .collect()
    }

    /// Checks the promises of the map and of the roads; for tests and fuzzing.
    ///
    /// # Errors
    /// Says which promise is broken.
    pub fn sanity_check(&self) -> Result<(), String> {
        self.map.sanity_check()?;
        for n in 0..self.nodes.len() as u32 {
            let from = &self.nodes[n as usize];
            for Road { to, over } in self.roads_from(n) {
                let end = &self.nodes[*to as usize];
                let middle = over.as_ref().unwrap_or(end);
                let legs = [[from, middle], [middle, end]];
                if !legs
                    .iter()
                    .all(|leg| self.world.segment_is_free(leg[0], leg[1]))
                {
                    return Err(format!("the road from {n} to {to} is not free"));
                }
                let back = Road { to: n, over: *over };
                if !self.roads_from(*to).contains(&back) {
                    return Err(format!("the road from {n} to {to} does not lead back"));
                }
            }
        }
        Ok(())
    }

    fn roads_from(&self, node: u32) -> &[Road] {
        let node = node as usize;
        &self.roads[self.start[node] as usize..self.start[node + 1] as usize]
    }

    /// Nodes of the trapezoids around a point, and of the contacts at the ends of its seam.
    fn around(&self, p: &Point2<f64>) -> Vec<u32> {
        let mut found = Vec::new();
        self.map.locate(p, &mut found);
        let mut nodes: Vec<u32> = found.iter().filter_map(|t| self.node(*t)).collect();
        if !self.contacts.is_empty() {
            let lines = found
                .iter()
                .map(|t| self.map.trapezoid(*t))
                .flat_map(|t| [t.top, t.bottom]);
            self.add_seam_ends(lines, &mut nodes);
        }
        if nodes.is_empty() {
            self.around_displaced(p, &mut nodes);
        }
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    fn add_seam_ends(&self, segments: impl Iterator<Item = u32>, nodes: &mut Vec<u32>) {
        for s in segments {
            if self.seams.get(s as usize) == Some(&true) {
                let ends = self.pairs[s as usize].iter();
                nodes.extend(ends.filter_map(|v| self.contact(*v)));
            }
        }
    }

    /// On an edge that rounding has bent away: what is along its pieces.
    fn around_displaced(&self, p: &Point2<f64>, nodes: &mut Vec<u32>) {
        let edges = self.world.arrangement().edges();
        let segments: Vec<u32> = self
            .world
            .displaced_edges(p)
            .iter()
            .map(|e| edges[*e as usize].ends)
            .filter_map(|[a, b]| self.pairs.binary_search(&[a.min(b), a.max(b)]).ok())
            .map(|s| s as u32)
            .collect();
        self.add_seam_ends(segments.iter().copied(), nodes);
        let x = |v: u32| self.map.points[v as usize].x;
        let beside = self
            .map
            .trapezoids()
            .filter(|(_, t)| segments.contains(&t.top) || segments.contains(&t.bottom))
            .filter(|(_, t)| x(t.left) <= p.x && p.x <= x(t.right));
        nodes.extend(beside.filter_map(|(t, _)| self.node(t)));
    }

    /// The point of the box that is nearest to `p`: outside the box everything is free.
    fn clamp(&self, p: &Point2<f64>) -> Point2<f64> {
        Point2::new(
            p.x.clamp(self.low.x, self.high.x),
            p.y.clamp(self.low.y, self.high.y),
        )
    }

    /// Breadth-first search; the points between start and goal.
    fn search(&self, start: &Point2<f64>, goal: &Point2<f64>) -> Option<(Vec<Point2<f64>>, usize)> {
        let (from, to) = (self.clamp(start), self.clamp(goal));
        let (sources, targets) = (self.around(&from), self.around(&to));
        if sources.iter().any(|s| targets.contains(s)) && self.sees(start, goal) {
            return Some((Vec::new(), 0));
        }
        let node = |n: u32| &self.nodes[n as usize];
        let mut came: Vec<Option<(u32, Option<Point2<f64>>)>> = vec![None; self.nodes.len()];
        let mut seen = vec![false; self.nodes.len()];
        let mut queue = VecDeque::new();
        for s in sources {
            if self.sees(&from, node(s)) {
                seen[s as usize] = true;
                queue.push_back(s);
            }
        }
        let mut expanded = 0;
        while let Some(n) = queue.pop_front() {
            expanded += 1;
            if targets.contains(&n) && self.sees(node(n), &to) {
                let mut way = vec![to, *node(n)];
                let mut at = n;
                while let Some((before, over)) = came[at as usize] {
                    way.extend(over);
                    way.push(*node(before));
                    at = before;
                }
                way.push(from);
                way.reverse();
                // The way may come by its own ends: no need to go round.
                if let Some(k) = way.iter().rposition(|p| p == start) {
                    way.drain(..k);
                }
                if let Some(k) = way.iter().position(|p| p == goal) {
                    way.truncate(k);
                }
                return Some((way, expanded));
            }
            for road in self.roads_from(n) {
                if !std::mem::replace(&mut seen[road.to as usize], true) {
                    came[road.to as usize] = Some((n, road.over));
                    queue.push_back(road.to);
                }
            }
        }
        None
    }
}

impl Roadmap for TrapezoidalRoadmap {
    fn name(&self) -> &'static str {
        "trapezoidal_map"
    }

    fn world(&self) -> &Arc<PlanarWorld> {
        &self.world
    }

    fn node_count(&self) -> usize {
        // A middle for each wall, which two roads share.
        self.nodes.len() + self.roads.iter().filter(|r| r.over.is_some()).count() / 2
    }

    fn edge_count(&self) -> usize {
        // Straight roads are there both ways; of others each is one half.
        let over = self.roads.iter().filter(|r| r.over.is_some()).count();
        over + (self.roads.len() - over) / 2
    }

    fn edge_list(&self) -> Vec<[Point2<f64>; 2]> {
        (0..self.nodes.len() as u32)
            .flat_map(|n| self.roads_from(n).iter().map(move |road| (n, road)))
            .filter(|(n, road)| road.over.is_some() || *n < road.to)
            .map(|(n, road)| {
                let end = road.over.unwrap_or(self.nodes[road.to as usize]);
                [self.nodes[n as usize], end]
            })
            .collect()
    }

    fn is_optimal(&self) -> bool {
        false
    }

    fn cells(&self) -> Vec<[Point2<f64>; 4]> {
        self.trapezoids()
    }

    fn shortest_path(&self, start: &Point2<f64>, goal: &Point2<f64>) -> Result<Route, RouteError> {
        let start: FreeEnd = free_end(&self.world, End::Start, start)?;
        let goal: FreeEnd = free_end(&self.world, End::Goal, goal)?;
        if start.asked == goal.asked {
            return Ok(Route::point(start.asked));
        }
        let Some((between, expanded)) = self.search(&start.free, &goal.free) else {
            let exact = self
                .exact
                .get_or_init(|| build_roadmap("lazy", Arc::clone(&self.world)).ok());
            return match exact {
                Some(exact) => exact.shortest_path(&start.asked, &goal.asked),
                None => Err(no_path(&self.world, &start.free, &goal.free)),
            };
        };
        let between = between.into_iter().map(|p| (p, None));
        Ok(assemble(&start, &goal, between, expanded))
    }
}

/// Pulls a route taut: leaves out points as long as the straight move past them is free.
/// The result is not longer, keeps both ends, and turns at fewer points.
///
/// From each point that is kept it looks ahead until the view ends, and begins again until
/// nothing can be left out: to look from every point at all others would take hours for a
/// route of thousands of points.
pub fn shorten(world: &PlanarWorld, route: &Route) -> Route {
    let mut keep: Vec<usize> = (0..route.points.len()).collect();
    for _ in 0..MOST_PASSES {
        let before = keep.len();
        keep = taut_pass(world, &route.points, &keep);
        if keep.len() == before {
            break;
        }
    }
    let points: Vec<Point2<f64>> = keep
        .iter()
        .filter_map(|k| route.points.get(*k))
        .copied()
        .collect();
    let obstacles = keep
        .iter()
        .map(|k| route.obstacles.get(*k).cloned().flatten())
        .collect();
    let length = points.windows(2).map(|w| (w[1] - w[0]).norm()).sum();
    Route {
        points,
        obstacles,
        length,
        expanded: route.expanded,
    }
}

/// A few are enough for all but routes that wind around nothing.
const MOST_PASSES: usize = 5;

/// How many points beyond the first that is hidden are looked at.
const LOOK_AHEAD: usize = 8;

/// One walk along the points of a route with these numbers; those that it keeps.
fn taut_pass(world: &PlanarWorld, points: &[Point2<f64>], kept: &[usize]) -> Vec<usize> {
    let mut keep = Vec::new();
    let mut at = 0;
    while let Some(k) = kept.get(at) {
        keep.push(*k);
        let (mut next, mut hidden) = (at + 1, 0);
        for (ahead, j) in kept.iter().enumerate().skip(at + 2) {
            let ends = (points.get(*k), points.get(*j));
            if matches!(ends, (Some(p), Some(q)) if world.segment_is_free(p, q)) {
                next = ahead;
                hidden = 0;
            } else {
                hidden += 1;
                if hidden > LOOK_AHEAD {
                    break;
                }
            }
        }
        at = next;
    }
    keep
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planar::{Obstacle, Polygon, WorldOptions};

    /// Squares on a checkerboard and bars beside each other: corners that touch, and seams.
    fn touching() -> Arc<PlanarWorld> {
        let rectangle = |x: f64, y: f64, w: f64, h: f64| {
            let ring = [(0.0, 0.0), (w, 0.0), (w, h), (0.0, h)];
            let ring = ring.map(|(dx, dy)| Point2::new(x + dx, y + dy));
            Obstacle {
                id: format!("{x} {y}"),
                polygon: Polygon::from_points(&ring).unwrap(),
            }
        };
        let mut obstacles = Vec::new();
        for (i, j) in (0..6).flat_map(|i| (0..6).map(move |j| (i, j))) {
            if (i + j) % 2 == 0 {
                obstacles.push(rectangle(f64::from(i), f64::from(j), 1.0, 1.0));
            }
        }
        for k in 0..5 {
            obstacles.push(rectangle(8.0 + f64::from(k), 1.0, 1.0, 4.0));
        }
        // A closed room, of which one wall is divided.
        obstacles.push(rectangle(15.0, 0.0, 4.0, 1.0));
        obstacles.push(rectangle(15.0, 1.0, 1.0, 4.0));
        obstacles.push(rectangle(15.0, 5.0, 4.0, 1.0));
        obstacles.push(rectangle(18.0, 1.0, 1.0, 2.0));
        obstacles.push(rectangle(18.0, 3.0, 1.0, 2.0));
        let options = WorldOptions {
            contact: Contact::Passable,
            ..WorldOptions::default()
        };
        Arc::new(PlanarWorld::build(obstacles, None, &options).unwrap())
    }

    #[test]
    fn its_own_roads_lead_through_contacts_and_along_seams() {
        let world = touching();
        let map = TrapezoidalRoadmap::new(Arc::clone(&world), &|| false).unwrap();
        map.sanity_check().unwrap();
        let ends = [
            (-1.0, 3.5),
            // In a hole of the checkerboard, on two of its corners, and on an edge.
            (2.5, 3.5),
            (3.0, 3.0),
            (6.0, 0.0),
            (2.0, 2.5),
            // On a seam, in the room, and on the room's seam.
            (10.0, 2.0),
            (17.0, 2.0),
            (18.5, 3.0),
            (20.0, 3.0),
        ]
        .map(|(x, y)| Point2::new(x, y));
        for start in &ends {
            for goal in &ends {
                assert!(map.search(start, goal).is_some(), "{start} to {goal}");
                let route = map.shortest_path(start, goal).unwrap();
                for leg in route.points.windows(2) {
                    assert!(world.segment_is_free(&leg[0], &leg[1]), "{leg:?}");
                }
            }
        }
    }

    #[test]
    fn gives_up_when_asked() {
        let world = touching();
        for patience in [0, 1, 30, 150] {
            let asked = std::cell::Cell::new(0);
            let give_up = || {
                asked.set(asked.get() + 1);
                asked.get() > patience
            };
            assert!(TrapezoidalRoadmap::new(Arc::clone(&world), &give_up).is_none());
            assert_eq!(asked.get(), patience + 1);
        }
    }
}
