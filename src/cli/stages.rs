//! What takes how long in a plan.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::planning::Stage;

/// Measures the stages of a plan.
pub(super) struct StageClock {
    stages: Stages,
    current: Option<(Stage, Instant)>,
}

/// Time that each stage took.
#[derive(Debug, Clone, Default)]
pub(super) struct Stages(BTreeMap<Stage, Duration>);

impl StageClock {
    pub(super) fn start() -> StageClock {
        StageClock {
            stages: Stages::default(),
            current: None,
        }
    }

    /// A stage begins, and ends the one before.
    pub(super) fn enter(&mut self, stage: Stage) {
        let now = Instant::now();
        self.close(now);
        self.current = Some((stage, now));
    }

    fn close(&mut self, now: Instant) {
        if let Some((stage, begun)) = self.current.take() {
            *self.stages.0.entry(stage).or_default() += now - begun;
        }
    }

    /// Ends the last stage.
    pub(super) fn stop(mut self) -> Stages {
        self.close(Instant::now());
        self.stages
    }
}

impl Stages {
    /// Seconds by name.
    pub(super) fn named(&self) -> BTreeMap<String, f64> {
        let named = self.0.iter();
        named
            .map(|(stage, time)| (stage.to_string(), time.as_secs_f64()))
            .collect()
    }

    /// All stages that there were, in their order (s).
    pub(super) fn iter(&self) -> impl Iterator<Item = (Stage, f64)> + '_ {
        self.0
            .iter()
            .map(|(stage, time)| (*stage, time.as_secs_f64()))
    }

    /// In words.
    pub(super) fn words(&self) -> String {
        let words: Vec<String> = self
            .iter()
            .map(|(stage, time)| format!("{stage} {:.2}", time * 1e3))
            .collect();
        words.join(", ")
    }
}

/// The smallest of sorted values that at least the share `q` of them does not exceed.
pub(super) fn quantile(sorted: &[f64], q: f64) -> f64 {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_add_up() {
        let mut clock = StageClock::start();
        for stage in [Stage::World, Stage::Route, Stage::World] {
            clock.enter(stage);
        }
        let stages = clock.stop();
        assert_eq!(
            stages.iter().map(|(stage, _)| stage).collect::<Vec<_>>(),
            [Stage::World, Stage::Route]
        );
        assert!(stages.words().starts_with("obstacles "));
    }

    #[test]
    fn quantiles_of_sorted_times() {
        let times: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(quantile(&times, 0.5), 100.0);
        assert_eq!(quantile(&times, 0.99), 198.0);
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
