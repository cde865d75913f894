//! What all road maps do alike around a search: look at start and goal, put the
//! route together, and say why there is none.

use nalgebra::Point2;

use crate::planar::convex_hull::convex_hull;
use crate::planar::predicates::flush_tiny_point;
use crate::planar::world::BOUNDARY;
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
    let vertices = world.arrangement().vertices();
    let all: Vec<Point2<f64>> = vertices.iter().map(|v| v.point).collect();
    // Who comes to the hull of everything is not shut in, unless there is a boundary.
    let hull = if world.boundary().is_none() {
        convex_hull(&all)
    } else {
        Vec::new()
    };
    let mut sides = [
        Exploration::new(End::Start, start, vertices.len()),
        Exploration::new(End::Goal, goal, vertices.len()),
    ];
    // In turns: the work is that of the smaller side.
    let enclosed = loop {
        for side in &mut sides {
            side.step(world, &hull);
        }
        let shut_in = sides.iter().position(|s| s.is_exhausted() && !s.is_open);
        match shut_in {
            Some(k) => break k,
            // Cannot be for ends without a way between them.
            None if sides.iter().all(|s| s.is_open || s.is_exhausted()) => break 0,
            None => {}
        }
    };
    let [first, second] = sides;
    let side = if enclosed == 0 { first } else { second };
    let mut obstacles: Vec<u32> = vertices
        .iter()
        .zip(&side.seen)
        .filter(|(_, seen)| **seen)
        .flat_map(|(vertex, _)| vertex.obstacles.iter().copied())
        .collect();
    obstacles.sort_unstable();
    obstacles.dedup();
    let mut by: Vec<String> = Vec::new();
    for obstacle in obstacles {
        let id = world.obstacle_id(obstacle);
        if by.last().is_none_or(|last| last != id) {
            by.push(id.to_owned());
        }
    }
    if by.is_empty() {
        // It looked from the wrong side of a rounded edge.
        let ends = [start, goal];
        let nearest = world.distance_to_obstacles(ends[enclosed]);
        by.push(nearest.map_or(BOUNDARY, |(_, id)| id).to_owned());
    }
    RouteError::NoPath {
        enclosed: side.end,
        by,
    }
}

/// What can be reached from one end of a path, corner by corner.
struct Exploration {
    end: End,
    seen: Vec<bool>,
    queue: Vec<Point2<f64>>,
    next: usize,
    is_open: bool,
}

impl Exploration {
    fn new(end: End, p: &Point2<f64>, vertices: usize) -> Self {
        Exploration {
            end,
            seen: vec![false; vertices],
            queue: vec![*p],
            next: 0,
            is_open: false,
        }
    }

    fn is_exhausted(&self) -> bool {
        self.next >= self.queue.len()
    }

    /// Looks around from the next corner.
    fn step(&mut self, world: &PlanarWorld, hull: &[Point2<f64>]) {
        let Some(p) = self.queue.get(self.next).copied() else {
            return;
        };
        if self.is_open {
            return;
        }
        self.next += 1;
        let vertices = world.arrangement().vertices();
        look_around(world, &p, |v| {
            let seen = &mut self.seen[v as usize];
            let vertex = &vertices[v as usize];
            if !std::mem::replace(seen, true) {
                self.is_open |= hull.contains(&vertex.point);
                if vertex.corner.is_some() {
                    self.queue.push(vertex.point);
                }
            }
        });
    }
}
