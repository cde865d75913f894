//! What happens between two grid points at constant s⃛, and how it changes with the states there.

/// Time to cross `delta` from (x₀, u₀) to (x₁, u₁) (ṡ² and s̈) at constant s⃛: Δ = h (ṡ₀ + ṡ₁)/2 − h² (s̈₁ − s̈₀)/12.
fn crossing_time(delta: f64, x: [f64; 2], u: [f64; 2]) -> f64 {
    let mean = 0.5 * (x[0].sqrt() + x[1].sqrt());
    let bend = (u[1] - u[0]) / 12.0;
    let root = (mean * mean - 4.0 * bend * delta).max(0.0).sqrt();
    2.0 * delta / (mean + root)
}

/// An interval of constant s⃛ and its tangent. Derivatives by a ṡ that is zero are left out: there it stays.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Crossing {
    /// Time to cross.
    pub time: f64,
    /// Derivatives of x₁ by x₀, s̈₀ and s̈₁.
    pub by: [f64; 3],
    /// What x₁ lacks, to first order: zero where s̈₁ follows from the other three.
    pub gap: f64,
    /// s⃛.
    pub change: f64,
    /// ṡ at both ends.
    pub rate: [f64; 2],
    /// x halfway.
    pub halfway: f64,
    /// Its derivative by s̈₀, and by −s̈₁ (those by x₀ and x₁ are ½).
    pub quarter: f64,
    u: [f64; 2],
    /// Derivatives of s⃛ by x₀, s̈₀, x₁, s̈₁.
    change_by: [f64; 4],
}

impl Crossing {
    /// Of `delta`, with ṡ² `x` and s̈ `u` at both ends.
    pub fn new(delta: f64, x: [f64; 2], u: [f64; 2]) -> Self {
        let time = crossing_time(delta, x, u);
        let rate = x.map(f64::sqrt);
        let sum = rate[0] + rate[1];
        // f = x₀ + (s̈₀ + s̈₁) (Δ + (s̈₁ − s̈₀) h²/12) − x₁ = 0, where the time h depends on all four.
        let (both, jump) = (u[0] + u[1], u[1] - u[0]);
        let way = delta + jump * time * time / 12.0;
        let by_time = both * jump * time / 6.0;
        // Derivative of the way by the time; it vanishes only where the motion would turn back.
        let growth = (0.5 * sum - jump * time / 6.0).max(1e-3 * sum);
        let by_x = rate.map(|v| {
            if v > 0.0 {
                -0.25 * time / (v * growth)
            } else {
                0.0
            }
        });
        let by_u = time * time / (12.0 * growth);
        let bent = both * time * time / 12.0;
        let down = (1.0 - by_time * by_x[1]).max(0.1);
        let shorter = -jump / (time * time);
        Self {
            time,
            by: [
                (1.0 + by_time * by_x[0]) / down,
                (way - bent - by_time * by_u) / down,
                (way + bent + by_time * by_u) / down,
            ],
            gap: (x[0] + both * way - x[1]) / down,
            change: jump / time,
            rate,
            halfway: 0.5 * (x[0] + x[1]) - 0.25 * delta * jump,
            quarter: 0.25 * delta,
            u,
            change_by: [
                shorter * by_x[0],
                -shorter * by_u - 1.0 / time,
                shorter * by_x[1],
                shorter * by_u + 1.0 / time,
            ],
        }
    }

    /// s⃛, ṡ s̈ and ṡ³ at an end: a joint's jerk is q′ s⃛ + 3 q″ ṡ s̈ + q‴ ṡ³.
    #[inline(always)]
    pub fn turns(&self, end: usize) -> [f64; 3] {
        let rate = self.rate[end];
        [self.change, rate * self.u[end], rate * rate * rate]
    }

    /// Their derivatives by x₀, s̈₀, x₁, s̈₁.
    #[inline(always)]
    pub fn turns_by(&self, end: usize) -> [[f64; 4]; 3] {
        let rate = self.rate[end];
        let (mut both, mut cube) = ([0.0; 4], [0.0; 4]);
        if rate > 0.0 {
            both[2 * end] = 0.5 * self.u[end] / rate;
            cube[2 * end] = 1.5 * rate;
        }
        both[2 * end + 1] = rate;
        [self.change_by, both, cube]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

    proptest! {
        #![proptest_config(Config {
            cases: 200,
            failure_persistence: None,
            rng_algorithm: RngAlgorithm::ChaCha,
            rng_seed: RngSeed::Fixed(0xc405),
            ..Config::default()
        })]

        #[test]
        fn an_interval_is_crossed_as_said_and_tangents_are_those_of_differences(
            v0 in 0.1..2.0f64,
            u0 in -2.0..2.0f64,
            third in -20.0..20.0f64,
            time in 0.001..0.05f64,
        ) {
            let delta = time * (v0 + time * (0.5 * u0 + time * third / 6.0));
            let v1 = v0 + time * (u0 + 0.5 * time * third);
            prop_assume!(v1 > 0.02 && delta > 0.0);
            let u1 = u0 + time * third;
            let at = [v0 * v0, u0, v1 * v1, u1];
            let of = |at: [f64; 4]| Crossing::new(delta, [at[0], at[2]], [at[1], at[3]]);
            let here = of(at);
            prop_assert!((here.time - time).abs() < 1e-9 * time);
            prop_assert!((here.change - third).abs() < 1e-6 * (1.0 + third.abs()));
            prop_assert!(here.gap.abs() < 1e-10);
            for which in 0..4 {
                let step = 1e-6 * (0.1 + at[which].abs());
                let (mut before, mut after) = (at, at);
                before[which] -= step;
                after[which] += step;
                let (before, after) = (of(before), of(after));
                for end in 0..2 {
                    for kind in 0..3 {
                        let change = after.turns(end)[kind] - before.turns(end)[kind];
                        let expected = change / (2.0 * step);
                        let got = here.turns_by(end)[kind][which];
                        prop_assert!((got - expected).abs() < 1e-4 * (1.0 + expected.abs()));
                    }
                }
                // The gap is scaled by what x₁ itself does to it: −1 there.
                let expected = (after.gap - before.gap) / (2.0 * step);
                let got = [here.by[0], here.by[1], -1.0, here.by[2]][which];
                prop_assert!((got - expected).abs() < 1e-3 * (1.0 + expected.abs()), "{which} {got} {expected}");
            }
        }
    }

    #[test]
    fn rest_is_left_by_constant_jerk() {
        // s = j t³/6 with j = 6: at t = 2 s = 8, ṡ = 12, s̈ = 12.
        let crossing = Crossing::new(8.0, [0.0, 144.0], [0.0, 12.0]);
        assert!((crossing.time - 2.0).abs() < 1e-12);
        assert!((crossing.change - 6.0).abs() < 1e-12);
        assert!(crossing.gap.abs() < 1e-9);
        // x₁ is 1.5 Δ s̈₁ whatever the jerk.
        assert!((crossing.by[2] - 12.0).abs() < 1e-9);
    }
}
