//! `~/progress`: how far the arm is on its way.

use std::time::Duration;

use r2r::arm_planner_msgs::msg::Progress;

use super::context::{Shared, View};
use super::convert::{duration_message, header, text};
use super::mover::Execution;
use super::moves::Advance;

/// Time between two reports.
const PERIOD: Duration = Duration::from_millis(100);

/// Publishes the progress of one motion.
pub struct Reporter {
    about: &'static str,
    number: u64,
    due: Duration,
}

impl Reporter {
    /// For the goal with this number.
    pub fn new(about: &'static str, number: u64) -> Reporter {
        Reporter {
            about,
            number,
            due: Duration::ZERO,
        }
    }

    /// Publishes if it is time for it.
    pub fn tell(&mut self, shared: &Shared, execution: &Execution) {
        let now = shared.now();
        if now < self.due {
            return;
        }
        let (Ok(view), Some(advance)) = (shared.view(), shared.mover.advance(execution, now))
        else {
            return;
        };
        self.due = now + PERIOD;
        let message = self.message(&view, advance);
        shared.outputs.progress.publish(&message);
    }

    fn message(&self, view: &View, advance: Advance) -> Progress {
        let whole = (advance.elapsed + advance.left).as_secs_f64();
        let (joint, error) = advance
            .error
            .unwrap_or_else(|| furthest(view, &advance.expected));
        Progress {
            header: header(&view.robot.chain.base, view.stamp.clone()),
            about: self.about.to_owned(),
            goal: self.number,
            fraction: if whole > 0.0 {
                (advance.elapsed.as_secs_f64() / whole).clamp(0.0, 1.0)
            } else {
                1.0
            },
            elapsed: duration_message(advance.elapsed),
            left: duration_message(advance.left),
            worst_joint: text(joint),
            worst_error: error,
        }
    }
}

/// The joint whose last known value is furthest from where it should be, and how far; no joint
/// where none is known.
fn furthest(view: &View, expected: &[(String, f64)]) -> (String, f64) {
    let off = expected.iter().filter_map(|(name, value)| {
        let known = view.states.get(name)?.position;
        Some((name.clone(), (known - value).abs()))
    });
    off.fold((String::new(), 0.0), |most, one| {
        if one.1 >= most.1 {
            one
        } else {
            most
        }
    })
}
