//! Whether the clock that joint states are stamped with is the node's own.
//!
//! A trajectory that goes on from a moving state has to begin at one moment, not "on arrival". That
//! moment is given as a stamp, which means something only where the controller has the same clock.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// How many joint states are looked at.
const WINDOW: usize = 100;
/// At least that many are needed.
const LEAST: usize = 10;
/// The least delay of a joint state among them must be in this range \[ns\]: what is less than
/// none, or more than a message takes, is the difference of the clocks.
const DELAYS: std::ops::RangeInclusive<i64> = -1_000_000..=4_000_000;

/// Compares stamps with the time of their arrival.
#[derive(Debug, Default)]
pub struct Clocks(Mutex<VecDeque<i64>>);

impl Clocks {
    /// Takes note of how old a message was by its stamp when it came \[ns\].
    pub fn note(&self, delay: i64) {
        let mut delays = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if delays.len() == WINDOW {
            delays.pop_front();
        }
        delays.push_back(delay);
    }

    /// Whether both clocks show the same time, as far as can be seen.
    pub fn agree(&self) -> bool {
        let delays = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        delays.len() >= LEAST
            && delays
                .iter()
                .min()
                .is_some_and(|least| DELAYS.contains(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(delays: &[i64]) -> bool {
        let clocks = Clocks::default();
        for delay in delays {
            clocks.note(*delay);
        }
        clocks.agree()
    }

    #[test]
    fn delays_are_told_from_other_clocks() {
        let millisecond = 1_000_000;
        assert!(!agree(&[]));
        assert!(!agree(&[millisecond; LEAST - 1]));
        assert!(agree(&[millisecond; LEAST]));
        // Now and then a message waits; that is no other clock.
        let mut late = [90 * millisecond; 60];
        assert!(!agree(&late));
        late[7] = millisecond;
        assert!(agree(&late));
        // Behind, ahead, and without stamps at all.
        assert!(!agree(&[-20 * millisecond; 60]));
        assert!(!agree(&[20 * millisecond; 60]));
        let none = Clocks::default();
        for now in 0..60 {
            none.note(1_700_000_000_000_000_000 + now);
        }
        assert!(!none.agree());
    }
}
