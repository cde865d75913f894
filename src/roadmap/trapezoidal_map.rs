//! The road map of the trapezoidal map: from the centre of every free trapezoid
//! to the middle of every wall that it shares with another one \[deBerg2008\].
//!
//! A path goes straight to the centre of the start's trapezoid, by breadth-first
//! search along the map, and straight to the goal; within one trapezoid it is the
//! straight line. It is not the shortest one, keeps off obstacles where there is
//! room, and is found in time linear in the map. [`shorten`] pulls it taut.
//!
//! Contacts between obstacles are never slipped through, whatever the contact
//! rule: seams have no trapezoids.

use std::collections::VecDeque;
use std::sync::Arc;

use nalgebra::Point2;

use crate::planar::PlanarWorld;

use super::ends::{assemble, free_end, no_path, FreeEnd};
use super::trapezoid::{TrapezoidMap, NONE};
use super::{End, Roadmap, Route, RouteError};

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
    /// Centre of every free trapezoid.
    centers: Vec<Point2<f64>>,
    /// The road-map number of every trapezoid, `NONE` for blocked ones.
    number: Vec<u32>,
    /// Roads from each centre over a wall's middle to another centre, flat.
    start: Vec<u32>,
    roads: Vec<(u32, Point2<f64>)>,
}

impl TrapezoidalRoadmap {
    /// Builds map and roads.
    pub fn new(world: Arc<PlanarWorld>) -> Self {
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
                let to_right =
                    super::trapezoid::compare(&points[a as usize], &points[b as usize]).is_lt();
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
        let map = TrapezoidMap::new(points, &pairs, low, high, SEED);
        let outside_is_blocked = world.boundary().is_some();
        let blocked = |segment: u32, side: usize| {
            sides
                .get(segment as usize)
                .map_or(outside_is_blocked, |s| s.1[side])
        };
        let mut this = TrapezoidalRoadmap {
            world,
            low,
            high,
            centers: Vec::new(),
            number: Vec::new(),
            start: vec![0],
            roads: Vec::new(),
            pairs,
            map,
        };
        let mut free = Vec::new();
        for (t, trapezoid) in this.map.trapezoids() {
            if !blocked(trapezoid.bottom, 0) && !blocked(trapezoid.top, 1) {
                free.push(t);
            }
        }
        this.number = vec![NONE; free.last().map_or(0, |t| *t as usize + 1)];
        for (k, t) in (0u32..).zip(&free) {
            this.number[*t as usize] = k;
            this.centers.push(this.center(*t));
        }
        for (k, &t) in free.iter().enumerate() {
            let trapezoid = *this.map.trapezoid(t);
            let right = trapezoid
                .right_neighbours
                .iter()
                .map(|n| (*n, trapezoid.right, [t, *n]));
            let left = trapezoid
                .left_neighbours
                .iter()
                .map(|n| (*n, trapezoid.left, [*n, t]));
            for (neighbour, wall, sides) in right.chain(left) {
                let Some(other) = this.node(neighbour) else {
                    continue;
                };
                if let Some(middle) = this.middle(wall, sides) {
                    let (from, to) = (this.centers[k], this.centers[other as usize]);
                    // Rounding could only spoil roads through trapezoids of no size.
                    if this.world.open_segment_is_free(&from, &middle)
                        && this.world.open_segment_is_free(&middle, &to)
                    {
                        this.roads.push((other, middle));
                    }
                }
            }
            this.start.push(this.roads.len() as u32);
        }
        this
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
        for (n, center) in self.centers.iter().enumerate() {
            for (other, middle) in &self.roads[self.start[n] as usize..self.start[n + 1] as usize] {
                if !self.world.segment_is_free(center, middle) {
                    return Err(format!("the road from {n} to {other} is not free"));
                }
                let back =
                    self.start[*other as usize] as usize..self.start[*other as usize + 1] as usize;
                if !self.roads[back]
                    .iter()
                    .any(|(m, q)| *m as usize == n && q == middle)
                {
                    return Err(format!("the road from {n} to {other} does not lead back"));
                }
            }
        }
        Ok(())
    }

    /// Free trapezoids around a point.
    fn around(&self, p: &Point2<f64>) -> Vec<u32> {
        let mut found = Vec::new();
        self.map.locate(p, &mut found);
        let nodes: Vec<u32> = found.iter().filter_map(|t| self.node(*t)).collect();
        if !nodes.is_empty() {
            return nodes;
        }
        // On an edge that rounding has bent away: the trapezoids along its pieces.
        let edges = self.world.arrangement().edges();
        let segments: Vec<u32> = self
            .world
            .displaced_edges(p)
            .iter()
            .map(|e| edges[*e as usize].ends)
            .filter_map(|[a, b]| self.pairs.binary_search(&[a.min(b), a.max(b)]).ok())
            .map(|s| s as u32)
            .collect();
        let x = |v: u32| self.map.points[v as usize].x;
        self.map
            .trapezoids()
            .filter(|(_, t)| segments.contains(&t.top) || segments.contains(&t.bottom))
            .filter(|(_, t)| x(t.left) <= p.x && p.x <= x(t.right))
            .filter_map(|(t, _)| self.node(t))
            .collect()
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
        let free = |a: &Point2<f64>, b: &Point2<f64>| self.world.open_segment_is_free(a, b);
        if sources.iter().any(|s| targets.contains(s)) && free(start, goal) {
            return Some((Vec::new(), 0));
        }
        let center = |n: u32| &self.centers[n as usize];
        let mut came: Vec<Option<(u32, Point2<f64>)>> = vec![None; self.centers.len()];
        let mut seen = vec![false; self.centers.len()];
        let mut queue = VecDeque::new();
        for s in sources {
            if from == *center(s) || free(&from, center(s)) {
                seen[s as usize] = true;
                queue.push_back(s);
            }
        }
        let mut expanded = 0;
        while let Some(n) = queue.pop_front() {
            expanded += 1;
            if targets.contains(&n) && (to == *center(n) || free(center(n), &to)) {
                let mut way = vec![to, *center(n)];
                let mut at = n;
                while let Some((before, middle)) = came[at as usize] {
                    way.extend([middle, *center(before)]);
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
            let range = self.start[n as usize] as usize..self.start[n as usize + 1] as usize;
            for &(next, middle) in &self.roads[range] {
                if !seen[next as usize] {
                    seen[next as usize] = true;
                    came[next as usize] = Some((n, middle));
                    queue.push_back(next);
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
        // Centres, and a middle for each wall, which two roads share.
        self.centers.len() + self.roads.len() / 2
    }

    fn edge_count(&self) -> usize {
        self.roads.len()
    }

    fn edge_list(&self) -> Vec<[Point2<f64>; 2]> {
        self.start
            .windows(2)
            .zip(&self.centers)
            .flat_map(|(range, center)| {
                self.roads[range[0] as usize..range[1] as usize]
                    .iter()
                    .map(|(_, middle)| [*center, *middle])
            })
            .collect()
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
        let (between, expanded) = self
            .search(&start.free, &goal.free)
            .ok_or_else(|| no_path(&self.world, &start.free, &goal.free))?;
        let between = between.into_iter().map(|p| (p, None));
        Ok(assemble(&start, &goal, between, expanded))
    }
}

/// Pulls a route taut: leaves out points as long as the straight move past them is free.
/// The result is not longer, keeps both ends, and turns at fewer points.
pub fn shorten(world: &PlanarWorld, route: &Route) -> Route {
    let mut keep: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(p) = route.points.get(at) {
        keep.push(at);
        let farthest = (at + 2..route.points.len())
            .rev()
            .find(|k| world.segment_is_free(p, &route.points[*k]));
        at = farthest.unwrap_or(at + 1);
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
