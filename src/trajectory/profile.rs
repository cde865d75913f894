//! The fastest speed profile along a spline, by reachability \[Pham2018\], with limits that hold at
//! every instant and not at grid points only.
//!
//! Along the path parameter s the unknown is x = ṡ². Between two grid points s̈ is constant, so x
//! is linear; q is a cubic. The acceleration q'(s) s̈ + q''(s) x is then a *quadratic* polynomial
//! of s, and the squared velocity q'(s)² x one of degree five. A polynomial stays below the
//! largest of its Bernstein coefficients, and all of them are linear in x at the interval's two
//! ends: so a few linear inequalities an interval hold the limits everywhere inside, exactly, and
//! the price falls with the square of the interval's length \[Farouki2012\].

use super::spline::Spline;
use super::MotionLimits;

/// Intervals of the first grid.
const FIRST_GRID: usize = 128;
/// Rounds of halving.
const ROUNDS: usize = 7;
/// Most intervals of a grid; beyond, nothing is halved any more.
const MOST_INTERVALS: usize = 40_000;
/// An interval in which some moment uses less than this share of all limits may be halved...
const ACTIVE: f64 = 0.985;
/// ...if it takes more than this share of the whole duration.
const SHARE: f64 = 1e-4;
/// Inequalities for a joint in an interval: three acceleration coefficients from both sides, and
/// six of the squared velocity.
const ROWS: usize = 12;

/// A speed profile along one spline: at rest (or with zero q̇) at both ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Profile {
    /// Grid points, from the spline's first knot to its last.
    pub s: Vec<f64>,
    /// The spline's piece for each interval.
    pub piece: Vec<usize>,
    /// ṡ² at the grid points.
    pub x: Vec<f64>,
    /// Time at the grid points \[s\].
    pub t: Vec<f64>,
    /// Shares of the velocity limits that each interval may use, in (0, 1].
    pub velocity_share: Vec<f64>,
    /// Shares of the acceleration limits, likewise.
    pub acceleration_share: Vec<f64>,
}

/// An inequality a·x + b·y ≤ 1 on x at the two ends of an interval.
type Row = [f64; 2];

/// q' (Bernstein coefficients) and q'' (ends) of a joint on an interval.
struct Derivatives {
    first: [f64; 3],
    second: [f64; 2],
}

impl Profile {
    /// The fastest profile along `spline`, on a grid that is refined where that pays.
    pub fn fastest(spline: &Spline, limits: &MotionLimits) -> Self {
        let mut profile = Self::grid(spline);
        profile.solve(spline, limits);
        for _ in 0..ROUNDS {
            if !profile.refine(spline, limits) {
                break;
            }
            profile.solve(spline, limits);
        }
        profile
    }

    fn grid(spline: &Spline) -> Self {
        let widest = spline.length() / FIRST_GRID as f64;
        let (mut s, mut piece) = (Vec::new(), Vec::new());
        for (index, pair) in spline.knots().windows(2).enumerate() {
            let [from, to] = [pair[0], pair[1]];
            // Two at least, so that a single piece can speed up and slow down.
            let parts = ((to - from) / widest).ceil().max(2.0);
            for part in 0..parts as usize {
                let at = from + (to - from) * part as f64 / parts;
                if s.last().is_none_or(|&last| at > last) {
                    s.push(at);
                    piece.push(index);
                }
            }
        }
        s.extend(spline.knots().last());
        let intervals = piece.len();
        Self {
            x: vec![0.0; s.len()],
            t: vec![0.0; s.len()],
            s,
            piece,
            velocity_share: vec![1.0; intervals],
            acceleration_share: vec![1.0; intervals],
        }
    }

    /// Time of the last grid point \[s\].
    pub fn duration(&self) -> f64 {
        self.t.last().copied().unwrap_or(0.0)
    }

    fn derivatives(&self, spline: &Spline, interval: usize, joint: usize) -> Derivatives {
        let piece = self.piece[interval];
        let origin = spline.knots()[piece];
        let u = self.s[interval] - origin;
        let h = self.s[interval + 1] - self.s[interval];
        let [_, c1, c2, c3] = spline.cubic(piece, joint);
        let d0 = c1 + u * (2.0 * c2 + 3.0 * c3 * u);
        let d1 = 2.0 * c2 + 6.0 * c3 * u;
        let d2 = 3.0 * c3;
        Derivatives {
            first: [d0, d0 + 0.5 * d1 * h, d0 + h * (d1 + d2 * h)],
            second: [d1, d1 + 2.0 * d2 * h],
        }
    }

    /// The inequalities of an interval.
    fn rows(&self, spline: &Spline, limits: &MotionLimits, interval: usize, rows: &mut Vec<Row>) {
        rows.clear();
        let h = self.s[interval + 1] - self.s[interval];
        let half = 0.5 / h;
        for (joint, (&v, &a)) in limits
            .velocity()
            .iter()
            .zip(limits.acceleration())
            .enumerate()
        {
            let Derivatives { first: p, second } = self.derivatives(spline, interval, joint);
            let [e0, e1] = second;
            let scale = 1.0 / (a * self.acceleration_share[interval]);
            for [from, to] in [
                [e0 - p[0] * half, p[0] * half],
                [0.5 * e1 - p[1] * half, 0.5 * e0 + p[1] * half],
                [-p[2] * half, e1 + p[2] * half],
            ] {
                rows.push([from * scale, to * scale]);
                rows.push([-from * scale, -to * scale]);
            }
            let share = v * self.velocity_share[interval];
            let scale = 1.0 / (share * share);
            let square = [
                p[0] * p[0],
                p[0] * p[1],
                (2.0 * p[1] * p[1] + p[0] * p[2]) / 3.0,
                p[1] * p[2],
                p[2] * p[2],
            ];
            for k in 0..6_usize {
                let from = square.get(k).map_or(0.0, |c| c * (5 - k) as f64 / 5.0);
                let to = k
                    .checked_sub(1)
                    .and_then(|before| square.get(before))
                    .map_or(0.0, |c| c * k as f64 / 5.0);
                rows.push([from * scale, to * scale]);
            }
        }
    }

    /// Whether ṡ need not be zero for the arm to rest at the end `last` (or the start): all q' are
    /// exactly zero there.
    fn rests_by_itself(&self, spline: &Spline, last: bool) -> bool {
        let intervals = self.piece.len();
        let (interval, end) = if last {
            (intervals.saturating_sub(1), 2)
        } else {
            (0, 0)
        };
        intervals > 0
            && (0..spline.dof())
                .all(|joint| self.derivatives(spline, interval, joint).first[end] == 0.0)
    }

    /// Largest x from which the end can be reached, backwards; then the fastest way, forwards.
    pub fn solve(&mut self, spline: &Spline, limits: &MotionLimits) {
        let intervals = self.piece.len();
        let cap = {
            let fastest = limits.velocity().iter().fold(0.0_f64, |m, v| m.max(*v));
            let length = spline.length();
            1e9 * (fastest / length).powi(2).max(fastest * fastest)
        };
        let mut rows: Vec<Row> = Vec::with_capacity(ROWS * spline.dof());
        let mut controllable = vec![0.0; intervals + 1];
        controllable[intervals] = if self.rests_by_itself(spline, true) {
            cap
        } else {
            0.0
        };
        let mut active = [0, 1];
        for i in (0..intervals).rev() {
            self.rows(spline, limits, i, &mut rows);
            controllable[i] = largest_x(&rows, controllable[i + 1], cap, &mut active);
        }
        self.x[0] = if self.rests_by_itself(spline, false) {
            controllable[0]
        } else {
            0.0
        };
        self.t[0] = 0.0;
        for i in 0..intervals {
            self.rows(spline, limits, i, &mut rows);
            let (x, reachable) = (self.x[i], controllable[i + 1]);
            // A row that decides x, with next to no weight on y, says nothing about y but noise.
            let y = rows
                .iter()
                .filter(|[_, b]| b * reachable > 1e-10)
                .map(|[a, b]| (1.0 + 1e-12 - a * x) / b)
                .fold(reachable, f64::min)
                .max(0.0);
            self.x[i + 1] = y;
            let h = self.s[i + 1] - self.s[i];
            self.t[i + 1] = self.t[i] + 2.0 * h / (x.sqrt() + y.sqrt());
        }
    }

    /// The smallest, over three moments of the interval, of the largest share of any limit that is
    /// used then. The fastest profile uses some limit fully at every moment.
    fn activity(&self, spline: &Spline, limits: &MotionLimits, interval: usize) -> f64 {
        let h = self.s[interval + 1] - self.s[interval];
        let (x, y) = (self.x[interval], self.x[interval + 1]);
        let u = (y - x) / (2.0 * h);
        let mut most = [0.0_f64; 3];
        for (joint, (&v, &a)) in limits
            .velocity()
            .iter()
            .zip(limits.acceleration())
            .enumerate()
        {
            let Derivatives { first: p, second } = self.derivatives(spline, interval, joint);
            let moments = [
                (p[0], second[0], x),
                (
                    0.25 * (p[0] + 2.0 * p[1] + p[2]),
                    0.5 * (second[0] + second[1]),
                    0.5 * (x + y),
                ),
                (p[2], second[1], y),
            ];
            let a = a * self.acceleration_share[interval];
            let v = v * self.velocity_share[interval];
            for (slot, (first, second, x)) in most.iter_mut().zip(moments) {
                let acceleration = (first * u + second * x).abs() / a;
                let velocity = first.abs() * x.sqrt() / v;
                *slot = slot.max(acceleration).max(velocity);
            }
        }
        most.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Halves the intervals in which time is lost; whether there were any.
    fn refine(&mut self, spline: &Spline, limits: &MotionLimits) -> bool {
        let intervals = self.piece.len();
        if intervals >= MOST_INTERVALS {
            return false;
        }
        let threshold = SHARE * self.duration();
        let mut s = Vec::with_capacity(2 * self.s.len());
        let mut piece = Vec::with_capacity(2 * intervals);
        for i in 0..intervals {
            s.push(self.s[i]);
            piece.push(self.piece[i]);
            let long = self.t[i + 1] - self.t[i] > threshold;
            if long && self.activity(spline, limits, i) < ACTIVE {
                let middle = 0.5 * (self.s[i] + self.s[i + 1]);
                if middle > self.s[i] && middle < self.s[i + 1] {
                    s.push(middle);
                    piece.push(self.piece[i]);
                }
            }
        }
        s.push(self.s[intervals]);
        if s.len() == self.s.len() {
            return false;
        }
        *self = Self {
            x: vec![0.0; s.len()],
            t: vec![0.0; s.len()],
            velocity_share: vec![1.0; piece.len()],
            acceleration_share: vec![1.0; piece.len()],
            s,
            piece,
        };
        true
    }
}

/// The largest x with a·x + b·y ≤ 1 for all rows, 0 ≤ y ≤ `height`, 0 ≤ x ≤ `cap`: a linear
/// program in two unknowns, one inequality after the other \[Seidel1991\]. `active` names the rows
/// that decided last time; they are tried first. The origin always satisfies all.
fn largest_x(rows: &[Row], height: f64, cap: f64, active: &mut [usize; 2]) -> f64 {
    const SLACK: f64 = 1.0 + 1e-13;
    // Rows without a negative part bound x and y by themselves: a small box keeps digits.
    let (mut cap, mut height) = (cap, height);
    for &[a, b] in rows {
        if a >= 0.0 && b >= 0.0 {
            // `abs`, as 1/−0 would be minus infinity.
            cap = cap.min(1.0 / a.abs());
            height = height.min(1.0 / b.abs());
        }
    }
    let (mut x, mut y) = (cap, height);
    let first = *active;
    let order = first
        .into_iter()
        .chain((0..rows.len()).filter(|k| !first.contains(k)));
    for (place, k) in order.enumerate() {
        let Some(&[a, b]) = rows.get(k) else { continue };
        if a * x + b * y <= SLACK {
            continue;
        }
        // The new optimum lies on the line of this row: clip the line by all rows before.
        let square = a * a + b * b;
        let (px, py) = (a / square, b / square);
        let length = square.sqrt();
        let (dx, dy) = (-b / length, a / length);
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut deciding = k;
        let clip = |slope: f64, room: f64, low: &mut f64, high: &mut f64| {
            // slope · t ≤ room, for rows of unit length. A (nearly) parallel line decides nothing:
            // the current row cuts off what all rows before it allowed, so it is the tighter one.
            if slope.abs() < 1e-11 {
                return false;
            }
            let end = room / slope;
            if slope > 0.0 && end < *high {
                *high = end;
                return dx > 0.0;
            }
            if slope < 0.0 && end > *low {
                *low = end;
                return dx < 0.0;
            }
            false
        };
        clip(-dx, px, &mut low, &mut high);
        clip(dx, cap - px, &mut low, &mut high);
        clip(-dy, py, &mut low, &mut high);
        clip(dy, height - py, &mut low, &mut high);
        let before = first
            .into_iter()
            .chain((0..rows.len()).filter(|k| !first.contains(k)))
            .take(place);
        for l in before {
            let Some(&[a, b]) = rows.get(l) else { continue };
            let length = (a * a + b * b).sqrt();
            let (slope, room) = ((a * dx + b * dy) / length, (1.0 - a * px - b * py) / length);
            if clip(slope, room, &mut low, &mut high) {
                deciding = l;
            }
        }
        // Empty only by rounding: the middle is then as near as it gets.
        let t = if low > high {
            0.5 * (low + high)
        } else if dx >= 0.0 {
            high
        } else {
            low
        };
        x = px + t * dx;
        y = py + t * dy;
        *active = [k, deciding];
    }
    if active[0] == active[1] {
        active[1] = usize::from(active[0] == 0);
    }
    x.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All pairs of lines, the slow way.
    fn oracle(rows: &[Row], height: f64, cap: f64) -> f64 {
        let mut lines: Vec<(f64, f64, f64)> = rows.iter().map(|r| (r[0], r[1], 1.0)).collect();
        lines.extend([
            (1.0, 0.0, cap),
            (-1.0, 0.0, 0.0),
            (0.0, 1.0, height),
            (0.0, -1.0, 0.0),
        ]);
        let mut best = 0.0_f64;
        for (i, p) in lines.iter().enumerate() {
            for q in &lines[..i] {
                let determinant = p.0 * q.1 - p.1 * q.0;
                if determinant.abs() < 1e-14 {
                    continue;
                }
                let x = (p.2 * q.1 - p.1 * q.2) / determinant;
                let y = (p.0 * q.2 - p.2 * q.0) / determinant;
                if lines.iter().all(|l| l.0 * x + l.1 * y <= l.2 + 1e-9) {
                    best = best.max(x);
                }
            }
        }
        best
    }

    proptest! {
        #[test]
        fn the_linear_program_agrees_with_all_pairs_of_lines(
            rows in prop::collection::vec(prop::array::uniform2(-3.0..3.0f64), 0..20),
            height in 0.0..4.0f64,
            active in prop::array::uniform2(0..20usize),
        ) {
            let mut active = active;
            let x = largest_x(&rows, height, 50.0, &mut active);
            prop_assert!((x - oracle(&rows, height, 50.0)).abs() < 1e-6);
        }
    }
}
