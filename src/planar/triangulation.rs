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

/// No vertex or triangle.
pub(super) const NONE: u32 = u32::MAX;

/// What lies beyond an edge of a triangle: the triangle there, the edge's place in it, and
/// whether the edge is an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beyond(u32);

impl Beyond {
    /// Nothing: the edge is the box's.
    pub const OUTSIDE: Beyond = Beyond(u32::MAX);
    const OUTLINE: u32 = 4;

    pub fn new(triangle: u32, place: usize, is_outline: bool) -> Self {
        Beyond(triangle << 3 | u32::from(is_outline) << 2 | place as u32)
    }

    /// Whether no sight goes through.
    #[inline]
    pub fn is_closed(self) -> bool {
        self.0 & Self::OUTLINE != 0
    }

    #[inline]
    pub fn triangle(self) -> u32 {
        self.0 >> 3
    }

    /// The place of the edge in the triangle beyond.
    #[inline]
    pub fn place(self) -> usize {
        (self.0 & 3) as usize
    }
}

/// A triangle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Triangle {
    /// Counter-clockwise.
    pub corners: [u32; 3],
    /// Beyond the edge from corner `k` to the next one.
    pub beyond: [Beyond; 3],
}

impl Triangle {
    pub const EMPTY: Triangle = Triangle {
        corners: [0; 3],
        beyond: [Beyond::OUTSIDE; 3],
    };
}

/// Triangles of a world's free space.
#[derive(Debug, Clone, Default)]
pub struct Triangulation {
    /// The arrangement's vertices, then the box's corners.
    pub(super) points: Vec<Point2<f64>>,
    pub(super) triangles: Vec<Triangle>,
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

/// Triangles as the library makes them, the outer face left out; constraints are outlines.
pub(super) struct Mesh(pub Vec<Triangle>);

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
        let mut triangles = vec![Triangle::EMPTY; cdt.num_inner_faces()];
        // The place of every directed edge in its triangle.
        let mut place = vec![0u8; cdt.num_directed_edges()];
        for face in cdt.inner_faces() {
            for (k, edge) in (0u8..).zip(&face.adjacent_edges()) {
                place[edge.fix().index()] = k;
            }
        }
        for face in cdt.inner_faces() {
            // The outer face is number 0.
            let triangle = &mut triangles[face.index() - 1];
            for (k, edge) in face.adjacent_edges().iter().enumerate() {
                triangle.corners[k] = edge.from().index() as u32;
                let other = edge.rev();
                if !other.face().is_outer() {
                    triangle.beyond[k] = Beyond::new(
                        other.face().index() as u32 - 1,
                        place[other.fix().index()].into(),
                        edge.is_constraint_edge(),
                    );
                }
            }
        }
        Some(Mesh(triangles))
    }
}
/// Which directions are of interest: `WANTED`, or the number of a convex cone of
/// directions that are not.
pub(crate) type Region = u8;
/// The directions of interest.
pub(crate) const WANTED: Region = 0;

/// A cone of sight that enters a triangle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cone {
    /// How it comes in.
    pub by: Beyond,
    /// Points on the cone's right and left border, with the regions they lie in.
    pub right: (Point2<f64>, Region),
    pub left: (Point2<f64>, Region),
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
        let mut this = Triangulation {
            points,
            blocked: vec![false; mesh.0.len()],
            triangles: mesh.0,
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
        for t in 0..self.triangles.len() as u32 {
            self.outline_seeds(t, arrangement, &mut seeds);
            let corners = self.triangles[t as usize].corners;
            for k in 0..3 {
                if corners[k] >= real && corners[next(k)] >= real {
                    seeds.push((t, self.outside_is_blocked));
                }
            }
        }
        let known = vec![false; self.triangles.len()];
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
        let corners = self.triangles[t as usize].corners;
        for k in (0..3).filter(|k| self.is_outline(t, *k)) {
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
            for beyond in self.triangles[t as usize].beyond {
                if !beyond.is_closed() && !known[beyond.triangle() as usize] {
                    stack.push((beyond.triangle(), blocked));
                }
            }
        }
    }

    pub(super) fn collect_fans(&mut self) {
        let mut start = vec![0u32; self.points.len() + 1];
        let free = |t: &usize| !self.blocked[*t];
        for t in (0..self.triangles.len()).filter(free) {
            for v in self.triangles[t].corners {
                start[v as usize + 1] += 1;
            }
        }
        for k in 1..start.len() {
            start[k] += start[k - 1];
        }
        let mut fill = start.clone();
        let mut fan = vec![(0, 0); start.last().copied().unwrap_or(0) as usize];
        for t in (0..self.triangles.len()).filter(free) {
            for (k, v) in (0u8..).zip(self.triangles[t].corners) {
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
        for (t, triangle) in (0u32..).zip(&self.triangles) {
            let corners = triangle.corners;
            let [a, b, c] = corners.map(|v| self.points[v as usize]);
            if orient2d(&a, &b, &c) != Orientation::Left {
                return Err(format!("triangle {t} does not turn left"));
            }
            for (k, beyond) in triangle.beyond.iter().enumerate() {
                if *beyond == Beyond::OUTSIDE {
                    continue;
                }
                let (other, j) = (beyond.triangle(), beyond.place());
                let opposite = &self.triangles[other as usize];
                let back = Beyond::new(t, k, beyond.is_closed());
                let ends = [opposite.corners[next(j)], opposite.corners[j]];
                if opposite.beyond[j] != back || ends != [corners[k], corners[next(k)]] {
                    return Err(format!("triangles {t} and {other} do not fit"));
                }
                if !beyond.is_closed() && self.blocked[t as usize] != self.blocked[other as usize] {
                    return Err(format!("no outline parts triangles {t} and {other}"));
                }
            }
        }
        Ok(())
    }

    /// Number of triangles.
    pub fn len(&self) -> usize {
        self.triangles.len()
    }

    /// Whether there are no triangles.
    pub fn is_empty(&self) -> bool {
        self.triangles.is_empty()
    }

    /// Free triangles as polygons, for drawing; those at the outer box are left out.
    pub fn free_triangles(&self) -> Vec<[Point2<f64>; 3]> {
        let real = self.points.len() as u32 - 4;
        self.triangles
            .iter()
            .map(|t| t.corners)
            .zip(&self.blocked)
            .filter(|(c, blocked)| !**blocked && c.iter().all(|v| *v < real))
            .map(|(c, _)| c.map(|v| self.points[v as usize]))
            .collect()
    }

    #[inline]
    pub(super) fn point(&self, v: u32) -> &Point2<f64> {
        &self.points[v as usize]
    }

    /// Calls `found` with every vertex in a wanted direction that vertex `v` sees without
    /// another vertex exactly in between, each at least once. `region` is asked for points of
    /// borders of sight.
    #[inline]
    pub(crate) fn visible_from_vertex(
        &self,
        v: u32,
        region: impl Fn(&Point2<f64>) -> Region,
        stack: &mut SightStack,
        mut found: impl FnMut(u32),
    ) {
        let range = self.start[v as usize] as usize..self.start[v as usize + 1] as usize;
        let p = *self.point(v);
        for &(t, k) in &self.fan[range] {
            let triangle = &self.triangles[t as usize];
            let edge = next(k as usize);
            let [right, left] = [triangle.corners[edge], triangle.corners[next(edge)]].map(|v| {
                let q = *self.point(v);
                let region = region(&q);
                if region == WANTED {
                    found(v);
                }
                (q, region)
            });
            enter(triangle.beyond[edge], right, left, &mut stack.0);
            self.expand(&p, &region, stack, &mut found);
        }
    }

    /// Where `p` lies, if that is strictly in free space: in no blocked triangle, on no outline,
    /// and inside the box.
    pub(crate) fn place(&self, p: &Point2<f64>) -> Option<Place> {
        let triangle = self.locate(p)?;
        let Triangle { corners, beyond } = self.triangles[triangle as usize];
        if self.blocked[triangle as usize] || corners.iter().any(|v| self.point(*v) == p) {
            return None;
        }
        let edge = (0..3).find(|k| {
            let (a, b) = (self.point(corners[*k]), self.point(corners[next(*k)]));
            orient2d(a, b, p) == Orientation::Collinear
        });
        if edge.is_some_and(|k| beyond[k].is_closed()) {
            return None;
        }
        Some(Place { triangle, edge })
    }

    #[inline]
    pub(super) fn is_outline(&self, t: u32, k: usize) -> bool {
        let beyond = self.triangles[t as usize].beyond[k];
        beyond.is_closed() && beyond != Beyond::OUTSIDE
    }

    /// Follows the cones of sight on the stack.
    #[inline]
    fn expand(
        &self,
        p: &Point2<f64>,
        region: &impl Fn(&Point2<f64>) -> Region,
        stack: &mut SightStack,
        found: &mut impl FnMut(u32),
    ) {
        let stack = &mut stack.0;
        while let Some(Cone { by, right, left }) = stack.pop() {
            let triangle = &self.triangles[by.triangle() as usize];
            // The edge runs from left to right as seen from inside the triangle.
            let to_right = next(by.place());
            let to_left = next(to_right);
            let apex = triangle.corners[to_left];
            let c = self.point(apex);
            let reaches_right = orient2d(p, &right.0, c) == Orientation::Left;
            let reaches_left = orient2d(p, &left.0, c) == Orientation::Right;
            if reaches_right && reaches_left {
                let middle = (*c, region(c));
                if middle.1 == WANTED {
                    found(apex);
                }
                enter(triangle.beyond[to_right], right, middle, stack);
                enter(triangle.beyond[to_left], middle, left, stack);
            } else if reaches_right {
                enter(triangle.beyond[to_right], right, left, stack);
            } else if reaches_left {
                enter(triangle.beyond[to_left], right, left, stack);
            }
        }
    }

    /// A triangle that holds `p` (in its inside or on its rim).
    pub(super) fn locate(&self, p: &Point2<f64>) -> Option<u32> {
        // After an update a hint may point behind the last triangle.
        let near = self.hints.near(p)?;
        let mut t = if (near as usize) < self.triangles.len() {
            near
        } else {
            0
        };
        let parted = |t: u32| {
            let c = self.triangles[t as usize].corners;
            (0..3).find(|k| {
                orient2d(self.point(c[*k]), self.point(c[next(*k)]), p) == Orientation::Right
            })
        };
        // A walk towards p across whichever edge parts it from p.
        for _ in 0..self.triangles.len() {
            let Some(k) = parted(t) else { return Some(t) };
            match self.triangles[t as usize].beyond[k] {
                Beyond::OUTSIDE => break,
                other => t = other.triangle(),
            }
        }
        // Outside the box, or the walk went round, which constrained triangles may bring about.
        (0..self.triangles.len() as u32).find(|t| parted(*t).is_none())
    }
}

/// Follows a cone of sight out of a triangle, if anything wanted can lie in it.
#[inline]
fn enter(
    by: Beyond,
    right: (Point2<f64>, Region),
    left: (Point2<f64>, Region),
    stack: &mut Vec<Cone>,
) {
    // Both borders in the same convex cone of unwanted directions: so is all in between.
    if !(by.is_closed() || right.1 != WANTED && right.1 == left.1) {
        stack.push(Cone { by, right, left });
    }
}

/// Where a point of free space lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(super) triangle: u32,
    /// The edge of the triangle on which it lies, if any.
    pub(super) edge: Option<usize>,
}

/// Buffer for triangular expansion, kept between calls.
#[derive(Debug, Clone, Default)]
pub struct SightStack(pub(super) Vec<Cone>);

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
        for (t, triangle) in (0u32..).zip(&triangulation.triangles) {
            let [a, b, c] = triangle
                .corners
                .map(|v| triangulation.points[v as usize].coords);
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
