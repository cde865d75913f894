//! Where to start again: a fixed sequence of configurations, spread evenly over the limits.

use crate::model::{Chain, Dof};

/// The `number`-th of a low-discrepancy sequence in the unit cube of `dimensions`
/// \[Roberts2018\]: a Kronecker sequence with powers of the generalised golden ratio.
fn fractions(number: u32, dimensions: usize) -> impl Iterator<Item = f64> {
    // The root of x^(d+1) = x + 1 in (1, 2], by its contracting fixed-point iteration.
    let power = 1.0 / (dimensions as f64 + 1.0);
    let mut ratio = 2.0_f64;
    for _ in 0..30 {
        ratio = (1.0 + ratio).powf(power);
    }
    let mut step = 1.0;
    (0..dimensions).map(move |_| {
        step /= ratio;
        (0.5 + f64::from(number) * step).fract()
    })
}

/// Bounds between which to draw a degree of freedom.
fn bounds(dof: &Dof, seed: f64) -> (f64, f64) {
    use std::f64::consts::PI;
    match (dof.lower.is_finite(), dof.upper.is_finite()) {
        (true, true) => (dof.lower, dof.upper),
        (true, false) => (dof.lower, dof.lower.max(seed) + PI),
        (false, true) => (dof.upper.min(seed) - PI, dof.upper),
        (false, false) => (seed - PI, seed + PI),
    }
}

/// The `number`-th restart, from 1: inside the limits, within half a turn of the seed where
/// there are none. The same for the same chain and seed, always.
pub(super) fn configuration(chain: &Chain, seed: &[f64], number: u32) -> Vec<f64> {
    of_dofs(&chain.dofs, seed, number)
}

/// The same for degrees of freedom that are no single chain's.
pub(super) fn of_dofs(dofs: &[Dof], seed: &[f64], number: u32) -> Vec<f64> {
    dofs.iter()
        .zip(seed)
        .zip(fractions(number, dofs.len()))
        .map(|((dof, &start), fraction)| {
            let (low, high) = bounds(dof, start);
            dof.clamp(low + fraction * (high - low))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::fractions;

    #[test]
    fn spread_evenly() {
        for dimensions in [1, 6, 7, 12] {
            let mut sums = vec![0.0; dimensions];
            let mut quarters = vec![[0_u32; 4]; dimensions];
            for number in 1..=400 {
                for (index, value) in fractions(number, dimensions).enumerate() {
                    assert!((0.0..1.0).contains(&value));
                    sums[index] += value;
                    quarters[index][(value * 4.0) as usize] += 1;
                }
            }
            for (sum, quarters) in sums.iter().zip(&quarters) {
                assert!((sum / 400.0 - 0.5).abs() < 0.01);
                assert!(quarters.iter().all(|&count| (85..=115).contains(&count)));
            }
        }
    }
}
