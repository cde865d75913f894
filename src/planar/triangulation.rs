//! The plane in triangles along the merged outlines, and what can be seen through them.
//!
//! A constrained Delaunay triangulation \[Chew1989\] (crate `spade`) of all
//! outline vertices and a wide box around them, copied into flat arrays. What a
//! point sees is found by triangular expansion \[Bungiu2014\]: from the point's
//! triangle through every edge that is no outline, with a cone of sight that
//! narrows at each vertex; only triangles that are seen are looked at.
//!
//! Longer than most files here: the triangulation and the expansion through it are read together.

use std::sync::Arc;

use nalgebra::Point2;
use spade::{ConstrainedDelaunayTriangulation, Triangulation as _};

use super::arrangement::Arrangement;
use super::predicates::{orient2d, Orientation};
use super::sector::{Side, Turn};

/// No triangle.
pub(super) const NONE: u32 = u32::MAX;

/// Triangles of a world's free space.
#[derive(Debug, Clone, Default)]
pub struct Triangulation {
    /// The arrangement's vertices, then the box's corners.
    pub(super) points: Vec<Point2<f64>>,
    /// Corners of every triangle, counter-clockwise.
    pub(super) corners: Vec<[u32; 3]>,
    /// The triangle beyond the edge from corner `k` to the next one; `NONE` beyond the box.
    pub(super) beyond: Vec<[u32; 3]>,
    /// Bit `k`: that edge is an outline.
    pub(super) outlines: Vec<u8>,
    /// Whether a triangle is blocked.
    pub(super) blocked: Vec<bool>,
    /// Free triangles at every vertex, flat, each with the place of the vertex in it.
    pub(super) start: Vec<u32>,
    pub(super) fan: Vec<(u32, u8)>,
    /// A triangle near every cell of a grid over the box.
    pub(super) hints: Arc<Hints>,
    /// Whether what lies outside the box's edges is blocked.
    pub(super) outside_is_blocked: bool,
}

/// The next corner counter-clockwise.
#[inline]
pub(super) fn next(k: usize) -> usize {
    if k == 2 {
        0
    } else {
        k + 1
    }
}

/// The next corner clockwise.
#[inline]
pub(super) fn previous(k: usize) -> usize {
    if k == 0 {
        2
    } else {
        k - 1
    }
}

/// Triangles as the library makes them, the outer face left out.
pub(super) struct Mesh {
    pub corners: Vec<[u32; 3]>,
    /// The triangle beyond the edge from corner `k` to the next one; `NONE` at the hull.
    pub beyond: Vec<[u32; 3]>,
    /// Bit `k`: that edge is a constraint.
    pub constrained: Vec<u8>,
}

impl Mesh {
    /// Triangulates the hull of `points` along the constraints. `None` if the library refuses,
    /// or if constraints cross or points coincide.
    pub fn new(points: &[Point2<f64>], mut constraints: Vec<[u32; 2]>) -> Option<Self> {
        for [a, b] in &mut constraints {
            if a > b {
                std::mem::swap(a, b);
            }
        }
        constraints.sort_unstable();
        constraints.dedup();
        let constraints = constraints.iter().map(|e| e.map(|v| v as usize)).collect();
        let vertices = points
            .iter()
            .map(|p| spade::Point2::new(p.x, p.y))
            .collect();
        let mut conflicts = 0;
        let cdt = ConstrainedDelaunayTriangulation::<spade::Point2<f64>>::try_bulk_load_cdt(
            vertices,
            constraints,
            |_| conflicts += 1,
        )
        .ok()?;
        if conflicts > 0 || cdt.num_vertices() != points.len() {
            return None;
        }
        let count = cdt.num_inner_faces();
        let mut mesh = Mesh {
            corners: vec![[0; 3]; count],
            beyond: vec![[NONE; 3]; count],
            constrained: vec![0; count],
        };
        for face in cdt.inner_faces() {
            // The outer face is number 0.
            let t = face.index() - 1;
            for (k, edge) in face.adjacent_edges().iter().enumerate() {
                mesh.corners[t][k] = edge.from().index() as u32;
                let other = edge.rev().face();
                if !other.is_outer() {
                    mesh.beyond[t][k] = other.index() as u32 - 1;
                }
                mesh.constrained[t] |= u8::from(edge.is_constraint_edge()) << k;
            }
        }
        Some(mesh)
    }
}

/// A cone of sight that enters a triangle.
#[derive(Debug, Clone, Copy)]
struct Cone {
    /// The triangle, and the place of the edge by which it is entered.
    triangle: u32,
    edge: u8,
    /// Vertices on the cone's right and left border, with the sides they lie on.
    right: (u32, Side),
    left: (u32, Side),
}

impl Triangulation {
    /// Triangulates. `None` if the library refuses (which it does only for coordinates that
    /// a world cannot have).
    pub fn new(arrangement: &Arrangement, outside_is_blocked: bool) -> Option<Self> {
        let mut points: Vec<Point2<f64>> = arrangement.vertices().iter().map(|v| v.point).collect();
        let real = points.len();
        let (mut low, mut high) = (Point2::new(-1.0, -1.0), Point2::new(1.0, 1.0));
        if let Some(first) = points.first() {
            (low, high) = (*first, *first);
        }
        for p in &points {
            (low, high) = (low.inf(p), high.sup(p));
        }
        let room = nalgebra::Vector2::repeat((high - low).norm() + 1e-3);
        let (low, high) = (low - room, high + room);
        points.extend([
            low,
            Point2::new(high.x, low.y),
            high,
            Point2::new(low.x, high.y),
        ]);

        let constraints = arrangement.edges().iter().map(|e| e.ends).collect();
        let mesh = Mesh::new(&points, constraints)?;
        let count = mesh.corners.len();
        let mut this = Triangulation {
            points,
            corners: mesh.corners,
            beyond: mesh.beyond,
            outlines: mesh.constrained,
            blocked: vec![false; count],
            outside_is_blocked,
            ..Triangulation::default()
        };
        this.block(arrangement, real as u32);
        this.collect_fans();
        this.hints = Arc::new(Hints::new(&this, low, high));
        Some(this)
    }

    /// Floods blocked and free areas from the outlines' two sides.
    fn block(&mut self, arrangement: &Arrangement, real: u32) {
        let mut seeds: Vec<(u32, bool)> = Vec::new();
        for t in 0..self.corners.len() as u32 {
            self.outline_seeds(t, arrangement, &mut seeds);
            let corners = self.corners[t as usize];
            for k in 0..3 {
                if corners[k] >= real && corners[next(k)] >= real {
                    seeds.push((t, self.outside_is_blocked));
                }
            }
        }
        let known = vec![false; self.corners.len()];
        self.flood(seeds, known);
    }

    /// What the outlines among a triangle's edges say about it.
    pub(super) fn outline_seeds(
        &self,
        t: u32,
        arrangement: &Arrangement,
        seeds: &mut Vec<(u32, bool)>,
    ) {
        let is_solid = |ends: [u32; 2]| {
            let edges = arrangement.edges();
            let found = edges.binary_search_by_key(&ends, |e| e.ends);
            found.is_ok_and(|i| !edges[i].is_wall)
        };
        let corners = self.corners[t as usize];
        for k in (0..3).filter(|k| self.outlines[t as usize] >> k & 1 == 1) {
            let (a, b) = (corners[k], corners[next(k)]);
            // The triangle lies to the left of its edges. Where a seam can be passed both of
            // its sides are blocked.
            if is_solid([a, b]) {
                seeds.push((t, true));
            } else if is_solid([b, a]) {
                seeds.push((t, false));
            }
        }
    }

    /// Says of all triangles that are not known yet whether they are blocked.
    pub(super) fn flood(&mut self, seeds: Vec<(u32, bool)>, mut known: Vec<bool>) {
        let mut stack = seeds;
        while let Some((t, blocked)) = stack.pop() {
            if std::mem::replace(&mut known[t as usize], true) {
                continue;
            }
            self.blocked[t as usize] = blocked;
            for k in 0..3 {
                let other = self.through(t, k);
                if other != NONE && !known[other as usize] {
                    stack.push((other, blocked));
                }
            }
        }
    }

    pub(super) fn collect_fans(&mut self) {
        let mut start = vec![0u32; self.points.len() + 1];
        let free = |t: &usize| !self.blocked[*t];
        for t in (0..self.corners.len()).filter(free) {
            for v in self.corners[t] {
                start[v as usize + 1] += 1;
            }
        }
        for k in 1..start.len() {
            start[k] += start[k - 1];
        }
        let mut fill = start.clone();
        let mut fan = vec![(0, 0); start.last().copied().unwrap_or(0) as usize];
        for t in (0..self.corners.len()).filter(free) {
            for (k, v) in (0u8..).zip(self.corners[t]) {
                fan[fill[v as usize] as usize] = (t as u32, k);
                fill[v as usize] += 1;
            }
        }
        self.start = start;
        self.fan = fan;
    }

    /// Checks that the triangles fit together; for tests and fuzzing.
    ///
    /// # Errors
    /// Says what is wrong.
    pub(crate) fn sanity_check(&self) -> Result<(), String> {
        for (t, corners) in (0u32..).zip(&self.corners) {
            let [a, b, c] = corners.map(|v| self.points[v as usize]);
            if orient2d(&a, &b, &c) != Orientation::Left {
                return Err(format!("triangle {t} does not turn left"));
            }
            for k in 0..3 {
                let other = self.beyond[t as usize][k];
                if other == NONE {
                    continue;
                }
                let ends = [corners[k], corners[next(k)]];
                let back = self.place_of(other, t).map(|j| {
                    let corners = self.corners[other as usize];
                    let outline = self.outlines[other as usize] >> j & 1;
                    ([corners[next(j)], corners[j]], outline)
                });
                let outline = self.outlines[t as usize] >> k & 1;
                if back != Some((ends, outline)) {
                    return Err(format!("triangles {t} and {other} do not fit"));
                }
                if outline == 0 && self.blocked[t as usize] != self.blocked[other as usize] {
                    return Err(format!("no outline parts triangles {t} and {other}"));
                }
            }
        }
        Ok(())
    }

    /// Number of triangles.
    pub fn len(&self) -> usize {
        self.corners.len()
    }

    /// Whether there are no triangles.
    pub fn is_empty(&self) -> bool {
        self.corners.is_empty()
    }

    /// Free triangles as polygons, for drawing; those at the outer box are left out.
    pub fn free_triangles(&self) -> Vec<[Point2<f64>; 3]> {
        let real = self.points.len() as u32 - 4;
        self.corners
            .iter()
            .zip(&self.blocked)
            .filter(|(c, blocked)| !**blocked && c.iter().all(|v| *v < real))
            .map(|(c, _)| c.map(|v| self.points[v as usize]))
            .collect()
    }

    #[inline]
    fn point(&self, v: u32) -> &Point2<f64> {
        &self.points[v as usize]
    }

    /// Calls `found` with every outline vertex that vertex `v` sees along a tangent of `turn`
    /// without another vertex exactly in between, each at least once.
    pub fn visible_from_vertex(
        &self,
        v: u32,
        turn: &Turn,
        stack: &mut SightStack,
        mut found: impl FnMut(u32),
    ) {
        let range = self.start[v as usize] as usize..self.start[v as usize + 1] as usize;
        let p = *self.point(v);
        let side = |v: u32| turn.side(&p, self.point(v));
        for &(t, k) in &self.fan[range] {
            let corners = self.corners[t as usize];
            let edge = next(k as usize);
            let [right, left] = [corners[edge], corners[next(edge)]].map(|v| (v, side(v)));
            for (vertex, side) in [right, left] {
                if side == Side::Tangent {
                    found(vertex);
                }
            }
            self.expand(&p, (t, edge), right, left, &side, stack, &mut found);
        }
    }

    /// The same for a point inside free space. Says `false`, without having called `found`,
    /// if the point is in a blocked triangle, on an outline or outside the box.
    pub fn visible_from_point(
        &self,
        p: &Point2<f64>,
        stack: &mut SightStack,
        mut found: impl FnMut(u32),
    ) -> bool {
        let Some(t) = self.locate(p) else {
            return false;
        };
        let corners = self.corners[t as usize];
        if self.blocked[t as usize] || corners.iter().any(|v| self.point(*v) == p) {
            return false;
        }
        let mut through = None;
        for k in 0..3 {
            let (a, b) = (self.point(corners[k]), self.point(corners[next(k)]));
            if orient2d(a, b, p) == Orientation::Collinear {
                through = Some(k);
            }
        }
        // On an edge of the triangulation: the two triangles beside it together.
        let mut around = vec![(t, through)];
        if let Some(k) = through {
            let other = self.through(t, k);
            if other == NONE {
                return false;
            }
            around.push((other, self.place_of(other, t)));
        }
        for (t, except) in around {
            let corners = self.corners[t as usize];
            for k in (0..3).filter(|k| Some(*k) != except) {
                let (right, left) = (corners[k], corners[next(k)]);
                found(right);
                found(left);
                let anywhere = |_| Side::Tangent;
                let [right, left] = [right, left].map(|v| (v, Side::Tangent));
                self.expand(p, (t, k), right, left, &anywhere, stack, &mut found);
            }
        }
        true
    }

    /// The triangle beyond edge `k` of `t`, `NONE` if that is an outline.
    #[inline]
    pub(super) fn through(&self, t: u32, k: usize) -> u32 {
        if self.outlines[t as usize] >> k & 1 == 1 {
            NONE
        } else {
            self.beyond[t as usize][k]
        }
    }

    /// The place in `t` of the edge that it shares with `other`.
    pub(super) fn place_of(&self, t: u32, other: u32) -> Option<usize> {
        self.beyond[t as usize].iter().position(|n| *n == other)
    }

    /// Follows a cone of sight out of a triangle by one of its edges. `side` says where the
    /// direction to a vertex leads; only tangents are of interest.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn expand(
        &self,
        p: &Point2<f64>,
        (t, k): (u32, usize),
        right: (u32, Side),
        left: (u32, Side),
        side: &impl Fn(u32) -> Side,
        stack: &mut SightStack,
        found: &mut impl FnMut(u32),
    ) {
        let stack = &mut stack.0;
        self.enter(t, k, right, left, stack);
        while let Some(cone) = stack.pop() {
            let Cone {
                triangle,
                edge,
                right,
                left,
            } = cone;
            let corners = &self.corners[triangle as usize];
            // The edge runs from left to right as seen from inside the triangle.
            let to_right = next(edge as usize);
            let to_left = next(to_right);
            let apex = corners[to_left];
            let c = self.point(apex);
            let reaches_right = orient2d(p, self.point(right.0), c) == Orientation::Left;
            let reaches_left = orient2d(p, self.point(left.0), c) == Orientation::Right;
            if reaches_right && reaches_left {
                let apex = (apex, side(apex));
                if apex.1 == Side::Tangent {
                    found(apex.0);
                }
                self.enter(triangle, to_right, right, apex, stack);
                self.enter(triangle, to_left, apex, left, stack);
            } else if reaches_right {
                self.enter(triangle, to_right, right, left, stack);
            } else if reaches_left {
                self.enter(triangle, to_left, right, left, stack);
            }
        }
    }

    #[inline]
    fn enter(
        &self,
        t: u32,
        k: usize,
        right: (u32, Side),
        left: (u32, Side),
        stack: &mut Vec<Cone>,
    ) {
        // Both borders in the same turn without tangents: so is everything in between.
        if right.1 != Side::Tangent && right.1 == left.1 {
            return;
        }
        let other = self.through(t, k);
        if other == NONE {
            return;
        }
        if let Some(edge) = self.place_of(other, t) {
            stack.push(Cone {
                triangle: other,
                edge: edge as u8,
                right,
                left,
            });
        }
    }

    /// A triangle that holds `p` (in its inside or on its rim).
    pub(super) fn locate(&self, p: &Point2<f64>) -> Option<u32> {
        // After an update a hint may point behind the last triangle.
        let near = self.hints.near(p)?;
        let mut t = if (near as usize) < self.corners.len() {
            near
        } else {
            0
        };
        let holds = |t: u32| {
            let c = self.corners[t as usize];
            (0..3).all(|k| {
                orient2d(self.point(c[k]), self.point(c[next(k)]), p) != Orientation::Right
            })
        };
        // A walk towards p across whichever edge parts it from p.
        for _ in 0..self.corners.len() {
            let c = self.corners[t as usize];
            let parted = (0..3).find(|k| {
                orient2d(self.point(c[*k]), self.point(c[next(*k)]), p) == Orientation::Right
            });
            let Some(k) = parted else { return Some(t) };
            match self.beyond[t as usize][k] {
                NONE => break,
                other => t = other,
            }
        }
        // Outside the box, or the walk went round, which constrained triangles may bring about.
        (0..self.corners.len() as u32).find(|t| holds(*t))
    }
}

/// Buffer for triangular expansion, kept between calls.
#[derive(Debug, Clone, Default)]
pub struct SightStack(Vec<Cone>);

/// A triangle near every cell of a uniform grid.
#[derive(Debug, Clone, Default)]
pub(super) struct Hints {
    low: Point2<f64>,
    cell: nalgebra::Vector2<f64>,
    side: usize,
    triangles: Vec<u32>,
}

impl Hints {
    fn new(triangulation: &Triangulation, low: Point2<f64>, high: Point2<f64>) -> Self {
        // The box is about three times as wide as what is in it.
        let side = ((triangulation.len() as f64).sqrt() * 3.0)
            .ceil()
            .clamp(1.0, 2000.0) as usize;
        let cell = (high - low) / side as f64;
        let mut hints = Hints {
            low,
            cell,
            side,
            triangles: vec![NONE; side * side],
        };
        for (t, corners) in (0u32..).zip(&triangulation.corners) {
            let [a, b, c] = corners.map(|v| triangulation.points[v as usize].coords);
            if let Some(k) = hints.index(&Point2::from((a + b + c) / 3.0)) {
                hints.triangles[k] = t;
            }
        }
        // Empty cells take over from the cell before them.
        let mut last = 0;
        for t in &mut hints.triangles {
            if *t == NONE {
                *t = last;
            }
            last = *t;
        }
        hints
    }

    fn index(&self, p: &Point2<f64>) -> Option<usize> {
        let d = p - self.low;
        let (x, y) = (d.x / self.cell.x, d.y / self.cell.y);
        let side = self.side as f64;
        if !(x >= 0.0 && y >= 0.0 && x <= side && y <= side) {
            return None;
        }
        let limit = self.side - 1;
        Some((y as usize).min(limit) * self.side + (x as usize).min(limit))
    }

    fn near(&self, p: &Point2<f64>) -> Option<u32> {
        self.index(p).and_then(|k| self.triangles.get(k)).copied()
    }
}
