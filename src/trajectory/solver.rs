//! Solves the programs of a grid, backwards and forwards, and divides the grid where that pays.
//!
//! What a division does not touch is not solved again: the largest ṡ² from which the end can be reached
//! is carried on backwards only until it is what it was, and so is the motion forwards.

use super::intervals::{Block, Intervals, Usage};
use super::profile::{crossing_time, Profile};
use super::program::{Program, Rows};
use super::stage::{Row, Stage};

/// Most intervals of a grid; beyond, nothing is divided any more.
const MOST_INTERVALS: usize = 40_000;
/// An interval that loses more than this share of the whole duration is worth a change.
const LOSS: f64 = 4e-6;
/// Below this use of all limits in the middle of an interval a switch is looked for in it.
const SWITCH: f64 = 0.95;
/// An interval that loses more than this share of its time is divided even before it is bent.
const COARSE: f64 = 0.05;
/// Use of a limit from which on it counts as followed.
const FOLLOWED: f64 = 0.95;
/// Relative gain of ṡ² that is not worth solving the next intervals again.
const NEGLIGIBLE: f64 = 2e-6;
/// Most parts into which an interval is divided at once.
const MOST_PARTS: f64 = 6.0;
/// Attempts with bends given up one by one, before all are.
const ATTEMPTS: usize = 6;

/// An interval of the grid.
#[derive(Debug, Clone, Copy)]
struct Cell {
    piece: usize,
    /// Where its derivatives begin in the list of all blocks.
    block: usize,
    s: f64,
    h: f64,
    /// Slope ds̈/ds.
    kappa: f64,
    /// Largest ṡ² at both ends by this interval's velocity limits.
    caps: [f64; 2],
    velocity_share: f64,
    acceleration_share: f64,
    /// Time to cross it \[s\].
    time: f64,
    /// Whether its rows or caps have changed since it was solved backwards, and forwards.
    changed: [bool; 2],
    /// Whether its motion has changed since it was judged.
    unjudged: bool,bends:u8,
    /// Whether its κ was chosen.
    bent: bool,
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
            blocks: Vec::with_capacity(count * intervals.chunks),
            controllable: vec![f64::NAN; count + 1],
            x: vec![f64::NAN; count + 1],
            start_x: profile.start_x,
            rows: Vec::with_capacity(intervals.chunks),
        };
        for i in 0..count {
            let (s, h) = (profile.s[i], profile.s[i + 1] - profile.s[i]);
            solver.push(Cell {
                piece: profile.piece[i],
                block: 0,
                s,
                h,
                kappa: profile.kappa[i],
                caps: [0.0; 2],
                velocity_share: profile.velocity_share[i],
                acceleration_share: profile.acceleration_share[i],
                time: 0.0,
                changed: [true; 2],
                unjudged: true,bends:0,
                bent: profile.kappa[i] != 0.0,
            });
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

    /// Fits the bend of an interval to its derivatives and sets its caps.
    fn set_caps(&self, cell: &mut Cell) {
        let blocks = &self.blocks[cell.block..cell.block + self.intervals.chunks];
        let h = cell.h;
        if cell.kappa != 0.0 {
            let most = self.intervals.most_bend(blocks, h);
            cell.kappa = cell.kappa.clamp(-most, most);
        }
        let share = cell.velocity_share * cell.velocity_share;
        let (left, right) = (
            self.intervals.speed_cap(blocks, 0),
            self.intervals.speed_cap(blocks, 2),
        );
        // A point where nothing moves knows no limit: it must not spoil its neighbour's.
        let (left, right) = (share * left.min(4.0 * right), share * right.min(4.0 * left));
        let sag = cell.kappa * h * h;
        let mut factor = self.intervals.speed_factor(blocks, left, right, sag, share);
        if factor < 0.5 && cell.kappa != 0.0 {
            cell.kappa = 0.0;
            factor = self.intervals.speed_factor(blocks, left, right, 0.0, share);
        }
        cell.caps = [factor * left, factor * right];
    }

    fn blocks_of(&self, i: usize) -> &[Block<W>] {
        let from = self.cells[i].block;
        &self.blocks[from..from + self.intervals.chunks]
    }

    /// Largest ṡ² at a grid point by the velocity limits on both sides.
    fn cap(&self, point: usize) -> f64 {
        let left = point.checked_sub(1).and_then(|i| self.cells.get(i));
        let right = self.cells.get(point);
        let left = left.map_or(self.intervals.cap, |cell| cell.caps[1]);
        right.map_or(left, |cell| cell.caps[0].min(left))
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
        cell.kappa = 0.0;
        cell.changed = [true; 2];
        cell.bent = true;
        self.set_caps(&mut cell);
        self.cells[i] = cell;
        // Its neighbours' caps may have changed with its own.
        for near in [i.wrapping_sub(1), i + 1] {
            if let Some(cell) = self.cells.get_mut(near) {
                cell.changed = [true; 2];
            }
        }
    }

    /// Fills the rows of interval `i`.
    fn prepare(&mut self, i: usize) {
        let (h, kappa) = (self.cells[i].h, self.cells[i].kappa);
        let (from, chunks) = (self.cells[i].block, self.intervals.chunks);
        self.rows.clear();
        for block in &self.blocks[from..from + chunks] {
            self.rows.push(Intervals::rows(block, h, 0.5 * kappa * h));
        }
    }

    fn program(&self, i: usize) -> Program<'_, W> {
        let (left, right) = (self.cap(i), self.cap(i + 1));
        Program {
            rows: &self.rows,
            share: self.cells[i].acceleration_share,
            cap: left,
            tiny: 1e-10 / left.max(right),
        }
    }

    fn stage(&self, i: usize) -> Stage<'_, W> {
        let cell = &self.cells[i];
        let k = 0.5 * cell.kappa * cell.h;
        let share = cell.acceleration_share;
        Stage::new(self.blocks_of(i), cell.h, k, share, self.cap(i))
    }

    /// The largest ṡ² at the end of interval `i` for `x` at its begin.
    fn largest_y(&mut self, i: usize, x: f64, guess: &mut Option<Row>) -> Option<f64> {
        let height = self.controllable[i + 1];
        let stage = self.stage(i);
        // On the way down the motion is the one found backwards.
        if x == self.controllable[i] && stage.holds(x, height) {
            return Some(height);
        }
        if let Some(y) = stage.largest_y(x, height, guess) {
            return Some(y);
        }
        self.prepare(i);
        Some(self.program(i).range_of_y(x, height)?.1)
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
        let mut failed = None;
        let mut guess = [None; 2];
        for i in (0..count).rev() {
            if !moved && !self.cells[i].changed[0] {
                continue;
            }
            let height = self.controllable[i + 1];
            let x = self.stage(i).largest_x(height, &mut guess).or_else(|| {
                self.prepare(i);
                self.program(i).largest_x(height)
            });
            let x = x.unwrap_or_else(|| {
                failed = Some(i);
                0.0
            });
            // What was reachable from a little less still is: so much is not worth the way on.
            let old = self.controllable[i];
            let same = old <= x && x <= old * (1.0 + NEGLIGIBLE);
            moved = !same;
            if moved {
                self.controllable[i] = x;
            }
            let cell = &mut self.cells[i];
            cell.changed = [failed == Some(i), true];
            if moved {
                // The interval before ends here.
                if let Some(before) = i.checked_sub(1) {
                    self.cells[before].changed[1] = true;
                }
            }
            if failed.is_some() {
                // What lies before depends on it.
                self.cells[i].changed[0] = true;
                return failed;
            }
        }
        failed
    }

    fn forward(&mut self) -> Option<usize> {
        let start = match self.start_x {
            Some(x) => x.min(self.controllable[0]),
            None if self.intervals.free_ends[0] => self.controllable[0],
            None => 0.0,
        };
        let mut guess = None;
        let mut moved = start != self.x[0];
        self.x[0] = start;
        for i in 0..self.cells.len() {
            if !moved && !self.cells[i].changed[1] {
                continue;
            }
            let (x, old) = (self.x[i], self.x[i + 1]);
            let Some(high) = self.largest_y(i, x, &mut guess) else {
                return Some(i);
            };
            // What is nearly as fast, and possible, is not worth the way on.
            let near = old <= high && high <= old * (1.0 + NEGLIGIBLE);
            let same = near && (high == old || self.stage(i).holds(x, old));
            moved = !same;
            let y = if moved { high } else { old };
            self.x[i + 1] = y;
            let cell = &mut self.cells[i];
            // A motion that would turn back in the interval.
            let both = x.sqrt() + y.sqrt();
            if cell.kappa * cell.h * cell.h > 0.8 * both * both {
                return Some(i);
            }
            cell.time = crossing_time(cell.h, x, y, cell.kappa);
            cell.changed[1] = false;
            cell.unjudged = true;
        }
        None
    }

    /// Chooses every κ anew, on the grid as it is.
    pub fn rebend(&mut self) {
        for i in 0..self.cells.len() {
            let mut cell = self.cells[i];
            let here = Span::new(&cell, self.x[i], self.x[i + 1]);
            cell.kappa = here.bend(self.intervals, 0.0, 1.0);
            cell.changed = [true; 2];
            self.set_caps(&mut cell);
            self.cells[i] = cell;
        }
    }

    /// Divides intervals in which time is lost and chooses their κ; whether anything was changed.
    pub fn refine(&mut self) -> bool {
        let count = self.cells.len();
        let duration: f64 = self.cells.iter().map(|cell| cell.time).sum();
        let threshold = LOSS * duration;
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
            let switch = (used[1] < SWITCH)
                .then(|| here.switch(self.intervals, blocks, &usage))
                .flatten();
            cell.changed = [true; 2];
            cell.unjudged = true;
            let bent = std::mem::replace(&mut cell.bent, true);
            let kappa = here.bend(self.intervals, 0.0, 1.0);
            let tilt = (kappa - cell.kappa).abs() * cell.h * self.intervals.pm(blocks);
            let again = cell.bends < 3 && tilt > crate::par(11)*lost;
            match switch {
                Some(Switch { at, before, after }) => {
                    self.divide(&cell, 2, |part| match part {
                        0 => (0.0, before),
                        1 => (at, after),
                        _ => (cell.h, 0.0),
                    });
                }
                None if lost > COARSE || bent && !again => {
                    // What is lost falls with the square of the length.
                    let parts = (cell.time * lost / threshold).cbrt().ceil();
                    let parts = parts.clamp(2.0, MOST_PARTS);
                    self.divide(&cell, parts as usize, |part| {
                        let from = part as f64 / parts;
                        (from * cell.h, here.bend(self.intervals, from, from + 1.0 / parts))
                    });
                }
                None => {
                    cell.kappa = kappa; cell.bends+=1;
                    self.set_caps(&mut cell);
                    self.cells.push(cell);
                }
            }
        }
        self.controllable.push(old.controllable[count]);
        self.x.push(old.x[count]);
        // Caps are shared by neighbours.
        for i in 1..self.cells.len() {
            let touched = [self.cells[i - 1].bent_now(), self.cells[i].bent_now()];
            if touched[0] != touched[1] {
                let near = if touched[0] { i } else { i - 1 };
                self.cells[near].changed[0] = true;
            }
        }
        changed
    }

    /// Appends the parts of an interval; `part` tells where each begins in it, and its κ.
    fn divide(&mut self, cell: &Cell, parts: usize, part: impl Fn(usize) -> (f64, f64)) {
        let end = cell.s + cell.h;
        let (mut from, mut kappa) = (cell.s, part(0).1);
        for next in 1..=parts {
            let (at, after) = if next < parts { part(next) } else { (cell.h, 0.0) };
            let to = if next < parts { cell.s + at } else { end };
            if next > 1 {
                self.controllable.push(f64::NAN);
                self.x.push(f64::NAN);
            }
            self.push(Cell {
                s: from,
                h: to - from,
                kappa,bends:0,
                ..*cell
            });
            (from, kappa) = (to, after);
        }
    }
}

/// A grid that is being replaced.
struct Grid {
    cells: Vec<Cell>,
    controllable: Vec<f64>,
    x: Vec<f64>,
}

impl Cell {
    /// Whether it is new or bent anew.
    fn bent_now(&self) -> bool {
        self.changed[1]
    }
}

/// The motion in one interval.
struct Span {
    piece: usize,
    s: f64,
    h: f64,
    x: [f64; 2],
    u: [f64; 2],
    kappa: f64,
}

/// Where in an interval the motion changes over from one limit to another, and the slopes κ on both
/// sides.
struct Switch {
    at: f64,
    before: f64,
    after: f64,
}

impl Span {
    fn new(cell: &Cell, x: f64, y: f64) -> Self {
        let mean = (y - x) / (2.0 * cell.h);
        let bend = 0.5 * cell.kappa * cell.h;
        Self {
            piece: cell.piece,
            s: cell.s,
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

    /// κ for the parts of the interval from `from` to `to`.
    fn bend<const W: usize>(&self, intervals: &Intervals<W>, from: f64, to: f64) -> f64 {
        let middle = 0.5 * (from + to);
        let (x, u) = (self.x(middle), self.u(middle));
        self.slope(intervals, middle * self.h, (to - from) * self.h, x, u)
    }

    /// κ for a part of length `h` around `at`, where ṡ² is about `x` and s̈ about `u`.
    fn slope<const W: usize>(
        &self,
        intervals: &Intervals<W>,
        at: f64,
        h: f64,
        x: f64,
        u: f64,
    ) -> f64 {
        let kappa = intervals.slope(self.piece, self.s + at, x, u);
        // ṡ² must not come near zero by it.
        let most = x / (h * h);
        if kappa.is_finite() {
            kappa.clamp(-most, most)
        } else {
            0.0
        }
    }

    /// Where tangents of the motion from both ends meet.
    fn switch<const W: usize>(
        &self,
        intervals: &Intervals<W>,
        blocks: &[Block<W>],
        usage: &[Usage; 3],
    ) -> Option<Switch> {
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
                let before = self.slope(intervals, 0.5 * at, at, self.x[0] + from * at, from);
                let rest = h - at;
                let after = self.slope(intervals, at + 0.5 * rest, rest, self.x[1] - to * rest, to);
                return Some(Switch { at, before, after });
            }
        }
        None
    }
}
