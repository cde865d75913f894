//! What is asked of a solver, and what it answers.

use super::task::TaskAxes;
use crate::kinematics::Pose;
use crate::model::Chain;

/// Which parts of the tip's pose are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// Position and orientation.
    Pose,
    /// Position alone; the target's orientation is not looked at.
    Position,
    /// Some axes of the pose, for arms with fewer joints than a pose has parts.
    Axes(TaskAxes),
}

impl From<TaskAxes> for Goal {
    /// The plainest goal that asks for these axes.
    fn from(axes: TaskAxes) -> Goal {
        match (axes.position, axes.rotation) {
            ([true, true, true], [true, true, true]) => Goal::Pose,
            ([true, true, true], [false, false, false]) => Goal::Position,
            _ => Goal::Axes(axes),
        }
    }
}

impl Goal {
    /// How many independent parts of the pose are asked for.
    pub fn rows(&self) -> usize {
        match self {
            Goal::Pose => 6,
            Goal::Position => 3,
            Goal::Axes(axes) => axes.count(),
        }
    }
}

/// How far from the target an answer may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerances {
    /// Distance of the tip's origin from the target's \[m\].
    pub position: f64,
    /// Angle between the tip's and the target's orientation \[rad\].
    pub orientation: f64,
}

/// A configuration that the arm should stay close to where the goal leaves it free.
#[derive(Debug, Clone, PartialEq)]
pub struct Posture {
    /// One value a degree of freedom \[rad, m\].
    pub values: Vec<f64>,
    /// One weight a degree of freedom, not negative; 0: this joint does not care.
    pub weights: Vec<f64>,
}

/// A condition on answers, see [`IkRequest::accept`].
pub type Accept<'a> = dyn Fn(&[f64]) -> bool + Sync + 'a;

/// One question to a solver. Plain data: the same request and seed give the same answer,
/// bit for bit, unless `give_up` says stop.
#[derive(Clone)]
pub struct IkRequest<'a> {
    /// Pose of the chain's tip in its base frame.
    pub target: Pose,
    /// Which parts of it count.
    pub goal: Goal,
    /// How exact the answer must be.
    pub tolerances: Tolerances,
    /// Iterations that one descent of an iterative solver may take; solvers whose steps are
    /// cheaper and do less (`jacobian_transpose`, `ccd`) take more of them, see there.
    pub max_iterations: u32,
    /// Largest step of one joint in one iteration \[rad or m\].
    pub max_step: f64,
    /// Where redundancy and null space should lead.
    pub posture: Option<Posture>,
    /// Whether a solver may start again elsewhere than at the seed.
    pub restarts: bool,
    /// How far each joint may move from the seed \[rad, m\], one value a degree of freedom;
    /// an answer elsewhere is none.
    pub max_move: Option<Vec<f64>>,
    /// How many distinct answers are wanted; solvers that find one return one.
    pub max_solutions: usize,
    /// Asked now and then by iterative solvers: true means time is up or the caller has gone.
    pub give_up: Option<&'a (dyn Fn() -> bool + Sync)>,
    /// A further condition on answers, e.g. freedom from collision; an answer it refuses is not one.
    pub accept: Option<&'a Accept<'a>>,
}

impl IkRequest<'_> {
    /// A request for `target` with the defaults: full pose, 1 µm and 1 µrad, 200 iterations,
    /// steps of at most 0.35, restarts allowed, one answer, no posture, no limit of time.
    pub fn new(target: Pose) -> Self {
        IkRequest {
            target,
            goal: Goal::Pose,
            tolerances: Tolerances {
                position: 1e-6,
                orientation: 1e-6,
            },
            max_iterations: 200,
            max_step: 0.35,
            posture: None,
            restarts: true,
            max_move: None,
            max_solutions: 1,
            give_up: None,
            accept: None,
        }
    }
}

/// An answer that was verified by forward kinematics, lies inside the limits and meets the tolerances.
#[derive(Debug, Clone, PartialEq)]
pub struct IkSolution {
    /// Joint values \[rad, m\], one a degree of freedom.
    pub q: Vec<f64>,
    /// Distance of the tip from the target \[m\] along the axes asked for, by forward
    /// kinematics of `q`.
    pub position_error: f64,
    /// Angle to the target's orientation \[rad\] as far as the goal asks for it (see
    /// [`TaskAxes`]); 0 for [`Goal::Position`].
    pub orientation_error: f64,
    /// Iterations that it took.
    pub iterations: u32,
    /// Name of the solver that found it.
    pub solver: &'static str,
}

/// The best that was reached without meeting the tolerances.
pub type Attempt = IkSolution;

/// What makes a request impossible to understand.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InvalidRequest {
    /// NaN or infinity in the target.
    #[error("the target pose is not finite")]
    TargetNotFinite,
    /// A goal of task axes that asks for none.
    #[error("the goal asks for no task axis: name at least one")]
    NoTaskAxes,
    /// A tolerance that is not a positive finite number.
    #[error("the {what} tolerance {value} is not a positive number")]
    Tolerance {
        /// `position` or `orientation`.
        what: &'static str,
        /// The value given.
        value: f64,
    },
    /// NaN or infinity in seed or posture.
    #[error("the {what} of joint \"{joint}\" is not finite ({value})")]
    JointValue {
        /// `seed`, `posture` or `weight`.
        what: &'static str,
        /// The joint.
        joint: String,
        /// The value given.
        value: f64,
    },
    /// Something else that must be positive is not.
    #[error("{what} must be positive, not {value}")]
    NotPositive {
        /// What.
        what: &'static str,
        /// The value given.
        value: f64,
    },
}

/// A joint that an answer without limits would need outside its limits.
#[derive(Debug, Clone, PartialEq)]
pub struct BeyondLimit {
    /// The joint.
    pub joint: String,
    /// The value that it would need \[rad or m\].
    pub needed: f64,
    /// Its limits \[rad or m\].
    pub lower: f64,
    /// See `lower`.
    pub upper: f64,
}

fn beyond(joints: &[BeyondLimit]) -> String {
    let mut text = String::new();
    for (index, joint) in joints.iter().enumerate() {
        let lead = if index == 0 {
            "; beyond the joint limits it would be reached with"
        } else {
            ","
        };
        text.push_str(&format!(
            "{lead} {} = {:.4} (limits {:.4} to {:.4})",
            joint.joint, joint.needed, joint.lower, joint.upper
        ));
    }
    text
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum IkError {
    /// No configuration gets there, whatever the limits: proven by distance.
    #[error("the target is out of reach: {distance:.4} m from the first joint, the arm reaches {reach:.4} m at most ({:.4} m too far)", distance - reach)]
    Unreachable {
        /// Distance of the target from the first joint \[m\].
        distance: f64,
        /// What the arm can reach \[m\].
        reach: f64,
        /// The nearest that was found, where a solver looked.
        best: Option<Box<Attempt>>,
    },
    /// No configuration gets there: all axes of rotation are parallel, and the tip stays in its plane.
    #[error("the target is out of reach: all axes of the arm are parallel, and the target is {position:.4} m off the plane in which the tip can move and tilted by {orientation:.4} rad against it")]
    OffMotionPlane {
        /// Least distance \[m\] that remains whatever the joint values.
        position: f64,
        /// Least angle \[rad\] that remains.
        orientation: f64,
        /// The nearest that was found, where a solver looked.
        best: Option<Box<Attempt>>,
    },
    /// The iteration or time budget is used up; the best try is there to judge.
    #[error("{solver} did not converge{}: its best try is {:.3e} m and {:.3e} rad off after {} iterations{}{}", if *timed_out { " in time" } else { "" }, best.position_error, best.orientation_error, best.iterations, if *refused > 0 { format!(" ({refused} answers were refused by the collision check)") } else { String::new() }, beyond(beyond_limits))]
    NotConverged {
        /// Name of the solver.
        solver: &'static str,
        /// The best try: inside the limits, not within the tolerances.
        best: Box<Attempt>,
        /// Whether time ran out (else: iterations or ideas).
        timed_out: bool,
        /// How many answers the caller's `accept` refused.
        refused: u32,
        /// The joints that would have to leave their limits for the answer nearest to the best
        /// try; empty if no such answer was found or looked for.
        beyond_limits: Vec<BeyondLimit>,
    },
    /// The solver cannot treat this kind of chain or goal.
    #[error("{solver} does not support this chain: {reason}")]
    UnsupportedChain {
        /// Name of the solver.
        solver: &'static str,
        /// Why not.
        reason: String,
    },
    /// A vector of the wrong length.
    #[error("the {what} has {got} values, the chain has {expected} degrees of freedom")]
    WrongSize {
        /// `seed`, `posture`, `weights` or `max_move`.
        what: &'static str,
        /// Degrees of freedom.
        expected: usize,
        /// Values given.
        got: usize,
    },
    /// The request makes no sense.
    #[error("invalid request: {0}")]
    Invalid(#[from] InvalidRequest),
}

impl IkError {
    /// Whether it is proven that no configuration reaches the target.
    pub fn is_unreachable(&self) -> bool {
        matches!(
            self,
            IkError::Unreachable { .. } | IkError::OffMotionPlane { .. }
        )
    }

    /// The nearest that was found, where a solver looked: inside the limits, not within the
    /// tolerances (or refused by the caller's `accept`).
    pub fn best(&self) -> Option<&Attempt> {
        match self {
            IkError::Unreachable { best, .. } | IkError::OffMotionPlane { best, .. } => {
                best.as_deref()
            }
            IkError::NotConverged { best, .. } => Some(best),
            IkError::UnsupportedChain { .. } | IkError::WrongSize { .. } | IkError::Invalid(_) => {
                None
            }
        }
    }
}

/// A method of inverse kinematics. Implementations are pure: no clock, no randomness, no state.
pub trait IkSolver: Send + Sync {
    /// The name by which users select it.
    fn name(&self) -> &'static str;

    /// Finds joint values that bring the tip to the request's target, starting from `seed`
    /// (clamped to the limits first).
    ///
    /// # Errors
    /// See [`IkError`].
    fn solve(
        &self,
        chain: &Chain,
        request: &IkRequest<'_>,
        seed: &[f64],
    ) -> Result<IkSolution, IkError>;

    /// Up to `request.max_solutions` distinct answers, nearest to the seed first; at least one.
    ///
    /// # Errors
    /// See [`IkError`].
    fn solve_all(
        &self,
        chain: &Chain,
        request: &IkRequest<'_>,
        seed: &[f64],
    ) -> Result<Vec<IkSolution>, IkError> {
        self.solve(chain, request, seed)
            .map(|solution| vec![solution])
    }
}

impl std::fmt::Debug for dyn IkSolver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}
