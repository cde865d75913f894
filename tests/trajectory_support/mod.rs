//! What tests of the timing share: joints without an arm, and random cases from a fixed seed.

use arm_planner::model::{Chain, Dof, DofKind};
use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

/// Random cases, the same each time.
pub fn config(cases: u32, seed: u64) -> Config {
    Config {
        cases,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(seed),
        ..Config::default()
    }
}

/// So many revolute joints, called j0, j1, …, each with this range to both sides \[rad\], and no links.
pub fn chain(joints: usize, limit: f64) -> Chain {
    Chain {
        base: "base".into(),
        tip: "tip".into(),
        dofs: (0..joints)
            .map(|i| Dof {
                name: format!("j{i}"),
                kind: DofKind::Revolute,
                lower: -limit,
                upper: limit,
                velocity: None,
            })
            .collect(),
        joints: vec![],
        tip_offset: nalgebra::Isometry3::identity(),
        links: vec![],
    }
}
