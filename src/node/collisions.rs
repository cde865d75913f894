//! The whole arm against the obstacles and itself, for those who ask.

use crate::collision::{
    CollisionModel, CollisionOptions, CollisionWorld, Contact, Obstacle as Met, Prism,
};
use crate::model::Chain;
use crate::planning::Obstacle;
use crate::trajectory::Trajectory;

use super::codes::{Code, Failure};
use super::context::View;

/// Half the thickness that a wall without thickness is given \[m\].
const WALL: f64 = 5e-4;
/// At most this many configurations of a motion are looked at for the note about the other links.
const LOOKS: usize = 100;
/// At most this many warnings of one kind are told.
const TOLD: usize = 3;

/// Checks configurations.
pub struct Checker {
    arm: CollisionModel,
    world: CollisionWorld,
}

impl Checker {
    /// Prepares the robot and the obstacles of `view`; what is not checked as the description says
    /// is added to `notes`.
    ///
    /// # Errors
    /// [`Code::CollisionCheckingUnavailable`] if no moving link has a shape.
    pub fn new(
        view: &View,
        chain: &Chain,
        obstacles: &[Obstacle],
        notes: &mut Vec<String>,
    ) -> Result<Checker, Failure> {
        let robot = &view.robot;
        let others = robot
            .free_joints()
            .filter(|(_, joint)| chain.dof_index(&joint.name).is_none());
        let options = CollisionOptions {
            other_joints: others
                .filter_map(|(_, joint)| {
                    Some((joint.name.clone(), view.states.get(&joint.name)?.position))
                })
                .collect(),
            ..CollisionOptions::default()
        };
        let arm = CollisionModel::new(&robot.model, chain, &|_| None, &options);
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
        let prisms: Vec<Prism> = obstacles.iter().flat_map(prisms).collect();
        let world = CollisionWorld::new(&prisms)
            .map_err(|error| Failure::new(Code::InvalidObstacle, error.to_string()))?;
        Ok(Checker { arm, world })
    }

    /// What the arm meets at `q`.
    fn contact(&self, q: &[f64]) -> Option<Contact> {
        self.arm.check(q, &self.world).ok().flatten()
    }

    /// Whether the arm meets nothing at `q`; not for joint values that cannot be checked.
    pub fn is_free(&self, q: &[f64]) -> bool {
        matches!(self.arm.check(q, &self.world), Ok(None))
    }

    /// In words, the first obstacle that any link meets on the way: the path keeps the tip alone
    /// out of obstacles.
    pub fn meets_on_the_way(&self, trajectory: &Trajectory) -> Option<String> {
        let duration = trajectory.duration();
        (0..=LOOKS).find_map(|look| {
            let time = duration * look as f64 / LOOKS as f64;
            let contact = self.contact(&trajectory.sample(time)?.positions)?;
            let Met::Obstacle(id) = contact.with else { return None };
            Some(format!(
                "beware: only the tip goes around obstacles, link \"{}\" meets obstacle \"{id}\" after {time:.2} s",
                contact.link
            ))
        })
    }
}

/// The prisms of an obstacle: its outline, and its walls with a little thickness.
fn prisms(obstacle: &Obstacle) -> Vec<Prism> {
    let prism = |polygon| Prism {
        id: obstacle.id.clone(),
        polygon,
        min_z: obstacle.min_height,
        max_z: obstacle.max_height,
    };
    let outline = obstacle
        .polygon
        .outer()
        .iter()
        .map(|corner| [corner.x, corner.y])
        .collect();
    let mut all = vec![prism(outline)];
    for [a, b] in obstacle.polygon.walls() {
        let along = b - a;
        if along.norm() > 0.0 {
            let across = nalgebra::Vector2::new(-along.y, along.x).normalize() * WALL;
            let corners = [a + across, a - across, b - across, b + across];
            all.push(prism(
                corners.iter().map(|corner| [corner.x, corner.y]).collect(),
            ));
        }
    }
    all
}
