//! One interval's linear program, by guess and check.
//!
//! In an interval s̈ is linear in s, so x = ṡ² is a quadratic: its values x and y at the two ends and its
//! bend κ' = κ h² are the unknowns, and all limits are rows in them (`intervals`). The largest x for any
//! y up to a height, or the largest y for a given x, is found by the dual simplex method
//! \[Lemke1954\]: three bounds that meet in a point which no other point within them surpasses; all rows
//! are evaluated there, and the one that is violated most takes the place of one of the three. Where
//! the neighbour was held back by three bounds this interval most often is by the same: then one evaluation,
//! without divisions, is all there is to do.

use super::intervals::{larger, Block, SpeedBounds, TURN};

/// How far an answer may exceed a limit by rounding (a share of it).
const ROUNDING: f64 = 1e-11;
/// The same where what one program found is met again by another one.
const AGAIN: f64 = 1e-9;
/// Most exchanges of bounds.
const STEPS: usize = 24;
/// Among equally good answers the one with the least κ' is faster inside.
const LEAN: f64 = 1e-7;

/// What may hold a motion back in an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bound {
    /// x has a given value.
    Given,
    /// x ≤ cap.
    Cap,
    /// y ≤ height.
    Height,
    /// x ≥ 0.
    Left,
    /// y ≥ 0.
    Right,
    /// κ' from below, by the largest bend.
    Lowest,
    /// κ' from above.
    Highest,
    /// κ' from above, by [`TURN`].
    Turn,
    /// κ' from below, by the velocity limits and x.
    SpeedLeft,
    /// κ' from below, by the velocity limits and y.
    SpeedRight,
    /// The acceleration limit of a joint (by its place in the blocks), by a Bernstein coefficient.
    Row {
        joint: u32,
        coefficient: u8,
        negative: bool,
    },
}

/// The three bounds that meet in an answer.
pub(super) type Basis = [Bound; 3];

/// n·(x, y, κ') ≤ d.
#[derive(Debug, Clone, Copy)]
struct Plane {
    n: [f64; 3],
    d: f64,
}

/// x, y and κ'.
pub(super) type Answer = [f64; 3];

/// The programs of one interval.
#[derive(Debug)]
pub(super) struct Stage<'a, const W: usize> {
    pub blocks: &'a [Block<W>],
    pub h: f64,
    /// What a row may reach, 1 or less.
    pub share: f64,
    /// Largest x.
    pub cap: f64,
    /// Largest y.
    pub height: f64,
    /// What the velocity limits ask for.
    pub speed: SpeedBounds,
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

// Lanes of several arrays go together.
#[allow(clippy::needless_range_loop)]
impl<const W: usize> Stage<'_, W> {
    /// Acceleration (Bernstein coefficients) of the joints of a block.
    #[inline(always)]
    fn accelerations(&self, block: &Block<W>, [x, y, bend]: Answer) -> [[f64; W]; 4] {
        const THIRD: f64 = 1.0 / 3.0;
        let g = 0.5 / self.h;
        let (u0, u1) = ((y - x - bend) * g, (y - x + bend) * g);
        let middle = 0.5 * (x + y - bend);
        let (u0_one, u1_one) = (THIRD * u0, THIRD * u1);
        let (x_one, y_one) = (THIRD * x, THIRD * y);
        let (u0_two, u1_two, m_two) = (2.0 * u0_one, 2.0 * u1_one, 2.0 * THIRD * middle);
        let mut all = [[0.0; W]; 4];
        for l in 0..W {
            let [p0, p1, p2] = [block.p[0][l], block.p[1][l], block.p[2][l]];
            let [e0, e1] = [block.e[0][l], block.e[1][l]];
            all[0][l] = p0 * u0 + e0 * x;
            all[1][l] = (p1 * u0_two + p0 * u1_one) + (e0 * m_two + e1 * x_one);
            all[2][l] = (p1 * u1_two + p2 * u0_one) + (e1 * m_two + e0 * y_one);
            all[3][l] = p2 * u1 + e1 * y;
        }
        all
    }

    /// The largest acceleration of the joints of a block, as a share of the limits.
    #[inline(always)]
    fn peak(&self, block: &Block<W>, at: Answer) -> f64 {
        let all = self.accelerations(block, at);
        let mut peaks = [0.0_f64; W];
        for l in 0..W {
            let ends = larger(all[0][l].abs(), all[3][l].abs());
            let inside = larger(all[1][l].abs(), all[2][l].abs());
            peaks[l] = larger(ends, inside);
        }
        peaks.into_iter().fold(0.0, larger)
    }

    /// The row that is violated most by more than `slack`, if there is one.
    #[inline(always)]
    fn violated_row(&self, at: Answer, slack: f64) -> Option<Bound> {
        let mut most = self.share * (1.0 + slack);
        let mut worst = None;
        for (number, block) in self.blocks.iter().enumerate() {
            let peak = self.peak(block, at);
            if peak > most {
                most = peak;
                worst = Some(number);
            }
        }
        worst.map(|number| self.worst_of(number, at))
    }

    /// The row of a block that is used most.
    #[inline(never)]
    fn worst_of(&self, number: usize, at: Answer) -> Bound {
        let all = self.accelerations(&self.blocks[number], at);
        let (mut most, mut place) = (0.0, (0, 0));
        for l in 0..W {
            for k in 0..4 {
                if all[k][l].abs() > most {
                    most = all[k][l].abs();
                    place = (k, l);
                }
            }
        }
        let (k, l) = place;
        Bound::Row {
            joint: (number * W + l) as u32,
            coefficient: k as u8,
            negative: all[k][l] < 0.0,
        }
    }

    /// The acceleration row of one joint that is violated most, if there is one.
    fn violated_of(&self, joint: u32, [x, y, bend]: Answer, slack: f64) -> Option<Bound> {
        const THIRD: f64 = 1.0 / 3.0;
        let (block, l) = (&self.blocks[joint as usize / W], joint as usize % W);
        let [p0, p1, p2] = [block.p[0][l], block.p[1][l], block.p[2][l]];
        let [e0, e1] = [block.e[0][l], block.e[1][l]];
        let g = 0.5 / self.h;
        let (u0, u1) = ((y - x - bend) * g, (y - x + bend) * g);
        let middle = x + y - bend;
        let all = [
            p0 * u0 + e0 * x,
            THIRD * (2.0 * p1 * u0 + p0 * u1 + e0 * middle + e1 * x),
            THIRD * (2.0 * p1 * u1 + p2 * u0 + e1 * middle + e0 * y),
            p2 * u1 + e1 * y,
        ];
        let mut most = self.share * (1.0 + slack);
        let mut worst = None;
        for (k, value) in all.into_iter().enumerate() {
            if value.abs() > most {
                most = value.abs();
                worst = Some((k, value < 0.0));
            }
        }
        worst.map(|(k, negative)| Bound::Row {
            joint,
            coefficient: k as u8,
            negative,
        })
    }

    /// A bound that is violated by more than `slack`, if there is one. First those that are likely and
    /// those that cost little, last all joints.
    #[inline(always)]
    fn violated(&self, likely: &[Bound], at: Answer, slack: f64) -> Option<Bound> {
        for (i, bound) in likely.iter().enumerate() {
            let Bound::Row { joint, .. } = *bound else {
                continue;
            };
            let again = |other: &Bound| matches!(other, Bound::Row { joint: j, .. } if *j == joint);
            if likely[..i].iter().any(again) {
                continue;
            }
            let found = self.violated_of(joint, at, slack);
            if found.is_some() {
                return found;
            }
        }
        self.violated_simple(at, slack)
            .or_else(|| self.violated_row(at, slack))
    }

    /// One of the bounds that are no acceleration limits and is violated, if there is one.
    #[inline(always)]
    fn violated_simple(&self, [x, y, bend]: Answer, slack: f64) -> Option<Bound> {
        let tiny = slack * (x.abs() + y.abs() + bend.abs());
        let four = 4.0 * self.speed.slow;
        let [left, right] = self.speed.rates;
        if x - self.cap > tiny {
            Some(Bound::Cap)
        } else if y - self.height > tiny {
            Some(Bound::Height)
        } else if -x > tiny {
            Some(Bound::Left)
        } else if -y > tiny {
            Some(Bound::Right)
        } else if left * x - four - bend > tiny {
            Some(Bound::SpeedLeft)
        } else if right * y - four - bend > tiny {
            Some(Bound::SpeedRight)
        } else if bend - TURN * (x + y) > tiny {
            Some(Bound::Turn)
        } else if bend.abs() - self.speed.most_bend > tiny {
            Some(if bend > 0.0 {
                Bound::Highest
            } else {
                Bound::Lowest
            })
        } else {
            None
        }
    }

    /// The least κ' by the velocity limits and the largest bend.
    fn least_bend(&self, x: f64, y: f64) -> f64 {
        let [left, right] = self.speed.rates;
        larger(
            larger(left * x, right * y) - 4.0 * self.speed.slow,
            -self.speed.most_bend,
        )
    }

    fn plane(&self, bound: Bound, given: f64) -> Plane {
        let simple = |n: [f64; 3], d: f64| Plane { n, d };
        match bound {
            Bound::Given => simple([1.0, 0.0, 0.0], given),
            Bound::Cap => simple([1.0, 0.0, 0.0], self.cap),
            Bound::Height => simple([0.0, 1.0, 0.0], self.height),
            Bound::Left => simple([-1.0, 0.0, 0.0], 0.0),
            Bound::Right => simple([0.0, -1.0, 0.0], 0.0),
            Bound::Lowest => simple([0.0, 0.0, -1.0], self.speed.most_bend),
            Bound::Highest => simple([0.0, 0.0, 1.0], self.speed.most_bend),
            Bound::Turn => simple([-TURN, -TURN, 1.0], 0.0),
            Bound::SpeedLeft => simple([self.speed.rates[0], 0.0, -1.0], 4.0 * self.speed.slow),
            Bound::SpeedRight => simple([0.0, self.speed.rates[1], -1.0], 4.0 * self.speed.slow),
            Bound::Row {
                joint,
                coefficient,
                negative,
            } => self.row(joint as usize, coefficient, negative),
        }
    }

    fn row(&self, joint: usize, coefficient: u8, negative: bool) -> Plane {
        let (block, l) = (&self.blocks[joint / W], joint % W);
        let (g, h) = (0.5 / self.h, self.h);
        let third = 1.0 / 3.0;
        let [p0, p1, p2] = [block.p[0][l], block.p[1][l], block.p[2][l]];
        let [e0, e1] = [block.e[0][l], block.e[1][l]];
        let [a, b, c] = match coefficient {
            0 => [e0 - p0 * g, p0 * g, -p0 * g],
            1 => {
                let left = (2.0 * p1 + p0) * g;
                [
                    (e0 + e1 - left) * third,
                    (e0 + left) * third,
                    g * (p0 - 2.0 * p1 - 2.0 * e0 * h) * third,
                ]
            }
            2 => {
                let right = (2.0 * p1 + p2) * g;
                [
                    (e1 - right) * third,
                    (e0 + e1 + right) * third,
                    g * (2.0 * p1 - p2 - 2.0 * e1 * h) * third,
                ]
            }
            _ => [-p2 * g, e1 + p2 * g, p2 * g],
        };
        let sign = if negative { -1.0 } else { 1.0 };
        Plane {
            n: [sign * a, sign * b, sign * c],
            d: self.share,
        }
    }

    /// The largest x, for any y; `basis` is where to begin and becomes where it ended. `None` if there
    /// is none, or it was not found.
    pub fn largest_x(&self, basis: &mut Basis) -> Option<Answer> {
        // Along a velocity limit nothing else counts.
        let along = [
            self.cap,
            self.height,
            self.least_bend(self.cap, self.height),
        ];
        if self.holds(along) {
            return Some(along);
        }
        let first = [Bound::Cap, Bound::Height, Bound::Lowest];
        let [x, y, bend] = self.climb([1.0, LEAN, -LEAN], first, basis, 0.0, ROUNDING)?;
        Some([x.clamp(0.0, self.cap), y.clamp(0.0, self.height), bend])
    }

    /// The largest y for a given x, likewise.
    pub fn largest_y(&self, x: f64, basis: &mut Basis) -> Option<Answer> {
        let first = [Bound::Given, Bound::Height, Bound::Lowest];
        let [_, y, bend] = self.climb([0.0, 1.0, -LEAN], first, basis, x, AGAIN)?;
        Some([x, y.clamp(0.0, self.height), bend])
    }

    /// Whether all bounds hold.
    pub fn holds(&self, at: Answer) -> bool {
        self.violated(&[], at, AGAIN).is_none()
    }

    fn climb(
        &self,
        objective: [f64; 3],
        first: Basis,
        basis: &mut Basis,
        given: f64,
        slack: f64,
    ) -> Option<Answer> {
        let mut planes = basis.map(|bound| self.plane(bound, given));
        let mut fresh = false;
        for _ in 0..STEPS {
            let [a, b, c] = [planes[0].n, planes[1].n, planes[2].n];
            let crosses = [cross(b, c), cross(c, a), cross(a, b)];
            let scale = 1.0 / dot(a, crosses[0]);
            let gains = crosses.map(|cross| scale * dot(objective, cross));
            let sound =
                scale.is_finite() && (0..3).all(|i| gains[i] >= -1e-12 || basis[i] == Bound::Given);
            if !sound {
                // The neighbour's bounds mean nothing here.
                if fresh {
                    return None;
                }
                fresh = true;
                *basis = first;
                planes = basis.map(|bound| self.plane(bound, given));
                continue;
            }
            let mut at = [0.0; 3];
            for i in 0..3 {
                for k in 0..3 {
                    at[k] += planes[i].d * crosses[i][k];
                }
            }
            let at = at.map(|value| scale * value);
            let Some(bound) = self.violated(basis, at, slack) else {
                return Some(at);
            };
            let plane = self.plane(bound, given);
            // What leaves is the first whose gain would turn negative.
            let mut leaving = None;
            let (mut least, mut weight) = (f64::INFINITY, 0.0);
            for i in 0..3 {
                let w = scale * dot(plane.n, crosses[i]);
                if basis[i] == Bound::Given || w <= 1e-12 {
                    continue;
                }
                let ratio = gains[i].max(0.0) / w;
                if ratio < least || ratio == least && w > weight {
                    (least, weight, leaving) = (ratio, w, Some(i));
                }
            }
            let i = leaving?;
            basis[i] = bound;
            planes[i] = plane;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

    impl<const W: usize> Stage<'_, W> {
        /// All bounds but a given x.
        fn all(&self) -> Vec<Plane> {
            let mut bounds = vec![
                Bound::Cap,
                Bound::Height,
                Bound::Left,
                Bound::Right,
                Bound::Lowest,
                Bound::Highest,
                Bound::Turn,
                Bound::SpeedLeft,
                Bound::SpeedRight,
            ];
            for joint in 0..(W * self.blocks.len()) as u32 {
                for coefficient in 0..4 {
                    for negative in [false, true] {
                        bounds.push(Bound::Row {
                            joint,
                            coefficient,
                            negative,
                        });
                    }
                }
            }
            bounds.into_iter().map(|b| self.plane(b, 0.0)).collect()
        }
    }

    /// The best of all points in which three planes meet, the slow way.
    fn oracle(planes: &[Plane], given: Option<f64>, objective: [f64; 3]) -> Option<f64> {
        let mut best: Option<f64> = None;
        let mut try_point = |three: [&Plane; 3]| {
            let [a, b, c] = three.map(|plane| plane.n);
            let crosses = [cross(b, c), cross(c, a), cross(a, b)];
            let determinant = dot(a, crosses[0]);
            if determinant.abs() < 1e-9 {
                return;
            }
            let mut at = [0.0; 3];
            for i in 0..3 {
                for k in 0..3 {
                    at[k] += three[i].d * crosses[i][k] / determinant;
                }
            }
            if planes.iter().all(|p| dot(p.n, at) <= p.d + 1e-7) {
                let value = dot(objective, at);
                best = Some(best.map_or(value, |best| best.max(value)));
            }
        };
        if let Some(x) = given {
            let fixed = Plane {
                n: [1.0, 0.0, 0.0],
                d: x,
            };
            for (i, p) in planes.iter().enumerate() {
                for q in &planes[..i] {
                    try_point([&fixed, p, q]);
                }
            }
        } else {
            for (i, p) in planes.iter().enumerate() {
                for (j, q) in planes[..i].iter().enumerate() {
                    for r in &planes[..j] {
                        try_point([p, q, r]);
                    }
                }
            }
        }
        best
    }

    fn config() -> Config {
        Config {
            cases: 256,
            failure_persistence: None,
            rng_algorithm: RngAlgorithm::ChaCha,
            rng_seed: RngSeed::Fixed(0x57a6_e001),
            ..Config::default()
        }
    }

    fn lanes() -> impl Strategy<Value = [f64; 2]> {
        prop::array::uniform2(prop_oneof![5 => -2.0..2.0f64, 1 => Just(0.0)])
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn guess_and_check_agrees_with_all_triples_of_planes(
            p in prop::array::uniform3(lanes()),
            e in prop::array::uniform2(lanes()),
            h in 0.1..1.0f64,
            (cap, height) in (0.1..3.0f64, 0.0..3.0f64),
            (bend, slow) in (-0.2..0.2f64, 0.1..0.5f64),
            most_bend in 0.01..1.0f64,
            part in 0.0..1.0f64,
            share in 0.5..1.0f64,
        ) {
            let blocks = [Block { p, e }];
            let caps = [cap, cap.max(height)];
            let speed = SpeedBounds {
                caps,
                bend,
                slow,
                rates: caps.map(|cap| (bend + 4.0 * slow) / cap),
                most_bend,
            };
            let stage = Stage { blocks: &blocks, h, share, cap, height, speed };
            let planes = stage.all();
            let mut basis = [Bound::Cap, Bound::Height, Bound::Lowest];
            let slow_x = oracle(&planes, None, [1.0, 0.0, 0.0]);
            // Rest is always possible.
            let slow_x = slow_x.unwrap_or(0.0);
            let Some(answer) = stage.largest_x(&mut basis) else {
                return Err(TestCaseError::fail(format!("nothing was found, {slow_x}")));
            };
            prop_assert!(stage.holds(answer), "{answer:?}");
            // The lean costs a little.
            prop_assert!((answer[0] - slow_x).abs() <= 1e-5, "{answer:?} {slow_x}");
            // From the basis of another interval the same is found.
            let mut other = [
                Bound::Row { joint: 1, coefficient: 2, negative: true },
                Bound::SpeedRight,
                Bound::Row { joint: 0, coefficient: 0, negative: false },
            ];
            let again = stage.largest_x(&mut other);
            prop_assert!(again.is_some_and(|again| (again[0] - slow_x).abs() <= 1e-5), "{again:?}");

            let x = part * answer[0];
            let mut basis = [Bound::Given, Bound::Height, Bound::Lowest];
            let Some([same, y, bend]) = stage.largest_y(x, &mut basis) else {
                return Err(TestCaseError::fail("no way forward"));
            };
            prop_assert_eq!(same, x);
            prop_assert!(stage.holds([x, y, bend]));
            let slow_y = oracle(&planes, Some(x), [0.0, 1.0, 0.0]).unwrap_or(0.0);
            prop_assert!((y - slow_y).abs() <= 1e-5, "{y} {slow_y}");
        }
    }
}
