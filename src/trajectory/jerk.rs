//! Motion along a spline with limited jerk.
//!
//! The law s(t) has a piecewise constant s⃛. It is found on a grid (`third_order`), beginning with the
//! average of the fastest motion without jerk limits over a window of time. What it uses of the limits
//! between grid points is then bounded (`certify`): where that is too much, or where no limit is
//! reached, the grid is divided; what is left is lowered at the grid points, and at last the motion
//! is slowed as a whole. Should the method fail, the law is the average (`averaged`), which never does.

use super::averaged::{average, averaged};
use super::certify::{Certifier, Uses};
use super::profile::Profile;
use super::spline::Spline;
use super::states::{End, States};
use super::third_order::program;
use super::MotionLimits;

/// How far limits of acceleration and jerk may be exceeded (a share of them).
const SLACK: f64 = 3e-4;
/// Slowing as a whole by that much is not worth another round.
const SLOWED: f64 = 1.0 + 3e-5;
/// Grid points in the time in which the slowest joint builds up its acceleration.
const DENSITY: f64 = 5.0;
/// Fewest grid points of a motion, and most (unless the spline has more knots).
const FEWEST: f64 = 60.0;
const MOST: f64 = 3000.0;
/// Share of the time to build up an acceleration that is worth another grid point.
const WORTH: f64 = 0.007;
/// What is lost at most because the program is not solved further, as a share of the duration, round by round.
const GAPS: [f64; 4] = [1e-2, 5e-3, 1e-3, 5e-5];
/// Rounds after which the grid may be divided.
const DIVIDED: usize = 3;
/// Most rounds.
const ROUNDS: usize = 8;
/// Gap with which the first program begins, and those on a divided grid.
const COLD: f64 = 0.5;
const WARM: f64 = 0.05;

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
        optimal(spline, profile, limits, jerk, None).unwrap_or_else(|| {
            let law = averaged(spline, profile, limits, jerk);
            let uses = law.uses(&Certifier::new(), spline, limits, jerk);
            law.slowed(factor(&uses))
        })
    }

    /// As [`SmoothLaw::new`], with shares of the velocity, acceleration and jerk limits alone as long as s is
    /// below `until`; none where the method fails.
    pub fn gentle_until(
        spline: &Spline,
        profile: &Profile,
        limits: &MotionLimits,
        jerk: &[f64],
        (until, shares): (f64, [f64; 3]),
    ) -> Option<Self> {
        optimal(spline, profile, limits, jerk, Some((until, shares)))
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
            return (knot.piece, knot.s, 0.0, knot.acceleration);
        };
        let state = knot.after((time - knot.time).max(0.0));
        (
            knot.piece,
            state.s.clamp(knot.s.min(next.s), next.s),
            state.rate.max(0.0),
            state.acceleration,
        )
    }

    fn of(states: &States) -> Self {
        let mut time = 0.0;
        let mut knots = Vec::with_capacity(states.s.len());
        for (i, &piece) in states.piece.iter().enumerate() {
            let crossing = states.crossing(i);
            knots.push(Knot {
                time,
                s: states.s[i],
                rate: crossing.rate[0],
                acceleration: states.u[i],
                jerk: crossing.change,
                piece,
            });
            time += crossing.time;
        }
        knots.push(Knot {
            time,
            s: states.s.last().copied().unwrap_or(0.0),
            acceleration: states.u.last().copied().unwrap_or(0.0),
            piece: states.piece.last().copied().unwrap_or(0),
            ..Knot::default()
        });
        Self { knots }
    }

    /// What each interval uses of the limits.
    pub fn uses(
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

    /// Slowed down as a whole by that factor, if it is above 1.
    pub(super) fn slowed(mut self, factor: f64) -> Self {
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

    /// Whether it is a motion at all: finite, forwards, each state following from the one before.
    fn holds_together(&self) -> bool {
        let length =
            self.knots.last().map_or(0.0, |k| k.s) - self.knots.first().map_or(0.0, |k| k.s);
        self.knots.windows(2).all(|pair| {
            let end = pair[0].after(pair[1].time - pair[0].time);
            pair[1].time > pair[0].time
                && pair[1].s > pair[0].s
                && pair[0].rate >= 0.0
                && (end.s - pair[1].s).abs() <= 1e-9 * length
        })
    }
}

/// The fastest law, by the method of `third_order`; none where that fails.
fn optimal(
    spline: &Spline,
    profile: &Profile,
    limits: &MotionLimits,
    jerk: &[f64],
    gentle: Option<(f64, [f64; 3])>,
) -> Option<SmoothLaw> {
    let ends = spline
        .rests_at_ends()
        .map(|still| if still { End::Clamped } else { End::Rest });
    // Time in which the slowest joint builds up its acceleration.
    let slowest = limits
        .acceleration()
        .iter()
        .zip(jerk)
        .fold(0.0_f64, |most, (a, j)| most.max(a / j))
        .max(1e-3 * profile.duration())
        .min(0.5 * profile.duration());
    let first = average(spline, profile, limits, slowest);
    let duration = first.duration();
    if !(duration > 0.0 && duration.is_finite() && slowest > 0.0) {
        return None;
    }
    let step = (slowest / DENSITY).clamp(duration / MOST, duration / FEWEST);
    let mut states = States::new(spline, profile, &first, step, ends);
    if let Some((until, shares)) = gentle {
        states.ask_until(until, shares);
    }
    let certifier = Certifier::new();
    let mut solver = program(spline, limits, jerk, ends, &mut states, COLD)?;
    let mut best: Option<SmoothLaw> = None;
    for round in 0..ROUNDS {
        let last = GAPS.len() - 1;
        if !solver.improve(&mut states, GAPS[round.min(last)]) {
            break;
        }
        let law = SmoothLaw::of(&states);
        let uses = law.uses(&certifier, spline, limits, jerk);
        let factor = factor(&uses);
        if !factor.is_finite() {
            break;
        }
        states.lower(&uses);
        let divided = round < DIVIDED && states.divide(&law, &uses, WORTH * slowest);
        // The first rounds leave gaps between the states.
        let whole = law.holds_together();
        let law = law.slowed(factor);
        if whole
            && best
                .as_ref()
                .is_none_or(|best| law.duration() < best.duration())
        {
            best = Some(law);
        }
        if round >= last && factor <= SLOWED {
            break;
        }
        if divided {
            let Some(next) = program(spline, limits, jerk, ends, &mut states, WARM) else {
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
    let mut most = [0.0_f64; 3];
    for uses in uses {
        for (most, used) in most.iter_mut().zip(uses.most) {
            // Not a number counts as too much.
            *most = if *most >= used { *most } else { used };
        }
    }
    let [velocity, acceleration, jerk] = most;
    velocity
        .max((acceleration / (1.0 + SLACK)).sqrt())
        .max((jerk / (1.0 + SLACK)).cbrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::EndCondition;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

    fn within(law: &SmoothLaw, spline: &Spline, limits: &MotionLimits, jerk: &[f64]) -> bool {
        factor(&law.uses(&Certifier::new(), spline, limits, jerk)) <= 1.0 + 1e-9
    }

    proptest! {
        #![proptest_config(Config {
            cases: 24,
            failure_persistence: None,
            rng_algorithm: RngAlgorithm::ChaCha,
            rng_seed: RngSeed::Fixed(0x1e2c),
            ..Config::default()
        })]

        /// The average of the fastest profile is the slow oracle: it can be done, so it must not be beaten
        /// by it.
        #[test]
        fn the_optimum_is_found_and_no_average_is_faster(
            (points, v, a, j) in (1..8usize).prop_flat_map(|n| (
                prop::collection::vec(prop::collection::vec(-2.5..2.5f64, n), 2..9),
                prop::collection::vec(0.5..3.0f64, n),
                prop::collection::vec(2.0..15.0f64, n),
                prop::collection::vec(5.0..200.0f64, n),
            )),
            clamped in any::<bool>(),
        ) {
            let knots: Vec<f64> = (0..points.len()).map(|k| k as f64).collect();
            let ends = if clamped { EndCondition::Clamped } else { EndCondition::Natural };
            let spline = Spline::with_knots(&knots, &points, ends).unwrap();
            let limits = MotionLimits::new(v, a).unwrap();
            let profile = Profile::fastest_from(&spline, &limits, None);
            let law = optimal(&spline, &profile, &limits, &j, None);
            prop_assert!(law.is_some());
            let law = law.unwrap();
            prop_assert!(law.holds_together());
            prop_assert!(within(&law, &spline, &limits, &j));
            let simple = averaged(&spline, &profile, &limits, &j);
            prop_assert!(law.duration() <= simple.duration(), "{} {}", law.duration(), simple.duration());
            prop_assert!(law.duration() >= profile.duration() * (1.0 - 1e-3));
        }
    }

    #[test]
    fn limits_of_any_size_give_a_motion() {
        let points = [vec![0.0, 0.3], vec![1.0, -0.5], vec![1.5, 0.0]];
        let spline = Spline::with_knots(&[0.0, 1.0, 2.0], &points, EndCondition::Natural).unwrap();
        for acceleration in [1e-3, 1.0, 1e3, 1e6] {
            for jerk in [1e-6, 1e-2, 1.0, 1e3, 1e9, f64::INFINITY] {
                let limits = MotionLimits::new(vec![1.0; 2], vec![acceleration; 2]).unwrap();
                let profile = Profile::fastest_from(&spline, &limits, None);
                let jerk = [jerk, 2.0 * jerk];
                let law = SmoothLaw::new(&spline, &profile, &limits, &jerk);
                assert!(law.holds_together(), "{acceleration} {jerk:?}");
                assert!(
                    within(&law, &spline, &limits, &jerk),
                    "{acceleration} {jerk:?}"
                );
                assert!(law.duration() >= 0.99 * profile.duration());
            }
        }
    }

    #[test]
    fn what_has_too_many_joints_for_lanes_is_averaged() {
        let points: Vec<Vec<f64>> = (0..3)
            .map(|k| (0..20).map(|j| f64::from(k * (j % 5)) * 0.1).collect())
            .collect();
        let spline = Spline::with_knots(&[0.0, 1.0, 2.0], &points, EndCondition::Natural).unwrap();
        let limits = MotionLimits::new(vec![1.0; 20], vec![5.0; 20]).unwrap();
        let profile = Profile::fastest_from(&spline, &limits, None);
        let jerk = [50.0; 20];
        assert_eq!(optimal(&spline, &profile, &limits, &jerk, None), None);
        let law = SmoothLaw::new(&spline, &profile, &limits, &jerk);
        assert!(law.holds_together() && within(&law, &spline, &limits, &jerk));
    }
}
