//! The fastest speed profile along a spline, by reachability \[Pham2018\], with limits that hold at
//! every instant and not at grid points only.
//!
//! Along the path parameter s the unknown is x = ṡ². Between two grid points s̈ is constant, so x
//! is linear; q is a cubic. The acceleration q'(s) s̈ + q''(s) x is then a *quadratic* polynomial
//! of s, and the squared velocity q'(s)² x one of degree five. A polynomial stays below the
//! largest of its Bernstein coefficients, and all of them are linear in x at the interval's two
//! ends: so a few linear inequalities an interval hold the limits everywhere inside, exactly, and
//! the price falls with the square of the interval's length \[Farouki2012\].

use super::program::{largest_x, Row};
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
    /// ṡ² at the start where the arm does not start from rest.
    start_x: Option<f64>,
}

/// Where on a spline a profile begins, and how fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Start {
    /// Path parameter.
    pub s: f64,
    /// Its rate \[1/s\].
    pub rate: f64,
}

/// q' (Bernstein coefficients) and q'' (ends) of a joint on an interval.
struct Derivatives {
    first: [f64; 3],
    second: [f64; 2],
}

impl Profile {
    /// The fastest profile along `spline`, on a grid that is refined where that pays; from rest, or
    /// from a state of motion on the spline (see [`Profile::fits_start`]).
    pub fn fastest_from(spline: &Spline, limits: &MotionLimits, start: Option<Start>) -> Self {
        let mut profile = Self::grid(spline, start);
        profile.solve(spline, limits);
        for _ in 0..ROUNDS {
            if !profile.refine(spline, limits) {
                break;
            }
            profile.solve(spline, limits);
        }
        profile
    }

    /// Whether the end can be reached from the start's rate within the limits; else the share of that
    /// rate from which it can.
    pub fn fits_start(&self) -> Result<(), f64> {
        match (self.start_x, self.x.first()) {
            (Some(wanted), Some(&got)) if wanted > got * (1.0 + 1e-9) => Err((got / wanted).sqrt()),
            _ => Ok(()),
        }
    }

    /// Whether a rate at the start is given.
    pub fn starts_moving(&self) -> bool {
        self.start_x.is_some_and(|x| x > 0.0)
    }

    fn grid(spline: &Spline, start: Option<Start>) -> Self {
        let begin = start.map_or(f64::NEG_INFINITY, |start| start.s);
        let widest = spline.length() / FIRST_GRID as f64;
        let (mut s, mut piece) = (Vec::new(), Vec::new());
        for (index, pair) in spline.knots().windows(2).enumerate() {
            let [from, to] = [pair[0].max(begin), pair[1]];
            if from >= to {
                continue;
            }
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
            start_x: start.map(|start| start.rate * start.rate),
        }
    }

    /// Interval, path parameter, its rate \[1/s\] and acceleration \[1/s²\] at `time` \[s\]; where the
    /// acceleration jumps, that after the jump.
    pub fn law(&self, time: f64) -> (usize, f64, f64, f64) {
        let last = self.piece.len().saturating_sub(1);
        let i = self
            .t
            .partition_point(|&t| t <= time)
            .saturating_sub(1)
            .min(last);
        let h = self.s[i + 1] - self.s[i];
        let u = (self.x[i + 1] - self.x[i]) / (2.0 * h);
        let step = self.t[i + 1] - self.t[i];
        let since = (time - self.t[i]).clamp(0.0, step);
        // From the nearer end, so that both ends are met exactly.
        if since <= 0.5 * step {
            let rate = self.x[i].sqrt();
            (
                i,
                self.s[i] + since * (rate + 0.5 * u * since),
                rate + u * since,
                u,
            )
        } else {
            let back = step - since;
            let rate = self.x[i + 1].sqrt();
            (
                i,
                self.s[i + 1] - back * (rate - 0.5 * u * back),
                rate - u * back,
                u,
            )
        }
    }

    /// Path parameter and its rate \[1/s\] at `time` \[s\].
    pub fn at(&self, time: f64) -> (f64, f64) {
        let (_, s, rate, _) = self.law(time);
        (s, rate)
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

    /// Appends the inequalities of an interval, [`ROWS`] a joint.
    fn rows(&self, spline: &Spline, limits: &MotionLimits, interval: usize, rows: &mut Vec<Row>) {
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
        let stride = ROWS * limits.dof();
        let mut rows: Vec<Row> = Vec::with_capacity(stride * intervals);
        for i in 0..intervals {
            self.rows(spline, limits, i, &mut rows);
        }
        let mut controllable = vec![0.0; intervals + 1];
        controllable[intervals] = if self.rests_by_itself(spline, true) {
            cap
        } else {
            0.0
        };
        let mut active = [0, 1];
        for i in (0..intervals).rev() {
            let rows = &rows[i * stride..(i + 1) * stride];
            controllable[i] = largest_x(rows, controllable[i + 1], cap, &mut active);
        }
        self.x[0] = match self.start_x {
            Some(x) => x.min(controllable[0]),
            None if self.rests_by_itself(spline, false) => controllable[0],
            None => 0.0,
        };
        self.t[0] = 0.0;
        for i in 0..intervals {
            let rows = &rows[i * stride..(i + 1) * stride];
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
            start_x: self.start_x,
            s,
            piece,
        };
        true
    }
}
