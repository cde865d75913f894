//! Convex hull of a point set: the monotone chain \[Andrew1979\], and gift wrapping
//! \[Jarvis1973\] as its slow oracle.
//!
//! Both return the hull's corners counter-clockwise from the leftmost (then
//! lowest) point, without points on straight edges. A set on one line gives its
//! two ends, equal points give one, no points give none.

use nalgebra::Point2;

use super::predicates::{flush_tiny_point, orient2d, Orientation};

fn finite_sorted(points: &[Point2<f64>]) -> Vec<Point2<f64>> {
    let mut sorted: Vec<_> = points
        .iter()
        .filter(|p| p.x.is_finite() && p.y.is_finite())
        .map(flush_tiny_point)
        .collect();
    sorted.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    sorted.dedup();
    sorted
}

/// Hull by the monotone chain, O(n log n). Points that are not finite are left out.
pub fn convex_hull(points: &[Point2<f64>]) -> Vec<Point2<f64>> {
    let sorted = finite_sorted(points);
    if sorted.len() < 3 {
        return sorted;
    }
    let chain = |points: &mut dyn Iterator<Item = &Point2<f64>>| {
        let mut chain: Vec<Point2<f64>> = Vec::new();
        for p in points {
            while let [.., a, b] = chain.as_slice() {
                if orient2d(a, b, p) == Orientation::Left {
                    break;
                }
                chain.pop();
            }
            chain.push(*p);
        }
        // The other chain starts with it.
        chain.pop();
        chain
    };
    let mut hull = chain(&mut sorted.iter());
    hull.extend(chain(&mut sorted.iter().rev()));
    hull
}

/// Hull by gift wrapping, O(n·h): the oracle.
pub fn convex_hull_gift_wrapping(points: &[Point2<f64>]) -> Vec<Point2<f64>> {
    let sorted = finite_sorted(points);
    let Some(&start) = sorted.first() else {
        return sorted;
    };
    let mut hull = vec![start];
    let mut current = start;
    while hull.len() <= sorted.len() {
        let mut next: Option<Point2<f64>> = None;
        for candidate in sorted.iter().filter(|p| **p != current) {
            let better = match next {
                None => true,
                Some(best) => match orient2d(&current, &best, candidate) {
                    Orientation::Right => true,
                    Orientation::Left => false,
                    // The farther of two on one line; all candidates lie on one side of it.
                    Orientation::Collinear => {
                        super::predicates::on_segment(&current, candidate, &best)
                    }
                },
            };
            if better {
                next = Some(*candidate);
            }
        }
        match next {
            Some(p) if p != start => {
                hull.push(p);
                current = p;
            }
            _ => break,
        }
    }
    hull
}
