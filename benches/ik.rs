//! Single calls of inverse kinematics, by class of arm: forward-kinematics check and limits
//! included. `cargo bench --bench ik`.

use std::hint::black_box;

use arm_planner::ik::{
    solve_tree, solver, tip_poses, Goal, IkRequest, IkSolver, TipGoal, TreeRequest,
};
use arm_planner::kinematics::{forward_kinematics, Pose};
use arm_planner::model::{Chain, RobotModel};
use criterion::{criterion_group, criterion_main, Criterion};

#[path = "../tests/ik_support/mod.rs"]
mod ik_support;

use ik_support::{eight_joints, planar, seven_joints, six_joints, Random};

/// Targets and starts drawn once; one iteration of the benchmark solves the next of them.
struct Calls {
    chain: Chain,
    requests: Vec<(IkRequest<'static>, Vec<f64>)>,
}

impl Calls {
    fn new(chain: Chain, spread: f64) -> Self {
        let mut random = Random(1);
        let requests = (0..512)
            .map(|_| {
                let truth = random.configuration(&chain);
                let start = random.configuration(&chain);
                let seed = truth.iter().zip(&start).zip(&chain.dofs);
                let seed = seed
                    .map(|((truth, start), dof)| dof.clamp(truth + spread * (start - truth)))
                    .collect();
                let target = forward_kinematics(&chain, &truth).unwrap();
                (IkRequest::new(target), seed)
            })
            .collect();
        Calls { chain, requests }
    }

    fn run(&self, criterion: &mut Criterion, name: &str, solver: &dyn IkSolver) {
        let mut next = self.requests.iter().cycle();
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                let (request, seed) = next.next().unwrap();
                black_box(solver.solve(&self.chain, request, black_box(seed)).is_ok())
            });
        });
    }
}

fn arms(criterion: &mut Criterion) {
    let arms = [
        ("planar3", planar(&[0.5, 0.4, 0.3], -3.0, 3.0)),
        ("six_joints", six_joints()),
        ("seven_joints", seven_joints()),
        ("eight_joints", eight_joints()),
    ];
    for (name, chain) in arms {
        for (protocol, spread) in [("near", 0.03), ("random", 1.0)] {
            let calls = Calls::new(chain.clone(), spread);
            let name = format!("portfolio/{name}/{protocol}");
            calls.run(criterion, &name, solver("").unwrap());
        }
    }
}

fn solvers(criterion: &mut Criterion) {
    let calls = Calls::new(seven_joints(), 0.03);
    for name in ["levenberg_marquardt", "damped_svd", "fabrik", "ccd"] {
        let label = format!("{name}/seven_joints/near");
        calls.run(criterion, &label, solver(name).unwrap());
    }
}

/// The two hands of a torso at once, from the middle of the limits.
fn trees(criterion: &mut Criterion) {
    let model = RobotModel::from_urdf(include_str!("../urdf/two_arm_torso.urdf")).unwrap();
    let tree = model.tree("", &["left_hand", "right_hand"], false).unwrap();
    for (label, goal) in [("poses", Goal::Pose), ("positions", Goal::Position)] {
        let mut random = Random(2);
        let requests: Vec<TreeRequest<'static>> = (0..128)
            .map(|_| {
                let dofs = tree.dofs.iter();
                let truth: Vec<f64> = dofs
                    .map(|dof| random.between(dof.lower, dof.upper))
                    .collect();
                let poses = tip_poses(&tree, &Pose::identity(), &truth);
                let tips = poses.into_iter().map(|target| TipGoal {
                    target,
                    goal,
                    weight: 1.0,
                });
                TreeRequest::new(tips.collect())
            })
            .collect();
        let seed = tree.middle();
        let solved = requests
            .iter()
            .filter(|request| solve_tree(&tree, request, &seed).is_ok())
            .count();
        println!("fabrik_tree/{label}: {solved} of {} solved", requests.len());
        let mut next = requests.iter().cycle();
        criterion.bench_function(&format!("fabrik_tree/{label}"), |bencher| {
            bencher.iter(|| {
                let request = next.next().unwrap();
                black_box(solve_tree(&tree, request, black_box(&seed)).is_ok())
            });
        });
    }
}

criterion_group!(benches, arms, solvers, trees);
criterion_main!(benches);
