//! Linear programs in two unknowns, thousands of them for one profile.

/// An inequality a·x + b·y ≤ 1.
pub(super) type Row = [f64; 2];

/// The largest x with a·x + b·y ≤ 1 for all rows, 0 ≤ y ≤ `height`, 0 ≤ x ≤ `cap`: a linear
/// program in two unknowns, one inequality after the other \[Seidel1991\]. `active` names the rows
/// that decided last time; they are tried first. The origin always satisfies all.
pub(super) fn largest_x(rows: &[Row], height: f64, cap: f64, active: &mut [usize; 2]) -> f64 {
    const SLACK: f64 = 1.0 + 1e-13;
    // Rows without a negative part bound x and y by themselves: a small box keeps digits.
    let (mut cap, mut height) = (cap, height);
    for &[a, b] in rows {
        if a >= 0.0 && b >= 0.0 {
            // `abs`, as 1/−0 would be minus infinity.
            cap = cap.min(1.0 / a.abs());
            height = height.min(1.0 / b.abs());
        }
    }
    let (mut x, mut y) = (cap, height);
    let first = *active;
    let order = first
        .into_iter()
        .chain((0..rows.len()).filter(|k| !first.contains(k)));
    for (place, k) in order.enumerate() {
        let Some(&[a, b]) = rows.get(k) else { continue };
        if a * x + b * y <= SLACK {
            continue;
        }
        // The new optimum lies on the line of this row: clip the line by all rows before.
        let square = a * a + b * b;
        let (px, py) = (a / square, b / square);
        let length = square.sqrt();
        let (dx, dy) = (-b / length, a / length);
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut deciding = k;
        let clip = |slope: f64, room: f64, low: &mut f64, high: &mut f64| {
            // slope · t ≤ room, for rows of unit length. A (nearly) parallel line decides nothing:
            // the current row cuts off what all rows before it allowed, so it is the tighter one.
            if slope.abs() < 1e-11 {
                return false;
            }
            let end = room / slope;
            if slope > 0.0 && end < *high {
                *high = end;
                return dx > 0.0;
            }
            if slope < 0.0 && end > *low {
                *low = end;
                return dx < 0.0;
            }
            false
        };
        clip(-dx, px, &mut low, &mut high);
        clip(dx, cap - px, &mut low, &mut high);
        clip(-dy, py, &mut low, &mut high);
        clip(dy, height - py, &mut low, &mut high);
        let before = first
            .into_iter()
            .chain((0..rows.len()).filter(|k| !first.contains(k)))
            .take(place);
        for l in before {
            let Some(&[a, b]) = rows.get(l) else { continue };
            let length = (a * a + b * b).sqrt();
            let (slope, room) = ((a * dx + b * dy) / length, (1.0 - a * px - b * py) / length);
            if clip(slope, room, &mut low, &mut high) {
                deciding = l;
            }
        }
        // Empty only by rounding: the middle is then as near as it gets.
        let t = if low > high {
            0.5 * (low + high)
        } else if dx >= 0.0 {
            high
        } else {
            low
        };
        x = px + t * dx;
        y = py + t * dy;
        *active = [k, deciding];
    }
    if active[0] == active[1] {
        active[1] = usize::from(active[0] == 0);
    }
    x.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All pairs of lines, the slow way.
    fn oracle(rows: &[Row], height: f64, cap: f64) -> f64 {
        let mut lines: Vec<(f64, f64, f64)> = rows.iter().map(|r| (r[0], r[1], 1.0)).collect();
        lines.extend([
            (1.0, 0.0, cap),
            (-1.0, 0.0, 0.0),
            (0.0, 1.0, height),
            (0.0, -1.0, 0.0),
        ]);
        let mut best = 0.0_f64;
        for (i, p) in lines.iter().enumerate() {
            for q in &lines[..i] {
                let determinant = p.0 * q.1 - p.1 * q.0;
                if determinant.abs() < 1e-14 {
                    continue;
                }
                let x = (p.2 * q.1 - p.1 * q.2) / determinant;
                let y = (p.0 * q.2 - p.2 * q.0) / determinant;
                if lines.iter().all(|l| l.0 * x + l.1 * y <= l.2 + 1e-9) {
                    best = best.max(x);
                }
            }
        }
        best
    }

    proptest! {
        #[test]
        fn the_linear_program_agrees_with_all_pairs_of_lines(
            rows in prop::collection::vec(prop::array::uniform2(-3.0..3.0f64), 0..20),
            height in 0.0..4.0f64,
            active in prop::array::uniform2(0..20usize),
        ) {
            let mut active = active;
            let x = largest_x(&rows, height, 50.0, &mut active);
            prop_assert!((x - oracle(&rows, height, 50.0)).abs() < 1e-6);
        }
    }
}
