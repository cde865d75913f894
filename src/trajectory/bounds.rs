//! Bounds −1 ≤ y ≤ 1 of an interior-point method, for all joints at once: slacks, multipliers, and their
//! part of a step \[Nocedal2006\].

/// Two-sided bounds in all lanes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds<const W: usize> {
    slack: [[f64; W]; 2],
    dual: [[f64; W]; 2],
    /// Of a step: first 1/slack and what 1 ∓ y − slack lacks, then the changes of slack and multiplier.
    work: [[[f64; W]; 2]; 2],
}

/// Largest relative decrease of slacks and of multipliers in a step, lane by lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decrease<const W: usize> {
    slack: [f64; W],
    dual: [f64; W],
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b {
        a
    } else {
        b
    }
}

impl<const W: usize> Decrease<W> {
    pub fn none() -> Self {
        Self {
            slack: [0.0; W],
            dual: [0.0; W],
        }
    }

    /// How far slacks and multipliers may go: all of the step, or that `share` of the way to zero.
    pub fn reach(&self, share: f64) -> [f64; 2] {
        [self.slack, self.dual].map(|lanes| {
            let most = lanes.into_iter().fold(0.0, larger);
            if most > share {
                share / most
            } else {
                1.0
            }
        })
    }
}

impl<const W: usize> Bounds<W> {
    /// Around `y`: slacks as they are, `least` at least, and products of slack and multiplier of `mu`.
    pub fn around(y: &[f64; W], mu: f64, least: f64) -> Self {
        let slack = [
            y.map(|y| (1.0 - y).max(least)),
            y.map(|y| (1.0 + y).max(least)),
        ];
        Self {
            slack,
            dual: slack.map(|lanes| lanes.map(|slack| mu / slack)),
            work: [[[0.0; W]; 2]; 2],
        }
    }

    /// Second and first derivative of the step's cost by y.
    #[inline(always)]
    pub fn weigh(&mut self, y: &[f64; W], mu: f64) -> [[f64; W]; 2] {
        let (mut weight, mut slope) = ([0.0; W], [0.0; W]);
        for side in 0..2 {
            let sign = if side == 0 { 1.0 } else { -1.0 };
            let (slack, dual) = (&self.slack[side], &self.dual[side]);
            let [inverse, lack] = &mut self.work;
            for j in 0..W {
                let over = 1.0 / slack[j];
                let rho = 1.0 - sign * y[j] - slack[j];
                weight[j] += dual[j] * over;
                slope[j] += sign * (mu - dual[j] * rho) * over;
                inverse[side][j] = over;
                lack[side][j] = rho;
            }
        }
        [weight, slope]
    }

    /// Changes of slacks and multipliers where y changes by `dy`; after [`Bounds::weigh`].
    #[inline(always)]
    pub fn turn(&mut self, dy: &[f64; W], mu: f64, most: &mut Decrease<W>) {
        for side in 0..2 {
            let sign = if side == 0 { 1.0 } else { -1.0 };
            let dual = &self.dual[side];
            let [first, second] = &mut self.work;
            for j in 0..W {
                let over = first[side][j];
                let ds = second[side][j] - sign * dy[j];
                let dl = (mu - dual[j] * ds) * over - dual[j];
                most.slack[j] = larger(most.slack[j], -ds * over);
                most.dual[j] = larger(most.dual[j], -dl / dual[j]);
                first[side][j] = ds;
                second[side][j] = dl;
            }
        }
    }

    /// Goes that far; the sum of slacks times multipliers.
    #[inline(always)]
    pub fn advance(&mut self, primal: f64, dual: f64) -> f64 {
        let mut sums = [0.0; W];
        for side in 0..2 {
            let (slack, multiplier) = (&mut self.slack[side], &mut self.dual[side]);
            let [ds, dl] = &self.work;
            for (j, sum) in sums.iter_mut().enumerate() {
                slack[j] += primal * ds[side][j];
                multiplier[j] += dual * dl[side][j];
                *sum += slack[j] * multiplier[j];
            }
        }
        sums.into_iter().sum()
    }
}
