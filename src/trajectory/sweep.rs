//! A quadratic program along a chain of states, by one sweep back and one forth (a Riccati recursion,
//! \[Rao1998\]): the cost of a step of the interior-point method in `third_order`.
//!
//! Each point of the chain has a change (δx, δu). Within an interval δx₁ is linear in δx₀, δu₀ and δu₁, so
//! that δu₁ is what is chosen. At both ends δx is zero, and δu as the [`End`] says.

use super::states::End;

/// A quadratic in (δx, δu): ½ (xx δx² + 2 xu δx δu + uu δu²) + x δx + u δu.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Value {
    pub xx: f64,
    pub xu: f64,
    pub uu: f64,
    pub x: f64,
    pub u: f64,
}

/// An interval: a quadratic in δx₀, δu₀, δx₁, δu₁, and the equation that binds them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Stage {
    /// Second derivatives; only the lower triangle is read.
    pub h: [[f64; 4]; 4],
    /// First derivatives.
    pub g: [f64; 4],
    /// Derivatives of x₁ by x₀, u₀ and u₁.
    pub by: [f64; 3],
    /// What δx₁ is on top of that.
    pub rest: f64,
}

/// Choice of an interval: δu₁ = x δx₀ + u δu₀ + constant.
#[derive(Debug, Clone, Copy, Default)]
struct Gain {
    x: f64,
    u: f64,
    constant: f64,
}

/// A chain, and the changes that are best.
#[derive(Debug, Clone)]
pub(super) struct Sweep {
    /// Of each point.
    pub values: Vec<Value>,
    /// Of each interval.
    pub stages: Vec<Stage>,
    pub dx: Vec<f64>,
    pub du: Vec<f64>,
    gains: Vec<Gain>,
}

impl Sweep {
    /// A chain of that many intervals, three or more.
    pub fn new(intervals: usize) -> Self {
        Self {
            values: vec![Value::default(); intervals + 1],
            stages: vec![Stage::default(); intervals],
            dx: vec![0.0; intervals + 1],
            du: vec![0.0; intervals + 1],
            gains: vec![Gain::default(); intervals],
        }
    }

    /// Finds `dx` and `du`. Whether the program is convex and its answer finite.
    pub fn solve(&mut self, ends: [End; 2]) -> bool {
        let last = self.stages.len();
        let mut value = self.values[last];
        // What the state before the last interval has to fulfil: c·(δx, δu) = right.
        let mut condition: Option<[f64; 3]> = None;
        for i in (0..last).rev() {
            let stage = &self.stages[i];
            let ([cx, c0, c1], rest) = (stage.by, stage.rest);
            let (m, c) = reduced(stage, &value, &self.values[i]);
            let gain = if i + 1 == last {
                // Nothing to choose: the state before has to be such that the end is met.
                let same = ends[1] == End::Clamped;
                condition = Some([cx, if same { c0 + c1 } else { c0 }, -rest]);
                Gain {
                    u: if same { 1.0 } else { 0.0 },
                    ..Gain::default()
                }
            } else if let Some([to_x, to_u, right]) = condition.take() {
                let by = to_x * c1 + to_u;
                Gain {
                    x: -to_x * cx / by,
                    u: -to_x * c0 / by,
                    constant: (right - to_x * rest) / by,
                }
            } else if i == 0 && ends[0] == End::Clamped {
                Gain {
                    u: 1.0,
                    ..Gain::default()
                }
            } else {
                let pivot = m[2][2];
                if !(pivot > 0.0 && pivot.is_finite()) {
                    return false;
                }
                Gain {
                    x: -m[2][0] / pivot,
                    u: -m[2][1] / pivot,
                    constant: -c[2] / pivot,
                }
            };
            let pull = c[2] + m[2][2] * gain.constant;
            value = Value {
                xx: m[0][0] + gain.x * (2.0 * m[0][2] + gain.x * m[2][2]),
                xu: m[0][1] + gain.x * m[1][2] + gain.u * m[0][2] + gain.x * gain.u * m[2][2],
                uu: m[1][1] + gain.u * (2.0 * m[1][2] + gain.u * m[2][2]),
                x: c[0] + gain.constant * m[0][2] + gain.x * pull,
                u: c[1] + gain.constant * m[1][2] + gain.u * pull,
            };
            self.gains[i] = gain;
        }
        self.dx[0] = 0.0;
        self.du[0] = match ends[0] {
            End::Rest => 0.0,
            End::Clamped => -value.u / value.uu,
        };
        for (i, (stage, gain)) in self.stages.iter().zip(&self.gains).enumerate() {
            let (dx, du) = (self.dx[i], self.du[i]);
            let next = gain.x * dx + gain.u * du + gain.constant;
            self.du[i + 1] = next;
            self.dx[i + 1] = stage.by[0] * dx + stage.by[1] * du + stage.by[2] * next + stage.rest;
        }
        self.dx[last] = 0.0;
        self.dx.iter().chain(&self.du).all(|v| v.is_finite())
    }
}

/// Second and first derivatives of an interval, the best of what comes after it and what its first
/// point has, by δx₀, δu₀ and δu₁.
fn reduced(stage: &Stage, after: &Value, own: &Value) -> ([[f64; 3]; 3], [f64; 3]) {
    let ([cx, c0, c1], rest) = (stage.by, stage.rest);
    let h = &stage.h;
    let (h22, h32, h33) = (h[2][2] + after.xx, h[3][2] + after.xu, h[3][3] + after.uu);
    // Derivatives by x₁ as it is, then by the three that it depends on.
    let by_x = [h[2][0] + h22 * cx, h[2][1] + h22 * c0, h32 + h22 * c1];
    let m00 = h[0][0] + own.xx + cx * (h[2][0] + by_x[0]);
    let m10 = h[1][0] + own.xu + c0 * h[2][0] + cx * by_x[1];
    let m11 = h[1][1] + own.uu + c0 * (h[2][1] + by_x[1]);
    let m20 = h[3][0] + cx * h32 + c1 * by_x[0];
    let m21 = h[3][1] + c0 * h32 + c1 * by_x[1];
    let m22 = h33 + c1 * (h32 + by_x[2]);
    let slope = stage.g[2] + after.x + h22 * rest;
    let c = [
        stage.g[0] + own.x + h[2][0] * rest + cx * slope,
        stage.g[1] + own.u + h[2][1] * rest + c0 * slope,
        stage.g[3] + after.u + h32 * rest + c1 * slope,
    ];
    ([[m00, m10, m20], [m10, m11, m21], [m20, m21, m22]], c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

    /// The same program by one dense system of all states and multipliers.
    fn dense(sweep: &Sweep, ends: [End; 2]) -> DVector<f64> {
        let last = sweep.stages.len();
        let states = 2 * (last + 1);
        let mut equations: Vec<(Vec<(usize, f64)>, f64)> =
            vec![(vec![(0, 1.0)], 0.0), (vec![(2 * last, 1.0)], 0.0)];
        for (i, stage) in sweep.stages.iter().enumerate() {
            equations.push((
                vec![
                    (2 * i, stage.by[0]),
                    (2 * i + 1, stage.by[1]),
                    (2 * i + 3, stage.by[2]),
                    (2 * i + 2, -1.0),
                ],
                -stage.rest,
            ));
        }
        for (end, [outer, inner]) in ends.into_iter().zip([[1, 3], [2 * last + 1, 2 * last - 1]]) {
            equations.push(match end {
                End::Rest => (vec![(outer, 1.0)], 0.0),
                End::Clamped => (vec![(outer, 1.0), (inner, -1.0)], 0.0),
            });
        }
        let size = states + equations.len();
        let (mut matrix, mut right) = (DMatrix::zeros(size, size), DVector::zeros(size));
        for (k, value) in sweep.values.iter().enumerate() {
            let (x, u) = (2 * k, 2 * k + 1);
            matrix[(x, x)] += value.xx;
            matrix[(x, u)] += value.xu;
            matrix[(u, x)] += value.xu;
            matrix[(u, u)] += value.uu;
            right[x] -= value.x;
            right[u] -= value.u;
        }
        for (i, stage) in sweep.stages.iter().enumerate() {
            for a in 0..4 {
                right[2 * i + a] -= stage.g[a];
                for b in 0..4 {
                    matrix[(2 * i + a, 2 * i + b)] += stage.h[a.max(b)][a.min(b)];
                }
            }
        }
        for (row, (terms, value)) in equations.into_iter().enumerate() {
            for (column, factor) in terms {
                matrix[(states + row, column)] += factor;
                matrix[(column, states + row)] += factor;
            }
            right[states + row] = value;
        }
        matrix.lu().solve(&right).unwrap()
    }

    proptest! {
        #![proptest_config(Config {
            cases: 60,
            failure_persistence: None,
            rng_algorithm: RngAlgorithm::ChaCha,
            rng_seed: RngSeed::Fixed(0x5eed),
            ..Config::default()
        })]

        #[test]
        fn a_sweep_answers_as_one_dense_system_does(
            intervals in 4..12usize,
            numbers in prop::collection::vec(-1.0..1.0f64, 500),
        ) {
            let mut numbers = numbers.into_iter();
            let mut next = || numbers.next().unwrap();
            let mut sweep = Sweep::new(intervals);
            for value in &mut sweep.values {
                let (a, b, c) = (next(), next(), next());
                *value = Value {
                    xx: a * a + 0.1,
                    xu: a * b,
                    uu: b * b + c * c + 0.1,
                    x: next(),
                    u: next(),
                };
            }
            for stage in &mut sweep.stages {
                for _ in 0..5 {
                    let row = [next(), next(), next(), next()];
                    for a in 0..4 {
                        for b in 0..=a {
                            stage.h[a][b] += row[a] * row[b];
                        }
                    }
                }
                stage.g = [next(), next(), next(), next()];
                stage.by = [1.0, 0.4, 0.4].map(|by| by * (1.0 + 0.3 * next()));
                stage.rest = 0.1 * next();
            }
            for first in [End::Rest, End::Clamped] {
                for second in [End::Rest, End::Clamped] {
                    let ends = [first, second];
                    prop_assert!(sweep.solve(ends));
                    let expected = dense(&sweep, ends);
                    for k in 0..sweep.dx.len() {
                        let off = (sweep.dx[k] - expected[2 * k])
                            .abs()
                            .max((sweep.du[k] - expected[2 * k + 1]).abs());
                        prop_assert!(off < 1e-7, "{:?}, point {}: {}", ends, k, off);
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_not_convex_has_no_answer() {
        let mut sweep = Sweep::new(5);
        for stage in &mut sweep.stages {
            stage.by = [1.0, 0.5, 0.5];
            stage.h[3][3] = -1.0;
        }
        assert!(!sweep.solve([End::Rest; 2]));
    }
}
