//! `~/markers`: obstacles, their inflated outlines, road map, path and goal, for RViz.

use std::sync::Arc;
use std::time::Duration;

use nalgebra::Point2;
use r2r::builtin_interfaces::msg::Time;
use r2r::geometry_msgs;
use r2r::std_msgs::msg::ColorRGBA;
use r2r::visualization_msgs::msg::{Marker, MarkerArray};

use super::context::{Shared, View};
use super::convert::{header, point, pose_message, text};
use super::drawing::LastPlan;
use crate::kinematics::Pose;
use crate::planar::offset::inflate;
use crate::planar::Join;
use crate::planning::Obstacle;

/// Changes in quick succession are drawn together.
const GATHER: Duration = Duration::from_millis(30);
/// Width of lines \[m\].
const LINE: f64 = 0.004;
/// Height of obstacles without limits, where the arm's reach is unknown \[m\].
const TALL: f64 = 2.0;

/// Publishes the markers whenever something has changed.
pub async fn publish(shared: Arc<Shared>) {
    loop {
        shared.drawing.changed().await;
        tokio::time::sleep(GATHER).await;
        let Ok(view) = shared.view() else { continue };
        let plan = shared.drawing.plan();
        let drawn = tokio::task::spawn_blocking(move || drawn(&view, &plan)).await;
        match drawn {
            Ok(markers) => {
                shared.outputs.markers.publish(&markers);
            }
            Err(error) => tracing::error!("drawing failed: {error}"),
        }
    }
}

fn colour(r: f32, g: f32, b: f32, a: f32) -> ColorRGBA {
    ColorRGBA { r, g, b, a }
}

/// Makes markers of one frame and time.
struct Pen {
    frame: String,
    /// Where what is drawn lies in that frame.
    place: Pose,
    stamp: Time,
    markers: Vec<Marker>,
}

impl Pen {
    fn marker(&mut self, namespace: &str, kind: i32, width: f64, color: ColorRGBA) -> &mut Marker {
        let id = self
            .markers
            .iter()
            .filter(|marker| marker.ns == namespace)
            .count();
        self.markers.push(Marker {
            header: header(&self.frame, self.stamp.clone()),
            ns: text(namespace),
            id: i32::try_from(id).unwrap_or(i32::MAX),
            type_: kind,
            action: Marker::ADD as i32,
            pose: pose_message(&self.place),
            scale: geometry_msgs::msg::Vector3 {
                x: width,
                y: width,
                z: width,
            },
            color,
            ..Marker::default()
        });
        let last = self.markers.len() - 1;
        &mut self.markers[last]
    }
}

fn edges(ring: &[Point2<f64>]) -> impl Iterator<Item = (&Point2<f64>, &Point2<f64>)> {
    ring.iter().zip(ring.iter().cycle().skip(1))
}

fn at(p: &Point2<f64>, z: f64) -> geometry_msgs::msg::Point {
    point(p.x, p.y, z)
}

/// All markers for one moment; the first one removes those from before.
fn drawn(view: &View, plan: &LastPlan) -> MarkerArray {
    let chain = &view.robot.chain;
    let (_, reach) = chain.reach();
    let mut pen = Pen {
        frame: chain.base.clone(),
        // A plane that is not known cannot be drawn on; reports say why.
        place: view.plane().unwrap_or_else(|_| Pose::identity()),
        stamp: view.stamp.clone(),
        markers: Vec::new(),
    };
    pen.marker("all", 0, 0.0, colour(0.0, 0.0, 0.0, 0.0)).action = Marker::DELETEALL as i32;
    let tall = if reach.is_finite() { reach } else { TALL };
    let height = plan.tip_path.last().map_or(0.0, |pose| {
        (pen.place.inverse() * pose.translation).translation.z
    });
    for obstacle in view.obstacles.list() {
        prism(&mut pen, obstacle, tall);
        inflated(&mut pen, view, obstacle, height);
    }
    if !plan.edges.is_empty() {
        let lines = pen.marker(
            "roadmap",
            Marker::LINE_LIST as i32,
            0.3 * LINE,
            colour(0.6, 0.6, 0.6, 0.5),
        );
        lines.points = plan.edges.iter().flatten().map(|p| at(p, height)).collect();
    }
    pen.place = Pose::identity();
    if !plan.tip_path.is_empty() {
        let line = pen.marker(
            "path",
            Marker::LINE_STRIP as i32,
            LINE,
            colour(0.1, 0.8, 0.2, 1.0),
        );
        line.points = plan
            .tip_path
            .iter()
            .map(|pose| pose_message(pose).position)
            .collect();
        // A strip of one point is refused.
        if let [only] = line.points.as_slice() {
            let again = only.clone();
            line.points.push(again);
        }
    }
    if let Some(goal) = plan.tip_path.last() {
        for (axis, color) in [
            (nalgebra::Vector3::x(), colour(1.0, 0.1, 0.1, 1.0)),
            (nalgebra::Vector3::y(), colour(0.1, 1.0, 0.1, 1.0)),
            (nalgebra::Vector3::z(), colour(0.1, 0.3, 1.0, 1.0)),
        ] {
            let tip = goal.translation.vector + goal.rotation * axis * 0.08;
            let arrow = pen.marker("goal", Marker::ARROW as i32, 0.01, color);
            arrow.points = vec![pose_message(goal).position, point(tip.x, tip.y, tip.z)];
            arrow.scale.y = 0.02;
            arrow.scale.z = 0.0;
        }
    }
    MarkerArray {
        markers: pen.markers,
    }
}

/// The walls of an obstacle, see-through, and its edges.
fn prism(pen: &mut Pen, obstacle: &Obstacle, tall: f64) {
    let low = if obstacle.min_height.is_finite() {
        obstacle.min_height
    } else {
        0.0_f64.min(obstacle.max_height)
    };
    let high = if obstacle.max_height.is_finite() {
        obstacle.max_height
    } else {
        tall.max(low + tall)
    };
    let walls = pen.marker(
        "obstacles",
        Marker::TRIANGLE_LIST as i32,
        1.0,
        colour(0.9, 0.3, 0.1, 0.5),
    );
    for (a, b) in obstacle.polygon.rings().flat_map(edges) {
        walls.points.extend([at(a, low), at(b, low), at(b, high)]);
        walls.points.extend([at(a, low), at(b, high), at(a, high)]);
    }
    let lines = pen.marker(
        "obstacle_edges",
        Marker::LINE_LIST as i32,
        LINE,
        colour(0.7, 0.2, 0.0, 1.0),
    );
    for (a, b) in obstacle.polygon.rings().flat_map(edges) {
        lines.points.extend([
            at(a, low),
            at(b, low),
            at(a, high),
            at(b, high),
            at(a, low),
            at(a, high),
        ]);
    }
    if let Some(corner) = obstacle.polygon.outer().first() {
        let above = pen.place * nalgebra::Translation3::new(corner.x, corner.y, high + 0.05);
        let label = pen.marker(
            "obstacle_names",
            Marker::TEXT_VIEW_FACING as i32,
            0.05,
            colour(1.0, 1.0, 1.0, 1.0),
        );
        label.pose = pose_message(&above);
        label.text = text(obstacle.id.as_str());
    }
}

/// How near the tip may come.
fn inflated(pen: &mut Pen, view: &View, obstacle: &Obstacle, height: f64) {
    let planning = &view.parameters.planning;
    let join = Join::Round {
        arc_tolerance: Some(planning.arc_tolerance),
    };
    // Only a drawing: where it fails there is none.
    let Ok(outline) = inflate(&obstacle.polygon, planning.clearance, &join) else {
        return;
    };
    let lines = pen.marker(
        "inflated",
        Marker::LINE_LIST as i32,
        0.5 * LINE,
        colour(1.0, 0.7, 0.1, 1.0),
    );
    lines.points = outline
        .rings()
        .flat_map(edges)
        .flat_map(|(a, b)| [at(a, height), at(b, height)])
        .collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::test_data::{square, view, with_obstacles};

    #[test]
    fn markers_replace_those_before_and_none_has_the_name_of_another() {
        let view = view("six_axis", &[0.0; 6], &[]);
        let view = with_obstacles(
            view,
            &[square("a", 1.0, 0.0, 0.1), square("b", 0.0, 1.0, 0.1)],
        );
        let plan = LastPlan {
            tip_path: vec![nalgebra::Isometry3::identity()],
            edges: vec![[Point2::new(0.0, 0.0), Point2::new(1.0, 0.0)]],
        };
        let markers = drawn(&view, &plan).markers;
        assert_eq!(markers[0].action, Marker::DELETEALL as i32);
        let mut seen = std::collections::HashSet::new();
        for marker in &markers {
            assert_eq!(marker.header.frame_id, view.robot.chain.base);
            assert!(
                seen.insert((marker.ns.clone(), marker.id)),
                "{} {}",
                marker.ns,
                marker.id
            );
            assert!((marker.pose.orientation.w - 1.0).abs() < 1e-12);
        }
        for (namespace, count) in [
            ("obstacles", 2),
            ("obstacle_edges", 2),
            ("obstacle_names", 2),
            ("inflated", 2),
            ("roadmap", 1),
            ("path", 1),
            ("goal", 3),
        ] {
            let found = markers
                .iter()
                .filter(|marker| marker.ns == namespace)
                .count();
            assert_eq!(found, count, "{namespace}");
        }
        // Lists of lines have an even number of points, lists of triangles a multiple of three.
        let fits = |marker: &Marker| match marker.type_ {
            kind if kind == Marker::LINE_LIST as i32 => marker.points.len().is_multiple_of(2),
            kind if kind == Marker::TRIANGLE_LIST as i32 => marker.points.len().is_multiple_of(3),
            kind if kind == Marker::LINE_STRIP as i32 => marker.points.len() >= 2,
            _ => true,
        };
        assert!(markers.iter().all(fits));
    }
}
