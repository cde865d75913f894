//! Parameters while the node runs: every change is checked, and refused with a reason.

use std::sync::{Arc, PoisonError, Weak};

use r2r::indexmap::IndexMap;
use r2r::{Parameter, ParameterValue, RosParams};

use super::context::{RobotState, Shared};
use super::declared::{declared, Declared, DECLARED};
use super::parameters::{checked, unknown, ParameterError, Parameters, Values};

/// Answers r2r's parameter services. Holds no strong reference: it lives in the node, which the
/// shared state outlives.
pub struct ParameterServer(pub Weak<Shared>);

/// r2r puts the name before the reason, so the reason must not begin with it.
fn refusal(error: &ParameterError) -> r2r::Error {
    match error {
        ParameterError::Unknown { name, hint } => r2r::Error::InvalidParameterName {
            name: format!("{name}{hint}"),
        },
        other => {
            let (name, reason) = match other {
                ParameterError::WrongType { name, .. }
                | ParameterError::NotAllowed { name, .. }
                | ParameterError::ReadOnly { name }
                | ParameterError::Unknown { name, .. } => (name.clone(), other.to_string()),
            };
            r2r::Error::ParameterValueConv { name, msg: reason }
        }
    }
}

impl ParameterServer {
    fn shared(&self) -> r2r::Result<Arc<Shared>> {
        self.0.upgrade().ok_or(r2r::Error::RCL_RET_NODE_INVALID)
    }

    /// The values with the change, and the parameters that they make.
    fn changed(
        shared: &Shared,
        name: &str,
        value: &ParameterValue,
    ) -> Result<(Values, Parameters), ParameterError> {
        let known: &Declared = declared(name).ok_or_else(|| unknown(name))?;
        let value = checked(known.name, known.kind, value)?;
        let mut values = shared
            .values
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let before = values.insert(known.name, value.clone());
        if !known.runtime && before.as_ref() != Some(&value) {
            return Err(ParameterError::ReadOnly {
                name: name.to_owned(),
            });
        }
        let parameters = Parameters::new(&values);
        if let RobotState::Ready(robot) = &*shared.robot.get() {
            parameters.check_lengths(&robot.chain)?;
        }
        Ok((values, parameters))
    }
}

impl RosParams for ParameterServer {
    fn register_parameters(
        &mut self,
        _prefix: &str,
        _parameter: Option<Parameter>,
        parameters: &mut IndexMap<String, Parameter>,
    ) -> r2r::Result<()> {
        let shared = self.shared()?;
        let values = shared.values.lock().unwrap_or_else(PoisonError::into_inner);
        for known in DECLARED {
            let value = values
                .get(known.name)
                .cloned()
                .unwrap_or(ParameterValue::NotSet);
            let parameter = Parameter {
                value,
                description: known.description,
            };
            parameters.insert(known.name.to_owned(), parameter);
        }
        parameters
            .entry("use_sim_time".to_owned())
            .or_insert(Parameter::new(ParameterValue::Bool(false)));
        Ok(())
    }

    fn get_parameter(&mut self, name: &str) -> r2r::Result<ParameterValue> {
        let shared = self.shared()?;
        let values = shared.values.lock().unwrap_or_else(PoisonError::into_inner);
        values
            .get(name)
            .cloned()
            .ok_or_else(|| refusal(&unknown(name)))
    }

    fn set_parameter(&mut self, name: &str, value: &ParameterValue) -> r2r::Result<()> {
        let shared = self.shared()?;
        match Self::changed(&shared, name, value) {
            Ok((values, parameters)) => {
                *shared.values.lock().unwrap_or_else(PoisonError::into_inner) = values;
                shared.parameters.set(parameters);
                tracing::info!("parameter {name} was changed");
                Ok(())
            }
            Err(error) => {
                tracing::warn!("{error}");
                Err(refusal(&error))
            }
        }
    }

    fn check_parameter(&self, name: &str, value: &ParameterValue) -> r2r::Result<()> {
        let shared = self.shared()?;
        Self::changed(&shared, name, value)
            .map(|_| ())
            .map_err(|error| refusal(&error))
    }
}
