//! A motion to a goal off the tip's route, for an arm that cannot follow it.

use super::joint_space::{plan_joint_path, JointSpaceError, JointSpaceSettings};
use super::{ArmCheck, JointPath};
use crate::collision::MotionChecker;
use crate::ik::{ClosedForm, IkRequest, IkSolver, Portfolio};
use crate::kinematics::Pose;
use crate::model::Chain;

/// Most configurations at the goal that the search may end in.
const GOALS: usize = 16;

/// Largest move of one joint between two points of the path \[rad or m\].
const SPACING: f64 = 0.05;

/// Shares of the shorter neighbouring line that a rounded corner may take, the largest first.
const CUTS: [f64; 4] = [0.45, 0.25, 0.12, 0.05];

/// Share of the distance from what an arm begins close to that motions are told from contacts by.
const EASED: f64 = 0.1;

/// Pieces of a rounded corner.
const PIECES: usize = 12;

/// A motion of the joints from `start` to the pose `goal`, or to `known`, which reaches it: free of
/// collisions, with corners rounded where that is free, too, and stops at the others.
pub(super) fn off_route(
    chain: &Chain,
    arm: ArmCheck<'_>,
    start: &[f64],
    goal: (&Pose, &[f64]),
    ik: &IkRequest<'_>,
    settings: &JointSpaceSettings,
) -> Result<JointPath, JointSpaceError> {
    let mut request = ik.clone();
    request.target = *goal.0;
    request.max_solutions = GOALS;
    let mut goals = vec![goal.1.to_vec()];
    let more = ClosedForm
        .solve_all(chain, &request, start)
        .or_else(|_| Portfolio.solve_all(chain, &request, start));
    goals.extend(more.into_iter().flatten().map(|solution| solution.q));
    let give_up = || ik.give_up.is_some_and(|give_up| give_up());
    // Where little is there, what is proven must be finer.
    let resolution = arm.world.eased_gap().map_or(settings.resolution, |gap| {
        settings.resolution.min(EASED * gap)
    });
    let settings = &JointSpaceSettings {
        resolution,
        ..settings.clone()
    };
    let found = plan_joint_path(
        chain, arm.model, arm.world, start, &goals, settings, &give_up,
    )?;
    let mut checker = MotionChecker::new(arm.model, arm.world);
    Ok(smooth(&found.points, &mut checker, settings.resolution))
}

/// Rounds the corners of a polyline of configurations and divides it finely.
fn smooth(corners: &[Vec<f64>], checker: &mut MotionChecker<'_>, resolution: f64) -> JointPath {
    let mut path = JointPath::default();
    let Some(first) = corners.first() else {
        return path;
    };
    path.points.push(first.clone());
    for (index, corner) in corners.iter().enumerate().skip(1) {
        let Some(next) = corners.get(index + 1) else {
            line_to(&mut path.points, corner);
            break;
        };
        let before = corners.get(index - 1).unwrap_or(corner);
        match rounded(before, corner, next, checker, resolution) {
            Some(arc) => {
                let mut arc = arc.into_iter();
                if let Some(begin) = arc.next() {
                    line_to(&mut path.points, &begin);
                }
                path.points.extend(arc);
            }
            None => {
                line_to(&mut path.points, corner);
                path.stops.push(path.points.len() - 1);
            }
        }
    }
    path
}

/// The corner as a curve that leaves and joins both lines with their direction and no bend: the
/// quintic Bézier curve \[Farouki2012\] with three control points on each line. `None` if no size is free.
fn rounded(
    before: &[f64],
    corner: &[f64],
    after: &[f64],
    checker: &mut MotionChecker<'_>,
    resolution: f64,
) -> Option<Vec<Vec<f64>>> {
    let length = |other: &[f64]| super::follow::distance(corner, other);
    let (into, out) = (length(before), length(after));
    let shorter = into.min(out);
    if !(shorter > 0.0 && shorter.is_finite()) {
        return None;
    }
    CUTS.into_iter().find_map(|cut| {
        let reach = cut * shorter;
        let curve: Vec<Vec<f64>> = (0..=PIECES)
            .map(|piece| {
                let t = piece as f64 / PIECES as f64;
                let s = 1.0 - t;
                // Weights of the control points at distances 1, 1/2 and 0 of the reach from the corner.
                let (far, near) = (s.powi(5), 5.0 * s.powi(4) * t);
                let (far_out, near_out) = (t.powi(5), 5.0 * t.powi(4) * s);
                let back = reach / into * (far + 0.5 * near);
                let forth = reach / out * (far_out + 0.5 * near_out);
                let ends = corner.iter().zip(before).zip(after);
                ends.map(|((corner, before), after)| {
                    corner + (before - corner) * back + (after - corner) * forth
                })
                .collect()
            })
            .collect();
        let free = curve
            .iter()
            .zip(curve.iter().skip(1))
            .all(|(a, b)| matches!(checker.motion_is_free(a, b, resolution), Ok(true)));
        free.then_some(curve)
    })
}

/// Appends the straight line from the last point to `end`, divided finely.
fn line_to(points: &mut Vec<Vec<f64>>, end: &[f64]) {
    let Some(last) = points.last().cloned() else {
        return;
    };
    let largest = last
        .iter()
        .zip(end)
        .fold(0.0_f64, |most, (a, b)| most.max((b - a).abs()));
    if largest == 0.0 {
        return;
    }
    let pieces = super::tip_path::pieces_of(largest, SPACING);
    points.extend((1..=pieces).map(|piece| {
        let part = piece as f64 / pieces as f64;
        let line = last.iter().zip(end).map(|(a, b)| a + (b - a) * part);
        line.collect()
    }));
}
