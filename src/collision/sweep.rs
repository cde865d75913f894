//! The arm between configurations.
//!
//! A bound of how far any point of a body can move along the way makes one look in the middle
//! answer for a whole interval: what is farther apart than the clearance and half the travel stays
//! apart; with what is not, the interval is halved \[Schwarzer2005\].

use super::arm::{CheckError, CheckScratch, CollisionModel, Contact, Meeting};
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

/// A contact on the way along a list of configurations.
#[derive(Debug, Clone, PartialEq)]
pub struct PathContact {
    /// The configuration where the segment begins on which it was found, from zero.
    pub index: usize,
    /// Where on the way to the next configuration, from 0 to 1.
    pub fraction: f64,
    /// What meets what there.
    pub contact: Contact,
}

/// Memory of the search.
#[derive(Default)]
pub(super) struct SweepScratch {
    /// For each body, for each joint, how far this and the joints after it can move it \[m\].
    travel: Vec<f64>,
    q: Vec<f64>,
    /// What may still meet, interval by interval.
    open: Vec<Meeting>,
    intervals: Vec<Interval>,
}

/// A part of the way still to look at.
struct Interval {
    start: f64,
    length: f64,
    /// What may meet on it, in `open`.
    first: usize,
    last: usize,
}

/// Intervals shorter than this are not halved again: fractions have no more digits.
const SHORTEST: f64 = 1e-9;

impl CollisionModel {
    /// Fills the table of how far each body can move on the straight way in joint space.
    fn measure(&self, from: &[f64], to: &[f64], travel: &mut Vec<f64>) {
        let joints = &self.chain.joints;
        let width = joints.len() + 1;
        travel.clear();
        travel.resize(self.bodies.len() * width, 0.0);
        for (body, row) in self.bodies.iter().zip(travel.chunks_exact_mut(width)) {
            // Farthest that a point of the body can be from the joint at hand.
            let mut far = body.centre.length() + body.reach;
            // The carrier turns about its z.
            let mut lever = body.centre.x.hypot(body.centre.y) + body.reach;
            let mut sum = 0.0;
            for (place, joint) in joints.iter().enumerate().take(body.carrier).rev() {
                let (first, last) = (joint.value(from), joint.value(to));
                match joint.motion {
                    Motion::Rotation => sum += (last - first).abs() * lever,
                    Motion::Translation => {
                        sum += (last - first).abs();
                        far += first.abs().max(last.abs());
                    }
                }
                far += joint.before.translation.vector.norm();
                lever = far;
                if let Some(cell) = row.get_mut(place) {
                    *cell = sum;
                }
            }
        }
    }

    /// The same, in `scratch`, for [`CollisionModel::travel`] and [`CollisionModel::approach`].
    pub(super) fn measure_into(&self, from: &[f64], to: &[f64], scratch: &mut CheckScratch) {
        let mut travel = std::mem::take(&mut scratch.sweep.travel);
        self.measure(from, to, &mut travel);
        scratch.sweep.travel = travel;
    }

    /// How far a body can move in the frame that `carrier` joints move \[m\].
    pub(super) fn travel(&self, carrier: usize, body: usize, scratch: &CheckScratch) -> f64 {
        let width = self.chain.joints.len() + 1;
        let cell = scratch.sweep.travel.get(body * width + carrier);
        cell.copied().unwrap_or(0.0)
    }

    /// How far the two of a meeting can move towards each other \[m\].
    pub(super) fn approach(&self, meeting: Meeting, scratch: &CheckScratch) -> f64 {
        match meeting {
            Meeting::Piece { body, .. } | Meeting::Ground { body } => self.travel(0, body, scratch),
            Meeting::Pair { pair } => {
                let (i, j) = self.pairs.get(pair).copied().unwrap_or_default();
                let inner = self.bodies.get(i).map_or(0, |body| body.carrier);
                self.travel(inner, j, scratch)
            }
        }
    }

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
        let found = match self.meeting_at(from, world, scratch)? {
            Some(meeting) => Some((0.0, meeting)),
            None => self.meeting_after(from, to, world, tolerance, scratch)?,
        };
        Ok(found.map(|(fraction, meeting)| MotionContact {
            fraction,
            contact: self.contact(meeting, world),
        }))
    }

    /// Whether [`CollisionModel::check_motion`] finds nothing.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn is_motion_free(
        &self,
        from: &[f64],
        to: &[f64],
        world: &CollisionWorld,
        tolerance: f64,
        scratch: &mut CheckScratch,
    ) -> Result<bool, CheckError> {
        Ok(self.meeting_at(from, world, scratch)?.is_none()
            && self
                .meeting_after(from, to, world, tolerance, scratch)?
                .is_none())
    }

    /// The first segment of a list of configurations (joined by straight ways in joint space) on which
    /// something meets, as [`CollisionModel::check_motion`] finds it: what is left of a trajectory
    /// when obstacles change.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn check_path<Q: AsRef<[f64]>>(
        &self,
        configurations: &[Q],
        world: &CollisionWorld,
        tolerance: f64,
        scratch: &mut CheckScratch,
    ) -> Result<Option<PathContact>, CheckError> {
        let Some(start) = configurations.first() else {
            return Ok(None);
        };
        let mut found = self
            .meeting_at(start.as_ref(), world, scratch)?
            .map(|meeting| (0, 0.0, meeting));
        for (index, pair) in configurations.windows(2).enumerate() {
            let [from, to] = pair else { continue };
            if found.is_some() {
                break;
            }
            found = self
                .meeting_after(from.as_ref(), to.as_ref(), world, tolerance, scratch)?
                .map(|(fraction, meeting)| (index, fraction, meeting));
        }
        Ok(found.map(|(index, fraction, meeting)| PathContact {
            index,
            fraction,
            contact: self.contact(meeting, world),
        }))
    }

    fn meeting_at(
        &self,
        q: &[f64],
        world: &CollisionWorld,
        scratch: &mut CheckScratch,
    ) -> Result<Option<Meeting>, CheckError> {
        self.place(q, scratch)?;
        Ok(self.first_meeting(world, scratch))
    }

    /// A meeting on the way that is not at its start.
    fn meeting_after(
        &self,
        from: &[f64],
        to: &[f64],
        world: &CollisionWorld,
        tolerance: f64,
        scratch: &mut CheckScratch,
    ) -> Result<Option<(f64, Meeting)>, CheckError> {
        if let Some(meeting) = self.meeting_at(to, world, scratch)? {
            return Ok(Some((1.0, meeting)));
        }
        self.measure_into(from, to, scratch);
        let mut q = std::mem::take(&mut scratch.sweep.q);
        let mut open = std::mem::take(&mut scratch.sweep.open);
        let mut intervals = std::mem::take(&mut scratch.sweep.intervals);
        let found = self.search(
            (from, to),
            world,
            tolerance,
            scratch,
            (&mut q, &mut open, &mut intervals),
        );
        (scratch.sweep.q, scratch.sweep.open, scratch.sweep.intervals) = (q, open, intervals);
        found
    }

    /// Breadth first: what is in the way is found soonest by looking far and wide.
    fn search(
        &self,
        (from, to): (&[f64], &[f64]),
        world: &CollisionWorld,
        tolerance: f64,
        scratch: &mut CheckScratch,
        (q, open, intervals): (&mut Vec<f64>, &mut Vec<Meeting>, &mut Vec<Interval>),
    ) -> Result<Option<(f64, Meeting)>, CheckError> {
        open.clear();
        intervals.clear();
        intervals.push(Interval {
            start: 0.0,
            length: 1.0,
            first: 0,
            last: 0,
        });
        let mut next = 0;
        while let Some(&Interval {
            start,
            length,
            first,
            last,
        }) = intervals.get(next)
        {
            let half = 0.5 * length;
            let middle = start + half;
            q.clear();
            q.extend(from.iter().zip(to).map(|(a, b)| a + (b - a) * middle));
            self.place(q, scratch)?;
            let begin = open.len();
            if next == 0 {
                // Limits are a box: if both ends are inside, so is everything between.
                let inside = self.chain.within_limits(from) && self.chain.within_limits(to);
                self.all_near(half, !inside, world, scratch, open);
            }
            next += 1;
            // On the first interval, what was just found; else what the one before left open.
            let (first, last) = if next == 1 {
                (begin, open.len())
            } else {
                (first, last)
            };
            let begin = open.len();
            let mut longest = 0.0_f64;
            for at in first..last {
                let Some(&meeting) = open.get(at) else { break };
                let travel = self.approach(meeting, scratch) * half;
                if !self.meets_within(meeting, travel, true, world, scratch) {
                    continue;
                }
                if self.meets_within(meeting, 0.0, false, world, scratch) {
                    return Ok(Some((middle, meeting)));
                }
                open.push(meeting);
                longest = longest.max(travel);
            }
            // Never NaN; an interval that is not halved ends the search in any case.
            if longest > tolerance && length > SHORTEST {
                let last = open.len();
                for start in [start, middle] {
                    intervals.push(Interval {
                        start,
                        length: half,
                        first: begin,
                        last,
                    });
                }
            }
        }
        Ok(None)
    }

    /// Whether the two of a meeting come closer than the clearance and `more` \[m\]. A `rough` answer
    /// may be yes where they do not.
    fn meets_within(
        &self,
        meeting: Meeting,
        more: f64,
        rough: bool,
        world: &CollisionWorld,
        scratch: &mut CheckScratch,
    ) -> bool {
        // Where the way is long against the body, a closer look gains nothing.
        let rough = |body: usize| {
            rough
                && self
                    .bodies
                    .get(body)
                    .is_some_and(|body| more > body.thickness)
        };
        match meeting {
            Meeting::Ground { body } => world.ground.is_some_and(|ground| {
                let most = self.demanded(body, None, more, world, scratch);
                self.ground_within(body, ground, most, scratch)
            }),
            Meeting::Piece { body, piece } => {
                let obstacle = world.pieces.get(piece).map(|piece| piece.obstacle);
                let most = self.demanded(body, obstacle, more, world, scratch);
                if rough(body) {
                    self.piece_maybe_within(body, piece, world, most, scratch)
                } else {
                    self.piece_within(body, piece, world, most, scratch)
                }
            }
            Meeting::Pair { pair } => {
                let most = self.self_clearance + more;
                let outer = self.pairs.get(pair).map_or(0, |pair| pair.1);
                if rough(outer) {
                    self.pair_maybe_within(pair, most, scratch)
                } else {
                    self.pair_within(pair, most, scratch)
                }
            }
        }
    }

    /// How near \[m\] a body may not come to an obstacle (none: the ground), with `more` for the way that it
    /// may go; where it may go at all, nothing is known of a clearance that is eased.
    fn demanded(
        &self,
        body: usize,
        obstacle: Option<usize>,
        more: f64,
        world: &CollisionWorld,
        scratch: &CheckScratch,
    ) -> f64 {
        let carrier = self.bodies.get(body).map_or(0, |body| body.carrier);
        match scratch.frames.get(carrier) {
            Some(frame) if more <= 0.0 => {
                world.demanded(self.clearance, (carrier, frame), obstacle)
            }
            _ => self.clearance + more,
        }
    }

    /// Everything that spheres do not keep apart on a way of which the arm is in the middle.
    fn all_near(
        &self,
        half: f64,
        outside: bool,
        world: &CollisionWorld,
        scratch: &CheckScratch,
        open: &mut Vec<Meeting>,
    ) {
        for group in &self.groups {
            let Some(frame) = scratch.frames.get(group.carrier) else {
                continue;
            };
            if group.carrier == 0 {
                continue;
            }
            let travels = group.bodies.iter().map(|&b| self.travel(0, b, scratch));
            let travel = travels.fold(0.0, f64::max) * half;
            let centre = frame.point(group.centre);
            let reach = group.reach + self.clearance + travel;
            if world
                .ground
                .is_some_and(|ground| self.height(centre) - reach <= ground)
            {
                open.extend(group.bodies.iter().map(|&body| Meeting::Ground { body }));
            }
            world.blocks.touched(centre, reach, |piece| {
                open.extend(
                    group
                        .bodies
                        .iter()
                        .map(|&body| Meeting::Piece { body, piece }),
                );
                false
            });
        }
        for group in self.pair_groups_for(outside) {
            let travels = group
                .pairs
                .clone()
                .map(|pair| self.approach(Meeting::Pair { pair }, scratch));
            let travel = travels.fold(0.0, f64::max) * half;
            if self.groups_within(group, self.self_clearance + travel, scratch) {
                open.extend(group.pairs.clone().map(|pair| Meeting::Pair { pair }));
            }
        }
    }
}
