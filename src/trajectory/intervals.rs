//! The limits of an interval of the grid, as rows of linear programs.
//!
//! In an interval s̈ is linear in s, with a slope κ: so x = ṡ² is a quadratic that is linear in κ and in its
//! values at both ends. q is a cubic. The acceleration q'(s) s̈ + q''(s) x then
//! is a cubic of s, and the squared velocity q'(s)² x one of degree six. A polynomial stays below the
//! largest of its Bernstein coefficients, and all of them are linear in κ and in x at the two ends: so a few
//! inequalities hold the limits everywhere inside, and what they cost falls with the square of the
//! interval's length \[Farouki2012\].

use super::program::Rows;
use super::spline::Spline;
use super::MotionLimits;

/// Derivatives of a block of joints at the begin of a piece of the spline, in units of each joint's
/// acceleration limit.
#[derive(Debug, Clone, Copy)]
struct Piece<const W: usize> {
    first: [f64; W],
    second: [f64; W],
    third: [f64; W],
}

/// q' (Bernstein coefficients) and q'' (ends) of a block of joints on an interval, in units of each
/// joint's acceleration limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<const W: usize> {
    pub p: [[f64; W]; 3],
    pub e: [[f64; W]; 2],
}

/// What decides at a point of the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Usage {
    /// Largest share of an acceleration limit.
    pub acceleration: f64,
    /// Largest share of a velocity limit.
    pub velocity: f64,
}

impl Usage {
    pub fn most(&self) -> f64 {
        self.acceleration.max(self.velocity)
    }
}

/// Curve and limits, laid out for blocks of `W` joints.
pub(super) struct Intervals<const W: usize> {
    /// Blocks of joints.
    pub chunks: usize,
    knots: Vec<f64>,
    pieces: Vec<Piece<W>>,
    /// Squared ratio of acceleration to velocity limit; zero beyond the last joint.
    ratio: Vec<[f64; W]>,
    /// Above any useful ṡ².
    pub cap: f64,
    /// Whether all q' are exactly zero at the start and at the end: then the arm rests there
    /// whatever ṡ is.
    pub free_ends: [bool; 2],
}

/// What the velocity limits say of an interval. They hold for ṡ² up to `caps` at its ends and a κ h² of
/// `bend`; and at rest for a κ h² of −4 `slow`, with which ṡ² bulges up to `slow`. So they hold for what
/// lies between, because they are linear, and for less ṡ² and more κ h² than that: for a κ h² of
/// at least `rates` times ṡ² at either end, less four times `slow`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct SpeedBounds {
    /// Largest ṡ² at both ends.
    pub caps: [f64; 2],
    /// κ h² that goes with the caps.
    pub bend: f64,
    /// Up to this ṡ² no velocity limit is met anywhere.
    pub slow: f64,
    /// How much the least κ h² rises with ṡ² at both ends.
    pub rates: [f64; 2],
    /// Largest |κ h²|.
    pub most_bend: f64,
}

/// Largest κ h² as a share of the sum of ṡ² at both ends: ṡ must stay well above zero inside.
pub(super) const TURN: f64 = 0.8;
/// Largest bend within an interval: change of s̈ that κ makes, as a share of any acceleration limit.
const MOST_BEND: f64 = 1.0;

/// The larger one, without the care for NaN that `f64::max` takes: none comes here.
#[inline(always)]
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if b > a {
        b
    } else {
        a
    }
}

// Lanes of several arrays go together.
#[allow(clippy::needless_range_loop)]
impl<const W: usize> Intervals<W> {
    pub fn new(spline: &Spline, limits: &MotionLimits) -> Self {
        let dof = spline.dof();
        let chunks = dof.div_ceil(W).max(1);
        let empty = Piece {
            first: [0.0; W],
            second: [0.0; W],
            third: [0.0; W],
        };
        let mut pieces = vec![empty; chunks * spline.pieces()];
        let mut ratio = vec![[0.0; W]; chunks];
        let scales: Vec<f64> = limits.acceleration().iter().map(|a| 1.0 / a).collect();
        for (joint, (&v, &a)) in limits
            .velocity()
            .iter()
            .zip(limits.acceleration())
            .enumerate()
        {
            ratio[joint / W][joint % W] = (a / v) * (a / v);
        }
        for (number, blocks) in pieces.chunks_exact_mut(chunks).enumerate() {
            for (joint, scale) in scales.iter().enumerate() {
                let [_, c1, c2, c3] = spline.cubic(number, joint);
                let (block, lane) = (&mut blocks[joint / W], joint % W);
                block.first[lane] = c1 * scale;
                block.second[lane] = 2.0 * c2 * scale;
                block.third[lane] = 6.0 * c3 * scale;
            }
        }
        let fastest = limits.velocity().iter().fold(0.0_f64, |m, v| m.max(*v));
        let length = spline.length();
        Self {
            chunks,
            knots: spline.knots().to_vec(),
            pieces,
            ratio,
            free_ends: spline.rests_at_ends(),
            cap: 1e9 * (fastest / length).powi(2).max(fastest * fastest),
        }
    }

    fn piece(&self, piece: usize) -> (&[Piece<W>], f64) {
        let blocks = &self.pieces[piece * self.chunks..(piece + 1) * self.chunks];
        (blocks, self.knots[piece])
    }

    /// The blocks of the interval from `s` to `s + h` on `piece`.
    pub fn blocks(&self, piece: usize, s: f64, h: f64, out: &mut Vec<Block<W>>) {
        let (pieces, origin) = self.piece(piece);
        let u = s - origin;
        for piece in pieces {
            let mut block = Block {
                p: [[0.0; W]; 3],
                e: [[0.0; W]; 2],
            };
            for l in 0..W {
                let (second, third) = (piece.second[l], piece.third[l]);
                let p0 = piece.first[l] + u * (second + 0.5 * third * u);
                let e0 = second + third * u;
                let e1 = e0 + third * h;
                block.e[0][l] = e0;
                block.e[1][l] = e1;
                block.p[0][l] = p0;
                block.p[1][l] = p0 + 0.5 * h * e0;
                block.p[2][l] = p0 + 0.5 * h * (e0 + e1);
            }
            out.push(block);
        }
    }

    /// What the velocity limits, of which ṡ² may use `share`, say of an interval of length `h`; without a
    /// bend unless it may be `bent`.
    pub fn speed_bounds(&self, blocks: &[Block<W>], h: f64, share: f64, bent: bool) -> SpeedBounds {
        let [left, middle, right] = self.speed_caps(blocks);
        // A point where nothing moves knows no limit: it must not spoil its neighbour's.
        let (left, right) = (left.min(4.0 * right), right.min(4.0 * left));
        let most_bend = self.most_bend(blocks, h);
        let slow = share * self.slow(blocks).min(self.cap);
        let most = most_bend.min(0.5 * TURN * (left + right));
        // With this bend ṡ² touches the limit in the middle too.
        let touching = (2.0 * (left + right) - 4.0 * middle).clamp(-most, most);
        let mut bend = if bent { share * touching } else { 0.0 };
        let (left, right) = (share * left, share * right);
        let mut factor = self.speed_factor(blocks, left, right, bend, share);
        if factor < 0.5 && bend != 0.0 {
            bend = 0.0;
            factor = self.speed_factor(blocks, left, right, bend, share);
        }
        let caps = [factor * left, factor * right];
        SpeedBounds {
            caps,
            bend,
            slow,
            rates: caps.map(|cap| (bend + 4.0 * slow) / cap),
            most_bend,
        }
    }

    /// Largest ṡ² that velocity limits allow at the left end, the middle and the right end.
    fn speed_caps(&self, blocks: &[Block<W>]) -> [f64; 3] {
        let mut most = [[0.0; W]; 3];
        for (block, ratio) in blocks.iter().zip(&self.ratio) {
            for l in 0..W {
                let [p0, p1, p2] = [block.p[0][l], block.p[1][l], block.p[2][l]];
                let first = [p0, 0.25 * (p0 + 2.0 * p1 + p2), p2];
                for k in 0..3 {
                    most[k][l] = larger(most[k][l], first[k] * first[k] * ratio[l]);
                }
            }
        }
        most.map(|most| (1.0 / most.into_iter().fold(0.0, larger)).min(self.cap))
    }

    /// Up to this ṡ² velocity limits hold anywhere in an interval.
    fn slow(&self, blocks: &[Block<W>]) -> f64 {
        let mut most = [0.0; W];
        for (block, ratio) in blocks.iter().zip(&self.ratio) {
            for l in 0..W {
                let [p0, p1, p2] = [block.p[0][l], block.p[1][l], block.p[2][l]];
                let largest = larger(larger(p0.abs(), p1.abs()), p2.abs());
                most[l] = larger(most[l], largest * largest * ratio[l]);
            }
        }
        1.0 / most.into_iter().fold(0.0, larger)
    }

    /// The factor by which ends of ṡ² from `left` to `right` have to be lowered so that `share` of the
    /// squared velocity limits holds in between, where the bend takes `sag` · σ (1 − σ) off.
    fn speed_factor(
        &self,
        blocks: &[Block<W>],
        left: f64,
        right: f64,
        sag: f64,
        share: f64,
    ) -> f64 {
        let mut factor = 1.0_f64;
        let top = left.max(right) + 0.25 * (-sag).max(0.0);
        for (block, ratio) in blocks.iter().zip(&self.ratio) {
            for l in 0..W {
                let [p0, p1, p2] = [block.p[0][l], block.p[1][l], block.p[2][l]];
                let largest = larger(larger(p0.abs(), p1.abs()), p2.abs());
                if largest * largest * ratio[l] * top <= share {
                    continue;
                }
                let c = [
                    p0 * p0,
                    p0 * p1,
                    (2.0 * p1 * p1 + p0 * p2) / 3.0,
                    p1 * p2,
                    p2 * p2,
                ];
                let product = |x: [f64; 3]| {
                    [
                        c[0] * x[0],
                        (4.0 * c[1] * x[0] + 2.0 * c[0] * x[1]) / 6.0,
                        (6.0 * c[2] * x[0] + 8.0 * c[1] * x[1] + c[0] * x[2]) / 15.0,
                        (4.0 * c[3] * x[0] + 12.0 * c[2] * x[1] + 4.0 * c[1] * x[2]) / 20.0,
                        (c[4] * x[0] + 8.0 * c[3] * x[1] + 6.0 * c[2] * x[2]) / 15.0,
                        (2.0 * c[4] * x[1] + 4.0 * c[3] * x[2]) / 6.0,
                        c[4] * x[2],
                    ]
                };
                let chord = product([left, 0.5 * (left + right), right]);
                let bend = product([0.0, -0.5 * sag, 0.0]);
                for (chord, bend) in chord.into_iter().zip(bend) {
                    if ratio[l] * (chord + bend) > share && chord > 0.0 {
                        factor = factor.min((share - ratio[l] * bend) / (ratio[l] * chord));
                    }
                }
            }
        }
        factor
    }

    /// Largest κ h² that an interval of length `h` may have.
    fn most_bend(&self, blocks: &[Block<W>], h: f64) -> f64 {
        let mut most = [0.0; W];
        for block in blocks {
            let p = &block.p;
            for l in 0..W {
                let largest = larger(larger(p[0][l].abs(), p[1][l].abs()), p[2][l].abs());
                most[l] = larger(most[l], largest);
            }
        }
        2.0 * MOST_BEND * h / larger(most.into_iter().fold(0.0, larger), 1e-300)
    }

    /// Shares of the limits in use at the left end (σ = 0), the middle and the right end of an
    /// interval.
    pub fn usage(&self, blocks: &[Block<W>], x: [f64; 3], u: [f64; 3]) -> [Usage; 3] {
        let mut acceleration = [[0.0_f64; W]; 3];
        let mut velocity = [[0.0_f64; W]; 3];
        for (block, ratio) in blocks.iter().zip(&self.ratio) {
            let (p, e) = (&block.p, &block.e);
            for l in 0..W {
                let first = [p[0][l], 0.25 * (p[0][l] + 2.0 * p[1][l] + p[2][l]), p[2][l]];
                let second = [e[0][l], 0.5 * (e[0][l] + e[1][l]), e[1][l]];
                for k in 0..3 {
                    let a = (first[k] * u[k] + second[k] * x[k]).abs();
                    let v = first[k] * first[k] * ratio[l] * x[k];
                    acceleration[k][l] = larger(acceleration[k][l], a);
                    velocity[k][l] = larger(velocity[k][l], v);
                }
            }
        }
        [0, 1, 2].map(|k| Usage {
            acceleration: acceleration[k].into_iter().fold(0.0, larger),
            velocity: velocity[k].into_iter().fold(0.0, larger).sqrt(),
        })
    }

    /// The range of s̈ that the acceleration limits leave at an end (0 or 1) of an interval.
    pub fn rates(&self, blocks: &[Block<W>], end: usize, x: f64) -> (f64, f64) {
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for block in blocks {
            for l in 0..W {
                let (p, e) = (block.p[2 * end][l], block.e[end][l]);
                if p.abs() > 1e-300 {
                    let inverse = 1.0 / p;
                    low = low.max(-inverse.abs() - e * x * inverse);
                    high = high.min(inverse.abs() - e * x * inverse);
                }
            }
        }
        (low, high)
    }

    /// s̈ along the velocity limit that is used most at an end (0 or 1) of an interval.
    pub fn rate_along_speed(&self, blocks: &[Block<W>], end: usize, x: f64) -> f64 {
        let (mut most, mut rate) = (0.0, 0.0);
        for (block, ratio) in blocks.iter().zip(&self.ratio) {
            for l in 0..W {
                let (p, e) = (block.p[2 * end][l], block.e[end][l]);
                let used = p * p * ratio[l];
                if used > most {
                    most = used;
                    rate = -x * e / p;
                }
            }
        }
        rate
    }

    /// The rows of an interval of length `h` whose s̈ changes by `2 k` from begin to end.
    #[inline(always)]
    pub fn rows(block: &Block<W>, h: f64, k: f64) -> Rows<W> {
        let g = 0.5 / h;
        let third = 1.0 / 3.0;
        let mut rows = Rows {
            a: [[0.0; W]; 4],
            b: [[0.0; W]; 4],
            c: [[0.0; W]; 4],
        };
        for l in 0..W {
            let [p0, p1, p2] = [block.p[0][l], block.p[1][l], block.p[2][l]];
            let [e0, e1] = [block.e[0][l], block.e[1][l]];
            let both = e0 + e1;
            let (left, right) = ((2.0 * p1 + p0) * g, (2.0 * p1 + p2) * g);
            rows.a[0][l] = e0 - p0 * g;
            rows.b[0][l] = p0 * g;
            rows.c[0][l] = -p0 * k;
            rows.a[1][l] = (both - left) * third;
            rows.b[1][l] = (e0 + left) * third;
            rows.c[1][l] = k * (p0 - 2.0 * p1 - 2.0 * e0 * h) * third;
            rows.a[2][l] = (e1 - right) * third;
            rows.b[2][l] = (both + right) * third;
            rows.c[2][l] = k * (2.0 * p1 - p2 - 2.0 * e1 * h) * third;
            rows.a[3][l] = -p2 * g;
            rows.b[3][l] = e1 + p2 * g;
            rows.c[3][l] = p2 * k;
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::EndCondition;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

    fn config() -> Config {
        Config {
            cases: 256,
            failure_persistence: None,
            rng_algorithm: RngAlgorithm::ChaCha,
            rng_seed: RngSeed::Fixed(0x5eed_cab5),
            ..Config::default()
        }
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn velocity_limits_hold_wherever_the_bounds_do(
            points in prop::collection::vec(prop::collection::vec(-2.0..2.0f64, 2), 3..6),
            (from, part) in (0.0..0.95f64, 0.01..1.0f64),
            share in 0.3..1.0f64,
            bent in any::<bool>(),
            (x, y) in (0.0..1.0f64, 0.0..1.0f64),
            over in 0.0..0.3f64,
        ) {
            let knots: Vec<f64> = (0..points.len()).map(|k| k as f64).collect();
            let spline = Spline::with_knots(&knots, &points, EndCondition::Natural).unwrap();
            let limits = MotionLimits::new(vec![1.0, 1.5], vec![3.0, 5.0]).unwrap();
            let intervals = Intervals::<2>::new(&spline, &limits);
            let h = part * (1.0 - from);
            let mut blocks = Vec::new();
            intervals.blocks(1, 1.0 + from, h, &mut blocks);
            let bounds = intervals.speed_bounds(&blocks, h, share, bent);
            let (x, y) = (x * bounds.caps[0], y * bounds.caps[1]);
            let least = (bounds.rates[0] * x).max(bounds.rates[1] * y) - 4.0 * bounds.slow;
            let bend = least + over * (x + y);
            for k in 0..=50 {
                let part = f64::from(k) / 50.0;
                let square = x + part * (y - x) - bend * part * (1.0 - part);
                for (joint, limit) in limits.velocity().iter().enumerate() {
                    let d = spline.evaluate(1, joint, 1.0 + from + part * h)[1];
                    let used = d * d * square / (limit * limit);
                    prop_assert!(used <= share * (1.0 + 1e-9), "{used} of {share} at {part}");
                }
            }
        }
    }
}
