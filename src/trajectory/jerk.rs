//! Motion along a spline with limited jerk.

use super::averaged::{average, averaged};
use super::certify::{Certifier, Uses};
use super::profile::Profile;
use super::spline::Spline;
use super::third_order::{program, End, States};
use super::MotionLimits;

/// A knot of a law with piecewise constant s⃛.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Knot {
    pub time: f64,
    pub s: f64,
    pub rate: f64,
    pub acceleration: f64,
    /// s⃛ until the next knot.
    pub jerk: f64,
    /// The spline's piece until the next knot.
    pub piece: usize,
}

impl Knot {
    /// The state `since` later.
    pub fn after(&self, since: f64) -> Self {
        let (u, j) = (self.acceleration, self.jerk);
        Self {
            time: self.time + since,
            s: self.s + since * (self.rate + since * (0.5 * u + since * j / 6.0)),
            rate: self.rate + since * (u + 0.5 * since * j),
            acceleration: u + since * j,
            ..*self
        }
    }
}

/// A law s(t) with limited jerk, rest to rest.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SmoothLaw {
    pub knots: Vec<Knot>,
}

impl SmoothLaw {
    /// A near-fastest law along `spline` within all of `limits`, from rest to rest. `profile` is the
    /// fastest within velocity and acceleration limits.
    pub fn new(spline: &Spline, profile: &Profile, limits: &MotionLimits, jerk: &[f64]) -> Self {
        optimal(spline, profile, limits, jerk)
            .unwrap_or_else(|| averaged(spline, profile, limits, jerk))
    }

    /// How long it takes \[s\].
    pub fn duration(&self) -> f64 {
        self.knots.last().map_or(0.0, |knot| knot.time)
    }

    /// Piece, s, ṡ and s̈ at `time` \[s\].
    pub fn state(&self, time: f64) -> (usize, f64, f64, f64) {
        let after = self.knots.partition_point(|knot| knot.time <= time);
        let Some(knot) = self.knots.get(after.saturating_sub(1)) else {
            return (0, 0.0, 0.0, 0.0);
        };
        let Some(next) = self.knots.get(after) else {
            return (knot.piece, knot.s, 0.0, 0.0);
        };
        let state = knot.after((time - knot.time).max(0.0));
        (
            knot.piece,
            state.s.clamp(knot.s.min(next.s), next.s),
            state.rate.max(0.0),
            state.acceleration,
        )
    }

    /// Upper bounds of what each interval uses of the limits.
    fn uses(
        &self,
        certifier: &Certifier,
        spline: &Spline,
        limits: &MotionLimits,
        jerk: &[f64],
    ) -> Vec<Uses> {
        let pairs = self.knots.windows(2);
        pairs
            .map(|pair| {
                let span = pair[1].time - pair[0].time;
                certifier.uses(spline, limits, jerk, &pair[0], span)
            })
            .collect()
    }

    /// Slowed down as a whole until what it `uses` of the limits is within them.
    fn slowed(mut self, uses: &[Uses]) -> Self {
        let factor = factor(uses);
        if factor > 1.0 && factor.is_finite() {
            for knot in &mut self.knots {
                knot.time *= factor;
                knot.rate /= factor;
                knot.acceleration /= factor * factor;
                knot.jerk /= factor * factor * factor;
            }
        }
        self
    }

    fn of(states: &States) -> Self {
        let mut time = 0.0;
        let mut knots = Vec::with_capacity(states.s.len());
        for (i, &piece) in states.piece.iter().enumerate() {
            let h = states.crossing(i);
            knots.push(Knot {
                time,
                s: states.s[i],
                rate: states.x[i].sqrt(),
                acceleration: states.u[i],
                jerk: (states.u[i + 1] - states.u[i]) / h,
                piece,
            });
            time += h;
        }
        let last = states.piece.len();
        knots.push(Knot {
            time,
            s: states.s[last],
            acceleration: states.u[last],
            piece: states.piece[last - 1],
            ..Knot::default()
        });
        Self { knots }
    }
}

/// Most rounds of dividing the grid.
const SPLITS: usize = 4;
const ROUNDS: usize = 8;
const GAPS: [f64; 5] = [1e-2, 3e-3, 1e-3, 1e-4, FINAL_GAP];
/// Share of the duration that may be lost because the program is not solved further.
const FINAL_GAP: f64 = 2e-5;

/// Share of the velocity limits, and of the other limits, that may be exceeded.
const VELOCITY_SLACK: f64 = 5e-5;
const SLACK: f64 = 3e-4;

fn env(name: &str, default: f64) -> f64 {
    std::env::var(name)
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(default)
}

fn optimal(
    spline: &Spline,
    profile: &Profile,
    limits: &MotionLimits,
    jerk: &[f64],
) -> Option<SmoothLaw> {
    let slowest = limits
        .acceleration()
        .iter()
        .zip(jerk)
        .fold(0.0_f64, |most, (a, j)| most.max(a / j));
    let law = average(spline, profile, limits, slowest);
    let step = slowest / env("JERK_PARTS", 8.0);
    let mut states = grid(spline, profile, &law, step);
    let ends = spline
        .rests_at_ends()
        .map(|still| if still { End::Clamped } else { End::Rest });
    for (end, still) in [0, states.piece.len()].into_iter().zip(ends) {
        if still == End::Clamped {
            states.u[end] = states.u[end.clamp(1, states.piece.len() - 1)];
        }
    }
    let certifier = Certifier::new();
    let trace = std::env::var("JERK_TRACE").is_ok();
    let worth = slowest * env("JERK_IDLE", 0.01);
    let mut solver = program(spline, limits, jerk, ends, &mut states, 0.5)?;
    let mut best: Option<SmoothLaw> = None;
    for round in 0..ROUNDS {
        let gap = GAPS[round.min(GAPS.len() - 1)];
        let steps = solver.improve(&mut states, gap);
        if steps.is_none() {
            if trace {
                eprintln!("FAILED");
            }
            break;
        }
        let law = SmoothLaw::of(&states);
        let uses = law.uses(&certifier, spline, limits, jerk);
        if trace {
            eprintln!(
                "N {} steps {steps:?} T {} worst {:?}",
                states.piece.len(),
                law.duration(),
                worst(&uses)
            );
        }
        lower(&mut states, &uses);
        let more =
            round < env("JERK_ROUNDS", 3.0) as usize && split(&mut states, &law, &uses, worth);
        let within = factor(&uses) <= 1.0;
        let law = law.slowed(&uses);
        if best
            .as_ref()
            .is_none_or(|best| law.duration() < best.duration())
        {
            best = Some(law);
        }
        if within && gap == FINAL_GAP {
            break;
        }
        if more {
            let Some(next) = program(
                spline,
                limits,
                jerk,
                ends,
                &mut states,
                env("JERK_WARM", 0.05),
            ) else {
                break;
            };
            solver = next;
        } else {
            solver.limit(spline, limits, jerk, &states);
        }
    }
    best
}

/// How much slower a motion that `uses` the limits has to be.
fn factor(uses: &[Uses]) -> f64 {
    let [velocity, acceleration, jerk] = worst(uses);
    (velocity / (1.0 + VELOCITY_SLACK))
        .max((acceleration / (1.0 + SLACK)).sqrt())
        .max((jerk / (1.0 + SLACK)).cbrt())
}

/// Lowers the limits at the grid points so far that they hold in between.
fn lower(states: &mut States, uses: &[Uses]) {
    for (share, uses) in states.share.iter_mut().zip(uses) {
        for (share, used) in share.iter_mut().zip(&uses.most) {
            if *used > 1.0 {
                *share = (*share / used).max(0.5);
            }
        }
    }
}

/// Divides intervals in which limits are exceeded between the grid points. Whether there was any.
fn split(states: &mut States, law: &SmoothLaw, uses: &[Uses], worth: f64) -> bool {
    let mut next = States::default();
    let last = uses.len() - 1;
    for (i, used) in uses.iter().enumerate() {
        next.s.push(states.s[i]);
        next.x.push(states.x[i]);
        next.u.push(states.u[i]);
        next.piece.push(states.piece[i]);
        let excess = used.most.iter().fold(0.0_f64, |most, used| most.max(*used)) - 1.0;
        // The intervals at rest are as they are: a part of them is like the whole.
        let outer = i == 0 || i == last;
        let span = law.knots[i + 1].time - law.knots[i].time;
        // Where none of the limits is reached time is lost.
        let idle = (1.0 - 0.5 * (used.ends[0].min(1.0) + used.ends[1].min(1.0))) * span;
        let parts = if outer {
            1
        } else if excess > 0.1 {
            3
        } else if excess > env("JERK_SPLIT", 0.02) || idle > worth {
            2
        } else {
            1
        };
        // Shorter ones have their own excess.
        next.share
            .push(if parts > 1 { [1.0; 3] } else { states.share[i] });
        for part in 1..parts {
            let knot = &law.knots[i];
            let state =
                knot.after((law.knots[i + 1].time - knot.time) * part as f64 / parts as f64);
            if state.s <= next.s[next.s.len() - 1] || state.s >= states.s[i + 1] {
                continue;
            }
            next.s.push(state.s);
            next.x.push(state.rate * state.rate);
            next.u.push(state.acceleration);
            next.piece.push(states.piece[i]);
            next.share.push([1.0; 3]);
        }
    }
    next.s.push(states.s[last + 1]);
    next.x.push(states.x[last + 1]);
    next.u.push(states.u[last + 1]);
    let more = next.s.len() > states.s.len();
    *states = next;
    more
}

fn worst(uses: &[Uses]) -> [f64; 3] {
    uses.iter().fold([0.0; 3], |most, uses| {
        [0, 1, 2].map(|kind: usize| f64::max(most[kind], uses.most[kind]))
    })
}

/// Grid points about `step` \[s\] apart in the time of a law, and at all knots of the spline.
fn grid(spline: &Spline, profile: &Profile, law: &SmoothLaw, step: f64) -> States {
    // Times at which the law is at the knots of the spline.
    let mut borders = vec![0.0];
    for pair in law.knots.windows(2) {
        if pair[1].piece > pair[0].piece {
            borders.resize(pair[1].piece + 1, pair[1].time);
        }
    }
    borders.push(law.duration());
    let mut states = States::default();
    for (piece, pair) in borders.windows(2).enumerate() {
        let span = pair[1] - pair[0];
        let parts = (span / step).ceil().clamp(1.0, 1e4);
        for part in 0..parts as usize {
            let (_, s, rate, u) = law.state(pair[0] + span * part as f64 / parts);
            let s = if part == 0 { spline.knots()[piece] } else { s };
            if states.s.last().is_some_and(|last| s <= *last) {
                continue;
            }
            let at = profile
                .s
                .partition_point(|p| *p <= s)
                .saturating_sub(1)
                .min(profile.piece.len() - 1);
            states.s.push(s);
            states.x.push(rate * rate);
            states.u.push(u);
            states.piece.push(piece);
            states.share.push([
                profile.velocity_share[at],
                profile.acceleration_share[at],
                1.0,
            ]);
        }
    }
    states.s.push(spline.knots()[spline.pieces()]);
    states.x.push(0.0);
    states.u.push(0.0);
    states.x[0] = 0.0;
    states.u[0] = 0.0;
    states
}
