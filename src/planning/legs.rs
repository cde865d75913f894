//! The tip's whole way: goal after goal.

use super::guide::{Guide, METRES_PER_RADIAN};
use super::TipPath;
use crate::kinematics::Pose;

/// Tip paths one after the other, as one curve.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Legs {
    legs: Vec<TipPath>,
    /// Fraction of the whole at the end of each leg.
    ends: Vec<f64>,
}

impl Legs {
    /// `legs` must each begin where the one before ends.
    pub(super) fn new(legs: Vec<TipPath>) -> Legs {
        let ways = legs
            .iter()
            .map(|leg| (leg.length() + METRES_PER_RADIAN * leg.turn()).max(f64::MIN_POSITIVE));
        let mut ends: Vec<f64> = ways
            .scan(0.0, |sum, way| {
                *sum += way;
                Some(*sum)
            })
            .collect();
        if let Some(whole) = ends.last().copied() {
            ends.iter_mut().for_each(|end| *end /= whole);
        }
        Legs { legs, ends }
    }

    /// Which leg the fraction `u` lies on (at a joint of two: the later one), and where on it.
    pub(super) fn place(&self, u: f64) -> (usize, f64) {
        let leg = self
            .ends
            .partition_point(|end| *end <= u)
            .min(self.legs.len().saturating_sub(1));
        let (begin, end) = self.range(leg);
        (leg, ((u - begin) / (end - begin)).clamp(0.0, 1.0))
    }

    /// Fractions at which a leg begins and ends.
    pub(super) fn range(&self, leg: usize) -> (f64, f64) {
        let before = leg.checked_sub(1).and_then(|before| self.ends.get(before));
        (
            before.copied().unwrap_or(0.0),
            self.ends.get(leg).copied().unwrap_or(1.0),
        )
    }
}

impl Guide for Legs {
    fn pose(&self, u: f64) -> Pose {
        let (leg, part) = self.place(u);
        self.legs
            .get(leg)
            .map_or_else(Pose::identity, |leg| leg.pose(part))
    }

    fn samples(&self, step: f64, angle_step: f64) -> (Vec<f64>, Vec<usize>) {
        let mut samples = vec![0.0];
        let mut stops = Vec::new();
        let mut before: Option<&TipPath> = None;
        for (index, leg) in self.legs.iter().enumerate() {
            let (begin, end) = self.range(index);
            let (inner, rests) = leg.samples(step, angle_step);
            if before.is_some_and(|before| !before.flows_into(leg)) && samples.len() > 1 {
                stops.push(samples.len() - 1);
            }
            let last = inner.len().saturating_sub(1);
            for (number, fraction) in inner.iter().enumerate().skip(1) {
                let u = if number == last {
                    end
                } else {
                    begin + (end - begin) * fraction
                };
                if samples.last().is_some_and(|last| u > *last) {
                    samples.push(u);
                }
                if rests.contains(&number) {
                    stops.push(samples.len() - 1);
                }
            }
            before = Some(leg);
        }
        (samples, stops)
    }
}
