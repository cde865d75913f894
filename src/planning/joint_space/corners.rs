//! From a motion with corners to a path on which the arm need not stop.

use super::{between, distance, JointSpaceSettings};
use crate::collision::{CheckError, MotionChecker};
use crate::planning::JointPath;

/// How often a rounding is halved before the corner is left as it is.
const ATTEMPTS: usize = 4;

/// Farthest that a rounded corner may be from the straight lines between its points \[rad, m\].
const SAGITTA: f64 = 1e-3;

/// Steps at a corner at least.
const FEWEST: usize = 4;

/// Points along `points`, corners rounded by parabolas where these are free, else stops.
pub(super) fn round(
    points: &[Vec<f64>],
    checker: &mut MotionChecker,
    settings: &JointSpaceSettings,
) -> Result<JointPath, CheckError> {
    let mut path = JointPath::default();
    let (Some(start), Some(end)) = (points.first(), points.last()) else {
        return Ok(path);
    };
    path.points.push(start.clone());
    for corner in points.windows(3) {
        let [before, at, after] = corner else {
            continue;
        };
        match parabola(before, at, after, checker, settings)? {
            Some(curve) => {
                for (number, point) in curve.into_iter().enumerate() {
                    if number == 0 {
                        line_to(&mut path, &point, settings.step);
                    } else {
                        path.points.push(point);
                    }
                }
            }
            None => {
                line_to(&mut path, at, settings.step);
                path.stops.push(path.points.len() - 1);
            }
        }
    }
    line_to(&mut path, end, settings.step);
    Ok(path)
}

/// Appends points up to `to`, none farther from the next than `step`.
fn line_to(path: &mut JointPath, to: &[f64], step: f64) {
    let Some(from) = path.points.last().cloned() else {
        return;
    };
    let length = distance(&from, to);
    if length <= 0.0 {
        return;
    }
    // A step of zero or NaN would never end.
    let pieces = (length / step.max(1e-3)).ceil().max(1.0) as usize;
    for piece in 1..pieces {
        let share = piece as f64 / pieces as f64;
        path.points.push(between(&from, to, share));
    }
    path.points.push(to.to_vec());
}

/// Points on a free parabola that leaves the way to `at` and joins the way after it.
fn parabola(
    before: &[f64],
    at: &[f64],
    after: &[f64],
    checker: &mut MotionChecker,
    settings: &JointSpaceSettings,
) -> Result<Option<Vec<Vec<f64>>>, CheckError> {
    let (first, second) = (distance(before, at), distance(at, after));
    let shorter = first.min(second);
    // Not more than half of each way: the other half is the next corner's.
    let mut reach = settings.blend.min(0.5 * shorter);
    for _ in 0..ATTEMPTS {
        if reach.is_nan() || reach <= SAGITTA {
            return Ok(None);
        }
        let (a, b) = (
            between(at, before, reach / first),
            between(at, after, reach / second),
        );
        // The second derivative is at most 4 `reach`, an eighth of it is the sagitta.
        let pieces = ((0.5 * reach / SAGITTA).sqrt().ceil() as usize)
            .max((2.0 * reach / settings.step.max(1e-3)).ceil() as usize)
            .max(FEWEST);
        let curve: Vec<Vec<f64>> = (0..=pieces)
            .map(|piece| {
                let t = piece as f64 / pieces as f64;
                between(&between(&a, at, t), &between(at, &b, t), t)
            })
            .collect();
        let mut free = true;
        for (p, q) in curve.iter().zip(curve.iter().skip(1)) {
            free = free && checker.motion_is_free(p, q, settings.resolution)?;
        }
        if free {
            return Ok(Some(curve));
        }
        reach *= 0.5;
    }
    Ok(None)
}
