//! The fastest motion along a spline within velocity, acceleration and jerk limits.
//!
//! On a grid of path parameters the unknowns are x = ṡ² and u = s̈ at each point \[Wang2026\]; in between s⃛
//! is constant, so that one equation binds both ends of an interval, and any answer is a motion that a
//! controller can be given as it is. Limits of velocity and acceleration are linear in x and u, those of
//! jerk are not, nor is the equation: an interior-point method \[Nocedal2006\] takes the tangents of both anew
//! in each step. Its steps cost one sweep back and forth along the grid (`sweep`). The time is convex
//! in x; the curvature of the rest is left out, which costs steps, never a limit.

use super::bounds::{Bounds, Decrease};
use super::crossing::Crossing;
use super::rows::{rows, Link, Point};
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
/// Smallest slack where a program begins.
const LEAST: f64 = 1e-3;
/// How much of each limit the motion may use where a program begins.
const ROOM: f64 = 0.97;
/// How fast steps become longer again after they were shortened.
const GROW: f64 = 1.5;

/// The program of one grid.
struct Program<const W: usize> {
    points: Vec<Point<W>>,
    links: Vec<Link<W>>,
    ends: [End; 2],
    accelerations: Vec<Bounds<W>>,
    /// Jerk at both ends of each interval.
    jerks: Vec<[Bounds<W>; 2]>,
    /// Velocity at each point, and halfway in the interval that follows.
    speeds: Vec<Bounds<2>>,
    crossings: Vec<Crossing>,
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
        let mut program = Self {
            accelerations: Vec::with_capacity(intervals + 1),
            jerks: Vec::with_capacity(intervals),
            speeds: Vec::with_capacity(intervals + 1),
            crossings: vec![Crossing::default(); intervals],
            sweep: Sweep::new(intervals),
            points,
            links,
            ends,
            mu: 0.0,
        };
        program.cross(states);
        program.slow_down(states, ROOM);
        program.cross(states);
        let count = program.count();
        program.mu = gap * program.duration() / count;
        program.start(states);
        program
    }

    /// Slows the motion down as a whole until all bounds are kept, at most a share `most` of each used.
    fn slow_down(&self, states: &mut States, most: f64) {
        let mut factor = 1.0_f64;
        for k in 0..self.points.len() {
            for y in self
                .speed(states, k)
                .into_iter()
                .chain(self.force(states, k))
            {
                factor = factor.max(y.abs() / most);
            }
        }
        let mut hardest = 0.0_f64;
        for i in 0..self.links.len() {
            for y in [0, 1].into_iter().flat_map(|end| self.jerk(i, end)) {
                hardest = hardest.max(y.abs() / most);
            }
        }
        let factor = factor.max(hardest.cbrt().powi(2));
        states.x.iter_mut().for_each(|x| *x /= factor);
        states.u.iter_mut().for_each(|u| *u /= factor);
    }

    /// How many bounds there are.
    fn count(&self) -> f64 {
        (self.links.len() * (6 * W + 4)) as f64
    }

    fn duration(&self) -> f64 {
        self.crossings.iter().map(|crossing| crossing.time).sum()
    }

    fn run(&mut self, states: &mut States, gap: f64) -> bool {
        let intervals = self.links.len();
        self.cross(states);
        let goal = gap;
        let count = self.count();
        let closed = CLOSED.max(1e-3 * goal);
        // Tangents are exact, curvatures of jerk are left out: where that makes steps too long they
        // go to and fro, and half of each is right.
        let (mut cap, mut before) = (1.0_f64, f64::INFINITY);
        for _ in 0..STEPS {
            self.gather(states);
            if !self.sweep.solve(self.ends) {
                return false;
            }
            let [primal, dual] = self.reach(states);
            let (primal, dual) = (primal.min(cap), dual.min(cap));
            let gap = self.advance(states, primal, dual);
            self.cross(states);
            let worst = (0..intervals).fold(0.0_f64, |most, i| {
                most.max(self.crossings[i].gap.abs() / states.x[i].max(states.x[i + 1]))
            });
            let duration = self.duration();
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

    /// Slacks as they are, multipliers to fit.
    fn start(&mut self, states: &States) {
        for k in 0..self.points.len() {
            let bounds = Bounds::around(&self.force(states, k), self.mu, LEAST);
            self.accelerations.push(bounds);
            self.speeds
                .push(Bounds::around(&self.speed(states, k), self.mu, LEAST));
        }
        for i in 0..self.links.len() {
            let bounds = [0, 1].map(|end| Bounds::around(&self.jerk(i, end), self.mu, LEAST));
            self.jerks.push(bounds);
        }
    }

    /// Shares of the acceleration limits in use at a point.
    #[inline(always)]
    fn force(&self, states: &States, k: usize) -> [f64; W] {
        let point = &self.points[k];
        let (x, u) = (states.x[k], states.u[k]);
        std::array::from_fn(|j| point.first[j] * u + point.second[j] * x)
    }

    /// ṡ² by its largest value at a point, and halfway to the next.
    #[inline(always)]
    fn speed(&self, states: &States, k: usize) -> [f64; 2] {
        let after = match (self.crossings.get(k), self.links.get(k)) {
            (Some(crossing), Some(link)) => crossing.halfway / link.most,
            _ => 0.0,
        };
        [states.x[k] / self.points[k].most, after]
    }

    /// Shares of the jerk limits in use at an end of an interval.
    #[inline(always)]
    fn jerk(&self, i: usize, end: usize) -> [f64; W] {
        let link = &self.links[i];
        let [change, both, cube] = self.crossings[i].turns(end);
        let (first, second) = (&link.first[end], &link.second[end]);
        std::array::from_fn(|j| first[j] * change + second[j] * both + link.third[j] * cube)
    }

    /// Takes the tangents of all intervals.
    fn cross(&mut self, states: &States) {
        for (i, crossing) in self.crossings.iter_mut().enumerate() {
            *crossing = states.crossing(i);
        }
    }

    /// The quadratic model of the step.
    fn gather(&mut self, states: &States) {
        let mu = self.mu;
        for k in 0..self.points.len() {
            let y = self.force(states, k);
            let [weight, slope] = self.accelerations[k].weigh(&y, mu);
            let (first, second) = (&self.points[k].first, &self.points[k].second);
            let mut value = Value {
                xx: sum(|j: usize| weight[j] * second[j] * second[j], W),
                xu: sum(|j: usize| weight[j] * first[j] * second[j], W),
                uu: sum(|j: usize| weight[j] * first[j] * first[j], W),
                x: sum(|j: usize| slope[j] * second[j], W),
                u: sum(|j: usize| slope[j] * first[j], W),
            };
            let y = self.speed(states, k);
            let [weight, slope] = self.speeds[k].weigh(&y, mu);
            let g = 1.0 / self.points[k].most;
            value.xx += weight[0] * g * g;
            value.x += slope[0] * g;
            self.sweep.values[k] = value;
            if k == self.links.len() {
                break;
            }
            let mut stage = self.stage(k);
            let (link, crossing) = (&self.links[k], &self.crossings[k]);
            let quarter = crossing.quarter / link.most;
            let row = [0.5 / link.most, quarter, 0.5 / link.most, -quarter];
            for a in 0..4 {
                stage.g[a] += slope[1] * row[a];
                for b in 0..=a {
                    stage.h[a][b] += weight[1] * row[a] * row[b];
                }
            }
            self.sweep.stages[k] = stage;
        }
    }

    /// Time and jerk of an interval.
    fn stage(&mut self, i: usize) -> Stage {
        let crossing = self.crossings[i];
        let mut stage = Stage {
            by: crossing.by,
            rest: crossing.gap,
            ..Stage::default()
        };
        for end in 0..2 {
            let y = self.jerk(i, end);
            let [weight, slope] = self.jerks[i][end].weigh(&y, self.mu);
            let link = &self.links[i];
            // Sums over the joints, first by s⃛, ṡ s̈ and ṡ³.
            let (p, q, r) = (&link.first[end], &link.second[end], &link.third);
            let (pq, pr) = (
                sum(|j: usize| weight[j] * p[j] * q[j], W),
                sum(|j: usize| weight[j] * p[j] * r[j], W),
            );
            let qr = sum(|j: usize| weight[j] * q[j] * r[j], W);
            let gram = [
                [sum(|j: usize| weight[j] * p[j] * p[j], W), pq, pr],
                [pq, sum(|j: usize| weight[j] * q[j] * q[j], W), qr],
                [pr, qr, sum(|j: usize| weight[j] * r[j] * r[j], W)],
            ];
            let slopes = [
                sum(|j: usize| slope[j] * p[j], W),
                sum(|j: usize| slope[j] * q[j], W),
                sum(|j: usize| slope[j] * r[j], W),
            ];
            let turns = crossing.turns_by(end);
            for a in 0..4 {
                let column = [turns[0][a], turns[1][a], turns[2][a]];
                stage.g[a] += slopes[0] * column[0] + slopes[1] * column[1] + slopes[2] * column[2];
                let mapped =
                    gram.map(|row| row[0] * column[0] + row[1] * column[1] + row[2] * column[2]);
                let [p, q, r] = &turns;
                for (b, h) in stage.h[a][..=a].iter_mut().enumerate() {
                    *h += mapped[0] * p[b] + mapped[1] * q[b] + mapped[2] * r[b];
                }
            }
        }
        // Time is near 2 Δ / (ṡ₀ + ṡ₁), which is convex in x₀ and x₁.
        let [v0, v1] = crossing.rate;
        let sum = v0 + v1;
        let part = |v: f64| if v > 0.0 { 0.5 / v } else { 0.0 };
        let (p0, p1) = (part(v0), part(v1));
        let (one, two) = (crossing.time / sum, 2.0 * crossing.time / (sum * sum));
        stage.g[0] -= one * p0;
        stage.g[2] -= one * p1;
        stage.h[0][0] += two * p0 * p0 + 2.0 * one * p0 * p0 * p0;
        stage.h[2][2] += two * p1 * p1 + 2.0 * one * p1 * p1 * p1;
        stage.h[2][0] += two * p0 * p1;
        stage
    }

    /// How far the step may go, for states and slacks and for multipliers, which get their changes.
    fn reach(&mut self, states: &States) -> [f64; 2] {
        let mu = self.mu;
        let (mut most, mut speeds) = (Decrease::none(), Decrease::none());
        for k in 0..self.points.len() {
            let (dx, du) = (self.sweep.dx[k], self.sweep.du[k]);
            let point = &self.points[k];
            let mut dy = [0.0; W];
            for (j, dy) in dy.iter_mut().enumerate() {
                *dy = point.first[j] * du + point.second[j] * dx;
            }
            self.accelerations[k].turn(&dy, mu, &mut most);
            let mut dy = [dx / point.most, 0.0];
            if let (Some(link), Some(crossing)) = (self.links.get(k), self.crossings.get(k)) {
                let d = [dx, du, self.sweep.dx[k + 1], self.sweep.du[k + 1]];
                dy[1] = (0.5 * (d[0] + d[2]) + crossing.quarter * (d[1] - d[3])) / link.most;
                for end in 0..2 {
                    let [p, q, r] = crossing
                        .turns_by(end)
                        .map(|row| row[0] * d[0] + row[1] * d[1] + row[2] * d[2] + row[3] * d[3]);
                    let mut dy = [0.0; W];
                    for (j, dy) in dy.iter_mut().enumerate() {
                        *dy = link.first[end][j] * p + link.second[end][j] * q + link.third[j] * r;
                    }
                    self.jerks[k][end].turn(&dy, mu, &mut most);
                }
            }
            self.speeds[k].turn(&dy, mu, &mut speeds);
        }
        let ([mut primal, dual], [fast, dual_fast]) = (most.reach(REACH), speeds.reach(REACH));
        primal = primal.min(fast);
        for k in 1..self.links.len() {
            // x stays positive.
            if self.sweep.dx[k] < 0.0 {
                primal = primal.min(-0.9 * states.x[k] / self.sweep.dx[k]);
            }
        }
        [primal, dual.min(dual_fast)]
    }

    /// Goes that far; the sum of slacks times multipliers.
    fn advance(&mut self, states: &mut States, primal: f64, dual: f64) -> f64 {
        for k in 0..self.points.len() {
            states.x[k] += primal * self.sweep.dx[k];
            states.u[k] += primal * self.sweep.du[k];
        }
        let all = self.accelerations.iter_mut();
        let all = all.chain(self.jerks.iter_mut().flatten());
        let joints: f64 = all.map(|bounds| bounds.advance(primal, dual)).sum();
        let speeds = self.speeds.iter_mut();
        joints
            + speeds
                .map(|bounds| bounds.advance(primal, dual))
                .sum::<f64>()
    }
}

/// Sum over all lanes, in two parts at once.
#[inline(always)]
fn sum(term: impl Fn(usize) -> f64, lanes: usize) -> f64 {
    let mut parts = [0.0; 2];
    for j in (0..lanes).step_by(2) {
        parts[0] += term(j);
        parts[1] += term(j + 1);
    }
    parts[0] + parts[1]
}
