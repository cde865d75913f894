//! Full turns: which of the values that mean the same pose is nearest to the seed.

use crate::model::{Chain, ChainJoint, Motion};

/// By how much the degree of freedom `dof` may change without any joint's pose changing
/// \[rad\]; `None` if something slides with it or its followers do not fit together.
pub(super) fn period(chain: &Chain, dof: usize) -> Option<f64> {
    period_of(chain.joints.iter().filter(|joint| joint.dof == dof))
}

/// The same for the joints that one degree of freedom drives.
pub(super) fn period_of<'a>(mut driven: impl Iterator<Item = &'a ChainJoint>) -> Option<f64> {
    let first = driven.next()?;
    if first.motion == Motion::Translation || first.multiplier == 0.0 {
        return None;
    }
    let mut single = true;
    let mut whole = first.multiplier.fract() == 0.0;
    for joint in driven {
        if joint.motion == Motion::Translation {
            return None;
        }
        single = false;
        whole &= joint.multiplier.fract() == 0.0;
    }
    if single {
        Some(std::f64::consts::TAU / first.multiplier.abs())
    } else {
        // With whole multipliers a full turn of the driver is whole turns of all.
        whole.then_some(std::f64::consts::TAU)
    }
}

/// The value `value + k * period` inside the limits that is nearest to `seed`; `value` itself if
/// none is inside.
pub(super) fn nearest(value: f64, seed: f64, period: f64, lower: f64, upper: f64) -> f64 {
    let mut turns = ((seed - value) / period).round();
    // If that winding is beyond a limit, the nearest one inside is at the limit's side.
    if value + turns * period > upper {
        turns = ((upper - value) / period).floor();
    } else if value + turns * period < lower {
        turns = ((lower - value) / period).ceil();
    }
    let wound = if turns == 0.0 {
        value
    } else {
        value + turns * period
    };
    if wound >= lower && wound <= upper {
        wound
    } else {
        value
    }
}

/// Turns every element of `q` by whole periods to the value inside its limits that is
/// nearest to the seed's.
pub(super) fn to_nearest(chain: &Chain, seed: &[f64], q: &mut [f64]) {
    for (index, (dof, (value, &start))) in chain.dofs.iter().zip(q.iter_mut().zip(seed)).enumerate()
    {
        // Ranges below half a turn each way from any seed hold one winding only.
        if (*value - start).abs() <= std::f64::consts::PI {
            continue;
        }
        if let Some(period) = period(chain, index) {
            *value = nearest(*value, start, period, dof.lower, dof.upper);
        }
    }
}

/// All windings of `q` inside the limits, itself first, at most `most`. Degrees of freedom
/// without limits stay as they are: their windings are without end and all the same.
pub(super) fn all(chain: &Chain, q: &[f64], most: usize) -> Vec<Vec<f64>> {
    let mut found = vec![q.to_vec()];
    for (index, dof) in chain.dofs.iter().enumerate() {
        if !(dof.lower.is_finite() && dof.upper.is_finite()) {
            continue;
        }
        let (Some(period), Some(&value)) = (period(chain, index), q.get(index)) else {
            continue;
        };
        let first = ((dof.lower - value) / period).ceil();
        let last = ((dof.upper - value) / period).floor();
        let so_far = found.len();
        let mut turns = first;
        while turns <= last {
            if turns != 0.0 {
                let wound = value + turns * period;
                if dof.contains(wound) {
                    for base in 0..so_far {
                        if found.len() >= most {
                            return found;
                        }
                        let mut copy = match found.get(base) {
                            Some(copy) => copy.clone(),
                            None => continue,
                        };
                        if let Some(element) = copy.get_mut(index) {
                            *element = wound;
                        }
                        found.push(copy);
                    }
                }
            }
            turns += 1.0;
        }
    }
    found
}

/// Euclidean distance of two configurations, radians and metres alike.
pub(super) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(x, y)| (x - y) * (x - y))
        .sum::<f64>()
        .sqrt()
}

#[cfg(test)]
mod tests {
    use super::nearest;
    use std::f64::consts::{PI, TAU};

    #[test]
    fn nearest_winding_inside_the_limits() {
        assert_eq!(nearest(-0.1, 6.0, TAU, -TAU, TAU), -0.1 + TAU);
        assert_eq!(nearest(0.1, 6.0, TAU, -TAU, TAU), 0.1);
        assert_eq!(nearest(0.1, 6.0, TAU, -PI, PI), 0.1);
        assert_eq!(nearest(-3.0, 3.0, TAU, -PI, PI), -3.0);
        assert_eq!(nearest(-PI, 3.0, TAU, 0.4, TAU), PI);
        assert_eq!(
            nearest(0.5, 20.0, TAU, f64::NEG_INFINITY, f64::INFINITY),
            0.5 + 3.0 * TAU
        );
        // Nothing inside: unchanged, the judge will say so.
        assert_eq!(nearest(PI, 0.0, TAU, -1.0, 1.0), PI);
    }
}
