//! FABRIK, forward and backward reaching, on real arms \[Aristidou2011\], \[Aristidou2016\].
//!
//! The original moves free points. Here each pass carries whole frames, so that hinge axes and
//! joint limits hold inside the pass: going backward, the last link is put on the target and
//! every joint in turn takes the value, inside its limits, that brings the next joint's point
//! upstream nearest to where it was; going forward, the first link is put back on the base and
//! every joint brings the next point downstream nearest to where the backward pass left it.
//! Links never change their lengths, sliding joints stretch along their axis within their
//! limits, and the forward pass's joint values are the answer: nothing has to be turned back
//! from points afterwards. Three hinges whose axes meet in a point act together as a ball joint
//! with a cone of limits where that brings the limb nearer than one hinge after the other.
//!
//! Longer than other files because its tests look inside the passes.

use nalgebra::{Isometry3, Point3, Unit, UnitQuaternion, Vector3};

use super::ball_joint::BallJoint;
use super::lm::{self, Budget};
use super::one_joint::Sinusoid;
use super::request::{Goal, IkError, IkRequest, IkSolution, IkSolver};
use super::task;
use super::verify::{self, Outcome};
use crate::kinematics::forward_kinematics;
use crate::model::{Chain, ChainJoint, Motion};

/// See the module's head; a Levenberg–Marquardt polish takes the last digits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fabrik;

const NAME: &str = "fabrik";

/// A point counts as off an axis at this share of the arm's length.
const OFF_AXIS: f64 = 0.01;
/// Weight of keeping a link's orientation against the point aimed at, in squared shares of the
/// arm's length: it decides where no point does.
const ORIENTATION_WEIGHT: f64 = 1e-4;
/// Passes without five percent of progress after which the tip counts as stalled.
const PATIENCE: u32 = 12;
/// Share of the arm's length \[m, rad\] at which the polish takes over: the passes converge linearly.
const POLISH_FROM: f64 = 1e-2;

impl IkSolver for Fabrik {
    fn name(&self) -> &'static str {
        NAME
    }

    fn solve(
        &self,
        chain: &Chain,
        request: &IkRequest<'_>,
        seed: &[f64],
    ) -> Result<IkSolution, IkError> {
        let (chain, seed) = verify::prepare(chain, request, seed)?;
        let chain = chain.as_ref();
        let outcome = descend(chain, request, &seed);
        verify::conclude(chain, request, &seed, outcome, NAME)
    }
}

/// Passes from `start` until the tip arrives or stalls, then the polish.
pub(super) fn descend(chain: &Chain, request: &IkRequest<'_>, start: &[f64]) -> Outcome {
    let mut outcome = Passes::new(chain, request, start).run();
    if outcome.timed_out {
        return outcome;
    }
    if let Some(mut polish) = lm::prepare(chain, request) {
        let before = polish.squared_error(&outcome.q);
        let mut q = outcome.q.clone();
        let end = polish.descend(&mut q, &Budget::of(request, false));
        outcome.iterations = outcome.iterations.saturating_add(end.iterations);
        outcome.timed_out = end.timed_out;
        if end.squared < before {
            outcome.q = q;
        }
    }
    outcome
}

/// State of the passes.
struct Passes<'a> {
    chain: &'a Chain,
    request: &'a IkRequest<'a>,
    q: Vec<f64>,
    /// Frames of the links: the base's, then the one after each moving joint.
    frames: Vec<Isometry3<f64>>,
    reach: f64,
    balls: Vec<BallJoint>,
}

impl<'a> Passes<'a> {
    fn new(chain: &'a Chain, request: &'a IkRequest<'a>, start: &[f64]) -> Self {
        let (_, reach) = chain.reach();
        let reach = if reach.is_finite() && reach > 0.0 {
            reach
        } else {
            1.0
        };
        let mut passes = Passes {
            chain,
            request,
            q: start.to_vec(),
            frames: Vec::with_capacity(chain.joints.len() + 1),
            reach,
            balls: BallJoint::all(chain, reach),
        };
        passes.refresh();
        passes
    }

    /// Frames from joint values.
    fn refresh(&mut self) {
        self.frames.clear();
        let mut pose = Isometry3::identity();
        self.frames.push(pose);
        for joint in &self.chain.joints {
            pose = pose * joint.before * joint.motion(joint.value(&self.q));
            pose.rotation.renormalize_fast();
            self.frames.push(pose);
        }
    }

    fn run(mut self) -> Outcome {
        let mut best = self.q.clone();
        let mut best_error = f64::INFINITY;
        let mut milestone = f64::INFINITY;
        let mut since_milestone = 0;
        let mut iterations = 0;
        let mut timed_out = false;
        let (centre, reach) = self.chain.reach();
        let whole = match self.request.goal {
            Goal::Pose | Goal::Position => true,
            Goal::Axes(axes) => axes.position == [true; 3],
        };
        if whole && (self.request.target.translation.vector - centre).norm() >= reach {
            self.straighten(&centre);
        }
        while let Ok(tip) = forward_kinematics(self.chain, &self.q) {
            let distance = task::residual(self.request.goal, &self.request.target, &tip);
            let error = distance.position / self.reach + distance.orientation;
            if error < 0.95 * milestone {
                milestone = error;
                since_milestone = 0;
            } else {
                since_milestone += 1;
            }
            if error < best_error {
                best_error = error;
                best.clone_from(&self.q);
            }
            if error <= POLISH_FROM
                || iterations >= self.request.max_iterations
                || since_milestone > PATIENCE
            {
                break;
            }
            if self.request.give_up.is_some_and(|give_up| give_up()) {
                timed_out = true;
                break;
            }
            iterations += 1;
            let backward = self.backward();
            self.forward(&backward);
        }
        Outcome {
            q: best,
            iterations,
            timed_out,
        }
    }

    /// The best value inside its limits for a turning joint.
    fn decide(&self, joint: &ChainJoint, q: &[f64], sinusoid: Sinusoid) -> f64 {
        let value = q.get(joint.dof).copied().unwrap_or(0.0);
        match self.chain.dofs.get(joint.dof) {
            Some(dof) if joint.multiplier != 0.0 => {
                let least = 1e-12 * self.reach * self.reach;
                sinusoid.best(dof, value, joint.multiplier, least)
            }
            _ => value,
        }
    }

    /// The same for a sliding joint that should move by `along`.
    fn slide(&self, joint: &ChainJoint, q: &[f64], along: f64) -> f64 {
        let value = q.get(joint.dof).copied().unwrap_or(0.0);
        match self.chain.dofs.get(joint.dof) {
            Some(dof) if joint.multiplier != 0.0 => dof.clamp(value + along / joint.multiplier),
            _ => value,
        }
    }

    /// The last link's frame on the target; for position goals turned the shortest way so that
    /// its joint points at where it was.
    fn last_frame(&self) -> Isometry3<f64> {
        let last = self
            .frames
            .last()
            .copied()
            .unwrap_or_else(Isometry3::identity);
        // Of several poses that would do, the one nearest to where the tip is.
        let target = task::nearest_pose(
            self.request.goal,
            &self.request.target,
            &(last * self.chain.tip_offset),
        );
        let turns = match self.request.goal {
            Goal::Pose => false,
            Goal::Position => true,
            Goal::Axes(axes) => axes.rotation == [false; 3],
        };
        match turns {
            false => target * self.chain.tip_offset.inverse(),
            true => {
                let goal = target.translation.vector;
                let tip = (last * self.chain.tip_offset).translation.vector;
                let old = last.translation.vector;
                let turn = UnitQuaternion::rotation_between(&(old - tip), &(old - goal))
                    .unwrap_or_else(UnitQuaternion::identity);
                let rotation = turn * last.rotation;
                let offset = rotation * self.chain.tip_offset.translation.vector;
                Isometry3::from_parts((goal - offset).into(), rotation)
            }
        }
    }

    /// From the target to the base; returns the frames of the links (base first), joined at
    /// the joints within their limits but not to the base.
    fn backward(&mut self) -> Vec<Isometry3<f64>> {
        let count = self.chain.joints.len();
        let mut reached = vec![Isometry3::identity(); count + 1];
        let mut frame = self.last_frame();
        if let Some(last) = reached.last_mut() {
            *last = frame;
        }
        let mut q = self.q.clone();
        let mut decided = vec![false; q.len()];
        for index in (0..count).rev() {
            let (Some(joint), Some(&old_parent)) =
                (self.chain.joints.get(index), self.frames.get(index))
            else {
                break;
            };
            let axis = (frame.rotation * joint.axis).into_inner();
            let parent =
                |value: f64| frame * joint.motion(value).inverse() * joint.before.inverse();
            let free = !decided.get(joint.dof).copied().unwrap_or(true);
            if free {
                // What the upstream body's old points have become, carried rigidly.
                let carried = parent(joint.value(&q)) * old_parent.inverse();
                let upstream = self.frames.get(..=index).unwrap_or(&[]);
                let next = match joint.motion {
                    Motion::Translation => {
                        let way = old_parent.translation.vector
                            - parent(joint.value(&q)).translation.vector;
                        // The child stays, so the parent goes against the axis.
                        self.slide(joint, &q, -axis.dot(&way))
                    }
                    Motion::Rotation => {
                        let origin: Point3<f64> = frame.translation.vector.into();
                        // Turning the child by Δ about the axis turns the parent by −Δ.
                        let sinusoid =
                            self.aim(upstream.iter().rev(), &carried, &(-axis), &origin, None);
                        self.decide(joint, &q, sinusoid)
                    }
                };
                if let Some(slot) = q.get_mut(joint.dof) {
                    *slot = next;
                }
                if let Some(flag) = decided.get_mut(joint.dof) {
                    *flag = true;
                }
            }
            frame = parent(joint.value(&q));
            frame.rotation.renormalize_fast();
            if let Some(slot) = reached.get_mut(index) {
                *slot = frame;
            }
        }
        self.q = q;
        reached
    }

    /// From the base towards the frames of the backward pass; sets joint values and frames.
    fn forward(&mut self, goals: &[Isometry3<f64>]) {
        let mut q = self.q.clone();
        let mut decided = vec![false; q.len()];
        let mut frame = Isometry3::identity();
        let mut entry = frame;
        let mut current = [0.0; 3];
        let tip_goal = goals.last().map(|last| last * self.chain.tip_offset);
        for (index, joint) in self.chain.joints.iter().enumerate() {
            let Some(&goal) = goals.get(index + 1) else {
                break;
            };
            let before = frame * joint.before;
            let axis = (before.rotation * joint.axis).into_inner();
            if !decided.get(joint.dof).copied().unwrap_or(true) {
                let now = before * joint.motion(joint.value(&q));
                let carried = now * goal.inverse();
                let downstream = goals.get(index + 1..).unwrap_or(&[]);
                let next = match joint.motion {
                    Motion::Translation => {
                        let way = goal.translation.vector - now.translation.vector;
                        self.slide(joint, &q, axis.dot(&way))
                    }
                    Motion::Rotation => {
                        let origin: Point3<f64> = before.translation.vector.into();
                        let sinusoid = self.aim(
                            downstream.iter(),
                            &carried,
                            &axis,
                            &origin,
                            tip_goal.as_ref(),
                        );
                        self.decide(joint, &q, sinusoid)
                    }
                };
                if let Some(slot) = q.get_mut(joint.dof) {
                    *slot = next;
                }
                if let Some(flag) = decided.get_mut(joint.dof) {
                    *flag = true;
                }
            }
            frame = before * joint.motion(joint.value(&q));
            frame.rotation.renormalize_fast();
            if let Some(ball) = self.balls.iter().find(|ball| ball.first == index) {
                entry = before;
                current = self.hinges(ball, &q);
            }
            if let Some(ball) = self.balls.iter().find(|ball| ball.first + 2 == index) {
                if let Some(better) = self.swing(ball, &mut q, &entry, &current, &frame, &goal) {
                    frame = better;
                }
            }
        }
        self.q = q;
        self.refresh();
    }

    fn hinges(&self, ball: &BallJoint, q: &[f64]) -> [f64; 3] {
        [0, 1, 2].map(|step| {
            let joint = self.chain.joints.get(ball.first + step);
            joint.map_or(0.0, |joint| joint.value(q))
        })
    }

    /// Three hinges at once, as a ball joint: where that brings the limb beyond them nearer to
    /// its goal than hinge by hinge did (at `frame`), `q` takes its values. `entry` is the
    /// frame of the first hinge. Returns the new frame.
    fn swing(
        &self,
        ball: &BallJoint,
        q: &mut [f64],
        entry: &Isometry3<f64>,
        current: &[f64; 3],
        frame: &Isometry3<f64>,
        goal: &Isometry3<f64>,
    ) -> Option<Isometry3<f64>> {
        let limb: Point3<f64> = ball.limb.into();
        let cost = |frame: &Isometry3<f64>| {
            let turn = frame.rotation.angle_to(&goal.rotation);
            (frame * limb - goal * limb).norm_squared()
                + ORIENTATION_WEIGHT * self.reach * self.reach * turn * turn
        };
        let local = entry.inverse() * goal;
        let values = ball.aim(&(local * limb).coords, &local.rotation, current)?;
        let joints = self.chain.joints.get(ball.first..ball.first + 3)?;
        let mut other = *entry;
        for (step, (joint, value)) in joints.iter().zip(values).enumerate() {
            if step > 0 {
                other *= joint.before;
            }
            other *= joint.motion(value);
        }
        other.rotation.renormalize_fast();
        if cost(&other) >= cost(frame) {
            return None;
        }
        for (joint, value) in joints.iter().zip(values) {
            *q.get_mut(joint.dof)? = value;
        }
        Some(other)
    }

    /// What turning a rigid body about an axis should bring together: the first of its points
    /// off the axis with its goal, and a little its orientation. `carried` takes goals to where
    /// the body has them now.
    fn aim<'f>(
        &self,
        goals: impl Iterator<Item = &'f Isometry3<f64>>,
        carried: &Isometry3<f64>,
        axis: &Vector3<f64>,
        origin: &Point3<f64>,
        last: Option<&'f Isometry3<f64>>,
    ) -> Sinusoid {
        let mut sinusoid = Sinusoid::default();
        let least = OFF_AXIS * self.reach;
        for goal in goals.chain(last) {
            let goal: Point3<f64> = goal.translation.vector.into();
            let point = carried * goal;
            if (point - origin).cross(axis).norm() > least {
                sinusoid.add_point(1.0, axis, origin, &point, &goal);
                break;
            }
        }
        sinusoid.add_orientation(
            ORIENTATION_WEIGHT * self.reach * self.reach,
            axis,
            &carried.rotation,
            &UnitQuaternion::identity(),
        );
        sinusoid
    }

    /// The answer to a target that is too far: every joint's point on the straight line to it, as
    /// far as hinges and limits let it.
    fn straighten(&mut self, centre: &Vector3<f64>) {
        let Some(direction) = Unit::try_new(self.request.target.translation.vector - centre, 1e-12)
        else {
            return;
        };
        let mut along = 0.0;
        let mut goals = vec![Isometry3::identity()];
        for (index, joint) in self.chain.joints.iter().enumerate() {
            if index > 0 {
                along += joint.before.translation.vector.norm();
            }
            let rotation = self
                .frames
                .get(index + 1)
                .map_or_else(UnitQuaternion::identity, |f| f.rotation);
            goals.push(Isometry3::from_parts(
                (centre + direction.into_inner() * along).into(),
                rotation,
            ));
        }
        // The last link's frame is turned so that its tip lies on the line, too.
        if let Some(last) = goals.last_mut() {
            let tip = last.rotation * self.chain.tip_offset.translation.vector;
            let turn = UnitQuaternion::rotation_between(&tip, &direction)
                .unwrap_or_else(UnitQuaternion::identity);
            last.rotation = turn * last.rotation;
        }
        // Each pass straightens one more hinge at the latest.
        for _ in 0..self.chain.joints.len().min(12) {
            self.forward(&goals);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_arms::{arm, planar, Random};
    use super::*;

    /// Each frame must follow from the one before by the joint between them at a value inside
    /// its limits: hinges hold, and no link is longer or shorter than it is.
    fn check_joined(chain: &Chain, frames: &[Isometry3<f64>]) {
        for (index, joint) in chain.joints.iter().enumerate() {
            let relative = joint.before.inverse() * frames[index].inverse() * frames[index + 1];
            let dof = &chain.dofs[joint.dof];
            let value = match joint.motion {
                Motion::Rotation => {
                    assert!(relative.translation.vector.norm() < 1e-12, "stretched link");
                    relative.rotation.scaled_axis().dot(&joint.axis)
                }
                Motion::Translation => relative.translation.vector.dot(&joint.axis),
            };
            let rest = relative.inverse() * joint.motion(value);
            assert!(rest.translation.vector.norm() < 1e-12, "stretched link");
            assert!(rest.rotation.angle() < 1e-7, "bent hinge");
            assert!(
                value >= dof.lower - 1e-9 && value <= dof.upper + 1e-9,
                "{value}"
            );
        }
    }

    #[test]
    fn passes_keep_lengths_hinges_and_limits() {
        let mut random = Random(31);
        for round in 0..20 {
            let chain = arm(&mut random, 7, true, false);
            let target = forward_kinematics(&chain, &random.configuration(&chain)).unwrap();
            let mut request = IkRequest::new(target);
            if round % 2 == 1 {
                request.goal = Goal::Position;
            }
            let mut passes = Passes::new(&chain, &request, &random.configuration(&chain));
            for _ in 0..5 {
                let backward = passes.backward();
                check_joined(&chain, &backward);
                let tip = backward[7] * chain.tip_offset;
                assert!((tip.translation.vector - target.translation.vector).norm() < 1e-12);
                passes.forward(&backward);
                check_joined(&chain, &passes.frames);
                assert_eq!(passes.frames[0], Isometry3::identity());
            }
        }
    }

    #[test]
    fn backward_reaching_brings_the_next_point_nearest() {
        // The oracle: no other value of the last joint brings its parent's point nearer to
        // where it was.
        let mut random = Random(32);
        for _ in 0..30 {
            let chain = arm(&mut random, 4, false, false);
            let target = forward_kinematics(&chain, &random.configuration(&chain)).unwrap();
            let request = IkRequest::new(target);
            let mut passes = Passes::new(&chain, &request, &random.configuration(&chain));
            let old = passes.frames[3].translation.vector;
            let backward = passes.backward();
            let distance = |parent: &Isometry3<f64>| (parent.translation.vector - old).norm();
            let reached = distance(&backward[3]);
            let (joint, dof) = (&chain.joints[3], &chain.dofs[3]);
            for step in 0..=200 {
                let value = dof.lower + (dof.upper - dof.lower) * f64::from(step) / 200.0;
                let parent = backward[4] * joint.motion(value).inverse() * joint.before.inverse();
                // The small wish to keep orientations is allowed for.
                assert!(reached <= distance(&parent) + 0.02 * passes.reach);
            }
        }
    }

    #[test]
    fn passes_alone_converge() {
        // Without the polish: the tip of a many-jointed planar arm comes within a hundredth
        // of the arm's length nearly everywhere.
        let chain = planar(&[0.3; 6], 2.5);
        let mut random = Random(33);
        let mut arrived = 0;
        for _ in 0..40 {
            let target = forward_kinematics(&chain, &random.configuration(&chain)).unwrap();
            let mut request = IkRequest::new(target);
            request.goal = Goal::Position;
            let end = Passes::new(&chain, &request, &random.configuration(&chain)).run();
            let tip = forward_kinematics(&chain, &end.q).unwrap();
            let off = (tip.translation.vector - target.translation.vector).norm();
            arrived += u32::from(off <= POLISH_FROM * 1.8);
        }
        assert!(arrived >= 36, "{arrived} of 40");
    }

    /// A shoulder and a wrist of three hinges each, an elbow between them; uneven limits.
    fn anthropomorphic() -> Chain {
        let mut chain = planar(&[0.0, 0.0, 0.3, 0.3, 0.0, 0.0, 0.2], 1.0);
        let axes = [
            Vector3::z_axis(),
            Vector3::y_axis(),
            Vector3::x_axis(),
            Vector3::z_axis(),
            Vector3::x_axis(),
            Vector3::y_axis(),
            Vector3::z_axis(),
        ];
        let limits = [
            (-1.2, 2.4),
            (-1.8, 0.6),
            (-1.5, 1.5),
            (0.05, 2.4),
            (-2.0, 2.0),
            (-0.7, 1.3),
            (-1.0, 1.6),
        ];
        for (joint, axis) in chain.joints.iter_mut().zip(axes) {
            joint.axis = axis;
        }
        for (dof, (lower, upper)) in chain.dofs.iter_mut().zip(limits) {
            (dof.lower, dof.upper) = (lower, upper);
        }
        chain
    }

    #[test]
    fn ball_joints_keep_hinges_and_limits_and_bring_more_tips_home() {
        let chain = anthropomorphic();
        let mut random = Random(34);
        let (mut with, mut without) = (0, 0);
        for _ in 0..60 {
            let target = forward_kinematics(&chain, &random.configuration(&chain)).unwrap();
            let request = IkRequest::new(target);
            let start = random.configuration(&chain);
            let mut passes = Passes::new(&chain, &request, &start);
            assert_eq!(passes.balls.len(), 2);
            for _ in 0..4 {
                let backward = passes.backward();
                passes.forward(&backward);
                check_joined(&chain, &passes.frames);
                assert!(chain.within_limits(&passes.q));
            }
            let arrived = |end: &Outcome| {
                let tip = forward_kinematics(&chain, &end.q).unwrap();
                let off = crate::kinematics::residual(&target, &tip);
                u32::from(off.position + off.orientation < 2.0 * POLISH_FROM)
            };
            with += arrived(&Passes::new(&chain, &request, &start).run());
            let mut hinges = Passes::new(&chain, &request, &start);
            hinges.balls.clear();
            without += arrived(&hinges.run());
        }
        assert!(with > without, "{with} with ball joints, {without} without");
    }
}
