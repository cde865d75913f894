//! Motion along a spline with limited jerk, the simple way: slower than need be, but it never fails. What
//! `jerk` begins with, and falls back to.
//!
//! The fastest profile within velocity and acceleration limits has an acceleration that jumps. Its moving
//! average over a window of time does not: the path is still followed exactly, for only the law s(t) is
//! averaged, and the motion takes longer by the window alone. The average of a piecewise linear ṡ has a
//! piecewise constant s⃛. What averaging does to the other limits, and what the curve itself adds to the jerk,
//! is checked on every piece; where it is too much the limits of the profile are lowered around there and all
//! is done again. Slowing down as a whole always ends it.

use super::jerk::{Knot, SmoothLaw};
use super::profile::Profile;
use super::spline::Spline;
use super::MotionLimits;

/// Rounds of lowering limits locally.
const ROUNDS: usize = 30;
/// Windows that are tried, as multiples of the time that the slowest joint needs to build up its
/// acceleration. From full acceleration to full deceleration takes two.
const WINDOWS: [f64; 3] = [1.0, 1.5, 2.0];
/// How far limits may be exceeded by rounding (a share of them).
const ROUNDING: f64 = 1e-9;
/// Deviation of accelerations (a share of the limits) with which the profile is cut into pieces.
const CUT: f64 = 5e-3;
/// What local lowering aims at, so that it ends: a little below the limits.
const AIM: f64 = 0.997;
/// Points of a piece at which limits are checked.
const CHECKS: usize = 4;

/// Shares of the limits in use, at one moment or at most.
#[derive(Debug, Clone, Copy, Default)]
struct Shares {
    velocity: f64,
    acceleration: f64,
    jerk: f64,
    /// Share of the jerk limit that a change of s̈ alone uses.
    change: f64,
}

impl Shares {
    fn max(self, other: Self) -> Self {
        Self {
            velocity: self.velocity.max(other.velocity),
            acceleration: self.acceleration.max(other.acceleration),
            jerk: self.jerk.max(other.jerk),
            change: self.change.max(other.change),
        }
    }

    /// How much slower the motion has to be as a whole.
    fn stretch(&self) -> f64 {
        self.velocity
            .max(self.acceleration.sqrt())
            .max(self.jerk.cbrt())
    }
}

/// A near-fastest law along `spline` within all of `limits`, from rest to rest, around the
/// fastest profile within velocity and acceleration limits.
pub(super) fn averaged(
    spline: &Spline,
    profile: &Profile,
    limits: &MotionLimits,
    jerk: &[f64],
) -> SmoothLaw {
    let slowest = limits
        .acceleration()
        .iter()
        .zip(jerk)
        .fold(0.0_f64, |most, (a, j)| most.max(a / j));
    let laws = WINDOWS
        .into_iter()
        .map(|times| with_window(spline, profile.clone(), limits, jerk, times * slowest));
    let mut best: Option<SmoothLaw> = None;
    for law in laws {
        if best
            .as_ref()
            .is_none_or(|best| law.duration() < best.duration())
        {
            best = Some(law);
        }
    }
    best.unwrap_or(SmoothLaw { knots: Vec::new() })
}

fn with_window(
    spline: &Spline,
    mut profile: Profile,
    limits: &MotionLimits,
    jerk: &[f64],
    window: f64,
) -> SmoothLaw {
    let mut law = average(spline, &profile, limits, window);
    let mut best = law.clone();
    let mut shortest = f64::INFINITY;
    for round in 0..ROUNDS {
        let shares: Vec<Shares> = law
            .knots
            .windows(2)
            .map(|pair| piece_shares(spline, limits, jerk, &pair[0], pair[1].time))
            .collect();
        let worst = shares.iter().fold(Shares::default(), |m, s| m.max(*s));
        let stretched = law.duration() * worst.stretch().max(1.0);
        if stretched < shortest {
            shortest = stretched;
            best = law.clone();
        }
        if worst.stretch() <= 1.0 + ROUNDING || round + 1 == ROUNDS {
            break;
        }
        lower(&mut profile, &law, &shares, window);
        profile.solve(spline, limits);
        law = average(spline, &profile, limits, window);
    }
    stretched(best, spline, limits, jerk)
}

/// Slowed down as a whole until all limits hold.
fn stretched(law: SmoothLaw, spline: &Spline, limits: &MotionLimits, jerk: &[f64]) -> SmoothLaw {
    let worst = law
        .knots
        .windows(2)
        .map(|pair| piece_shares(spline, limits, jerk, &pair[0], pair[1].time))
        .fold(Shares::default(), Shares::max);
    law.slowed(worst.stretch())
}

/// The moving average of a profile's law.
pub(super) fn average(
    spline: &Spline,
    profile: &Profile,
    limits: &MotionLimits,
    window: f64,
) -> SmoothLaw {
    let law = Linear::new(spline, profile, limits);
    let end = law.times.last().copied().unwrap_or(0.0);
    let mut times: Vec<f64> = law.times.clone();
    times.extend(law.times.iter().map(|time| time + window));
    // Where the curve passes from one piece to the next its third derivative jumps.
    times.sort_by(f64::total_cmp);
    let least = 1e-9 * (end + window);
    times.dedup_by(|later, earlier| *later - *earlier < least);
    let mut knots: Vec<Knot> = Vec::with_capacity(times.len() + spline.pieces());
    let state = |time: f64, next: f64| {
        let middle = 0.5 * (time + next);
        let slope = |at: f64| law.acceleration(at);
        let (lead, lag) = (law.state(time), law.state(time - window));
        Knot {
            time,
            s: (lead.2 - lag.2) / window,
            rate: (lead.1 - lag.1) / window,
            acceleration: (lead.0 - lag.0) / window,
            jerk: (slope(middle) - slope(middle - window)) / window,
            piece: 0,
        }
    };
    for pair in times.windows(2) {
        let mut knot = state(pair[0], pair[1]);
        // Divided where it leaves a piece of the curve.
        loop {
            knot.piece = spline.piece_at(knot.s);
            knots.push(knot);
            let rest = pair[1] - knot.time;
            let Some(&border) = spline.knots().get(knot.piece + 1) else {
                break;
            };
            if rest <= least || knot.after(rest).s <= border || knot.piece + 1 >= spline.pieces() {
                break;
            }
            let (mut low, mut high) = (0.0, rest);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if knot.after(middle).s < border {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            if high <= least || rest - high <= least {
                break;
            }
            knot = knot.after(high);
            knot.s = knot.s.max(border);
        }
    }
    let last = spline.knots().last().copied().unwrap_or(0.0);
    knots.push(Knot {
        time: times.last().copied().unwrap_or(0.0),
        s: last,
        piece: spline.pieces().saturating_sub(1),
        ..Knot::default()
    });
    SmoothLaw { knots }
}

/// Largest shares of the limits on the piece of a law from `knot` to the time `end`.
fn piece_shares(
    spline: &Spline,
    limits: &MotionLimits,
    jerk: &[f64],
    knot: &Knot,
    end: f64,
) -> Shares {
    let mut most = Shares::default();
    let span = end - knot.time;
    for part in 0..=CHECKS {
        let state = knot.after(span * part as f64 / CHECKS as f64);
        let (rate, u) = (state.rate, state.acceleration);
        for (joint, &limit) in jerk.iter().enumerate() {
            let [_, d, dd] = spline.evaluate(knot.piece, joint, state.s);
            let ddd = 6.0 * spline.cubic(knot.piece, joint)[3];
            let full = d * knot.jerk + 3.0 * dd * rate * u + ddd * rate * rate * rate;
            most = most.max(Shares {
                velocity: (d * rate).abs() / limits.velocity()[joint],
                acceleration: (d * u + dd * rate * rate).abs() / limits.acceleration()[joint],
                jerk: full.abs() / limit,
                change: (d * knot.jerk).abs() / limit,
            });
        }
    }
    most
}

/// Lowers the limits of the profile wherever the averaged law goes over any.
fn lower(profile: &mut Profile, law: &SmoothLaw, shares: &[Shares], window: f64) {
    let count = profile.piece.len();
    let (mut velocity, mut acceleration) = (vec![1.0_f64; count], vec![1.0_f64; count]);
    for (pair, share) in law.knots.windows(2).zip(shares) {
        if share.stretch() <= AIM.sqrt() || share.stretch() <= 1.0 {
            continue;
        }
        // A change of s̈ is made smaller by smaller accelerations, the rest by less speed.
        let by_change = if share.change > 0.5 * share.jerk {
            share.jerk
        } else {
            1.0
        };
        let by_speed = if share.change > 0.5 * share.jerk {
            1.0
        } else {
            share.jerk.cbrt()
        };
        let wanted_velocity = AIM / share.velocity.max(by_speed).max(1.0);
        let wanted_acceleration = AIM / share.acceleration.max(by_change).max(1.0);
        let (from, to) = (pair[0].time - window, pair[1].time);
        let first = profile.t.partition_point(|&t| t < from).saturating_sub(1);
        for i in first..count {
            if profile.t[i] > to {
                break;
            }
            if share.velocity.max(by_speed) > 1.0 {
                velocity[i] = velocity[i].min(wanted_velocity);
            }
            if share.acceleration.max(by_change) > 1.0 {
                acceleration[i] = acceleration[i].min(wanted_acceleration);
            }
        }
    }
    for i in 0..count {
        profile.velocity_share[i] *= velocity[i].max(0.7);
        profile.acceleration_share[i] *= acceleration[i].max(0.7);
    }
}

/// A law with piecewise constant s̈, and its integrals.
struct Linear {
    times: Vec<f64>,
    s: Vec<f64>,
    rates: Vec<f64>,
    /// ∫ s dt up to each time.
    areas: Vec<f64>,
}

impl Linear {
    fn new(spline: &Spline, profile: &Profile, limits: &MotionLimits) -> Self {
        let first = profile.s.first().copied().unwrap_or(0.0);
        let mut law = Self {
            times: vec![0.0],
            s: vec![first],
            rates: vec![profile.x.first().map_or(0.0, |x| x.sqrt())],
            areas: vec![0.0],
        };
        // At a clamped end ṡ is not zero although the arm rests; averaging needs it to be.
        law.rates[0] = 0.0;
        let (mut time, mut s0, mut rate) = (0.0, first, 0.0);
        let count = profile.piece.len();
        for interval in 0..count {
            let parts = profile.parts(interval, spline, limits, CUT);
            for part in 1..=parts {
                let (s, x) = profile.inside(interval, part as f64 / parts as f64);
                let last = interval + 1 == count && part == parts;
                let next = if last { 0.0 } else { x.sqrt() };
                let step = 2.0 * (s - s0) / (rate + next);
                let u = (next - rate) / step;
                let area = step * (s0 + step * (0.5 * rate + step * u / 6.0));
                time += step;
                law.areas
                    .push(law.areas.last().copied().unwrap_or(0.0) + area);
                law.times.push(time);
                law.s.push(s);
                law.rates.push(next);
                (s0, rate) = (s, next);
            }
        }
        law
    }

    /// ṡ, s and ∫ s dt at `time`.
    fn state(&self, time: f64) -> (f64, f64, f64) {
        let last = self.times.len() - 1;
        if time <= 0.0 {
            return (self.rates[0], self.s[0], self.s[0] * time);
        }
        let i = self.times.partition_point(|&t| t <= time).saturating_sub(1);
        if i >= last {
            let over = time - self.times[last];
            return (0.0, self.s[last], self.areas[last] + self.s[last] * over);
        }
        let since = time - self.times[i];
        let u = (self.rates[i + 1] - self.rates[i]) / (self.times[i + 1] - self.times[i]);
        let (s, rate) = (self.s[i], self.rates[i]);
        (
            rate + u * since,
            s + since * (rate + 0.5 * u * since),
            self.areas[i] + since * (s + since * (0.5 * rate + since * u / 6.0)),
        )
    }

    /// s̈ at `time`, not at a knot.
    fn acceleration(&self, time: f64) -> f64 {
        let i = self.times.partition_point(|&t| t <= time);
        if i == 0 || i >= self.times.len() {
            return 0.0;
        }
        (self.rates[i] - self.rates[i - 1]) / (self.times[i] - self.times[i - 1])
    }
}
