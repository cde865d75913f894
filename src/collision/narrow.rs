//! One body against one piece of the world, or against another body.
//!
//! The cheapest answer that is sure comes first: spheres, then a capsule against the obstacle's
//! faces or another capsule, then the shapes themselves.

use parry3d_f64::math::Vector;
use parry3d_f64::shape::SupportMap;

use super::arm::{CheckScratch, CollisionModel, PairGroup};
use super::bodies::Body;
use super::frames::Frame;
use super::near::within;
use super::shape::{between_segments, distance};
use super::world::{CollisionWorld, Piece};

/// Capsules are told apart with this much to spare \[m\]: lines that are nearly parallel leave the
/// place where they are nearest open, and with it the last digits of the distance.
const SLACK: f64 = 1e-7;

/// A body's core in the base frame.
struct Placed<'a>(&'a Body, &'a Frame);

impl Placed<'_> {
    #[inline]
    fn support(&self, direction: Vector) -> Vector {
        let Self(body, frame) = self;
        frame.point(body.core.support(frame.inward(direction)))
    }
}

impl SupportMap for Placed<'_> {
    fn local_support_point(&self, direction: Vector) -> Vector {
        self.support(direction)
    }
}

impl CollisionModel {
    fn placed<'a>(&'a self, body: usize, frames: &'a [Frame]) -> Option<Placed<'a>> {
        let body = self.bodies.get(body)?;
        Some(Placed(body, frames.get(body.carrier)?))
    }

    /// Lowest height of a body in the base frame \[m\].
    pub(super) fn lowest(&self, body: usize, scratch: &CheckScratch) -> Option<f64> {
        let placed = self.placed(body, &scratch.frames)?;
        Some(self.height(placed.support(-self.up)) - placed.0.radius)
    }

    /// Whether a body comes as near to the ground as `most` \[m\].
    pub(super) fn ground_within(
        &self,
        body: usize,
        ground: f64,
        most: f64,
        scratch: &CheckScratch,
    ) -> bool {
        self.lowest(body, scratch)
            .is_some_and(|low| low - ground <= most)
    }

    /// A lower bound of the distance \[m\] of a body to a piece, and the direction of that plane.
    #[inline]
    fn before_piece(body: &Body, frame: &Frame, piece: &Piece) -> (Vector, f64) {
        let [a, b] = body.ends;
        let (normal, before) = piece.best_face([frame.point(a), frame.point(b)]);
        (normal, before - body.thickness)
    }

    /// Whether a body may come as near to a piece as `most` \[m\]; a cheap look.
    pub(super) fn piece_maybe_within(
        &self,
        body: usize,
        piece: usize,
        world: &CollisionWorld,
        most: f64,
        scratch: &CheckScratch,
    ) -> bool {
        let (Some(Placed(body, frame)), Some(piece)) =
            (self.placed(body, &scratch.frames), world.pieces.get(piece))
        else {
            return false;
        };
        Self::before_piece(body, frame, piece).1 <= most
    }

    /// Whether a body comes as near to a piece as `most` \[m\].
    #[inline]
    pub(super) fn piece_within(
        &self,
        body: usize,
        piece: usize,
        world: &CollisionWorld,
        most: f64,
        scratch: &mut CheckScratch,
    ) -> bool {
        let (Some(placed), Some(piece)) =
            (self.placed(body, &scratch.frames), world.pieces.get(piece))
        else {
            return false;
        };
        let Placed(body, frame) = placed;
        let (normal, before) = Self::before_piece(body, frame, piece);
        if before > most {
            return false;
        }
        let gap = most + body.radius;
        let farthest = |direction: Vector| placed.support(direction) - piece.support(-direction);
        within(farthest, -normal, gap).unwrap_or_else(|| {
            distance(&placed, piece, -normal, gap, &mut scratch.simplex).is_some()
        })
    }

    /// Distance of a body and a piece of the world where it is at most `most` \[m\].
    pub(super) fn to_piece(
        &self,
        index: usize,
        piece: &Piece,
        most: f64,
        scratch: &mut CheckScratch,
    ) -> Option<f64> {
        let placed = self.placed(index, &scratch.frames)?;
        let Placed(body, frame) = placed;
        let (normal, before) = Self::before_piece(body, frame, piece);
        if before > most {
            return None;
        }
        let gap = distance(
            &placed,
            piece,
            -normal,
            most + body.radius,
            &mut scratch.simplex,
        )?;
        Some((gap - body.radius).max(0.0)).filter(|gap| *gap <= most)
    }

    /// Whether the spheres around two groups come as near as `most` \[m\].
    #[inline]
    pub(super) fn groups_within(
        &self,
        group: &PairGroup,
        most: f64,
        scratch: &CheckScratch,
    ) -> bool {
        let sphere = |k: usize| {
            let group = self.groups.get(k)?;
            let frame = scratch.frames.get(group.carrier)?;
            Some((frame.point(group.centre), group.reach))
        };
        let [inner, outer] = group.groups;
        let (Some(inner), Some(outer)) = (sphere(inner), sphere(outer)) else {
            return false;
        };
        let far = inner.1 + outer.1 + most;
        (inner.0 - outer.0).length_squared() <= far * far
    }

    /// Whether the bodies of a pair come as near as `most` \[m\].
    #[inline]
    pub(super) fn pair_within(&self, pair: usize, most: f64, scratch: &mut CheckScratch) -> bool {
        let Some(&(i, j)) = self.pairs.get(pair) else {
            return false;
        };
        let (Some(first), Some(second)) = (
            self.placed(i, &scratch.frames),
            self.placed(j, &scratch.frames),
        ) else {
            return false;
        };
        let Some(towards) = Self::capsules_within(&first, &second, most) else {
            return false;
        };
        let (Placed(one, frame), Placed(two, other)) = (&first, &second);
        let gap = most + one.radius + two.radius;
        // In the first one's frame, so that only the second is to be turned.
        let there = frame.relative(other);
        let farthest = |direction: Vector| {
            let second = two.core.support(there.inward(-direction));
            one.core.support(direction) - there.point(second)
        };
        within(farthest, frame.inward(towards), gap).unwrap_or_else(|| {
            distance(&first, &second, towards, gap, &mut scratch.simplex).is_some()
        })
    }

    /// The direction between two bodies' capsules if these come as near as `most` \[m\].
    #[inline]
    fn capsules_within(first: &Placed, second: &Placed, most: f64) -> Option<Vector> {
        let (Placed(one, frame), Placed(two, other)) = (first, second);
        let centres = other.point(two.centre) - frame.point(one.centre);
        let far = one.reach + two.reach + most;
        if centres.length_squared() > far * far {
            return None;
        }
        let ([a, b], [c, d]) = (one.ends, two.ends);
        let between = between_segments(
            [frame.point(a), frame.point(b)],
            [other.point(c), other.point(d)],
        );
        let length = between.length();
        if length > one.thickness + two.thickness + most + SLACK {
            return None;
        }
        let towards = if length > 0.0 { between } else { centres };
        Some(towards.try_normalize().unwrap_or(Vector::X))
    }

    /// Whether the bodies of a pair may come as near as `most` \[m\]; a cheap look.
    pub(super) fn pair_maybe_within(&self, pair: usize, most: f64, scratch: &CheckScratch) -> bool {
        let Some(&(i, j)) = self.pairs.get(pair) else {
            return false;
        };
        match (
            self.placed(i, &scratch.frames),
            self.placed(j, &scratch.frames),
        ) {
            (Some(first), Some(second)) => Self::capsules_within(&first, &second, most).is_some(),
            _ => false,
        }
    }

    /// Distance of two bodies where it is at most `most` \[m\].
    pub(super) fn between(
        &self,
        i: usize,
        j: usize,
        most: f64,
        scratch: &mut CheckScratch,
    ) -> Option<f64> {
        let first = self.placed(i, &scratch.frames)?;
        let second = self.placed(j, &scratch.frames)?;
        let towards = Self::capsules_within(&first, &second, most)?;
        let radii = first.0.radius + second.0.radius;
        let gap = distance(&first, &second, towards, most + radii, &mut scratch.simplex)?;
        Some((gap - radii).max(0.0)).filter(|gap| *gap <= most)
    }
}
