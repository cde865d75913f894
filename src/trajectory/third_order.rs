//! The fastest motion along a spline within velocity, acceleration and jerk limits.
//!
//! On a grid of path parameters the unknowns are x = ṡ² and u = s̈ at each point; in between s⃛ is
//! constant, so that x and u at the far end are bound by one equation. Limits of velocity and
//! acceleration are linear in both. A limit of jerk divided by ṡ has a right side 1/√x, which is
//! convex: its tangent is a limit that holds all the more \[Wang2026\]. The time is convex too. What is
//! left is a program with a chain of small blocks, and an interior-point method whose steps cost one
//! sweep back and one forth along it (a Riccati recursion); tangents are taken anew in each step.

use super::spline::Spline;
use super::states::{End, States};
use super::sweep::{Stage, Sweep, Value};
use super::MotionLimits;

/// Most steps of the method for one grid.
const STEPS: usize = 60;
/// Share of the way to the nearest bound that a step may go.
const REACH: f64 = 0.99;
/// Residual of the equations between points (a share of x) with which steps may end.
const CLOSED: f64 = 1e-10;
/// How much of each limit the motion may use where a program begins.
const ROOM: f64 = 0.97;
/// How fast steps become longer again after they were shortened.
const GROW: f64 = 1.5;

/// Rows of one grid point, limits and lanes of joints.
#[derive(Debug, Clone, Copy)]
struct Point<const W: usize> {
    /// q′ and q″ by the acceleration limits.
    first: [f64; W],
    second: [f64; W],
    /// Largest x.
    most: f64,
}

/// Rows of one interval: q′, 3 q″ (both ends) and q‴ by the jerk limits.
#[derive(Debug, Clone, Copy)]
struct Link<const W: usize> {
    first: [[f64; W]; 2],
    second: [[f64; W]; 2],
    third: [f64; W],
    /// Largest x halfway.
    most: f64,
}

/// Slack and multiplier of two bounds, one from above and one from below, in all lanes.
#[derive(Debug, Clone, Copy)]
struct Pair<const W: usize> {
    slack: [[f64; W]; 2],
    dual: [[f64; W]; 2],
}

/// What depends on the state within an interval and is taken as constant in a step.
#[derive(Debug, Clone, Copy, Default)]
struct Lag {
    /// Time to cross.
    h: f64,
    /// Derivatives of x₁ by x₀, s̈₀ and s̈₁.
    by: [f64; 3],
    /// What x₁ lacks.
    r: f64,
    /// s⃛, and its derivatives by x₀, s̈₀, x₁, s̈₁.
    change: f64,
    change_by: [f64; 4],
    /// Derivatives of the time to cross by these.
    time_by: [f64; 4],
    /// ṡ at both ends.
    rate: [f64; 2],
    /// x halfway: its derivatives by s̈₀ and −s̈₁ (those by x₀ and x₁ are ½), and its value.
    quarter: f64,
    halfway: f64,
}

/// The program of one grid.
struct Program<const W: usize> {
    points: Vec<Point<W>>,
    links: Vec<Link<W>>,
    ends: [End; 2],
    accelerations: Vec<Pair<W>>,
    /// Jerk at both ends of each interval.
    jerks: Vec<[Pair<W>; 2]>,
    /// Slack and multiplier of the velocity bound of each point, and halfway in each interval.
    speeds: Vec<[f64; 2]>,
    halfway: Vec<[f64; 2]>,
    lags: Vec<Lag>,
    sweep: Sweep,
    mu: f64,
}

/// A program that can be solved in steps.
pub(super) trait Improve {
    /// Takes up the shares of the limits in `states`.
    fn limit(&mut self, spline: &Spline, limits: &MotionLimits, jerk: &[f64], states: &States);

    /// Improves `states` until all but a share `gap` of the duration is gained. Whether that
    /// came to an end: if not, the states are of no use.
    fn improve(&mut self, states: &mut States, gap: f64) -> bool;
}

/// The program for the grid of `states`, begun from there: within a share `gap` of the fastest, so to say.
pub(super) fn program(
    spline: &Spline,
    limits: &MotionLimits,
    jerk: &[f64],
    ends: [End; 2],
    states: &mut States,
    gap: f64,
) -> Option<Box<dyn Improve>> {
    if states.piece.len() < 4 {
        return None;
    }
    Some(match spline.dof() {
        0..=2 => Box::new(Program::<2>::new(spline, limits, jerk, ends, states, gap)),
        3..=4 => Box::new(Program::<4>::new(spline, limits, jerk, ends, states, gap)),
        5..=6 => Box::new(Program::<6>::new(spline, limits, jerk, ends, states, gap)),
        7..=8 => Box::new(Program::<8>::new(spline, limits, jerk, ends, states, gap)),
        9..=16 => Box::new(Program::<16>::new(spline, limits, jerk, ends, states, gap)),
        _ => return None,
    })
}

impl<const W: usize> Improve for Program<W> {
    fn limit(&mut self, spline: &Spline, limits: &MotionLimits, jerk: &[f64], states: &States) {
        (self.points, self.links) = rows(spline, limits, jerk, states);
    }

    fn improve(&mut self, states: &mut States, gap: f64) -> bool {
        self.run(states, gap)
    }
}

/// The rows of all grid points and intervals.
fn rows<const W: usize>(
    spline: &Spline,
    limits: &MotionLimits,
    jerk: &[f64],
    states: &States,
) -> (Vec<Point<W>>, Vec<Link<W>>) {
    let intervals = states.piece.len();
    let mut points = Vec::with_capacity(intervals + 1);
    let mut links = Vec::with_capacity(intervals);
    let zero = [0.0; W];
    for k in 0..=intervals {
        let piece = states.piece[k.min(intervals - 1)];
        let beside = [k.saturating_sub(1), k.min(intervals - 1)];
        let [speed, force] = [0, 1].map(|kind| {
            beside
                .map(|i| states.share[i][kind])
                .into_iter()
                .fold(1.0_f64, f64::min)
        });
        let mut point = Point {
            first: zero,
            second: zero,
            most: f64::MAX,
        };
        for joint in 0..spline.dof() {
            let [_, d, dd] = spline.evaluate(piece, joint, states.s[k]);
            let limit = limits.acceleration()[joint] * force;
            point.first[joint] = d / limit;
            point.second[joint] = dd / limit;
            let fastest = limits.velocity()[joint] * speed / d.abs();
            point.most = point.most.min(fastest * fastest);
        }
        points.push(point);
    }
    for i in 0..intervals {
        let mut link = Link {
            first: [zero; 2],
            second: [zero; 2],
            third: zero,
            most: f64::MAX,
        };
        let middle = 0.5 * (states.s[i] + states.s[i + 1]);
        for joint in 0..spline.dof() {
            let limit = jerk[joint] * states.share[i][2];
            for end in 0..2 {
                let [_, d, dd] = spline.evaluate(states.piece[i], joint, states.s[i + end]);
                link.first[end][joint] = d / limit;
                link.second[end][joint] = 3.0 * dd / limit;
            }
            let [_, d, _] = spline.evaluate(states.piece[i], joint, middle);
            let fastest = limits.velocity()[joint] * states.share[i][0] / d.abs();
            link.most = link.most.min(fastest * fastest);
            link.third[joint] = 6.0 * spline.cubic(states.piece[i], joint)[3] / limit;
        }
        links.push(link);
    }
    (points, links)
}

impl<const W: usize> Program<W> {
    fn new(
        spline: &Spline,
        limits: &MotionLimits,
        jerk: &[f64],
        ends: [End; 2],
        states: &mut States,
        gap: f64,
    ) -> Self {
        let (points, links) = rows(spline, limits, jerk, states);
        let intervals = links.len();
        let pair = Pair {
            slack: [[1.0; W]; 2],
            dual: [[1.0; W]; 2],
        };
        let mut program = Self {
            accelerations: vec![pair; intervals + 1],
            jerks: vec![[pair; 2]; intervals],
            speeds: vec![[1.0; 2]; intervals + 1],
            halfway: vec![[1.0; 2]; intervals],
            lags: vec![Lag::default(); intervals],
            sweep: Sweep::new(intervals),
            points,
            links,
            ends,
            mu: 0.0,
        };
        program.lag(states);
        program.slow_down(states, ROOM);
        program.lag(states);
        let count = (intervals * 6 * W) as f64;
        program.mu = gap * program.duration() / count;
        program.start(states, 1e-3);
        program
    }

    /// Slows the motion down as a whole until all bounds are kept, at most a share `most` of each used.
    fn slow_down(&self, states: &mut States, most: f64) {
        let mut factor = 1.0_f64;
        for (k, point) in self.points.iter().enumerate() {
            factor = factor.max(states.x[k] / (point.most * most));
            for j in 0..W {
                let y = point.first[j] * states.u[k] + point.second[j] * states.x[k];
                factor = factor.max(y.abs() / most);
            }
        }
        for (i, link) in self.links.iter().enumerate() {
            factor = factor.max(self.lags[i].halfway / (link.most * most));
            for end in 0..2 {
                for y in self.jerk(states, i, end) {
                    factor = factor.max((y.abs() / most).powf(2.0 / 3.0));
                }
            }
        }
        states.x.iter_mut().for_each(|x| *x /= factor);
        states.u.iter_mut().for_each(|u| *u /= factor);
    }

    fn duration(&self) -> f64 {
        self.lags.iter().map(|lag| lag.h).sum()
    }

    fn run(&mut self, states: &mut States, gap: f64) -> bool {
        let intervals = self.links.len();
        self.lag(states);
        let goal = gap;
        let closed = CLOSED.max(1e-3 * goal);
        // Tangents are exact, curvatures of jerk are left out: where that makes steps too long they
        // go to and fro, and half of each is right.
        let (mut cap, mut before) = (1.0_f64, f64::INFINITY);
        for _ in 0..STEPS {
            self.gather(states);
            if !self.sweep.solve(self.ends) {
                return false;
            }
            let (primal, dual) = self.reach(states);
            let (primal, dual) = (primal.min(cap), dual.min(cap));
            self.advance(states, primal, dual);
            self.lag(states);
            let worst = (0..intervals).fold(0.0_f64, |most, i| {
                most.max(self.lags[i].r.abs() / states.x[i].max(states.x[i + 1]))
            });
            let duration = self.duration();
            let (gap, count) = self.complement();
            if !(gap.is_finite() && duration.is_finite()) {
                return false;
            }
            if gap <= goal * duration && worst <= closed {
                return true;
            }
            let near = gap <= 3.0 * goal * duration && worst > closed;
            if near && worst > (1.0 - 0.5 * primal) * before {
                cap = (0.5 * cap.min(primal)).max(0.1);
            } else {
                cap = (GROW * cap).min(1.0);
            }
            before = worst;
            let least = primal.min(dual);
            let shrink = if least > 0.9 {
                0.1
            } else if least > 0.5 {
                0.3
            } else {
                0.8
            };
            self.mu = (gap / count * shrink).max(0.3 * goal * duration / count);
        }
        false
    }

    /// Slacks as they are where they are positive, multipliers to fit.
    fn start(&mut self, states: &States, least: f64) {
        let mu = self.mu;
        for k in 0..self.points.len() {
            let point = &self.points[k];
            for j in 0..W {
                let y = point.first[j] * states.u[k] + point.second[j] * states.x[k];
                let slack = [(1.0 - y).max(least), (1.0 + y).max(least)];
                for side in 0..2 {
                    self.accelerations[k].slack[side][j] = slack[side];
                    self.accelerations[k].dual[side][j] = mu / slack[side];
                }
            }
            let slack = (1.0 - states.x[k] / point.most).max(least);
            self.speeds[k] = [slack, mu / slack];
        }
        for i in 0..self.links.len() {
            let slack = (1.0 - self.lags[i].halfway / self.links[i].most).max(least);
            self.halfway[i] = [slack, mu / slack];
            for end in 0..2 {
                let y = self.jerk(states, i, end);
                for j in 0..W {
                    let slack = [(1.0 - y[j]).max(least), (1.0 + y[j]).max(least)];
                    for side in 0..2 {
                        self.jerks[i][end].slack[side][j] = slack[side];
                        self.jerks[i][end].dual[side][j] = mu / slack[side];
                    }
                }
            }
        }
    }

    /// Shares of the jerk limits in use at an end of an interval.
    fn jerk(&self, states: &States, i: usize, end: usize) -> [f64; W] {
        let (link, lag) = (&self.links[i], &self.lags[i]);
        let change = lag.change;
        let (rate, u) = (lag.rate[end], states.u[i + end]);
        let cube = rate * states.x[i + end];
        let mut y = [0.0; W];
        for j in 0..W {
            y[j] =
                link.first[end][j] * change + link.second[end][j] * rate * u + link.third[j] * cube;
        }
        y
    }

    fn lag(&mut self, states: &States) {
        for i in 0..self.links.len() {
            let delta = states.s[i + 1] - states.s[i];
            let h = states.crossing(i);
            let (x0, x1) = (states.x[i], states.x[i + 1]);
            let (u0, u1) = (states.u[i], states.u[i + 1]);
            let rate = [x0.sqrt(), x1.sqrt()];
            let sum = rate[0] + rate[1];
            // f = x₀ + (s̈₀ + s̈₁) (Δ + (s̈₁ − s̈₀) h²/12) − x₁ = 0, where h depends on all four.
            let (both, change) = (u0 + u1, u1 - u0);
            let way = delta + change * h * h / 12.0;
            let by_time = both * change * h / 6.0;
            let growth = (0.5 * sum - change * h / 6.0).max(1e-3 * sum);
            let by_x = rate.map(|v| {
                if v > 0.0 {
                    -0.25 * h / (v * growth)
                } else {
                    0.0
                }
            });
            let by_u = h * h / (12.0 * growth);
            let bent = both * h * h / 12.0;
            let down = (1.0 - by_time * by_x[1]).max(0.1);
            let time_by = [by_x[0], -by_u, by_x[1], by_u];
            let by_h = -change / (h * h);
            let change_by = [
                by_h * time_by[0],
                by_h * time_by[1] - 1.0 / h,
                by_h * time_by[2],
                by_h * time_by[3] + 1.0 / h,
            ];
            self.lags[i] = Lag {
                h,
                by: [
                    (1.0 + by_time * by_x[0]) / down,
                    (way - bent - by_time * by_u) / down,
                    (way + bent + by_time * by_u) / down,
                ],
                r: (x0 + both * way - x1) / down,
                change: change / h,
                change_by,
                time_by,
                rate,
                quarter: 0.25 * delta,
                halfway: 0.5 * (x0 + x1) - 0.25 * delta * change,
            };
        }
    }

    /// The quadratic model of the step.
    fn gather(&mut self, states: &States) {
        let mu = self.mu;
        for k in 0..self.points.len() {
            let (point, pair) = (&self.points[k], &self.accelerations[k]);
            let mut value = Value::default();
            for j in 0..W {
                let (first, second) = (point.first[j], point.second[j]);
                let y = first * states.u[k] + second * states.x[k];
                let (mut weight, mut slope) = (0.0, 0.0);
                for (side, sign) in [(0, 1.0), (1, -1.0)] {
                    let (slack, dual) = (pair.slack[side][j], pair.dual[side][j]);
                    let rho = 1.0 - sign * y - slack;
                    weight += dual / slack;
                    slope += sign * (mu - dual * rho) / slack;
                }
                value.xx += weight * second * second;
                value.xu += weight * first * second;
                value.uu += weight * first * first;
                value.x += slope * second;
                value.u += slope * first;
            }
            let [slack, dual] = self.speeds[k];
            let g = 1.0 / point.most;
            let rho = 1.0 - states.x[k] * g - slack;
            value.xx += dual / slack * g * g;
            value.x += (mu - dual * rho) / slack * g;
            self.sweep.values[k] = value;
        }
        for i in 0..self.links.len() {
            let (link, lag) = (&self.links[i], &self.lags[i]);
            let mut block = Stage {
                by: lag.by,
                rest: lag.r,
                ..Stage::default()
            };
            for end in 0..2 {
                let y = self.jerk(states, i, end);
                let pair = &self.jerks[i][end];
                // Sums over the joints, first by s⃛, ṡ s̈ and ṡ³.
                let mut sums = [0.0; 6];
                let mut slopes = [0.0; 3];
                for j in 0..W {
                    let (mut weight, mut slope) = (0.0, 0.0);
                    for (side, sign) in [(0, 1.0), (1, -1.0)] {
                        let (slack, dual) = (pair.slack[side][j], pair.dual[side][j]);
                        let rho = 1.0 - sign * y[j] - slack;
                        weight += dual / slack;
                        slope += sign * (mu - dual * rho) / slack;
                    }
                    let (p, q, r) = (link.first[end][j], link.second[end][j], link.third[j]);
                    let (wp, wq) = (weight * p, weight * q);
                    sums[0] += wp * p;
                    sums[1] += wp * q;
                    sums[2] += wp * r;
                    sums[3] += wq * q;
                    sums[4] += wq * r;
                    sums[5] += weight * r * r;
                    slopes[0] += slope * p;
                    slopes[1] += slope * q;
                    slopes[2] += slope * r;
                }
                let turns = Self::turns(lag, states, i, end);
                let gram = [
                    [sums[0], sums[1], sums[2]],
                    [sums[1], sums[3], sums[4]],
                    [sums[2], sums[4], sums[5]],
                ];
                for a in 0..4 {
                    let column = [turns[0][a], turns[1][a], turns[2][a]];
                    block.g[a] +=
                        slopes[0] * column[0] + slopes[1] * column[1] + slopes[2] * column[2];
                    let mapped = gram
                        .map(|row| row[0] * column[0] + row[1] * column[1] + row[2] * column[2]);
                    for b in 0..=a {
                        block.h[a][b] += mapped[0] * turns[0][b]
                            + mapped[1] * turns[1][b]
                            + mapped[2] * turns[2][b];
                    }
                }
            }
            let g = 1.0 / link.most;
            let [slack, dual] = self.halfway[i];
            let rho = 1.0 - lag.halfway * g - slack;
            let row = [0.5 * g, lag.quarter * g, 0.5 * g, -lag.quarter * g];
            for a in 0..4 {
                block.g[a] += (mu - dual * rho) / slack * row[a];
                for b in 0..=a {
                    block.h[a][b] += dual / slack * row[a] * row[b];
                }
            }
            // Time, by its first and second derivatives.
            let [v0, v1] = lag.rate;
            let sum = v0 + v1;
            let scale = lag.h * sum;
            let part = |v: f64| if v > 0.0 { 0.5 / v } else { 0.0 };
            let (p0, p1) = (part(v0), part(v1));
            let (one, two) = (scale / (sum * sum), 2.0 * scale / (sum * sum * sum));
            block.g[0] -= one * p0;
            block.g[2] -= one * p1;
            block.h[0][0] += two * p0 * p0 + 2.0 * one * p0 * p0 * p0;
            block.h[2][2] += two * p1 * p1 + 2.0 * one * p1 * p1 * p1;
            block.h[2][0] += two * p0 * p1;
            self.sweep.stages[i] = block;
        }
    }

    /// Derivatives of s⃛, ṡ s̈ and ṡ³ at an end by x₀, s̈₀, x₁, s̈₁.
    fn turns(lag: &Lag, states: &States, i: usize, end: usize) -> [[f64; 4]; 3] {
        let rate = lag.rate[end];
        let (mut both, mut cube) = ([0.0; 4], [0.0; 4]);
        if rate > 0.0 {
            both[2 * end] = 0.5 * states.u[i + end] / rate;
            cube[2 * end] = 1.5 * rate;
        }
        both[2 * end + 1] = rate;
        [lag.change_by, both, cube]
    }

    /// How far the step may go, for states and slacks and for multipliers; these get their directions.
    fn reach(&mut self, states: &States) -> (f64, f64) {
        let (mut primal, mut dual) = (1.0_f64, 1.0_f64);
        for k in 1..self.points.len() - 1 {
            // x stays positive.
            if self.sweep.dx[k] < 0.0 {
                primal = primal.min(-0.9 * states.x[k] / self.sweep.dx[k]);
            }
        }
        let (mut most_primal, mut most_dual) = (0.0_f64, 0.0_f64);
        self.each(states, |slack, multiplier, ds, dl| {
            most_primal = most_primal.max(-ds / *slack);
            most_dual = most_dual.max(-dl / *multiplier);
        });
        if most_primal > REACH {
            primal = primal.min(REACH / most_primal);
        }
        if most_dual > REACH {
            dual = dual.min(REACH / most_dual);
        }
        (primal, dual)
    }

    /// Calls with slack, multiplier and their directions for all bounds.
    fn each(&mut self, states: &States, mut call: impl FnMut(&mut f64, &mut f64, f64, f64)) {
        let mu = self.mu;
        let mut bound = |slack: &mut f64, dual: &mut f64, rho: f64, gd: f64| {
            let ds = rho - gd;
            let dl = (mu - *dual * ds) / *slack - *dual;
            call(slack, dual, ds, dl);
        };
        for k in 0..self.points.len() {
            let point = &self.points[k];
            let pair = &mut self.accelerations[k];
            for j in 0..W {
                let y = point.first[j] * states.u[k] + point.second[j] * states.x[k];
                let dy = point.first[j] * self.sweep.du[k] + point.second[j] * self.sweep.dx[k];
                for (side, sign) in [(0, 1.0), (1, -1.0)] {
                    let rho = 1.0 - sign * y - pair.slack[side][j];
                    bound(
                        &mut pair.slack[side][j],
                        &mut pair.dual[side][j],
                        rho,
                        sign * dy,
                    );
                }
            }
            let g = 1.0 / point.most;
            let [slack, dual] = &mut self.speeds[k];
            let rho = 1.0 - states.x[k] * g - *slack;
            bound(slack, dual, rho, g * self.sweep.dx[k]);
        }
        for i in 0..self.links.len() {
            let (link, lag) = (&self.links[i], &self.lags[i]);
            let [slack, dual] = &mut self.halfway[i];
            let dy = 0.5 * (self.sweep.dx[i] + self.sweep.dx[i + 1])
                + lag.quarter * (self.sweep.du[i] - self.sweep.du[i + 1]);
            let rho = 1.0 - lag.halfway / link.most - *slack;
            bound(slack, dual, rho, dy / link.most);
            for end in 0..2 {
                let y = self.jerk(states, i, end);
                let (link, lag) = (&self.links[i], &self.lags[i]);
                let d = [
                    self.sweep.dx[i],
                    self.sweep.du[i],
                    self.sweep.dx[i + 1],
                    self.sweep.du[i + 1],
                ];
                let turned = Self::turns(lag, states, i, end)
                    .map(|row| row[0] * d[0] + row[1] * d[1] + row[2] * d[2] + row[3] * d[3]);
                let mut dy = [0.0; W];
                for (j, dy) in dy.iter_mut().enumerate() {
                    *dy = link.first[end][j] * turned[0]
                        + link.second[end][j] * turned[1]
                        + link.third[j] * turned[2];
                }
                let pair = &mut self.jerks[i][end];
                for j in 0..W {
                    for (side, sign) in [(0, 1.0), (1, -1.0)] {
                        let rho = 1.0 - sign * y[j] - pair.slack[side][j];
                        bound(
                            &mut pair.slack[side][j],
                            &mut pair.dual[side][j],
                            rho,
                            sign * dy[j],
                        );
                    }
                }
            }
        }
    }

    fn advance(&mut self, states: &mut States, primal: f64, dual: f64) {
        self.each(states, |slack, multiplier, ds, dl| {
            *slack += primal * ds;
            *multiplier += dual * dl;
        });
        for k in 0..self.points.len() {
            states.x[k] += primal * self.sweep.dx[k];
            states.u[k] += primal * self.sweep.du[k];
        }
    }

    /// Sum of all slacks times multipliers, and how many.
    fn complement(&self) -> (f64, f64) {
        let (mut sum, mut count) = (0.0, 0.0);
        let pairs = self.accelerations.iter().chain(self.jerks.iter().flatten());
        for pair in pairs {
            for side in 0..2 {
                for j in 0..W {
                    sum += pair.slack[side][j] * pair.dual[side][j];
                }
            }
            count += 2.0 * W as f64;
        }
        for [slack, dual] in self.speeds.iter().chain(&self.halfway) {
            sum += slack * dual;
            count += 1.0;
        }
        (sum, count)
    }
}
