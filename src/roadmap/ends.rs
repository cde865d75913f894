//! What all road maps do alike around a search: look at start and goal, put the
//! route together, and say why there is none.

use nalgebra::Point2;

use crate::planar::convex_hull::convex_hull;
use crate::planar::predicates::flush_tiny_point;
use crate::planar::{Location, PlanarWorld};

use super::sweep::{Sweeper, View};
use super::{End, Route, RouteError};

/// A free end of a path: where it was asked for and where the search begins.
pub(crate) struct FreeEnd {
    pub asked: Point2<f64>,
    pub free: Point2<f64>,
}

/// Looks at an end of a path: free, movable to free space within the tolerance, or refused.
pub(crate) fn free_end(
    world: &PlanarWorld,
    end: End,
    p: &Point2<f64>,
) -> Result<FreeEnd, RouteError> {
    let location = world.locate(p);
    let snap = world.options().snap_tolerance;
    if location.is_free() {
        let p = flush_tiny_point(p);
        return Ok(FreeEnd { asked: p, free: p });
    }
    if location != Location::Invalid && snap > 0.0 {
        if let Some(free) = world
            .nearest_free_point(p)
            .filter(|q| (q - p).norm() <= snap)
        {
            return Ok(FreeEnd { asked: *p, free });
        }
    }
    Err(match location {
        Location::Inside { obstacles, depth } => RouteError::InObstacle {
            end,
            obstacles,
            depth,
        },
        Location::TooClose {
            obstacles,
            distance,
            clearance,
        } => RouteError::TooClose {
            end,
            obstacles,
            distance,
            clearance,
        },
        Location::OutsideBoundary { depth } => RouteError::OutsideBoundary { end, depth },
        Location::Invalid | Location::Free | Location::OnBoundary { .. } => {
            RouteError::InvalidPoint {
                end,
                x: p.x,
                y: p.y,
            }
        }
    })
}

/// Puts a route together from free ends and what lies between them.
pub(crate) fn assemble(
    start: &FreeEnd,
    goal: &FreeEnd,
    between: impl Iterator<Item = (Point2<f64>, Option<String>)>,
    expanded: usize,
) -> Route {
    let ends = |p: Point2<f64>| (p, None);
    let all = [start.asked, start.free]
        .map(ends)
        .into_iter()
        .chain(between)
        .chain([goal.free, goal.asked].map(ends));
    let mut points: Vec<Point2<f64>> = Vec::new();
    let mut obstacles: Vec<Option<String>> = Vec::new();
    for (point, obstacle) in all {
        if points.last() == Some(&point) {
            // A path that starts or ends in a corner.
            if let Some(last) = obstacles.last_mut() {
                *last = last.take().or(obstacle);
            }
        } else {
            points.push(point);
            obstacles.push(obstacle);
        }
    }
    let length = points.windows(2).map(|w| (w[1] - w[0]).norm()).sum();
    Route {
        points,
        obstacles,
        length,
        expanded,
    }
}

/// Sweeps around any free point.
pub(crate) fn look_around(world: &PlanarWorld, p: &Point2<f64>, found: impl FnMut(u32)) {
    let sectors = world.sectors_at(p);
    let ignored = world.displaced_edges(p);
    let view = View {
        point: *p,
        sectors: &sectors,
        corner: None,
        ignored: &ignored,
        upper_half: false,
    };
    Sweeper::new(world).visible(&view, found);
}

/// Why there is no way between two free points.
pub(crate) fn no_path(world: &PlanarWorld, start: &Point2<f64>, goal: &Point2<f64>) -> RouteError {
    let (start_open, start_by) = reachable_obstacles(world, start);
    let (goal_open, goal_by) = reachable_obstacles(world, goal);
    // If both are shut in, or the boundary makes it look so, the one with fewer obstacles
    // around it is named.
    let goal_is_enclosed = if start_open == goal_open {
        goal_by.len() < start_by.len()
    } else {
        start_open
    };
    let (enclosed, by) = if goal_is_enclosed {
        (End::Goal, goal_by)
    } else {
        (End::Start, start_by)
    };
    let by = by
        .iter()
        .map(|i| world.obstacle_id(*i).to_owned())
        .collect();
    RouteError::NoPath { enclosed, by }
}

/// The obstacles that a path from `p` can come to, and whether it can come out of all
/// of them (to the hull of everything).
fn reachable_obstacles(world: &PlanarWorld, p: &Point2<f64>) -> (bool, Vec<u32>) {
    let vertices = world.arrangement().vertices();
    let all: Vec<Point2<f64>> = vertices.iter().map(|v| v.point).collect();
    let hull = convex_hull(&all);
    let has_boundary = world.boundary().is_some();
    let mut seen = vec![false; vertices.len()];
    let mut queue = vec![*p];
    let mut next = 0;
    while let Some(q) = queue.get(next).copied() {
        next += 1;
        look_around(world, &q, |v| {
            let seen = &mut seen[v as usize];
            let vertex = &vertices[v as usize];
            if !*seen {
                *seen = true;
                if vertex.corner.is_some() {
                    queue.push(vertex.point);
                }
            }
        });
    }
    let reached = || vertices.iter().zip(&seen).filter(|v| *v.1).map(|v| v.0);
    let open = !has_boundary && reached().any(|v| hull.contains(&v.point));
    let mut obstacles: Vec<u32> = reached()
        .flat_map(|v| v.obstacles.iter().copied())
        .collect();
    obstacles.sort_unstable();
    obstacles.dedup();
    (open, obstacles)
}
