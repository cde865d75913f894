//! The arm that is checked.

use parry3d_f64::math::{Pose, Vector};
use parry3d_f64::query::gjk::VoronoiSimplex;

use super::bodies::{bodies, Body, CollisionOptions, CollisionWarning, MeshSource};
use super::pairs::AllowedPair;
use super::shape::{distance, pose};
use super::units::Units;
use super::world::CollisionWorld;
use crate::kinematics::{joint_frames, JointFrame, WrongSize};
use crate::model::{Chain, RobotModel};

/// Why a configuration cannot be checked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CheckError {
    /// The wrong number of joint values.
    #[error(transparent)]
    Size(#[from] WrongSize),
    /// NaN or infinity.
    #[error("joint {joint} is {value}: joint values must be finite")]
    NotFinite {
        /// Which joint, from zero.
        joint: usize,
        /// Its value.
        value: f64,
    },
}

/// What a link meets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// An obstacle of the world, by id.
    Obstacle(String),
    /// Another link, by name.
    Link(String),
}

/// A contact: closer than the clearance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// Name of the link.
    pub link: String,
    /// What it meets.
    pub with: Obstacle,
}

/// Memory that checks use again, so that they need not allocate.
#[derive(Default)]
pub struct CheckScratch {
    frames: Vec<JointFrame>,
    /// The carriers' frames in the base frame; the first one does not move.
    carriers: Vec<Pose>,
    /// Centres of the bodies' spheres in the base frame.
    centres: Vec<Vector>,
    simplex: VoronoiSimplex,
}

/// The shapes of a robot on a chain. Links that do not move with the chain are checked against
/// the links that do, but not against obstacles: no motion of the arm could help.
#[derive(Debug, Clone)]
pub struct CollisionModel {
    pub(super) chain: Chain,
    pub(super) names: Vec<String>,
    pub(super) bodies: Vec<Body>,
    /// Pairs of bodies to compare.
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) allowed: Vec<AllowedPair>,
    pub(super) clearance: f64,
    pub(super) self_clearance: f64,
    warnings: Vec<CollisionWarning>,
    /// For motions: what moves together.
    pub(super) units: Units,
}

impl CollisionModel {
    /// Prepares `model` for checks of configurations of `chain`. What could not be taken from the
    /// description is told by [`CollisionModel::warnings`].
    pub fn new(
        model: &RobotModel,
        chain: &Chain,
        meshes: MeshSource,
        options: &CollisionOptions,
    ) -> Self {
        let mut warnings = Vec::new();
        let links = options.allowed.iter().flat_map(|(a, b)| [a, b]);
        for name in links.filter(|name| model.link_index(name).is_none()) {
            warnings.push(CollisionWarning::UnknownName { name: name.clone() });
        }
        let joints = options.other_joints.keys();
        for name in joints.filter(|name| model.joint_index(name).is_none()) {
            warnings.push(CollisionWarning::UnknownName { name: name.clone() });
        }
        let bodies = bodies(model, chain, meshes, options, &mut warnings);
        // NaN counts as none.
        let positive = |value: f64| value.max(0.0);
        let mut arm = Self {
            chain: chain.clone(),
            names: model.links.iter().map(|link| link.name.clone()).collect(),
            bodies,
            pairs: Vec::new(),
            allowed: Vec::new(),
            clearance: positive(options.clearance),
            self_clearance: positive(options.self_clearance),
            warnings,
            units: Units::default(),
        };
        arm.choose_pairs(model, options);
        arm.units = Units::new(&arm);
        arm
    }

    /// What is not checked as the description says.
    pub fn warnings(&self) -> &[CollisionWarning] {
        &self.warnings
    }

    /// Pairs of links that may touch, and why.
    pub fn allowed_pairs(&self) -> &[AllowedPair] {
        &self.allowed
    }

    /// Whether any link that moves has a shape at all.
    pub fn has_shapes(&self) -> bool {
        self.bodies.iter().any(|body| body.carrier > 0)
    }

    /// Computes all frames for `q`.
    pub(super) fn place(&self, q: &[f64], scratch: &mut CheckScratch) -> Result<(), CheckError> {
        if let Some((joint, &value)) = q.iter().enumerate().find(|(_, value)| !value.is_finite()) {
            return Err(CheckError::NotFinite { joint, value });
        }
        joint_frames(&self.chain, q, &mut scratch.frames)?;
        scratch.carriers.clear();
        scratch.carriers.push(Pose::identity());
        let frames = scratch.frames.iter().map(|frame| pose(&frame.pose));
        scratch.carriers.extend(frames);
        scratch.centres.clear();
        for body in &self.bodies {
            let centre = scratch
                .carriers
                .get(body.carrier)
                .map_or(Vector::ZERO, |carrier| carrier.transform_point(body.centre));
            scratch.centres.push(centre);
        }
        Ok(())
    }

    /// Distance of two bodies where it is at most `most`.
    pub(super) fn between(
        &self,
        i: usize,
        j: usize,
        most: f64,
        scratch: &mut CheckScratch,
    ) -> Option<f64> {
        let (first, second) = (self.bodies.get(i)?, self.bodies.get(j)?);
        let towards = *scratch.centres.get(j)? - *scratch.centres.get(i)?;
        let far = first.reach + second.reach + most;
        if towards.length_squared() > far * far {
            return None;
        }
        let one = *scratch.carriers.get(first.carrier)? * first.local;
        let two = *scratch.carriers.get(second.carrier)? * second.local;
        let radii = first.radius + second.radius;
        let gap = distance(
            &first.core,
            &second.core,
            &one.inv_mul(&two),
            one.inverse_transform_vector(towards),
            most + radii,
            &mut scratch.simplex,
        )?;
        Some((gap - radii).max(0.0)).filter(|gap| *gap <= most)
    }

    /// Distance of a body and a piece of the world where it is at most `most`.
    fn to_piece(
        &self,
        index: usize,
        piece: &super::world::Piece,
        most: f64,
        scratch: &mut CheckScratch,
    ) -> Option<f64> {
        let body = self.bodies.get(index)?;
        let centre = *scratch.centres.get(index)?;
        let nearest = centre.max(piece.low).min(piece.high);
        let far = body.reach + most;
        if (centre - nearest).length_squared() > far * far {
            return None;
        }
        let pose = *scratch.carriers.get(body.carrier)? * body.local;
        let gap = distance(
            &piece.core,
            &body.core,
            &pose,
            centre - 0.5 * (piece.low + piece.high),
            most + body.radius,
            &mut scratch.simplex,
        )?;
        Some((gap - body.radius).max(0.0)).filter(|gap| *gap <= most)
    }

    /// The first contact found at `q` (one value a degree of freedom), `None` if the arm is free:
    /// no moving link closer to an obstacle, and no two links closer to each other, than the
    /// clearances.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn check(&self, q: &[f64], world: &CollisionWorld) -> Result<Option<Contact>, CheckError> {
        self.check_with(q, world, &mut CheckScratch::default())
    }

    /// As [`CollisionModel::check`], with memory that is used again from call to call.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn check_with(
        &self,
        q: &[f64],
        world: &CollisionWorld,
        scratch: &mut CheckScratch,
    ) -> Result<Option<Contact>, CheckError> {
        self.place(q, scratch)?;
        let name = |link: usize| self.names.get(link).cloned().unwrap_or_default();
        for (index, body) in self.bodies.iter().enumerate() {
            if body.carrier == 0 {
                continue;
            }
            for piece in &world.pieces {
                if self
                    .to_piece(index, piece, self.clearance, scratch)
                    .is_some()
                {
                    let id = world.ids().get(piece.obstacle).cloned().unwrap_or_default();
                    return Ok(Some(Contact {
                        link: name(body.link),
                        with: Obstacle::Obstacle(id),
                    }));
                }
            }
        }
        for &(i, j) in &self.pairs {
            if self.between(i, j, self.self_clearance, scratch).is_some() {
                let of = |k: usize| self.bodies.get(k).map_or(usize::MAX, |body| body.link);
                return Ok(Some(Contact {
                    link: name(of(i)),
                    with: Obstacle::Link(name(of(j))),
                }));
            }
        }
        Ok(None)
    }

    /// The smallest distance \[m\] of any moving link to an obstacle or of any two links (pairs that
    /// may touch left out), zero in contact; infinite where there is nothing to meet.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn distance(&self, q: &[f64], world: &CollisionWorld) -> Result<f64, CheckError> {
        let mut scratch = CheckScratch::default();
        self.place(q, &mut scratch)?;
        // Finite, as a bound for GJK.
        let mut least = 1e6;
        for (index, body) in self.bodies.iter().enumerate() {
            if body.carrier == 0 {
                continue;
            }
            for piece in &world.pieces {
                if let Some(gap) = self.to_piece(index, piece, least, &mut scratch) {
                    least = least.min(gap);
                }
            }
        }
        for &(i, j) in &self.pairs {
            if let Some(gap) = self.between(i, j, least, &mut scratch) {
                least = least.min(gap);
            }
        }
        Ok(if least < 1e6 { least } else { f64::INFINITY })
    }
}
