//! Whether the arm rests, for arms whose sensors are never still.

use std::collections::VecDeque;
use std::time::Duration;

use super::codes::Failure;
use super::context::Shared;
use super::mover::REST_SPEED;

/// How long the arm is looked at before its noise is told from motion.
const WINDOW: Duration = Duration::from_millis(300);

/// Looks at the arm again and again.
#[derive(Debug, Default)]
pub struct Rest {
    looks: VecDeque<(Duration, Vec<f64>)>,
}

impl Rest {
    /// Looks at the arm now: it rests if no joint is fast, or if none has gone anywhere for a while.
    ///
    /// # Errors
    /// There is no current state.
    pub fn look(&mut self, shared: &Shared) -> Result<bool, Failure> {
        let view = shared.view()?;
        let state = view.state(&view.robot.chain)?;
        let still = |speed: Option<f64>| speed.unwrap_or(0.0).abs() <= REST_SPEED;
        if state.readings.iter().all(|reading| still(reading.speed())) {
            return Ok(true);
        }
        Ok(self.goes_nowhere(view.now, state.q()))
    }

    /// Whether the window is full: what it says now is more than noise.
    pub fn is_sure(&self) -> bool {
        let times = self.looks.front().zip(self.looks.back());
        times.is_some_and(|((first, _), (last, _))| last.saturating_sub(*first) >= WINDOW)
    }

    /// Compares the mean positions of the two halves of the window: single velocities may be noise,
    /// means of positions hardly are.
    fn goes_nowhere(&mut self, now: Duration, q: Vec<f64>) -> bool {
        self.looks.push_back((now, q));
        while self
            .looks
            .get(1)
            .is_some_and(|(when, _)| now.saturating_sub(*when) >= WINDOW)
        {
            self.looks.pop_front();
        }
        let Some((first, oldest)) = self.looks.front() else {
            return false;
        };
        if now.saturating_sub(*first) < WINDOW {
            return false;
        }
        let middle = now.saturating_sub(WINDOW / 2);
        let half = WINDOW.as_secs_f64() / 2.0;
        (0..oldest.len()).all(|joint| {
            let mean = |late: bool| {
                let values = self
                    .looks
                    .iter()
                    .filter(|(when, _)| (*when >= middle) == late);
                let (sum, count) = values
                    .filter_map(|(_, q)| q.get(joint))
                    .fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
                sum / count
            };
            (mean(true) - mean(false)).abs() / half <= REST_SPEED
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(position: impl Fn(f64) -> f64) -> bool {
        let mut rest = Rest::default();
        let mut rests = false;
        for k in 0..60 {
            let time = f64::from(k) * 0.01;
            rests = rest.goes_nowhere(Duration::from_secs_f64(time), vec![position(time), 1.0]);
        }
        rests
    }

    #[test]
    fn noise_is_told_from_motion() {
        assert!(looks(|_| 0.3));
        // One step of a 12-bit encoder, back and forth.
        assert!(looks(|t| if (t * 100.0).round() as i64 % 2 == 0 {
            0.3
        } else {
            0.3015
        }));
        assert!(!looks(|t| 0.3 + 0.02 * t));
        assert!(!looks(|t| 0.3 - 0.5 * t));
    }

    #[test]
    fn it_takes_a_while_to_tell() {
        let mut rest = Rest::default();
        assert!(!rest.goes_nowhere(Duration::from_millis(0), vec![0.0]));
        assert!(!rest.goes_nowhere(Duration::from_millis(200), vec![0.0]));
        assert!(rest.goes_nowhere(Duration::from_millis(300), vec![0.0]));
    }
}
