//! Arms whose two or three axes are all parallel: both elbows in closed form.

use nalgebra::{Isometry3, Vector3};

use super::geometry::Arm;
use super::subproblems::{align, reach_distance, turn};

/// The axes' common direction and where they cross the plane.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::ik) struct Planar {
    normal: Vector3<f64>,
    points: Vec<Vector3<f64>>,
    /// −1 for axes that point against the first one.
    signs: Vec<f64>,
    home: Isometry3<f64>,
}

impl Planar {
    /// `None` unless the arm has two or three axes, all parallel.
    pub(super) fn of(arm: &Arm) -> Option<Planar> {
        let first = arm.axes.first()?.direction;
        let parallel = |direction: &Vector3<f64>| direction.cross(&first).norm() <= 1e-9;
        if !(2..=3).contains(&arm.axes.len())
            || !arm.axes.iter().all(|axis| parallel(&axis.direction))
        {
            return None;
        }
        Some(Planar {
            normal: first,
            points: arm.axes.iter().map(|axis| axis.point).collect(),
            signs: arm
                .axes
                .iter()
                .map(|axis| axis.direction.dot(&first).signum())
                .collect(),
            home: arm.home,
        })
    }

    pub(super) fn joints(&self) -> usize {
        self.points.len()
    }

    /// The tip's turn in the plane at `angles`.
    pub(super) fn heading(&self, angles: &[f64]) -> f64 {
        angles
            .iter()
            .zip(&self.signs)
            .map(|(angle, sign)| angle * sign)
            .sum()
    }

    /// The tip's turn in the plane that `target` asks for.
    pub(super) fn wanted(&self, target: &Isometry3<f64>) -> f64 {
        let side = if self.normal.x.abs() < 0.6 {
            Vector3::x()
        } else {
            Vector3::y()
        };
        let turned = target.rotation * self.home.rotation.inverse() * side;
        align(&self.normal, &side, &turned).unwrap_or(0.0)
    }

    /// Both elbows that bring the tip to the position of `target`; with three joints, turned
    /// by `heading` \[rad\]. Joint angles in order.
    pub(super) fn branches(
        &self,
        target: &Isometry3<f64>,
        heading: f64,
        seed: &[f64],
    ) -> Vec<Vec<f64>> {
        let flat = |vector: Vector3<f64>| vector - self.normal * self.normal.dot(&vector);
        let [first, second, rest @ ..] = self.points.as_slice() else {
            return Vec::new();
        };
        let tip = self.home.translation.vector;
        let goal = target.translation.vector;
        // Where the second link ends: at the tip, or at the third joint.
        let (end, goal) = match rest.first() {
            Some(third) => (*third, goal - turn(&self.normal, heading, &(tip - third))),
            None => (tip, goal),
        };
        let upper = flat(second - first);
        let lower = flat(end - second);
        let way = flat(goal - first);
        let free = seed.get(1).copied().unwrap_or(0.0);
        let elbows = reach_distance(&self.normal, &lower, &-upper, way.norm());
        elbows
            .list(free)
            .map(|elbow| {
                let arm = upper + turn(&self.normal, elbow, &lower);
                let shoulder = align(&self.normal, &arm, &way)
                    .unwrap_or_else(|| seed.first().copied().unwrap_or(0.0));
                let turns = [shoulder, elbow, heading - shoulder - elbow];
                turns
                    .iter()
                    .zip(&self.signs)
                    .map(|(angle, sign)| angle * sign)
                    .collect()
            })
            .collect()
    }
}
