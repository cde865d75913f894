//! Proofs that the arm is free between two configurations.
//!
//! One configuration answers for an interval around it if nothing can get closer than the
//! clearance within the interval; else the interval is halved \[Schwarzer2005\]. How far something
//! can move towards something else is bounded by its velocity in that direction and the most that
//! the velocity can change. Each part of the arm is followed only as long as it is not yet known to
//! be free, and intervals are looked at from long to short, so that a contact is found soon.

use parry3d_f64::math::Vector;

use super::arm::{CheckError, CollisionModel, Contact, Group, Meeting, PairGroup};
use super::frames::Frame;
use super::near::{apart, Apart};
use super::sweep::MotionContact;
use super::travel::{Rates, Travel, Twist};
use super::world::CollisionWorld;
use crate::kinematics::WrongSize;

/// Whether a motion is free.
#[derive(Debug, Clone, PartialEq)]
pub enum MotionVerdict {
    /// Proven: nothing comes closer than the clearances anywhere on the way.
    Free,
    /// Closer than a clearance at this place.
    Contact(MotionContact),
    /// Free at the places that were looked at, but so close to a contact that it could not be proven
    /// to be free in an interval around this fraction of the way.
    TooClose(f64),
}

/// A set of groups and pairs of groups, one bit each; all beyond the last bit share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts {
    groups: u64,
    pairs: u128,
}

impl Parts {
    const NONE: Self = Self {
        groups: 0,
        pairs: 0,
    };

    fn group(index: usize) -> u64 {
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

/// What must be kept in the middle of an interval \[m\], and by how much that may rise within it.
#[derive(Debug, Clone, Copy)]
struct Demand {
    clearance: f64,
    rise: f64,
}

/// What [`MotionChecker::run`] found.
enum Found {
    Nothing,
    Meeting(f64, Meeting),
    TooClose(f64),
}

/// Kept between shapes for what rounding leaves \[m\].
const ROUNDING: f64 = 1e-8;

/// Where a group moves farther in an interval than this many times its largest ball, the interval is
/// halved without an attempt to prove it free.
const HOPE: f64 = 3.0;

/// Shortest half interval, as a fraction of the way.
const SHORTEST: f64 = 1e-9;

/// Checks configurations and motions of an arm among obstacles, with memory that is used again from
/// call to call. What it calls free has none of the contacts that [`CollisionModel::check`] finds.
pub struct MotionChecker<'a> {
    model: &'a CollisionModel,
    world: &'a CollisionWorld,
    frames: Vec<Frame>,
    twists: Vec<Twist>,
    rates: Rates,
    /// Bounds of second derivatives, for each group and for each pair of groups.
    bends: Vec<f64>,
    pair_bends: Vec<f64>,
    /// The balls' centres in the base frame, and for each body whether they are up to date.
    centres: Vec<Vector>,
    placed: Vec<bool>,
    near: Vec<usize>,
    queue: Vec<Interval>,
    q: Vec<f64>,
    /// Whether what is looked at may lie beyond the joint limits, where more pairs can meet.
    outside: bool,
    looked_at: u64,
}

impl<'a> MotionChecker<'a> {
    /// A checker of `model` in `world`.
    pub fn new(model: &'a CollisionModel, world: &'a CollisionWorld) -> Self {
        Self {
            model,
            world,
            frames: Vec::new(),
            twists: Vec::new(),
            rates: Rates::default(),
            bends: Vec::new(),
            pair_bends: Vec::new(),
            centres: vec![Vector::ZERO; model.covers.balls.len()],
            placed: vec![false; model.bodies.len()],
            near: Vec::new(),
            queue: Vec::new(),
            q: Vec::new(),
            outside: false,
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
        let found = self.meeting_at(q)?;
        Ok(found.map(|meeting| self.model.contact(meeting, self.world)))
    }

    /// Whether the arm is free at `q`.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn is_free(&mut self, q: &[f64]) -> Result<bool, CheckError> {
        Ok(self.meeting_at(q)?.is_none())
    }

    fn meeting_at(&mut self, q: &[f64]) -> Result<Option<Meeting>, CheckError> {
        self.check_input(q)?;
        self.rates.set(&self.model.chain, q, q);
        self.q.clear();
        self.q.extend_from_slice(q);
        self.outside = !self.model.chain.within_limits(q);
        let all = self.all();
        Ok(self.look(0.0, all).err())
    }

    /// Whether the straight way in joint space from `from` to `to` is free, both ends included.
    /// Where something that is not proven to be free moves less than `resolution` \[m\] (positive), the search
    /// ends: so close to a contact, a free motion may be refused.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn motion(
        &mut self,
        from: &[f64],
        to: &[f64],
        resolution: f64,
    ) -> Result<MotionVerdict, CheckError> {
        Ok(match self.run(from, to, resolution)? {
            Found::Nothing => MotionVerdict::Free,
            Found::TooClose(fraction) => MotionVerdict::TooClose(fraction),
            Found::Meeting(fraction, meeting) => MotionVerdict::Contact(MotionContact {
                fraction,
                contact: self.model.contact(meeting, self.world),
            }),
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
        Ok(matches!(self.run(from, to, resolution)?, Found::Nothing))
    }

    fn run(&mut self, from: &[f64], to: &[f64], resolution: f64) -> Result<Found, CheckError> {
        self.check_input(from)?;
        self.check_input(to)?;
        // The limits are a box: a way lies inside of them when both its ends do.
        let chain = &self.model.chain;
        self.outside = !(chain.within_limits(from) && chain.within_limits(to));
        let open = self.all();
        // The end first, at which many ways meet something.
        self.q.clear();
        self.q.extend_from_slice(to);
        self.rates.set(&self.model.chain, to, to);
        if let Err(meeting) = self.look(0.0, open) {
            return Ok(Found::Meeting(1.0, meeting));
        }
        self.measure(from, to);
        self.queue.clear();
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
            let open = match self.look(half, open) {
                Err(meeting) => return Ok(Found::Meeting(middle, meeting)),
                Ok(open) => open,
            };
            if open == Parts::NONE {
                continue;
            }
            if half <= SHORTEST || self.moves_less(half, open, resolution) {
                return Ok(Found::TooClose(middle));
            }
            let half = 0.5 * half;
            for middle in [middle - half, middle + half] {
                self.queue.push(Interval { middle, half, open });
            }
        }
        Ok(Found::Nothing)
    }

    /// Rates and bounds of the way.
    fn measure(&mut self, from: &[f64], to: &[f64]) {
        let model = self.model;
        self.rates.set(&model.chain, from, to);
        let bend = |group: usize, inner: usize| {
            let far = model.covers.far.get(group).map_or(&[][..], |far| far);
            self.rates.bend(&model.chain, far, inner)
        };
        self.bends.clear();
        let groups = 0..model.groups.len();
        self.bends.extend(groups.map(|group| bend(group, 0)));
        self.pair_bends.clear();
        let pairs = model.pair_groups_for(self.outside);
        self.pair_bends.extend(pairs.map(|pair| {
            let [inner, outer] = pair.groups;
            bend(outer, model.groups.get(inner).map_or(0, |g| g.carrier))
        }));
    }

    fn all(&self) -> Parts {
        let groups = self.model.groups.iter().enumerate();
        Parts {
            groups: groups
                .filter(|(_, group)| group.carrier > 0)
                .fold(0, |bits, (index, _)| bits | Parts::group(index)),
            pairs: (0..self.pair_count()).fold(0, |bits, index| bits | Parts::pair(index)),
        }
    }

    fn pair_count(&self) -> usize {
        self.model.pair_groups_for(self.outside).count()
    }

    fn frame(&self, carrier: usize) -> Frame {
        self.frames.get(carrier).copied().unwrap_or(Frame::IDENTITY)
    }

    fn travel(&self, index: usize, group: &Group, half: f64) -> Travel {
        let bend = self.bends.get(index).copied().unwrap_or(0.0);
        let twist = self.twists.get(group.carrier);
        Travel::new(half, bend, twist.copied().unwrap_or(Twist::ZERO))
    }

    /// Of the outer group of a pair, seen from the inner one.
    fn pair_travel(&self, index: usize, inner: &Group, outer: &Group, half: f64) -> Travel {
        let bend = self.pair_bends.get(index).copied().unwrap_or(0.0);
        let twist = |group: &Group| {
            let twist = self.twists.get(group.carrier);
            twist.copied().unwrap_or(Twist::ZERO)
        };
        Travel::new(half, bend, twist(outer).seen_from(&twist(inner)))
    }

    /// Whether nothing that is open moves farther than `resolution` in half an interval.
    fn moves_less(&self, half: f64, open: Parts, resolution: f64) -> bool {
        let model = self.model;
        let least = |group: &Group, travel: Travel| {
            let centre = self.frame(group.carrier).point(group.centre);
            travel.body(centre, group.reach) <= resolution
        };
        let groups = model.groups.iter().enumerate();
        let pairs = model.pair_groups_for(self.outside).enumerate();
        groups
            .filter(|(index, group)| group.carrier > 0 && open.groups & Parts::group(*index) != 0)
            .all(|(index, group)| least(group, self.travel(index, group, half)))
            && pairs
                .filter(|(index, _)| open.pairs & Parts::pair(*index) != 0)
                .all(|(index, pair)| {
                    let [inner, outer] = pair.groups.map(|group| model.groups.get(group));
                    let (Some(inner), Some(outer)) = (inner, outer) else {
                        return true;
                    };
                    least(outer, self.pair_travel(index, inner, outer, half))
                })
    }

    /// Looks at `self.q` for an interval that reaches as far as `half` of the way to both sides: what
    /// of `open` is not known to be free in it.
    fn look(&mut self, half: f64, open: Parts) -> Result<Parts, Meeting> {
        self.looked_at += 1;
        let model = self.model;
        model.steps.place(&self.q, &mut self.frames);
        self.rates
            .twists(&model.chain, &self.frames, &mut self.twists);
        self.placed.fill(false);
        let mut rest = Parts::NONE;
        for (index, group) in model.groups.iter().enumerate() {
            let bit = Parts::group(index);
            if group.carrier > 0 && open.groups & bit != 0 && !self.group(index, group, half)? {
                rest.groups |= bit;
            }
        }
        for (index, pair) in model.pair_groups_for(self.outside).enumerate() {
            let bit = Parts::pair(index);
            if open.pairs & bit != 0 && !self.pair(index, pair, half)? {
                rest.pairs |= bit;
            }
        }
        Ok(rest)
    }

    /// Moves the balls of a body to where they are.
    fn place_balls(&mut self, body: usize, frame: &Frame) {
        let covers = &self.model.covers;
        let (Some(placed), Some(range)) = (self.placed.get_mut(body), covers.ranges.get(body))
        else {
            return;
        };
        if std::mem::replace(placed, true) {
            return;
        }
        let centres = self.centres.get_mut(range.clone());
        let balls = covers.balls.get(range.clone());
        if let (Some(centres), Some(balls)) = (centres, balls) {
            for (centre, ball) in centres.iter_mut().zip(balls) {
                *centre = frame.point(ball.centre);
            }
        }
    }

    /// Whether a group is free of obstacles in the whole interval, or what it meets at its middle.
    fn group(&mut self, index: usize, group: &Group, half: f64) -> Result<bool, Meeting> {
        let clearance = self.model.clearance + ROUNDING;
        let travel = self.travel(index, group, half);
        let frame = self.frame(group.carrier);
        let centre = frame.point(group.centre);
        let most = travel.point(centre);
        let mut free = self.above_ground(group, &frame, &travel)?;
        let contact = group.reach + clearance;
        // Where everything moves far, nothing can be proven: only contacts are looked for.
        let largest = self.model.covers.largest.get(index);
        let hopeful = most <= HOPE * largest.copied().unwrap_or(0.0);
        let mut near = std::mem::take(&mut self.near);
        near.clear();
        let mut collect = |radius: f64| {
            self.world.blocks.touched(centre, radius, |piece| {
                near.push(piece);
                false
            })
        };
        if hopeful {
            collect(contact + most);
        } else {
            collect(contact);
            let blocks = &self.world.blocks;
            free &= near.is_empty() && !blocks.touched(centre, contact + most, |_| true);
        }
        let mut met = None;
        'bodies: for &body in group.bodies.iter().filter(|_| !near.is_empty()) {
            self.place_balls(body, &frame);
            for &piece in &near {
                let demand = self.demand(group, Some(piece), &frame, &travel);
                match self.body(body, piece, &frame, &travel, demand, free) {
                    Ok(true) => {}
                    Ok(false) => free = false,
                    Err(meeting) => {
                        met = Some(meeting);
                        break 'bodies;
                    }
                }
            }
        }
        self.near = near;
        met.map_or(Ok(free), Err)
    }

    /// What a group is to keep from the obstacle of a piece, or from the ground, in the middle of the
    /// interval.
    #[inline]
    fn demand(
        &self,
        group: &Group,
        piece: Option<usize>,
        frame: &Frame,
        travel: &Travel,
    ) -> Demand {
        let full = self.model.clearance;
        if !self.world.eases_any() {
            return Demand {
                clearance: full + ROUNDING,
                rise: 0.0,
            };
        }
        let pieces = &self.world.pieces;
        let obstacle = piece.and_then(|piece| pieces.get(piece).map(|piece| piece.obstacle));
        let demanded = self.world.demanded(full, (group.carrier, frame), obstacle);
        let way = travel.point(frame.point(group.centre));
        Demand {
            clearance: demanded + ROUNDING,
            rise: CollisionWorld::rise(full, demanded, way),
        }
    }

    /// The same for the ground.
    fn above_ground(&self, group: &Group, frame: &Frame, travel: &Travel) -> Result<bool, Meeting> {
        let Some(ground) = self.world.ground else {
            return Ok(true);
        };
        let Demand { clearance, rise } = self.demand(group, None, frame, travel);
        let floor = ground + clearance;
        let centre = frame.point(group.centre);
        let up = self.model.up;
        let height = self.model.height(centre);
        if height - group.reach - floor > rise + travel.point_along(centre, up) {
            return Ok(true);
        }
        let mut free = true;
        for &index in &group.bodies {
            let Some(body) = self.model.bodies.get(index) else {
                continue;
            };
            let lowest = frame.point(body.core.support(frame.inward(-up)));
            let lowest = self.model.height(lowest) - body.radius;
            if lowest <= floor {
                return Err(Meeting::Ground { body: index });
            }
            let centre = frame.point(body.centre);
            free &= lowest - floor > rise + travel.body_along(centre, body.reach, up);
        }
        Ok(free)
    }

    /// The same for one body and one piece of the world. Where it is known that the interval will
    /// be halved (`prove` is false), only a contact is of interest.
    fn body(
        &mut self,
        index: usize,
        piece_index: usize,
        frame: &Frame,
        travel: &Travel,
        Demand { clearance, rise }: Demand,
        prove: bool,
    ) -> Result<bool, Meeting> {
        let covers = &self.model.covers;
        let meeting = Meeting::Piece {
            body: index,
            piece: piece_index,
        };
        let (Some(body), Some(piece), Some(range)) = (
            self.model.bodies.get(index),
            self.world.pieces.get(piece_index),
            covers.ranges.get(index),
        ) else {
            return Ok(true);
        };
        let mut proven = prove;
        let mut perhaps = false;
        let mut largest = 0.0_f64;
        let balls = covers.balls.get(range.clone()).unwrap_or(&[]);
        let centres = self.centres.get(range.clone()).unwrap_or(&[]);
        let mut deepest = (f64::INFINITY, Vector::ZERO);
        for (ball, &centre) in balls.iter().zip(centres) {
            let nearest = centre.max(piece.low).min(piece.high);
            let touch = ball.radius + clearance;
            let wanted = if proven {
                touch + rise + travel.point(centre)
            } else {
                touch
            };
            if (centre - nearest).length_squared() > wanted * wanted {
                continue;
            }
            let offset = piece.footprint.offset(centre);
            let gap = offset.length();
            if gap <= clearance && ball.inside {
                return Err(meeting);
            }
            let room = gap - touch;
            if room < deepest.0 {
                deepest = (room, offset);
            }
            perhaps |= room <= 0.0;
            if proven && (room <= 0.0 || room <= rise + travel.point_along(centre, offset / gap)) {
                proven = false;
                largest = largest.max(ball.radius);
            }
        }
        if proven {
            return Ok(true);
        }
        let centre = frame.point(body.centre);
        // An exact distance is worth its time where it can decide.
        let prove = prove && travel.body(centre, body.reach) <= HOPE * largest;
        if !perhaps && !prove {
            return Ok(false);
        }
        let towards = (-deepest.1).try_normalize().unwrap_or_else(|| {
            let middle = 0.5 * (piece.low + piece.high);
            (middle - centre).try_normalize().unwrap_or(Vector::X)
        });
        let farthest = |direction: Vector| {
            frame.point(body.core.support(frame.inward(direction))) - piece.support(-direction)
        };
        let least = clearance + body.radius;
        let needed = |normal| least + rise + travel.body_along(centre, body.reach, normal);
        match apart(farthest, towards, least, prove, needed) {
            Some(Apart::Enough) => Ok(true),
            Some(Apart::Near) => Ok(false),
            // Where it stalls: as good as touching.
            Some(Apart::Touching) | None => Err(meeting),
        }
    }

    /// Whether two groups keep their distance in the whole interval, or which bodies meet.
    fn pair(&mut self, index: usize, pair: &PairGroup, half: f64) -> Result<bool, Meeting> {
        let model = self.model;
        let [inner, outer] = pair.groups.map(|group| model.groups.get(group));
        let (Some(inner), Some(outer)) = (inner, outer) else {
            return Ok(true);
        };
        let clearance = model.self_clearance + ROUNDING;
        let travel = self.pair_travel(index, inner, outer, half);
        let (from, to) = (self.frame(inner.carrier), self.frame(outer.carrier));
        let (one, two) = (from.point(inner.centre), to.point(outer.centre));
        let keep = |one: Vector, two: Vector, radii: f64| {
            let offset = two - one;
            let gap = offset.length();
            let room = gap - radii - clearance;
            room > 0.0 && room > travel.point_along(two, offset / gap)
        };
        if keep(one, two, inner.reach + outer.reach) {
            return Ok(true);
        }
        let mut free = true;
        for pair in pair.pairs.clone() {
            let Some(&(i, j)) = model.pairs.get(pair) else {
                continue;
            };
            let (Some(a), Some(b)) = (model.bodies.get(i), model.bodies.get(j)) else {
                continue;
            };
            let (one, two) = (from.point(a.centre), to.point(b.centre));
            if keep(one, two, a.reach + b.reach) {
                continue;
            }
            self.place_balls(i, &from);
            self.place_balls(j, &to);
            let (Some(firsts), Some(seconds)) =
                (model.covers.ranges.get(i), model.covers.ranges.get(j))
            else {
                continue;
            };
            let ball = |k: usize| {
                let ball = model.covers.balls.get(k)?;
                Some((*self.centres.get(k)?, ball.radius))
            };
            let mut proven = true;
            let mut perhaps = false;
            let mut largest = 0.0_f64;
            for (p, r) in firsts.clone().filter_map(ball) {
                for (q, s) in seconds.clone().filter_map(ball) {
                    if !keep(p, q, r + s) {
                        proven = false;
                        largest = largest.max(r + s);
                        let touch = r + s + clearance;
                        perhaps |= (q - p).length_squared() <= touch * touch;
                    }
                }
            }
            if proven {
                continue;
            }
            let prove = free && travel.body(two, b.reach) <= HOPE * largest;
            if !perhaps && !prove {
                free = false;
                continue;
            }
            let towards = (two - one).try_normalize().unwrap_or(Vector::X);
            let farthest = |direction: Vector| {
                from.point(a.core.support(from.inward(direction)))
                    - to.point(b.core.support(to.inward(-direction)))
            };
            let least = clearance + a.radius + b.radius;
            let needed = |normal| least + travel.body_along(two, b.reach, normal);
            match apart(farthest, towards, least, prove, needed) {
                Some(Apart::Enough) => {}
                Some(Apart::Near) => free = false,
                Some(Apart::Touching) | None => return Err(Meeting::Pair { pair }),
            }
        }
        Ok(free)
    }
}
