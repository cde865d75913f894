//! What a motion with constant s⃛ uses of the limits, at every instant.
//!
//! Between two knots s is a cubic of time and each joint a cubic of s: positions are polynomials of
//! degree nine. The coefficients of a polynomial in the Bernstein basis bound it over the whole
//! interval \[Farin2002\], and are near it where the interval is short.

use super::jerk::Knot;
use super::spline::Spline;
use super::MotionLimits;

/// Degrees of velocity, acceleration and jerk in time.
const DEGREES: [usize; 3] = [8, 7, 6];

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
        for joint in 0..spline.dof() {
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
                jerk[joint],
            ];
            let mut scale = 1.0;
            for kind in 0..3 {
                for k in 0..9 - kind {
                    powers[k] = powers[k + 1] * (k + 1) as f64;
                }
                scale /= span;
                let unit = scale / of[kind];
                let degree = DEGREES[kind];
                for (i, row) in self.tables[kind][..=degree].iter().enumerate() {
                    let mut sum = 0.0;
                    for k in 0..=degree {
                        sum += row[k] * powers[k];
                    }
                    let share = (sum * unit).abs();
                    uses.most[kind] = uses.most[kind].max(share);
                    if i == 0 || i == degree {
                        let end = usize::from(i > 0);
                        uses.ends[end] = uses.ends[end].max(share);
                    }
                }
            }
        }
        uses
    }
}
