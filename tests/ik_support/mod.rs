//! Arms and random numbers for the tests of inverse kinematics.
#![allow(dead_code)]

use arm_planner::model::{Chain, ChainJoint, ChainLink, Dof, DofKind, Motion};
use nalgebra::{Isometry3, Unit, UnitQuaternion, Vector3};

/// A seeded generator (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    pub fn vector(&mut self, size: f64) -> Vector3<f64> {
        Vector3::new(
            self.between(-size, size),
            self.between(-size, size),
            self.between(-size, size),
        )
    }

    /// A configuration inside the limits; within half a turn where there are none.
    pub fn configuration(&mut self, chain: &Chain) -> Vec<f64> {
        chain
            .dofs
            .iter()
            .map(|dof| {
                let low = dof.lower.max(-std::f64::consts::PI);
                let high = dof.upper.min(std::f64::consts::PI);
                self.between(low, high)
            })
            .collect()
    }
}

/// One moving joint about (or along) z: origin, roll-pitch-yaw, limits.
pub fn joint(
    xyz: [f64; 3],
    rpy: [f64; 3],
    kind: DofKind,
    lower: f64,
    upper: f64,
) -> (Isometry3<f64>, DofKind, f64, f64) {
    let before = Isometry3::from_parts(
        Vector3::from(xyz).into(),
        UnitQuaternion::from_euler_angles(rpy[0], rpy[1], rpy[2]),
    );
    (before, kind, lower, upper)
}

pub fn chain(joints: &[(Isometry3<f64>, DofKind, f64, f64)], tip: Isometry3<f64>) -> Chain {
    let dofs = joints
        .iter()
        .enumerate()
        .map(|(index, &(_, kind, lower, upper))| Dof {
            name: format!("joint{index}"),
            kind,
            lower,
            upper,
            velocity: None,
        })
        .collect();
    let moving = joints
        .iter()
        .enumerate()
        .map(|(index, &(before, kind, _, _))| ChainJoint {
            name: format!("joint{index}"),
            before,
            axis: Vector3::z_axis(),
            motion: match kind {
                DofKind::Prismatic => Motion::Translation,
                _ => Motion::Rotation,
            },
            dof: index,
            multiplier: 1.0,
            offset: 0.0,
        })
        .collect();
    finish(dofs, moving, tip)
}

fn finish(dofs: Vec<Dof>, joints: Vec<ChainJoint>, tip_offset: Isometry3<f64>) -> Chain {
    let links = vec![
        ChainLink {
            name: "base".into(),
            after_joints: 0,
            offset: Isometry3::identity(),
        },
        ChainLink {
            name: "tip".into(),
            after_joints: joints.len(),
            offset: tip_offset,
        },
    ];
    Chain {
        base: "base".into(),
        tip: "tip".into(),
        dofs,
        joints,
        tip_offset,
        links,
    }
}

/// A six-joint arm with three parallel axes: the published kinematics of the UR5e.
pub fn six_joints() -> Chain {
    use std::f64::consts::{FRAC_PI_2, PI, TAU};
    let r = DofKind::Revolute;
    chain(
        &[
            joint([0.0, 0.0, 0.1625], [0.0; 3], r, -TAU, TAU),
            joint([0.0; 3], [FRAC_PI_2, 0.0, 0.0], r, -TAU, TAU),
            joint([-0.425, 0.0, 0.0], [0.0; 3], r, -PI, PI),
            joint([-0.3922, 0.0, 0.1333], [0.0; 3], r, -TAU, TAU),
            joint([0.0, -0.0997, 0.0], [FRAC_PI_2, 0.0, 0.0], r, -TAU, TAU),
            joint([0.0, 0.0996, 0.0], [FRAC_PI_2, PI, PI], r, -TAU, TAU),
        ],
        Isometry3::identity(),
    )
}

/// A seven-joint arm: the published kinematics and limits of the Panda.
pub fn seven_joints() -> Chain {
    use std::f64::consts::FRAC_PI_2 as H;
    let r = DofKind::Revolute;
    chain(
        &[
            joint([0.0, 0.0, 0.333], [0.0; 3], r, -2.8973, 2.8973),
            joint([0.0; 3], [-H, 0.0, 0.0], r, -1.7628, 1.7628),
            joint([0.0, -0.316, 0.0], [H, 0.0, 0.0], r, -2.8973, 2.8973),
            joint([0.0825, 0.0, 0.0], [H, 0.0, 0.0], r, -3.0718, -0.0698),
            joint([-0.0825, 0.384, 0.0], [-H, 0.0, 0.0], r, -2.8973, 2.8973),
            joint([0.0; 3], [H, 0.0, 0.0], r, -0.0175, 3.7525),
            joint([0.088, 0.0, 0.0], [H, 0.0, 0.0], r, -2.8973, 2.8973),
        ],
        Isometry3::translation(0.0, 0.0, 0.107),
    )
}

/// An eight-joint arm: the seven-joint one on a lift.
pub fn eight_joints() -> Chain {
    let lift = joint([0.0; 3], [0.0; 3], DofKind::Prismatic, 0.0, 0.35);
    let arm = seven_joints();
    let mut joints = vec![lift];
    for (joint, dof) in arm.joints.iter().zip(&arm.dofs) {
        joints.push((joint.before, dof.kind, dof.lower, dof.upper));
    }
    chain(&joints, arm.tip_offset)
}

/// A planar arm with `lengths.len()` joints about z.
pub fn planar(lengths: &[f64], lower: f64, upper: f64) -> Chain {
    let mut joints = Vec::new();
    for index in 0..lengths.len() {
        let x = if index == 0 { 0.0 } else { lengths[index - 1] };
        joints.push(joint(
            [x, 0.0, 0.0],
            [0.0; 3],
            DofKind::Revolute,
            lower,
            upper,
        ));
    }
    chain(
        &joints,
        Isometry3::translation(*lengths.last().unwrap(), 0.0, 0.0),
    )
}

/// A random arm with `dof` degrees of freedom: all kinds of joints, oblique axes, and followers
/// with multipliers and offsets where `followers` is set.
pub fn random_chain(random: &mut Random, dof: usize, followers: bool) -> Chain {
    let mut dofs = Vec::new();
    let mut joints = Vec::new();
    let place = |random: &mut Random| {
        let turn = random.vector(std::f64::consts::PI);
        Isometry3::from_parts(
            random.vector(0.3).into(),
            UnitQuaternion::from_scaled_axis(turn),
        )
    };
    for index in 0..dof {
        let kind = match (random.unit() * 10.0) as u32 {
            0 => DofKind::Prismatic,
            1 | 2 => DofKind::Continuous,
            _ => DofKind::Revolute,
        };
        let (lower, upper) = match kind {
            DofKind::Continuous => (f64::NEG_INFINITY, f64::INFINITY),
            DofKind::Revolute => (random.between(-3.1, -1.0), random.between(1.0, 3.1)),
            DofKind::Prismatic => (random.between(-0.4, 0.0), random.between(0.1, 0.5)),
        };
        let motion = match kind {
            DofKind::Prismatic => Motion::Translation,
            _ => Motion::Rotation,
        };
        let mut add = |random: &mut Random, name: String, multiplier: f64, offset: f64| {
            joints.push(ChainJoint {
                name,
                before: place(random),
                axis: Unit::new_normalize(random.vector(1.0) + Vector3::new(0.0, 0.0, 1e-3)),
                motion,
                dof: index,
                multiplier,
                offset,
            });
        };
        add(random, format!("joint{index}"), 1.0, 0.0);
        if followers && random.unit() < 0.3 {
            let (multiplier, offset) = (random.between(-1.5, 1.5), random.between(-0.5, 0.5));
            add(random, format!("follower{index}"), multiplier, offset);
        }
        dofs.push(Dof {
            name: format!("joint{index}"),
            kind,
            lower,
            upper,
            velocity: None,
        });
    }
    let tip = place(random);
    finish(dofs, joints, tip)
}
