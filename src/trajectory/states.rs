//! Grid points of a motion with limited jerk, and its state there.

use super::certify::Uses;
use super::crossing::Crossing;
use super::jerk::SmoothLaw;
use super::profile::Profile;
use super::spline::Spline;

/// Excess over a limit (a share of it) for which an interval is halved, and that for which it is cut in three.
const HALVED: f64 = 1.5e-3;
const CUT: f64 = 0.1;

/// How the path begins or ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    /// ṡ and s̈ are zero.
    Rest,
    /// The spline's derivative is zero there, so that the arm rests whatever s̈ is. ṡ is zero, s̈ constant
    /// in the interval beside the end.
    Clamped,
}

/// Grid points and the state of motion there; s⃛ is constant in between.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct States {
    pub s: Vec<f64>,
    /// ṡ².
    pub x: Vec<f64>,
    /// s̈.
    pub u: Vec<f64>,
    /// The spline's piece of each interval.
    pub piece: Vec<usize>,
    /// Shares of the velocity, acceleration and jerk limits that each interval may use at its ends.
    pub share: Vec<[f64; 3]>,
    /// Shares that were asked for.
    asked: Vec<[f64; 3]>,
}

impl States {
    /// Points about `step` \[s\] apart in the time of a law, and at all knots of the spline; the limits are
    /// lowered as those of the profile.
    pub fn new(
        spline: &Spline,
        profile: &Profile,
        law: &SmoothLaw,
        step: f64,
        ends: [End; 2],
    ) -> Self {
        // When the law is at the knots of the spline.
        let mut borders = vec![0.0];
        for pair in law.knots.windows(2) {
            if pair[1].piece > pair[0].piece {
                borders.resize(pair[1].piece + 1, pair[1].time);
            }
        }
        borders.resize(spline.pieces(), law.duration());
        borders.push(law.duration());
        let fastest = law.knots.iter().fold(0.0_f64, |most, k| most.max(k.rate));
        let mut states = Self::default();
        for (piece, pair) in borders.windows(2).enumerate() {
            let span = pair[1] - pair[0];
            let parts = (span / step).ceil().clamp(1.0, 1e4);
            let bounds = [spline.knots()[piece], spline.knots()[piece + 1]];
            for part in 0..parts as usize {
                let (_, s, rate, u) = law.state(pair[0] + span * part as f64 / parts);
                let s = if part == 0 { bounds[0] } else { s };
                if states.s.last().is_some_and(|last| s <= *last) || s >= bounds[1] {
                    continue;
                }
                let at = profile.s.partition_point(|p| *p <= s).saturating_sub(1);
                let share = |shares: &[f64]| shares.get(at).copied().unwrap_or(1.0);
                let asked = [
                    share(&profile.velocity_share),
                    share(&profile.acceleration_share),
                    1.0,
                ];
                // Only at the ends is ṡ zero.
                let rate = rate.max(1e-6 * fastest);
                states.push(s, rate * rate, u, piece, [asked; 2]);
            }
        }
        states.s.push(spline.knots()[spline.pieces()]);
        states.x.push(0.0);
        states.u.push(0.0);
        states.x[0] = 0.0;
        let last = states.piece.len();
        for (end, beside, kind) in [(0, 1, ends[0]), (last, last.saturating_sub(1), ends[1])] {
            states.u[end] = match kind {
                End::Rest => 0.0,
                End::Clamped => states.u[beside.min(last)],
            };
        }
        states
    }

    fn push(&mut self, s: f64, x: f64, u: f64, piece: usize, [share, asked]: [[f64; 3]; 2]) {
        self.s.push(s);
        self.x.push(x);
        self.u.push(u);
        self.piece.push(piece);
        self.share.push(share);
        self.asked.push(asked);
    }

    /// Asks for lower shares of the limits as long as s is below `until`.
    pub fn ask_until(&mut self, until: f64, shares: [f64; 3]) {
        for ((s, share), asked) in self.s.iter().zip(&mut self.share).zip(&mut self.asked) {
            if *s < until {
                for kind in 0..3 {
                    asked[kind] = asked[kind].min(shares[kind]);
                    share[kind] = share[kind].min(shares[kind]);
                }
            }
        }
    }

    /// How an interval is crossed.
    pub fn crossing(&self, interval: usize) -> Crossing {
        let next = interval + 1;
        Crossing::new(
            self.s[next] - self.s[interval],
            [self.x[interval], self.x[next]],
            [self.u[interval], self.u[next]],
        )
    }

    /// Lowers the limits at the grid points so far that they hold in between.
    pub fn lower(&mut self, uses: &[Uses]) {
        for (share, uses) in self.share.iter_mut().zip(uses) {
            for (share, used) in share.iter_mut().zip(&uses.most) {
                if *used > 1.0 {
                    *share = (*share / used).max(0.5 * *share);
                }
            }
        }
    }

    /// Divides intervals of `law`, which is that of these states, in which limits are exceeded, and those in
    /// which more than `worth` \[s\] may be lost because no limit is reached. Whether there was any.
    pub fn divide(&mut self, law: &SmoothLaw, uses: &[Uses], worth: f64) -> bool {
        let mut next = Self::default();
        let last = uses.len().saturating_sub(1);
        for (i, (used, pair)) in uses.iter().zip(law.knots.windows(2)).enumerate() {
            let excess = used.most.iter().fold(0.0_f64, |most, used| most.max(*used)) - 1.0;
            let span = pair[1].time - pair[0].time;
            let asked = self.asked[i];
            let most = asked.iter().fold(0.0_f64, |most, share| most.max(*share));
            let busy = used.ends.map(|used| (used / most).min(1.0));
            let idle = (1.0 - 0.5 * (busy[0] + busy[1])) * span;
            // The intervals beside the ends are as they are: a part of one is like the whole.
            let parts = if i == 0 || i == last {
                1
            } else if excess > CUT {
                3
            } else if excess > HALVED || idle > worth {
                2
            } else {
                1
            };
            let piece = self.piece[i];
            let share = if parts > 1 { asked } else { self.share[i] };
            next.push(self.s[i], self.x[i], self.u[i], piece, [share, asked]);
            for part in 1..parts {
                let state = pair[0].after(span * part as f64 / parts as f64);
                if state.s > next.s[next.s.len() - 1] && state.s < self.s[i + 1] {
                    let x = state.rate * state.rate;
                    next.push(state.s, x, state.acceleration, piece, [share, asked]);
                }
            }
        }
        let more = next.piece.len() > self.piece.len();
        next.s.extend(self.s.last());
        next.x.extend(self.x.last());
        next.u.extend(self.u.last());
        *self = next;
        more
    }
}
