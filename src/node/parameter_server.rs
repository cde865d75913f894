//! The parameter services: every change is checked, and refused with a reason.
//!
//! Made by hand: r2r's own end in a panic when a client goes away before its answer.

use std::sync::{Arc, PoisonError};

use futures::stream::{select_all, BoxStream, StreamExt};
use r2r::rcl_interfaces::msg as rcl;
use r2r::rcl_interfaces::srv::{
    DescribeParameters, GetParameterTypes, GetParameters, ListParameters, SetParameters,
    SetParametersAtomically,
};
use r2r::{Node, ParameterValue, ServiceRequest};

use super::context::{RobotState, Shared};
use super::convert::text;
use super::declared::{declared, Declared, Kind, Range, DECLARED};
use super::inputs::Pumps;
use super::parameter_values::{checked, unknown, ParameterError, Values};
use super::parameters::Parameters;
use super::tasks::respond;
use crate::model::Chain;

/// Belongs to every node; read when the node starts.
const SIM_TIME: &str = "use_sim_time";

/// A request of one of the services.
enum Asked {
    Describe(ServiceRequest<DescribeParameters::Service>),
    Get(ServiceRequest<GetParameters::Service>),
    Types(ServiceRequest<GetParameterTypes::Service>),
    List(ServiceRequest<ListParameters::Service>),
    Set(ServiceRequest<SetParameters::Service>),
    SetAtomically(ServiceRequest<SetParametersAtomically::Service>),
}

/// The services, created and waiting.
pub struct ParameterServices(BoxStream<'static, Asked>);

impl ParameterServices {
    /// Creates the services.
    ///
    /// # Errors
    /// With the name that ROS refuses.
    pub fn create(
        node: &mut Node,
        pumps: &mut Pumps,
    ) -> Result<ParameterServices, (String, r2r::Error)> {
        let describe = pumps.service(node, "~/describe_parameters")?;
        let get = pumps.service(node, "~/get_parameters")?;
        let types = pumps.service(node, "~/get_parameter_types")?;
        let list = pumps.service(node, "~/list_parameters")?;
        let set = pumps.service(node, "~/set_parameters")?;
        let atomically = pumps.service(node, "~/set_parameters_atomically")?;
        Ok(ParameterServices(
            select_all([
                describe.map(Asked::Describe).boxed(),
                get.map(Asked::Get).boxed(),
                types.map(Asked::Types).boxed(),
                list.map(Asked::List).boxed(),
                set.map(Asked::Set).boxed(),
                atomically.map(Asked::SetAtomically).boxed(),
            ])
            .boxed(),
        ))
    }

    /// Answers requests, one after the other.
    pub async fn serve(mut self, shared: Arc<Shared>) {
        while let Some(asked) = self.0.next().await {
            answer(&shared, asked);
        }
    }
}

fn answer(shared: &Shared, asked: Asked) {
    match asked {
        Asked::Describe(request) => {
            let descriptors = request
                .message
                .names
                .iter()
                .map(|name| descriptor(name))
                .collect();
            send(request, DescribeParameters::Response { descriptors });
        }
        Asked::Get(request) => {
            let values = shared
                .values
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            let value = |name: &String| message_from(&current(&values, shared.sim_time, name));
            let values = request.message.names.iter().map(value).collect();
            send(request, GetParameters::Response { values });
        }
        Asked::Types(request) => {
            let types = request
                .message
                .names
                .iter()
                .map(|name| type_of(name))
                .collect();
            send(request, GetParameterTypes::Response { types });
        }
        Asked::List(request) => {
            let result = listed(&request.message.prefixes, request.message.depth);
            send(request, ListParameters::Response { result });
        }
        Asked::Set(request) => {
            let one = |sent: &rcl::Parameter| result(set(shared, std::slice::from_ref(sent)));
            let results = request.message.parameters.iter().map(one).collect();
            send(request, SetParameters::Response { results });
        }
        Asked::SetAtomically(request) => {
            let result = result(set(shared, &request.message.parameters));
            send(request, SetParametersAtomically::Response { result });
        }
    }
}

fn send<T>(request: ServiceRequest<T>, response: T::Response)
where
    T: r2r::WrappedServiceTypeSupport + 'static,
    T::Request: Send,
    T::Response: Send,
{
    tokio::spawn(respond(request, response));
}

fn result(changed: Result<(), ParameterError>) -> rcl::SetParametersResult {
    let reason = changed.err().map(|error| error.to_string());
    rcl::SetParametersResult {
        successful: reason.is_none(),
        reason: text(reason.unwrap_or_default()),
    }
}

/// Sets all of the parameters or none.
fn set(shared: &Shared, sent: &[rcl::Parameter]) -> Result<(), ParameterError> {
    let robot = shared.robot.get();
    let chain = match &*robot {
        RobotState::Ready(robot) => Some(&*robot.chain),
        RobotState::Waiting(_) => None,
    };
    let mut values = shared.values.lock().unwrap_or_else(PoisonError::into_inner);
    let (new, changes) = changed(&values, shared.sim_time, sent, chain).inspect_err(|error| {
        tracing::warn!("{error}");
    })?;
    shared.parameters.set(Parameters::new(&new));
    *values = new;
    drop(values);
    for change in &changes {
        tracing::info!("parameter {} was changed", change.name);
    }
    if !changes.is_empty() {
        shared
            .outputs
            .parameter_events
            .publish(&rcl::ParameterEvent {
                stamp: shared.stamp(),
                node: shared.name.clone(),
                changed_parameters: changes,
                ..rcl::ParameterEvent::default()
            });
        // The clearance is part of the drawing.
        shared.drawing.touch();
    }
    Ok(())
}

/// The values after the changes, and those that are not what they were.
fn changed(
    values: &Values,
    sim_time: bool,
    sent: &[rcl::Parameter],
    chain: Option<&Chain>,
) -> Result<(Values, Vec<rcl::Parameter>), ParameterError> {
    let mut new = values.clone();
    let mut changes = Vec::new();
    for parameter in sent {
        let name = &parameter.name;
        let value = value_from(&parameter.value);
        if name == SIM_TIME {
            if value != ParameterValue::Bool(sim_time) {
                return Err(ParameterError::ReadOnly { name: name.clone() });
            }
            continue;
        }
        let known: &Declared = declared(name).ok_or_else(|| unknown(name))?;
        let value = checked(known.name, known.kind, &value)?;
        if new.get(known.name) == Some(&value) {
            continue;
        }
        if !known.runtime {
            return Err(ParameterError::ReadOnly { name: name.clone() });
        }
        changes.push(rcl::Parameter {
            name: name.clone(),
            value: message_from(&value),
        });
        new.insert(known.name, value);
    }
    if let Some(chain) = chain {
        Parameters::new(&new).check_lengths(chain)?;
    }
    Ok((new, changes))
}

fn current(values: &Values, sim_time: bool, name: &str) -> ParameterValue {
    if name == SIM_TIME {
        return ParameterValue::Bool(sim_time);
    }
    values.get(name).cloned().unwrap_or(ParameterValue::NotSet)
}

fn type_of(name: &str) -> u8 {
    match declared(name).map(|known| known.kind) {
        None if name == SIM_TIME => message_from(&ParameterValue::Bool(false)).type_,
        None => message_from(&ParameterValue::NotSet).type_,
        Some(kind) => message_from(&kind.default_value()).type_,
    }
}

fn descriptor(name: &str) -> rcl::ParameterDescriptor {
    let mut descriptor = rcl::ParameterDescriptor {
        name: text(name),
        type_: type_of(name),
        read_only: name == SIM_TIME,
        ..rcl::ParameterDescriptor::default()
    };
    let Some(known) = declared(name) else {
        return descriptor;
    };
    descriptor.description = known.description.to_owned();
    descriptor.read_only = !known.runtime;
    descriptor.additional_constraints = match known.kind {
        Kind::Choice(_, choices) => format!("one of {:?}", choices()),
        Kind::Number(_, range) => range.words().to_owned(),
        Kind::Numbers(range) => format!("each {}", range.words()),
        Kind::Count(..) | Kind::Text(_) | Kind::Flag(_) | Kind::Texts => String::new(),
    };
    match known.kind {
        Kind::Count(_, most) => {
            let range = rcl::IntegerRange {
                from_value: 1,
                to_value: most,
                step: 1,
            };
            descriptor.integer_range = vec![range];
        }
        // The other ranges are open at one end, which this message cannot say.
        Kind::Number(_, Range::Fraction) => {
            let range = rcl::FloatingPointRange {
                from_value: 0.0,
                to_value: 1.0,
                step: 0.0,
            };
            descriptor.floating_point_range = vec![range];
        }
        _ => {}
    }
    descriptor
}

/// Names below the prefixes, not deeper than `depth` (0: however deep).
fn listed(prefixes: &[String], depth: u64) -> rcl::ListParametersResult {
    let shallow = |rest: &str| depth == 0 || (rest.matches('.').count() as u64) < depth;
    let wanted = |name: &str| {
        if prefixes.is_empty() {
            return shallow(name);
        }
        prefixes
            .iter()
            .any(|prefix| match name.strip_prefix(prefix.as_str()) {
                Some("") => true,
                Some(rest) => rest.strip_prefix('.').is_some_and(shallow),
                None => false,
            })
    };
    let all = DECLARED.iter().map(|known| known.name).chain([SIM_TIME]);
    let names: Vec<String> = all.filter(|name| wanted(name)).map(str::to_owned).collect();
    let mut groups: Vec<String> = names
        .iter()
        .filter_map(|name| Some(name.rsplit_once('.')?.0.to_owned()))
        .collect();
    groups.sort_unstable();
    groups.dedup();
    rcl::ListParametersResult {
        names,
        prefixes: groups,
    }
}

fn value_from(message: &rcl::ParameterValue) -> ParameterValue {
    match message.type_ {
        1 => ParameterValue::Bool(message.bool_value),
        2 => ParameterValue::Integer(message.integer_value),
        3 => ParameterValue::Double(message.double_value),
        4 => ParameterValue::String(message.string_value.clone()),
        5 => ParameterValue::ByteArray(message.byte_array_value.clone()),
        6 => ParameterValue::BoolArray(message.bool_array_value.clone()),
        7 => ParameterValue::IntegerArray(message.integer_array_value.clone()),
        8 => ParameterValue::DoubleArray(message.double_array_value.clone()),
        9 => ParameterValue::StringArray(message.string_array_value.clone()),
        _ => ParameterValue::NotSet,
    }
}

fn message_from(value: &ParameterValue) -> rcl::ParameterValue {
    let mut message = rcl::ParameterValue::default();
    message.type_ = match value {
        ParameterValue::NotSet => 0,
        ParameterValue::Bool(value) => {
            message.bool_value = *value;
            1
        }
        ParameterValue::Integer(value) => {
            message.integer_value = *value;
            2
        }
        ParameterValue::Double(value) => {
            message.double_value = *value;
            3
        }
        ParameterValue::String(value) => {
            message.string_value = text(value.as_str());
            4
        }
        ParameterValue::ByteArray(value) => {
            message.byte_array_value.clone_from(value);
            5
        }
        ParameterValue::BoolArray(value) => {
            message.bool_array_value.clone_from(value);
            6
        }
        ParameterValue::IntegerArray(value) => {
            message.integer_array_value.clone_from(value);
            7
        }
        ParameterValue::DoubleArray(value) => {
            message.double_array_value.clone_from(value);
            8
        }
        ParameterValue::StringArray(value) => {
            message.string_array_value = value.iter().map(|one| text(one.as_str())).collect();
            9
        }
    };
    message
}

#[cfg(test)]
#[path = "parameter_server_tests.rs"]
mod tests;
