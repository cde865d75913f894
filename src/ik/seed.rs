//! Seeds by joint names, as `sensor_msgs/JointState` has them.

use crate::model::Chain;

/// Names and values that cannot be a seed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SeedError {
    /// Not one value a name.
    #[error("the seed has {names} joint names and {values} values: give one value a name")]
    SeedLength {
        /// Names given.
        names: usize,
        /// Values given.
        values: usize,
    },
    /// A joint of the chain has no value and there is nothing to take instead.
    #[error("the seed lacks the joint{} {}: give a value for each joint of the chain", if joints.len() == 1 { "" } else { "s" }, joints.join(", "))]
    SeedMissingJoint {
        /// The joints without a value.
        joints: Vec<String>,
    },
    /// NaN or infinity.
    #[error("the seed's value for joint \"{joint}\" is not finite ({value})")]
    SeedNotFinite {
        /// The joint.
        joint: String,
        /// Its value.
        value: f64,
    },
    /// A joint twice.
    #[error("the seed names joint \"{joint}\" more than once")]
    SeedDuplicateJoint {
        /// The joint.
        joint: String,
    },
    /// The values to fall back on do not belong to this chain.
    #[error("{got} fallback values were given for the seed, the chain has {expected} degrees of freedom")]
    FallbackLength {
        /// Degrees of freedom.
        expected: usize,
        /// Values given.
        got: usize,
    },
}

/// Something in a seed that was forgiven.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SeedWarning {
    /// A joint without a value.
    #[error("the seed lacks joint \"{joint}\": {value} is used")]
    Missing {
        /// The joint.
        joint: String,
        /// The fallback's value \[rad or m\].
        value: f64,
    },
    /// A value outside the limits.
    #[error(
        "the seed's value {given} for joint \"{joint}\" is outside its limits: {used} is used"
    )]
    Clamped {
        /// The joint.
        joint: String,
        /// The value given \[rad or m\].
        given: f64,
        /// The limit \[rad or m\].
        used: f64,
    },
}

/// One value a degree of freedom of `chain`, taken from `values` by `names` in whatever order
/// they come; joints that are not the chain's are passed over. Joints without a value take
/// `fallback`'s (in the chain's order), with a warning unless no name is given at all.
///
/// # Errors
/// See [`SeedError`]; without `fallback` a missing joint is one.
pub fn seed_from_names(
    chain: &Chain,
    names: &[impl AsRef<str>],
    values: &[f64],
    fallback: Option<&[f64]>,
) -> Result<(Vec<f64>, Vec<SeedWarning>), SeedError> {
    if names.len() != values.len() {
        return Err(SeedError::SeedLength {
            names: names.len(),
            values: values.len(),
        });
    }
    if let Some(fallback) = fallback.filter(|fallback| fallback.len() != chain.dof()) {
        return Err(SeedError::FallbackLength {
            expected: chain.dof(),
            got: fallback.len(),
        });
    }
    let mut given: Vec<Option<f64>> = vec![None; chain.dof()];
    for (name, &value) in names.iter().zip(values) {
        let name = name.as_ref();
        let Some(slot) = chain.dof_index(name).and_then(|index| given.get_mut(index)) else {
            continue;
        };
        if slot.is_some() {
            return Err(SeedError::SeedDuplicateJoint {
                joint: name.to_owned(),
            });
        }
        if !value.is_finite() {
            return Err(SeedError::SeedNotFinite {
                joint: name.to_owned(),
                value,
            });
        }
        *slot = Some(value);
    }
    let missing: Vec<String> = chain
        .dofs
        .iter()
        .zip(&given)
        .filter(|(_, value)| value.is_none())
        .map(|(dof, _)| dof.name.clone())
        .collect();
    let fallback = match fallback {
        Some(fallback) => fallback,
        None if missing.is_empty() => &[],
        None => return Err(SeedError::SeedMissingJoint { joints: missing }),
    };
    let mut seed = Vec::with_capacity(chain.dof());
    let mut warnings = Vec::new();
    for (index, (dof, value)) in chain.dofs.iter().zip(&given).enumerate() {
        let value = match value {
            Some(value) => *value,
            None => {
                let value = fallback.get(index).copied().unwrap_or_else(|| dof.middle());
                if !value.is_finite() {
                    return Err(SeedError::SeedNotFinite {
                        joint: dof.name.clone(),
                        value,
                    });
                }
                if !names.is_empty() {
                    warnings.push(SeedWarning::Missing {
                        joint: dof.name.clone(),
                        value,
                    });
                }
                value
            }
        };
        let used = dof.clamp(value);
        if used != value {
            warnings.push(SeedWarning::Clamped {
                joint: dof.name.clone(),
                given: value,
                used,
            });
        }
        seed.push(used);
    }
    Ok((seed, warnings))
}
