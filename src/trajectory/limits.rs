//! How fast each joint may move.

use std::collections::BTreeMap;

use crate::model::Chain;

/// Largest speeds and accelerations, one value a degree of freedom, all positive and finite; and
/// largest jerks where they are limited.
#[derive(Debug, Clone, PartialEq)]
pub struct MotionLimits {
    velocity: Vec<f64>,
    acceleration: Vec<f64>,
    /// Positive; infinite for joints whose jerk is not limited.
    jerk: Option<Vec<f64>>,
}

/// Limits for joints whose description has none, and overrides by joint name.
///
/// URDF knows no acceleration and jerk limits, and many files have no velocity limits.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitDefaults {
    /// Speed of joints without one \[rad/s or m/s\].
    pub velocity: f64,
    /// Acceleration of all joints that are not in `acceleration_by_joint` \[rad/s² or m/s²\].
    pub acceleration: f64,
    /// Speeds by joint name; they can lower what the URDF allows, never raise it.
    pub velocity_by_joint: BTreeMap<String, f64>,
    /// Accelerations by joint name.
    pub acceleration_by_joint: BTreeMap<String, f64>,
    /// Jerk of all joints that are not in `jerk_by_joint` \[rad/s³ or m/s³\]; not limited if none.
    pub jerk: Option<f64>,
    /// Jerks by joint name.
    pub jerk_by_joint: BTreeMap<String, f64>,
}

impl Default for LimitDefaults {
    /// 1 rad/s and 2 rad/s², gentle for any arm; no jerk limit.
    fn default() -> Self {
        Self {
            velocity: 1.0,
            acceleration: 2.0,
            velocity_by_joint: BTreeMap::new(),
            acceleration_by_joint: BTreeMap::new(),
            jerk: None,
            jerk_by_joint: BTreeMap::new(),
        }
    }
}

/// What is wrong with limits.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LimitsError {
    /// Zero, negative, NaN or infinite.
    #[error("the {quantity} limit of joint '{joint}' is {value}: it must be positive and finite")]
    Invalid {
        /// Name of the joint (its number where no names are known).
        joint: String,
        /// `velocity`, `acceleration` or `jerk`.
        quantity: &'static str,
        /// What was given \[SI units\].
        value: f64,
    },
    /// A scaling factor outside (0, 1].
    #[error("the {quantity} scaling factor is {value}: it must be greater than 0 and at most 1")]
    Scaling {
        /// `velocity`, `acceleration` or `jerk`.
        quantity: &'static str,
        /// What was given.
        value: f64,
    },
    /// Lists of unequal length.
    #[error("{velocity} velocity limits and {acceleration} acceleration limits were given: give one of each for every joint")]
    Length {
        /// Number of velocity limits.
        velocity: usize,
        /// Number of acceleration limits.
        acceleration: usize,
    },
    /// Jerk limits for another number of joints.
    #[error("{jerk} jerk limits were given for {joints} joints: give one for every joint")]
    JerkLength {
        /// Number of jerk limits.
        jerk: usize,
        /// Number of joints.
        joints: usize,
    },
    /// An override for a joint that the chain has not.
    #[error("a {quantity} limit is given for joint '{joint}', but the chain's joints are: {}", known.join(", "))]
    UnknownJoint {
        /// The name that was not found.
        joint: String,
        /// `velocity`, `acceleration` or `jerk`.
        quantity: &'static str,
        /// The chain's joints.
        known: Vec<String>,
    },
}

fn positive(joint: &str, quantity: &'static str, value: f64) -> Result<f64, LimitsError> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(LimitsError::Invalid {
            joint: joint.to_string(),
            quantity,
            value,
        })
    }
}

impl MotionLimits {
    /// Limits given directly \[rad/s or m/s, rad/s² or m/s²\].
    ///
    /// # Errors
    /// [`LimitsError::Length`] and [`LimitsError::Invalid`].
    pub fn new(velocity: Vec<f64>, acceleration: Vec<f64>) -> Result<Self, LimitsError> {
        if velocity.len() != acceleration.len() {
            return Err(LimitsError::Length {
                velocity: velocity.len(),
                acceleration: acceleration.len(),
            });
        }
        for (joint, (&speed, &rate)) in velocity.iter().zip(&acceleration).enumerate() {
            positive(&joint.to_string(), "velocity", speed)?;
            positive(&joint.to_string(), "acceleration", rate)?;
        }
        Ok(Self {
            velocity,
            acceleration,
            jerk: None,
        })
    }

    /// The same limits, and largest jerks \[rad/s³ or m/s³\]: positive, infinite for joints whose
    /// jerk is not limited.
    ///
    /// # Errors
    /// [`LimitsError::JerkLength`] and [`LimitsError::Invalid`].
    pub fn with_jerk(mut self, jerk: Vec<f64>) -> Result<Self, LimitsError> {
        if jerk.len() != self.dof() {
            return Err(LimitsError::JerkLength {
                jerk: jerk.len(),
                joints: self.dof(),
            });
        }
        for (joint, &value) in jerk.iter().enumerate() {
            if value != f64::INFINITY {
                positive(&joint.to_string(), "jerk", value)?;
            }
        }
        self.jerk = jerk.iter().any(|j| j.is_finite()).then_some(jerk);
        Ok(self)
    }

    /// The same limits for velocity and acceleration, any jerk.
    pub fn without_jerk(mut self) -> Self {
        self.jerk = None;
        self
    }

    /// The limits of a chain: speeds from its description or the defaults, accelerations and jerks
    /// from the defaults.
    ///
    /// # Errors
    /// [`LimitsError::Invalid`] and [`LimitsError::UnknownJoint`].
    pub fn from_chain(chain: &Chain, defaults: &LimitDefaults) -> Result<Self, LimitsError> {
        for (quantity, overrides) in [
            ("velocity", &defaults.velocity_by_joint),
            ("acceleration", &defaults.acceleration_by_joint),
            ("jerk", &defaults.jerk_by_joint),
        ] {
            if let Some(joint) = overrides
                .keys()
                .find(|name| chain.dof_index(name).is_none())
            {
                return Err(LimitsError::UnknownJoint {
                    joint: joint.clone(),
                    quantity,
                    known: chain.joint_names(),
                });
            }
        }
        let mut limits = Self {
            velocity: Vec::with_capacity(chain.dof()),
            acceleration: Vec::with_capacity(chain.dof()),
            jerk: None,
        };
        let mut jerks = Vec::with_capacity(chain.dof());
        for dof in &chain.dofs {
            let described = dof.velocity;
            let given = defaults.velocity_by_joint.get(&dof.name).copied();
            let speed = match (described, given) {
                (Some(described), Some(given)) => {
                    described.min(positive(&dof.name, "velocity", given)?)
                }
                (Some(value), None) | (None, Some(value)) => value,
                (None, None) => defaults.velocity,
            };
            let rate = defaults
                .acceleration_by_joint
                .get(&dof.name)
                .copied()
                .unwrap_or(defaults.acceleration);
            limits
                .velocity
                .push(positive(&dof.name, "velocity", speed)?);
            limits
                .acceleration
                .push(positive(&dof.name, "acceleration", rate)?);
            let jerk = defaults.jerk_by_joint.get(&dof.name).copied();
            jerks.push(match jerk.or(defaults.jerk) {
                Some(jerk) => positive(&dof.name, "jerk", jerk)?,
                None => f64::INFINITY,
            });
        }
        limits.with_jerk(jerks)
    }

    /// The same limits times the factors of a request, each in (0, 1]; that of the acceleration
    /// counts for jerks too.
    ///
    /// # Errors
    /// [`LimitsError::Scaling`].
    pub fn scaled(&self, velocity: f64, acceleration: f64) -> Result<Self, LimitsError> {
        for (quantity, value) in [("velocity", velocity), ("acceleration", acceleration)] {
            if !(value > 0.0 && value <= 1.0) {
                return Err(LimitsError::Scaling { quantity, value });
            }
        }
        let times = |values: &[f64], factor: f64| values.iter().map(|v| v * factor).collect();
        // Again through `new`: a tiny factor may underflow to zero.
        let scaled = Self::new(
            times(&self.velocity, velocity),
            times(&self.acceleration, acceleration),
        )?;
        match &self.jerk {
            Some(jerk) => scaled.with_jerk(times(jerk, acceleration)),
            None => Ok(scaled),
        }
    }

    /// Largest speeds \[rad/s or m/s\], one a degree of freedom.
    pub fn velocity(&self) -> &[f64] {
        &self.velocity
    }

    /// Largest accelerations \[rad/s² or m/s²\], one a degree of freedom.
    pub fn acceleration(&self) -> &[f64] {
        &self.acceleration
    }

    /// Largest jerks \[rad/s³ or m/s³\], one a degree of freedom, infinite for joints whose jerk is not
    /// limited; `None` if none is.
    pub fn jerk(&self) -> Option<&[f64]> {
        self.jerk.as_deref()
    }

    /// The number of degrees of freedom.
    pub fn dof(&self) -> usize {
        self.velocity.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Dof, DofKind};

    fn chain() -> Chain {
        let dof = |name: &str, velocity| Dof {
            name: name.into(),
            kind: DofKind::Revolute,
            lower: -1.0,
            upper: 1.0,
            velocity,
        };
        Chain {
            base: "base".into(),
            tip: "tip".into(),
            dofs: vec![dof("sho", Some(3.0)), dof("elb", None)],
            joints: vec![],
            tip_offset: nalgebra::Isometry3::identity(),
            links: vec![],
        }
    }

    #[test]
    fn missing_speeds_come_from_the_defaults_and_overrides_only_lower() {
        let mut defaults = LimitDefaults::default();
        defaults.velocity_by_joint.insert("sho".into(), 5.0);
        defaults.acceleration_by_joint.insert("elb".into(), 7.0);
        let limits = MotionLimits::from_chain(&chain(), &defaults).unwrap();
        assert_eq!(limits.velocity(), [3.0, 1.0]);
        assert_eq!(limits.acceleration(), [2.0, 7.0]);
        defaults.velocity_by_joint.insert("sho".into(), 0.5);
        let limits = MotionLimits::from_chain(&chain(), &defaults).unwrap();
        assert_eq!(limits.velocity(), [0.5, 1.0]);
    }

    #[test]
    fn overrides_for_unknown_joints_are_refused() {
        let mut defaults = LimitDefaults::default();
        defaults.acceleration_by_joint.insert("wrist".into(), 1.0);
        let error = MotionLimits::from_chain(&chain(), &defaults).unwrap_err();
        assert!(error.to_string().contains("wrist") && error.to_string().contains("sho, elb"));
    }

    #[test]
    fn scaling_is_checked() {
        let limits = MotionLimits::new(vec![2.0], vec![4.0]).unwrap();
        let half = limits.scaled(0.5, 0.25).unwrap();
        assert_eq!((half.velocity()[0], half.acceleration()[0]), (1.0, 1.0));
        for bad in [0.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(limits.scaled(bad, 1.0).is_err(), "{bad}");
            assert!(limits.scaled(1.0, bad).is_err(), "{bad}");
        }
        assert!(limits.scaled(5e-324, 1.0).is_ok());
        assert!(MotionLimits::new(vec![0.5], vec![1.0])
            .unwrap()
            .scaled(5e-324, 1.0)
            .is_err());
    }

    #[test]
    fn jerks_are_optional_and_checked() {
        let limits = MotionLimits::new(vec![1.0; 2], vec![2.0; 2]).unwrap();
        assert_eq!(limits.jerk(), None);
        let endless = limits.clone().with_jerk(vec![f64::INFINITY; 2]).unwrap();
        assert_eq!(endless.jerk(), None);
        let some = limits.clone().with_jerk(vec![8.0, f64::INFINITY]).unwrap();
        let half = some.scaled(1.0, 0.5).unwrap();
        assert_eq!(half.jerk(), Some(&[4.0, f64::INFINITY][..]));
        for bad in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            assert!(limits.clone().with_jerk(vec![1.0, bad]).is_err(), "{bad}");
        }
        assert!(limits.with_jerk(vec![1.0]).is_err());
        let mut defaults = LimitDefaults::default();
        defaults.jerk_by_joint.insert("elb".into(), 30.0);
        let limits = MotionLimits::from_chain(&chain(), &defaults).unwrap();
        assert_eq!(limits.jerk(), Some(&[f64::INFINITY, 30.0][..]));
    }

    #[test]
    fn limits_must_be_positive_and_of_equal_number() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(MotionLimits::new(vec![bad], vec![1.0]).is_err());
            assert!(MotionLimits::new(vec![1.0], vec![bad]).is_err());
        }
        assert!(MotionLimits::new(vec![1.0], vec![]).is_err());
    }
}
