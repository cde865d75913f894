//! `/diagnostics`: whether the arm can be moved, and what has gone wrong since the node began.

use std::sync::Arc;
use std::time::Duration;

use r2r::diagnostic_msgs::msg::{DiagnosticArray, DiagnosticStatus, KeyValue};

use super::context::{Shared, View};
use super::convert::{header, text};
use super::status::Level;

/// Time between two reports.
const PERIOD: Duration = Duration::from_secs(1);
/// How long something that went wrong makes the level a warning.
const RECENT: u32 = 10;

/// Reports until the node ends.
pub async fn publish(shared: Arc<Shared>) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut faults = Faults::default();
    loop {
        ticks.tick().await;
        let message = DiagnosticArray {
            header: header("", shared.stamp()),
            status: vec![status(&shared, &mut faults)],
        };
        shared.outputs.diagnostics.publish(&message);
    }
}

/// Remembers when a counter last rose.
#[derive(Debug, Default)]
struct Faults {
    total: u64,
    since: Option<u32>,
}

impl Faults {
    /// Whether any was counted within the last reports.
    fn are_recent(&mut self, total: u64) -> bool {
        let rose = total > self.total;
        self.total = total;
        self.since = match self.since {
            _ if rose => Some(0),
            Some(reports) if reports < RECENT => Some(reports + 1),
            _ => None,
        };
        self.since.is_some()
    }
}

fn status(shared: &Shared, faults: &mut Faults) -> DiagnosticStatus {
    let counts = &shared.counts;
    let counted = [
        ("trajectories sent", &counts.sent),
        ("refused by the gate", &counts.gate_refusals),
        ("refused by the controller", &counts.controller_refusals),
        ("given up by the controller", &counts.controller_failures),
        ("stopped for stale joint states", &counts.stale_stops),
        ("stopped for an obstacle", &counts.obstacle_stops),
        ("planned anew for an obstacle", &counts.replans),
        ("stop service called", &counts.stops),
        ("joint states not usable", &counts.bad_states),
    ];
    let bad = [
        &counts.gate_refusals,
        &counts.controller_refusals,
        &counts.controller_failures,
        &counts.stale_stops,
        &counts.obstacle_stops,
        &counts.bad_states,
    ];
    let recent = faults.are_recent(bad.iter().map(|counter| counter.total()).sum());
    let mut values: Vec<(&str, String)> = counted
        .iter()
        .map(|(name, counter)| (*name, counter.total().to_string()))
        .collect();
    let moving = shared.mover.is_moving(shared.now());
    values.push(("moving", moving.to_string()));
    let (level, message) = match shared.view().map_err(|failure| failure.message) {
        Ok(view) => {
            let age = oldest(&view).map_or("unknown".to_owned(), |age| format!("{age:.3}"));
            values.push(("age of the joint states [s]", age));
            match view.state(&view.robot.chain) {
                Err(error) => (Level::Error, error.to_string()),
                Ok(_) if recent => {
                    let message = "something went wrong lately: see the counters and ~/status";
                    (Level::Warn, message.to_owned())
                }
                Ok(_) => (Level::Ok, "the arm can be moved".to_owned()),
            }
        }
        Err(why) => (Level::Error, why),
    };
    let robot = shared.view().map(|view| view.robot.model.name.clone());
    DiagnosticStatus {
        level: level.value(),
        name: text(format!("{}: motion", shared.name.trim_start_matches('/'))),
        message: text(message),
        hardware_id: text(robot.unwrap_or_default()),
        values: values
            .into_iter()
            .map(|(key, value)| KeyValue {
                key: text(key),
                value: text(value),
            })
            .collect(),
    }
}

/// Age of the oldest state of the arm's joints \[s\], where all of them have one.
fn oldest(view: &View) -> Option<f64> {
    let joints = view.robot.chain.dofs.iter();
    let mut ages = joints.map(|dof| {
        let reading = view.states.get(&dof.name)?;
        Some(view.now.saturating_sub(reading.received).as_secs_f64())
    });
    ages.try_fold(0.0, |most: f64, age| Some(most.max(age?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_a_warning_for_a_while() {
        let mut faults = Faults::default();
        assert!(!faults.are_recent(0));
        assert!(faults.are_recent(2));
        for _ in 0..RECENT {
            assert!(faults.are_recent(2));
        }
        assert!(!faults.are_recent(2));
        assert!(faults.are_recent(3));
    }
}
