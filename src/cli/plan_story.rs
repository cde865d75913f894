//! What a picture of a plan tells: where the tip goes, what it passes, where and why it ends.

use nalgebra::Point3;

use super::plan_passages::{passages, Passage};
use super::plan_reason::{end_of, told};
use crate::kinematics::{forward_kinematics, joint_frames, Pose};
use crate::model::Chain;
use crate::motion::{Known, Plan, PlanError, PlanSettings};
use crate::planning::{Obstacle, PathError, PathScene, TipPath};
use crate::roadmap::End;
use crate::trajectory::Trajectory;

/// What was asked.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) chain: &'a Chain,
    /// In the planning plane.
    pub(super) obstacles: &'a [Obstacle],
    pub(super) settings: &'a PlanSettings,
    pub(super) start: &'a [f64],
    /// Base frame.
    pub(super) goals: &'a [Pose],
}

/// What came of it.
#[derive(Clone, Copy)]
pub(super) enum Came<'a> {
    Planned(&'a Plan),
    /// The error, and the timed motion of the part before it, if one was asked for.
    Failed(&'a PlanError, Option<&'a Trajectory>),
}

/// Everything that is drawn, in the coordinates of the planning plane.
pub(super) struct Story<'a> {
    pub(super) chain: &'a Chain,
    pub(super) obstacles: &'a [Obstacle],
    pub(super) settings: &'a PlanSettings,
    pub(super) title: String,
    pub(super) words: String,
    pub(super) scene: &'a PathScene,
    pub(super) base: Point3<f64>,
    pub(super) start: Point3<f64>,
    pub(super) goals: Vec<Point3<f64>>,
    /// The whole route, where it is not what the tip does.
    pub(super) planned: Vec<Point3<f64>>,
    /// What the tip does; of a plan that fails, as far as it comes.
    pub(super) done: Vec<Point3<f64>>,
    /// The route from there on.
    pub(super) rest: Vec<Point3<f64>>,
    /// From the place before to the goal to which there is no route.
    pub(super) straight: Vec<Point3<f64>>,
    /// Where it ends before the goal, and the reason in a few words.
    pub(super) broken: Option<(Point3<f64>, String)>,
    /// Length of the way to there (m).
    pub(super) broken_way: Option<f64>,
    /// Obstacles for which it ends.
    pub(super) culprits: Vec<String>,
    pub(super) passages: Vec<Passage>,
    /// Joint origins and tip at the start and at the end.
    pub(super) arm_before: Vec<Point3<f64>>,
    pub(super) arm_after: Vec<Point3<f64>>,
    pub(super) motion: Option<&'a Trajectory>,
    /// Why there is no motion, if there is none.
    pub(super) no_motion: &'static str,
    /// Which motion it is, to be written behind the titles of curves.
    pub(super) of_motion: &'static str,
    came: Came<'a>,
}

/// Points that are looked at along a motion: enough for a smooth curve.
const POINTS: usize = 800;

impl<'a> Story<'a> {
    pub(super) fn new(asked: Asked<'a>, known: &'a Known, came: Came<'a>) -> Story<'a> {
        let Asked {
            chain,
            obstacles,
            settings,
            start,
            goals,
        } = asked;
        let plane = Plane(&settings.path.plane);
        let there = |q: &[f64]| {
            forward_kinematics(chain, q)
                .ok()
                .map(|tip| plane.place(&tip))
        };
        let mut story = Story {
            chain,
            obstacles,
            settings,
            title: String::new(),
            words: String::new(),
            scene: &known.tip.scene,
            base: plane.place(&Pose::identity()),
            start: there(start).unwrap_or_else(Point3::origin),
            goals: goals.iter().map(|goal| plane.place(goal)).collect(),
            planned: plane.route(&known.tip.legs),
            done: Vec::new(),
            rest: Vec::new(),
            straight: Vec::new(),
            broken: None,
            broken_way: None,
            culprits: Vec::new(),
            passages: Vec::new(),
            arm_before: plane.arm(chain, start),
            arm_after: Vec::new(),
            motion: None,
            no_motion: "",
            of_motion: "",
            came,
        };
        match came {
            Came::Planned(plan) => story.planned(plan, plane),
            Came::Failed(error, part) => story.failed_with(error, part, known, plane),
        }
        // The way as a whole: what is done and what was planned from there on.
        let mut way = story.done.clone();
        way.extend(story.rest.iter().copied());
        story.passages = passages(obstacles, settings.path.clearance, &way);
        story
    }

    pub(super) fn failed(&self) -> bool {
        matches!(self.came, Came::Failed(..))
    }

    pub(super) fn end_of_arm(&self) -> &'static str {
        if self.failed() {
            "arm where it ends"
        } else {
            "arm at the goal"
        }
    }

    pub(super) fn kind_of_way(&self) -> &'static str {
        match self.came {
            Came::Planned(_) => "tip, as executed",
            Came::Failed(PlanError::TooFewPoints { .. }, _) => "tip, through these points",
            Came::Failed(..) => "as far as it goes",
        }
    }

    fn planned(&mut self, plan: &'a Plan, plane: Plane<'_>) {
        let path = &plan.path;
        let distance = if !path.left_route.is_empty() {
            "the tip left its route".to_owned()
        } else if path.min_clearance.is_finite() {
            let [has, asked] = [path.min_clearance, self.settings.path.clearance].map(|m| 1e3 * m);
            format!("{has:.1} mm from the nearest obstacle (asked: {asked:.1} mm)")
        } else {
            "no obstacle at its height".to_owned()
        };
        self.title = format!("Plan of {:.2} s", plan.trajectory.duration());
        self.words = format!("{:.3} m long, {distance}", path.length);
        self.done = plane.executed(self.chain, &plan.trajectory);
        if path.left_route.is_empty() {
            self.planned.clear();
        }
        self.motion = Some(&plan.trajectory);
        if let Some(last) = plan.trajectory.points.last() {
            self.arm_after = plane.arm(self.chain, &last.positions);
        }
    }

    fn failed_with(
        &mut self,
        error: &PlanError,
        part: Option<&'a Trajectory>,
        known: &Known,
        plane: Plane<'_>,
    ) {
        self.title = "No plan".to_owned();
        self.words = error.to_string();
        self.motion = part;
        self.of_motion = " of the part that can be followed";
        self.no_motion = match error.partial() {
            Some(_) => {
                "No curves of the joints; --partial draws those of the part that can be followed."
            }
            None => "No curves of the joints: there is no motion.",
        };
        let (words, culprits) = told(error);
        self.culprits = culprits;
        let place = match error {
            PlanError::Path(path) => match path {
                PathError::PathBroken { .. } | PathError::OffRoute { .. } => {
                    let whole = length(&self.planned);
                    (self.done, self.rest) = cut(&self.planned, path.fraction() * whole);
                    self.done.last().copied()
                }
                PathError::Route { goal, source } | PathError::RouteOver { goal, source, .. } => {
                    self.done = self.planned.clone();
                    let from = self.done.last().copied().unwrap_or(self.start);
                    let to = goal.checked_sub(1).and_then(|goal| self.goals.get(goal));
                    self.straight = std::iter::once(from).chain(to.copied()).collect();
                    match end_of(source) {
                        Some(End::Start) => Some(from),
                        _ => to.copied(),
                    }
                }
                PathError::Goal { goal, .. } | PathError::GoalCollides { goal, .. } => {
                    self.rest = self.planned.clone();
                    let place = goal.checked_sub(1).and_then(|goal| self.goals.get(goal));
                    place.copied()
                }
                PathError::StartCollides { .. } | PathError::StartOutsideLimits { .. } => {
                    Some(self.start)
                }
                _ => None,
            },
            PlanError::Collides { time, .. } => {
                self.rest = self.planned.clone();
                let motion = known.trajectory.as_ref();
                let at = motion.and_then(|motion| motion.sample(*time));
                if let Some(at) = &at {
                    self.arm_after = plane.arm(self.chain, &at.positions);
                }
                let tip = at.and_then(|at| forward_kinematics(self.chain, &at.positions).ok());
                tip.map(|tip| plane.place(&tip))
            }
            PlanError::TooClose { obstacle, .. } => {
                self.rest = self.planned.clone();
                let motion = known.trajectory.as_ref();
                let way = motion.map(|motion| plane.executed(self.chain, motion));
                nearest(self.obstacles, obstacle, &way.unwrap_or_default())
            }
            PlanError::TooFewPoints { .. } => {
                let motion = known.trajectory.as_ref();
                self.done = motion.map_or(Vec::new(), |m| plane.executed(self.chain, m));
                None
            }
            PlanError::Timing(_) | PlanError::Late { .. } => {
                self.rest = self.planned.clone();
                None
            }
        };
        if let Some(last) = error
            .partial()
            .and_then(|part| part.joint_path.points.last())
        {
            self.arm_after = plane.arm(self.chain, last);
        }
        if self.done.len() > 1 && !self.rest.is_empty() {
            self.broken_way = Some(length(&self.done));
        }
        self.broken = place.map(|place| (place, words));
    }
}

/// The planning plane.
#[derive(Clone, Copy)]
struct Plane<'a>(&'a Pose);

impl Plane<'_> {
    fn place(&self, pose: &Pose) -> Point3<f64> {
        self.0
            .inverse_transform_point(&pose.translation.vector.into())
    }

    /// Origins of the base and the joints, and the tip.
    fn arm(&self, chain: &Chain, q: &[f64]) -> Vec<Point3<f64>> {
        let mut frames = Vec::new();
        let Ok(tip) = joint_frames(chain, q, &mut frames) else {
            return Vec::new();
        };
        let origins = frames.iter().map(|frame| frame.origin);
        std::iter::once(Point3::origin())
            .chain(origins)
            .chain([tip.translation.vector.into()])
            .map(|point| self.0.inverse_transform_point(&point))
            .collect()
    }

    /// The planned ways, one after the other.
    fn route(&self, legs: &[TipPath]) -> Vec<Point3<f64>> {
        let mut points = Vec::new();
        for leg in legs {
            let step = (leg.length() / POINTS as f64).max(1e-4);
            let (fractions, _) = leg.samples(step, 0.1);
            points.extend(fractions.iter().map(|u| self.place(&leg.pose(*u))));
        }
        points
    }

    /// Where the tip really goes: the timed motion, not the path that it was made from.
    fn executed(&self, chain: &Chain, motion: &Trajectory) -> Vec<Point3<f64>> {
        let duration = motion.duration();
        (0..=POINTS)
            .filter_map(|k| motion.sample(duration * k as f64 / POINTS as f64))
            .filter_map(|point| forward_kinematics(chain, &point.positions).ok())
            .map(|tip| self.place(&tip))
            .collect()
    }
}

fn length(line: &[Point3<f64>]) -> f64 {
    line.windows(2).map(|pair| (pair[1] - pair[0]).norm()).sum()
}

/// A line up to a length of it \[m\], and from there on.
fn cut(line: &[Point3<f64>], at: f64) -> (Vec<Point3<f64>>, Vec<Point3<f64>>) {
    let mut way = 0.0;
    for (k, pair) in line.windows(2).enumerate() {
        let step = (pair[1] - pair[0]).norm();
        if way + step > at {
            let place = pair[0] + (pair[1] - pair[0]) * ((at - way) / step).clamp(0.0, 1.0);
            let mut before = line[..=k].to_vec();
            before.push(place);
            let mut after = vec![place];
            after.extend_from_slice(&line[k + 1..]);
            return (before, after);
        }
        way += step;
    }
    (line.to_vec(), line.last().copied().into_iter().collect())
}

/// The point of a line that is nearest to an obstacle as seen from above.
fn nearest(obstacles: &[Obstacle], id: &str, line: &[Point3<f64>]) -> Option<Point3<f64>> {
    let distance = |point: &Point3<f64>| {
        let same = obstacles.iter().filter(|obstacle| obstacle.id == id);
        same.map(|obstacle| obstacle.polygon.distance(&point.xy()))
            .fold(f64::INFINITY, f64::min)
    };
    let nearest = line
        .iter()
        .map(|point| (distance(point), point))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    nearest.map(|(_, point)| *point)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[[f64; 3]]) -> Vec<Point3<f64>> {
        points.iter().map(|p| Point3::from(*p)).collect()
    }

    #[test]
    fn lines_are_cut_at_a_length() {
        let whole = line(&[[0.0; 3], [1.0, 0.0, 0.0], [1.0, 0.0, 2.0]]);
        let (before, after) = cut(&whole, 1.5);
        assert_eq!(before.last(), Some(&Point3::new(1.0, 0.0, 0.5)));
        assert!((length(&before) - 1.5).abs() < 1e-12 && (length(&after) - 1.5).abs() < 1e-12);
        assert_eq!(cut(&whole, 9.0).0, whole);
        assert_eq!(cut(&[], 1.0), (Vec::new(), Vec::new()));
    }
}
