//! The fastest speed profile along a spline, by reachability \[Pham2018\], with limits that hold at
//! every instant and not at grid points only.
//!
//! Along the path parameter s the unknown is x = ṡ². Backwards along the grid the largest x is found
//! from which the end can still be reached, forwards then the fastest way that stays below: a small
//! linear program each (`stage`), whose rows hold everywhere in the interval (`intervals`). In an interval
//! s̈ changes evenly with s, and its slope κ = ds̈/ds is an unknown of the program, so that a motion
//! along a limit needs few intervals.
//!
//! First on a coarse grid; then it is divided where the answer says that the fastest motion switches
//! from one limit to another, or where much time is lost.

use super::intervals::Intervals;
use super::solver::Solver;
use super::spline::Spline;
use super::MotionLimits;

/// Intervals of the first grid.
const FIRST_GRID: f64 = 140.0;
/// Most rounds of refinement.
const ROUNDS: usize = 8;

/// A speed profile along one spline: at rest (or with zero q̇) at the end, and at the start unless
/// another rate is given there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Profile {
    /// Grid points, from the start to the spline's last knot.
    pub s: Vec<f64>,
    /// The spline's piece for each interval.
    pub piece: Vec<usize>,
    /// ṡ² at the grid points.
    pub x: Vec<f64>,
    /// Slope ds̈/ds in each interval \[1/s²\].
    pub kappa: Vec<f64>,
    /// Time at the grid points \[s\].
    pub t: Vec<f64>,
    /// Shares of the velocity limits that each interval may use, in (0, 1].
    pub velocity_share: Vec<f64>,
    /// Shares of the acceleration limits, likewise.
    pub acceleration_share: Vec<f64>,
    /// ṡ² at the start where the arm does not start from rest.
    pub start_x: Option<f64>,
}

/// Where on a spline a profile begins, and how fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Start {
    /// Path parameter.
    pub s: f64,
    /// Its rate \[1/s\].
    pub rate: f64,
}

/// State of motion within an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Law {
    /// The interval.
    pub interval: usize,
    /// Path parameter.
    pub s: f64,
    /// ṡ \[1/s\].
    pub rate: f64,
    /// s̈ \[1/s²\].
    pub acceleration: f64,
}

/// Sums Σ wⁿ/(2n)!, Σ wⁿ/(2n+1)!, Σ wⁿ/(2n+2)!: cosh √w, sinh √w / √w and (cosh √w − 1)/w.
fn hyperbolic(w: f64) -> [f64; 3] {
    let (mut even, mut odd, mut shifted) = (1.0, 1.0, 0.5);
    let (mut term_even, mut term_odd, mut term_shifted) = (1.0, 1.0, 0.5);
    // |w| stays below 5: twenty terms are exact.
    for n in 0..20 {
        let n = f64::from(n);
        term_even *= w / ((2.0 * n + 1.0) * (2.0 * n + 2.0));
        term_odd *= w / ((2.0 * n + 2.0) * (2.0 * n + 3.0));
        term_shifted *= w / ((2.0 * n + 3.0) * (2.0 * n + 4.0));
        even += term_even;
        odd += term_odd;
        shifted += term_shifted;
        if term_even.abs() < 1e-17 {
            break;
        }
    }
    [even, odd, shifted]
}

/// Time \[s\] to cross an interval of length `h` with ṡ² from `x` to `y`, where ds̈/ds is `kappa`: the
/// motion is s̈ = s̈₀ + κ (s − s₀), so tanh(√κ t / 2) = √κ h / (ṡ₀ + ṡ₁).
pub(super) fn crossing_time(h: f64, x: f64, y: f64, kappa: f64) -> f64 {
    let mean = h / (x.sqrt() + y.sqrt());
    let z = kappa * mean * mean;
    let factor = if z.abs() < 0.03 {
        let terms = [
            1.0 / 15.0,
            1.0 / 13.0,
            1.0 / 11.0,
            1.0 / 9.0,
            1.0 / 7.0,
            0.2,
            1.0 / 3.0,
            1.0,
        ];
        terms.into_iter().fold(0.0, |sum, term| sum * z + term)
    } else if z > 0.0 {
        z.sqrt().atanh() / z.sqrt()
    } else {
        (-z).sqrt().atan() / (-z).sqrt()
    };
    2.0 * mean * factor
}

impl Profile {
    /// The fastest profile along `spline`, on a grid that is refined where that pays; from rest, or
    /// from a state of motion on the spline (see [`Profile::fits_start`]).
    pub fn fastest_from(spline: &Spline, limits: &MotionLimits, start: Option<Start>) -> Self {
        let mut profile = Self::grid(spline, start);
        match spline.dof() {
            0..=2 => profile.improve::<2>(spline, limits),
            3..=4 => profile.improve::<4>(spline, limits),
            5..=6 => profile.improve::<6>(spline, limits),
            _ => profile.improve::<8>(spline, limits),
        }
        profile
    }

    /// The fastest profile on the grid as it is.
    pub fn solve(&mut self, spline: &Spline, limits: &MotionLimits) {
        match spline.dof() {
            0..=2 => self.solve_with(&Intervals::<2>::new(spline, limits)),
            3..=4 => self.solve_with(&Intervals::<4>::new(spline, limits)),
            5..=6 => self.solve_with(&Intervals::<6>::new(spline, limits)),
            _ => self.solve_with(&Intervals::<8>::new(spline, limits)),
        }
    }

    fn improve<const W: usize>(&mut self, spline: &Spline, limits: &MotionLimits) {
        let intervals = Intervals::<W>::new(spline, limits);
        let mut solver = Solver::new(&intervals, self);
        solver.solve();
        for _ in 0..ROUNDS {
            if !solver.refine() {
                break;
            }
            solver.solve();
        }
        solver.finish(self);
    }

    fn solve_with<const W: usize>(&mut self, intervals: &Intervals<W>) {
        let mut solver = Solver::new(intervals, self);
        solver.solve();
        solver.finish(self);
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
        let widest = spline.length() / FIRST_GRID;
        let (mut s, mut piece) = (Vec::new(), Vec::new());
        for (index, pair) in spline.knots().windows(2).enumerate() {
            let [from, to] = [pair[0].max(begin), pair[1]];
            if from >= to {
                continue;
            }
            let parts = ((to - from) / widest).ceil().max(1.0);
            for part in 0..parts as usize {
                let at = from + (to - from) * part as f64 / parts;
                if s.last().is_none_or(|&last| at > last) {
                    s.push(at);
                    piece.push(index);
                }
            }
        }
        s.extend(spline.knots().last());
        let start_x = start.map(|start| start.rate * start.rate);
        let kappa = vec![0.0; piece.len()];
        Self::on(s, piece, kappa, start_x)
    }

    fn on(s: Vec<f64>, piece: Vec<usize>, kappa: Vec<f64>, start_x: Option<f64>) -> Self {
        let intervals = piece.len();
        Self {
            x: vec![0.0; s.len()],
            t: vec![0.0; s.len()],
            s,
            piece,
            kappa,
            velocity_share: vec![1.0; intervals],
            acceleration_share: vec![1.0; intervals],
            start_x,
        }
    }

    /// Time of the last grid point \[s\].
    pub fn duration(&self) -> f64 {
        self.t.last().copied().unwrap_or(0.0)
    }

    fn length(&self, interval: usize) -> f64 {
        self.s[interval + 1] - self.s[interval]
    }

    /// s̈ at both ends of an interval \[1/s²\].
    pub fn ends(&self, interval: usize) -> [f64; 2] {
        let h = self.length(interval);
        let mean = (self.x[interval + 1] - self.x[interval]) / (2.0 * h);
        let bend = 0.5 * self.kappa[interval] * h;
        [mean - bend, mean + bend]
    }

    /// Path parameter and ṡ² in an interval, `part` of the way through.
    pub fn inside(&self, interval: usize, part: f64) -> (f64, f64) {
        let (s0, s1) = (self.s[interval], self.s[interval + 1]);
        let (x0, x1) = (self.x[interval], self.x[interval + 1]);
        if part >= 1.0 {
            return (s1, x1);
        }
        let h = s1 - s0;
        let sag = self.kappa[interval] * h * h * part * (1.0 - part);
        (s0 + part * h, (x0 + part * (x1 - x0) - sag).max(0.0))
    }

    /// Parts into which an interval has to be divided so that no joint's acceleration is off by more
    /// than `slack` of its limit where s̈ is constant in each part.
    pub fn parts(
        &self,
        interval: usize,
        spline: &Spline,
        limits: &MotionLimits,
        slack: f64,
    ) -> usize {
        let bend = 0.5 * self.kappa[interval].abs() * self.length(interval);
        let piece = self.piece[interval];
        let (s0, s1) = (self.s[interval], self.s[interval + 1]);
        let mut most = 0.0_f64;
        for (joint, limit) in limits.acceleration().iter().enumerate() {
            for s in [s0, 0.5 * (s0 + s1), s1] {
                let [_, first, _] = spline.evaluate(piece, joint, s);
                most = most.max(first.abs() / limit);
            }
        }
        ((bend * most / slack).ceil() as usize).clamp(1, 10_000)
    }

    /// State of motion at `time` \[s\]; where the acceleration jumps, that after the jump.
    pub fn law(&self, time: f64) -> Law {
        let last = self.piece.len().saturating_sub(1);
        let interval = self
            .t
            .partition_point(|&t| t <= time)
            .saturating_sub(1)
            .min(last);
        let [from, to] = self.ends(interval);
        let kappa = self.kappa[interval];
        let step = self.t[interval + 1] - self.t[interval];
        let since = (time - self.t[interval]).clamp(0.0, step);
        // From the nearer end, so that both ends are met exactly.
        let (s, rate, acceleration) = if since <= 0.5 * step {
            let rate = self.x[interval].sqrt();
            let [even, odd, shifted] = hyperbolic(kappa * since * since);
            let way = since * (rate * odd + from * since * shifted);
            (
                self.s[interval] + way,
                rate * even + from * since * odd,
                from + kappa * way,
            )
        } else {
            let back = step - since;
            let rate = self.x[interval + 1].sqrt();
            let [even, odd, shifted] = hyperbolic(kappa * back * back);
            let way = back * (rate * odd - to * back * shifted);
            (
                self.s[interval + 1] - way,
                rate * even - to * back * odd,
                to - kappa * way,
            )
        };
        Law {
            interval,
            s,
            rate,
            acceleration,
        }
    }
}
