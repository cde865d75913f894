//! From goals and obstacles to a path of the arm.

use super::legs::Legs;
use super::off_route::off_route;
use super::request::{Observer, Stage};
use super::route::plan_tip;
use super::{
    follow_path, ArmPath, FollowError, FollowSettings, Guide, JointPath, Obstacle, Partial,
    PathError, PathRequest, PathSettings, TipPath, TipPlan,
};
use crate::kinematics::{forward_kinematics, Pose};
use crate::model::Chain;

pub use super::route::check_goals;

/// Finds the tip's shortest way around the obstacles, goal after goal, and the joint path that
/// follows it from the start without a leap.
///
/// # Errors
/// See [`PathError`].
pub fn plan_path(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PathSettings,
    request: &PathRequest<'_>,
) -> Result<ArmPath, PathError> {
    let observer = &mut |_| {};
    let tip = plan_tip(chain, obstacles, settings, request, observer)?;
    follow_tip(chain, &tip, settings, request, observer)
}

/// Follows the tip's path with the joints; off the route where that is allowed and cannot be helped.
///
/// # Errors
/// [`PathError::PathBroken`], [`PathError::OffRoute`].
pub fn follow_tip(
    chain: &Chain,
    tip: &TipPlan,
    settings: &PathSettings,
    request: &PathRequest<'_>,
    observer: &mut Observer<'_>,
) -> Result<ArmPath, PathError> {
    let follow_settings = FollowSettings {
        tip_step: settings.tip_step,
        angle_step: settings.angle_step,
        max_joint_step: settings.max_joint_step,
        deviation: settings.deviation,
        angle_deviation: settings.angle_deviation,
        search_nodes: settings.search_nodes,
    };
    // A redundant arm that is already there must not start to look for a better posture.
    let ways: Vec<(usize, &TipPath)> = tip
        .legs
        .iter()
        .enumerate()
        .filter(|(_, leg)| !leg.is_done(&request.ik.tolerances, request.ik.goal))
        .collect();
    let mut joined = Joined::new(chain, &tip.start);
    let mut left_route = Vec::new();
    let mut next = 0;
    let arm = tip.arm(request);
    while let Some(ahead) = ways.get(next..).filter(|ahead| !ahead.is_empty()) {
        observer(Stage::Follow);
        let guide = Legs::new(ahead.iter().map(|(_, leg)| (*leg).clone()).collect());
        let start = joined.end().to_vec();
        let error = match follow_path(
            chain,
            &guide,
            Some(&start),
            request.ik,
            &follow_settings,
            arm,
        ) {
            Ok(followed) => {
                joined.add(followed.points, followed.stops, |k| {
                    followed.fractions.get(k).map(|u| guide.pose(*u))
                });
                break;
            }
            Err(error) => error,
        };
        let (broken, part) = guide.place(error.fraction);
        let Some((goal, leg)) = ahead.get(broken).copied() else {
            break;
        };
        let off = arm.filter(|_| request.leave_route && !error.gave_up());
        let Some(arm) = off else {
            return Err(broken_path(
                tip,
                (goal, part),
                joined,
                error,
                &guide,
                request,
            ));
        };
        // What leads to this leg stands; from its begin the arm finds its own way.
        let (begin, _) = guide.range(broken);
        let whole = error
            .partial
            .fractions
            .partition_point(|fraction| *fraction <= begin);
        let mut points = error.partial.points.clone();
        points.truncate(whole);
        joined.add(points, error.partial.stops.clone(), |k| {
            error.partial.fractions.get(k).map(|u| guide.pose(*u))
        });
        observer(Stage::JointSpace);
        let known = tip.goals.get(goal).map_or(&[][..], Vec::as_slice);
        let there = leg.pose(1.0);
        let start = joined.end().to_vec();
        let found = off_route(
            chain,
            arm,
            &start,
            (&there, known),
            request.ik,
            &settings.joint_space,
        );
        match found {
            Ok(free) => {
                joined.add(free.points, free.stops, |_| None);
                left_route.push(goal + 1);
                next += broken + 1;
            }
            Err(source) => {
                let lost = broken_path(tip, (goal, part), joined, error, &guide, request);
                return Err(match lost {
                    PathError::PathBroken {
                        goal,
                        fraction,
                        cause,
                        partial,
                    } => PathError::OffRoute {
                        goal,
                        fraction,
                        cause,
                        source: Box::new(source),
                        partial,
                    },
                    other => other,
                });
            }
        }
    }
    Ok(ArmPath {
        tip_path: joined.tip_path,
        joint_path: joined.joint_path,
        routes: tip.routes.clone(),
        left_route,
        length: tip.length(),
        min_clearance: tip.min_clearance,
        scene: tip.scene.clone(),
        notes: tip.notes.clone(),
    })
}

/// The error for a leg (by its place among all) that is followed up to a part of it.
fn broken_path(
    tip: &TipPlan,
    (leg, part): (usize, f64),
    mut joined: Joined<'_>,
    error: FollowError,
    guide: &Legs,
    request: &PathRequest<'_>,
) -> PathError {
    let before: f64 = tip.legs.iter().take(leg).map(TipPath::length).sum();
    let reached = before + part * tip.legs.get(leg).map_or(0.0, TipPath::length);
    let length = tip.length();
    let fraction = if length > 0.0 {
        reached / length
    } else {
        (leg as f64 + part) / tip.legs.len().max(1) as f64
    };
    let partial = if request.partial {
        let fractions = error.partial.fractions;
        joined.add(error.partial.points, error.partial.stops, |k| {
            fractions.get(k).map(|u| guide.pose(*u))
        });
        Partial {
            tip_path: joined.tip_path,
            joint_path: joined.joint_path,
        }
    } else {
        Partial::default()
    };
    PathError::PathBroken {
        goal: leg + 1,
        fraction,
        cause: error.cause,
        partial: Box::new(partial),
    }
}

/// Joint paths one after the other.
struct Joined<'a> {
    chain: &'a Chain,
    joint_path: JointPath,
    tip_path: Vec<Pose>,
}

impl<'a> Joined<'a> {
    fn new(chain: &'a Chain, start: &[f64]) -> Self {
        Joined {
            chain,
            joint_path: JointPath {
                points: vec![start.to_vec()],
                stops: Vec::new(),
            },
            tip_path: forward_kinematics(chain, start).into_iter().collect(),
        }
    }

    fn end(&self) -> &[f64] {
        self.joint_path.points.last().map_or(&[], Vec::as_slice)
    }

    /// Appends a path that begins where this one ends; the arm rests in between. `pose` knows where the tip
    /// should be at a point, else forward kinematics tells.
    fn add(
        &mut self,
        points: Vec<Vec<f64>>,
        stops: Vec<usize>,
        pose: impl Fn(usize) -> Option<Pose>,
    ) {
        let shift = self.joint_path.points.len() - 1;
        let count = points.len();
        if count < 2 {
            return;
        }
        if shift > 0 {
            self.joint_path.stops.push(shift);
        }
        let inner = stops.into_iter().filter(|stop| stop + 1 < count);
        self.joint_path.stops.extend(inner.map(|stop| stop + shift));
        for (index, point) in points.into_iter().enumerate().skip(1) {
            let tip = pose(index).or_else(|| forward_kinematics(self.chain, &point).ok());
            self.tip_path.extend(tip);
            self.joint_path.points.push(point);
        }
    }
}
