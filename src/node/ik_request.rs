//! From parameters and messages to questions for the solvers.

use r2r::sensor_msgs::msg::JointState;

use super::codes::{Code, Failure};
use super::context::View;
use super::parameters::Parameters;
use crate::ik::{seed_from_names, IkRequest, Posture, Tolerances};
use crate::kinematics::Pose;
use crate::model::Chain;

/// A question for `target` as the parameters have it.
pub fn from_parameters<'a>(
    parameters: &Parameters,
    arm: &Chain,
    chain: &Chain,
    target: Pose,
    give_up: &'a (dyn Fn() -> bool + Sync),
) -> IkRequest<'a> {
    IkRequest {
        tolerances: Tolerances {
            position: parameters.ik.position_tolerance,
            orientation: parameters.ik.orientation_tolerance,
        },
        max_iterations: parameters.ik.max_iterations,
        max_step: parameters.ik.max_step,
        posture: Some(parameters.posture(arm, chain)),
        give_up: Some(give_up),
        ..IkRequest::new(target)
    }
}

/// A tolerance that was sent; zero means the parameter's.
///
/// # Errors
/// [`Code::InvalidRequest`] if it is negative or not finite.
pub fn tolerance(what: &str, sent: f64, parameter: f64) -> Result<f64, Failure> {
    if sent == 0.0 {
        Ok(parameter)
    } else if sent > 0.0 && sent.is_finite() {
        Ok(sent)
    } else {
        let message =
            format!("{what} is {sent}: send a positive number, or 0 for the parameter's value");
        Err(Failure::new(Code::InvalidRequest, message))
    }
}

/// Joint values by name, what is not named from the current state. Notes say what was filled in.
///
/// # Errors
/// Malformed lists; or a joint is missing and there is no current state to take it from.
pub fn joint_values(
    what: &str,
    view: &View,
    chain: &Chain,
    sent: &JointState,
    notes: &mut Vec<String>,
) -> Result<Vec<f64>, Failure> {
    let current = view.state(chain);
    if sent.name.is_empty() && sent.position.is_empty() {
        return current.map(|state| state.q()).map_err(Failure::from);
    }
    let fallback = current
        .as_ref()
        .ok()
        .map(super::joint_states::ChainState::q);
    let result = seed_from_names(chain, &sent.name, &sent.position, fallback.as_deref());
    let (values, warnings) = result.map_err(|error| {
        let failure = Failure::from(error.clone());
        let message = error.to_string().replace("the seed", what);
        let message = match &current {
            Err(reason) if failure.code == Code::InvalidRobotState => {
                format!("{message} (it cannot be taken from the current state either: {reason})")
            }
            _ => message,
        };
        Failure::new(failure.code, message)
    })?;
    notes.extend(
        warnings
            .iter()
            .map(|warning| warning.to_string().replace("the seed", what)),
    );
    Ok(values)
}

/// The start of a motion that was sent, as it is: whether it lies inside the limits is for the
/// planner to say.
///
/// # Errors
/// As [`joint_values`].
pub fn start_values(
    view: &View,
    chain: &Chain,
    sent: &JointState,
    notes: &mut Vec<String>,
) -> Result<Vec<f64>, Failure> {
    let mut said = Vec::new();
    let mut values = joint_values("the start", view, chain, sent, &mut said)?;
    let given = sent.name.iter().zip(&sent.position);
    for (name, &position) in given {
        if let Some(value) = chain
            .dof_index(name)
            .and_then(|index| values.get_mut(index))
        {
            *value = position;
        }
    }
    notes.extend(
        said.into_iter()
            .filter(|note| !note.contains("outside its limits")),
    );
    Ok(values)
}

/// The posture that was sent; joints that are left out do not care.
///
/// # Errors
/// Malformed lists.
pub fn posture(
    view: &View,
    chain: &Chain,
    sent: &JointState,
    notes: &mut Vec<String>,
) -> Result<Posture, Failure> {
    let mut posture = view.parameters.posture(&view.robot.chain, chain);
    if sent.name.is_empty() && sent.position.is_empty() {
        return Ok(posture);
    }
    let (names, values) = (sent.name.len(), sent.position.len());
    let invalid = |message: String| Failure::new(Code::InvalidRequest, message);
    if names != values {
        return Err(invalid(format!(
            "preferred_posture has {names} joint names and {values} values: give one value a name"
        )));
    }
    let mut weights = vec![0.0; chain.dof()];
    for (index, (name, &value)) in sent.name.iter().zip(&sent.position).enumerate() {
        if sent.name.iter().take(index).any(|before| before == name) {
            return Err(invalid(format!(
                "preferred_posture names joint \"{name}\" more than once"
            )));
        }
        let Some(index) = chain.dof_index(name) else {
            notes.push(format!(
                "preferred_posture: \"{name}\" is no joint of the arm, passed over"
            ));
            continue;
        };
        if !value.is_finite() {
            return Err(invalid(format!(
                "preferred_posture: the value of \"{name}\" is {value}"
            )));
        }
        let weight = posture
            .weights
            .get(index)
            .copied()
            .filter(|weight| *weight > 0.0);
        if let (Some(slot), Some(goal)) = (weights.get_mut(index), posture.values.get_mut(index)) {
            *slot = weight.unwrap_or(1.0);
            *goal = value;
        }
    }
    posture.weights = weights;
    Ok(posture)
}
