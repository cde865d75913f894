//! What a motion with constant s⃛ uses of the limits, at every instant.
//!
//! Between two knots s is a cubic of time and each joint a cubic of s: positions are polynomials of
//! degree nine. The coefficients of a polynomial in the Bernstein basis bound it over the whole
//! interval \[Farouki2012\], and are near it where the interval is short.

use super::jerk::Knot;
use super::spline::Spline;
use super::MotionLimits;

/// Degrees of velocity, acceleration and jerk in time.
const DEGREES: [usize; 3] = [8, 7, 6];

/// Share of a limit up to which it is far.
const FAR: f64 = 0.99;

/// Shares of the limits that a motion between two knots uses.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Uses {
    /// Of velocity, acceleration and jerk at any instant: upper bounds.
    pub most: [f64; 3],
    /// Of any of them right after the first knot and right before the second.
    pub ends: [f64; 2],
}

/// Tables that turn powers into Bernstein coefficients.
pub(super) struct Certifier {
    /// For each degree n, row i: C(i, k) / C(n, k).
    tables: [[[f64; 9]; 9]; 3],
}

fn choose(n: usize, k: usize) -> f64 {
    (0..k).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64)
}

impl Certifier {
    pub fn new() -> Self {
        let mut tables = [[[0.0; 9]; 9]; 3];
        for (table, degree) in tables.iter_mut().zip(DEGREES) {
            for (i, row) in table.iter_mut().enumerate().take(degree + 1) {
                for (k, entry) in row.iter_mut().enumerate().take(i + 1) {
                    *entry = choose(i, k) / choose(degree, k);
                }
            }
        }
        Self { tables }
    }

    /// What of the velocity, acceleration and jerk limits the motion from
    /// `knot` on uses in the next `span` \[s\].
    pub fn uses(
        &self,
        spline: &Spline,
        limits: &MotionLimits,
        jerk: &[f64],
        knot: &Knot,
        span: f64,
    ) -> Uses {
        let s0 = knot.s - spline.knots().get(knot.piece).copied().unwrap_or(0.0);
        // s − s₀ and its powers, in the share of the span that has passed.
        let way = [
            0.0,
            span * knot.rate,
            0.5 * span * span * knot.acceleration,
            span * span * span * knot.jerk / 6.0,
        ];
        let (mut square, mut cube) = ([0.0; 10], [0.0; 10]);
        for a in 1..4 {
            for b in 1..4 {
                square[a + b] += way[a] * way[b];
            }
        }
        for a in 2..7 {
            for b in 1..4 {
                cube[a + b] += square[a] * way[b];
            }
        }
        let mut uses = Uses::default();
        for (joint, &hardest) in jerk.iter().enumerate().take(spline.dof()) {
            let [_, c1, c2, c3] = spline.cubic(knot.piece, joint);
            let first = c1 + s0 * (2.0 * c2 + 3.0 * c3 * s0);
            let second = c2 + 3.0 * c3 * s0;
            let mut powers = [0.0; 10];
            for (k, power) in powers.iter_mut().enumerate().skip(1) {
                *power = second * square[k] + c3 * cube[k];
                if k < 4 {
                    *power += first * way[k];
                }
            }
            let of = [
                limits.velocity()[joint],
                limits.acceleration()[joint],
                hardest,
            ];
            let mut scale = 1.0;
            for kind in 0..3 {
                for k in 0..9 - kind {
                    powers[k] = powers[k + 1] * (k + 1) as f64;
                }
                scale /= span;
                let unit = scale / of[kind];
                let degree = DEGREES[kind];
                let (mut sum, mut size) = (0.0, 0.0);
                for power in &powers[..=degree] {
                    sum += power;
                    size += power.abs();
                }
                uses.ends[0] = uses.ends[0].max((powers[0] * unit).abs());
                uses.ends[1] = uses.ends[1].max((sum * unit).abs());
                // A coarser bound does where the limit is far.
                let most = &mut uses.most[kind];
                if size * unit <= most.max(FAR) {
                    *most = most.max(size * unit);
                    continue;
                }
                for (i, row) in self.tables[kind][..=degree].iter().enumerate() {
                    let mut sum = 0.0;
                    for (entry, power) in row[..=i].iter().zip(&powers) {
                        sum += entry * power;
                    }
                    *most = most.max((sum * unit).abs());
                }
            }
        }
        uses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::EndCondition;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

    proptest! {
        #![proptest_config(Config {
            cases: 300,
            failure_persistence: None,
            rng_algorithm: RngAlgorithm::ChaCha,
            rng_seed: RngSeed::Fixed(0x0b0d),
            ..Config::default()
        })]

        #[test]
        fn bounds_hold_at_every_instant_and_are_near_what_is_used(
            points in prop::collection::vec(prop::collection::vec(-2.0..2.0f64, 3), 4),
            s in 1.0..1.5f64,
            rate in 0.1..1.0f64,
            acceleration in -1.0..1.0f64,
            third in -5.0..5.0f64,
            span in 0.01..0.3f64,
        ) {
            let spline =
                Spline::with_knots(&[0.0, 1.0, 2.0, 3.0], &points, EndCondition::Natural).unwrap();
            let limits = MotionLimits::new(vec![0.5; 3], vec![1.0; 3]).unwrap();
            let jerk = [2.0; 3];
            let knot = Knot { time: 0.0, s, rate, acceleration, jerk: third, piece: 1 };
            let uses = Certifier::new().uses(&spline, &limits, &jerk, &knot, span);
            let mut sampled = [0.0_f64; 3];
            for part in 0..=400 {
                let state = knot.after(span * f64::from(part) / 400.0);
                let (v, u) = (state.rate, state.acceleration);
                let mut here = 0.0_f64;
                for joint in 0..3 {
                    let [_, d, dd] = spline.evaluate(1, joint, state.s);
                    let ddd = 6.0 * spline.cubic(1, joint)[3];
                    let shares = [
                        (d * v).abs() / 0.5,
                        (d * u + dd * v * v).abs(),
                        (d * third + 3.0 * dd * v * u + ddd * v * v * v).abs() / 2.0,
                    ];
                    for kind in 0..3 {
                        sampled[kind] = sampled[kind].max(shares[kind]);
                        here = here.max(shares[kind]);
                    }
                }
                if part == 0 || part == 400 {
                    let end = usize::from(part > 0);
                    prop_assert!((uses.ends[end] - here).abs() < 1e-9 * (1.0 + here));
                }
            }
            for kind in 0..3 {
                prop_assert!(uses.most[kind] >= sampled[kind] * (1.0 - 1e-12));
                // Far from a limit the bound may be coarse.
                if sampled[kind] > 1.0 && span < 0.05 {
                    prop_assert!(uses.most[kind] <= 1.05 * sampled[kind], "{:?} {:?}", uses, sampled);
                }
            }
        }
    }
}
