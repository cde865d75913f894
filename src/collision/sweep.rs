//! The arm between two configurations.
//!
//! One configuration answers for an interval around it if nothing can get closer than the
//! clearance within the interval; else the interval is halved \[Schwarzer2005\]. How far something
//! can move towards something else is bounded by its velocity in that direction and the most that
//! the velocity can change. Each part of the arm is followed only as long as it is not yet known to be free.
//! Intervals are looked at from long to short, so that a contact is found soon.

use parry3d_f64::math::{Pose, Vector};
use parry3d_f64::query::gjk::{closest_points, CsoPoint, GJKResult, VoronoiSimplex};

use super::arm::{CheckError, CheckScratch, CollisionModel, Contact, Obstacle};
use super::shape::{pose, Core};
use super::units::{Rates, Twist, Unit};
use super::world::CollisionWorld;
use crate::kinematics::{joint_frames, JointFrame, WrongSize};
use crate::model::Motion;

/// A contact on the way between two configurations.
#[derive(Debug, Clone, PartialEq)]
pub struct MotionContact {
    /// Where on the way, from 0 (start) to 1 (end).
    pub fraction: f64,
    /// What meets what there.
    pub contact: Contact,
}

/// What two things meet: a body, and a piece of the world or another body.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Met {
    Piece(usize, usize),
    Body(usize, usize),
}

/// Whether a motion is free.
#[derive(Debug, Clone, PartialEq)]
pub enum MotionVerdict {
    /// Proven: nothing comes closer than the clearances anywhere on the way.
    Free,
    /// Closer than a clearance at this place.
    Contact(MotionContact),
    /// Free at the places that were looked at, and so near to a contact here that it was not
    /// proven to be free in between.
    TooClose(MotionContact),
}

/// What came of one interval.
enum Outcome {
    /// The units and pairs that are not known to be free.
    Open(Parts),
    Contact(Met),
}

/// A set of units and pairs of units, one bit each; all beyond the last bit share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts {
    units: u64,
    pairs: u128,
}

impl Parts {
    const NONE: Self = Self { units: 0, pairs: 0 };

    fn unit(index: usize) -> u64 {
        1 << index.min(63)
    }

    fn pair(index: usize) -> u128 {
        1 << index.min(127)
    }
}

#[derive(Debug, Clone, Copy)]
struct Interval {
    middle: f64,
    half: f64,
    open: Parts,
}

/// Safety for what GJK and rounding leave \[m\].
const FUZZ: f64 = 1e-7;

/// Shortest half interval, as a fraction of the way.
const SHORTEST: f64 = 1e-9;

/// Checks configurations and motions of an arm among obstacles, with memory that is used again from call to
/// call. What it calls free is free of the same contacts that
/// [`CollisionModel::check`] finds.
pub struct MotionChecker<'a> {
    model: &'a CollisionModel,
    world: &'a CollisionWorld,
    frames: Vec<JointFrame>,
    /// The carriers' frames in the base frame and their velocities; the first one stands still.
    carriers: Vec<Pose>,
    twists: Vec<Twist>,
    rates: Rates,
    /// For each unit, and for each pair of units.
    bends: Vec<f64>,
    pair_bends: Vec<f64>,
    /// The units' spheres and balls in the base frame.
    centres: Vec<Vector>,
    balls: Vec<Vec<Vector>>,
    placed: Vec<bool>,
    near: Vec<usize>,
    queue: Vec<Interval>,
    q: Vec<f64>,
    simplex: VoronoiSimplex,
    /// Configurations looked at since it was made.
    pub(super) looked_at: u64,
}

impl<'a> MotionChecker<'a> {
    /// A checker of `model` in `world`.
    pub fn new(model: &'a CollisionModel, world: &'a CollisionWorld) -> Self {
        let units = &model.units.units;
        Self {
            model,
            world,
            frames: Vec::new(),
            carriers: Vec::new(),
            twists: Vec::new(),
            rates: Rates::default(),
            bends: Vec::new(),
            pair_bends: Vec::new(),
            centres: vec![Vector::ZERO; units.len()],
            balls: units
                .iter()
                .map(|unit| vec![Vector::ZERO; unit.balls.len()])
                .collect(),
            placed: vec![false; units.len()],
            near: Vec::new(),
            queue: Vec::new(),
            q: Vec::new(),
            simplex: VoronoiSimplex::new(),
            looked_at: 0,
        }
    }

    /// The number of configurations looked at since this was made.
    pub fn looked_at(&self) -> u64 {
        self.looked_at
    }

    fn check_input(&self, q: &[f64]) -> Result<(), CheckError> {
        let expected = self.model.chain.dof();
        if q.len() != expected {
            let got = q.len();
            return Err(WrongSize { expected, got }.into());
        }
        match q.iter().enumerate().find(|(_, value)| !value.is_finite()) {
            Some((joint, &value)) => Err(CheckError::NotFinite { joint, value }),
            None => Ok(()),
        }
    }

    /// The first contact found at `q` (one value a degree of freedom); `None` if the arm is free.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn configuration(&mut self, q: &[f64]) -> Result<Option<Contact>, CheckError> {
        Ok(self.at(q)?.map(|met| self.contact(met)))
    }

    /// Whether the arm is free at `q`.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn is_free(&mut self, q: &[f64]) -> Result<bool, CheckError> {
        Ok(self.at(q)?.is_none())
    }

    fn at(&mut self, q: &[f64]) -> Result<Option<Met>, CheckError> {
        self.check_input(q)?;
        self.rates.set(&self.model.chain, q, q);
        self.bends.clear();
        self.bends.resize(self.model.units.units.len(), 0.0);
        self.pair_bends.clear();
        self.pair_bends.resize(self.model.units.pairs.len(), 0.0);
        self.q.clear();
        self.q.extend_from_slice(q);
        let all = self.all();
        Ok(match self.look(0.0, all)? {
            Outcome::Contact(met) => Some(met),
            Outcome::Open(_) => None,
        })
    }

    /// Whether the straight way in joint space from `from` to `to` is free, both ends included.
    /// Closer to a contact than about `resolution` \[m\] (positive) it may not be proven.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn motion(
        &mut self,
        from: &[f64],
        to: &[f64],
        resolution: f64,
    ) -> Result<MotionVerdict, CheckError> {
        let mut too_close = None;
        let contact = self.run(from, to, resolution, |at| {
            too_close = Some(at);
            true
        })?;
        let named = |this: &Self, (fraction, met)| MotionContact {
            fraction,
            contact: this.contact(met),
        };
        Ok(match (contact, too_close) {
            (Some(at), _) => MotionVerdict::Contact(named(self, at)),
            (None, Some(at)) => MotionVerdict::TooClose(named(self, at)),
            (None, None) => MotionVerdict::Free,
        })
    }

    /// Whether [`MotionChecker::motion`] is [`MotionVerdict::Free`].
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn motion_is_free(
        &mut self,
        from: &[f64],
        to: &[f64],
        resolution: f64,
    ) -> Result<bool, CheckError> {
        let mut too_close = false;
        let contact = self.run(from, to, resolution, |_| {
            too_close = true;
            true
        })?;
        Ok(contact.is_none() && !too_close)
    }

    /// Looks at the way until a contact is found, or `too_close` (called with where something is not
    /// proven at the resolution) says that this is enough.
    fn run(
        &mut self,
        from: &[f64],
        to: &[f64],
        resolution: f64,
        mut too_close: impl FnMut((f64, Met)) -> bool,
    ) -> Result<Option<(f64, Met)>, CheckError> {
        self.check_input(from)?;
        self.check_input(to)?;
        let model = self.model;
        self.rates.set(&model.chain, from, to);
        self.bends.clear();
        for unit in &model.units.units {
            self.bends.push(self.rates.bend(&model.chain, unit, 0));
        }
        self.pair_bends.clear();
        for pair in &model.units.pairs {
            let (Some(inner), Some(outer)) = (
                model.units.units.get(pair.inner),
                model.units.units.get(pair.outer),
            ) else {
                self.pair_bends.push(0.0);
                continue;
            };
            let bend = self.rates.bend(&model.chain, outer, inner.carrier);
            self.pair_bends.push(bend);
        }
        self.q.clear();
        self.q.extend_from_slice(from);
        let open = self.all();
        self.queue.clear();
        // The end, at which many ways meet something.
        self.queue.push(Interval {
            middle: 1.0,
            half: 0.0,
            open,
        });
        self.queue.push(Interval {
            middle: 0.5,
            half: 0.5,
            open,
        });
        let mut next = 0;
        while let Some(&Interval { middle, half, open }) = self.queue.get(next) {
            next += 1;
            for (value, (a, b)) in self.q.iter_mut().zip(from.iter().zip(to)) {
                *value = a + (b - a) * middle;
            }
            let open = match self.look(half, open)? {
                Outcome::Contact(met) => return Ok(Some((middle, met))),
                Outcome::Open(open) => open,
            };
            if open == Parts::NONE || half == 0.0 {
                continue;
            }
            if half <= SHORTEST || self.moves_less(half, open, resolution) {
                if too_close((middle, self.first_open(open))) {
                    return Ok(None);
                }
                continue;
            }
            let half = 0.5 * half;
            for middle in [middle - half, middle + half] {
                self.queue.push(Interval { middle, half, open });
            }
        }
        Ok(None)
    }

    fn all(&self) -> Parts {
        let units = self.model.units.units.iter().enumerate();
        Parts {
            units: units
                .filter(|(_, unit)| unit.carrier > 0)
                .fold(0, |bits, (index, _)| bits | Parts::unit(index)),
            pairs: (0..self.model.units.pairs.len())
                .fold(0, |bits, index| bits | Parts::pair(index)),
        }
    }

    /// Whether nothing that is open can move farther than `resolution` in `half` of the interval.
    fn moves_less(&self, half: f64, open: Parts, resolution: f64) -> bool {
        let units = &self.model.units;
        let bound = |index: usize, twist: Twist, bend: f64| {
            let (Some(unit), Some(&centre)) = (units.units.get(index), self.centres.get(index))
            else {
                return 0.0;
            };
            let speed = twist.at(centre).length() + twist.angular.length() * unit.reach;
            half * speed + 0.5 * half * half * bend
        };
        let each = units.units.iter().enumerate().zip(&self.bends);
        let slow = each
            .filter(|((index, unit), _)| unit.carrier > 0 && open.units & Parts::unit(*index) != 0)
            .all(|((index, unit), &bend)| {
                bound(index, self.twist(unit.carrier), bend) <= resolution
            });
        let each = units.pairs.iter().enumerate().zip(&self.pair_bends);
        slow && each
            .filter(|((index, _), _)| open.pairs & Parts::pair(*index) != 0)
            .all(|((_, pair), &bend)| {
                bound(pair.outer, self.relative(pair.inner, pair.outer), bend) <= resolution
            })
    }

    fn first_open(&self, open: Parts) -> Met {
        let units = &self.model.units;
        let body = |unit: usize, member: usize| {
            let unit = units.units.get(unit);
            unit.and_then(|unit| unit.members.get(member))
                .map_or(usize::MAX, |member| member.body)
        };
        let unit = (0..units.units.len()).find(|&index| open.units & Parts::unit(index) != 0);
        let pair = (0..units.pairs.len()).find(|&index| open.pairs & Parts::pair(index) != 0);
        match (unit, pair.and_then(|pair| units.pairs.get(pair))) {
            (None, Some(pair)) => {
                let (i, j) = pair.members.first().copied().unwrap_or((0, 0));
                Met::Body(body(pair.inner, i), body(pair.outer, j))
            }
            // Which piece is nearest was not kept.
            (unit, _) => Met::Piece(body(unit.unwrap_or(0), 0), usize::MAX),
        }
    }

    fn contact(&self, met: Met) -> Contact {
        let link = |body: usize| {
            let body = self.model.bodies.get(body);
            body.and_then(|body| self.model.names.get(body.link))
                .cloned()
                .unwrap_or_default()
        };
        match met {
            Met::Piece(body, piece) => {
                let piece = self.world.pieces.get(piece);
                let id = piece.and_then(|piece| self.world.ids().get(piece.obstacle));
                Contact {
                    link: link(body),
                    with: Obstacle::Obstacle(id.cloned().unwrap_or_default()),
                }
            }
            Met::Body(one, two) => Contact {
                link: link(one),
                with: Obstacle::Link(link(two)),
            },
        }
    }

    /// Frames and velocities at `self.q`.
    fn place(&mut self) -> Result<(), CheckError> {
        self.looked_at += 1;
        joint_frames(&self.model.chain, &self.q, &mut self.frames)?;
        self.carriers.clear();
        self.carriers.push(Pose::identity());
        self.twists.clear();
        self.twists.push(Twist::ZERO);
        let mut twist = Twist::ZERO;
        let joints = self.model.chain.joints.iter().zip(&self.rates.rates);
        for (frame, (joint, &rate)) in self.frames.iter().zip(joints) {
            self.carriers.push(pose(&frame.pose));
            let axis = Vector::new(frame.axis.x, frame.axis.y, frame.axis.z) * rate;
            match joint.motion {
                Motion::Rotation => {
                    let origin = Vector::new(frame.origin.x, frame.origin.y, frame.origin.z);
                    twist.angular += axis;
                    twist.linear += origin.cross(axis);
                }
                Motion::Translation => twist.linear += axis,
            }
            self.twists.push(twist);
        }
        for (unit, (centre, placed)) in self
            .model
            .units
            .units
            .iter()
            .zip(self.centres.iter_mut().zip(&mut self.placed))
        {
            *placed = false;
            if let Some(carrier) = self.carriers.get(unit.carrier) {
                *centre = carrier.transform_point(unit.centre);
            }
        }
        Ok(())
    }

    fn twist(&self, carrier: usize) -> Twist {
        self.twists.get(carrier).copied().unwrap_or(Twist::ZERO)
    }

    /// Of a unit seen from another one.
    fn relative(&self, inner: usize, outer: usize) -> Twist {
        let carrier = |unit: usize| {
            let unit = self.model.units.units.get(unit);
            unit.map_or(0, |unit| unit.carrier)
        };
        self.twist(carrier(outer))
            .minus(&self.twist(carrier(inner)))
    }

    /// Moves the balls of a unit to where they are.
    fn place_balls(&mut self, index: usize) {
        let (Some(placed), Some(unit)) = (
            self.placed.get_mut(index),
            self.model.units.units.get(index),
        ) else {
            return;
        };
        if std::mem::replace(placed, true) {
            return;
        }
        if let (Some(carrier), Some(balls)) =
            (self.carriers.get(unit.carrier), self.balls.get_mut(index))
        {
            for (centre, ball) in balls.iter_mut().zip(&unit.balls) {
                *centre = carrier.transform_point(ball.centre);
            }
        }
    }

    /// Looks at `self.q` for an interval that reaches as far as `half` of the way to both sides.
    fn look(&mut self, half: f64, open: Parts) -> Result<Outcome, CheckError> {
        self.place()?;
        let model = self.model;
        let mut rest = Parts::NONE;
        for (index, unit) in model.units.units.iter().enumerate() {
            let bit = Parts::unit(index);
            if unit.carrier == 0 || open.units & bit == 0 {
                continue;
            }
            match self.unit(index, unit, half) {
                Ok(true) => {}
                Ok(false) => rest.units |= bit,
                Err(met) => return Ok(Outcome::Contact(met)),
            }
        }
        for index in 0..model.units.pairs.len() {
            let bit = Parts::pair(index);
            if open.pairs & bit == 0 {
                continue;
            }
            match self.pair(index, half) {
                Ok(true) => {}
                Ok(false) => rest.pairs |= bit,
                Err(met) => return Ok(Outcome::Contact(met)),
            }
        }
        Ok(Outcome::Open(rest))
    }

    /// Whether a unit is free of obstacles in the whole interval, or what it meets at its middle.
    fn unit(&mut self, index: usize, unit: &Unit, half: f64) -> Result<bool, Met> {
        let clearance = self.model.clearance + FUZZ;
        let bend = self.bends.get(index).copied().unwrap_or(0.0);
        let second = 0.5 * half * half * bend;
        let twist = self.twist(unit.carrier);
        let Some(&centre) = self.centres.get(index) else {
            return Ok(true);
        };
        let travel = half * twist.at(centre).length() + second;
        let mut near = std::mem::take(&mut self.near);
        near.clear();
        self.world
            .boxes
            .within(centre, unit.reach + clearance + travel, |piece| {
                near.push(piece);
            });
        let mut free = true;
        let mut met = None;
        if !near.is_empty() {
            self.place_balls(index);
        }
        'pieces: for &piece in &near {
            for member in &unit.members {
                let limits = Limits {
                    clearance,
                    half,
                    second,
                    twist,
                };
                match self.member(index, unit, member, piece, &limits, free) {
                    Ok(true) => {}
                    Ok(false) => free = false,
                    Err(contact) => {
                        met = Some(contact);
                        break 'pieces;
                    }
                }
            }
        }
        self.near = near;
        met.map_or(Ok(free), Err)
    }

    /// The same for one body and one piece of the world. Where it is known that the interval will
    /// be halved (`prove` is false), only a contact is of interest.
    fn member(
        &mut self,
        index: usize,
        unit: &Unit,
        member: &super::units::Member,
        piece: usize,
        limits: &Limits,
        prove: bool,
    ) -> Result<bool, Met> {
        let (Some(footprint), Some(centres)) =
            (self.world.footprints.get(piece), self.balls.get(index))
        else {
            return Ok(true);
        };
        let mut proven = true;
        let mut perhaps = false;
        let mut largest = 0.0_f64;
        let balls = unit.balls.iter().zip(centres);
        for (ball, &centre) in balls.skip(member.balls.start).take(member.balls.len()) {
            let offset = footprint.offset(centre);
            let square = offset.length_squared();
            let gap = square.sqrt();
            if gap <= limits.clearance && ball.inside {
                return Err(Met::Piece(member.body, piece));
            }
            let room = gap - ball.radius - limits.clearance;
            perhaps |= room <= 0.0;
            if proven && (room <= 0.0 || room <= limits.towards(centre, offset / gap)) {
                proven = false;
                largest = largest.max(ball.radius);
            }
        }
        if proven {
            return Ok(true);
        }
        let (Some(body), Some(world_piece)) = (
            self.model.bodies.get(member.body),
            self.world.pieces.get(piece),
        ) else {
            return Ok(true);
        };
        let Some(carrier) = self.carriers.get(unit.carrier) else {
            return Ok(true);
        };
        let centre = carrier.transform_point(body.centre);
        let travel = limits.most(centre, body.reach);
        // An exact distance is worth its time where it can decide.
        if !perhaps && !(prove && travel <= largest) {
            return Ok(false);
        }
        let most = limits.clearance + if prove { travel } else { 0.0 };
        let placed = *carrier * body.local;
        let towards = centre - 0.5 * (world_piece.low + world_piece.high);
        let found = separation(
            &world_piece.core,
            &body.core,
            &placed,
            towards,
            most + body.radius,
            &mut self.simplex,
        );
        match found {
            Separation::Far => Ok(prove),
            Separation::Touching => Err(Met::Piece(member.body, piece)),
            Separation::Near(offset) => {
                let gap = offset.length();
                let room = gap - body.radius - limits.clearance;
                if room <= 0.0 {
                    return Err(Met::Piece(member.body, piece));
                }
                let travel = limits.body_towards(centre, body.reach, offset / gap);
                Ok(prove && room > travel)
            }
        }
    }

    /// Whether two units keep their distance in the whole interval, or which bodies meet.
    fn pair(&mut self, index: usize, half: f64) -> Result<bool, Met> {
        let model = self.model;
        let Some(pair) = model.units.pairs.get(index) else {
            return Ok(true);
        };
        let (Some(inner), Some(outer)) = (
            model.units.units.get(pair.inner),
            model.units.units.get(pair.outer),
        ) else {
            return Ok(true);
        };
        let bend = self.pair_bends.get(index).copied().unwrap_or(0.0);
        let limits = Limits {
            clearance: model.self_clearance + FUZZ,
            half,
            second: 0.5 * half * half * bend,
            twist: self.relative(pair.inner, pair.outer),
        };
        let (Some(&one), Some(&two)) = (self.centres.get(pair.inner), self.centres.get(pair.outer))
        else {
            return Ok(true);
        };
        if limits.apart(one, inner.reach, two, outer.reach) {
            return Ok(true);
        }
        self.place_balls(pair.inner);
        self.place_balls(pair.outer);
        let mut free = true;
        for &(i, j) in &pair.members {
            let (Some(first), Some(second)) = (inner.members.get(i), outer.members.get(j)) else {
                continue;
            };
            let (Some(a), Some(b)) = (model.bodies.get(first.body), model.bodies.get(second.body))
            else {
                continue;
            };
            let (Some(&from), Some(&to)) = (
                self.carriers.get(inner.carrier),
                self.carriers.get(outer.carrier),
            ) else {
                continue;
            };
            let (one, two) = (from.transform_point(a.centre), to.transform_point(b.centre));
            if limits.apart(one, a.reach, two, b.reach) {
                continue;
            }
            let (Some(near), Some(far)) = (self.balls.get(pair.inner), self.balls.get(pair.outer))
            else {
                continue;
            };
            let mut proven = true;
            let mut perhaps = false;
            let mut largest = 0.0_f64;
            for k in first.balls.clone() {
                for l in second.balls.clone() {
                    let (Some(x), Some(y)) = (inner.balls.get(k), outer.balls.get(l)) else {
                        continue;
                    };
                    let (Some(&p), Some(&q)) = (near.get(k), far.get(l)) else {
                        continue;
                    };
                    if !limits.apart(p, x.radius, q, y.radius) {
                        proven = false;
                        largest = largest.max(x.radius + y.radius);
                        let touch = x.radius + y.radius + limits.clearance;
                        perhaps |= (q - p).length_squared() <= touch * touch;
                    }
                }
            }
            if proven {
                continue;
            }
            let travel = limits.most(two, b.reach);
            if !perhaps && !(free && travel <= largest) {
                free = false;
                continue;
            }
            let (one_pose, two_pose) = (from * a.local, to * b.local);
            let most = limits.clearance + if free { travel } else { 0.0 };
            let radii = a.radius + b.radius;
            let found = separation(
                &a.core,
                &b.core,
                &one_pose.inv_mul(&two_pose),
                one_pose.inverse_transform_vector(two - one),
                most + radii,
                &mut self.simplex,
            );
            match found {
                Separation::Far => {}
                Separation::Touching => return Err(Met::Body(first.body, second.body)),
                Separation::Near(offset) => {
                    let gap = offset.length();
                    let room = gap - radii - limits.clearance;
                    if room <= 0.0 {
                        return Err(Met::Body(first.body, second.body));
                    }
                    let normal = one_pose.transform_vector(offset / gap);
                    free &= room > limits.body_towards(two, b.reach, normal);
                }
            }
        }
        Ok(free)
    }
}

/// What moves how in an interval.
struct Limits {
    clearance: f64,
    half: f64,
    /// The most that second derivatives contribute \[m\].
    second: f64,
    twist: Twist,
}

impl Limits {
    /// The farthest that the point moves along `normal`, which may be NaN and then is any.
    fn towards(&self, point: Vector, normal: Vector) -> f64 {
        self.half * self.twist.at(point).dot(normal).abs() + self.second
    }

    /// The farthest that a point within `reach` of `centre` moves.
    fn most(&self, centre: Vector, reach: f64) -> f64 {
        let speed = self.twist.at(centre).length() + self.twist.angular.length() * reach;
        self.half * speed + self.second
    }

    /// The farthest that a point within `reach` of `centre` moves along `normal`.
    fn body_towards(&self, centre: Vector, reach: f64, normal: Vector) -> f64 {
        let turn = self.twist.angular.cross(normal).length();
        let speed = self.twist.at(centre).dot(normal).abs() + turn * reach;
        self.half * speed + self.second
    }

    /// Whether two balls stay apart, the second one moving against the first.
    fn apart(&self, one: Vector, first: f64, two: Vector, second: f64) -> bool {
        let offset = two - one;
        let gap = offset.length();
        let room = gap - first - second - self.clearance;
        room > 0.0 && room > self.towards(two, offset / gap)
    }
}

enum Separation {
    /// Farther than asked for.
    Far,
    Touching,
    /// From the nearest point of the first to that of the second, in the first one's frame \[m\].
    Near(Vector),
}

fn separation(
    first: &Core,
    second: &Core,
    pose: &Pose,
    towards: Vector,
    most: f64,
    simplex: &mut VoronoiSimplex,
) -> Separation {
    let direction = towards.try_normalize().unwrap_or(Vector::X);
    simplex.reset(CsoPoint::from_shapes(pose, first, second, direction));
    match closest_points(pose, first, second, most, true, simplex) {
        GJKResult::Intersection | GJKResult::Proximity(_) => Separation::Touching,
        GJKResult::ClosestPoints(one, two, _) => Separation::Near(two - one),
        GJKResult::NoIntersection(_) => Separation::Far,
    }
}

impl CollisionModel {
    /// The first contact found on the straight way in joint space from `from` to `to`, both ends
    /// included; `None` if no two shapes come closer than the clearances less `tolerance` \[m\]
    /// (must be positive) anywhere on it. [`MotionChecker`] keeps its memory from call to call.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn check_motion(
        &self,
        from: &[f64],
        to: &[f64],
        world: &CollisionWorld,
        tolerance: f64,
        _scratch: &mut CheckScratch,
    ) -> Result<Option<MotionContact>, CheckError> {
        let mut checker = MotionChecker::new(self, world);
        let contact = checker.run(from, to, tolerance, |_| false)?;
        Ok(contact.map(|(fraction, met)| MotionContact {
            fraction,
            contact: checker.contact(met),
        }))
    }
}
