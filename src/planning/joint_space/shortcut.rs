//! Cuts corners of a motion.

use super::{between, distance, length, JointSpaceSettings};
use crate::collision::{CheckError, MotionChecker, Samples};

/// A free motion with the same ends as `points`, not longer.
pub(super) fn shorten(
    mut points: Vec<Vec<f64>>,
    checker: &mut MotionChecker,
    settings: &JointSpaceSettings,
) -> Result<Vec<Vec<f64>>, CheckError> {
    points.dedup();
    let mut left = settings.shortcuts;
    leave_out(&mut points, checker, settings, &mut left)?;
    // Pieces of what is left, at random.
    let mut random = Samples::new(!settings.seed);
    while left > 0 && points.len() > 2 {
        left -= 1;
        let total = length(&points);
        let (s, t) = (random.next() * total, random.next() * total);
        let (Some((i, a)), Some((j, b))) = (at(&points, s.min(t)), at(&points, s.max(t))) else {
            break;
        };
        if i < j && checker.motion_is_free(&a, &b, settings.resolution)? {
            points.splice(i + 1..=j, [a, b]);
            points.dedup();
        }
    }
    Ok(points)
}

/// Leaves out points, the longest detours first, as long as `left` allows.
fn leave_out(
    points: &mut Vec<Vec<f64>>,
    checker: &mut MotionChecker,
    settings: &JointSpaceSettings,
    left: &mut usize,
) -> Result<(), CheckError> {
    // What each way between two points saves; none where it was refused.
    let saved = |points: &[Vec<f64>], i: usize, j: usize| {
        let way = points.get(i..=j).unwrap_or(&[]);
        let direct = way.first().zip(way.last());
        length(way) - direct.map_or(0.0, |(a, b)| distance(a, b))
    };
    // By the points' numbers of the beginning, which stay when others go.
    let mut numbers: Vec<usize> = (0..points.len()).collect();
    let mut refused: Vec<(usize, usize)> = Vec::new();
    while *left > 0 && points.len() > 2 {
        let mut best: Option<(f64, usize, usize)> = None;
        for i in 0..points.len() {
            for j in i + 2..points.len() {
                let pair = (numbers.get(i).copied(), numbers.get(j).copied());
                if refused.iter().any(|&(a, b)| pair == (Some(a), Some(b))) {
                    continue;
                }
                let saved = saved(points, i, j);
                if best.is_none_or(|(most, _, _)| saved > most) {
                    best = Some((saved, i, j));
                }
            }
        }
        let Some((_, i, j)) = best else { break };
        let (Some(a), Some(b)) = (points.get(i), points.get(j)) else {
            break;
        };
        *left -= 1;
        if checker.motion_is_free(a, b, settings.resolution)? {
            points.drain(i + 1..j);
            numbers.drain(i + 1..j);
        } else if let (Some(&a), Some(&b)) = (numbers.get(i), numbers.get(j)) {
            refused.push((a, b));
        }
    }
    Ok(())
}

/// The piece on which the length `s` from the start ends, and the configuration there.
fn at(points: &[Vec<f64>], s: f64) -> Option<(usize, Vec<f64>)> {
    let mut rest = s;
    let mut last = None;
    for (index, (a, b)) in points.iter().zip(points.iter().skip(1)).enumerate() {
        let piece = distance(a, b);
        let share = if piece > 0.0 {
            (rest / piece).min(1.0)
        } else {
            1.0
        };
        last = Some((index, between(a, b, share)));
        if rest <= piece {
            break;
        }
        rest -= piece;
    }
    last
}
