//! Planar scenes from seeds, of any size: the same numbers on every machine.
//!
//! The first four are for measuring; the others are what geometry breaks on.

use nalgebra::Point2;

pub type Ring = Vec<Point2<f64>>;

/// SplitMix64 [Steele2014].
pub struct Random(pub u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.bits() % count.max(1) as u64) as usize
    }
}

fn p(x: f64, y: f64) -> Point2<f64> {
    Point2::new(x, y)
}

fn rectangle(x: f64, y: f64, w: f64, h: f64) -> Ring {
    vec![p(x, y), p(x + w, y), p(x + w, y + h), p(x, y + h)]
}

/// One star-shaped polygon in every cell of a square grid of 100 m: `sides` are the numbers of
/// corners to be drawn from, `shrink` how near the centre a corner may come.
fn scattered(vertices: usize, seed: u64, sides: &[usize], shrink: f64) -> Vec<Ring> {
    let mut random = Random(seed);
    let mut counts = Vec::new();
    let mut total = 0;
    while total < vertices {
        let sides = sides[random.below(sides.len())]
            .min(vertices - total)
            .max(3);
        total += sides;
        counts.push(sides);
    }
    let side = (counts.len() as f64).sqrt().ceil();
    counts
        .iter()
        .enumerate()
        .map(|(k, &sides)| {
            let (i, j) = (k as f64 % side, (k as f64 / side).floor());
            let center = p(
                (i + random.between(0.45, 0.55)) * 100.0,
                (j + random.between(0.45, 0.55)) * 100.0,
            );
            let radius = random.between(20.0, 42.0);
            let turn = random.between(0.0, std::f64::consts::TAU);
            (0..sides)
                .map(|s| {
                    let step = s as f64 + random.between(-0.3, 0.3);
                    let angle = turn + std::f64::consts::TAU * step / sides as f64;
                    let r = radius * random.between(shrink, 1.0);
                    // Whole numbers: collinear and cocircular points occur.
                    p(
                        (center.x + r * angle.cos()).round(),
                        (center.y + r * angle.sin()).round(),
                    )
                })
                .collect()
        })
        .collect()
}

/// About `vertices` corners of convex polygons.
pub fn convex(vertices: usize, seed: u64) -> Vec<Ring> {
    scattered(vertices, seed, &[3, 4, 5, 6, 8], 1.0)
}

/// About `vertices` corners of star-shaped polygons with deep bays.
pub fn non_convex(vertices: usize, seed: u64) -> Vec<Ring> {
    scattered(vertices, seed, &[7, 9, 12, 15], 0.35)
}

/// Squares in rows and columns: everything collinear, and a long view along every street.
pub fn lattice(vertices: usize) -> Vec<Ring> {
    let side = ((vertices as f64 / 4.0).sqrt().round() as usize).max(1);
    let cells = (0..side).flat_map(|i| (0..side).map(move |j| (i as f64, j as f64)));
    cells
        .map(|(i, j)| rectangle(i * 100.0, j * 100.0, 50.0, 50.0))
        .collect()
}

/// Two combs whose teeth reach between each other: one way, and it turns at every tooth.
pub fn comb(vertices: usize) -> Vec<Ring> {
    let teeth = (vertices / 8).max(1);
    let width = teeth as f64 * 40.0;
    let mut lower = vec![p(width, -10.0), p(width, 0.0)];
    let mut upper = vec![p(-10.0, 130.0), p(-10.0, 120.0)];
    for k in (0..teeth).rev() {
        let x = k as f64 * 40.0;
        lower.extend([p(x + 10.0, 0.0), p(x + 10.0, 100.0), p(x, 100.0), p(x, 0.0)]);
    }
    for k in 0..teeth {
        let x = k as f64 * 40.0 + 20.0;
        upper.extend([
            p(x, 120.0),
            p(x, 20.0),
            p(x + 10.0, 20.0),
            p(x + 10.0, 120.0),
        ]);
    }
    lower.push(p(0.0, -10.0));
    upper.extend([p(width + 10.0, 120.0), p(width + 10.0, 130.0)]);
    vec![lower, upper]
}

/// Tiles that share whole edges, with some left out: blocked contact makes big blocks of them.
pub fn shared_edges(side: usize, seed: u64) -> Vec<Ring> {
    let mut random = Random(seed);
    let cells = (0..side).flat_map(|i| (0..side).map(move |j| (i as f64, j as f64)));
    cells
        .filter(|_| random.below(3) > 0)
        .map(|(i, j)| rectangle(i, j, 1.0, 1.0))
        .collect()
}

/// A checkerboard: squares that touch in their corners only.
pub fn checkerboard(side: usize) -> Vec<Ring> {
    let cells = (0..side).flat_map(|i| (0..side).map(move |j| (i, j)));
    cells
        .filter(|(i, j)| (i + j) % 2 == 0)
        .map(|(i, j)| rectangle(i as f64, j as f64, 1.0, 1.0))
        .collect()
}

/// Bars whose ends all lie on a few lines, some touching the next, some overlapping it.
pub fn collinear_chain(count: usize) -> Vec<Ring> {
    (0..count)
        .flat_map(|k| {
            let x = k as f64 * 3.0;
            let length = 2.0 + (k % 3) as f64;
            let slope = (k % 2) as f64;
            [
                rectangle(x, 0.0, length, 1.0),
                // The same on the diagonal y = x + 4.
                vec![
                    p(x, x + 4.0),
                    p(x + length, x + length + 4.0),
                    p(x + length, x + length + 5.0 + slope),
                    p(x, x + 5.0),
                ],
            ]
        })
        .collect()
}

/// Needles from one point in all directions, their tips on a circle.
pub fn star(needles: usize) -> Vec<Ring> {
    (0..needles)
        .map(|k| {
            let angle = std::f64::consts::TAU * k as f64 / needles as f64;
            let half = 0.3 * std::f64::consts::PI / needles as f64;
            let at = |angle: f64, r: f64| p(r * angle.cos(), r * angle.sin());
            vec![p(0.0, 0.0), at(angle - half, 10.0), at(angle + half, 10.0)]
        })
        .collect()
}

/// A block with a top edge of `count` corners that bend by a rounding error each, up or down,
/// and the same block once more beside it.
pub fn near_collinear(count: usize, seed: u64) -> Vec<Ring> {
    let mut random = Random(seed);
    let mut block = |x: f64| {
        let mut ring = vec![p(x, 0.0), p(x + 100.0, 0.0)];
        ring.extend((0..=count).rev().map(|k| {
            let bend = [0.0, f64::EPSILON, -f64::EPSILON][random.below(3)];
            let along = k as f64 / count as f64;
            p(x + 100.0 * along, (7.0 + along) * (1.0 + bend))
        }));
        ring
    };
    vec![block(0.0), block(120.0)]
}
