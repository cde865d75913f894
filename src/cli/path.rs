//! `arm-planner path`: one shortest path among the obstacles of a scene, with a picture.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use nalgebra::Point2;
use serde_json::json;

use super::arm::write_text;
use super::panel::{Mark, Spot};
use super::scene::{parse_point, ContactArgument, Scene, SelfCrossingArgument};
use super::svg::{Picture, Style};
use super::CliError;
use crate::planar::polygon::ring_edges;
use crate::planar::{PlanarWorld, WorldOptions};
use crate::roadmap::{build_roadmap_with, shorten, BuildOptions, Roadmap, Route, RouteError};

/// Finds the shortest path of a point among the obstacles of a scene.
#[derive(Debug, Args)]
pub struct Path {
    /// Scene file, JSON.
    #[arg(long)]
    scene: PathBuf,
    /// Where to start (default: the scene's own start).
    #[arg(long, value_name = "X,Y", value_parser = parse_point, allow_hyphen_values = true)]
    start: Option<Point2<f64>>,
    /// Where to go (default: the scene's own goal).
    #[arg(long, value_name = "X,Y", value_parser = parse_point, allow_hyphen_values = true)]
    goal: Option<Point2<f64>>,
    /// Distance to keep from obstacles and boundary (m).
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    clearance: f64,
    /// Road map; an unknown name lists the choices.
    #[arg(long, default_value = "auto")]
    roadmap: String,
    /// Whether obstacles that touch can be slipped between.
    #[arg(long, value_enum, default_value = "blocked")]
    contact: ContactArgument,
    /// What to do with polygons that cross themselves.
    #[arg(long, value_enum, default_value = "refuse")]
    self_crossing: SelfCrossingArgument,
    /// Move start and goal to the nearest free points if they are not free.
    #[arg(long)]
    nearest_free: bool,
    /// Pull the path taut (for road maps that do not give the shortest one).
    #[arg(long)]
    shorten: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
    /// Where to draw the picture, SVG.
    #[arg(long)]
    svg: Option<PathBuf>,
}

impl Path {
    /// Runs the command.
    ///
    /// # Errors
    /// See [`CliError`].
    pub fn run(&self) -> Result<(), CliError> {
        let bad = |error: String| CliError::BadInput(error);
        let scene = Scene::read(&self.scene, self.self_crossing.into())?;
        scene.report_repairs();
        let own = scene.queries.last().filter(|_| scene.queries.len() == 1);
        let missing = |what: &str| {
            bad(format!(
                "no {what}: give --{what} x,y (the scene has none, or several)"
            ))
        };
        let start = self
            .start
            .or(own.map(|q| q[0]))
            .ok_or_else(|| missing("start"))?;
        let goal = self
            .goal
            .or(own.map(|q| q[1]))
            .ok_or_else(|| missing("goal"))?;
        let options = WorldOptions {
            clearance: self.clearance,
            contact: self.contact.into(),
            ..WorldOptions::default()
        };
        let world = PlanarWorld::build(scene.outlines(), scene.boundary, &options)
            .map_err(|error| bad(error.to_string()))?;
        // One question; but a graph can be seen in a picture, and none cannot.
        let options = BuildOptions {
            queries: if self.svg.is_some() { usize::MAX } else { 1 },
            ..BuildOptions::default()
        };
        let roadmap = build_roadmap_with(&self.roadmap, Arc::new(world), &options)
            .map_err(|error| bad(error.to_string()))?;
        let ends = [start, goal].map(|p| match self.nearest_free {
            true => roadmap.world().nearest_free_point(&p).unwrap_or(p),
            false => p,
        });
        let mut answer = roadmap.shortest_path(&ends[0], &ends[1]);
        if let (true, Ok(route)) = (self.shorten, &mut answer) {
            *route = shorten(roadmap.world(), route);
        }
        let shortest = shortest_route(roadmap.as_ref(), &ends);
        if let Some(svg) = &self.svg {
            let picture = draw(roadmap.as_ref(), &[start, goal], &answer, shortest.as_ref());
            write_text(svg, &picture.to_svg())?;
        }
        self.print(roadmap.as_ref(), &ends, &answer, shortest.map(|s| s.length));
        answer.map(|_| ()).map_err(|error| match error {
            RouteError::InvalidPoint { .. } => CliError::BadInput(error.to_string()),
            _ => CliError::NoSolution(error.to_string()),
        })
    }

    fn print(
        &self,
        roadmap: &dyn Roadmap,
        ends: &[Point2<f64>; 2],
        answer: &Result<Route, RouteError>,
        shortest: Option<f64>,
    ) {
        let pair = |p: &Point2<f64>| [p.x, p.y];
        let world = roadmap.world();
        match answer {
            Ok(route) => {
                let clearance = world.clearance_of_path(&route.points);
                if self.json {
                    let result = json!({
                        "ok": true,
                        "length": route.length,
                        "shortest_length": shortest.unwrap_or(route.length),
                        "path": route.points.iter().map(pair).collect::<Vec<_>>(),
                        "obstacles": route.obstacles,
                        "min_clearance": clearance.as_ref().map(|c| c.distance),
                        "nearest_obstacle": clearance.as_ref().map(|c| c.obstacle.as_str()),
                        "start": pair(&ends[0]),
                        "goal": pair(&ends[1]),
                        "roadmap": roadmap.name(),
                        "nodes": roadmap.node_count(),
                        "edges": roadmap.edge_count(),
                        "expanded": route.expanded,
                    });
                    outln!("{result}");
                    return;
                }
                outln!("length         {:.9} m", route.length);
                if let Some(shortest) = shortest {
                    let more = (route.length / shortest - 1.0) * 100.0;
                    outln!("shortest       {shortest:.9} m (this path is {more:.1} % longer)");
                }
                if let Some(clearance) = clearance {
                    outln!(
                        "min clearance  {:.9} m ('{}')",
                        clearance.distance,
                        clearance.obstacle
                    );
                }
                outln!(
                    "road map       {}: {} nodes, {} edges, {} expanded",
                    roadmap.name(),
                    roadmap.node_count(),
                    roadmap.edge_count(),
                    route.expanded
                );
                outln!(
                    "{:>5} {:>16} {:>16} {:>14}  turns at",
                    "point",
                    "x [m]",
                    "y [m]",
                    "way [m]"
                );
                let mut way = 0.0;
                let mut previous: Option<&Point2<f64>> = None;
                for (k, (p, obstacle)) in route.points.iter().zip(&route.obstacles).enumerate() {
                    way += previous.map_or(0.0, |q| (p - q).norm());
                    previous = Some(p);
                    let obstacle = obstacle.as_deref().unwrap_or("");
                    outln!("{k:>5} {:>16.6} {:>16.6} {way:>14.6}  {obstacle}", p.x, p.y);
                }
            }
            Err(error) if self.json => {
                outln!("{}", json!({"ok": false, "reason": error.to_string()}));
            }
            Err(_) => {}
        }
    }
}

/// The shortest path, for road maps that may give a longer one.
fn shortest_route(roadmap: &dyn Roadmap, ends: &[Point2<f64>; 2]) -> Option<Route> {
    if roadmap.is_optimal() {
        return None;
    }
    let exact = build_roadmap_with("lazy", roadmap.world().clone(), &BuildOptions::default());
    let route = exact.ok()?.shortest_path(&ends[0], &ends[1]).ok()?;
    Some(route).filter(|route| route.length > 0.0)
}

const OBSTACLE: Style = Style::filled("#b9c2cc", "#5d6b7a", 1.2);
const INFLATED: Style = Style::filled("#f6dfc0", "#d98a1f", 1.2);
const WALL: Style = Style::line("#5d6b7a", 2.5);
/// Obstacles because of which there is no path.
const CULPRIT: Style = Style::filled("#f0b8b0", "#c0392b", 1.8);
const EDGE: Style = Style::line("#3b82c4", 0.9).opacity(0.7);
const CELL: Style = Style::filled("#f1eaf7", "#a98bc6", 0.7);
const SHORTEST: Style = Style::line("#1b7f3b", 1.8).dashed("7 5");
const STRAIGHT: Style = Style::line("#c0392b", 1.2).dashed("2 5");
const PATH: Style = Style::line("#1b7f3b", 3.2);
const START: Style = Style::filled("#1b7f3b", "#ffffff", 1.5);
const GOAL: Style = Style::filled("#c0392b", "#ffffff", 1.5);
const TURN: Style = Style::filled("#ffffff", "#1b7f3b", 2.0);
const BOUNDARY: Style = Style::line("#222222", 2.0);

/// More edges than this only blacken the picture.
const MOST_EDGES: usize = 4000;

/// The obstacles that stand in the way.
fn culprits(answer: &Result<Route, RouteError>) -> &[String] {
    match answer {
        Err(RouteError::NoPath { by, .. }) => by,
        Err(RouteError::InObstacle { obstacles, .. } | RouteError::TooClose { obstacles, .. }) => {
            obstacles
        }
        _ => &[],
    }
}

/// Draws obstacles, what the clearance adds, the road map and the path; beside a path that is not
/// the shortest one also that.
pub fn draw(
    roadmap: &dyn Roadmap,
    ends: &[Point2<f64>; 2],
    answer: &Result<Route, RouteError>,
    shortest: Option<&Route>,
) -> Picture {
    let world = roadmap.world();
    let title = match answer {
        Ok(route) if roadmap.is_optimal() => format!("Shortest path: {:.4} m", route.length),
        Ok(route) => format!("Path by {}: {:.4} m", roadmap.name(), route.length),
        Err(_) => "No path".to_owned(),
    };
    let mut picture = Picture::new(title, "x, y [m]");
    let clearance = world.options().clearance;
    let outlines = world.outlines();
    if clearance > 0.0 {
        // By the even-odd rule the boundary turns the outlines' inside out.
        let mut rings: Vec<_> = outlines.iter().map(|o| o.ring.clone()).collect();
        rings.extend(world.boundary().map(|b| b.outer().to_vec()));
        picture.panel.rings(rings, &INFLATED);
        picture.legend(
            &INFLATED,
            format!("closer than the clearance of {clearance} m"),
        );
    }
    let culprits = culprits(answer);
    for obstacle in world.obstacles() {
        let polygon = &obstacle.polygon;
        let style = if culprits.contains(&obstacle.id) {
            &CULPRIT
        } else {
            &OBSTACLE
        };
        picture
            .panel
            .rings(polygon.rings().map(<[_]>::to_vec).collect(), style);
        picture.panel.segments(polygon.walls().to_vec(), &WALL);
    }
    picture.legend(
        &OBSTACLE,
        format!("obstacles ({})", world.obstacles().len()),
    );
    if !culprits.is_empty() {
        picture.legend(&CULPRIT, "obstacles in the way");
    }
    if let Some(boundary) = world.boundary() {
        picture
            .panel
            .rings(boundary.rings().map(<[_]>::to_vec).collect(), &BOUNDARY);
        picture.legend(&BOUNDARY, "boundary");
    }
    let cells = roadmap.cells();
    if !cells.is_empty() {
        picture.legend(&CELL, format!("trapezoids ({})", cells.len()));
    }
    for cell in cells {
        picture.panel.rings(vec![cell.to_vec()], &CELL);
    }
    let edges = roadmap.edge_list();
    let every = edges.len().div_ceil(MOST_EDGES).max(1);
    let share = if every > 1 {
        format!(", every {every}th drawn")
    } else {
        String::new()
    };
    let text = format!(
        "road map {} ({} nodes, {} edges{share})",
        roadmap.name(),
        roadmap.node_count(),
        edges.len()
    );
    let style = if edges.len() > 600 {
        EDGE.opacity(0.35)
    } else {
        EDGE
    };
    picture
        .panel
        .segments(edges.into_iter().step_by(every).collect(), &style);
    picture.legend(&EDGE, text);
    if !world.segment_is_free(&ends[0], &ends[1]) {
        picture.panel.line(ends.to_vec(), &STRAIGHT);
        picture.legend(&STRAIGHT, "straight line: blocked");
    }
    for (p, name) in ends.iter().zip(["start", "goal"]) {
        picture.panel.label(*p, name, Spot::Beside, true, "#222222");
    }
    if world.obstacles().len() <= 60 {
        for obstacle in world.obstacles() {
            picture.panel.label(
                label_point(obstacle.polygon.outer()),
                &obstacle.id,
                Spot::On,
                false,
                "#39444f",
            );
        }
    }
    if let Some(shortest) = shortest {
        picture.panel.line(shortest.points.clone(), &SHORTEST);
        picture.legend(
            &SHORTEST,
            format!("shortest path: {:.6} m", shortest.length),
        );
    }
    match answer {
        Ok(route) => draw_route(&mut picture, world, route),
        Err(error) => picture.note(error.to_string()),
    }
    for (p, style) in [(ends[0], &START), (ends[1], &GOAL)] {
        picture.panel.marker(p, Mark::Disc, 7.0, style);
    }
    picture
}

fn draw_route(picture: &mut Picture, world: &PlanarWorld, route: &Route) {
    picture.panel.line(route.points.clone(), &PATH);
    let mut turns: Vec<&str> = route
        .obstacles
        .iter()
        .flatten()
        .map(String::as_str)
        .collect();
    turns.dedup();
    let around = if turns.is_empty() {
        String::new()
    } else {
        format!(
            ", turning at {}",
            turns
                .iter()
                .map(|t| format!("'{t}'"))
                .collect::<Vec<_>>()
                .join(", ")
        )
    };
    picture.legend(&PATH, format!("path: {:.6} m{around}", route.length));
    for (p, obstacle) in route.points.iter().zip(&route.obstacles) {
        if obstacle.is_some() {
            picture.panel.marker(*p, Mark::Disc, 3.2, &TURN);
        }
    }
    if let Some(clearance) = world.clearance_of_path(&route.points) {
        picture.note(format!(
            "smallest distance to the obstacles: {:.6} m, at '{}'",
            clearance.distance, clearance.obstacle
        ));
    }
}

/// A place for a label: the middle of the widest inner stretch at half height.
pub(super) fn label_point(ring: &[Point2<f64>]) -> Point2<f64> {
    let (low, high) = ring
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| {
            (l.min(p.y), h.max(p.y))
        });
    let y = (low + high) / 2.0;
    let mut crossings: Vec<f64> = ring_edges(ring)
        .filter(|(a, b)| (a.y > y) != (b.y > y))
        .map(|(a, b)| a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x))
        .collect();
    crossings.sort_by(f64::total_cmp);
    crossings
        .chunks_exact(2)
        .map(|pair| (pair[1] - pair[0], (pair[0] + pair[1]) / 2.0))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(Point2::new(0.0, y), |(_, x)| Point2::new(x, y))
}
