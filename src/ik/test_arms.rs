//! Random arms for the unit tests of this room.

use nalgebra::{Isometry3, Unit, UnitQuaternion, Vector3};

use crate::model::{Chain, ChainJoint, ChainLink, Dof, DofKind, Motion};

/// A seeded generator.
pub(super) struct Random(pub(super) u64);

impl Random {
    /// In [low, high).
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        low + (high - low) * ((self.0 >> 11) as f64 / (1_u64 << 53) as f64)
    }

    pub(super) fn vector(&mut self, size: f64) -> Vector3<f64> {
        Vector3::from_fn(|_, _| self.between(-size, size))
    }

    pub(super) fn configuration(&mut self, chain: &Chain) -> Vec<f64> {
        let dofs = chain.dofs.iter();
        dofs.map(|dof| self.between(dof.lower, dof.upper)).collect()
    }
}

/// An arm with oblique axes; every third joint slides where `slides` is set, and every second
/// degree of freedom has a follower where `followers` is set.
pub(super) fn arm(random: &mut Random, dof: usize, slides: bool, followers: bool) -> Chain {
    let mut dofs = Vec::new();
    let mut joints = Vec::new();
    for index in 0..dof {
        let prismatic = slides && index % 3 == 1;
        dofs.push(Dof {
            name: format!("joint{index}"),
            kind: if prismatic {
                DofKind::Prismatic
            } else {
                DofKind::Revolute
            },
            lower: if prismatic {
                -0.1
            } else {
                random.between(-2.5, -1.0)
            },
            upper: if prismatic {
                0.3
            } else {
                random.between(1.0, 2.5)
            },
            velocity: None,
        });
        for follower in 0..=usize::from(followers && index % 2 == 1) {
            let free = follower == 0;
            joints.push(ChainJoint {
                name: format!("joint{index}_{follower}"),
                before: Isometry3::new(random.vector(0.3), random.vector(2.0)),
                axis: Unit::new_normalize(random.vector(1.0) + Vector3::z() * 1e-3),
                motion: if prismatic {
                    Motion::Translation
                } else {
                    Motion::Rotation
                },
                dof: index,
                multiplier: if free { 1.0 } else { random.between(-1.5, 1.5) },
                offset: if free { 0.0 } else { random.between(-0.5, 0.5) },
            });
        }
    }
    finish(
        dofs,
        joints,
        Isometry3::new(random.vector(0.2), random.vector(2.0)),
    )
}

/// Joints about z, one after the other along x.
pub(super) fn planar(lengths: &[f64], limit: f64) -> Chain {
    let dofs = (0..lengths.len()).map(|index| Dof {
        name: format!("joint{index}"),
        kind: DofKind::Revolute,
        lower: -limit,
        upper: limit,
        velocity: None,
    });
    let joints = (0..lengths.len()).map(|index| ChainJoint {
        name: format!("joint{index}"),
        before: Isometry3::translation(if index == 0 { 0.0 } else { lengths[index - 1] }, 0.0, 0.0),
        axis: Vector3::z_axis(),
        motion: Motion::Rotation,
        dof: index,
        multiplier: 1.0,
        offset: 0.0,
    });
    let tip = Isometry3::translation(lengths[lengths.len() - 1], 0.0, 0.0);
    finish(dofs.collect(), joints.collect(), tip)
}

fn finish(dofs: Vec<Dof>, joints: Vec<ChainJoint>, tip_offset: Isometry3<f64>) -> Chain {
    Chain {
        base: "base".into(),
        tip: "tip".into(),
        links: vec![ChainLink {
            name: "tip".into(),
            after_joints: joints.len(),
            offset: tip_offset,
        }],
        dofs,
        joints,
        tip_offset,
    }
}

/// A rotation by a random vector.
pub(super) fn rotation(random: &mut Random) -> UnitQuaternion<f64> {
    UnitQuaternion::from_scaled_axis(random.vector(2.0))
}
