//! What the last plan looked like, kept for drawing.

use std::sync::Arc;

use nalgebra::Point2;
use tokio::sync::Notify;

use super::context::Snapshot;
use crate::kinematics::Pose;
use crate::planning::ArmPath;

/// The last plan.
#[derive(Debug, Clone, Default)]
pub struct LastPlan {
    /// Poses of the tip.
    pub tip_path: Vec<Pose>,
    /// Edges of the road map, in the base frame's XY plane.
    pub edges: Vec<[Point2<f64>; 2]>,
}

/// What is drawn besides the obstacles.
#[derive(Debug, Default)]
pub struct Drawing {
    plan: Snapshot<LastPlan>,
    changed: Notify,
}

impl Drawing {
    /// Keeps a new plan.
    pub fn set_plan(&self, path: &ArmPath) {
        self.plan.set(LastPlan {
            tip_path: path.tip_path.clone(),
            edges: path.scene.edges.clone(),
        });
        self.touch();
    }

    /// Says that something has changed.
    pub fn touch(&self) {
        self.changed.notify_one();
    }

    /// The last plan.
    pub fn plan(&self) -> Arc<LastPlan> {
        self.plan.get()
    }

    /// Returns when something has changed since the last time.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}
