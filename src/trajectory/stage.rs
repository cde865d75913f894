//! One interval's linear program, by guess and check.
//!
//! The limits of an interval (`intervals`) are rows in ṡ² at its two ends, x and y. Where its
//! neighbour was held back by a limit it most often is too: so the program is first solved with
//! the neighbour's rows alone, and all rows are evaluated at that answer, which takes neither divisions nor
//! the rows themselves. What is violated joins the few, and the new answer lies on it
//! \[Seidel1991\]. An answer that violates nothing is the answer to the whole program. Where guessing
//! does not end soon there is none here, and `program` decides.

use super::intervals::{larger, Block};

/// How far an answer may exceed a limit by rounding (a share of it).
const ROUNDING: f64 = 1e-11;
/// The same where what one program found is met again by another one.
const AGAIN: f64 = 1e-9;
/// Most rows that are gathered.
const MOST: usize = 12;

/// One of an interval's rows: of a joint, by its place in the blocks, a Bernstein coefficient, and a side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row {
    joint: u32,
    coefficient: u8,
    negative: bool,
}

/// The rows that decided last.
pub(super) type Guess = [Option<Row>; 2];

/// a·x + b·y ≤ d.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    a: f64,
    b: f64,
    d: f64,
}

/// The programs of one interval.
pub(super) struct Stage<'a, const W: usize> {
    blocks: &'a [Block<W>],
    h: f64,
    /// 1/(2h).
    g: f64,
    /// Half the change of s̈ by the bend.
    k: f64,
    /// What a row may reach, 1 or less.
    share: f64,
    /// Largest x.
    cap: f64,
}

// Lanes of several arrays go together.
#[allow(clippy::needless_range_loop)]
impl<'a, const W: usize> Stage<'a, W> {
    /// The programs of an interval of length `h` on which the derivatives are `blocks` and s̈ changes
    /// by `2 k`.
    pub fn new(blocks: &'a [Block<W>], h: f64, k: f64, share: f64, cap: f64) -> Self {
        let g = 0.5 / h;
        Self {
            blocks,
            h,
            g,
            k,
            share,
            cap,
        }
    }

    /// Acceleration (Bernstein coefficients) of the joints of a block.
    #[inline(always)]
    fn accelerations(&self, block: &Block<W>, x: f64, y: f64) -> [[f64; W]; 4] {
        let mean = (y - x) * self.g;
        let (u0, u1) = (mean - self.k, mean + self.k);
        let middle = 0.5 * (x + y) - self.k * self.h;
        const THIRD: f64 = 1.0 / 3.0;
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
    fn peak(&self, block: &Block<W>, x: f64, y: f64) -> f64 {
        let all = self.accelerations(block, x, y);
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
    fn violated(&self, x: f64, y: f64, slack: f64) -> Option<Row> {
        let limit = self.share * (1.0 + slack);
        let mut most = limit;
        let mut worst = None;
        for (number, block) in self.blocks.iter().enumerate() {
            let peak = self.peak(block, x, y);
            if peak > most {
                most = peak;
                worst = Some(number);
            }
        }
        worst.map(|number| self.worst_of(number, x, y))
    }

    /// The row of a block that is used most.
    #[inline(never)]
    fn worst_of(&self, number: usize, x: f64, y: f64) -> Row {
        let all = self.accelerations(&self.blocks[number], x, y);
        let mut row = Row {
            joint: 0,
            coefficient: 0,
            negative: false,
        };
        let mut most = 0.0;
        for l in 0..W {
            for k in 0..4 {
                if all[k][l].abs() > most {
                    most = all[k][l].abs();
                    row = Row {
                        joint: (number * W + l) as u32,
                        coefficient: k as u8,
                        negative: all[k][l] < 0.0,
                    };
                }
            }
        }
        row
    }

    fn line(&self, row: Row) -> Line {
        let joint = row.joint as usize;
        let (block, l) = (&self.blocks[joint / W], joint % W);
        let (g, h, k) = (self.g, self.h, self.k);
        let third = 1.0 / 3.0;
        let [p0, p1, p2] = [block.p[0][l], block.p[1][l], block.p[2][l]];
        let [e0, e1] = [block.e[0][l], block.e[1][l]];
        let (a, b, c) = match row.coefficient {
            0 => (e0 - p0 * g, p0 * g, -p0 * k),
            1 => {
                let left = (2.0 * p1 + p0) * g;
                (
                    (e0 + e1 - left) * third,
                    (e0 + left) * third,
                    k * (p0 - 2.0 * p1 - 2.0 * e0 * h) * third,
                )
            }
            2 => {
                let right = (2.0 * p1 + p2) * g;
                (
                    (e1 - right) * third,
                    (e0 + e1 + right) * third,
                    k * (2.0 * p1 - p2 - 2.0 * e1 * h) * third,
                )
            }
            _ => (-p2 * g, e1 + p2 * g, p2 * k),
        };
        let sign = if row.negative { -1.0 } else { 1.0 };
        Line {
            a: sign * a,
            b: sign * b,
            d: self.share - sign * c,
        }
    }

    /// The largest x for which there is a y in [0, `height`], if guessing finds it; `guess` becomes the
    /// rows that decide.
    pub fn largest_x(&self, height: f64, guess: &mut Guess) -> Option<f64> {
        let mut search = Search {
            x: self.cap,
            y: height,
            cap: self.cap,
            height,
            lines: [Line::default(); MOST],
            rows: [None; MOST],
            count: 0,
            tight: [None; 2],
        };
        for row in guess.iter().flatten() {
            search.add(*row, self.line(*row))?;
        }
        while let Some(row) = self.violated(search.x, search.y, ROUNDING) {
            search.add(row, self.line(row))?;
        }
        *guess = search.tight;
        Some(search.x)
    }

    /// The largest y up to `height` for a given x, if guessing finds it.
    pub fn largest_y(&self, x: f64, height: f64, guess: &mut Option<Row>) -> Option<f64> {
        let bound = |row: Row| {
            let line = self.line(row);
            let y = (line.d - line.a * x) / line.b;
            (line.b > 0.0 && y >= 0.0).then_some(y)
        };
        let mut y = height;
        let mut row = guess.take();
        for _ in 0..MOST {
            if let Some(row) = row {
                match bound(row) {
                    Some(least) if least < y => {
                        y = least;
                        *guess = Some(row);
                    }
                    // A guess that says nothing here is forgotten; what is violated must say something.
                    _ if guess.is_some() || y < height => return None,
                    _ => {}
                }
            }
            row = self.violated(x, y, AGAIN);
            if row.is_none() {
                return Some(y);
            }
        }
        None
    }

    /// Whether all rows hold.
    pub fn holds(&self, x: f64, y: f64) -> bool {
        self.violated(x, y, AGAIN).is_none()
    }
}

/// The best point within a few lines.
struct Search {
    x: f64,
    y: f64,
    cap: f64,
    height: f64,
    lines: [Line; MOST],
    rows: [Option<Row>; MOST],
    count: usize,
    /// The rows that meet there.
    tight: Guess,
}

impl Search {
    /// Adds a line; `None` if there are too many, or nothing is left within them.
    fn add(&mut self, row: Row, line: Line) -> Option<()> {
        if self.count == MOST {
            return None;
        }
        if line.a * self.x + line.b * self.y > line.d {
            self.move_onto(row, line)?;
        }
        self.lines[self.count] = line;
        self.rows[self.count] = Some(row);
        self.count += 1;
        Some(())
    }

    /// The point on `line` with the largest x.
    fn move_onto(&mut self, row: Row, line: Line) -> Option<()> {
        let square = line.a * line.a + line.b * line.b;
        let over = (line.a * self.x + line.b * self.y - line.d) / square;
        let (x0, y0) = (self.x - line.a * over, self.y - line.b * over);
        let (dx, dy) = if line.b >= 0.0 {
            (line.b, -line.a)
        } else {
            (-line.b, line.a)
        };
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut end = None;
        let mut cut = |a: f64, b: f64, d: f64, row: Option<Row>| -> Option<()> {
            let (rate, room) = (a * dx + b * dy, d - a * x0 - b * y0);
            if rate > 0.0 {
                if room < high * rate {
                    high = room / rate;
                    end = row;
                }
            } else if rate < 0.0 {
                if room < low * rate {
                    low = room / rate;
                }
            } else if room < 0.0 {
                return None;
            }
            Some(())
        };
        cut(1.0, 0.0, self.cap, None)?;
        cut(-1.0, 0.0, 0.0, None)?;
        cut(0.0, 1.0, self.height, None)?;
        cut(0.0, -1.0, 0.0, None)?;
        for (line, row) in self.lines[..self.count].iter().zip(&self.rows) {
            cut(line.a, line.b, line.d, *row)?;
        }
        if !(low <= high && high < f64::INFINITY) {
            return None;
        }
        self.x = (x0 + high * dx).clamp(0.0, self.cap);
        self.y = (y0 + high * dy).clamp(0.0, self.height);
        self.tight = [Some(row), end];
        Some(())
    }
}
