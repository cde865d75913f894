//! One interval's linear program, by guess and check.
//!
//! In an interval s̈ is linear in s, so x = ṡ² is a quadratic: its values x and y at the two ends and its
//! bend κ' = κ h² are the unknowns, and all limits are rows in them (`intervals`). The largest x for any
//! y up to a height, or the largest y for a given x, is found by the dual simplex method
//! \[Lemke1954\]: three bounds that meet in a point which no other point within them surpasses; all rows
//! are evaluated there, and the one that is violated most takes the place of one of the three. Where
//! the neighbour was held back by three bounds this interval most often is by the same: then one evaluation,
//! without divisions, is all there is to do.

use super::intervals::{larger, Block};

/// How far an answer may exceed a limit by rounding (a share of it).
const ROUNDING: f64 = 1e-11;
/// The same where what one program found is met again by another one.
const AGAIN: f64 = 1e-9;
/// Most exchanges of bounds.
const STEPS: usize = 24;
/// Among equally good answers the one with the least κ' is faster inside.
const LEAN: f64 = 1e-7;
/// Largest κ' as a share of x + y: ṡ must stay well above zero inside.
pub(super) const TURN: f64 = 0.8;

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
    /// Largest |κ'|.
    pub most_bend: f64,
    /// The velocity limits: κ' must be at least this multiple of x, or of y, less four times
    /// `slow` (see [`speed_rates`]).
    pub speed_rates: [f64; 2],
    /// Up to this ṡ² no velocity limit is met anywhere.
    pub slow: f64,
}

/// How much the velocity limits raise the least κ' with x, and with y. The limits hold for x and y up to
/// `caps` and a κ' of `bend`; and at rest for a κ' of −4 `slow`, with which ṡ² bulges up to `slow`. So they
/// hold for what lies between, because they are linear, and for less x, less y and more κ' than that.
pub(super) fn speed_rates(caps: [f64; 2], bend: f64, slow: f64) -> [f64; 2] {
    caps.map(|cap| (bend + 4.0 * slow) / cap)
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
        let four = 4.0 * self.slow;
        let [left, right] = self.speed_rates;
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
        } else if bend.abs() - self.most_bend > tiny {
            Some(if bend > 0.0 { Bound::Highest } else { Bound::Lowest })
        } else {
            None
        }
    }

    /// The least κ' by the velocity limits and the largest bend.
    fn least_bend(&self, x: f64, y: f64) -> f64 {
        let [left, right] = self.speed_rates;
        larger(larger(left * x, right * y) - 4.0 * self.slow, -self.most_bend)
    }

    fn plane(&self, bound: Bound, given: f64) -> Plane {
        let simple = |n: [f64; 3], d: f64| Plane { n, d };
        match bound {
            Bound::Given => simple([1.0, 0.0, 0.0], given),
            Bound::Cap => simple([1.0, 0.0, 0.0], self.cap),
            Bound::Height => simple([0.0, 1.0, 0.0], self.height),
            Bound::Left => simple([-1.0, 0.0, 0.0], 0.0),
            Bound::Right => simple([0.0, -1.0, 0.0], 0.0),
            Bound::Lowest => simple([0.0, 0.0, -1.0], self.most_bend),
            Bound::Highest => simple([0.0, 0.0, 1.0], self.most_bend),
            Bound::Turn => simple([-TURN, -TURN, 1.0], 0.0),
            Bound::SpeedLeft => simple([self.speed_rates[0], 0.0, -1.0], 4.0 * self.slow),
            Bound::SpeedRight => simple([0.0, self.speed_rates[1], -1.0], 4.0 * self.slow),
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
        let along = [self.cap, self.height, self.least_bend(self.cap, self.height)];
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
            let sound = scale.is_finite()
                && (0..3).all(|i| gains[i] >= -1e-12 || basis[i] == Bound::Given);
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
