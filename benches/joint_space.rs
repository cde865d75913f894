//! Motions in joint space among prisms: proofs that a straight way is free, and whole plans with
//! shortcutting and rounded corners. `cargo bench --bench joint_space`.

use std::hint::black_box;

use arm_planner::collision::{
    CollisionModel, CollisionOptions, CollisionWorld, MotionChecker, Prism,
};
use arm_planner::model::{Chain, RobotModel};
use arm_planner::planning::{plan_joint_path, JointSpaceSettings};
use criterion::{criterion_group, criterion_main, Criterion};

#[path = "../tests/ik_support/mod.rs"]
mod ik_support;

use ik_support::Random;

struct Pairs {
    chain: Chain,
    model: CollisionModel,
    world: CollisionWorld,
    /// Free starts and goals.
    pairs: Vec<(Vec<f64>, Vec<f64>)>,
}

/// A shipped arm among `count` upright prisms, not at its foot.
fn pairs(text: &str, count: usize) -> Pairs {
    let robot = RobotModel::from_urdf(text).unwrap();
    let chain = robot.chain("", "", false).unwrap();
    let model = CollisionModel::new(&robot, &chain, &|_| None, &CollisionOptions::default());
    let mut random = Random(11);
    let mut prisms = Vec::new();
    while prisms.len() < count {
        let at = [0, 1].map(|_| random.between(-0.9, 0.9));
        if at[0].hypot(at[1]) < 0.3 {
            continue;
        }
        let square = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
        prisms.push(Prism {
            id: prisms.len().to_string(),
            polygon: square
                .map(|[x, y]| [at[0] + 0.03 * x, at[1] + 0.03 * y])
                .to_vec(),
            min_z: 0.0,
            max_z: random.between(0.2, 0.7),
        });
    }
    let world = CollisionWorld::new(&prisms).unwrap();
    let mut free = || loop {
        let q = random.configuration(&chain);
        if model.distance(&q, &world).unwrap() > 0.01 {
            return q;
        }
    };
    let pairs = (0..64).map(|_| (free(), free())).collect();
    Pairs {
        chain,
        model,
        world,
        pairs,
    }
}

fn benchmarks(criterion: &mut Criterion) {
    for (name, text) in [
        ("six joints", include_str!("../urdf/six_axis.urdf")),
        ("seven joints", include_str!("../urdf/seven_axis.urdf")),
    ] {
        for count in [10, 100] {
            let all = pairs(text, count);
            let mut group = criterion.benchmark_group(format!("{name}, {count} prisms"));
            let mut next = all.pairs.iter().cycle();
            let mut checker = MotionChecker::new(&all.model, &all.world);
            group.bench_function("straight way", |bencher| {
                bencher.iter(|| {
                    let (start, goal) = next.next().unwrap();
                    black_box(checker.motion_is_free(start, goal, 1e-3).unwrap())
                });
            });
            let mut next = all.pairs.iter().cycle();
            let settings = JointSpaceSettings {
                max_samples: 500,
                ..JointSpaceSettings::default()
            };
            group.bench_function("plan", |bencher| {
                bencher.iter(|| {
                    let (start, goal) = next.next().unwrap();
                    let goals = [goal.clone()];
                    let never = || false;
                    let path = plan_joint_path(
                        &all.chain, &all.model, &all.world, start, &goals, &settings, &never,
                    );
                    path.ok().map(|path| {
                        black_box(path.joint_path(&all.model, &all.world, &settings).unwrap())
                    })
                });
            });
            group.finish();
        }
    }
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
