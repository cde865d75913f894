//! A* \[Hart1968\] over taut edges, stored or found on the way.
//!
//! A shortest path bends around the obstacle in every corner. So from a corner only
//! those edges are followed that go on around the obstacle by which the path came:
//! most neighbours are never reached, and a search without a stored graph looks only
//! into the narrow cone between straight ahead and the obstacle.

use nalgebra::{Point2, Vector2};

use crate::planar::gaze::Gaze;
use crate::planar::predicates::{orient2d, Orientation};
use crate::planar::sector::Turn;
use crate::planar::triangulation::{Place, Region, SightStack, WANTED};

use super::ends::look_around;
use super::frontier::{Entry, Frontier, Scratch, State};
use super::search::Found;
use super::taut::{TautRoadmap, NONE};

/// Where a search begins or ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terminal {
    pub point: Point2<f64>,
    /// Its triangle, if it is known to lie strictly in free space.
    place: Option<Place>,
    /// Whether what it sees is asked of the world, not of the triangles.
    by_segments: bool,
}

impl Terminal {
    pub fn new(point: Point2<f64>, place: Option<Place>) -> Self {
        Terminal {
            point,
            place,
            by_segments: false,
        }
    }

    /// The same without the merged outlines: next to one of their rounded pieces a free point
    /// may lie on its wrong side.
    pub fn by_segments(&self) -> Self {
        Terminal {
            by_segments: true,
            ..*self
        }
    }
}

/// On which side of a path the obstacle lies that it goes around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hand {
    Left,
    Right,
    /// Not known, or on none: every direction is good.
    Any,
}

/// Sines below this decide nothing. Far above rounding, far below what would cost time.
const UNSURE: f64 = 1e-9;

/// Ways up to this multiple of the straight distance are looked for first, and then up to that
/// multiple of the last limit.
const FIRST_LIMIT: f64 = 1.03;
const NEXT_LIMIT: f64 = 1.1;

/// How a path comes into a corner.
struct Arrival {
    from: Point2<f64>,
    at: Point2<f64>,
    along: Vector2<f64>,
    /// Length of `along`.
    length: f64,
    /// Into the obstacle.
    inward: Vector2<f64>,
    hand: Hand,
}

impl Arrival {
    fn new(from: Point2<f64>, at: Point2<f64>, turn: &Turn) -> Self {
        let along = at - from;
        let length = along.norm();
        let inward = match turn {
            Turn::Any => Vector2::zeros(),
            Turn::Around(sector) => bisector(&(sector.from - at), &(sector.to - at)),
        };
        let side = along.perp(&inward);
        let hand = if side > UNSURE * length {
            Hand::Left
        } else if side < -UNSURE * length {
            Hand::Right
        } else {
            Hand::Any
        };
        Arrival {
            from,
            at,
            along,
            length,
            inward,
            hand,
        }
    }

    /// Whether a path that goes on along `ahead` (of this length) could surely be shortened
    /// here: it turns away from the obstacle, or has it on the other hand.
    #[inline]
    fn is_slack(&self, ahead: &Vector2<f64>, length: f64) -> bool {
        let sign = match self.hand {
            Hand::Left => 1.0,
            Hand::Right => -1.0,
            Hand::Any => return false,
        };
        sign * self.along.perp(ahead) < -UNSURE * self.length * length
            || sign * ahead.perp(&self.inward) < -UNSURE * length
    }

    /// The same for points that need not be looked at, as convex regions.
    #[inline]
    fn region(&self, turn: &Turn, q: &Point2<f64>) -> Region {
        let Turn::Around(sector) = turn else {
            return WANTED;
        };
        let (away, edge, beyond) = match self.hand {
            Hand::Left => (Orientation::Right, &sector.from, Orientation::Left),
            Hand::Right => (Orientation::Left, &sector.to, Orientation::Right),
            Hand::Any => return WANTED,
        };
        if orient2d(&self.from, &self.at, q) == away {
            AWAY
        } else if orient2d(&self.at, edge, q) == beyond {
            BEYOND
        } else {
            WANTED
        }
    }
}

/// Regions on the free side of straight ahead, and beyond the obstacle's edge.
const AWAY: Region = 3;
const BEYOND: Region = 4;

/// A vector into the middle of the turn from `a` counter-clockwise to `b`, of half a turn at
/// most.
fn bisector(a: &Vector2<f64>, b: &Vector2<f64>) -> Vector2<f64> {
    let (a, b) = (a.normalize(), b.normalize());
    let across = a - b;
    // The sum vanishes for half a turn, what is across for none.
    a + b + Vector2::new(-across.y, across.x)
}

impl TautRoadmap {
    /// Calls `found` with a node that is the outline vertex `v` and that a free point sees along
    /// a tangent, and its distance.
    #[inline]
    fn link(&self, p: &Point2<f64>, v: u32, mut found: impl FnMut(u32, f64)) {
        if let Some(&i) = self.node_of.get(v as usize) {
            if i != NONE && self.turns[i as usize].is_taut(&self.points[i as usize], p) {
                found(i, (self.points[i as usize] - p).norm());
            }
        }
    }

    /// Calls `found` with nodes that a free point sees along their tangents: with all of them, or
    /// with the first ones; `gaze` knows the others.
    fn first_links(&self, end: &Terminal, gaze: &mut Gaze, mut found: impl FnMut(u32, f64)) {
        let p = &end.point;
        if end.by_segments {
            for (i, (q, turn)) in (0u32..).zip(self.points.iter().zip(&self.turns)) {
                if q != p && turn.is_taut(q, p) && self.world.open_segment_is_free(p, q) {
                    found(i, (q - p).norm());
                }
            }
            return;
        }
        let add = |v: u32| self.link(p, v, &mut found);
        match end.place.or_else(|| self.triangulation.place(p)) {
            Some(place) => self.triangulation.begin_gaze(&place, gaze, add),
            // On an outline or far outside: the sweep knows all cases. As through triangles, sight
            // ends at the first vertex (but not at one that was displaced by rounding).
            None => {
                let nearest_only = !self.world.arrangement().is_rounded();
                look_around(&self.world, p, nearest_only, add);
            }
        }
    }

    /// The shortest way between two free points that do not see each other.
    pub(super) fn find(&self, start: &Terminal, goal: &Terminal) -> Option<Found> {
        let mut scratch = self.pool.take();
        let found = self.find_with(&mut scratch, start, goal);
        self.pool.give_back(scratch);
        found
    }

    fn find_with(&self, scratch: &mut Scratch, start: &Terminal, goal: &Terminal) -> Option<Found> {
        scratch.begin(self.points.len());
        let Scratch {
            stamp,
            states,
            heap,
            stack,
            from_start,
            from_goal,
        } = scratch;
        let mut frontier = Frontier {
            points: &self.points,
            goal: goal.point,
            stamp: *stamp,
            states,
            heap,
            best: f64::INFINITY,
            last: NONE,
        };
        self.first_links(goal, from_goal, |i, d| frontier.reach_goal(i, d));
        self.first_links(start, from_start, |i, d| {
            frontier.reach(i, d, NONE, |_| false);
        });
        // Ways of this length are looked for; longer ones when there is none.
        let mut limit = (goal.point - start.point).norm() * FIRST_LIMIT;
        let mut expanded = 0;
        loop {
            let (s, g) = (&start.point, &goal.point);
            self.triangulation.gaze(g, s, limit, from_goal, stack, |v| {
                self.link(g, v, |i, d| frontier.reach_goal(i, d));
            });
            self.triangulation
                .gaze(s, g, limit, from_start, stack, |v| {
                    self.link(s, v, |i, d| frontier.reach(i, d, NONE, |_| false));
                });
            while let Some(entry) = frontier.next_before(limit) {
                expanded += usize::from(self.expand(entry, &mut frontier, s, stack));
            }
            if frontier.best <= limit {
                break;
            }
            let waiting = from_start.next_bound().min(from_goal.next_bound());
            let next = waiting.min(frontier.heap.peek().map_or(f64::INFINITY, |e| e.estimate));
            if next == f64::INFINITY && limit == f64::INFINITY {
                break;
            }
            // With a way at hand all that could be shorter is looked at once.
            limit = next.max(limit * NEXT_LIMIT).min(frontier.best);
        }
        if frontier.last == NONE {
            return None;
        }
        let mut nodes = Vec::new();
        let mut at = frontier.last;
        while at != NONE {
            nodes.push(at);
            at = frontier.state(at).parent;
        }
        nodes.reverse();
        Some(Found {
            nodes,
            length: frontier.best,
            expanded,
        })
    }

    /// Goes on from a node; says `false` if there was a shorter way to it.
    fn expand(
        &self,
        entry: Entry,
        frontier: &mut Frontier<'_>,
        start: &Point2<f64>,
        stack: &mut SightStack,
    ) -> bool {
        let node = entry.node;
        let state = frontier.state(node);
        if entry.reached > state.best || std::mem::replace(&mut state.is_done, true) {
            return false;
        }
        let State {
            parent,
            best,
            to_goal,
            ..
        } = *state;
        let at = self.points[node as usize];
        let turn = &self.turns[node as usize];
        let from = match parent {
            NONE => *start,
            parent => self.points[parent as usize],
        };
        let arrival = Arrival::new(from, at, turn);
        if to_goal.is_finite() && !arrival.is_slack(&(frontier.goal - at), to_goal) {
            frontier.arrive(node, best + to_goal);
        }
        let mut reach = |next: u32, length: f64| {
            frontier.reach(next, best + length, node, |q| {
                arrival.is_slack(&(q - at), length)
            });
        };
        match &self.graph {
            Some(graph) => graph.neighbours(node).for_each(|(n, w)| reach(n, w)),
            None => {
                let region = |_: &Point2<f64>, q: &Point2<f64>| arrival.region(turn, q);
                self.seen_by_node(node, region, stack, |j| {
                    reach(j, (self.points[j as usize] - at).norm());
                });
                self.seams.neighbours(node).for_each(|(n, w)| reach(n, w));
            }
        }
        true
    }
}
