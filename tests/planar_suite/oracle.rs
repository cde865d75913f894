//! An oracle that shares nothing with the library: segments against obstacle interiors in
//! exact integer fractions, and a brute-force shortest path on top of it. Contact can be
//! passed here; integer coordinates only.

/// A fraction with a positive denominator.
#[derive(Clone, Copy, Debug)]
struct Fraction(i128, i128);

impl Fraction {
    fn new(n: i128, d: i128) -> Self {
        if d < 0 {
            Fraction(-n, -d)
        } else {
            Fraction(n, d)
        }
    }

    fn less(self, other: Fraction) -> bool {
        self.0 * other.1 < other.0 * self.1
    }
}

pub type Cell = [i64; 2];

fn cross(a: Cell, b: Cell) -> i128 {
    i128::from(a[0]) * i128::from(b[1]) - i128::from(a[1]) * i128::from(b[0])
}

fn minus(a: Cell, b: Cell) -> Cell {
    [a[0] - b[0], a[1] - b[1]]
}

/// Whether the point `(x / d, y / d)` is strictly inside the ring: not on an edge, and an odd
/// number of crossings upwards.
fn strictly_inside(x: i128, y: i128, d: i128, ring: &[Cell]) -> bool {
    let mut inside = false;
    for k in 0..ring.len() {
        let scale = |c: Cell| (i128::from(c[0]) * d, i128::from(c[1]) * d);
        let ((ax, ay), (bx, by)) = (scale(ring[k]), scale(ring[(k + 1) % ring.len()]));
        let side = (bx - ax) * (y - ay) - (by - ay) * (x - ax);
        let between = |u: i128, a: i128, b: i128| a.min(b) <= u && u <= a.max(b);
        if side == 0 && between(x, ax, bx) && between(y, ay, by) {
            return false;
        }
        if (ay > y) != (by > y) && (side > 0) == (by > ay) {
            inside = !inside;
        }
    }
    inside
}

/// Whether the closed segment enters the interior of the ring: it is cut at every edge's line,
/// and the middle of every piece is located.
fn enters(a: Cell, b: Cell, ring: &[Cell]) -> bool {
    let d = minus(b, a);
    let mut cuts = vec![Fraction(0, 1), Fraction(1, 1)];
    for k in 0..ring.len() {
        let (c, e) = (ring[k], minus(ring[(k + 1) % ring.len()], ring[k]));
        let denominator = cross(d, e);
        if denominator != 0 {
            let t = Fraction::new(cross(minus(c, a), e), denominator);
            if Fraction(0, 1).less(t) && t.less(Fraction(1, 1)) {
                cuts.push(t);
            }
        }
    }
    cuts.sort_by(|s, t| (s.0 * t.1).cmp(&(t.0 * s.1)));
    cuts.windows(2).filter(|w| w[0].less(w[1])).any(|w| {
        let (n, m) = (w[0].0 * w[1].1 + w[1].0 * w[0].1, 2 * w[0].1 * w[1].1);
        let at = |k: usize| i128::from(a[k]) * m + i128::from(d[k]) * n;
        strictly_inside(at(0), at(1), m, ring)
    })
}

pub fn segment_is_free(a: Cell, b: Cell, rings: &[Vec<Cell>]) -> bool {
    rings.iter().all(|ring| !enters(a, b, ring))
}

pub fn point_is_free(a: Cell, rings: &[Vec<Cell>]) -> bool {
    rings
        .iter()
        .all(|r| !strictly_inside(a[0].into(), a[1].into(), 1, r))
}

/// Length of the shortest path over all vertices of all rings, by Dijkstra on a full matrix.
pub fn shortest(start: Cell, goal: Cell, rings: &[Vec<Cell>]) -> Option<f64> {
    let mut nodes = vec![start, goal];
    nodes.extend(rings.iter().flatten());
    nodes.retain(|n| point_is_free(*n, rings));
    let length = |a: Cell, b: Cell| ((a[0] - b[0]) as f64).hypot((a[1] - b[1]) as f64);
    let mut best = vec![f64::INFINITY; nodes.len()];
    let mut done = vec![false; nodes.len()];
    best[0] = 0.0;
    loop {
        let next = (0..nodes.len())
            .filter(|i| !done[*i] && best[*i].is_finite())
            .min_by(|i, j| best[*i].total_cmp(&best[*j]))?;
        if next == 1 {
            return Some(best[1]);
        }
        done[next] = true;
        for j in 0..nodes.len() {
            let reached = best[next] + length(nodes[next], nodes[j]);
            if !done[j] && reached < best[j] && segment_is_free(nodes[next], nodes[j], rings) {
                best[j] = reached;
            }
        }
    }
}

#[test]
fn knows_the_easy_cases() {
    let square = vec![vec![[0, 0], [4, 0], [4, 4], [0, 4]]];
    assert!(!segment_is_free([-1, 2], [5, 2], &square));
    assert!(segment_is_free([-1, 0], [5, 0], &square));
    assert!(segment_is_free([-2, 2], [2, -2], &square));
    assert!(!segment_is_free([0, 0], [4, 4], &square));
    assert!(!segment_is_free([1, 1], [2, 2], &square));
    assert_eq!(shortest([-1, 0], [5, 0], &square), Some(6.0));
    assert_eq!(shortest([0, 4], [4, 0], &square), Some(8.0));
}
