//! The arm that is checked.

use parry3d_f64::math::Vector;
use parry3d_f64::query::gjk::VoronoiSimplex;

use super::bodies::{bodies, Body, CollisionOptions, CollisionWarning, MeshSource, Meshes};
use super::cover::Covers;
use super::frames::{Frame, Steps};
use super::mesh::{MeshError, MeshStore};
use super::pairs::AllowedPair;
use super::sweep::SweepScratch;
use super::world::{CollisionWorld, GROUND};
use crate::kinematics::WrongSize;
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
    /// The carriers' frames in the base frame; the first one does not move.
    pub(super) frames: Vec<Frame>,
    /// Whether the configuration is outside the joint limits.
    pub(super) outside: bool,
    /// Pieces near the group of bodies at hand.
    near: Vec<usize>,
    pub(super) simplex: VoronoiSimplex,
    pub(super) sweep: SweepScratch,
}

/// The bodies that hang on one carrier, and a sphere around them in its frame.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub carrier: usize,
    pub bodies: Vec<usize>,
    pub centre: Vector,
    pub reach: f64,
}

/// Pairs of bodies of the same two carriers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PairGroup {
    /// Into the groups: the inner one, the outer one.
    pub groups: [usize; 2],
    /// Into the pairs.
    pub pairs: std::ops::Range<usize>,
}

/// What meets what, by numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meeting {
    /// A body and a piece of the world.
    Piece { body: usize, piece: usize },
    /// A body and the ground.
    Ground { body: usize },
    /// A pair of bodies.
    Pair { pair: usize },
}

/// The shapes of a robot on a chain. Links that do not move with the chain are checked against
/// the links that do, but not against obstacles: no motion of the arm could help.
#[derive(Debug, Clone)]
pub struct CollisionModel {
    pub(super) chain: Chain,
    pub(super) steps: Steps,
    pub(super) names: Vec<String>,
    pub(super) bodies: Vec<Body>,
    /// Those that move come last first: the outer links sweep the most.
    pub(super) groups: Vec<Group>,
    /// Pairs of bodies to compare, the one on the inner carrier first.
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) pair_groups: Vec<PairGroup>,
    /// Those that can only meet outside the joint limits.
    pub(super) far_groups: Vec<PairGroup>,
    pub(super) allowed: Vec<AllowedPair>,
    /// The base frame's z axis in the frame of the obstacles, and that frame's height in the base \[m\].
    pub(super) up: Vector,
    pub(super) lift: f64,
    pub(super) clearance: f64,
    pub(super) self_clearance: f64,
    warnings: Vec<CollisionWarning>,
    /// Balls that contain the bodies, for motions.
    pub(super) covers: Covers,
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
        let absent = || MeshError::Unavailable("no mesh was handed in".into());
        Self::build(
            model,
            chain,
            &|name| meshes(name).ok_or_else(absent),
            options,
        )
    }

    /// As [`CollisionModel::new`], with meshes that were read before; warnings say why one is missing.
    pub fn with_meshes(
        model: &RobotModel,
        chain: &Chain,
        meshes: &MeshStore,
        options: &CollisionOptions,
    ) -> Self {
        let source = |name: &str| match meshes.meshes.get(name) {
            Some(mesh) => mesh.clone(),
            None => Err(MeshError::Unavailable("it was not looked for".into())),
        };
        Self::build(model, chain, &source, options)
    }

    fn build(
        model: &RobotModel,
        chain: &Chain,
        meshes: Meshes,
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
        let steps = Steps::new(chain, &options.frame);
        let up = options.frame.rotation.inverse() * nalgebra::Vector3::z();
        let bodies = bodies(model, chain, &steps, meshes, options, &mut warnings);
        // NaN counts as none.
        let positive = |value: f64| value.max(0.0);
        let groups = groups(&bodies, chain.joints.len());
        let mut arm = Self {
            covers: Covers::new(&bodies, &groups, chain),
            chain: chain.clone(),
            steps,
            names: model.links.iter().map(|link| link.name.clone()).collect(),
            groups,
            bodies,
            pairs: Vec::new(),
            pair_groups: Vec::new(),
            far_groups: Vec::new(),
            allowed: Vec::new(),
            up: Vector::new(up.x, up.y, up.z),
            lift: options.frame.translation.z,
            clearance: positive(options.clearance),
            self_clearance: positive(options.self_clearance),
            warnings,
        };
        arm.choose_pairs(model, options);
        arm
    }

    /// What is not checked as the description says.
    pub fn warnings(&self) -> &[CollisionWarning] {
        &self.warnings
    }

    /// Pairs of links that are not compared, and why.
    pub fn allowed_pairs(&self) -> &[AllowedPair] {
        &self.allowed
    }

    /// How many values a configuration has.
    pub fn dof(&self) -> usize {
        self.chain.dof()
    }

    /// Whether any link that moves has a shape at all.
    pub fn has_shapes(&self) -> bool {
        self.bodies.iter().any(|body| body.carrier > 0)
    }

    /// Names of the pairs of links that are compared with each other inside the joint limits.
    pub fn active_pairs(&self) -> Vec<(&str, &str)> {
        let mut found: Vec<(&str, &str)> = Vec::new();
        for group in &self.pair_groups {
            for &(i, j) in self.pairs.get(group.pairs.clone()).unwrap_or(&[]) {
                let pair = (self.link_of(i), self.link_of(j));
                if !found.contains(&pair) {
                    found.push(pair);
                }
            }
        }
        found
    }

    fn link_of(&self, body: usize) -> &str {
        let link = self.bodies.get(body).map_or(usize::MAX, |body| body.link);
        self.names.get(link).map_or("", String::as_str)
    }

    /// Height \[m\] of a point in the base frame.
    #[inline]
    pub(super) fn height(&self, point: Vector) -> f64 {
        point.dot(self.up) + self.lift
    }

    /// Computes all frames for `q`.
    pub(super) fn place(&self, q: &[f64], scratch: &mut CheckScratch) -> Result<(), CheckError> {
        if q.len() != self.chain.dof() {
            return Err(CheckError::Size(WrongSize {
                expected: self.chain.dof(),
                got: q.len(),
            }));
        }
        if let Some((joint, &value)) = q.iter().enumerate().find(|(_, value)| !value.is_finite()) {
            return Err(CheckError::NotFinite { joint, value });
        }
        self.steps.place(q, &mut scratch.frames);
        scratch.outside = !self.chain.within_limits(q);
        Ok(())
    }

    /// The groups of pairs that can meet: inside the joint limits, or anywhere.
    pub(super) fn pair_groups_for(&self, outside: bool) -> impl Iterator<Item = &PairGroup> {
        let far: &[PairGroup] = if outside { &self.far_groups } else { &[] };
        self.pair_groups.iter().chain(far)
    }

    pub(super) fn contact(&self, meeting: Meeting, world: &CollisionWorld) -> Contact {
        match meeting {
            Meeting::Piece { body, piece } => {
                let obstacle = world.pieces.get(piece).map_or(usize::MAX, |p| p.obstacle);
                Contact {
                    link: self.link_of(body).to_owned(),
                    with: Obstacle::Obstacle(
                        world.ids().get(obstacle).cloned().unwrap_or_default(),
                    ),
                }
            }
            Meeting::Ground { body } => Contact {
                link: self.link_of(body).to_owned(),
                with: Obstacle::Obstacle(GROUND.to_owned()),
            },
            Meeting::Pair { pair } => {
                let (i, j) = self.pairs.get(pair).copied().unwrap_or_default();
                // In the order of the description.
                let (i, j) = (i.min(j), i.max(j));
                Contact {
                    link: self.link_of(i).to_owned(),
                    with: Obstacle::Link(self.link_of(j).to_owned()),
                }
            }
        }
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
        let meeting = self.first_meeting(world, scratch);
        Ok(meeting.map(|meeting| self.contact(meeting, world)))
    }

    /// Whether the arm meets nothing at `q`: as [`CollisionModel::check_with`] without the names.
    ///
    /// # Errors
    /// [`CheckError`].
    pub fn is_free(
        &self,
        q: &[f64],
        world: &CollisionWorld,
        scratch: &mut CheckScratch,
    ) -> Result<bool, CheckError> {
        self.place(q, scratch)?;
        Ok(self.first_meeting(world, scratch).is_none())
    }

    /// The first contact of the arm as it is placed.
    pub(super) fn first_meeting(
        &self,
        world: &CollisionWorld,
        scratch: &mut CheckScratch,
    ) -> Option<Meeting> {
        let mut near = std::mem::take(&mut scratch.near);
        let mut met = None;
        for group in &self.groups {
            met = self.group_meeting(group, world, &mut near, scratch);
            if met.is_some() {
                break;
            }
        }
        scratch.near = near;
        met.or_else(|| {
            self.pair_groups_for(scratch.outside).find_map(|group| {
                if !self.groups_within(group, self.self_clearance, scratch) {
                    return None;
                }
                group
                    .pairs
                    .clone()
                    .find(|&pair| self.pair_within(pair, self.self_clearance, scratch))
                    .map(|pair| Meeting::Pair { pair })
            })
        })
    }

    /// The first contact of the bodies of one carrier with the world.
    fn group_meeting(
        &self,
        group: &Group,
        world: &CollisionWorld,
        near: &mut Vec<usize>,
        scratch: &mut CheckScratch,
    ) -> Option<Meeting> {
        if group.carrier == 0 {
            return None;
        }
        let frame = scratch.frames.get(group.carrier)?;
        let centre = frame.point(group.centre);
        let reach = group.reach + self.clearance;
        let height = self.height(centre);
        if let Some(ground) = world.ground.filter(|ground| height - reach <= *ground) {
            let most = world.demanded(self.clearance, (group.carrier, frame), None);
            let low = |&&body: &&usize| self.ground_within(body, ground, most, scratch);
            if let Some(&body) = group.bodies.iter().find(low) {
                return Some(Meeting::Ground { body });
            }
        }
        near.clear();
        world.blocks.touched(centre, reach, |piece| {
            near.push(piece);
            false
        });
        if near.is_empty() {
            return None;
        }
        let frame = *frame;
        let carrier = (group.carrier, &frame);
        for &body in &group.bodies {
            for &piece in near.iter() {
                let obstacle = world.pieces.get(piece).map(|piece| piece.obstacle);
                let most = world.demanded(self.clearance, carrier, obstacle);
                if self.piece_within(body, piece, world, most, scratch) {
                    return Some(Meeting::Piece { body, piece });
                }
            }
        }
        None
    }

    /// The smallest distance \[m\] of any moving link to an obstacle or of any two links that are
    /// compared ([`CollisionModel::active_pairs`]), zero in contact; infinite where there is nothing to meet.
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
            if let (Some(ground), Some(low)) = (world.ground, self.lowest(index, &scratch)) {
                least = least.min((low - ground).max(0.0));
            }
        }
        for group in self.pair_groups_for(scratch.outside) {
            for &(i, j) in self.pairs.get(group.pairs.clone()).unwrap_or(&[]) {
                if let Some(gap) = self.between(i, j, least, &mut scratch) {
                    least = least.min(gap);
                }
            }
        }
        Ok(if least < 1e6 { least } else { f64::INFINITY })
    }
}

/// The bodies of each carrier together, the outermost first.
fn groups(bodies: &[Body], joints: usize) -> Vec<Group> {
    let mut groups = Vec::new();
    for carrier in (0..=joints).rev() {
        let members: Vec<usize> = (0..bodies.len())
            .filter(|&k| bodies.get(k).is_some_and(|body| body.carrier == carrier))
            .collect();
        let spheres = || members.iter().filter_map(|&k| bodies.get(k));
        if members.is_empty() {
            continue;
        }
        let (mut low, mut high) = (
            Vector::splat(f64::INFINITY),
            Vector::splat(f64::NEG_INFINITY),
        );
        for body in spheres() {
            low = low.min(body.centre - Vector::splat(body.reach));
            high = high.max(body.centre + Vector::splat(body.reach));
        }
        let centre = match members.as_slice() {
            [only] => bodies.get(*only).map_or(Vector::ZERO, |body| body.centre),
            _ => 0.5 * low + 0.5 * high,
        };
        let reach = spheres()
            .map(|body| (body.centre - centre).length() + body.reach)
            .fold(0.0, f64::max);
        groups.push(Group {
            carrier,
            bodies: members,
            centre,
            reach,
        });
    }
    groups
}
