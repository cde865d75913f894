//! Splits the edges of all bodies into pieces that meet only at their ends.
//!
//! Where an edge passes through a vertex it is split there, exactly. Where two
//! pieces cross, both are split at the rounded crossing point; a crossing that
//! only rounding keeps apart from a vertex goes through that vertex. Rounded
//! points bend edges by a few units in the last place, which may bring about
//! new meetings, so it is repeated until there are none: afterwards the exact
//! predicates find no crossing.

use std::collections::HashMap;

use nalgebra::Point2;

use super::bodies::Bodies;
use super::grid::Grid;
use super::predicates::{in_open_segment, line_crossing, segments_meet, Meeting};

/// Rounds after which the splitting gives up. Worlds without near-coincidences
/// need three; each further one needs new coincidences at rounding's scale.
const MOST_ROUNDS: usize = 24;

/// A directed piece of a body's edge, the body to its left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub from: u32,
    pub to: u32,
    pub body: u32,
    /// The body's edge that it is a piece of.
    pub parent: u32,
}

impl Piece {
    /// Its ends, the smaller vertex first.
    pub fn ends(&self) -> (u32, u32) {
        (self.from.min(self.to), self.from.max(self.to))
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Subdivision {
    pub points: Vec<Point2<f64>>,
    pub pieces: Vec<Piece>,
    /// Whether any crossing point was rounded.
    pub rounded: bool,
    index: HashMap<(u64, u64), u32>,
    near: Option<Near>,
}

impl Subdivision {
    pub fn new(bodies: &Bodies) -> Self {
        let mut this = Subdivision::default();
        this.index.reserve(bodies.points.len());
        let own: Vec<u32> = bodies.points.iter().map(|p| this.vertex(*p)).collect();
        this.pieces = (0..bodies.points.len())
            .map(|i| Piece {
                from: own[i],
                to: own[bodies.next[i] as usize],
                body: bodies.edge_body(i as u32),
                parent: i as u32,
            })
            .collect();
        for _ in 0..MOST_ROUNDS {
            if !this.round() {
                break;
            }
        }
        this
    }

    fn vertex(&mut self, p: Point2<f64>) -> u32 {
        let next = self.points.len() as u32;
        let v = *self
            .index
            .entry((p.x.to_bits(), p.y.to_bits()))
            .or_insert(next);
        if v == next {
            self.points.push(p);
        }
        v
    }

    pub fn segment(&self, piece: &Piece) -> (Point2<f64>, Point2<f64>) {
        (
            self.points[piece.from as usize],
            self.points[piece.to as usize],
        )
    }

    /// A grid over all pieces.
    pub fn grid(&self) -> Grid {
        let segments: Vec<_> = self.pieces.iter().map(|p| self.segment(p)).collect();
        Grid::new(&segments)
    }

    /// Splits once; says whether anything was left to split.
    fn round(&mut self) -> bool {
        let grid = self.grid();
        let mut splits: Vec<(u32, u32)> = Vec::new();
        let mut crossings: Vec<(u32, u32)> = Vec::new();
        for cell in grid.cells() {
            for (k, &i) in cell.iter().enumerate() {
                for &j in &cell[k + 1..] {
                    let (p, q) = (self.pieces[i as usize], self.pieces[j as usize]);
                    if p.ends() == q.ends() {
                        continue;
                    }
                    let ((a, b), (c, d)) = (self.segment(&p), self.segment(&q));
                    match segments_meet(&a, &b, &c, &d) {
                        Meeting::Apart => {}
                        Meeting::Crossing => crossings.push((i.min(j), i.max(j))),
                        Meeting::Touching => {
                            let on = |a, b, v: u32| in_open_segment(a, b, &self.points[v as usize]);
                            splits.extend(
                                [q.from, q.to]
                                    .iter()
                                    .filter(|v| on(&a, &b, **v))
                                    .map(|v| (i, *v)),
                            );
                            splits.extend(
                                [p.from, p.to]
                                    .iter()
                                    .filter(|v| on(&c, &d, **v))
                                    .map(|v| (j, *v)),
                            );
                        }
                    }
                }
            }
        }
        if splits.is_empty() {
            // Only when all exact splits are done: edges that partly coincide have then become
            // the same pieces and get the same crossing points.
            crossings.sort_unstable();
            crossings.dedup();
            for (i, j) in crossings {
                self.cross(i, j, &mut splits);
            }
        }
        if splits.is_empty() {
            return false;
        }
        self.apply(splits);
        true
    }

    /// Finds the vertex in which the pieces `i` and `j` cross.
    fn cross(&mut self, i: u32, j: u32, splits: &mut Vec<(u32, u32)>) {
        let (p, q) = (self.pieces[i as usize], self.pieces[j as usize]);
        // In an order that does not depend on the pieces' directions.
        let (first, second) = (p.ends().min(q.ends()), p.ends().max(q.ends()));
        let [a, b, c, d] = [first.0, first.1, second.0, second.1].map(|v| self.points[v as usize]);
        let point = line_crossing(&a, &b, &c, &d);
        self.rounded = true;
        let near = match &mut self.near {
            Some(near) => near,
            none => none.insert(Near::new(&self.points)),
        };
        let v = match near.find(&point, &self.points) {
            Some(v) => v,
            None => {
                let v = self.vertex(point);
                if let Some(near) = &mut self.near {
                    near.add(v, &point);
                }
                v
            }
        };
        for (k, piece) in [(i, p), (j, q)] {
            if v != piece.from && v != piece.to {
                splits.push((k, v));
            }
        }
    }

    fn apply(&mut self, mut splits: Vec<(u32, u32)>) {
        splits.sort_unstable();
        splits.dedup();
        let mut splits = splits.iter().peekable();
        let mut pieces = Vec::with_capacity(self.pieces.len() + splits.len());
        for (k, piece) in (0u32..).zip(&self.pieces) {
            let (a, b) = self.segment(piece);
            let mut inner: Vec<(f64, u32)> = Vec::new();
            while let Some((_, v)) = splits.next_if(|s| s.0 == k) {
                inner.push(((self.points[*v as usize] - a).dot(&(b - a)), *v));
            }
            inner.sort_by(|s, t| s.0.total_cmp(&t.0).then(s.1.cmp(&t.1)));
            let mut from = piece.from;
            for to in inner.iter().map(|s| s.1).chain([piece.to]) {
                if from != to {
                    pieces.push(Piece { from, to, ..*piece });
                }
                from = to;
            }
        }
        self.pieces = pieces;
    }
}

/// Finds vertices within a few units in the last place.
#[derive(Debug, Clone)]
struct Near {
    cell: f64,
    cells: HashMap<(i64, i64), u32>,
}

impl Near {
    fn new(points: &[Point2<f64>]) -> Self {
        let largest = points
            .iter()
            .fold(0.0_f64, |m, p| m.max(p.x.abs()).max(p.y.abs()));
        let mut near = Near {
            cell: (16.0 * f64::EPSILON * largest).max(f64::MIN_POSITIVE),
            cells: HashMap::with_capacity(points.len()),
        };
        for (v, p) in (0u32..).zip(points) {
            near.add(v, p);
        }
        near
    }

    /// At most 2^49 cells each way: exact in an i64.
    fn key(&self, p: &Point2<f64>) -> (i64, i64) {
        (
            (p.x / self.cell).round() as i64,
            (p.y / self.cell).round() as i64,
        )
    }

    fn add(&mut self, v: u32, p: &Point2<f64>) {
        self.cells.entry(self.key(p)).or_insert(v);
    }

    /// The nearest of the vertices in the cells around `p`.
    fn find(&self, p: &Point2<f64>, points: &[Point2<f64>]) -> Option<u32> {
        let (i, j) = self.key(p);
        (-1..=1)
            .flat_map(|di| (-1..=1).map(move |dj| (i + di, j + dj)))
            .filter_map(|cell| self.cells.get(&cell).copied())
            .map(|v| ((points[v as usize] - p).norm_squared(), v))
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            .map(|(_, v)| v)
    }
}
