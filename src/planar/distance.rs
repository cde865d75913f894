//! Distances between points and segments. \[m\]

use nalgebra::Point2;

/// The point of the closed segment `a b` that is nearest to `p`, rounded.
pub fn nearest_on_segment(p: &Point2<f64>, a: &Point2<f64>, b: &Point2<f64>) -> Point2<f64> {
    let d = b - a;
    let length2 = d.norm_squared();
    if length2 == 0.0 {
        return *a;
    }
    let t = (p - a).dot(&d) / length2;
    if t <= 0.0 {
        *a
    } else if t >= 1.0 {
        *b
    } else if t <= 0.5 {
        a + d * t
    } else {
        // From the nearer end: the error stays relative to the shorter part.
        b - d * ((b - p).dot(&d) / length2)
    }
}

/// Distance from `p` to the closed segment `a b`.
pub fn point_segment(p: &Point2<f64>, a: &Point2<f64>, b: &Point2<f64>) -> f64 {
    let d = b - a;
    let length = d.norm();
    if length == 0.0 || (p - a).dot(&d) <= 0.0 {
        return (p - a).norm();
    }
    if (p - b).dot(&d) >= 0.0 {
        return (p - b).norm();
    }
    let (va, vb) = (p - a, p - b);
    // From the nearer end, against cancellation on long edges.
    let v = if va.norm_squared() <= vb.norm_squared() {
        va
    } else {
        vb
    };
    (d.x * v.y - d.y * v.x).abs() / length
}

/// Distance between the closed segments `a b` and `c d`; 0 if they meet.
pub fn segment_segment(a: &Point2<f64>, b: &Point2<f64>, c: &Point2<f64>, d: &Point2<f64>) -> f64 {
    if super::predicates::segments_meet(a, b, c, d) != super::predicates::Meeting::Apart {
        return 0.0;
    }
    point_segment(a, c, d)
        .min(point_segment(b, c, d))
        .min(point_segment(c, a, b))
        .min(point_segment(d, a, b))
}
