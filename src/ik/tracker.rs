//! One arm, many targets that lie close together: what a path asks for.
//!
//! The loop of [`super::LevenbergMarquardt`], made ready once for the chain, without the checks of
//! a request and the judgement of an answer: callers measure what they take (see [`Tracker::off`]).

use super::lm::{self, Budget, Descend};
use super::request::{Goal, IkRequest};
use crate::kinematics::{Pose, Residual};
use crate::model::Chain;

/// Iterations that a target near the guess may take.
const ITERATIONS: u32 = 24;

/// Largest step of one joint in one iteration \[rad or m\].
const MAX_STEP: f64 = 0.35;

/// Follows targets from guesses close to their answers.
pub struct Tracker {
    descend: Box<dyn Descend>,
    budget: Budget<'static>,
    goal: Goal,
}

impl std::fmt::Debug for Tracker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tracker").finish_non_exhaustive()
    }
}

impl Tracker {
    /// For `chain` and those parts of the poses that `goal` asks for; an answer is at most `position` \[m\]
    /// and `orientation` \[rad\] off. `None` for more than 64 degrees of freedom.
    pub fn new(chain: &Chain, goal: Goal, position: f64, orientation: f64) -> Option<Tracker> {
        let mut request = IkRequest::new(Pose::identity());
        request.goal = goal;
        let budget = Budget {
            iterations: ITERATIONS,
            max_step: MAX_STEP,
            position2: position * position,
            orientation2: orientation * orientation,
            impatient: true,
            damping: 0.1,
            give_up: None,
        };
        Some(Tracker {
            descend: lm::prepare(chain, &request)?,
            budget,
            goal,
        })
    }

    /// Which parts of a pose count.
    pub fn goal(&self) -> Goal {
        self.goal
    }

    /// What the next calls are about: a pose of the tip in the base frame.
    pub fn aim(&mut self, target: &Pose) {
        self.descend.aim(target);
    }

    /// From the guess in `q` (moved inside the limits first) to joint values that meet the target, by
    /// shortest steps: what the task leaves free stays as guessed, joints at a limit are held there.
    /// False where that fails; `q` then holds the nearest that was found.
    pub fn settle(&mut self, chain: &Chain, q: &mut [f64]) -> bool {
        self.settle_within(chain, q, ITERATIONS)
    }

    /// As [`Tracker::settle`], with at most so many iterations.
    pub fn settle_within(&mut self, chain: &Chain, q: &mut [f64], iterations: u32) -> bool {
        for (dof, value) in chain.dofs.iter().zip(q.iter_mut()) {
            *value = dof.clamp(*value);
        }
        self.budget.iterations = iterations;
        self.descend.descend(q, &self.budget).converged
    }

    /// How far `q`'s pose is from the target, as far as the goal asks for it.
    pub fn off(&self, q: &[f64]) -> Residual {
        self.descend.off(q)
    }

    /// Writes for each joint how fast its motion takes the tip nearer to the target at `q`: half the slope of the
    /// negative squared error \[m², rad² for each rad or m\], positive where a greater value is nearer.
    pub fn pull(&mut self, q: &[f64], pull: &mut [f64]) {
        self.descend.pull(q, pull);
    }

    /// Takes out of the joint motion `wish` what would move the tip at `q` in the parts that count.
    pub fn project_to_null_space(&mut self, q: &[f64], wish: &mut [f64]) {
        self.descend.project_to_null_space(q, wish);
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_arms::{arm, Random};
    use super::*;
    use crate::kinematics::{forward_kinematics, residual};

    #[test]
    fn follows_close_targets_and_measures_as_plain_kinematics_do() {
        let mut random = Random(911);
        let mut settled = 0;
        for round in 0..100 {
            let chain = arm(&mut random, 6 + round % 3, false, false);
            let mut tracker = Tracker::new(&chain, Goal::Pose, 1e-8, 1e-8).unwrap();
            let start = random.configuration(&chain);
            let near: Vec<f64> = start
                .iter()
                .zip(&chain.dofs)
                .map(|(value, dof)| dof.clamp(value + random.between(-0.02, 0.02)))
                .collect();
            let target = forward_kinematics(&chain, &near).unwrap();
            tracker.aim(&target);
            let mut q = start.clone();
            settled += u32::from(tracker.settle(&chain, &mut q));
            let plain = residual(&target, &forward_kinematics(&chain, &q).unwrap());
            let off = tracker.off(&q);
            assert!((plain.position - off.position).abs() < 1e-12);
            assert!((plain.orientation - off.orientation).abs() < 1e-7);
            assert!(chain.within_limits(&q));
        }
        assert!(settled >= 95, "{settled} of 100");
    }

    #[test]
    fn motion_in_the_null_space_leaves_the_tip_where_it_is() {
        let mut random = Random(912);
        for _ in 0..50 {
            let chain = arm(&mut random, 7, false, false);
            let mut tracker = Tracker::new(&chain, Goal::Pose, 1e-8, 1e-8).unwrap();
            let q = random.configuration(&chain);
            let mut wish: Vec<f64> = (0..7).map(|_| random.between(-1.0, 1.0)).collect();
            tracker.project_to_null_space(&q, &mut wish);
            let step = 1e-5;
            let moved: Vec<f64> = q.iter().zip(&wish).map(|(a, b)| a + step * b).collect();
            let tips = [&q, &moved].map(|q| forward_kinematics(&chain, q).unwrap());
            let off = residual(&tips[0], &tips[1]);
            let length = wish.iter().map(|part| part * part).sum::<f64>().sqrt();
            assert!(length > 1e-3, "nothing is left of the wish");
            assert!(off.position < 1e-8 && off.orientation < 1e-8, "{off:?}");
        }
    }
}
