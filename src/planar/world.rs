//! The obstacles of a plane, inflated and merged, and every question about free space.
//!
//! Longer than most files here: the questions that a world answers are read together.

use std::sync::Arc;

use nalgebra::Point2;

use super::arrangement::Arrangement;
use super::bodies::Bodies;
use super::distance::segment_segment;
pub use super::location::Location;
use super::offset::{deflate, inflate, Join, OffsetError};
use super::parts::Parts;
use super::polygon::{Polygon, PolygonError, PolygonOptions, Repair};
use super::predicates::{flush_tiny_point, Side};
use super::sector::{Contact, Corner, Fan, Sector};
use super::splice::{splice, Renamed};
use super::update::fresh_outlines;

/// Name under which the outer boundary appears among the obstacles.
pub const BOUNDARY: &str = "boundary";

/// A named polygon that the path must keep out of.
#[derive(Debug, Clone, PartialEq)]
pub struct Obstacle {
    /// Name used in answers and errors. Several polygons may share one.
    pub id: String,
    /// Its shape.
    pub polygon: Polygon,
}

impl Obstacle {
    /// Reads a ring as a user sends it: usually one obstacle, more when a self-crossing
    /// ring is resolved, with what was repaired.
    ///
    /// # Errors
    /// See [`PolygonError`].
    pub fn from_ring(
        id: &str,
        points: &[Point2<f64>],
        options: &PolygonOptions,
    ) -> Result<(Vec<Obstacle>, Vec<Repair>), PolygonError> {
        let repaired = Polygon::from_ring(id, points, options)?;
        let named = |polygon| Obstacle {
            id: id.to_owned(),
            polygon,
        };
        Ok((
            repaired.polygons.into_iter().map(named).collect(),
            repaired.repairs,
        ))
    }
}

/// How a world is built.
#[derive(Debug, Clone, PartialEq)]
pub struct WorldOptions {
    /// Distance that the path keeps from every obstacle and from the boundary. \[m\]
    pub clearance: f64,
    /// Shape of inflated corners.
    pub join: Join,
    /// Whether obstacles that touch (after inflation) can be slipped between.
    pub contact: Contact,
    /// A start or goal that lies in an obstacle or too close to one by no more than this is
    /// moved out to the nearest free point. \[m\]
    pub snap_tolerance: f64,
}

impl Default for WorldOptions {
    fn default() -> Self {
        WorldOptions {
            clearance: 0.0,
            join: Join::default(),
            contact: Contact::Blocked,
            snap_tolerance: 0.0,
        }
    }
}

/// Why a world could not be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WorldError {
    /// An obstacle could not be inflated.
    #[error("obstacle '{id}': {source}")]
    Obstacle {
        /// The obstacle.
        id: String,
        /// What went wrong.
        source: OffsetError,
    },
    /// The boundary could not be moved in by the clearance.
    #[error("boundary: {0}")]
    Boundary(OffsetError),
    /// The snap tolerance is negative or not finite.
    #[error("snap tolerance {0} m cannot be used: it must be 0 or a positive number")]
    InvalidSnapTolerance(f64),
}

/// How near a path comes to the obstacles as they were given.
#[derive(Debug, Clone, PartialEq)]
pub struct PathClearance {
    /// Smallest distance. \[m\]
    pub distance: f64,
    /// The obstacle (or [`BOUNDARY`]) there.
    pub obstacle: String,
}

/// A closed outline of what is blocked, for drawing and further processing.
#[derive(Debug, Clone, PartialEq)]
pub struct Outline {
    /// Its vertices in order, blocked side to the left, the first one not repeated. Two
    /// vertices: a wall without thickness.
    pub ring: Vec<Point2<f64>>,
    /// The obstacles that it belongs to.
    pub obstacles: Vec<String>,
}

/// Obstacles and boundary, inflated and merged: immutable, so that queries can go on
/// while the next one is built.
#[derive(Debug, Clone)]
pub struct PlanarWorld {
    pub(super) obstacles: Vec<Obstacle>,
    pub(super) boundary: Option<Polygon>,
    pub(super) options: WorldOptions,
    /// Everything inflated, not merged.
    pub(super) sources: Arc<Bodies>,
    pub(super) parts: Parts,
    /// The part of every vertex of the arrangement.
    pub(super) part_of: Vec<u32>,
    /// What decides whether a point or segment is free.
    pub(super) bodies: Arc<Bodies>,
    pub(super) arrangement: Arrangement,
    /// Corners to turn in that the merged outlines lack: rounding closed the sliver they ended.
    lost_corners: Vec<Point2<f64>>,
}

impl PlanarWorld {
    /// Inflates and merges. The free space is outside all obstacles and inside the boundary.
    ///
    /// # Errors
    /// See [`WorldError`].
    pub fn build(
        obstacles: Vec<Obstacle>,
        boundary: Option<Polygon>,
        options: &WorldOptions,
    ) -> Result<PlanarWorld, WorldError> {
        let snap = options.snap_tolerance;
        if !(snap >= 0.0 && snap.is_finite()) {
            return Err(WorldError::InvalidSnapTolerance(snap));
        }
        let (clearance, join) = (options.clearance, &options.join);
        let mut sources = Bodies::empty(clearance == 0.0);
        for (k, obstacle) in (0u32..).zip(&obstacles) {
            add_obstacle(&mut sources, k, obstacle, options)?;
        }
        if let Some(boundary) = &boundary {
            let deflated = deflate(boundary, clearance, join).map_err(WorldError::Boundary)?;
            sources.add_complement(obstacles.len() as u32, &deflated);
        } else {
            // The clearance is checked even in an empty world.
            deflate_nothing(clearance, join)?;
        }
        sources.index();
        let mut parts = Parts::new(&sources);
        let all: Vec<u32> = (0..parts.parts.len() as u32).collect();
        let fresh = fresh_outlines(&mut parts, &sources, &all, options.contact);
        let nothing = Renamed {
            part_of: &[],
            parts: &[],
            has_moved: false,
            obstacle: &|o| o,
            parent: &|e| e,
        };
        let spliced = splice(&Arrangement::default(), &nothing, fresh);
        Ok(Self::of_parts(
            obstacles,
            boundary,
            options.clone(),
            sources,
            parts,
            spliced.arrangement,
            spliced.part_of,
        ))
    }

    pub(super) fn of_parts(
        obstacles: Vec<Obstacle>,
        boundary: Option<Polygon>,
        options: WorldOptions,
        sources: Bodies,
        parts: Parts,
        mut arrangement: Arrangement,
        part_of: Vec<u32>,
    ) -> PlanarWorld {
        arrangement.rounded = parts.parts.iter().any(|p| p.rounded);
        let lost = parts.parts.iter().flat_map(|p| &p.lost);
        let lost_corners = lost.copied().collect();
        let sources = Arc::new(sources);
        // Inflated outlines are rounded anyway: what was merged is from now on the truth, so
        // that outlines that nearly coincide are the same for every question. Without
        // clearance the truth is what the user sent.
        let bodies = if sources.is_truth {
            sources.clone()
        } else {
            Arc::new(Bodies::from_outlines(&arrangement, boundary.is_some()))
        };
        PlanarWorld {
            obstacles,
            boundary,
            options,
            sources,
            parts,
            part_of,
            bodies,
            arrangement,
            lost_corners,
        }
    }

    /// The obstacles as they were given.
    pub fn obstacles(&self) -> &[Obstacle] {
        &self.obstacles
    }

    /// The boundary as it was given.
    pub fn boundary(&self) -> Option<&Polygon> {
        self.boundary.as_ref()
    }

    /// How the world was built.
    pub fn options(&self) -> &WorldOptions {
        &self.options
    }

    /// The merged outlines as edges and corners.
    pub fn arrangement(&self) -> &Arrangement {
        &self.arrangement
    }

    /// Whether the merged outlines are exactly what blocks: always with a clearance; without one
    /// unless outlines cross, in points that are rounded.
    pub(crate) fn outlines_are_exact(&self) -> bool {
        !self.sources.is_truth || !self.arrangement.rounded
    }

    /// Name of the obstacle with this index; [`BOUNDARY`] for the number of obstacles.
    pub fn obstacle_id(&self, index: u32) -> &str {
        self.obstacles
            .get(index as usize)
            .map_or(BOUNDARY, |o| o.id.as_str())
    }

    pub(super) fn ids_at(&self, p: &Point2<f64>) -> Vec<String> {
        dedup(
            self.bodies
                .obstacles_at(p)
                .iter()
                .map(|i| self.obstacle_id(*i).to_owned()),
        )
    }

    /// Whether a straight move from `a` to `b` keeps out of every interior (and slips through
    /// no contact that blocks), exactly. Both ends may lie on boundaries.
    pub fn segment_is_free(&self, a: &Point2<f64>, b: &Point2<f64>) -> bool {
        is_valid(a)
            && is_valid(b)
            && self.bodies.segment_is_free(
                &flush_tiny_point(a),
                &flush_tiny_point(b),
                self.options.contact,
            )
    }

    /// [`PlanarWorld::segment_is_free`] for ends that are known to be free.
    pub fn open_segment_is_free(&self, a: &Point2<f64>, b: &Point2<f64>) -> bool {
        self.bodies.open_segment_is_free(a, b, self.options.contact)
    }

    /// The corners in which shortest paths can turn, each with an obstacle (index), found
    /// without the merged outlines: for the oracle.
    pub(crate) fn exact_corners(&self) -> Vec<(Point2<f64>, Corner, u32)> {
        let mut points = self.bodies.points.clone();
        points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
        points.dedup();
        let contact = self.options.contact;
        points
            .into_iter()
            .filter(|p| self.bodies.point_is_free(p, contact))
            .filter_map(|p| {
                let corner = Fan::new(&p, &self.bodies.sectors_at(&p), contact).corner()?;
                let obstacle = self.bodies.obstacles_at(&p).first().copied()?;
                Some((p, corner, obstacle))
            })
            .collect()
    }

    /// Whether a way could be shorter than `length` that turns in a corner which the merged
    /// outlines lack.
    pub(crate) fn lacks_a_corner(&self, a: &Point2<f64>, b: &Point2<f64>, length: f64) -> bool {
        let mut corners = self.lost_corners.iter();
        corners.any(|c| (c - a).norm() + (b - c).norm() < length)
    }

    /// What surrounds `p`: empty unless `p` lies on an outline.
    pub fn sectors_at(&self, p: &Point2<f64>) -> Vec<Sector> {
        self.bodies.sectors_at(p)
    }

    /// Pieces of split edges that pass `p` at rounding's distance although `p` lies exactly
    /// on the edge that was split (indices of the arrangement's edges).
    pub(crate) fn displaced_edges(&self, p: &Point2<f64>) -> Vec<u32> {
        let at = self.bodies.edges_at(p);
        if at.is_empty() || !self.arrangement.is_rounded() {
            return Vec::new();
        }
        (0u32..)
            .zip(self.arrangement.edges())
            .filter(|(_, edge)| edge.parents.iter().any(|parent| at.contains(parent)))
            .map(|(i, _)| i)
            .collect()
    }

    /// Distance from `p` to the nearest obstacle as it was given (0 inside) and its name;
    /// `None` in a world without obstacles. The boundary does not count. \[m\]
    pub fn distance_to_obstacles(&self, p: &Point2<f64>) -> Option<(f64, &str)> {
        self.obstacles
            .iter()
            .map(|o| (o.polygon.distance(p), o.id.as_str()))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Smallest distance between the polyline `points` and the obstacles and the boundary as
    /// they were given; `None` when there are none, or no points.
    pub fn clearance_of_path(&self, points: &[Point2<f64>]) -> Option<PathClearance> {
        let single = points
            .first()
            .map(|p| (*p, *p))
            .into_iter()
            .take(usize::from(points.len() == 1));
        let segments: Vec<_> = points
            .windows(2)
            .map(|w| (w[0], w[1]))
            .chain(single)
            .collect();
        let polygons = self
            .obstacles
            .iter()
            .map(|o| (o.id.as_str(), &o.polygon, Side::Outside))
            .chain(self.boundary.iter().map(|b| (BOUNDARY, b, Side::Inside)));
        let mut best: Option<PathClearance> = None;
        for (id, polygon, good_side) in polygons {
            let edges = polygon
                .edges()
                .chain(polygon.walls().iter().map(|w| (w[0], w[1])));
            let mut distance = f64::INFINITY;
            for (c, d) in edges {
                for (a, b) in &segments {
                    distance = distance.min(segment_segment(a, b, &c, &d));
                }
            }
            let wrong = |p: &Point2<f64>| {
                let side = polygon.locate(p);
                side != good_side && side != Side::Boundary
            };
            if points.iter().any(wrong) {
                distance = 0.0;
            }
            if !segments.is_empty() && best.as_ref().is_none_or(|b| distance < b.distance) {
                best = Some(PathClearance {
                    distance,
                    obstacle: id.to_owned(),
                });
            }
        }
        best
    }

    /// The merged outlines of everything that is blocked.
    pub fn outlines(&self) -> Vec<Outline> {
        let arrangement = &self.arrangement;
        let outline = |ring: &[u32], last: Option<u32>| {
            let edges = ring.iter().map(|i| &arrangement.edges()[*i as usize]);
            let mut indices: Vec<u32> = edges.clone().map(|e| e.obstacle).collect();
            indices.sort_unstable();
            Outline {
                ring: edges
                    .map(|e| e.ends[0])
                    .chain(last)
                    .map(|v| arrangement.point(v))
                    .collect(),
                obstacles: dedup(indices.iter().map(|i| self.obstacle_id(*i).to_owned())),
            }
        };
        let walls = (0u32..)
            .zip(arrangement.edges())
            .filter(|(_, edge)| edge.is_wall)
            .map(|(i, edge)| outline(&[i], Some(edge.ends[1])));
        let loops = arrangement.loops();
        let closed = loops.iter().map(|ring| outline(ring, None));
        closed.chain(walls).collect()
    }

    /// Checks the promises of the world and of everything in it; for tests and fuzzing.
    ///
    /// # Errors
    /// Says which promise is broken.
    pub fn sanity_check(&self) -> Result<(), String> {
        for obstacle in &self.obstacles {
            obstacle
                .polygon
                .sanity_check()
                .map_err(|e| format!("obstacle '{}': {e}", obstacle.id))?;
        }
        let arrangement = &self.arrangement;
        let mut balance = vec![0i32; arrangement.vertices().len()];
        for (i, edge) in arrangement.edges().iter().enumerate() {
            let [from, to] = edge.ends;
            if from == to {
                return Err(format!("edge {i} has no length"));
            }
            if !edge.is_wall {
                balance[from as usize] += 1;
                balance[to as usize] -= 1;
            }
        }
        if let Some(v) = balance.iter().position(|b| *b != 0) {
            return Err(format!("the outline is not closed at vertex {v}"));
        }
        for (i, vertex) in arrangement.vertices().iter().enumerate() {
            if vertex.sectors.is_empty() || vertex.obstacles.is_empty() {
                return Err(format!("vertex {i} belongs to nothing"));
            }
            if vertex.corner.is_some()
                && !self
                    .bodies
                    .point_is_free(&vertex.point, self.options.contact)
            {
                return Err(format!("corner {i} is not free"));
            }
        }
        Ok(())
    }
}

/// Adds an obstacle, inflated.
pub(super) fn add_obstacle(
    bodies: &mut Bodies,
    index: u32,
    obstacle: &Obstacle,
    options: &WorldOptions,
) -> Result<(), WorldError> {
    let clearance = options.clearance;
    let failed = |source| WorldError::Obstacle {
        id: obstacle.id.clone(),
        source,
    };
    super::offset::validate(clearance, &options.join).map_err(failed)?;
    if clearance == 0.0 {
        bodies.add_polygon(index, &obstacle.polygon);
        // Inflated walls are part of the inflated polygon. Without clearance a wall has no
        // interior, so that it only counts where contact blocks.
        if options.contact == Contact::Blocked {
            for wall in obstacle.polygon.walls() {
                bodies.add_wall(index, wall);
            }
        }
        return Ok(());
    }
    let inflated = inflate(&obstacle.polygon, clearance, &options.join).map_err(failed)?;
    bodies.add_polygon(index, &inflated);
    Ok(())
}

fn deflate_nothing(clearance: f64, join: &Join) -> Result<(), WorldError> {
    super::offset::validate(clearance, join).map_err(WorldError::Boundary)
}

pub(crate) fn is_valid(p: &Point2<f64>) -> bool {
    let ok = |c: f64| c.is_finite() && c.abs() <= super::polygon::MAX_COORDINATE;
    ok(p.x) && ok(p.y)
}

/// Without later repetitions, in order.
pub(super) fn dedup(ids: impl Iterator<Item = String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for id in ids {
        if !out.contains(&id) {
            out.push(id);
        }
    }
    out
}
