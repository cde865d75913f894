//! Whole-arm checks among prisms, self-collision included: single configurations, motions, and the rest
//! of a trajectory against obstacles that have changed. `cargo bench --bench collision`.

use std::hint::black_box;

use arm_planner::collision::{
    CheckScratch, CollisionModel, CollisionOptions, CollisionWorld, MeshStore, Prism,
};
use arm_planner::model::{Chain, Geometry, RobotModel};
use arm_planner::motion::collision;
use arm_planner::planning::ArmCheck;
use arm_planner::trajectory::{Trajectory, TrajectoryPoint};
use criterion::{criterion_group, criterion_main, Criterion};
use nalgebra::Vector3;

#[path = "../tests/ik_support/mod.rs"]
mod ik_support;

use ik_support::Random;

/// Upright prisms of three to eight corners on circles, as high as an arm, not at its foot.
fn prisms(count: usize, radius: f64) -> CollisionWorld {
    let mut random = Random(7);
    let mut all = Vec::new();
    while all.len() < count {
        let at = [0, 1].map(|_| random.between(-1.0, 1.0));
        if at[0].hypot(at[1]) < 0.25 + radius {
            continue;
        }
        let corners = 3 + (random.between(0.0, 6.0) as usize);
        let turn = random.between(0.0, 1.0);
        let corner = |k: usize| {
            let angle = (k as f64 + turn) / corners as f64 * std::f64::consts::TAU;
            [at[0] + radius * angle.cos(), at[1] + radius * angle.sin()]
        };
        all.push(Prism {
            id: all.len().to_string(),
            polygon: (0..corners).map(corner).collect(),
            min_z: 0.0,
            max_z: random.between(0.2, 0.8),
        });
    }
    CollisionWorld::new(&all).unwrap()
}

/// An arm of `urdf/`, with its primitives, or with round meshes of their size in their place.
fn arm(text: &str, meshes: bool) -> (CollisionModel, Chain) {
    let mut model = RobotModel::from_urdf(text).unwrap();
    let chain = model.chain("", "", false).unwrap();
    if meshes {
        for shape in model.links.iter_mut().flat_map(|link| &mut link.collision) {
            let half = match &shape.geometry {
                Geometry::Box { size } => size * 0.5,
                Geometry::Cylinder { radius, length } => {
                    Vector3::new(*radius, *radius, length * 0.5)
                }
                Geometry::Sphere { radius } => Vector3::repeat(*radius),
                Geometry::Capsule { radius, length } => {
                    Vector3::new(*radius, *radius, radius + length * 0.5)
                }
                Geometry::Mesh { .. } => continue,
            };
            shape.geometry = Geometry::Mesh {
                filename: "ball".into(),
                scale: half,
            };
        }
    }
    // A sphere of 150 points, evenly spread.
    let ball = (0..150)
        .map(|k| {
            let z = 1.0 - (2.0 * f64::from(k) + 1.0) / 150.0;
            let turn = f64::from(k) * 2.399_963_229_728_653;
            let across = (1.0 - z * z).sqrt();
            [across * turn.cos(), across * turn.sin(), z]
        })
        .collect();
    let store = MeshStore {
        meshes: [("ball".to_owned(), Ok(vec![ball]))].into(),
    };
    let options = CollisionOptions::default();
    (
        CollisionModel::with_meshes(&model, &chain, &store, &options),
        chain,
    )
}

fn checks(criterion: &mut Criterion) {
    let arms = [
        ("six_axis", include_str!("../urdf/six_axis.urdf")),
        ("seven_axis", include_str!("../urdf/seven_axis.urdf")),
    ];
    for (name, text) in arms {
        for meshes in [false, true] {
            let (arm, chain) = arm(text, meshes);
            let kind = if meshes { "meshes" } else { "primitives" };
            for (count, radius) in [(10, 0.06), (100, 0.04)] {
                let world = prisms(count, radius);
                let mut random = Random(1);
                let all: Vec<Vec<f64>> = (0..1024).map(|_| random.configuration(&chain)).collect();
                let mut scratch = CheckScratch::default();
                let mut next = all.iter().cycle();
                criterion.bench_function(&format!("check/{name}/{kind}/{count}"), |bencher| {
                    bencher.iter(|| {
                        arm.is_free(black_box(next.next().unwrap()), &world, &mut scratch)
                    });
                });
                let free: Vec<&Vec<f64>> = all
                    .iter()
                    .filter(|q| arm.is_free(q, &world, &mut scratch).unwrap())
                    .collect();
                // Steps of a tree search: from a free configuration, 0.3 rad towards another.
                let steps: Vec<(Vec<f64>, Vec<f64>)> = free
                    .iter()
                    .zip(free.iter().skip(1))
                    .map(|(from, to)| {
                        let apart = from
                            .iter()
                            .zip(to.iter())
                            .map(|(a, b)| (b - a).powi(2))
                            .sum::<f64>()
                            .sqrt();
                        let share = 0.3 / apart.max(0.3);
                        let way = from.iter().zip(to.iter());
                        (
                            (*from).clone(),
                            way.map(|(a, b)| a + (b - a) * share).collect(),
                        )
                    })
                    .collect();
                let mut next = steps.iter().cycle();
                criterion.bench_function(&format!("motion/{name}/{kind}/{count}"), |bencher| {
                    bencher.iter(|| {
                        let (from, to) = next.next().unwrap();
                        arm.is_motion_free(black_box(from), to, &world, 1e-3, &mut scratch)
                    });
                });
            }
        }
    }
}

/// A trajectory of ten seconds at 50 Hz among obstacles that it does not meet (the longest to check).
fn rest_of_a_trajectory(criterion: &mut Criterion) {
    for count in [10, 100] {
        let (arm, chain) = arm(include_str!("../urdf/seven_axis.urdf"), true);
        let world = prisms(count, 0.03);
        let mut scratch = CheckScratch::default();
        let mut random = Random(3);
        let path = loop {
            let [from, to] = [0, 1].map(|_| random.configuration(&chain));
            let at = |k: usize| -> Vec<f64> {
                let share = k as f64 / 500.0;
                let way = from.iter().zip(&to);
                way.map(|(a, b)| a + (b - a) * share).collect()
            };
            let path: Vec<Vec<f64>> = (0..=500).map(at).collect();
            if arm.check_path(&path, &world, 1e-3, &mut scratch) == Ok(None) {
                break path;
            }
        };
        criterion.bench_function(&format!("recheck/500 samples/{count}"), |bencher| {
            bencher.iter(|| arm.check_path(black_box(&path), &world, 1e-3, &mut scratch));
        });
        // What the node does with the motion under way when obstacles change, see `motion::collision`.
        let still = vec![0.0; chain.dof()];
        let points = path.iter().zip(0_u32..).map(|(q, k)| TrajectoryPoint {
            time: 0.02 * f64::from(k),
            positions: q.clone(),
            velocities: still.clone(),
            accelerations: still.clone(),
        });
        let trajectory = Trajectory {
            joint_names: chain.joint_names(),
            points: points.collect(),
        };
        let checked = ArmCheck {
            model: &arm,
            world: &world,
        };
        criterion.bench_function(&format!("recheck/motion of 10 s/{count}"), |bencher| {
            bencher.iter(|| collision(black_box(checked), &trajectory));
        });
        criterion.bench_function(&format!("world/{count}"), |bencher| {
            bencher.iter(|| black_box(prisms(count, 0.03)));
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).without_plots();
    targets = checks, rest_of_a_trajectory
}
criterion_main!(benches);
