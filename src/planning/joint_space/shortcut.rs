//! Cuts corners of a motion.

use super::{distance, length, JointSpaceError, JointSpaceSettings};
use crate::collision::{MotionChecker, Samples};

/// A free motion with the same ends as `points`, not longer.
pub(super) fn shorten(
    mut points: Vec<Vec<f64>>,
    checker: &mut MotionChecker,
    settings: &JointSpaceSettings,
) -> Result<Vec<Vec<f64>>, JointSpaceError> {
    points.dedup();
    let resolution = settings.resolution;
    let mut left = settings.shortcuts;
    // Points that can be left out, the longest detours first.
    let mut refused: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    while left > 0 && points.len() > 2 {
        let n = points.len();
        let mut best: Option<(f64, usize, usize)> = None;
        for i in 0..n {
            for j in i + 2..n {
                let saved = length(&points[i..=j]) - distance(&points[i], &points[j]);
                if best.is_none_or(|(most, _, _)| saved > most)
                    && !refused
                        .iter()
                        .any(|(a, b)| *a == points[i] && *b == points[j])
                {
                    best = Some((saved, i, j));
                }
            }
        }
        let Some((_, i, j)) = best else { break };
        left -= 1;
        if checker.motion_is_free(&points[i], &points[j], resolution)? {
            points.drain(i + 1..j);
        } else {
            refused.push((points[i].clone(), points[j].clone()));
        }
    }
    // Random pieces of the rest.
    let mut random = Samples::new(settings.seed ^ 0x5107);
    while left > 0 && points.len() > 2 {
        left -= 1;
        let total = length(&points);
        let (mut s, mut t) = (random.next() * total, random.next() * total);
        if s > t {
            std::mem::swap(&mut s, &mut t);
        }
        let (i, a) = at(&points, s);
        let (j, b) = at(&points, t);
        if i == j {
            continue;
        }
        if checker.motion_is_free(&a, &b, resolution)? {
            points.splice(i + 1..=j, [a, b]);
            points.dedup();
        }
    }
    Ok(points)
}

/// The piece in which the length `s` from the start ends, and the configuration there.
fn at(points: &[Vec<f64>], s: f64) -> (usize, Vec<f64>) {
    let mut rest = s;
    let mut last = (0, points.first().cloned().unwrap_or_default());
    for (index, (a, b)) in points.iter().zip(points.iter().skip(1)).enumerate() {
        let piece = distance(a, b);
        let share = if piece > 0.0 {
            (rest / piece).min(1.0)
        } else {
            1.0
        };
        let between = a.iter().zip(b).map(|(a, b)| a + (b - a) * share);
        last = (index, between.collect());
        if rest <= piece {
            break;
        }
        rest -= piece;
    }
    last
}
