//! Which boxes a sphere may touch.
//!
//! Boxes lie eight to a block, block by block, in single precision, widened for the rounding: the
//! comparison of eight boxes is a handful of vector instructions. Blocks lie in blocks again.

use parry3d_f64::math::Vector;

/// Boxes a block.
const WIDTH: usize = 8;

#[derive(Debug, Clone, PartialEq)]
struct Block {
    low: [[f32; WIDTH]; 3],
    high: [[f32; WIDTH]; 3],
    items: [u32; WIDTH],
}

impl Block {
    const EMPTY: Self = Self {
        low: [[f32::INFINITY; WIDTH]; 3],
        high: [[f32::NEG_INFINITY; WIDTH]; 3],
        items: [u32::MAX; WIDTH],
    };

    /// One bit for each box that may touch. Written so that each step is one vector instruction;
    /// differences that are not a number, of what is too large for single precision, count as zero.
    #[inline]
    #[allow(clippy::neg_cmp_op_on_partial_ord, clippy::needless_range_loop)]
    fn touched(&self, centre: [f32; 3], square: f32) -> u32 {
        let mut sum = [0.0_f32; WIDTH];
        for axis in 0..3 {
            let (low, high, at) = (&self.low[axis], &self.high[axis], centre[axis]);
            for lane in 0..WIDTH {
                let (below, above) = (low[lane] - at, at - high[lane]);
                let beyond = if below > above { below } else { above };
                let beyond = if beyond > 0.0 { beyond } else { 0.0 };
                sum[lane] += beyond * beyond;
            }
        }
        let mut bits = 0;
        for (lane, sum) in sum.iter().enumerate() {
            bits |= u32::from(!(*sum > square)) << lane;
        }
        bits
    }

    /// The box around all of a block's boxes.
    fn around(&self) -> ([f32; 3], [f32; 3]) {
        let low = self
            .low
            .map(|lane| lane.iter().copied().fold(f32::INFINITY, f32::min));
        let high = self
            .high
            .map(|lane| lane.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        (low, high)
    }
}

/// Boxes, ordered by place.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Blocks {
    leaves: Vec<Block>,
    tops: Vec<Block>,
}

/// Down, and up, by more than single precision loses.
fn outward(value: f64) -> f32 {
    (value + value.abs() * 1e-6 + 1e-6) as f32
}

fn pack(boxes: &[([f32; 3], [f32; 3], u32)]) -> Vec<Block> {
    boxes
        .chunks(WIDTH)
        .map(|chunk| {
            let mut block = Block::EMPTY;
            for (lane, (low, high, item)) in chunk.iter().enumerate() {
                for axis in 0..3 {
                    block.low[axis][lane] = low[axis];
                    block.high[axis][lane] = high[axis];
                }
                block.items[lane] = *item;
            }
            block
        })
        .collect()
}

impl Blocks {
    /// Of boxes by their lowest and highest corners.
    pub fn new(boxes: &[(Vector, Vector)]) -> Self {
        let mut all: Vec<(Vector, usize)> = boxes
            .iter()
            .enumerate()
            .map(|(k, (low, high))| (0.5 * *low + 0.5 * *high, k))
            .collect();
        // Strips across x, each ordered along y: neighbours share a block.
        let strips = ((boxes.len() as f64 / WIDTH as f64).sqrt().ceil() as usize).max(1);
        let strip = boxes.len().div_ceil(strips).max(1).next_multiple_of(WIDTH);
        all.sort_by(|a, b| a.0.x.total_cmp(&b.0.x).then(a.1.cmp(&b.1)));
        for chunk in all.chunks_mut(strip) {
            chunk.sort_by(|a, b| a.0.y.total_cmp(&b.0.y).then(a.1.cmp(&b.1)));
        }
        let single: Vec<([f32; 3], [f32; 3], u32)> = all
            .iter()
            .filter_map(|&(_, k)| {
                let (low, high) = boxes.get(k)?;
                let low = low.to_array().map(|value| -outward(-value));
                let high = high.to_array().map(outward);
                Some((low, high, u32::try_from(k).ok()?))
            })
            .collect();
        let leaves = pack(&single);
        let around: Vec<([f32; 3], [f32; 3], u32)> = (0_u32..)
            .zip(&leaves)
            .map(|(k, leaf)| {
                let (low, high) = leaf.around();
                (low, high, k)
            })
            .collect();
        let tops = pack(&around);
        Self { leaves, tops }
    }

    /// Calls `found` with the number of every box that a sphere may touch (and of some that it does
    /// not), until it says to stop.
    #[inline]
    pub fn touched(
        &self,
        centre: Vector,
        radius: f64,
        mut found: impl FnMut(usize) -> bool,
    ) -> bool {
        let at = centre.to_array().map(|value| value as f32);
        let slack = centre.abs().max_element() * 1e-6;
        let radius = outward(radius + slack);
        let square = radius * radius;
        let each = |block: &Block, visit: &mut dyn FnMut(usize) -> bool| {
            let mut bits = block.touched(at, square);
            while bits != 0 {
                let lane = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let item = block.items.get(lane).copied().unwrap_or(u32::MAX);
                if item != u32::MAX && visit(item as usize) {
                    return true;
                }
            }
            false
        };
        if self.leaves.len() <= 2 {
            return self.leaves.iter().any(|leaf| each(leaf, &mut found));
        }
        self.tops.iter().any(|top| {
            each(top, &mut |leaf| {
                self.leaves
                    .get(leaf)
                    .is_some_and(|leaf| each(leaf, &mut found))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector(most: f64) -> impl Strategy<Value = Vector> {
        prop::array::uniform3(-most..most).prop_map(Vector::from_array)
    }

    proptest! {
        #[test]
        fn no_box_that_a_sphere_touches_is_left_out(
            boxes in prop::collection::vec((vector(2.0), vector(0.2)), 0..200),
            spheres in prop::collection::vec((vector(2.0), 0.0..0.5f64), 20),
            scale in prop::sample::select(vec![1e-3, 1.0, 1e3, 1e30, 1e300]),
        ) {
            let boxes: Vec<(Vector, Vector)> = boxes.iter()
                .map(|(at, half)| ((*at - half.abs()) * scale, (*at + half.abs()) * scale)).collect();
            let blocks = Blocks::new(&boxes);
            for (centre, radius) in spheres {
                let (centre, radius) = (centre * scale, radius * scale);
                let mut seen = vec![0; boxes.len()];
                blocks.touched(centre, radius, |k| { seen[k] += 1; false });
                for ((low, high), seen) in boxes.iter().zip(seen) {
                    let gap = ((centre - centre.max(*low).min(*high)) / scale).length() * scale;
                    prop_assert!(seen <= 1 && (seen == 1 || gap > radius));
                    // And few that it does not: by single precision alone.
                    if scale <= 1e3 {
                        prop_assert!(seen == 0 || gap <= radius + 1e-4 * (1.0 + scale));
                    }
                }
            }
        }
    }
}
