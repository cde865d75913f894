//! Limits of velocity, acceleration and jerk on a grid along a spline, as rows of the program of
//! `third_order`: each divided by its limit, joints in lanes (the last ones empty).

use super::spline::Spline;
use super::states::States;
use super::MotionLimits;

/// Limits at a grid point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point<const W: usize> {
    /// q′ and q″ by the acceleration limits.
    pub first: [f64; W],
    pub second: [f64; W],
    /// Largest ṡ².
    pub most: f64,
}

/// Limits within an interval: q′ and 3 q″ at both ends, and q‴, by the jerk limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Link<const W: usize> {
    pub first: [[f64; W]; 2],
    pub second: [[f64; W]; 2],
    pub third: [f64; W],
    /// Largest ṡ² halfway.
    pub most: f64,
}

/// Rows of all grid points and intervals, with the shares of the limits that the states may use.
pub(super) fn rows<const W: usize>(
    spline: &Spline,
    limits: &MotionLimits,
    jerk: &[f64],
    states: &States,
) -> (Vec<Point<W>>, Vec<Link<W>>) {
    let last = states.piece.len() - 1;
    let zero = [0.0; W];
    let mut points = Vec::with_capacity(last + 2);
    let mut links = Vec::with_capacity(last + 1);
    let mut point = Point {
        first: zero,
        second: zero,
        most: f64::MAX,
    };
    // Shares at a point are the lower ones of the intervals beside it.
    let mut before = states.share[0];
    let derivatives = |piece: usize, joint: usize, u: f64| {
        let [_, c1, c2, c3] = spline.cubic(piece, joint);
        (
            c1 + u * (2.0 * c2 + 3.0 * c3 * u),
            2.0 * c2 + 6.0 * c3 * u,
            6.0 * c3,
        )
    };
    for i in 0..=last {
        let (piece, share) = (states.piece[i], states.share[i]);
        let from = spline.knots()[piece];
        let [u0, u1] = [states.s[i] - from, states.s[i + 1] - from];
        let mut link = Link {
            first: [zero; 2],
            second: [zero; 2],
            third: zero,
            most: f64::MAX,
        };
        let mut next = point;
        next.most = f64::MAX;
        point.most = f64::MAX;
        let [fastest, hardest] = [0, 1].map(|kind| f64::min(before[kind], share[kind]));
        for (joint, &turn) in jerk.iter().enumerate().take(spline.dof()) {
            let (speed, force) = (limits.velocity()[joint], limits.acceleration()[joint]);
            let square = |d: f64, share: f64| {
                let rate = speed * share / d.abs();
                rate * rate
            };
            let (d0, dd0, ddd) = derivatives(piece, joint, u0);
            let (d1, dd1, _) = derivatives(piece, joint, u1);
            let (middle, _, _) = derivatives(piece, joint, 0.5 * (u0 + u1));
            point.first[joint] = d0 / (force * hardest);
            point.second[joint] = dd0 / (force * hardest);
            point.most = point.most.min(square(d0, fastest));
            next.first[joint] = d1 / (force * share[1]);
            next.second[joint] = dd1 / (force * share[1]);
            next.most = next.most.min(square(d1, share[0]));
            link.most = link.most.min(square(middle, share[0]));
            let limit = turn * share[2];
            link.first[0][joint] = d0 / limit;
            link.first[1][joint] = d1 / limit;
            link.second[0][joint] = 3.0 * dd0 / limit;
            link.second[1][joint] = 3.0 * dd1 / limit;
            link.third[joint] = ddd / limit;
        }
        points.push(point);
        links.push(link);
        (point, before) = (next, share);
    }
    points.push(point);
    (points, links)
}
