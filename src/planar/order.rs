//! A total order of points in which neighbours are mostly near each other.
//!
//! Everything that is numbered in a world is numbered in this order, so that the
//! numbers depend on the points alone, not on the way they came about; and what
//! is looked at together lies together in memory.

use nalgebra::Point2;

/// Place of a point along the Z-order curve \[Morton1966\]: the bits of both coordinates in
/// turns, as the floating-point numbers order them. Different points have different places
/// (the negative zero does not occur: see `flush_tiny`).
pub(crate) fn z_order(p: &Point2<f64>) -> u128 {
    spread(ordered(p.x)) | spread(ordered(p.y)) << 1
}

/// Bits that are ordered as the numbers are.
fn ordered(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

/// Every bit at twice its place.
fn spread(bits: u64) -> u128 {
    let mut b = u128::from(bits);
    b = (b | b << 32) & 0x0000_0000_ffff_ffff_0000_0000_ffff_ffff;
    b = (b | b << 16) & 0x0000_ffff_0000_ffff_0000_ffff_0000_ffff;
    b = (b | b << 8) & 0x00ff_00ff_00ff_00ff_00ff_00ff_00ff_00ff;
    b = (b | b << 4) & 0x0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f;
    b = (b | b << 2) & 0x3333_3333_3333_3333_3333_3333_3333_3333;
    (b | b << 1) & 0x5555_5555_5555_5555_5555_5555_5555_5555
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_ordered_along_each_axis() {
        let values = [-1e7, -3.0, -2.5, -1e-40, 0.0, 1e-40, 0.1, 1.0, 1.5, 4e6];
        for pair in values.windows(2) {
            for y in values {
                let at = |x: f64| (z_order(&Point2::new(x, y)), z_order(&Point2::new(y, x)));
                assert!(at(pair[0]).0 < at(pair[1]).0);
                assert!(at(pair[0]).1 < at(pair[1]).1);
            }
        }
    }

    #[test]
    fn a_quarter_is_a_stretch_of_the_curve() {
        // All of [1, 2) x [1, 2) lies between its corners.
        let [low, high] = [1.0, 2.0 - f64::EPSILON].map(|c| z_order(&Point2::new(c, c)));
        for (x, y) in [(1.0, 1.9), (1.5, 1.5), (1.999, 1.0)] {
            let at = z_order(&Point2::new(x, y));
            assert!(low <= at && at <= high);
        }
        assert!(z_order(&Point2::new(2.0, 1.5)) > high);
        assert!(z_order(&Point2::new(0.9, 0.9)) < low);
    }
}
