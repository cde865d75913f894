//! A uniform grid over segments, in flat arrays.
//!
//! Every segment is listed in each cell that it may touch (a little generously,
//! so that rounding never loses one); visitors may see a segment more than once
//! and make their own exact decisions.

use nalgebra::Point2;

/// How far a segment reaches into neighbouring cells, in cells.
const SLACK: f64 = 1e-3;

#[derive(Debug, Clone, Default)]
pub(crate) struct Grid {
    /// Lower corner; cells are counted from it. All arithmetic is relative to it.
    min: [f64; 2],
    /// Edge length of a cell. \[m\]
    cell: f64,
    /// How far a segment reaches into neighbouring cells, in cells.
    slack: f64,
    columns: usize,
    rows: usize,
    /// Cell `c` holds `entries[start[c]..start[c + 1]]`.
    start: Vec<u32>,
    entries: Vec<u32>,
}

impl Grid {
    /// Lists the segments, which are known by their index from then on.
    pub fn new(segments: &[(Point2<f64>, Point2<f64>)]) -> Self {
        Self::with_reach(segments, 0.0)
    }

    /// Lists every segment in all cells that anything within this distance of it touches. \[m\]
    pub fn with_reach(segments: &[(Point2<f64>, Point2<f64>)], reach: f64) -> Self {
        let mut low = [f64::INFINITY; 2];
        let mut high = [f64::NEG_INFINITY; 2];
        for p in segments.iter().flat_map(|(a, b)| [a, b]) {
            low = [low[0].min(p.x), low[1].min(p.y)];
            high = [high[0].max(p.x), high[1].max(p.y)];
        }
        if segments.is_empty() {
            return Grid::default();
        }
        let (width, height) = (high[0] - low[0], high[1] - low[1]);
        let count = segments.len() as f64;
        // About one cell a segment, and not many more in a thin world.
        let cell = (width * height / count)
            .sqrt()
            .max(width.max(height) / (2.0 * count + 16.0));
        let cell = if cell > 0.0 { cell.max(reach) } else { 1.0 };
        let mut grid = Grid {
            min: low,
            cell,
            slack: SLACK + reach / cell,
            columns: (width / cell) as usize + 1,
            rows: (height / cell) as usize + 1,
            start: Vec::new(),
            entries: Vec::new(),
        };
        let mut start = vec![0u32; grid.columns * grid.rows + 1];
        for (a, b) in segments {
            grid.cover(a, b, |c| {
                start[c + 1] += 1;
                true
            });
        }
        for k in 1..start.len() {
            start[k] += start[k - 1];
        }
        let mut fill = start.clone();
        let mut entries = vec![0; start.last().copied().unwrap_or(0) as usize];
        for (i, (a, b)) in segments.iter().enumerate() {
            grid.cover(a, b, |c| {
                entries[fill[c] as usize] = i as u32;
                fill[c] += 1;
                true
            });
        }
        grid.start = start;
        grid.entries = entries;
        grid
    }

    #[inline]
    fn cell_entries(&self, c: usize) -> &[u32] {
        &self.entries[self.start[c] as usize..self.start[c + 1] as usize]
    }

    /// The lists of all cells.
    pub fn cells(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.start.len().saturating_sub(1)).map(|c| self.cell_entries(c))
    }

    /// Row or column range of an interval in cell units, if it reaches the grid.
    #[inline]
    fn range(&self, low: f64, high: f64, count: usize) -> Option<(usize, usize)> {
        if high < -self.slack || low > count as f64 + self.slack {
            return None;
        }
        // Negative numbers become 0 in the conversion.
        let last = count - 1;
        Some((
            ((low - self.slack) as usize).min(last),
            ((high + self.slack) as usize).min(last),
        ))
    }

    /// Calls `f` with every cell that the segment may touch, until `f` says `false`.
    #[inline]
    fn cover(&self, a: &Point2<f64>, b: &Point2<f64>, mut f: impl FnMut(usize) -> bool) -> bool {
        if self.columns == 0 {
            return true;
        }
        let local = |p: &Point2<f64>| {
            (
                (p.x - self.min[0]) / self.cell,
                (p.y - self.min[1]) / self.cell,
            )
        };
        let ((ax, ay), (bx, by)) = (local(a), local(b));
        let (low, high) = (ay.min(by), ay.max(by));
        let Some((first, last)) = self.range(low, high, self.rows) else {
            return true;
        };
        for row in first..=last {
            // The part of the segment in this row, a little longer.
            let y0 = (row as f64 - self.slack).clamp(low, high);
            let y1 = (row as f64 + 1.0 + self.slack).clamp(low, high);
            let (x0, x1) = if first == last || high - low < self.slack {
                (ax, bx)
            } else {
                let slope = (bx - ax) / (by - ay);
                (ax + (y0 - ay) * slope, ax + (y1 - ay) * slope)
            };
            let Some((c0, c1)) = self.range(x0.min(x1), x0.max(x1), self.columns) else {
                continue;
            };
            for column in c0..=c1 {
                if !f(row * self.columns + column) {
                    return false;
                }
            }
        }
        true
    }

    /// Calls `f` with every listed segment near the segment `a b` until `f` says `false`;
    /// says whether it never did.
    #[inline]
    pub fn visit_segment(
        &self,
        a: &Point2<f64>,
        b: &Point2<f64>,
        mut f: impl FnMut(u32) -> bool,
    ) -> bool {
        self.cover(a, b, |c| self.cell_entries(c).iter().all(|&i| f(i)))
    }

    /// Calls `f` with every listed segment near `p`, each once.
    #[inline]
    pub fn visit_point(&self, p: &Point2<f64>, mut f: impl FnMut(u32)) {
        if let Some((row, column)) = self.cell_of(p) {
            self.cell_entries(row * self.columns + column)
                .iter()
                .for_each(|&i| f(i));
        }
    }

    /// Calls `f` with every listed segment near the ray from `p` along +x.
    #[inline]
    pub fn visit_ray(&self, p: &Point2<f64>, mut f: impl FnMut(u32)) {
        if self.columns == 0 {
            return;
        }
        let (x, y) = (
            (p.x - self.min[0]) / self.cell,
            (p.y - self.min[1]) / self.cell,
        );
        if y < -self.slack
            || y > self.rows as f64 + self.slack
            || x > self.columns as f64 + self.slack
        {
            return;
        }
        let row = (y as usize).min(self.rows - 1);
        let first = (x as usize).min(self.columns - 1);
        for column in first..self.columns {
            self.cell_entries(row * self.columns + column)
                .iter()
                .for_each(|&i| f(i));
        }
    }

    #[inline]
    fn cell_of(&self, p: &Point2<f64>) -> Option<(usize, usize)> {
        if self.columns == 0 {
            return None;
        }
        let (x, y) = (
            (p.x - self.min[0]) / self.cell,
            (p.y - self.min[1]) / self.cell,
        );
        let outside = |c: f64, count: usize| c < -self.slack || c > count as f64 + self.slack;
        if outside(x, self.columns) || outside(y, self.rows) {
            return None;
        }
        Some((
            (y as usize).min(self.rows - 1),
            (x as usize).min(self.columns - 1),
        ))
    }
}
