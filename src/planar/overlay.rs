//! The one door to the clipping library `i_overlay`.
//!
//! It computes on an integer grid of 2⁶¹ steps over half the input's extent,
//! so a vertex moves by less than the spacing of `f64` numbers of that size.
//! Vertices that it only passed through are put back bit for bit; what it
//! computed anew carries that rounding. No sign is decided from its results
//! without the exact predicates looking again.

use std::collections::HashMap;

use i_overlay::core::fill_rule::FillRule;
use i_overlay::core::overlay_rule::OverlayRule;
use i_overlay::core::solver::Solver;
use i_overlay::float::overlay::{FloatOverlay, OverlayOptions};
use nalgebra::Point2;

use super::polygon::Polygon;
use super::predicates::flush_tiny;

type Contour = Vec<[f64; 2]>;

fn contour(ring: &[Point2<f64>]) -> Contour {
    ring.iter().map(|p| [p.x, p.y]).collect()
}

/// Everything that `subject` covers by the non-zero rule, without what `clip` covers.
fn overlay(subject: &[Contour], clip: &[Contour], rule: OverlayRule) -> Vec<Vec<Contour>> {
    if subject.iter().all(|c| c.len() < 3) {
        return Vec::new();
    }
    // Rings that touch themselves come apart into rings that do not.
    let mut options = OverlayOptions::default();
    options.ogc = true;
    FloatOverlay::<[f64; 2], i64>::from_subj_and_clip_custom(subject, clip, options, Solver::AUTO)
        .overlay(rule, FillRule::NonZero)
}

/// Puts vertices that are within rounding of an input vertex back onto it.
struct Restorer {
    grid: f64,
    cells: HashMap<(i64, i64), Point2<f64>>,
}

impl Restorer {
    fn new<'a>(contours: impl Iterator<Item = &'a Contour> + Clone) -> Self {
        let largest = contours
            .clone()
            .flatten()
            .flatten()
            .fold(0.0_f64, |m, c| m.max(c.abs()));
        let grid = (largest * 1e-15).max(f64::MIN_POSITIVE);
        let mut cells = HashMap::new();
        for p in contours.flatten() {
            cells
                .entry(Self::cell(grid, p[0], p[1]))
                .or_insert_with(|| Point2::new(p[0], p[1]));
        }
        Restorer { grid, cells }
    }

    fn cell(grid: f64, x: f64, y: f64) -> (i64, i64) {
        // At most 1e15 steps: exact in an i64.
        ((x / grid).round() as i64, (y / grid).round() as i64)
    }

    fn restore(&self, p: &[f64; 2]) -> Point2<f64> {
        let (i, j) = Self::cell(self.grid, p[0], p[1]);
        for di in -1..=1 {
            for dj in -1..=1 {
                if let Some(q) = self.cells.get(&(i + di, j + dj)) {
                    return *q;
                }
            }
        }
        Point2::new(flush_tiny(p[0]), flush_tiny(p[1]))
    }
}

fn to_polygons(shapes: Vec<Vec<Contour>>, restorer: &Restorer) -> Vec<Polygon> {
    shapes
        .into_iter()
        .filter_map(|shape| {
            let rings = shape
                .iter()
                .map(|ring| ring.iter().map(|p| restorer.restore(p)).collect())
                .collect();
            Polygon::from_computed_rings(rings)
        })
        .collect()
}

/// Resolves a ring that crosses itself by the non-zero rule. Empty if that fails.
pub(crate) fn resolve_non_zero(ring: &[Point2<f64>]) -> Vec<Polygon> {
    let mut rings = vec![ring.to_vec()];
    // Rounding to `f64` may make a ring touch itself anew: then once more.
    for _ in 0..4 {
        let polygons = union(&rings);
        if polygons.iter().all(|p| p.sanity_check().is_ok()) {
            return polygons;
        }
        rings = polygons
            .iter()
            .flat_map(Polygon::rings)
            .map(<[_]>::to_vec)
            .collect();
    }
    Vec::new()
}

/// Union of all rings by the non-zero rule (wind solid pieces counter-clockwise).
pub(crate) fn union(rings: &[Vec<Point2<f64>>]) -> Vec<Polygon> {
    let subject: Vec<Contour> = rings.iter().map(|r| contour(r)).collect();
    let restorer = Restorer::new(subject.iter());
    to_polygons(overlay(&subject, &[], OverlayRule::Subject), &restorer)
}

/// What the rings `keep` cover and the rings `cut` do not.
pub(crate) fn difference(keep: &[Vec<Point2<f64>>], cut: &[Vec<Point2<f64>>]) -> Vec<Polygon> {
    let subject: Vec<Contour> = keep.iter().map(|r| contour(r)).collect();
    let clip: Vec<Contour> = cut.iter().map(|r| contour(r)).collect();
    let restorer = Restorer::new(subject.iter().chain(clip.iter()));
    to_polygons(overlay(&subject, &clip, OverlayRule::Difference), &restorer)
}
