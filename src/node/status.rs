//! `~/status`: what a goal or another input came to, in words and in a code.

use std::sync::atomic::{AtomicU64, Ordering};

use r2r::diagnostic_msgs::msg::{DiagnosticStatus, KeyValue};

use super::codes::{Code, Failure};
use super::convert::text;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// As it should be.
    Ok,
    /// Done, with something to know.
    Warn,
    /// Not done.
    Error,
}

impl Level {
    /// As the message has it.
    pub fn value(self) -> u8 {
        match self {
            Level::Ok => DiagnosticStatus::OK as u8,
            Level::Warn => DiagnosticStatus::WARN as u8,
            Level::Error => DiagnosticStatus::ERROR as u8,
        }
    }
}

/// One report.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What it is about: `goal_pose`, `obstacles`, …
    pub about: &'static str,
    /// How bad it is.
    pub level: Level,
    /// For programs.
    pub code: Code,
    /// For people.
    pub message: String,
    /// More, as names and values.
    pub values: Vec<(&'static str, String)>,
}

impl Report {
    /// Something that went as it should.
    pub fn ok(about: &'static str, message: impl Into<String>) -> Report {
        let (level, code) = (Level::Ok, Code::Success);
        Report {
            about,
            level,
            code,
            message: message.into(),
            values: Vec::new(),
        }
    }

    /// Something that failed.
    pub fn failed(about: &'static str, failure: &Failure) -> Report {
        let level = if failure.code == Code::Preempted {
            Level::Warn
        } else {
            Level::Error
        };
        let message = failure.message.clone();
        Report {
            about,
            level,
            code: failure.code,
            message,
            values: Vec::new(),
        }
    }

    /// With one more value.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Report {
        self.values.push((name, value.to_string()));
        self
    }

    /// As a message; `sequence` counts all reports of this node.
    pub fn message(&self, sequence: u64, robot: &str) -> DiagnosticStatus {
        let value = |key: &str, value: &str| KeyValue {
            key: text(key),
            value: text(value),
        };
        let mut values = vec![
            value("code", &self.code.value().to_string()),
            value("code_name", &format!("{:?}", self.code)),
            value("sequence", &sequence.to_string()),
        ];
        values.extend(
            self.values
                .iter()
                .map(|(name, content)| value(name, content)),
        );
        DiagnosticStatus {
            level: self.level.value(),
            name: text(self.about),
            message: text(self.message.as_str()),
            hardware_id: text(robot),
            values,
        }
    }
}

/// Counts reports and goals.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// The next number, from 1.
    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts one more.
    pub fn count(&self) {
        self.next();
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What is counted for `/diagnostics`, since the node began.
#[derive(Debug, Default)]
pub struct Counts {
    /// Trajectories that were sent.
    pub sent: Counter,
    /// Trajectories that the gate held back.
    pub gate_refusals: Counter,
    /// Trajectories that the controller refused, or did not answer.
    pub controller_refusals: Counter,
    /// Trajectories that the controller gave up, or did not follow.
    pub controller_failures: Counter,
    /// Motions that were stopped because joint states no longer came.
    pub stale_stops: Counter,
    /// Motions that were stopped for an obstacle in their way.
    pub obstacle_stops: Counter,
    /// Motions that were planned anew for an obstacle in their way.
    pub replans: Counter,
    /// Calls of the stop service.
    pub stops: Counter,
    /// Joint states that could not be used.
    pub bad_states: Counter,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_carry_words_code_and_values() {
        let failure = Failure::new(Code::NoPath, "walls all around");
        let message = Report::failed("goal_pose", &failure)
            .with("goal", 3)
            .message(7, "arm");
        assert_eq!((message.name.as_str(), message.level), ("goal_pose", 2));
        assert_eq!(message.message, "walls all around");
        let values: Vec<(&str, &str)> = message
            .values
            .iter()
            .map(|v| (v.key.as_str(), v.value.as_str()))
            .collect();
        assert_eq!(
            values,
            [
                ("code", "-1001"),
                ("code_name", "NoPath"),
                ("sequence", "7"),
                ("goal", "3")
            ]
        );
        let preempted = Report::failed("goal_pose", &Failure::new(Code::Preempted, "newer goal"));
        assert_eq!(preempted.message(8, "").level, 1);
    }
}
