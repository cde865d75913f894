//! Backward and forward reaching over a tree.
//!
//! As in [`super::super::fabrik`], passes carry whole frames, so that hinges and limits hold in
//! each. Backward, every tip is put on its target and asks its joints upwards for where they
//! should be; a link on which several joints or tips hang (a sub-base) gets several such wishes
//! and is put at their weighted centroid, its orientation at their mean, before it asks upwards
//! in turn, to any depth. Forward, from the base outwards, each joint brings the nearest points
//! of all branches that it carries to where the backward pass left them. A free base stays where
//! its branches ask it to be; a fixed one is put back.
//!
//! A little longer than other files: the two passes belong side by side.

use nalgebra::{Isometry3, Point3, UnitQuaternion, Vector3};

use super::super::one_joint::Sinusoid;
use super::super::request::Goal;
use super::super::task;
use super::request::{TreeBase, TreeRequest};
use super::{frames, tip_poses, State};
use crate::model::{ChainJoint, Motion, TreeChain};

/// A point counts as off an axis at this share of the tree's size.
const OFF_AXIS: f64 = 0.01;
/// Weight of keeping orientations, in squared shares of the tree's size.
const ORIENTATION_WEIGHT: f64 = 1e-3;
/// Passes without five percent of progress after which the tips count as stalled.
const PATIENCE: u32 = 8;
/// Most pairs of passes from one start; the polish converges faster.
const MOST: u32 = 40;
/// Error \[m, rad\] at which the polish takes over.
const POLISH_FROM: f64 = 2e-2;

/// State of the passes.
pub(super) struct Passes<'a> {
    tree: &'a TreeChain,
    request: &'a TreeRequest<'a>,
    pub(super) state: State,
    /// Frames of the links: the base's, then the one after each moving joint.
    pub(super) frames: Vec<Isometry3<f64>>,
    /// For each link the joints that hang on it.
    children: Vec<Vec<usize>>,
    size: f64,
}

/// Wishes for one link's frame.
#[derive(Debug, Clone, Copy, Default)]
struct Wishes {
    weight: f64,
    position: Vector3<f64>,
    /// Weighted sum of quaternions, all in the half-space of the first.
    rotation: nalgebra::Vector4<f64>,
}

impl Wishes {
    fn add(&mut self, frame: &Isometry3<f64>, weight: f64) {
        self.weight += weight;
        self.position += frame.translation.vector * weight;
        let q = frame.rotation.coords;
        let sign = if self.rotation.dot(&q) < 0.0 {
            -1.0
        } else {
            1.0
        };
        self.rotation += q * (sign * weight);
    }

    /// Centroid and mean orientation; `None` without wishes. Orientations that cancel out leave
    /// the old one.
    fn mean(&self, old: &Isometry3<f64>) -> Option<Isometry3<f64>> {
        if self.weight.is_nan() || self.weight <= 0.0 {
            return None;
        }
        let rotation = nalgebra::Unit::try_new(
            nalgebra::Quaternion::from(self.rotation),
            1e-6 * self.weight,
        );
        Some(Isometry3::from_parts(
            (self.position / self.weight).into(),
            rotation.unwrap_or(old.rotation),
        ))
    }
}

impl<'a> Passes<'a> {
    pub(super) fn new(tree: &'a TreeChain, request: &'a TreeRequest<'a>, state: State) -> Self {
        let mut children = vec![Vec::new(); tree.joints.len() + 1];
        for (index, node) in tree.joints.iter().enumerate() {
            if let Some(list) = children.get_mut(node.parent.map_or(0, |parent| parent + 1)) {
                list.push(index);
            }
        }
        // The longest way from the base to a tip.
        let mut lengths = vec![0.0_f64];
        for node in &tree.joints {
            let parent = node.parent.map_or(0, |parent| parent + 1);
            let so_far = lengths.get(parent).copied().unwrap_or(0.0);
            lengths.push(so_far + node.joint.before.translation.vector.norm());
        }
        let size = lengths.iter().fold(0.0_f64, |most, l| most.max(*l));
        let frames = frames(tree, &state.base, &state.q);
        Passes {
            tree,
            request,
            state,
            frames,
            children,
            size: if size.is_finite() && size > 0.0 {
                size
            } else {
                1.0
            },
        }
    }

    /// Passes until the tips arrive or stall; the best state on the way.
    pub(super) fn run(mut self, iterations: &mut u32) -> State {
        let mut best = self.state.clone();
        let mut best_error = f64::INFINITY;
        let mut milestone = f64::INFINITY;
        let mut since = 0;
        for _ in 0..=MOST.min(self.request.max_iterations) {
            let error = self.error();
            if error < best_error {
                best_error = error;
                best.clone_from(&self.state);
            }
            if error < 0.95 * milestone {
                milestone = error;
                since = 0;
            } else {
                since += 1;
            }
            let stop = error <= POLISH_FROM
                || since > PATIENCE
                || self.request.give_up.is_some_and(|give_up| give_up());
            if stop {
                break;
            }
            *iterations = iterations.saturating_add(1);
            let goals = self.backward();
            self.forward(&goals);
        }
        best
    }

    /// Largest error of a tip \[m + rad\].
    fn error(&self) -> f64 {
        let poses = tip_poses(self.tree, &self.state.base, &self.state.q);
        let pairs = self.request.tips.iter().zip(&poses);
        pairs
            .map(|(tip, pose)| {
                let off = task::residual(tip.goal, &tip.target, pose);
                off.position + off.orientation
            })
            .fold(0.0, f64::max)
    }

    fn value_of(&self, joint: &ChainJoint, q: &[f64]) -> f64 {
        q.get(joint.dof).copied().unwrap_or(0.0)
    }

    fn decide(&self, joint: &ChainJoint, q: &[f64], sinusoid: Sinusoid) -> f64 {
        let value = self.value_of(joint, q);
        match self.tree.dofs.get(joint.dof) {
            Some(dof) if joint.multiplier != 0.0 => {
                sinusoid.best(dof, value, joint.multiplier, 1e-12 * self.size * self.size)
            }
            _ => value,
        }
    }

    fn slide(&self, joint: &ChainJoint, q: &[f64], along: f64) -> f64 {
        let value = self.value_of(joint, q);
        match self.tree.dofs.get(joint.dof) {
            Some(dof) if joint.multiplier != 0.0 => dof.clamp(value + along / joint.multiplier),
            _ => value,
        }
    }

    /// Where tip `index` wants the link that carries it.
    fn wish(&self, index: usize) -> Option<(usize, Isometry3<f64>, f64)> {
        let tip = self.tree.tips.get(index)?;
        let asked = self.request.tips.get(index)?;
        let old = self.frames.get(tip.after + 1)?;
        let now = old * tip.offset;
        let near = task::nearest_pose(asked.goal, &asked.target, &now);
        let turns = match asked.goal {
            Goal::Pose => false,
            Goal::Position => true,
            Goal::Axes(axes) => axes.rotation == [false; 3],
        };
        let mut frame = near * tip.offset.inverse();
        if turns {
            // The link turns the shortest way so that its joint points at where it was.
            let joint = old.translation.vector;
            let turn = UnitQuaternion::rotation_between(
                &(joint - now.translation.vector),
                &(joint - near.translation.vector),
            )
            .unwrap_or_else(UnitQuaternion::identity);
            let rotation = turn * old.rotation;
            let offset = rotation * tip.offset.translation.vector;
            frame = Isometry3::from_parts((near.translation.vector - offset).into(), rotation);
        }
        Some((tip.after + 1, frame, asked.weight))
    }

    /// From the targets to the base; returns where each link should be, the base first.
    pub(super) fn backward(&mut self) -> Vec<Isometry3<f64>> {
        let count = self.tree.joints.len();
        let mut wishes = vec![Wishes::default(); count + 1];
        for index in 0..self.tree.tips.len() {
            if let Some((link, frame, weight)) = self.wish(index) {
                if let Some(slot) = wishes.get_mut(link) {
                    slot.add(&frame, weight);
                }
            }
        }
        let mut goals = self.frames.clone();
        let mut q = self.state.q.clone();
        let mut decided = vec![false; q.len()];
        for index in (0..count).rev() {
            let Some(node) = self.tree.joints.get(index) else {
                break;
            };
            let parent_link = node.parent.map_or(0, |parent| parent + 1);
            let (Some(old), Some(&old_parent), Some(asked)) = (
                self.frames.get(index + 1),
                self.frames.get(parent_link),
                wishes.get(index + 1).copied(),
            ) else {
                break;
            };
            let Some(frame) = asked.mean(old) else {
                continue;
            };
            if let Some(slot) = goals.get_mut(index + 1) {
                *slot = frame;
            }
            let joint = &node.joint;
            let parent =
                |value: f64| frame * joint.motion(value).inverse() * joint.before.inverse();
            if !decided.get(joint.dof).copied().unwrap_or(true) {
                let now = parent(joint.value(&q));
                let next = match joint.motion {
                    Motion::Translation => {
                        let axis = (frame.rotation * joint.axis).into_inner();
                        let way = old_parent.translation.vector - now.translation.vector;
                        // The child stays, so the parent goes against the axis.
                        self.slide(joint, &q, -axis.dot(&way))
                    }
                    Motion::Rotation => {
                        let axis = (frame.rotation * joint.axis).into_inner();
                        let carried = now * old_parent.inverse();
                        let mut sinusoid = self.keep(&carried, &-axis);
                        let origin: Point3<f64> = frame.translation.vector.into();
                        let mut link = Some(parent_link);
                        while let Some(at) = link {
                            let Some(upstream) = self.frames.get(at) else {
                                break;
                            };
                            let goal: Point3<f64> = upstream.translation.vector.into();
                            if self.add(&mut sinusoid, 1.0, &carried, &-axis, &origin, &goal) {
                                break;
                            }
                            link = at
                                .checked_sub(1)
                                .and_then(|joint| self.tree.joints.get(joint))
                                .map(|node| node.parent.map_or(0, |parent| parent + 1));
                        }
                        self.decide(joint, &q, sinusoid)
                    }
                };
                if let (Some(slot), Some(flag)) = (q.get_mut(joint.dof), decided.get_mut(joint.dof))
                {
                    *slot = next;
                    *flag = true;
                }
            }
            let wished = parent(joint.value(&q));
            if let Some(slot) = wishes.get_mut(parent_link) {
                slot.add(&wished, asked.weight);
            }
        }
        let base = self.frames.first().copied().unwrap_or(self.state.base);
        if let (Some(wished), Some(slot)) = (
            wishes.first().and_then(|wishes| wishes.mean(&base)),
            goals.first_mut(),
        ) {
            *slot = wished;
        }
        self.state.q = q;
        goals
    }

    /// From the base outwards to the frames of the backward pass; sets joint values and frames.
    pub(super) fn forward(&mut self, goals: &[Isometry3<f64>]) {
        if let (TreeBase::Free(_), Some(&wished)) = (self.request.base, goals.first()) {
            self.state.base = wished;
        }
        let mut reached = vec![self.state.base];
        let mut q = self.state.q.clone();
        let mut decided = vec![false; q.len()];
        for (index, node) in self.tree.joints.iter().enumerate() {
            let parent = reached.get(node.parent.map_or(0, |parent| parent + 1));
            let (Some(parent), Some(&goal)) = (parent, goals.get(index + 1)) else {
                break;
            };
            let joint = &node.joint;
            let before = parent * joint.before;
            if !decided.get(joint.dof).copied().unwrap_or(true) {
                let axis = (before.rotation * joint.axis).into_inner();
                let now = before * joint.motion(joint.value(&q));
                let next = match joint.motion {
                    Motion::Translation => {
                        let way = goal.translation.vector - now.translation.vector;
                        self.slide(joint, &q, axis.dot(&way))
                    }
                    Motion::Rotation => {
                        let carried = now * goal.inverse();
                        let mut sinusoid = self.keep(&carried, &axis);
                        let origin: Point3<f64> = before.translation.vector.into();
                        self.add_branches(
                            &mut sinusoid,
                            index + 1,
                            goals,
                            &carried,
                            &axis,
                            &origin,
                        );
                        self.decide(joint, &q, sinusoid)
                    }
                };
                if let (Some(slot), Some(flag)) = (q.get_mut(joint.dof), decided.get_mut(joint.dof))
                {
                    *slot = next;
                    *flag = true;
                }
            }
            let mut frame = before * joint.motion(joint.value(&q));
            frame.rotation.renormalize_fast();
            reached.push(frame);
        }
        self.state.q = q;
        self.frames = frames(self.tree, &self.state.base, &self.state.q);
    }

    /// The wish to keep a body's orientation; decides where no point does.
    fn keep(&self, carried: &Isometry3<f64>, axis: &Vector3<f64>) -> Sinusoid {
        let mut sinusoid = Sinusoid::default();
        sinusoid.add_orientation(
            ORIENTATION_WEIGHT * self.size * self.size,
            axis,
            &carried.rotation,
            &UnitQuaternion::identity(),
        );
        sinusoid
    }

    /// Adds a point that should come to `goal`, if it is off the axis.
    fn add(
        &self,
        sinusoid: &mut Sinusoid,
        weight: f64,
        carried: &Isometry3<f64>,
        axis: &Vector3<f64>,
        origin: &Point3<f64>,
        goal: &Point3<f64>,
    ) -> bool {
        let point = carried * goal;
        let off = (point - origin).cross(axis).norm() > OFF_AXIS * self.size;
        if off {
            sinusoid.add_point(weight, axis, origin, &point, goal);
        }
        off
    }

    /// Of every branch below a link the first point off the axis.
    fn add_branches(
        &self,
        sinusoid: &mut Sinusoid,
        link: usize,
        goals: &[Isometry3<f64>],
        carried: &Isometry3<f64>,
        axis: &Vector3<f64>,
        origin: &Point3<f64>,
    ) {
        let mut open = vec![link];
        while let Some(at) = open.pop() {
            let Some(frame) = goals.get(at) else { continue };
            for (tip, asked) in self.tree.tips.iter().zip(&self.request.tips) {
                if tip.after + 1 == at {
                    let goal: Point3<f64> = (frame * tip.offset).translation.vector.into();
                    self.add(sinusoid, asked.weight, carried, axis, origin, &goal);
                }
            }
            for &child in self.children.get(at).into_iter().flatten() {
                let Some(next) = goals.get(child + 1) else {
                    continue;
                };
                let goal: Point3<f64> = next.translation.vector.into();
                if !self.add(sinusoid, 1.0, carried, axis, origin, &goal) {
                    open.push(child + 1);
                }
            }
        }
    }
}
