//! What is asked of the tree solver, and what it answers.

use super::super::request::{Goal, InvalidRequest, Tolerances};
use super::super::verify::check_budget;
use crate::kinematics::Pose;
use crate::model::TreeChain;

/// What is asked of one tip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TipGoal {
    /// Pose of the tip in the world, the frame in which the base's pose is given.
    pub target: Pose,
    /// Which parts of it count.
    pub goal: Goal,
    /// What a squared error of this tip counts beside the others', more than 0: tips that cannot
    /// all be satisfied share what is left by it.
    pub weight: f64,
}

/// Where the base of the tree is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TreeBase {
    /// At this pose in the world; a mobile base that drives has another pose each time.
    Fixed(Pose),
    /// It moves as the tips need it, starting from here.
    Free(Pose),
}

impl TreeBase {
    /// The pose, or where it starts.
    pub fn pose(&self) -> Pose {
        match self {
            TreeBase::Fixed(pose) | TreeBase::Free(pose) => *pose,
        }
    }
}

/// One question: a goal for each tip.
#[derive(Clone)]
pub struct TreeRequest<'a> {
    /// One goal a tip, in the order of [`TreeChain::tips`].
    pub tips: Vec<TipGoal>,
    /// The base.
    pub base: TreeBase,
    /// How exact each tip must be.
    pub tolerances: Tolerances,
    /// Iterations that one descent may take.
    pub max_iterations: u32,
    /// Largest step of one joint in one iteration \[rad or m\].
    pub max_step: f64,
    /// Whether the solver may start again elsewhere than at the seed.
    pub restarts: bool,
    /// Asked now and then: true means time is up or the caller has gone.
    pub give_up: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl TreeRequest<'_> {
    /// A request with the defaults: base fixed at the world's origin, 1 µm and 1 µrad, 200
    /// iterations, steps of at most 0.35, restarts allowed.
    pub fn new(tips: Vec<TipGoal>) -> Self {
        TreeRequest {
            tips,
            base: TreeBase::Fixed(Pose::identity()),
            tolerances: Tolerances {
                position: 1e-6,
                orientation: 1e-6,
            },
            max_iterations: 200,
            max_step: 0.35,
            restarts: true,
            give_up: None,
        }
    }
}

/// How far one tip is from its target, by forward kinematics of the whole tree.
#[derive(Debug, Clone, PartialEq)]
pub struct TipResidual {
    /// Name of the tip link.
    pub tip: String,
    /// Distance along what is asked for \[m\].
    pub position_error: f64,
    /// Angle as far as it is asked for \[rad\].
    pub orientation_error: f64,
}

/// Joint values, inside the limits, and what they reach.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSolution {
    /// One value a degree of freedom of the tree \[rad, m\].
    pub q: Vec<f64>,
    /// The base's pose in the world: as given, or as found for a free base.
    pub base: Pose,
    /// One residual a tip.
    pub tips: Vec<TipResidual>,
    /// Iterations of passes and polish that it took.
    pub iterations: u32,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TreeError {
    /// Not all tips arrive.
    #[error("not all tips arrive{}: {}", if *timed_out { " in time" } else { "" }, off(best))]
    NotConverged {
        /// The least weighted error that was found.
        best: Box<TreeSolution>,
        /// Whether time ran out.
        timed_out: bool,
    },
    /// A vector of the wrong length.
    #[error("there are {got} {what}, the tree has {expected}")]
    WrongSize {
        /// `seed values` or `goals`.
        what: &'static str,
        /// How many there should be.
        expected: usize,
        /// Given.
        got: usize,
    },
    /// The base's pose is not finite.
    #[error("the base's pose is not finite")]
    BaseNotFinite,
    /// A tip's goal makes no sense.
    #[error("tip \"{tip}\": {reason}")]
    Tip {
        /// The tip.
        tip: String,
        /// Why.
        reason: InvalidRequest,
    },
    /// The request makes no sense.
    #[error("invalid request: {0}")]
    Invalid(#[from] InvalidRequest),
}

fn off(best: &TreeSolution) -> String {
    let tips = best.tips.iter().map(|tip| {
        format!(
            "{} is {:.3e} m and {:.3e} rad off",
            tip.tip, tip.position_error, tip.orientation_error
        )
    });
    tips.collect::<Vec<_>>().join(", ")
}

fn finite(pose: &Pose) -> bool {
    pose.translation.vector.iter().all(|v| v.is_finite())
        && pose.rotation.coords.iter().all(|v| v.is_finite())
}

/// Sizes and values.
pub(super) fn check(
    tree: &TreeChain,
    request: &TreeRequest<'_>,
    seed: &[f64],
) -> Result<(), TreeError> {
    for (what, expected, got) in [
        ("seed values", tree.dof(), seed.len()),
        ("goals", tree.tips.len(), request.tips.len()),
    ] {
        if expected != got {
            return Err(TreeError::WrongSize {
                what,
                expected,
                got,
            });
        }
    }
    for (dof, &value) in tree.dofs.iter().zip(seed) {
        if !value.is_finite() {
            return Err(InvalidRequest::JointValue {
                what: "seed",
                joint: dof.name.clone(),
                value,
            }
            .into());
        }
    }
    if !finite(&request.base.pose()) {
        return Err(TreeError::BaseNotFinite);
    }
    for (tip, goal) in tree.tips.iter().zip(&request.tips) {
        let reason = if !finite(&goal.target) {
            InvalidRequest::TargetNotFinite
        } else if goal.goal.rows() == 0 {
            InvalidRequest::NoTaskAxes
        } else if !(goal.weight.is_finite() && goal.weight > 0.0) {
            InvalidRequest::NotPositive {
                what: "the weight",
                value: goal.weight,
            }
        } else {
            continue;
        };
        return Err(TreeError::Tip {
            tip: tip.name.clone(),
            reason,
        });
    }
    check_budget(
        &request.tolerances,
        request.max_step,
        request.max_iterations,
    )?;
    Ok(())
}
