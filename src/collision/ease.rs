//! An arm that begins closer to something than it is to keep: near where it stands, what is there is
//! enough, and with the way that it goes the full clearance comes back.
//!
//! The clearance that is demanded is a function of the configuration alone, so that everything that
//! looks at motions, whichever part of them it looks at and in whichever order, demands the same.

use parry3d_f64::math::Vector;

use super::arm::{CheckError, CheckScratch, CollisionModel, Contact, Group, Meeting};
use super::frames::Frame;
use super::world::CollisionWorld;

/// What is closer than this \[m\] touches: no model of an arm and its surroundings is better, and
/// what motions are proven with (2e-5 m) and interpolated with stays well inside of it.
pub const TOUCHING: f64 = 2e-4;

/// Share of the distance at the begin that must be kept in any case.
const KEPT: f64 = 0.9;

/// Clearance that comes back with each metre that a link goes: in the end it must come away from what
/// it is near to, but it may go along it at first.
const REGAINED: f64 = 0.1;

/// Less clearance for one carrier from one obstacle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ease {
    /// How many joints move the links that it is about.
    carrier: usize,
    /// Number of the obstacle; none: the ground.
    obstacle: Option<usize>,
    /// A place on the links, in the carrier's frame, and where it is at the begin, in the base frame \[m\].
    place: Vector,
    begin: Vector,
    /// Distance at the begin \[m\].
    gap: f64,
}

/// A link closer to something than the clearance.
#[derive(Debug, Clone, PartialEq)]
pub struct Nearness {
    /// What is near to what.
    pub contact: Contact,
    /// Their distance \[m\].
    pub distance: f64,
    /// The clearance that is not there \[m\].
    pub clearance: f64,
}

/// How an arm stands where a motion is to begin.
#[derive(Debug, Clone, PartialEq)]
pub enum Stand {
    /// Nothing is closer than the clearances.
    Clear,
    /// Something is, without touching.
    Near {
        /// The same obstacles for motions from there: near the begin less clearance is demanded, but
        /// never less than nine tenths of what is there, and with each metre that a link goes a tenth
        /// of a metre of it comes back until it is whole.
        eased: Box<CollisionWorld>,
        /// What is near, the nearest first.
        near: Vec<Nearness>,
    },
    /// Something touches, or comes closer to another link than links are to keep from each other.
    Contact(Contact),
}

impl CollisionWorld {
    /// The clearance \[m\] demanded of what `carrier` joints move from an obstacle (none: the ground),
    /// where the carrier is at `frame`; at most `full`.
    #[inline]
    pub(super) fn demanded(
        &self,
        full: f64,
        (carrier, frame): (usize, &Frame),
        obstacle: Option<usize>,
    ) -> f64 {
        if !self.eases_any() {
            return full;
        }
        let mut eases = self.eases.iter();
        let fits = |ease: &&Ease| ease.carrier == carrier && ease.obstacle == obstacle;
        eases.find(fits).map_or(full, |ease| {
            let gone = (frame.point(ease.place) - ease.begin).length();
            full.min(KEPT * ease.gap + REGAINED * gone)
        })
    }

    /// Whether less than the clearance is demanded of anything.
    #[inline]
    pub(super) fn eases_any(&self) -> bool {
        !self.eases.is_empty()
    }

    /// The most \[m\] that a clearance can rise by from `demanded` towards `full` while the links go so far
    /// \[m\].
    #[inline]
    pub(super) fn rise(full: f64, demanded: f64, way: f64) -> f64 {
        (full - demanded).min(REGAINED * way)
    }

    /// The least distance \[m\] at the begin of something for which less than the clearance is demanded.
    pub fn eased_gap(&self) -> Option<f64> {
        let gaps = self.eases.iter().map(|ease| ease.gap);
        gaps.reduce(f64::min)
    }
}

impl CollisionModel {
    /// How the arm stands at `q` (one value a degree of freedom) among the obstacles of `world`, for a
    /// motion that begins there.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn stand(&self, q: &[f64], world: &CollisionWorld) -> Result<Stand, CheckError> {
        let mut scratch = CheckScratch::default();
        self.place(q, &mut scratch)?;
        let Some(met) = self.first_meeting(world, &mut scratch) else {
            return Ok(Stand::Clear);
        };
        if let Meeting::Pair { .. } = met {
            return Ok(Stand::Contact(self.contact(met, world)));
        }
        let mut near: Vec<Nearness> = Vec::new();
        let mut eased = world.clone();
        eased.eases.clear();
        for group in self.groups.iter().filter(|group| group.carrier > 0) {
            let mut found = self.near_to(group, world, &mut scratch);
            found.sort_by(|a, b| a.1.total_cmp(&b.1));
            for (meeting, distance) in found {
                let contact = self.contact(meeting, world);
                if distance <= TOUCHING {
                    return Ok(Stand::Contact(contact));
                }
                // Pieces of one obstacle count as one.
                let known = |one: &Ease| {
                    one.carrier == group.carrier && of(one, world) == of_meeting(meeting, world)
                };
                if eased.eases.iter().any(known) {
                    continue;
                }
                self.ease(group, meeting, distance, &scratch, &mut eased);
                near.push(Nearness {
                    contact,
                    distance,
                    clearance: self.clearance,
                });
            }
        }
        near.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        // Links that are too near to each other, if that is what is left.
        Ok(match self.first_meeting(&eased, &mut scratch) {
            Some(met) => Stand::Contact(self.contact(met, world)),
            None => Stand::Near {
                eased: Box::new(eased),
                near,
            },
        })
    }

    /// Everything that the bodies of a group are closer to than the clearance, and how close \[m\].
    fn near_to(
        &self,
        group: &Group,
        world: &CollisionWorld,
        scratch: &mut CheckScratch,
    ) -> Vec<(Meeting, f64)> {
        // What a check calls too near must not be missed for rounding.
        let most = self.clearance + 1e-6;
        let mut found = Vec::new();
        for &body in &group.bodies {
            for (piece, shape) in world.pieces.iter().enumerate() {
                let gap = self.to_piece(body, shape, most, scratch);
                found.extend(gap.map(|gap| (Meeting::Piece { body, piece }, gap)));
            }
            if let (Some(ground), Some(low)) = (world.ground, self.lowest(body, scratch)) {
                let gap = (low - ground).max(0.0);
                found.extend((gap <= most).then_some((Meeting::Ground { body }, gap)));
            }
        }
        found
    }

    /// Lowers the clearance between a group and an obstacle.
    fn ease(
        &self,
        group: &Group,
        meeting: Meeting,
        gap: f64,
        scratch: &CheckScratch,
        eased: &mut CollisionWorld,
    ) {
        let Some(frame) = scratch.frames.get(group.carrier) else {
            return;
        };
        let ease = |obstacle| Ease {
            carrier: group.carrier,
            obstacle,
            place: group.centre,
            begin: frame.point(group.centre),
            gap,
        };
        let Meeting::Piece { piece, .. } = meeting else {
            eased.eases.push(ease(None));
            return;
        };
        // An obstacle may have been handed in as several of the same name.
        let name = eased.pieces.get(piece).map(|piece| piece.obstacle);
        let name = name.and_then(|obstacle| eased.ids().get(obstacle)).cloned();
        let same: Vec<usize> = (0..eased.ids().len())
            .filter(|&k| eased.ids().get(k) == name.as_ref())
            .collect();
        eased.eases.extend(same.into_iter().map(|k| ease(Some(k))));
    }
}

/// Name of the obstacle that an ease is about; none: the ground.
fn of<'w>(ease: &Ease, world: &'w CollisionWorld) -> Option<&'w String> {
    ease.obstacle.and_then(|obstacle| world.ids().get(obstacle))
}

fn of_meeting(meeting: Meeting, world: &CollisionWorld) -> Option<&String> {
    let Meeting::Piece { piece, .. } = meeting else {
        return None;
    };
    let piece = world.pieces.get(piece)?;
    world.ids().get(piece.obstacle)
}
