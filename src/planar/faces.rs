//! The faces between the pieces of all bodies' edges, and how many bodies cover each.
//!
//! The count is found once for every connected part from a ray, then carried
//! from face to face across the pieces; so it is right however thin a face is.
//!
//! Longer than most files here: half of it are the cases of its tests.

use nalgebra::Point2;
use smallvec::SmallVec;

use super::arrangement::{Arrangement, Edge, Vertex};
use super::bodies::{Bodies, Kind};
use super::grid::Grid;
use super::predicates::{compare_angle, on_segment, ray_crosses};
use super::sector::{Contact, Fan, Sector};
use super::subdivision::Subdivision;

/// All pieces between the same two vertices.
#[derive(Debug, Clone)]
struct Group {
    low: u32,
    high: u32,
    /// How many bodies lie to the left of `low → high`, and of `high → low`, because of it.
    left: i32,
    right: i32,
    /// Whether there are only walls without thickness.
    is_wall: bool,
    /// Range of its pieces in `order`.
    pieces: (u32, u32),
}

/// The planar graph of the pieces. Half-edge `2 g` goes from the lower to the higher vertex of
/// group `g`, half-edge `2 g + 1` back.
pub(crate) struct Faces {
    groups: Vec<Group>,
    /// Pieces sorted by groups.
    order: Vec<u32>,
    /// Half-edges that leave each vertex, counter-clockwise from +x, flat.
    start: Vec<u32>,
    around: Vec<u32>,
    /// Place of each half-edge in `around`.
    place: Vec<u32>,
    /// How many bodies cover the face to the left of each half-edge.
    cover: Vec<i32>,
}

impl Faces {
    pub fn new(bodies: &Bodies, subdivision: &Subdivision) -> Self {
        let (points, pieces) = (&subdivision.points, &subdivision.pieces);
        let mut order: Vec<u32> = (0..pieces.len() as u32).collect();
        order.sort_unstable_by_key(|i| (pieces[*i as usize].ends(), pieces[*i as usize].body, *i));
        let mut groups = Vec::new();
        let mut at = 0;
        for chunk in order.chunk_by(|i, j| pieces[*i as usize].ends() == pieces[*j as usize].ends())
        {
            let (low, high) = pieces[chunk[0] as usize].ends();
            // A body whose outline comes back on itself here lies on neither side.
            let (mut left, mut right, mut is_wall) = (0, 0, false);
            for body in chunk.chunk_by(|i, j| pieces[*i as usize].body == pieces[*j as usize].body)
            {
                is_wall |= bodies.bodies[pieces[body[0] as usize].body as usize].kind == Kind::Wall;
                let forward = body
                    .iter()
                    .filter(|i| pieces[**i as usize].from == low)
                    .count() as i32;
                let net = 2 * forward - body.len() as i32;
                left += net.max(0);
                right += (-net).max(0);
            }
            let end = at + chunk.len() as u32;
            groups.push(Group {
                low,
                high,
                left,
                right,
                is_wall: is_wall && left == 0 && right == 0,
                pieces: (at, end),
            });
            at = end;
        }
        let mut start = vec![0u32; points.len() + 1];
        for group in &groups {
            start[group.low as usize + 1] += 1;
            start[group.high as usize + 1] += 1;
        }
        for k in 1..start.len() {
            start[k] += start[k - 1];
        }
        let mut fill = start.clone();
        let mut around = vec![0u32; groups.len() * 2];
        for (g, group) in (0u32..).zip(&groups) {
            for (half, v) in [(2 * g, group.low), (2 * g + 1, group.high)] {
                around[fill[v as usize] as usize] = half;
                fill[v as usize] += 1;
            }
        }
        let mut faces = Faces {
            cover: vec![0; groups.len() * 2],
            place: vec![0; groups.len() * 2],
            groups,
            order,
            start,
            around,
        };
        for v in 0..points.len() {
            let range = faces.range(v as u32);
            let center = points[v];
            let mut star = faces.around[range.clone()].to_vec();
            star.sort_by(|a, b| {
                let [a, b] = [a, b].map(|h| points[faces.target(*h) as usize]);
                compare_angle(&center, &a, &b)
            });
            for (k, half) in range.zip(star) {
                faces.around[k] = half;
                faces.place[half as usize] = k as u32;
            }
        }
        faces
    }

    fn range(&self, v: u32) -> std::ops::Range<usize> {
        self.start[v as usize] as usize..self.start[v as usize + 1] as usize
    }

    fn source(&self, half: u32) -> u32 {
        let group = &self.groups[half as usize / 2];
        if half.is_multiple_of(2) {
            group.low
        } else {
            group.high
        }
    }

    fn target(&self, half: u32) -> u32 {
        self.source(half ^ 1)
    }

    /// How many bodies lie to the left of a half-edge because of its own pieces.
    fn own_left(&self, half: u32) -> i32 {
        let group = &self.groups[half as usize / 2];
        if half.is_multiple_of(2) {
            group.left
        } else {
            group.right
        }
    }

    /// The next half-edge along the face to the left.
    fn next(&self, half: u32) -> u32 {
        let range = self.range(self.target(half));
        let at = self.place[(half ^ 1) as usize] as usize;
        let before = if at == range.start {
            range.end - 1
        } else {
            at - 1
        };
        self.around[before]
    }

    /// Counts for every face by how many bodies it is covered; `background` is the count of
    /// bodies elsewhere that cover everything here.
    pub fn cover(&mut self, subdivision: &Subdivision, background: i32) {
        let points = &subdivision.points;
        // Connected parts.
        let mut part = vec![u32::MAX; points.len()];
        let mut outermost: Vec<u32> = Vec::new();
        let mut stack = Vec::new();
        for v in 0..points.len() as u32 {
            if part[v as usize] != u32::MAX || self.range(v).is_empty() {
                continue;
            }
            let number = outermost.len() as u32;
            let mut first = v;
            part[v as usize] = number;
            stack.push(v);
            while let Some(u) = stack.pop() {
                let (p, q) = (points[u as usize], points[first as usize]);
                if (p.x, p.y) < (q.x, q.y) {
                    first = u;
                }
                for k in self.range(u) {
                    let w = self.target(self.around[k]);
                    if part[w as usize] == u32::MAX {
                        part[w as usize] = number;
                        stack.push(w);
                    }
                }
            }
            outermost.push(first);
        }
        let segments: Vec<_> = self
            .groups
            .iter()
            .map(|g| (points[g.low as usize], points[g.high as usize]))
            .collect();
        let grid = Grid::new(&segments);
        let mut known = vec![false; self.cover.len()];
        let mut crossed: Vec<u32> = Vec::new();
        for (number, &v) in (0u32..).zip(&outermost) {
            let p = points[v as usize];
            crossed.clear();
            grid.visit_ray(&p, |g| {
                let (a, b) = segments[g as usize];
                let other = part[self.groups[g as usize].low as usize] != number;
                if other && ray_crosses(&p, &a, &b) == Some(true) {
                    crossed.push(g);
                }
            });
            crossed.sort_unstable();
            crossed.dedup();
            let outside: i32 = crossed
                .iter()
                .map(|g| {
                    let (a, b) = segments[*g as usize];
                    let group = &self.groups[*g as usize];
                    // The point lies to the left of an edge that goes up.
                    if a.y < b.y {
                        group.left - group.right
                    } else {
                        group.right - group.left
                    }
                })
                .sum();
            self.spread(
                self.leftmost_face(v, points),
                background + outside,
                &mut known,
            );
        }
    }

    /// The half-edge at the leftmost (then lowest) vertex `v` of a part that has the part's
    /// outside to its left: the last one before the direction -x.
    fn leftmost_face(&self, v: u32, points: &[Point2<f64>]) -> u32 {
        let star = &self.around[self.range(v)];
        let center = points[v as usize];
        let upper = star.iter().rev().find(|h| {
            let q = points[self.target(**h) as usize];
            q.y > center.y || (q.y == center.y && q.x > center.x)
        });
        upper.or(star.last()).copied().unwrap_or(0)
    }

    /// Gives the face to the left of `half` its count, and all others of the part theirs.
    fn spread(&mut self, half: u32, count: i32, known: &mut [bool]) {
        let mut queue = vec![(half, count)];
        while let Some((first, count)) = queue.pop() {
            if known[first as usize] {
                continue;
            }
            let mut half = first;
            loop {
                known[half as usize] = true;
                self.cover[half as usize] = count;
                let twin = half ^ 1;
                if !known[twin as usize] {
                    queue.push((twin, count - self.own_left(half) + self.own_left(twin)));
                }
                half = self.next(half);
                if half == first || known[half as usize] {
                    break;
                }
            }
        }
    }

    /// How many bodies cover both sides of a half-edge.
    fn through(&self, half: u32) -> i32 {
        self.cover[half as usize] - self.own_left(half)
    }

    fn is_wall(&self, half: u32) -> bool {
        self.groups[half as usize / 2].is_wall
    }

    /// Keeps what bounds free space.
    pub fn outlines(
        &self,
        bodies: &Bodies,
        subdivision: &Subdivision,
        contact: Contact,
    ) -> Arrangement {
        let mut arrangement = Arrangement {
            rounded: subdivision.rounded,
            ..Arrangement::default()
        };
        let mut number = vec![u32::MAX; subdivision.points.len()];
        for (g, group) in (0u32..).zip(&self.groups) {
            let half = 2 * g;
            if self.through(half) > 0 {
                continue;
            }
            let covered = [half, half + 1].map(|h| self.cover[h as usize] > 0);
            let directions: &[[u32; 2]] = match (covered, self.is_wall(half), contact) {
                (_, true, _) => &[[group.low, group.high]],
                ([true, true], _, Contact::Blocked) => &[],
                ([true, true], _, Contact::Passable) => {
                    &[[group.low, group.high], [group.high, group.low]]
                }
                ([true, false], ..) => &[[group.low, group.high]],
                ([false, true], ..) => &[[group.high, group.low]],
                ([false, false], ..) => &[],
            };
            let range = group.pieces.0 as usize..group.pieces.1 as usize;
            let pieces = self.order[range]
                .iter()
                .map(|i| &subdivision.pieces[*i as usize]);
            for ends in directions {
                for v in ends {
                    let n = &mut number[*v as usize];
                    if *n == u32::MAX {
                        *n = arrangement.vertices.len() as u32;
                        arrangement
                            .vertices
                            .push(self.vertex(*v, bodies, subdivision, contact));
                    }
                    let vertex = &mut arrangement.vertices[*n as usize];
                    vertex
                        .obstacles
                        .extend(pieces.clone().map(|p| bodies.obstacle(p.body)));
                }
                let whole = |parent: u32| {
                    let (a, b) = bodies.edge(parent);
                    let (c, d) = (
                        subdivision.points[group.low as usize],
                        subdivision.points[group.high as usize],
                    );
                    (a, b) == (c, d) || (a, b) == (d, c)
                };
                let split = subdivision.rounded && pieces.clone().any(|p| !whole(p.parent));
                arrangement.edges.push(Edge {
                    ends: ends.map(|v| number[v as usize]),
                    is_wall: self.is_wall(half),
                    obstacle: pieces
                        .clone()
                        .map(|p| bodies.obstacle(p.body))
                        .min()
                        .unwrap_or(0),
                    parents: if split {
                        pieces.clone().map(|p| p.parent).collect()
                    } else {
                        Vec::new()
                    },
                });
            }
        }
        for vertex in &mut arrangement.vertices {
            vertex.obstacles.sort_unstable();
            vertex.obstacles.dedup();
        }
        arrangement
    }

    /// A point in the direction of a half-edge: the end of the body edge that it is a piece of,
    /// if that runs exactly through the half-edge's vertex, else the piece's own end.
    fn direction(&self, bodies: &Bodies, subdivision: &Subdivision, half: u32) -> Point2<f64> {
        let group = &self.groups[half as usize / 2];
        let (source, target) = (self.source(half), self.target(half));
        let center = subdivision.points[source as usize];
        self.order[group.pieces.0 as usize..group.pieces.1 as usize]
            .iter()
            .map(|i| &subdivision.pieces[*i as usize])
            .find_map(|piece| {
                let (a, b) = bodies.edge(piece.parent);
                let far = if piece.from == source { b } else { a };
                (bodies.is_truth && on_segment(&a, &b, &center)).then_some(far)
            })
            .unwrap_or(subdivision.points[target as usize])
    }

    /// The surroundings of a vertex: covered turns, joined where nothing parts them.
    fn vertex(
        &self,
        v: u32,
        bodies: &Bodies,
        subdivision: &Subdivision,
        contact: Contact,
    ) -> Vertex {
        let star = &self.around[self.range(v)];
        let count = star.len();
        let point = subdivision.points[v as usize];
        let covered = |k: usize| self.cover[star[k % count] as usize] > 0;
        // Whether the turns before and after ray `k` are one blocked area.
        let joined = |k: usize| {
            covered(k + count - 1)
                && covered(k)
                && (contact == Contact::Blocked || self.through(star[k % count]) > 0)
        };
        let mut turns: Vec<(usize, usize)> = Vec::new();
        for (k, half) in star.iter().enumerate() {
            if !covered(k) && !covered(k + count - 1) && self.is_wall(*half) {
                turns.push((k, k));
            }
            if covered(k) && !joined(k) {
                let end = (k + 1..k + count)
                    .find(|e| !joined(*e))
                    .unwrap_or(k + count);
                turns.push((k, end));
            }
        }
        // What is seen from here is decided by the pieces; whether the corner is one by the
        // edges that they are pieces of, which no rounding has bent.
        let piece = |k: usize| subdivision.points[self.target(star[k % count]) as usize];
        let edge = |k: usize| self.direction(bodies, subdivision, star[k % count]);
        let sectors = sectors_of(&point, count, &turns, piece);
        let fan = Fan::new(&point, &sectors_of(&point, count, &turns, edge), contact);
        Vertex {
            point,
            sectors,
            corner: fan.corner(),
            turn: fan.turn(),
            obstacles: SmallVec::new(),
        }
    }
}

/// Blocked turns from ray to ray as sectors; a turn from `k` to `k` is a wall, one from `k` to
/// `k + count` is blocked all around.
fn sectors_of(
    center: &Point2<f64>,
    count: usize,
    turns: &[(usize, usize)],
    ray: impl Fn(usize) -> Point2<f64>,
) -> SmallVec<[Sector; 1]> {
    let mut sectors = SmallVec::new();
    for &(start, end) in turns {
        let (from, to) = (ray(start), ray(end));
        if end == start + count {
            // But for the seam itself, which an equal start and end cannot say: two turns
            // that overlap.
            let along = from - center;
            let across = nalgebra::Vector2::new(-along.y, along.x);
            let (right, left) = (center - across, center + across);
            sectors.push(Sector { from, to: right });
            sectors.push(Sector { from: left, to });
        } else {
            sectors.push(Sector { from, to });
        }
    }
    sectors
}
