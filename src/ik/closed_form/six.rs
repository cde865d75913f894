//! All branches of six-joint arms with three parallel axes or with a spherical wrist
//! \[Elias2025\].
//!
//! Both follow from the product of exponentials: the target's rotation against the home pose,
//! R = R₁R₂…R₆, and the wrist's position seen from the first axis, w. Each step takes one angle
//! out of an equation in which the others do not appear.

use nalgebra::{Isometry3, Matrix3, Vector3};

use super::geometry::{Kind, SixR};
use super::subproblems::{align, meet, reach_distance, reach_height, turn, Angles};

/// Joint angles of the branches found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Branches {
    values: [[f64; 6]; 16],
    count: usize,
}

impl Branches {
    fn new() -> Self {
        Branches {
            values: [[0.0; 6]; 16],
            count: 0,
        }
    }

    fn push(&mut self, angles: [f64; 6]) {
        if let Some(slot) = self.values.get_mut(self.count) {
            *slot = angles;
            self.count += 1;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[f64; 6]> {
        self.values.iter().take(self.count)
    }
}

/// A turn as a matrix.
fn matrix(axis: &Vector3<f64>, angle: f64) -> Matrix3<f64> {
    let (sine, cosine) = angle.sin_cos();
    let rest = 1.0 - cosine;
    let (x, y, z) = (axis.x, axis.y, axis.z);
    Matrix3::new(
        cosine + x * x * rest,
        x * y * rest - z * sine,
        x * z * rest + y * sine,
        x * y * rest + z * sine,
        cosine + y * y * rest,
        y * z * rest - x * sine,
        x * z * rest - y * sine,
        y * z * rest + x * sine,
        cosine + z * z * rest,
    )
}

/// Some direction across `axis`.
fn across(axis: &Vector3<f64>) -> Vector3<f64> {
    let least = if axis.x.abs() < 0.6 {
        Vector3::x()
    } else {
        Vector3::y()
    };
    axis.cross(&least)
}

impl SixR {
    /// The joint angles \[rad\] of all branches that reach `target` (for approximate geometry:
    /// almost). Where an angle makes no difference the seed's is kept.
    pub(super) fn branches(&self, target: &Isometry3<f64>, seed: &[f64; 6]) -> Branches {
        let mut start = *seed;
        let mut goal = *target;
        if self.mirrored {
            start.reverse();
            start = start.map(|angle| -angle);
            goal = goal.inverse();
        }
        for (angle, sign) in start.iter_mut().zip(&self.signs) {
            *angle *= sign;
        }
        let mut found = Branches::new();
        let rotation = goal.rotation * self.home.rotation.inverse();
        let matrix = rotation.to_rotation_matrix().into_inner();
        let wrist = goal.translation.vector
            - matrix * (self.home.translation.vector - self.axes[5].point)
            - self.axes[0].point;
        match self.kind {
            Kind::ThreeParallel => self.three_parallel(&matrix, &wrist, &start, &mut found),
            _ => self.spherical_wrist(&matrix, &wrist, &start, &mut found),
        }
        for angles in found.values.iter_mut().take(found.count) {
            for (angle, sign) in angles.iter_mut().zip(&self.signs) {
                *angle *= sign;
            }
            if self.mirrored {
                angles.reverse();
                *angles = angles.map(|angle| -angle);
            }
        }
        found
    }

    fn link(&self, from: usize, to: usize) -> Vector3<f64> {
        self.axes[to].point - self.axes[from].point
    }

    fn three_parallel(
        &self,
        rotation: &Matrix3<f64>,
        wrist: &Vector3<f64>,
        seed: &[f64; 6],
        found: &mut Branches,
    ) {
        let [h1, h2, _, _, h5, h6] = self.axes.map(|axis| axis.direction);
        let (p12, p23) = (self.link(0, 1), self.link(1, 2));
        let (p34, p45) = (self.link(2, 3), self.link(3, 4));
        // Along the parallel axes only the first joint moves the wrist.
        let height = h2.dot(&(p12 + p23 + p34 + p45));
        for t1 in reach_height(&h2, &-h1, wrist, height).list(seed[0]) {
            let back = matrix(&h1, -t1);
            let rest = back * rotation;
            let seen = back * wrist;
            let tool = rest * h6;
            for t5 in reach_height(&h2, &h5, &h6, h2.dot(&tool)).list(seed[4]) {
                let (t234, t6) = match (
                    align(&h2, &turn(&h5, t5, &h6), &tool),
                    align(&h6, &turn(&h5, -t5, &h2), &rest.tr_mul(&h2)),
                ) {
                    (Some(sum), Some(minus)) => (sum, -minus),
                    // The sixth axis is parallel, too: only a sum is fixed, the seed decides.
                    _ => {
                        let t6 = seed[5];
                        let side = across(&h2);
                        let held = turn(&h6, -t6, &turn(&h5, -t5, &side));
                        let sum = align(&h2, &side, &(rest * held)).unwrap_or(0.0);
                        (sum, t6)
                    }
                };
                let flat = seen - p12 - turn(&h2, t234, &p45);
                for t3 in reach_distance(&h2, &p34, &-p23, flat.norm()).list(seed[2]) {
                    let arm = p23 + turn(&h2, t3, &p34);
                    let t2 = align(&h2, &arm, &flat).unwrap_or(seed[1]);
                    found.push([t1, t2, t3, t234 - t2 - t3, t5, t6]);
                }
            }
        }
    }

    fn spherical_wrist(
        &self,
        rotation: &Matrix3<f64>,
        wrist: &Vector3<f64>,
        seed: &[f64; 6],
        found: &mut Branches,
    ) {
        let [h1, h2, h3, h4, h5, h6] = self.axes.map(|axis| axis.direction);
        for [t1, t2, t3] in self.wrist_positions(wrist, seed).into_iter().flatten() {
            let back = matrix(&h3, -t3) * matrix(&h2, -t2) * matrix(&h1, -t1);
            let rest = back * rotation;
            let tool = rest * h6;
            for t5 in reach_height(&h4, &h5, &h6, h4.dot(&tool)).list(seed[4]) {
                let (t4, t6) = match (
                    align(&h4, &turn(&h5, t5, &h6), &tool),
                    align(&h6, &turn(&h5, -t5, &h4), &rest.tr_mul(&h4)),
                ) {
                    (Some(t4), Some(minus)) => (t4, -minus),
                    // The fourth and sixth axes coincide: only a sum is fixed.
                    _ => {
                        let t6 = seed[5];
                        let side = across(&h4);
                        let held = turn(&h5, -t5, &side);
                        let t4 = align(&h4, &side, &(rest * turn(&h6, -t6, &held)));
                        (t4.unwrap_or(seed[3]), t6)
                    }
                };
                found.push([t1, t2, t3, t4, t5, t6]);
            }
        }
    }

    /// The first three angles for which the wrist is where it should be.
    fn wrist_positions(&self, wrist: &Vector3<f64>, seed: &[f64; 6]) -> [Option<[f64; 3]>; 4] {
        let [h1, h2, h3, ..] = self.axes.map(|axis| axis.direction);
        let (p12, p23, p34) = (self.link(0, 1), self.link(1, 2), self.link(2, 3));
        let mut found = [None; 4];
        let mut slots = found.iter_mut();
        let mut push = |angles: [f64; 3]| {
            if let Some(slot) = slots.next() {
                *slot = Some(angles);
            }
        };
        match self.kind {
            Kind::WristAfterMeeting => {
                for t3 in reach_distance(&h3, &p34, &-p23, wrist.norm()).list(seed[2]) {
                    let arm = p23 + turn(&h3, t3, &p34);
                    for (minus, t2) in meet(&h1, wrist, &h2, &arm).into_iter().flatten() {
                        push([
                            minus.map_or(seed[0], |angle| -angle),
                            t2.unwrap_or(seed[1]),
                            t3,
                        ]);
                    }
                }
            }
            Kind::WristAfterScara => {
                let height = h1.dot(&(wrist - p12 - p23));
                for t3 in reach_height(&h1, &h3, &p34, height).list(seed[2]) {
                    let arm = p23 + turn(&h3, t3, &p34);
                    for t2 in reach_distance(&h2, &arm, &-p12, wrist.norm()).list(seed[1]) {
                        let t1 = align(&h1, &(p12 + turn(&h2, t2, &arm)), wrist);
                        push([t1.unwrap_or(seed[0]), t2, t3]);
                    }
                }
            }
            Kind::WristAfterParallel | Kind::ThreeParallel => {
                let height = h2.dot(&(p12 + p23 + p34));
                let first: Angles = reach_height(&h2, &-h1, wrist, height);
                for t1 in first.list(seed[0]) {
                    let flat = turn(&h1, -t1, wrist) - p12;
                    for t3 in reach_distance(&h3, &p34, &-p23, flat.norm()).list(seed[2]) {
                        let arm = p23 + turn(&h3, t3, &p34);
                        let t2 = align(&h2, &arm, &flat).unwrap_or(seed[1]);
                        push([t1, t2, t3]);
                    }
                }
            }
        }
        found
    }
}
