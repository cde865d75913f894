//! The whole arm against the obstacles and itself.
//!
//! Preparing the arm's shapes and the obstacles takes longer than many checks of them, so both are
//! kept for as long as nothing about them changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::collision::{
    CheckScratch, CollisionModel, CollisionOptions, CollisionWorld, Contact, Obstacle as Met, Prism,
};
use crate::kinematics::Pose;
use crate::model::Chain;
use crate::motion::collision;
use crate::planning::{collision_frame, ArmCheck};
use crate::trajectory::{Obstruction, Trajectory};

use super::codes::{Code, Failure};
use super::context::View;
use super::model_source::Robot;
use super::obstacles::ObstacleSet;

/// At most this many configurations of a motion are looked at for the note about the other links.
const LOOKS: usize = 100;
/// At most this many warnings of one kind are told.
const TOLD: usize = 3;
/// Joints beside the arm (grippers, other arms) that have moved by less than this are taken to be
/// where they were \[rad or m\].
const STOOD_STILL: f64 = 0.005;
/// How many robots, each with its clearance, are kept prepared.
const KEPT: usize = 3;

/// What was prepared last.
#[derive(Default)]
struct Prepared {
    /// For the last check, and for planning, which keeps a clearance.
    arms: Vec<Arm>,
    world: Option<World>,
}

struct World {
    obstacles: Arc<ObstacleSet>,
    plane: Pose,
    ground: Option<f64>,
    prepared: Arc<CollisionWorld>,
}

struct Arm {
    robot: Arc<Robot>,
    options: CollisionOptions,
    model: Arc<CollisionModel>,
}

/// Keeps what was prepared.
#[derive(Default)]
pub struct Collisions(Mutex<Prepared>);

/// Checks configurations.
pub struct Checker {
    arm: Arc<CollisionModel>,
    world: Arc<CollisionWorld>,
}

/// Where a motion meets something.
#[derive(Debug, Clone, PartialEq)]
pub struct Meeting {
    /// When \[s\] after its start.
    pub time: f64,
    /// The link.
    pub link: String,
    /// What it meets.
    pub with: Met,
}

impl std::fmt::Display for Meeting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.with {
            Met::Obstacle(id) => write!(f, "link \"{}\" meets obstacle \"{id}\"", self.link)?,
            Met::Link(other) => write!(f, "link \"{}\" meets link \"{other}\"", self.link)?,
        }
        write!(f, " after {:.2} s", self.time)
    }
}

impl Collisions {
    /// The arm's shapes for `chain`.
    fn arm(
        &self,
        view: &View,
        chain: &Arc<Chain>,
        clearance: f64,
        plane: &Pose,
    ) -> Arc<CollisionModel> {
        let robot = &view.robot;
        let options = options(view, chain, clearance, plane);
        let build = || {
            let meshes = &robot.meshes;
            let model = CollisionModel::with_meshes(&robot.model, chain, meshes, &options);
            Arc::new(model)
        };
        if !Arc::ptr_eq(chain, &robot.chain) {
            return build();
        }
        let mut prepared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |arm: &&Arm| Arc::ptr_eq(&arm.robot, robot) && same(&arm.options, &options);
        if let Some(arm) = prepared.arms.iter().find(fits) {
            return Arc::clone(&arm.model);
        }
        let model = build();
        if prepared.arms.len() >= KEPT {
            prepared.arms.remove(0);
        }
        prepared.arms.push(Arm {
            robot: Arc::clone(robot),
            options,
            model: Arc::clone(&model),
        });
        model
    }

    /// The obstacles as prisms.
    fn world(
        &self,
        obstacles: &Arc<ObstacleSet>,
        plane: &Pose,
        ground: Option<f64>,
    ) -> Result<Arc<CollisionWorld>, Failure> {
        let mut prepared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(world) = &prepared.world {
            let same = Arc::ptr_eq(&world.obstacles, obstacles) && world.plane == *plane;
            if same && world.ground == ground {
                return Ok(Arc::clone(&world.prepared));
            }
        }
        let list = obstacles.list().iter();
        let prisms: Vec<Prism> = list.flat_map(|one| one.prisms(plane)).collect();
        let world = CollisionWorld::new(&prisms)
            .map_err(|error| Failure::new(Code::InvalidObstacle, error.to_string()))?;
        let world = Arc::new(match ground {
            Some(height) => world.with_ground(height),
            None => world,
        });
        prepared.world = Some(World {
            obstacles: Arc::clone(obstacles),
            plane: *plane,
            ground,
            prepared: Arc::clone(&world),
        });
        Ok(world)
    }
}

/// What is checked, and how.
fn options(view: &View, chain: &Chain, clearance: f64, plane: &Pose) -> CollisionOptions {
    let others = view
        .robot
        .free_joints()
        .filter(|(_, joint)| chain.dof_index(&joint.name).is_none());
    CollisionOptions {
        other_joints: others
            .filter_map(|(_, joint)| {
                Some((joint.name.clone(), view.states.get(&joint.name)?.position))
            })
            .collect(),
        frame: collision_frame(plane),
        clearance,
        allowed: view.srdf.allowed_pairs(&view.robot.model).0,
        ..CollisionOptions::default()
    }
}

/// Whether shapes that were prepared with `one` are good for `other`.
fn same(one: &CollisionOptions, other: &CollisionOptions) -> bool {
    let near = |a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>| {
        a.len() == b.len()
            && a.iter().all(|(name, value)| {
                b.get(name)
                    .is_some_and(|other| (value - other).abs() < STOOD_STILL)
            })
    };
    near(&one.other_joints, &other.other_joints)
        && CollisionOptions {
            other_joints: BTreeMap::new(),
            ..one.clone()
        } == CollisionOptions {
            other_joints: BTreeMap::new(),
            ..other.clone()
        }
}

impl Checker {
    /// Prepares the robot and the obstacles of `view`; what is not checked as the description says
    /// is added to `notes`.
    ///
    /// # Errors
    /// [`Code::CollisionCheckingUnavailable`] if no moving link has a shape.
    pub fn new(
        view: &View,
        chain: &Arc<Chain>,
        obstacles: &Arc<ObstacleSet>,
        notes: &mut Vec<String>,
    ) -> Result<Checker, Failure> {
        Checker::prepared(view, chain, obstacles, 0.0, notes)
    }

    /// As [`Checker::new`] for the arm, with the distance that links are to keep when one plans.
    ///
    /// # Errors
    /// As [`Checker::new`].
    pub fn with_clearance(view: &View, obstacles: &Arc<ObstacleSet>) -> Result<Checker, Failure> {
        let clearance = view.parameters.collision.link_clearance;
        let chain = &view.robot.chain;
        Checker::prepared(view, chain, obstacles, clearance, &mut Vec::new())
    }

    fn prepared(
        view: &View,
        chain: &Arc<Chain>,
        obstacles: &Arc<ObstacleSet>,
        clearance: f64,
        notes: &mut Vec<String>,
    ) -> Result<Checker, Failure> {
        let plane = view.plane()?;
        let arm = view.collisions.arm(view, chain, clearance, &plane);
        if !arm.has_shapes() {
            return Err(Failure::new(
                Code::CollisionCheckingUnavailable,
                "the robot description has no shapes on the links that move, so collisions cannot be checked: add <collision> elements",
            ));
        }
        notes.extend(arm.warnings().iter().take(TOLD).map(ToString::to_string));
        let hidden = arm.warnings().len().saturating_sub(TOLD);
        if hidden > 0 {
            notes.push(format!("{hidden} more of this kind"));
        }
        let ground = view.parameters.collision.ground;
        let world = view.collisions.world(obstacles, &plane, ground)?;
        Ok(Checker { arm, world })
    }

    /// For the planner.
    pub fn arm_check(&self) -> ArmCheck<'_> {
        ArmCheck {
            model: &self.arm,
            world: &self.world,
        }
    }

    /// What the arm meets at `q`.
    pub fn contact(&self, q: &[f64], scratch: &mut CheckScratch) -> Option<Contact> {
        self.arm.check_with(q, &self.world, scratch).ok().flatten()
    }

    /// What the arm meets at `q`, for the gate.
    ///
    /// # Errors
    /// It meets something, or cannot be checked there.
    pub fn obstruction(&self, q: &[f64], scratch: &mut CheckScratch) -> Result<(), Obstruction> {
        match self.arm.check_with(q, &self.world, scratch) {
            Ok(None) => Ok(()),
            Ok(Some(contact)) => Err(contact.into()),
            Err(error) => Err(Obstruction::Other(error.to_string())),
        }
    }

    /// The first meeting on the way of a trajectory of the chain, between its points, too.
    pub fn meets(&self, trajectory: &Trajectory) -> Option<Meeting> {
        let (time, contact) = collision(self.arm_check(), trajectory)?;
        Some(Meeting {
            time,
            link: contact.link,
            with: contact.with,
        })
    }

    /// In words, the first obstacle that any link meets on the way: the path keeps the tip alone
    /// out of obstacles.
    pub fn meets_on_the_way(&self, trajectory: &Trajectory) -> Option<String> {
        let mut scratch = CheckScratch::default();
        let duration = trajectory.duration();
        (0..=LOOKS).find_map(|look| {
            let time = duration * look as f64 / LOOKS as f64;
            let contact = self.contact(&trajectory.sample(time)?.positions, &mut scratch)?;
            let Met::Obstacle(id) = contact.with else { return None };
            Some(format!(
                "beware: only the tip goes around obstacles, link \"{}\" meets obstacle \"{id}\" after {time:.2} s",
                contact.link
            ))
        })
    }
}
