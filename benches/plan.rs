//! Whole plans, from a goal to a checked trajectory, among random obstacles on a table around the
//! arm. `cargo bench --bench plan`; `arm-planner plan-random` splits the same by stage.

use std::hint::black_box;

use arm_planner::cli::random_scene::{RandomScene, RandomTable};
use arm_planner::ik::IkRequest;
use arm_planner::kinematics::Pose;
use arm_planner::model::RobotModel;
use arm_planner::motion::{plan, PlanSettings};
use arm_planner::planning::{plan_path, PathRequest, PathSettings};
use arm_planner::trajectory::{LimitDefaults, MotionLimits, TimingOptions};
use criterion::{criterion_group, criterion_main, Criterion};

fn plans(criterion: &mut Criterion) {
    let text = include_str!("../urdf/six_axis.urdf");
    let chain = RobotModel::from_urdf(text)
        .unwrap()
        .chain("", "tool0", false)
        .unwrap();
    let settings = PlanSettings {
        path: PathSettings {
            clearance: 0.02,
            scene: false,
            ..PathSettings::default()
        },
        limits: MotionLimits::from_chain(&chain, &LimitDefaults::default()).unwrap(),
        sample_period: 0.02,
        timing: TimingOptions::default(),
    };
    let ik = IkRequest::new(Pose::identity());
    for obstacles in [10, 100] {
        let scene = RandomScene::new(
            &chain,
            &RandomTable {
                obstacles,
                pairs: 200,
                clearance: 0.02,
                ring: (0.3, 0.7),
                height: 0.2,
                seed: 1,
            },
            &|| false,
        )
        .unwrap();
        // One iteration takes the next pair.
        let mut pairs = scene.pairs.iter().cycle();
        criterion.bench_function(&format!("plan_path/{obstacles}"), |bencher| {
            bencher.iter(|| {
                let (start, goal) = pairs.next().unwrap();
                let goals = [*goal];
                let request = PathRequest::new(start, &goals, &ik);
                black_box(plan_path(&chain, &scene.obstacles, &settings.path, &request).is_ok())
            });
        });
        criterion.bench_function(&format!("plan/{obstacles}"), |bencher| {
            bencher.iter(|| {
                let (start, goal) = pairs.next().unwrap();
                let goals = [*goal];
                let request = PathRequest::new(start, &goals, &ik);
                black_box(plan(&chain, &scene.obstacles, &settings, &request).is_ok())
            });
        });
    }
}

criterion_group!(benches, plans);
criterion_main!(benches);
