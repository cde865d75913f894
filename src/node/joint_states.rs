//! What is known of the joints: one position, velocity and age a joint, whatever way the
//! messages were cut.
//!
//! Ages are by a steady clock at reception: stamps may be of another clock, or zero.

use std::collections::HashMap;
use std::time::Duration;

use crate::model::{Chain, RobotModel};

/// The part of a `sensor_msgs/JointState` that counts here. Effort is never looked at: it is NaN
/// for every joint without a sensor.
#[derive(Debug, Clone, Copy)]
pub struct Reported<'a> {
    /// Names of the joints.
    pub names: &'a [String],
    /// Positions \[rad or m\], one a name or none.
    pub positions: &'a [f64],
    /// Velocities \[rad/s or m/s\], one a name or none.
    pub velocities: &'a [f64],
}

/// Why a whole message was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// Not as many positions as names.
    #[error("joint state with {names} name(s) and {positions} position(s): ignored, since values cannot be told apart; send one position a name")]
    LengthMismatch {
        /// Number of names.
        names: usize,
        /// Number of positions.
        positions: usize,
    },
    /// A name that occurs twice.
    #[error("joint state that names \"{joint}\" twice: ignored, since it cannot be told which value holds")]
    NamedTwice {
        /// The name.
        joint: String,
    },
}

/// Something in a message that was passed over while the rest was taken.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Oddity {
    /// NaN or infinity for a position.
    #[error("joint state: the position of \"{joint}\" is {value}; its last good value is kept (is the joint calibrated?)")]
    PositionNotFinite {
        /// The joint.
        joint: String,
        /// The value.
        value: f64,
    },
    /// Not as many velocities as names.
    #[error(
        "joint state with {names} name(s) and {velocities} velocities: the velocities are ignored"
    )]
    Velocities {
        /// Number of names.
        names: usize,
        /// Number of velocities.
        velocities: usize,
    },
}

/// The last that was heard of one joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointReading {
    /// Position \[rad or m\], finite.
    pub position: f64,
    /// Velocity \[rad/s or m/s\] as reported, if finite.
    pub velocity: Option<f64>,
    /// Velocity from the last two positions, where there were two.
    pub rate: Option<f64>,
    /// When it was received, on the caller's steady clock.
    pub received: Duration,
}

impl JointReading {
    /// The reported velocity, or else the one from the last two positions \[rad/s or m/s\].
    pub fn speed(&self) -> Option<f64> {
        self.velocity.or(self.rate)
    }
}

/// State of a chain's degrees of freedom.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainState {
    /// One reading a degree of freedom, in the order of `q`.
    pub readings: Vec<JointReading>,
    /// Age of the oldest reading.
    pub age: Duration,
}

impl ChainState {
    /// The joints' speeds \[rad/s, m/s\]; what is not above `noise` counts as none.
    pub fn speeds(&self, noise: f64) -> Vec<f64> {
        let above = |speed: &f64| speed.abs() > noise;
        let speeds = self.readings.iter().map(JointReading::speed);
        speeds
            .map(|speed| speed.filter(above).unwrap_or(0.0))
            .collect()
    }

    /// The joint values \[rad, m\].
    pub fn q(&self) -> Vec<f64> {
        self.readings
            .iter()
            .map(|reading| reading.position)
            .collect()
    }
}

/// Why there is no current state.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StateError {
    /// Nothing has been heard at all.
    #[error("no joint states have been received on {topic} yet: is the robot (or its joint_state_broadcaster) running, and the topic right?")]
    Nothing {
        /// The topic listened to.
        topic: String,
    },
    /// Some joints have never been heard of.
    #[error("no state of the joint(s) {} has been received on {topic}; received so far: {}", missing.join(", "), seen.join(", "))]
    Missing {
        /// The topic listened to.
        topic: String,
        /// The joints that are missing.
        missing: Vec<String>,
        /// The joints that were heard of.
        seen: Vec<String>,
    },
    /// The last readings of some joints are too old.
    #[error("joint states are stale: {} (joint_state_max_age is {limit:.3} s, by this machine's steady clock)", stale.iter().map(|(name, age)| format!("\"{name}\" is {age:.3} s old")).collect::<Vec<_>>().join(", "))]
    Stale {
        /// Joints with their ages \[s\].
        stale: Vec<(String, f64)>,
        /// Greatest age allowed \[s\].
        limit: f64,
    },
}

/// The last reading of every joint that was ever heard of.
#[derive(Debug, Clone, Default)]
pub struct JointStates {
    topic: String,
    readings: HashMap<String, JointReading>,
}

/// Positions closer in time than the first or further apart than the second give no useful velocity.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(100));

impl JointStates {
    /// An empty store that names `topic` in its errors.
    pub fn new(topic: &str) -> Self {
        JointStates {
            topic: topic.to_owned(),
            readings: HashMap::new(),
        }
    }

    /// Takes a message that was received at `now`; returns what was passed over in it.
    ///
    /// A message without positions (velocities alone, or empty) is passed over in silence.
    ///
    /// # Errors
    /// [`Rejected`]: nothing of the message was taken.
    pub fn update(
        &mut self,
        message: Reported<'_>,
        now: Duration,
    ) -> Result<Vec<Oddity>, Rejected> {
        let names = message.names.len();
        if message.positions.is_empty() {
            return Ok(Vec::new());
        }
        if message.positions.len() != names {
            return Err(Rejected::LengthMismatch {
                names,
                positions: message.positions.len(),
            });
        }
        let mut sorted: Vec<&String> = message.names.iter().collect();
        sorted.sort_unstable();
        let mut next = sorted.iter().skip(1);
        if let Some(twice) = sorted.iter().find(|name| next.next() == Some(*name)) {
            return Err(Rejected::NamedTwice {
                joint: (*twice).clone(),
            });
        }
        let mut oddities = Vec::new();
        let velocities = if message.velocities.is_empty() || message.velocities.len() == names {
            message.velocities
        } else {
            oddities.push(Oddity::Velocities {
                names,
                velocities: message.velocities.len(),
            });
            &[]
        };
        for (index, (name, &position)) in message.names.iter().zip(message.positions).enumerate() {
            if !position.is_finite() {
                oddities.push(Oddity::PositionNotFinite {
                    joint: name.clone(),
                    value: position,
                });
                continue;
            }
            let velocity = velocities
                .get(index)
                .copied()
                .filter(|value| value.is_finite());
            let rate = self.readings.get(name).and_then(|before| {
                let interval = now.saturating_sub(before.received);
                let rate = (position - before.position) / interval.as_secs_f64();
                let useful = INTERVALS.0 <= interval && interval <= INTERVALS.1;
                (useful && rate.is_finite()).then_some(rate)
            });
            let reading = JointReading {
                position,
                velocity,
                rate,
                received: now,
            };
            match self.readings.get_mut(name) {
                Some(known) => *known = reading,
                None => {
                    self.readings.insert(name.clone(), reading);
                }
            }
        }
        Ok(oddities)
    }

    /// The last reading of the joint.
    pub fn get(&self, joint: &str) -> Option<JointReading> {
        self.readings.get(joint).copied()
    }

    /// The reading of a degree of freedom: its own or, where it is not reported, that of a
    /// follower turned back.
    fn dof(&self, chain: &Chain, dof: usize, name: &str) -> Option<JointReading> {
        self.get(name).or_else(|| {
            let followers = chain.joints.iter().filter(|joint| joint.dof == dof);
            followers
                .filter(|joint| joint.multiplier != 0.0)
                .find_map(|joint| {
                    let reading = self.get(&joint.name)?;
                    Some(JointReading {
                        position: (reading.position - joint.offset) / joint.multiplier,
                        velocity: reading.velocity.map(|value| value / joint.multiplier),
                        rate: reading.rate.map(|value| value / joint.multiplier),
                        received: reading.received,
                    })
                })
        })
    }

    /// The state of the chain at `now`; joints that are not on the chain do not matter.
    ///
    /// # Errors
    /// [`StateError`]: which joints are missing, or how old they are.
    pub fn chain_state(
        &self,
        chain: &Chain,
        now: Duration,
        max_age: f64,
    ) -> Result<ChainState, StateError> {
        if self.readings.is_empty() {
            return Err(StateError::Nothing {
                topic: self.topic.clone(),
            });
        }
        let mut state = ChainState {
            readings: Vec::new(),
            age: Duration::ZERO,
        };
        let (mut missing, mut stale) = (Vec::new(), Vec::new());
        for (index, dof) in chain.dofs.iter().enumerate() {
            let Some(reading) = self.dof(chain, index, &dof.name) else {
                missing.push(dof.name.clone());
                continue;
            };
            let age = now.saturating_sub(reading.received);
            if age.as_secs_f64() > max_age {
                stale.push((dof.name.clone(), age.as_secs_f64()));
            }
            state.age = state.age.max(age);
            state.readings.push(reading);
        }
        if !missing.is_empty() {
            return Err(self.missing(missing));
        }
        if !stale.is_empty() {
            return Err(StateError::Stale {
                stale,
                limit: max_age,
            });
        }
        Ok(state)
    }

    /// Reading of any joint of the robot, followers through their driver (which goes first: the
    /// arm moves by it); `None` if it was never heard of.
    fn reading(&self, model: &RobotModel, joint: usize) -> Option<JointReading> {
        let joint = model.joints.get(joint)?;
        let Some(mimic) = joint.mimic else {
            return self.get(&joint.name);
        };
        let driver = self.get(&model.joints.get(mimic.driver)?.name);
        driver
            .map(|reading| JointReading {
                position: mimic.multiplier * reading.position + mimic.offset,
                velocity: reading.velocity.map(|value| mimic.multiplier * value),
                rate: reading.rate.map(|value| mimic.multiplier * value),
                received: reading.received,
            })
            .or_else(|| self.get(&joint.name))
    }

    /// Position of any joint of the robot \[rad or m\], not older than `max_age` \[s\].
    ///
    /// # Errors
    /// [`StateError`]: that it is missing, or how old it is.
    pub fn fresh_position(
        &self,
        model: &RobotModel,
        joint: usize,
        now: Duration,
        max_age: f64,
    ) -> Result<f64, StateError> {
        if self.readings.is_empty() {
            return Err(StateError::Nothing {
                topic: self.topic.clone(),
            });
        }
        let name = || {
            model
                .joints
                .get(joint)
                .map_or(String::new(), |joint| joint.name.clone())
        };
        let Some(reading) = self.reading(model, joint) else {
            return Err(self.missing(vec![name()]));
        };
        let age = now.saturating_sub(reading.received).as_secs_f64();
        if age > max_age {
            return Err(StateError::Stale {
                stale: vec![(name(), age)],
                limit: max_age,
            });
        }
        Ok(reading.position)
    }

    fn missing(&self, missing: Vec<String>) -> StateError {
        let mut seen: Vec<String> = self.readings.keys().cloned().collect();
        seen.sort_unstable();
        StateError::Missing {
            topic: self.topic.clone(),
            missing,
            seen,
        }
    }
}

#[cfg(test)]
#[path = "joint_states_tests.rs"]
mod tests;
