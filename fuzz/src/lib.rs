//! What the fuzz targets do with their bytes. Nothing here may panic, whatever comes in.

use std::sync::atomic::{AtomicU32, Ordering};

use arm_planner::ik::{
    solve_nearest, solve_tree, solver, solver_names, Goal, IkError, IkRequest, Nearest, Posture,
    TaskAxes, TipGoal, TreeBase, TreeError, TreeRequest,
};
use arm_planner::kinematics::{forward_kinematics, jacobian, link_poses, validated_pose, Pose};
use arm_planner::model::{Chain, RobotModel};
use nalgebra::{Quaternion, UnitQuaternion, Vector3};

/// URDF text to a model, all its chains, and forward kinematics of these.
pub fn urdf(text: &str) {
    let Ok(model) = RobotModel::from_urdf(text) else {
        return;
    };
    // What was understood must be understood again, and mean the same.
    let again = RobotModel::from_urdf(model.cleaned_urdf()).expect("cleaned text is readable");
    assert_eq!(again.links.len(), model.links.len());
    assert_eq!(again.joints.len(), model.joints.len());
    let tips: Vec<&str> = model.leaf_links().into_iter().take(8).collect();
    for tip in &tips {
        for soft in [false, true] {
            let Ok(chain) = model.chain("", tip, soft) else {
                continue;
            };
            let q = chain.middle();
            assert!(chain.within_limits(&q), "{:?}", chain.dofs);
            let pose = forward_kinematics(&chain, &q).expect("the size is right");
            let links = link_poses(&chain, &q).expect("the size is right");
            assert_eq!(links.len(), chain.links.len());
            let matrix = jacobian(&chain, &q).expect("the size is right");
            assert_eq!(matrix.ncols(), chain.dof());
            // Descriptions that the reader lets through have no NaN; huge ones may overflow.
            assert!(!pose.rotation.w.is_nan());
            let mut request = IkRequest::new(pose);
            request.max_iterations = 5;
            request.restarts = false;
            let _ = solver("").expect("the default").solve(&chain, &request, &q);
        }
    }
    if let Ok(tree) = model.tree("", &tips, false) {
        let tips = tree.tips.iter().map(|_| TipGoal {
            target: Pose::identity(),
            goal: Goal::Position,
            weight: 1.0,
        });
        let mut request = TreeRequest::new(tips.collect());
        request.max_iterations = 3;
        request.restarts = false;
        let _ = solve_tree(&tree, &request, &tree.middle());
    }
}

/// A stream of numbers from bytes: mostly ordinary ones, and all that are not.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first
            }
            // An ordinary one: short inputs are ordinary requests.
            None => 128,
        }
    }

    fn number(&mut self) -> f64 {
        match self.byte() {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => f64::MAX,
            4 => -f64::MAX,
            5 => f64::MIN_POSITIVE,
            6 => 5e-324,
            7 => -0.0,
            8 => 1e30,
            9 => {
                let mut bits = [0; 8];
                for bit in &mut bits {
                    *bit = self.byte();
                }
                f64::from_le_bytes(bits)
            }
            10..=14 => (f64::from(self.byte()) - 128.0) * 1e3,
            _ => (f64::from(self.byte()) - 128.0) / 100.0,
        }
    }

    /// Ordinary nine times of ten.
    fn tame(&mut self) -> f64 {
        if self.byte() < 25 {
            self.number()
        } else {
            (f64::from(self.byte()) - 128.0) / 128.0
        }
    }

    fn list(&mut self, length: usize) -> Vec<f64> {
        let length = match self.byte() {
            0 => length + 1,
            1 => length.saturating_sub(1),
            2 => 0,
            _ => length,
        };
        (0..length).map(|_| self.tame()).collect()
    }

    /// Through the front door, or as a caller of the library may build it.
    fn pose(&mut self) -> Pose {
        let position = [self.tame(), self.tame(), self.tame()];
        let quaternion = [self.tame(), self.tame(), self.tame(), self.tame()];
        match validated_pose(position, quaternion) {
            Ok(pose) => pose,
            Err(_) => {
                let [x, y, z, w] = quaternion;
                Pose::from_parts(
                    Vector3::from(position).into(),
                    UnitQuaternion::new_unchecked(Quaternion::new(w, x, y, z)),
                )
            }
        }
    }

    fn goal(&mut self) -> Goal {
        let bits = self.byte();
        match bits & 3 {
            0 => Goal::Pose,
            1 => Goal::Position,
            _ => {
                let mask = self.byte();
                let bit = |place: u32| mask >> place & 1 == 1;
                Goal::Axes(TaskAxes {
                    position: [bit(0), bit(1), bit(2)],
                    rotation: [bit(3), bit(4), bit(5)],
                })
            }
        }
    }

    fn positive(&mut self, usual: f64) -> f64 {
        if self.byte() < 25 {
            self.number()
        } else {
            usual
        }
    }
}

/// How often a solver may ask whether to give up before it counts as endless.
const PATIENCE: u32 = 2_000_000;

/// One request, put together from bytes, to every solver: answers lie inside limits and
/// tolerances, failures have names, best tries lie inside the limits. Whether the request made
/// sense to any solver.
pub fn requests(chain: &Chain, bytes: &[u8]) -> bool {
    let mut numbers = Numbers(bytes);
    let asked = AtomicU32::new(0);
    // Gives up after a while, as a clock would; a solver that never asks runs on its budget.
    let (timed, limit) = (numbers.byte(), 1 + u32::from(numbers.byte()) * 8);
    let give_up = || {
        let count = asked.fetch_add(1, Ordering::Relaxed);
        assert!(count < PATIENCE, "it does not give up");
        count >= limit
    };
    let mut request = IkRequest::new(numbers.pose());
    request.goal = numbers.goal();
    request.tolerances.position = numbers.positive(1e-6);
    request.tolerances.orientation = numbers.positive(1e-6);
    request.max_step = numbers.positive(0.35);
    request.max_iterations = u32::from(numbers.byte() % 64);
    request.restarts = numbers.byte() & 1 == 0;
    request.max_solutions = match numbers.byte() {
        0 => 0,
        many => 1 + usize::from(many % 3),
    };
    let options = numbers.byte();
    if options & 1 == 1 {
        request.posture = Some(Posture {
            values: numbers.list(chain.dof()),
            weights: numbers.list(chain.dof()),
        });
    }
    if options & 2 == 2 {
        request.max_move = Some(numbers.list(chain.dof()));
    }
    // Budgets of iterations must do without a clock, too.
    if timed % 4 > 0 {
        request.give_up = Some(&give_up);
    }
    let seed = numbers.list(chain.dof());
    let mut understood = false;
    for name in solver_names() {
        let solver = solver(name).expect("it is on the list");
        asked.store(0, Ordering::Relaxed);
        match solver.solve_all(chain, &request, &seed) {
            Ok(solutions) => {
                understood = true;
                assert!(!solutions.is_empty());
                for solution in &solutions {
                    assert!(chain.within_limits(&solution.q), "{name}");
                    assert!(solution.position_error <= request.tolerances.position);
                    assert!(solution.orientation_error <= request.tolerances.orientation);
                }
            }
            Err(error) => {
                understood |= error.best().is_some();
                failed(chain, name, &error);
            }
        }
        asked.store(0, Ordering::Relaxed);
        match solve_nearest(solver, chain, &request, &seed) {
            Ok(Nearest::Reached(attempt) | Nearest::Approached { best: attempt, .. }) => {
                assert!(chain.within_limits(&attempt.q), "{name}");
            }
            Err(error) => failed(chain, name, &error),
        }
    }
    understood
}

fn failed(chain: &Chain, name: &str, error: &IkError) {
    assert!(!error.to_string().is_empty());
    if let Some(best) = error.best() {
        assert!(chain.within_limits(&best.q), "{name}: {error}");
    }
}

/// One request to the solver for several tips. Whether it made sense.
pub fn tree_requests(model: &RobotModel, tips: &[&str], bytes: &[u8]) -> bool {
    let tree = model.tree("", tips, false).expect("the tips exist");
    let mut numbers = Numbers(bytes);
    let asked = AtomicU32::new(0);
    let limit = 1 + u32::from(numbers.byte());
    let give_up = || {
        let count = asked.fetch_add(1, Ordering::Relaxed);
        assert!(count < PATIENCE, "it does not give up");
        count >= limit
    };
    let goals = tips.iter().map(|_| TipGoal {
        target: numbers.pose(),
        goal: numbers.goal(),
        weight: numbers.positive(1.0),
    });
    let mut request = TreeRequest::new(goals.collect());
    let base = numbers.pose();
    request.base = if numbers.byte() & 1 == 0 {
        TreeBase::Fixed(base)
    } else {
        TreeBase::Free(base)
    };
    request.tolerances.position = numbers.positive(1e-6);
    request.tolerances.orientation = numbers.positive(1e-6);
    request.max_step = numbers.positive(0.35);
    request.max_iterations = u32::from(numbers.byte() % 40);
    request.give_up = Some(&give_up);
    let seed = numbers.list(tree.dof());
    match solve_tree(&tree, &request, &seed) {
        Ok(solution) => {
            assert!(tree.within_limits(&solution.q));
            for tip in &solution.tips {
                assert!(tip.position_error <= request.tolerances.position);
                assert!(tip.orientation_error <= request.tolerances.orientation);
            }
        }
        Err(TreeError::NotConverged { best, .. }) => assert!(tree.within_limits(&best.q)),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    }
    true
}
