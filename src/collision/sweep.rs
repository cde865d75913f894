//! The arm between two configurations.
//!
//! A bound of how far any point of a body can move along the way makes one check in the middle
//! answer for a whole interval: if nothing is closer than the clearance and half the travel, the
//! interval is free; else it is halved \[Schwarzer2005\].

use super::arm::{CheckError, CheckScratch, CollisionModel, Contact};
use super::world::CollisionWorld;
use crate::model::Motion;

/// A contact on the way between two configurations.
#[derive(Debug, Clone, PartialEq)]
pub struct MotionContact {
    /// Where on the way, from 0 (start) to 1 (end).
    pub fraction: f64,
    /// What meets what there.
    pub contact: Contact,
}

/// How far each body can move along a motion: what each joint adds.
struct Travel {
    /// For each body, for each of the chain's moving joints \[m\].
    by_joint: Vec<Vec<f64>>,
}

impl Travel {
    fn new(model: &CollisionModel, from: &[f64], to: &[f64]) -> Self {
        let joints = &model.chain.joints;
        let by_joint = model
            .bodies
            .iter()
            .map(|body| {
                let mut parts = vec![0.0; joints.len()];
                // Farthest that a point of the body can be from the joint at hand.
                let mut far = body.centre.length() + body.reach;
                for (part, joint) in parts.iter_mut().zip(joints).take(body.carrier).rev() {
                    let (first, last) = (joint.value(from), joint.value(to));
                    match joint.motion {
                        Motion::Rotation => *part = (last - first).abs() * far,
                        Motion::Translation => {
                            *part = (last - first).abs();
                            far += first.abs().max(last.abs());
                        }
                    }
                    far += joint.before.translation.vector.norm();
                }
                parts
            })
            .collect();
        Self { by_joint }
    }

    /// Of a body in space \[m\].
    fn of(&self, body: usize) -> f64 {
        self.between(0, body)
    }

    /// Of a body in the frame that `carrier` joints move \[m\].
    fn between(&self, carrier: usize, body: usize) -> f64 {
        self.by_joint
            .get(body)
            .map_or(0.0, |parts| parts.iter().skip(carrier).sum())
    }
}

impl CollisionModel {
    /// The first contact found on the straight way in joint space from `from` to `to`, both ends
    /// included; `None` if no two shapes come closer than the clearances less `tolerance` \[m\]
    /// (must be positive) anywhere on it.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn check_motion(
        &self,
        from: &[f64],
        to: &[f64],
        world: &CollisionWorld,
        tolerance: f64,
        scratch: &mut CheckScratch,
    ) -> Result<Option<MotionContact>, CheckError> {
        for (fraction, q) in [(0.0, from), (1.0, to)] {
            if let Some(contact) = self.check_with(q, world, scratch)? {
                return Ok(Some(MotionContact { fraction, contact }));
            }
        }
        let travel = Travel::new(self, from, to);
        let longest = (0..self.bodies.len())
            .map(|body| travel.of(body))
            .fold(0.0_f64, f64::max);
        let mut q = from.to_vec();
        // Halves still to look at: start and length as a power of one half.
        let mut open = vec![(0.0, 1.0)];
        while let Some((start, length)) = open.pop() {
            let middle: f64 = start + 0.5 * length;
            for (value, (a, b)) in q.iter_mut().zip(from.iter().zip(to)) {
                *value = a + (b - a) * middle;
            }
            let half = 0.5 * length;
            let near = self.nearer_than(
                &q,
                world,
                scratch,
                |body| travel.of(body) * half,
                |carrier, body| travel.between(carrier, body) * half,
            )?;
            if !near {
                continue;
            }
            if let Some(contact) = self.check_with(&q, world, scratch)? {
                return Ok(Some(MotionContact {
                    fraction: middle,
                    contact,
                }));
            }
            // Never NaN; an interval that is not halved ends the search in any case.
            if longest * half > tolerance && length > 1e-9 {
                open.push((middle, half));
                open.push((start, half));
            }
        }
        Ok(None)
    }
}
