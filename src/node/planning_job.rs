//! From what was asked for to a plan; computes, so call it where that holds nothing up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::codes::{Code, Failure};
use super::collisions::Checker;
use super::context::View;
use super::ik_request::from_parameters;
use super::obstacles::{ObstacleSet, Sent};
use crate::kinematics::Pose;
use crate::motion::{plan, Plan, PlanError, PlanErrorKind, PlanSettings};
use crate::planning::{check_goals, PathRequest, PathSettings};
use crate::trajectory::{MotionLimits, TimedPath, Trajectory};

/// What is to be planned.
#[derive(Debug, Clone)]
pub struct Order {
    /// Joint values at the start.
    pub start: Vec<f64>,
    /// Poses of the tip in the base frame, visited in order.
    pub goals: Vec<Pose>,
    /// Distance to obstacles \[m\]; negative: the parameter's.
    pub clearance: f64,
    /// Name of the road map; empty: the parameter's.
    pub roadmap: String,
    /// Changes to the obstacles for this order alone.
    pub extra: Vec<Sent>,
    /// Fraction of the velocity limits; 0: the parameter's.
    pub velocity_scaling: f64,
    /// Fraction of the acceleration limits; 0: the parameter's.
    pub acceleration_scaling: f64,
    /// Whether the tip may leave its route; the parameter may allow it, too.
    pub leave_route: bool,
    /// Whether the part of the way that is possible is wanted where not all of it is.
    pub partial: bool,
}

impl Order {
    /// From `start` to `goals`, everything else by the parameters.
    pub fn new(start: Vec<f64>, goals: Vec<Pose>) -> Order {
        Order {
            start,
            goals,
            clearance: -1.0,
            roadmap: String::new(),
            extra: Vec::new(),
            velocity_scaling: 0.0,
            acceleration_scaling: 0.0,
            leave_route: false,
            partial: false,
        }
    }
}

/// A plan, and what it was made with.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The arm's limits without scaling, for the gate.
    pub limits: MotionLimits,
    /// The limits that it keeps, scaling included.
    pub scaled: MotionLimits,
    /// Time between two points of the trajectory \[s\].
    pub period: f64,
    /// What a user should know.
    pub notes: Vec<String>,
    /// How long it took.
    pub time: Duration,
    /// Whether a link other than the tip meets an obstacle on the way.
    pub beware: bool,
    /// The distance to obstacles that was kept \[m\].
    pub clearance: f64,
    /// The obstacles that were known.
    pub known: Arc<ObstacleSet>,
    /// What it was planned for.
    pub order: Order,
}

impl Planned {
    /// In words, with the trajectory that was made of it.
    pub fn summary(&self, sent: &Trajectory) -> String {
        let path = &self.plan.path;
        let near = if path.min_clearance.is_finite() {
            format!(", {:.3} m from the nearest obstacle", path.min_clearance)
        } else {
            String::new()
        };
        format!(
            "path of {:.3} m in {:.2} s{near} (road map {})",
            path.length,
            sent.duration(),
            path.scene.roadmap
        )
    }
}

/// Why there is no plan, and how far one could come.
#[derive(Debug, Clone, PartialEq)]
pub struct Unplanned {
    /// Why.
    pub failure: Failure,
    /// Part of the path that the joints can follow, 0 to 1.
    pub fraction: f64,
    /// The tip's path so far.
    pub tip_path: Vec<Pose>,
    /// The motion so far, where it was asked for.
    pub trajectory: Option<Trajectory>,
}

impl Unplanned {
    /// What is to be said of a plan that failed; with `partial`, the motion up to there.
    fn new(error: PlanError, view: &View, settings: &PlanSettings, partial: bool) -> Unplanned {
        let chain = &view.robot.chain;
        let trajectory = error.partial().filter(|_| partial).and_then(|part| {
            let limits = &settings.limits;
            let timed = TimedPath::with_options(&part.joint_path, chain, limits, &settings.timing);
            let trajectory = timed
                .ok()?
                .trajectory(chain.joint_names(), settings.sample_period);
            trajectory.ok()
        });
        Unplanned {
            trajectory,
            failure: failure_of(&error, view),
            fraction: error.fraction(),
            tip_path: error
                .partial()
                .map_or(Vec::new(), |partial| partial.tip_path.clone()),
        }
    }
}

/// What the core says of a plan, and where it ran out of time, how much of it there was: the core knows no
/// clock, and the user not which of the node's it was.
fn failure_of(error: &PlanError, view: &View) -> Failure {
    let mut failure = Failure::from(error);
    if error.kind() == PlanErrorKind::TimedOut {
        let timeout = view.parameters.planning.timeout;
        let allowed = format!(" ({timeout:?}, the parameter planning.timeout)");
        failure.message.push_str(&allowed);
    }
    failure
}

impl From<Failure> for Unplanned {
    fn from(failure: Failure) -> Self {
        Unplanned {
            failure,
            fraction: 0.0,
            tip_path: Vec::new(),
            trajectory: None,
        }
    }
}

/// Plans; `cancelled` and `expired` make it give up.
///
/// # Errors
/// See [`Unplanned`].
pub fn plan_order(
    view: &View,
    order: &Order,
    cancelled: &(dyn Fn() -> bool + Sync),
    expired: &(dyn Fn() -> bool + Sync),
) -> Result<Planned, Unplanned> {
    let started = Instant::now();
    let parameters = &view.parameters;
    let chain = &view.robot.chain;
    let (obstacles, notes) = with_extra(view, &order.extra)?;
    let (settings, limits) = settings_of(view, order)?;
    let give_up = || cancelled() || expired();
    let template = from_parameters(parameters, chain, chain, Pose::identity(), &give_up);
    let mut notes = notes;
    let arm = arm_to_plan_with(view, &obstacles, &mut notes);
    let request = PathRequest {
        solver: &parameters.ik.solver,
        collision: arm.as_ref().map(Checker::arm_check),
        leave_route: order.leave_route || parameters.planning.leave_route,
        ..PathRequest::new(&order.start, &order.goals, &template)
    };
    let result = plan(chain, obstacles.list(), &settings, &request);
    if cancelled() {
        return Err(super::mover::preempted().into());
    }
    let plan = result.map_err(|error| Unplanned::new(error, view, &settings, order.partial))?;
    notes.extend(plan.path.notes.iter().cloned());
    let mut beware = None;
    if arm.is_none() && !obstacles.is_empty() {
        // A robot without shapes, or a world that cannot be checked, has no such note.
        let checker = Checker::new(view, chain, &obstacles, &mut Vec::new());
        beware = checker
            .ok()
            .and_then(|checker| checker.meets_on_the_way(&plan.trajectory));
        notes.extend(beware.clone());
    }
    Ok(Planned {
        plan,
        limits,
        scaled: settings.limits,
        period: settings.sample_period,
        notes,
        time: started.elapsed(),
        clearance: settings.path.clearance,
        beware: beware.is_some(),
        known: Arc::clone(&view.obstacles),
        order: order.clone(),
    })
}

/// The whole arm, where it is to be planned with and can be; what stands against it is added to
/// `notes`.
fn arm_to_plan_with(
    view: &View,
    obstacles: &Arc<ObstacleSet>,
    notes: &mut Vec<String>,
) -> Option<Checker> {
    if !view.parameters.planning.whole_arm {
        return None;
    }
    match Checker::with_clearance(view, obstacles) {
        Ok(checker) => Some(checker),
        Err(failure) => {
            notes.push(format!(
                "only the tip is kept out of obstacles: {}",
                failure.message
            ));
            None
        }
    }
}

/// The arm's limits with the scaling of an order, and without.
///
/// # Errors
/// Factors that are no fractions.
pub fn scaled_limits(view: &View, order: &Order) -> Result<(MotionLimits, MotionLimits), Failure> {
    let parameters = &view.parameters;
    let limits = parameters
        .motion_limits(&view.robot.chain)
        .map_err(Failure::from)?;
    let or_parameter = |sent: f64, parameter: f64| if sent == 0.0 { parameter } else { sent };
    let scaled = limits
        .scaled(
            or_parameter(order.velocity_scaling, parameters.timing.velocity_scaling),
            or_parameter(
                order.acceleration_scaling,
                parameters.timing.acceleration_scaling,
            ),
        )
        .map_err(Failure::from)?;
    Ok((scaled, limits))
}

/// How an order is to be planned, and the arm's limits without scaling.
fn settings_of(view: &View, order: &Order) -> Result<(PlanSettings, MotionLimits), Failure> {
    let parameters = &view.parameters;
    let (scaled, limits) = scaled_limits(view, order)?;
    let settings = PlanSettings {
        path: PathSettings {
            clearance: clearance(order.clearance, parameters.planning.clearance)?,
            roadmap: if order.roadmap.is_empty() {
                parameters.planning.roadmap.clone()
            } else {
                order.roadmap.clone()
            },
            contact: parameters.planning.contact,
            arc_tolerance: parameters.planning.arc_tolerance,
            tip_step: parameters.planning.tip_step,
            angle_step: parameters.planning.angle_step,
            max_joint_step: parameters.planning.max_joint_step,
            limit_tolerance: parameters.limit_tolerance,
            plane: view.plane()?,
            safe_height: parameters.planning.safe_height,
            deviation: parameters.planning.deviation,
            angle_deviation: parameters.planning.angle_deviation,
            ..PathSettings::default()
        },
        limits: scaled,
        sample_period: parameters.timing.sample_period,
        timing: parameters.timing.tip.clone(),
    };
    Ok((settings, limits))
}

/// What can be said of an order in a moment, before anything else is given up for it: names,
/// numbers, obstacles of its own, and whether joint values exist for its goals.
///
/// # Errors
/// What [`plan_order`] would say.
pub fn check_order(
    view: &View,
    order: &Order,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<(), Failure> {
    let started = Instant::now();
    let chain = &view.robot.chain;
    let (settings, _) = settings_of(view, order)?;
    let (obstacles, _) = with_extra(view, &order.extra)?;
    let timeout = view.parameters.planning.timeout;
    let give_up = || cancelled() || started.elapsed() >= timeout;
    let template = from_parameters(&view.parameters, chain, chain, Pose::identity(), &give_up);
    let arm = arm_to_plan_with(view, &obstacles, &mut Vec::new());
    let request = PathRequest {
        solver: &view.parameters.ik.solver,
        collision: arm.as_ref().map(Checker::arm_check),
        ..PathRequest::new(&order.start, &order.goals, &template)
    };
    check_goals(chain, obstacles.list(), &settings.path, &request)
        .map_err(|error| failure_of(&PlanError::from(error), view))
}

fn clearance(sent: f64, parameter: f64) -> Result<f64, Failure> {
    if sent.is_finite() {
        return Ok(if sent < 0.0 { parameter } else { sent });
    }
    let message = format!("clearance is {sent}: send metres, or a negative number for the parameter planning.clearance");
    Err(Failure::new(Code::InvalidRequest, message))
}

/// The obstacles that are known with the changes that an order brings along, and what is to be
/// said about those.
///
/// # Errors
/// [`Code::InvalidObstacle`] and other faults in them.
pub fn with_extra(view: &View, extra: &[Sent]) -> Result<(Arc<ObstacleSet>, Vec<String>), Failure> {
    if extra.is_empty() {
        return Ok((Arc::clone(&view.obstacles), Vec::new()));
    }
    let options = &view.parameters.planning.polygon;
    match view.obstacles.changed(
        &view.named(extra.to_vec()),
        false,
        &view.plane_frames(),
        options,
    ) {
        Ok(applied) => Ok((Arc::new(applied.set), applied.notes)),
        Err(errors) => Err(super::obstacles::failure(&errors).of("extra_obstacles")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinematics::forward_kinematics;
    use crate::node::test_data::{square, view, with_obstacles};
    use nalgebra::Translation3;
    use r2r::ParameterValue;

    const Q: [f64; 6] = [0.0, -1.2, 1.6, -0.4, 1.57, 0.0];

    /// From the six-joint arm's pose to one 0.3 m beside it.
    fn sideways(view: &View) -> (Order, Pose) {
        let start = forward_kinematics(&view.robot.chain, &Q).unwrap();
        let goal = Translation3::new(0.0, 0.3, 0.0) * start;
        (Order::new(Q.to_vec(), vec![goal]), start)
    }

    fn code(view: &View, order: &Order) -> (Code, String) {
        let failure = plan_order(view, order, &|| false, &|| false)
            .unwrap_err()
            .failure;
        (failure.code, failure.message)
    }

    #[test]
    fn obstacles_of_the_order_alone_are_gone_around_and_the_known_ones_can_be_left_out() {
        // The tip's way alone: the wrist is wider than these clearances.
        let alone = [("planning.whole_arm", ParameterValue::Bool(false))];
        let view = view("six_axis", &Q, &alone);
        let (mut order, start) = sideways(&view);
        let middle = start.translation.vector;
        let straight = plan_order(&view, &order, &|| false, &|| false).unwrap();
        assert!((straight.plan.path.length - 0.3).abs() < 1e-6);
        let wall = square("wall", middle.x, middle.y + 0.15, 0.04);
        order.extra = vec![wall.clone()];
        let around = plan_order(&view, &order, &|| false, &|| false).unwrap();
        assert!(around.plan.path.length > 0.31);
        assert!((around.plan.path.min_clearance - 0.03).abs() < 1e-3);
        order.clearance = 0.05;
        let wider = plan_order(&view, &order, &|| false, &|| false).unwrap();
        assert!(wider.plan.path.length > around.plan.path.length);
        // Known to the node, and removed for this order.
        let known = with_obstacles(view.clone(), std::slice::from_ref(&wall));
        order.extra = vec![Sent {
            operation: crate::node::obstacles::Operation::Remove,
            ..wall
        }];
        let without = plan_order(&known, &order, &|| false, &|| false).unwrap();
        assert!((without.plan.path.length - 0.3).abs() < 1e-6);
    }

    #[test]
    fn scaling_makes_the_motion_slower() {
        let view = view("six_axis", &Q, &[]);
        let (mut order, _) = sideways(&view);
        let fast = plan_order(&view, &order, &|| false, &|| false)
            .unwrap()
            .plan
            .trajectory
            .duration();
        (order.velocity_scaling, order.acceleration_scaling) = (0.1, 0.1);
        let slow = plan_order(&view, &order, &|| false, &|| false)
            .unwrap()
            .plan
            .trajectory
            .duration();
        assert!(slow > 2.0 * fast, "{slow} {fast}");
    }

    #[test]
    fn each_fault_has_its_code() {
        let view = view("six_axis", &Q, &[]);
        let (order, start) = sideways(&view);
        let (x, y) = (start.translation.vector.x, start.translation.vector.y);
        let with = |change: &dyn Fn(&mut Order)| {
            let mut order = order.clone();
            change(&mut order);
            code(&view, &order)
        };
        assert_eq!(with(&|o| o.clearance = f64::NAN).0, Code::InvalidRequest);
        assert_eq!(
            with(&|o| o.roadmap = "a_star".into()).0,
            Code::UnknownRoadmap
        );
        assert_eq!(with(&|o| o.velocity_scaling = 1.5).0, Code::InvalidRequest);
        assert_eq!(with(&|o| o.goals = vec![]).0, Code::InvalidRequest);
        assert_eq!(with(&|o| o.start[2] = 4.0).0, Code::StartStateInvalid);
        let (code, text) = with(&|o| o.extra = vec![square("here", x, y, 0.05)]);
        assert_eq!(code, Code::StartStateInCollision);
        assert!(text.contains("here"), "{text}");
        let (code, text) = with(&|o| o.extra = vec![square("there", x, y + 0.3, 0.05)]);
        assert_eq!(code, Code::GoalInCollision);
        assert!(text.contains("there"), "{text}");
        let mut flat = square("flat", 5.0, 5.0, 0.1);
        flat.corners.truncate(2);
        let (code, text) = with(&|o| o.extra = vec![flat.clone()]);
        assert_eq!(code, Code::InvalidObstacle);
        assert!(
            text.starts_with("extra_obstacles: obstacle \"flat\""),
            "{text}"
        );
        let far = Translation3::new(5.0, 0.0, 0.0) * start;
        assert_eq!(with(&|o| o.goals = vec![far]).0, Code::Unreachable);
        let cancelled = plan_order(&view, &order, &|| true, &|| false).unwrap_err();
        assert_eq!(cancelled.failure.code, Code::Preempted);
        let expired = plan_order(&view, &order, &|| false, &|| true).unwrap_err();
        assert_eq!(expired.failure.code, Code::TimedOut);
    }

    #[test]
    fn other_links_that_meet_an_obstacle_are_refused_and_named() {
        let view = view("six_axis", &Q, &[]);
        let (mut order, start) = sideways(&view);
        // Between the base and the tip, out of the tip's way.
        order.extra = vec![square("post", 0.5 * start.translation.vector.x, 0.0, 0.03)];
        let (code, text) = code(&view, &order);
        assert_eq!(code, Code::StartStateInCollision);
        assert!(text.contains("meets obstacle \"post\""), "{text}");
    }
}
