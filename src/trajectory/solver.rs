//! Solves the programs of a grid, backwards and forwards, and divides the grid where that pays.
//!
//! What a division does not touch is not solved again: the largest ṡ² from which the end can be reached
//! is carried on backwards only until it is what it was, and so is the motion forwards.

use super::intervals::{Block, Intervals, SpeedBounds, Usage, TURN};
use super::profile::{crossing_time, Profile};
use super::program::{Program, Rows};
use super::stage::{Basis, Bound, Stage};

/// Most intervals of a grid; beyond, nothing is divided any more.
const MOST_INTERVALS: usize = 40_000;
/// An interval that loses more than its part of this share of the whole duration is divided: its part where all
/// intervals lose the same, of which there are no more than the second number.
const LOSS: (f64, usize) = (2.4e-3, 300);
/// Below this use of all limits in the middle of an interval a switch is looked for in it.
const SWITCH: f64 = 0.9;
/// Where the motion leaves what it had to slow down for, this share of the other intervals' loss counts
/// as much: how fast it passes there decides on much of the way before and after.
const NARROW: f64 = 0.06;
/// Use of a limit from which on it counts as followed.
const FOLLOWED: f64 = 0.95;
/// Relative gain of ṡ² that is not worth solving the next intervals again.
const NEGLIGIBLE: f64 = 2e-6;
/// Most parts into which an interval is divided at once.
const MOST_PARTS: f64 = 6.0;
/// Attempts with bends given up one by one, before all are. It is rounding alone that can make one fail.
const ATTEMPTS: usize = 6;

/// An interval of the grid.
#[derive(Debug, Clone, Copy)]
struct Cell {
    piece: usize,
    /// Where its derivatives begin in the list of all blocks.
    block: usize,
    s: f64,
    h: f64,
    velocity_share: f64,
    acceleration_share: f64,
    speed: SpeedBounds,
    /// κ h² with which the largest ṡ² at the begin leads to that at the end; NaN if it does not.
    back: f64,
    /// Slope κ = ds̈/ds of the motion.
    kappa: f64,
    /// Time to cross it \[s\].
    time: f64,
    /// Whether its rows or caps have changed since it was solved backwards, and forwards.
    changed: [bool; 2],
    /// Whether its motion has changed since it was judged.
    unjudged: bool,
    /// Whether s̈ has to be constant in it.
    straight: bool,
    /// Whether it was cut off where a switch was expected.
    cut: bool,
}

impl Cell {
    /// An interval about which nothing is known yet.
    fn new(piece: usize, s: f64, h: f64, velocity_share: f64, acceleration_share: f64) -> Self {
        Self {
            piece,
            block: 0,
            s,
            h,
            velocity_share,
            acceleration_share,
            speed: SpeedBounds::default(),
            back: 0.0,
            kappa: 0.0,
            time: 0.0,
            changed: [true; 2],
            unjudged: true,
            straight: false,
            cut: false,
        }
    }
}

pub(super) struct Solver<'a, const W: usize> {
    intervals: &'a Intervals<W>,
    cells: Vec<Cell>,
    blocks: Vec<Block<W>>,
    /// Largest ṡ² from which the end can be reached, at the grid points.
    controllable: Vec<f64>,
    x: Vec<f64>,
    start_x: Option<f64>,
    rows: Vec<Rows<W>>,
}

impl<'a, const W: usize> Solver<'a, W> {
    pub fn new(intervals: &'a Intervals<W>, profile: &Profile) -> Self {
        let count = profile.piece.len();
        let mut solver = Self {
            intervals,
            cells: Vec::with_capacity(count),
            // Room for those of a finer grid too.
            blocks: Vec::with_capacity(2 * count * intervals.chunks),
            controllable: vec![f64::NAN; count + 1],
            x: vec![f64::NAN; count + 1],
            start_x: profile.start_x,
            rows: Vec::with_capacity(intervals.chunks),
        };
        for i in 0..count {
            let (s, h) = (profile.s[i], profile.s[i + 1] - profile.s[i]);
            let shares = (profile.velocity_share[i], profile.acceleration_share[i]);
            solver.push(Cell::new(profile.piece[i], s, h, shares.0, shares.1));
        }
        solver
    }

    /// Hands the solved grid over.
    pub fn finish(self, profile: &mut Profile) {
        let end = profile.s.last().copied().unwrap_or(0.0);
        profile.s = self.cells.iter().map(|cell| cell.s).collect();
        profile.s.push(end);
        profile.piece = self.cells.iter().map(|cell| cell.piece).collect();
        profile.kappa = self.cells.iter().map(|cell| cell.kappa).collect();
        profile.velocity_share = self.cells.iter().map(|cell| cell.velocity_share).collect();
        profile.acceleration_share = self
            .cells
            .iter()
            .map(|cell| cell.acceleration_share)
            .collect();
        profile.x = self.x;
        profile.t.clear();
        profile.t.push(0.0);
        let mut time = 0.0;
        for cell in &self.cells {
            time += cell.time;
            profile.t.push(time);
        }
    }

    /// Appends an interval with its derivatives and caps.
    fn push(&mut self, mut cell: Cell) {
        cell.block = self.blocks.len();
        self.intervals
            .blocks(cell.piece, cell.s, cell.h, &mut self.blocks);
        self.set_caps(&mut cell);
        self.cells.push(cell);
    }

    /// Sets what the velocity limits say of an interval.
    fn set_caps(&self, cell: &mut Cell) {
        let blocks = &self.blocks[cell.block..cell.block + self.intervals.chunks];
        let share = cell.velocity_share * cell.velocity_share;
        cell.speed = self
            .intervals
            .speed_bounds(blocks, cell.h, share, !cell.straight);
    }

    fn blocks_of(&self, i: usize) -> &[Block<W>] {
        let from = self.cells[i].block;
        &self.blocks[from..from + self.intervals.chunks]
    }

    /// Largest ṡ² at a grid point by the velocity limits on both sides.
    fn cap(&self, point: usize) -> f64 {
        let left = point.checked_sub(1).and_then(|i| self.cells.get(i));
        let right = self.cells.get(point);
        let left = left.map_or(self.intervals.cap, |cell| cell.speed.caps[1]);
        right.map_or(left, |cell| cell.speed.caps[0].min(left))
    }

    /// Largest x from which the end can be reached, backwards; then the fastest way, forwards.
    pub fn solve(&mut self) {
        // A bend that does not fit is given up where it stands; at last all are, and what is left
        // always has a solution.
        for attempt in 0..ATTEMPTS {
            let Some(failed) = self.backward().or_else(|| self.forward()) else {
                return;
            };
            let (from, to) = if attempt + 2 >= ATTEMPTS {
                (0, self.cells.len())
            } else {
                let to = (failed + 2 + attempt).min(self.cells.len());
                (failed.saturating_sub(attempt), to)
            };
            for i in from..to {
                self.straighten(i);
            }
        }
    }

    /// Makes s̈ constant in an interval.
    fn straighten(&mut self, i: usize) {
        let Some(mut cell) = self.cells.get(i).copied() else {
            return;
        };
        cell.straight = true;
        cell.changed = [true; 2];
        self.set_caps(&mut cell);
        self.cells[i] = cell;
        // Its neighbours' caps may have changed with its own.
        for near in [i.wrapping_sub(1), i + 1] {
            if let Some(cell) = self.cells.get_mut(near) {
                cell.changed = [true; 2];
            }
        }
    }

    fn stage(&self, i: usize) -> Stage<'_, W> {
        let cell = &self.cells[i];
        Stage {
            blocks: self.blocks_of(i),
            h: cell.h,
            share: cell.acceleration_share,
            cap: self.cap(i),
            height: self.controllable[i + 1],
            speed: cell.speed,
        }
    }

    /// The program of an interval with a bend that is known.
    fn program(&mut self, i: usize) -> (Program<'_, W>, f64) {
        let cell = self.cells[i];
        let bend = cell.speed.bend;
        self.rows.clear();
        for block in &self.blocks[cell.block..cell.block + self.intervals.chunks] {
            self.rows
                .push(Intervals::rows(block, cell.h, 0.5 * bend / cell.h));
        }
        let (left, right) = (self.cap(i), self.cap(i + 1));
        let program = Program {
            rows: &self.rows,
            share: cell.acceleration_share,
            cap: left,
            tiny: 1e-10 / left.max(right),
        };
        (program, bend)
    }

    /// The largest ṡ² at the begin of interval `i`, and the bend it needs.
    fn largest_x(&mut self, i: usize, basis: &mut Basis) -> Option<(f64, f64)> {
        if !self.cells[i].straight {
            let stage = self.stage(i);
            let height = stage.height;
            if let Some([x, y, bend]) = stage.largest_x(basis) {
                let reaches = y >= height * (1.0 - 1e-12);
                return Some((x, if reaches { bend } else { f64::NAN }));
            }
        }
        let height = self.controllable[i + 1];
        let (program, _) = self.program(i);
        Some((program.largest_x(height)?, f64::NAN))
    }

    /// The largest ṡ² at the end of interval `i` for `x` at its begin, and the bend it needs.
    fn largest_y(&mut self, i: usize, x: f64, basis: &mut Basis) -> Option<(f64, f64)> {
        let (height, back) = (self.controllable[i + 1], self.cells[i].back);
        if !self.cells[i].straight {
            let stage = self.stage(i);
            // On the way down the motion is the one found backwards.
            if x == self.controllable[i] && !back.is_nan() {
                return Some((height, back));
            }
            if let Some([_, y, bend]) = stage.largest_y(x, basis) {
                return Some((y, bend));
            }
        }
        let (program, bend) = self.program(i);
        Some((program.range_of_y(x, height)?.1, bend))
    }

    /// The interval that has no solution, if there is one.
    fn backward(&mut self) -> Option<usize> {
        let count = self.cells.len();
        let end = if self.intervals.free_ends[1] {
            self.cap(count)
        } else {
            0.0
        };
        let mut moved = end != self.controllable[count];
        self.controllable[count] = end;
        let mut basis = [Bound::Cap, Bound::Height, Bound::Lowest];
        for i in (0..count).rev() {
            if !moved && !self.cells[i].changed[0] {
                continue;
            }
            let solved = self.largest_x(i, &mut basis);
            let (x, back) = solved.unwrap_or((0.0, f64::NAN));
            // What was reachable from a little less still is: so much is not worth the way on.
            let old = self.controllable[i];
            let same = old <= x && x <= old * (1.0 + NEGLIGIBLE);
            moved = !same;
            if moved {
                self.controllable[i] = x;
            }
            let cell = &mut self.cells[i];
            cell.back = if moved || x == old { back } else { f64::NAN };
            cell.changed = [solved.is_none(), true];
            if moved {
                // The interval before ends here.
                if let Some(before) = i.checked_sub(1) {
                    self.cells[before].changed[1] = true;
                }
            }
            if solved.is_none() {
                return Some(i);
            }
        }
        None
    }

    fn forward(&mut self) -> Option<usize> {
        let start = match self.start_x {
            Some(x) => x.min(self.controllable[0]),
            None if self.intervals.free_ends[0] => self.controllable[0],
            None => 0.0,
        };
        let mut basis = [Bound::Given, Bound::Height, Bound::Lowest];
        let mut moved = start != self.x[0];
        self.x[0] = start;
        for i in 0..self.cells.len() {
            if !moved && !self.cells[i].changed[1] {
                continue;
            }
            let (x, old) = (self.x[i], self.x[i + 1]);
            let (h, kappa) = (self.cells[i].h, self.cells[i].kappa);
            let Some((high, bend)) = self.largest_y(i, x, &mut basis) else {
                return Some(i);
            };
            // What is nearly as fast, and possible, is not worth the way on.
            let near = old <= high && high <= old * (1.0 + NEGLIGIBLE);
            let same = near && (high == old || self.keeps(i, [x, old, kappa * h * h]));
            moved = !same;
            let (y, bend) = if same && high != old {
                (old, kappa * h * h)
            } else {
                (high, bend)
            };
            self.x[i + 1] = y;
            let cell = &mut self.cells[i];
            // A motion that would turn back in the interval.
            let both = x.sqrt() + y.sqrt();
            if bend > TURN * both * both {
                return Some(i);
            }
            cell.kappa = bend / (h * h);
            cell.time = crossing_time(h, x, y, cell.kappa);
            cell.changed[1] = false;
            cell.unjudged = true;
        }
        None
    }

    /// Whether a motion within interval `i` keeps all limits.
    fn keeps(&self, i: usize, motion: [f64; 3]) -> bool {
        !self.cells[i].straight && self.stage(i).holds(motion)
    }

    /// Divides intervals in which time is lost and chooses their κ; whether anything was changed.
    pub fn refine(&mut self) -> bool {
        let count = self.cells.len();
        let duration: f64 = self.cells.iter().map(|cell| cell.time).sum();
        let threshold = LOSS.0 * duration / count.min(LOSS.1) as f64;
        let old = Grid {
            cells: std::mem::take(&mut self.cells),
            controllable: std::mem::take(&mut self.controllable),
            x: std::mem::take(&mut self.x),
        };
        let most = count + count / 2;
        self.cells.reserve(most);
        self.controllable.reserve(most + 1);
        self.x.reserve(most + 1);
        let mut changed = false;
        for i in 0..count {
            let mut cell = old.cells[i];
            self.controllable.push(old.controllable[i]);
            self.x.push(old.x[i]);
            let leaves = |at: usize| {
                at < count
                    && old.x[at] == old.controllable[at]
                    && old.x[at + 1] < old.controllable[at + 1] * (1.0 - 1e-9)
            };
            let threshold = if leaves(i) || leaves(i + 1) {
                NARROW * threshold
            } else {
                threshold
            };
            if !std::mem::take(&mut cell.unjudged) || cell.time <= threshold {
                self.cells.push(cell);
                continue;
            }
            let here = Span::new(&cell, old.x[i], old.x[i + 1]);
            let blocks = &self.blocks[cell.block..cell.block + self.intervals.chunks];
            let usage = self.intervals.usage(blocks, here.x_at(), here.u_at());
            let used = usage.map(|u| u.most());
            let lost = 1.0 - (used[0] + 4.0 * used[1] + used[2]) / 6.0;
            let divisible = count < MOST_INTERVALS && cell.h > 1e-9 * (cell.s.abs() + cell.h);
            if cell.time * lost <= threshold || !divisible {
                self.cells.push(cell);
                continue;
            }
            changed = true;
            let switch = (used[1] < SWITCH && !cell.cut)
                .then(|| here.switch(self.intervals, blocks, &usage))
                .flatten();
            match switch {
                Some(at) => self.divide(&cell, 2, true, |_| at),
                None => {
                    // What is lost falls with the square of the length.
                    let parts = (cell.time * lost / threshold).cbrt().ceil();
                    let parts = parts.clamp(2.0, MOST_PARTS);
                    self.divide(&cell, parts as usize, false, |part| {
                        part as f64 / parts * cell.h
                    });
                }
            }
        }
        self.controllable.push(old.controllable[count]);
        self.x.push(old.x[count]);
        // Caps are shared by neighbours.
        for i in 1..self.cells.len() {
            let touched = [self.cells[i - 1].changed[1], self.cells[i].changed[1]];
            if touched[0] != touched[1] {
                let near = if touched[0] { i } else { i - 1 };
                self.cells[near].changed[0] = true;
            }
        }
        changed
    }

    /// Appends the parts of an interval; `border` tells where each but the last ends in it.
    fn divide(&mut self, cell: &Cell, parts: usize, cut: bool, border: impl Fn(usize) -> f64) {
        let end = cell.s + cell.h;
        let mut from = cell.s;
        for part in 1..=parts {
            let to = if part < parts {
                cell.s + border(part)
            } else {
                end
            };
            if part > 1 {
                self.controllable.push(f64::NAN);
                self.x.push(f64::NAN);
            }
            let shares = (cell.velocity_share, cell.acceleration_share);
            let new = Cell::new(cell.piece, from, to - from, shares.0, shares.1);
            self.push(Cell { cut, ..new });
            from = to;
        }
    }
}

/// A grid that is being replaced.
struct Grid {
    cells: Vec<Cell>,
    controllable: Vec<f64>,
    x: Vec<f64>,
}

/// The motion in one interval.
struct Span {
    h: f64,
    x: [f64; 2],
    u: [f64; 2],
    kappa: f64,
}

impl Span {
    fn new(cell: &Cell, x: f64, y: f64) -> Self {
        let mean = (y - x) / (2.0 * cell.h);
        let bend = 0.5 * cell.kappa * cell.h;
        Self {
            h: cell.h,
            x: [x, y],
            u: [mean - bend, mean + bend],
            kappa: cell.kappa,
        }
    }

    fn x(&self, part: f64) -> f64 {
        let sag = self.kappa * self.h * self.h * part * (1.0 - part);
        (self.x[0] + part * (self.x[1] - self.x[0]) - sag).max(0.0)
    }

    fn u(&self, part: f64) -> f64 {
        self.u[0] + part * (self.u[1] - self.u[0])
    }

    fn x_at(&self) -> [f64; 3] {
        [self.x[0], self.x(0.5), self.x[1]]
    }

    fn u_at(&self) -> [f64; 3] {
        [self.u[0], self.u(0.5), self.u[1]]
    }

    /// Where tangents of the motion from both ends meet.
    fn switch<const W: usize>(
        &self,
        intervals: &Intervals<W>,
        blocks: &[Block<W>],
        usage: &[Usage; 3],
    ) -> Option<f64> {
        let h = self.h;
        let rates = |end: usize| -> [f64; 2] {
            let used = usage[2 * end];
            if used.velocity > FOLLOWED && used.velocity > used.acceleration {
                [intervals.rate_along_speed(blocks, end, self.x[end]); 2]
            } else {
                let (low, high) = intervals.rates(blocks, end, self.x[end]);
                [low, high]
            }
        };
        let (left, right) = (rates(0), rates(1));
        // Speeding up, then slowing down; or the other way round.
        for (from, to) in [(left[1], right[0]), (left[0], right[1])] {
            let at = (self.x[1] - self.x[0] - 2.0 * to * h) / (2.0 * (from - to));
            let x = self.x[0] + 2.0 * from * at;
            if at > 0.02 * h && at < 0.98 * h && x > 0.0 {
                return Some(at);
            }
        }
        None
    }
}
