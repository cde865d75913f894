//! From where any part of an edge is seen.

use super::predicates::{orient2d, Orientation};
use super::triangulation::{next, previous, Triangle, Triangulation};

impl Triangulation {
    /// Calls `found` with all vertices (and some more) from which any part of the outline
    /// edges `sources` is seen.
    pub(crate) fn weakly_visible(&self, sources: &[[u32; 2]], mut found: impl FnMut(u32)) {
        let mut visits = vec![0u8; self.triangles.len() * 3];
        let mut stack: Vec<Wedge> = Vec::new();
        for &[a, b] in sources {
            let range = self.start[a as usize] as usize..self.start[a as usize + 1] as usize;
            for &(t, _) in &self.fan[range] {
                let corners = self.triangles[t as usize].corners;
                for k in 0..3 {
                    let ends = [corners[k], corners[next(k)]];
                    if ends == [a, b] || ends == [b, a] {
                        stack.push(Wedge::new(t, k, corners));
                    }
                }
            }
            found(a);
            found(b);
            self.spread_wedges(&mut stack, &mut visits, &mut found);
        }
    }

    fn spread_wedges(
        &self,
        stack: &mut Vec<Wedge>,
        visits: &mut [u8],
        found: &mut impl FnMut(u32),
    ) {
        while let Some(mut wedge) = stack.pop() {
            let (t, edge) = (wedge.triangle, wedge.edge as usize);
            let Triangle { corners, beyond } = self.triangles[t as usize];
            let visit = &mut visits[t as usize * 3 + edge];
            match *visit {
                DONE => continue,
                // Ways around obstacles can multiply: then all that is seen from the edge.
                MOST_VISITS => {
                    *visit = DONE;
                    wedge = Wedge::new(t, edge, corners);
                }
                _ => *visit += 1,
            }
            let apex = corners[previous(edge)];
            found(apex);
            let at = |v: u32| &self.points[v as usize];
            let [right, left] =
                [wedge.right, wedge.left].map(|[from, by]| orient2d(at(from), at(by), at(apex)));
            let reaches_right = right == Orientation::Left;
            let reaches_left = left == Orientation::Right;
            let mut enter = |k: usize, right: [u32; 2], left: [u32; 2]| {
                if !beyond[k].is_closed() {
                    stack.push(Wedge {
                        triangle: beyond[k].triangle(),
                        edge: beyond[k].place() as u8,
                        right,
                        left,
                    });
                }
            };
            let (to_right, to_left) = (next(edge), previous(edge));
            let (near_left, near_right) = (corners[edge], corners[next(edge)]);
            if reaches_right {
                let mut left = wedge.left;
                if reaches_left {
                    // From the source's end, unless what lies on the right hides it.
                    let is_hidden =
                        orient2d(at(left[0]), at(apex), at(near_right)) == Orientation::Left;
                    left = [if is_hidden { near_right } else { left[0] }, apex];
                }
                enter(to_right, wedge.right, left);
            }
            if reaches_left {
                let mut right = wedge.right;
                if reaches_right {
                    let is_hidden =
                        orient2d(at(right[0]), at(apex), at(near_left)) == Orientation::Right;
                    right = [if is_hidden { near_left } else { right[0] }, apex];
                }
                enter(to_left, right, wedge.left);
            }
        }
    }
}

/// How often an edge is looked through before everything beyond it is taken to be seen.
const MOST_VISITS: u8 = 16;
const DONE: u8 = u8::MAX;

/// All lines of sight from a source edge into a triangle: from where they come in they lie to
/// the left of a line by a vertex on their right, and to the right of a line by a vertex on
/// their left. The one begins at the source's left end, the other at its right end, or at a
/// vertex that hides it.
#[derive(Debug, Clone, Copy)]
struct Wedge {
    triangle: u32,
    edge: u8,
    right: [u32; 2],
    left: [u32; 2],
}

impl Wedge {
    /// From an edge of a triangle into it.
    fn new(triangle: u32, edge: usize, corners: [u32; 3]) -> Self {
        let (left, right) = (corners[edge], corners[next(edge)]);
        Wedge {
            triangle,
            edge: edge as u8,
            right: [left, right],
            left: [right, left],
        }
    }
}
