//! Trapezoidal map of non-crossing segments by randomised incremental construction
//! \[Seidel1991b\], \[deBerg2008\]: expected O(n log n) to build, O(log n) to locate a point.
//!
//! From every segment end a vertical wall goes up and down to the next segment.
//! Points with the same x are ordered by y (a shear by an infinitely small
//! angle), so that vertical segments and ends above each other are no special
//! cases; some trapezoids then have no width. All decisions are exact.
//!
//! Longer than most files here: map, search structure and insertion share their invariants and are read together.

use std::cmp::Ordering;

use nalgebra::Point2;

use crate::planar::predicates::{orient2d, Orientation};

/// No trapezoid.
pub(crate) const NONE: u32 = u32::MAX;

/// A segment from its left to its right end (vertices).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub left: u32,
    pub right: u32,
}

/// A trapezoid between two segments and two walls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trapezoid {
    /// The segments above and below.
    pub top: u32,
    pub bottom: u32,
    /// The vertices whose walls bound it.
    pub left: u32,
    pub right: u32,
    /// Neighbours through the left wall, above and below the vertex `left`.
    pub left_neighbours: [u32; 2],
    /// Neighbours through the right wall, above and below the vertex `right`.
    pub right_neighbours: [u32; 2],
    /// Its leaf in the search structure; `NONE` when it was replaced.
    leaf: u32,
}

const UPPER: usize = 0;
const LOWER: usize = 1;

#[derive(Debug, Clone, Copy)]
enum Node {
    /// Left or right of a vertex.
    Vertex {
        vertex: u32,
        left: u32,
        right: u32,
    },
    /// Above or below a segment.
    Segment {
        segment: u32,
        above: u32,
        below: u32,
    },
    Leaf(u32),
}

/// The map with its search structure.
#[derive(Debug, Clone)]
pub(crate) struct TrapezoidMap {
    pub points: Vec<Point2<f64>>,
    /// The last two are the bottom and the top of the box around everything.
    pub segments: Vec<Segment>,
    trapezoids: Vec<Trapezoid>,
    nodes: Vec<Node>,
}

/// Left to right, points above each other from below.
pub(crate) fn compare(a: &Point2<f64>, b: &Point2<f64>) -> Ordering {
    a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y))
}

impl TrapezoidMap {
    /// Builds the map of segments (pairs of vertices, which meet only at their ends) inside
    /// the box from `low` to `high`, which holds all points strictly. The seed decides the
    /// order of insertion. `None` if the caller gives up.
    pub fn new(
        mut points: Vec<Point2<f64>>,
        pairs: &[[u32; 2]],
        low: Point2<f64>,
        high: Point2<f64>,
        seed: u64,
        give_up: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let mut segments: Vec<Segment> = pairs
            .iter()
            .map(
                |&[a, b]| match compare(&points[a as usize], &points[b as usize]) {
                    Ordering::Greater => Segment { left: b, right: a },
                    _ => Segment { left: a, right: b },
                },
            )
            .collect();
        let first = points.len() as u32;
        points.extend([
            low,
            Point2::new(high.x, low.y),
            Point2::new(low.x, high.y),
            high,
        ]);
        let bottom = segments.len() as u32;
        segments.push(Segment {
            left: first,
            right: first + 1,
        });
        segments.push(Segment {
            left: first + 2,
            right: first + 3,
        });
        let mut map = TrapezoidMap {
            points,
            segments,
            trapezoids: Vec::with_capacity(pairs.len() * 4 + 1),
            nodes: Vec::with_capacity(pairs.len() * 8 + 1),
        };
        // Its walls run through the box's corners.
        map.push(bottom + 1, bottom, first, first + 3);
        for s in shuffled(bottom, seed) {
            if give_up() {
                return None;
            }
            map.insert(s);
        }
        Some(map)
    }

    /// All trapezoids with their numbers.
    pub fn trapezoids(&self) -> impl Iterator<Item = (u32, &Trapezoid)> {
        (0u32..)
            .zip(&self.trapezoids)
            .filter(|(_, t)| t.leaf != NONE)
    }

    pub fn trapezoid(&self, t: u32) -> &Trapezoid {
        &self.trapezoids[t as usize]
    }

    fn point(&self, v: u32) -> &Point2<f64> {
        &self.points[v as usize]
    }

    /// On which side of a segment a point lies: left means above.
    fn side(&self, segment: u32, p: &Point2<f64>) -> Orientation {
        let s = self.segments[segment as usize];
        orient2d(self.point(s.left), self.point(s.right), p)
    }

    /// All trapezoids that `p` lies in or on the rim of (for a vertex: all around it that
    /// have it as an end of their segments).
    pub fn locate(&self, p: &Point2<f64>, found: &mut Vec<u32>) {
        found.clear();
        let mut stack = vec![0u32];
        while let Some(n) = stack.pop() {
            match self.nodes[n as usize] {
                Node::Leaf(t) => found.push(t),
                Node::Vertex {
                    vertex,
                    left,
                    right,
                } => {
                    let order = compare(p, self.point(vertex));
                    if order.is_le() {
                        stack.push(left);
                    }
                    if order.is_ge() {
                        stack.push(right);
                    }
                }
                Node::Segment {
                    segment,
                    above,
                    below,
                } => {
                    let side = self.side(segment, p);
                    if side != Orientation::Right {
                        stack.push(above);
                    }
                    if side != Orientation::Left {
                        stack.push(below);
                    }
                }
            }
        }
        found.sort_unstable();
        found.dedup();
    }

    fn push(&mut self, top: u32, bottom: u32, left: u32, right: u32) -> u32 {
        let t = self.trapezoids.len() as u32;
        let leaf = self.nodes.len() as u32;
        self.nodes.push(Node::Leaf(t));
        self.trapezoids.push(Trapezoid {
            top,
            bottom,
            left,
            right,
            left_neighbours: [NONE; 2],
            right_neighbours: [NONE; 2],
            leaf,
        });
        t
    }

    /// The trapezoid in which segment `s` starts.
    fn first_of(&self, s: u32) -> u32 {
        let Segment { left, right } = self.segments[s as usize];
        let (p, q) = (self.point(left), self.point(right));
        let mut n = 0u32;
        loop {
            n = match self.nodes[n as usize] {
                Node::Leaf(t) => return t,
                Node::Vertex {
                    vertex,
                    left,
                    right,
                } => {
                    if compare(p, self.point(vertex)).is_lt() {
                        left
                    } else {
                        right
                    }
                }
                Node::Segment {
                    segment,
                    above,
                    below,
                } => {
                    // Two segments from the same left end: the one that turns up is above.
                    let side = match self.side(segment, p) {
                        Orientation::Collinear => self.side(segment, q),
                        side => side,
                    };
                    if side == Orientation::Left {
                        above
                    } else {
                        below
                    }
                }
            };
        }
    }

    /// The trapezoids that segment `s` runs through, from left to right.
    fn crossed_by(&self, s: u32) -> Vec<u32> {
        let q = self.point(self.segments[s as usize].right);
        let mut crossed = vec![self.first_of(s)];
        while let Some(t) = crossed.last().map(|t| self.trapezoid(*t)) {
            let end = self.point(t.right);
            if compare(q, end).is_le() {
                break;
            }
            let next = if self.side(s, end) == Orientation::Left {
                t.right_neighbours[LOWER]
            } else {
                t.right_neighbours[UPPER]
            };
            if next == NONE {
                // Cannot be while segments meet only at their ends.
                break;
            }
            crossed.push(next);
        }
        crossed
    }

    /// Lets `t` see `neighbour` through its left wall, and be seen by it instead of `old`.
    fn join_left(&mut self, t: u32, side: usize, neighbour: u32, old: u32) {
        self.trapezoids[t as usize].left_neighbours[side] = neighbour;
        if neighbour != NONE {
            for n in &mut self.trapezoids[neighbour as usize].right_neighbours {
                if *n == old {
                    *n = t;
                }
            }
        }
    }

    /// The same through the right wall.
    fn join_right(&mut self, t: u32, side: usize, neighbour: u32, old: u32) {
        self.trapezoids[t as usize].right_neighbours[side] = neighbour;
        if neighbour != NONE {
            for n in &mut self.trapezoids[neighbour as usize].left_neighbours {
                if *n == old {
                    *n = t;
                }
            }
        }
    }

    /// Makes two trapezoids neighbours: `a` left of `b`.
    fn link(&mut self, a: u32, a_side: usize, b: u32, b_side: usize) {
        self.trapezoids[a as usize].right_neighbours[a_side] = b;
        self.trapezoids[b as usize].left_neighbours[b_side] = a;
    }

    fn insert(&mut self, s: u32) {
        let Segment { left: p, right: q } = self.segments[s as usize];
        let crossed = self.crossed_by(s);
        let (Some(&first), Some(&last)) = (crossed.first(), crossed.last()) else {
            return;
        };
        let start = self.trapezoids[first as usize];
        let mut upper = self.push(start.top, s, p, start.right);
        let mut lower = self.push(s, start.bottom, p, start.right);
        let mut before = NONE;
        if start.left == p {
            self.join_left(upper, UPPER, start.left_neighbours[UPPER], first);
            self.join_left(lower, LOWER, start.left_neighbours[LOWER], first);
        } else {
            before = self.push(start.top, start.bottom, start.left, p);
            for side in [UPPER, LOWER] {
                self.join_left(before, side, start.left_neighbours[side], first);
            }
            self.link(before, UPPER, upper, UPPER);
            self.link(before, LOWER, lower, LOWER);
        }
        // The parts above and below the segment in each crossed trapezoid.
        let mut parts = vec![(upper, lower)];
        for pair in crossed.windows(2) {
            let (old, new) = (
                self.trapezoids[pair[0] as usize],
                self.trapezoids[pair[1] as usize],
            );
            let wall = old.right;
            if self.side(s, self.point(wall)) == Orientation::Left {
                let next = self.push(new.top, s, wall, new.right);
                self.trapezoids[upper as usize].right = wall;
                self.link(upper, LOWER, next, LOWER);
                self.join_right(upper, UPPER, old.right_neighbours[UPPER], pair[0]);
                self.join_left(next, UPPER, new.left_neighbours[UPPER], pair[1]);
                upper = next;
            } else {
                let next = self.push(s, new.bottom, wall, new.right);
                self.trapezoids[lower as usize].right = wall;
                self.link(lower, UPPER, next, UPPER);
                self.join_right(lower, LOWER, old.right_neighbours[LOWER], pair[0]);
                self.join_left(next, LOWER, new.left_neighbours[LOWER], pair[1]);
                lower = next;
            }
            parts.push((upper, lower));
        }
        let end = self.trapezoids[last as usize];
        let mut after = NONE;
        self.trapezoids[upper as usize].right = q;
        self.trapezoids[lower as usize].right = q;
        if end.right == q {
            self.join_right(upper, UPPER, end.right_neighbours[UPPER], last);
            self.join_right(lower, LOWER, end.right_neighbours[LOWER], last);
        } else {
            after = self.push(end.top, end.bottom, q, end.right);
            for side in [UPPER, LOWER] {
                self.join_right(after, side, end.right_neighbours[side], last);
            }
            self.link(upper, UPPER, after, UPPER);
            self.link(lower, LOWER, after, LOWER);
        }
        self.replace(s, &crossed, &parts, before, after);
    }

    /// Puts the new trapezoids where the crossed ones were in the search structure.
    fn replace(&mut self, s: u32, crossed: &[u32], parts: &[(u32, u32)], before: u32, after: u32) {
        let Segment { left: p, right: q } = self.segments[s as usize];
        for (k, (t, (upper, lower))) in crossed.iter().zip(parts).enumerate() {
            let leaf = self.trapezoids[*t as usize].leaf;
            self.trapezoids[*t as usize].leaf = NONE;
            let leaf_of = |map: &Self, t: u32| map.trapezoids[t as usize].leaf;
            let mut node = Node::Segment {
                segment: s,
                above: leaf_of(self, *upper),
                below: leaf_of(self, *lower),
            };
            if k + 1 == crossed.len() && after != NONE {
                let left = self.nodes.len() as u32;
                self.nodes.push(node);
                node = Node::Vertex {
                    vertex: q,
                    left,
                    right: leaf_of(self, after),
                };
            }
            if k == 0 && before != NONE {
                let right = self.nodes.len() as u32;
                self.nodes.push(node);
                node = Node::Vertex {
                    vertex: p,
                    left: leaf_of(self, before),
                    right,
                };
            }
            self.nodes[leaf as usize] = node;
        }
    }

    /// Height at which segment `s` passes the wall of vertex `v`, rounded.
    pub fn height(&self, s: u32, v: u32) -> f64 {
        let Segment { left, right } = self.segments[s as usize];
        if v == left || v == right {
            return self.point(v).y;
        }
        let (a, b, p) = (self.point(left), self.point(right), self.point(v));
        let (low, high) = (a.y.min(b.y), a.y.max(b.y));
        if a.x == b.x {
            return p.y.clamp(low, high);
        }
        (a.y + (b.y - a.y) * ((p.x - a.x) / (b.x - a.x))).clamp(low, high)
    }

    /// Checks that neighbours know each other and that the trapezoids are well formed.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn sanity_check(&self) -> Result<(), String> {
        for (i, t) in self.trapezoids() {
            if compare(self.point(t.left), self.point(t.right)).is_ge() {
                return Err(format!("trapezoid {i} has no inside"));
            }
            for n in t.right_neighbours.iter().filter(|n| **n != NONE) {
                let other = self.trapezoid(*n);
                if other.leaf == NONE || !other.left_neighbours.contains(&i) {
                    return Err(format!("trapezoid {i} is not known to {n} on its right"));
                }
                if other.left != t.right {
                    return Err(format!("trapezoids {i} and {n} have no wall in common"));
                }
            }
            for n in t.left_neighbours.iter().filter(|n| **n != NONE) {
                if !self.trapezoid(*n).right_neighbours.contains(&i) {
                    return Err(format!("trapezoid {i} is not known to {n} on its left"));
                }
            }
        }
        Ok(())
    }
}

/// The numbers below `count` in an order that the seed decides.
fn shuffled(count: u32, mut seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    for k in (1..order.len()).rev() {
        // SplitMix64 [Steele2014].
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        order.swap(k, (z % (k as u64 + 1)) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The segments directly above and below a point that is on none, by looking at all.
    fn around(map: &TrapezoidMap, p: &Point2<f64>) -> (u32, u32) {
        let spans = |s: &u32| {
            let Segment { left, right } = map.segments[*s as usize];
            compare(map.point(left), p).is_lt() && compare(p, map.point(right)).is_lt()
        };
        let all = || (0..map.segments.len() as u32).filter(spans);
        // Of two segments that the same wall meets, which one is lower.
        let lower = |s: &u32, t: &u32| {
            let [a, b] = [*s, *t].map(|k| map.segments[k as usize]);
            let mut sides = vec![];
            for (other, v) in [(*t, a.left), (*t, a.right)] {
                sides.push(map.side(other, map.point(v)));
            }
            for (other, v) in [(*s, b.left), (*s, b.right)] {
                sides.push(map.side(other, map.point(v)).reversed());
            }
            // An end within the other's span decides; ends outside it may not.
            let within = [(a.left, b), (a.right, b), (b.left, a), (b.right, a)].map(|(v, o)| {
                let q = map.point(v);
                compare(map.point(o.left), q).is_le() && compare(q, map.point(o.right)).is_le()
            });
            let side = sides
                .iter()
                .zip(within)
                .find(|(side, within)| *within && **side != Orientation::Collinear)
                .map(|(side, _)| *side);
            match side {
                Some(Orientation::Left) => Ordering::Greater,
                _ => Ordering::Less,
            }
        };
        let above = all()
            .filter(|s| map.side(*s, p) == Orientation::Right)
            .min_by(lower)
            .unwrap();
        let below = all()
            .filter(|s| map.side(*s, p) == Orientation::Left)
            .max_by(lower)
            .unwrap();
        (above, below)
    }

    #[test]
    fn locates_as_looking_at_all_segments_does() {
        // Squares on a lattice: many ends above each other, vertical segments, shared ends.
        let mut points = Vec::new();
        let mut pairs = Vec::new();
        for i in 0..4u32 {
            for j in 0..4u32 {
                let first = points.len() as u32;
                let (x, y) = (f64::from(i) * 3.0, f64::from(j) * 3.0);
                let tilt = if (i + j) % 3 == 0 { 0.5 } else { 0.0 };
                points.extend([
                    Point2::new(x, y),
                    Point2::new(x + 2.0, y + tilt),
                    Point2::new(x + 2.0 - tilt, y + 2.0),
                    Point2::new(x, y + 2.0),
                ]);
                pairs.extend((0..4).map(|k| [first + k, first + (k + 1) % 4]));
            }
        }
        for seed in 0..20 {
            let map = TrapezoidMap::new(
                points.clone(),
                &pairs,
                Point2::new(-1.0, -1.0),
                Point2::new(12.0, 12.0),
                seed,
                &|| false,
            )
            .unwrap();
            map.sanity_check().unwrap();
            let mut found = Vec::new();
            for i in -3..47 {
                for j in -3..47 {
                    let p = Point2::new(f64::from(i) / 4.0 + 0.01, f64::from(j) / 4.0 + 0.013);
                    map.locate(&p, &mut found);
                    assert_eq!(found.len(), 1);
                    let t = map.trapezoid(found[0]);
                    assert_eq!((t.top, t.bottom), around(&map, &p), "{p}, seed {seed}");
                    assert!(compare(map.point(t.left), &p).is_lt());
                    assert!(compare(&p, map.point(t.right)).is_lt());
                }
            }
        }
    }
}
