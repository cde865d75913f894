//! The picture of a plan: where the tip goes, and how the joints move over time.

use std::fmt::Write as _;

use nalgebra::Point2;

use super::chart::{Chart, Series, COLOURS};
use super::svg::escape;
use crate::kinematics::{forward_kinematics, Pose};
use crate::model::Chain;
use crate::motion::{Plan, PlanSettings};
use crate::planning::Obstacle;
use crate::trajectory::TrajectoryPoint;

const SIZE: f64 = 560.0;

/// Maps the plane to the picture, y up.
struct View {
    low: Point2<f64>,
    scale: f64,
    offset: (f64, f64),
}

impl View {
    fn around(points: impl Iterator<Item = Point2<f64>>) -> View {
        let (mut low, mut high) = (
            Point2::new(f64::MAX, f64::MAX),
            Point2::new(f64::MIN, f64::MIN),
        );
        for point in points {
            low = Point2::new(low.x.min(point.x), low.y.min(point.y));
            high = Point2::new(high.x.max(point.x), high.y.max(point.y));
        }
        let span = (high - low).amax().max(1e-3) * 1.12;
        let middle = nalgebra::center(&low, &high);
        View {
            low: Point2::new(middle.x - span / 2.0, middle.y - span / 2.0),
            scale: SIZE / span,
            offset: (20.0, 50.0),
        }
    }

    fn x(&self, point: &Point2<f64>) -> f64 {
        self.offset.0 + (point.x - self.low.x) * self.scale
    }

    fn y(&self, point: &Point2<f64>) -> f64 {
        self.offset.1 + SIZE - (point.y - self.low.y) * self.scale
    }

    fn points(&self, points: &[Point2<f64>]) -> String {
        points
            .iter()
            .map(|point| format!("{:.1},{:.1}", self.x(point), self.y(point)))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Draws plan view and curves.
pub(super) fn draw(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PlanSettings,
    plan: &Plan,
) -> String {
    let plane = &settings.path.plane;
    let tip: Vec<Point2<f64>> = executed(chain, plan, plane);
    let base = plane
        .inverse_transform_point(&nalgebra::Point3::origin())
        .xy();
    let corners = obstacles
        .iter()
        .flat_map(|obstacle| obstacle.polygon.outer().iter().copied());
    let outlines = plan.path.scene.outlines.iter().flatten().copied();
    let view = View::around(
        tip.iter()
            .copied()
            .chain(corners)
            .chain(outlines)
            .chain([base]),
    );
    let width = 2.0 * 20.0 + SIZE + 560.0;
    let height = 50.0 + SIZE + 70.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fafafa\"/>\n\
         <g font-family=\"sans-serif\" font-size=\"12\">\n\
         <text x=\"20\" y=\"24\" font-size=\"16\" font-weight=\"bold\">Plan view of the tip ({}, {} to {})</text>\n\
         <text x=\"20\" y=\"42\">{:.3} m long, {}, {:.2} s</text>\n\
         <rect x=\"20\" y=\"50\" width=\"{SIZE}\" height=\"{SIZE}\" fill=\"white\" stroke=\"#999\"/>\n",
        escape(&chain.base),
        escape(&chain.base),
        escape(&chain.tip),
        plan.path.length,
        if !plan.path.left_route.is_empty() {
            "off its route".to_owned()
        } else if plan.path.min_clearance.is_finite() {
            format!(
                "{:.1} mm from the nearest obstacle (asked: {:.1} mm)",
                1e3 * plan.path.min_clearance,
                1e3 * settings.path.clearance
            )
        } else {
            "no obstacle at its height".to_owned()
        },
        plan.trajectory.duration(),
    );
    plan_view(&mut svg, &view, obstacles, plan, &tip, base);
    legend(&mut svg);
    svg.push_str("</g>\n");
    curves(&mut svg, chain, settings, plan);
    svg.push_str("</svg>\n");
    svg
}

/// Where the tip really goes, in the planning plane: the timed motion, not the path that it was made from.
fn executed(chain: &Chain, plan: &Plan, plane: &Pose) -> Vec<Point2<f64>> {
    plan.trajectory
        .points
        .iter()
        .filter_map(|point| forward_kinematics(chain, &point.positions).ok())
        .map(|pose| {
            plane
                .inverse_transform_point(&pose.translation.vector.into())
                .xy()
        })
        .collect()
}

fn plan_view(
    svg: &mut String,
    view: &View,
    obstacles: &[Obstacle],
    plan: &Plan,
    tip: &[Point2<f64>],
    base: Point2<f64>,
) {
    for outline in &plan.path.scene.outlines {
        let _ = writeln!(
            svg,
            "<polygon points=\"{}\" fill=\"#fde0c5\" stroke=\"#e69f00\" stroke-dasharray=\"4 3\"/>",
            view.points(outline)
        );
    }
    for obstacle in obstacles {
        let ring = obstacle.polygon.outer();
        let _ = writeln!(
            svg,
            "<polygon points=\"{}\" fill=\"#b0b0b0\" stroke=\"#444\"/>",
            view.points(ring)
        );
    }
    for [a, b] in &plan.path.scene.edges {
        let _ = writeln!(
            svg,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#56b4e9\" stroke-width=\"0.6\" opacity=\"0.5\"/>",
            view.x(a),
            view.y(a),
            view.x(b),
            view.y(b)
        );
    }
    for obstacle in obstacles {
        let ring = obstacle.polygon.outer();
        let middle = ring
            .iter()
            .fold(nalgebra::Vector2::zeros(), |sum, p| sum + p.coords)
            / ring.len() as f64;
        let middle = Point2::from(middle);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#222\">{}</text>",
            view.x(&middle),
            view.y(&middle) + 4.0,
            escape(&obstacle.id)
        );
    }
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"2.5\"/>",
        view.points(tip)
    );
    for (point, colour, name) in [
        (tip.first(), "#009e73", "start"),
        (tip.last(), "#d55e00", "goal"),
        (Some(&base), "#222", "base"),
    ] {
        let Some(point) = point else { continue };
        let _ = writeln!(
            svg,
            "<circle cx=\"{0:.1}\" cy=\"{1:.1}\" r=\"5\" fill=\"{colour}\"/><text x=\"{2:.1}\" y=\"{3:.1}\" fill=\"{colour}\">{name}</text>",
            view.x(point),
            view.y(point),
            view.x(point) + 8.0,
            view.y(point) - 6.0,
        );
    }
    // A scale bar of a round length, about a fifth of the picture.
    let metres = SIZE / view.scale / 5.0;
    let bar = 10_f64.powf(metres.log10().floor());
    let bar = [5.0, 2.0, 1.0]
        .into_iter()
        .map(|f| f * bar)
        .find(|length| *length <= metres)
        .unwrap_or(bar);
    let (x, y) = (view.offset.0 + 12.0, view.offset.1 + SIZE - 12.0);
    let _ = writeln!(
        svg,
        "<line x1=\"{x}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\" stroke=\"black\" stroke-width=\"2\"/><text x=\"{x}\" y=\"{:.1}\">{bar} m</text>",
        x + bar * view.scale,
        y - 6.0
    );
}

fn legend(svg: &mut String) {
    let y = 50.0 + SIZE + 24.0;
    for (index, (colour, name)) in [
        ("#0072b2", "tip, as executed"),
        ("#b0b0b0", "obstacle"),
        ("#fde0c5", "inflated by the clearance"),
        ("#56b4e9", "road map"),
    ]
    .into_iter()
    .enumerate()
    {
        let x = 20.0 + [0.0, 130.0, 220.0, 400.0][index];
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{:.1}\" width=\"12\" height=\"12\" fill=\"{colour}\"/><text x=\"{}\" y=\"{:.1}\">{name}</text>",
            y - 10.0,
            x + 17.0,
            y
        );
    }
}

fn curves(svg: &mut String, chain: &Chain, settings: &PlanSettings, plan: &Plan) {
    let x = 20.0 + SIZE + 20.0;
    type Pick = fn(&TrajectoryPoint) -> &Vec<f64>;
    let charts: [(&str, Pick); 3] = [
        ("Position [rad, m]", |point| &point.positions),
        ("Velocity [rad/s, m/s]", |point| &point.velocities),
        ("Acceleration [rad/s², m/s²]", |point| {
            &point.accelerations
        }),
    ];
    let height = (SIZE + 30.0) / 3.0;
    for (index, (title, pick)) in charts.into_iter().enumerate() {
        let series: Vec<Series> = chain
            .dofs
            .iter()
            .enumerate()
            .map(|(joint, dof)| {
                let symmetric =
                    |limits: &[f64]| limits.get(joint).map_or((f64::NAN, f64::NAN), |l| (-l, *l));
                Series {
                    points: plan
                        .trajectory
                        .points
                        .iter()
                        .filter_map(|point| {
                            pick(point).get(joint).map(|value| (point.time, *value))
                        })
                        .collect(),
                    limits: match index {
                        0 => (dof.lower, dof.upper),
                        1 => symmetric(settings.limits.velocity()),
                        _ => symmetric(settings.limits.acceleration()),
                    },
                }
            })
            .collect();
        let chart = Chart {
            title,
            series: &series,
            marks: &[],
        };
        svg.push_str(&chart.draw(x, 30.0 + index as f64 * height, 550.0, height));
    }
    svg.push_str("<g font-family=\"sans-serif\" font-size=\"11\">\n");
    for (joint, dof) in chain.dofs.iter().enumerate() {
        let (column, row) = (joint % 3, joint / 3);
        let (cx, cy) = (
            x + 56.0 + column as f64 * 165.0,
            50.0 + SIZE + 16.0 + row as f64 * 16.0,
        );
        let _ = writeln!(
            svg,
            "<rect x=\"{cx}\" y=\"{}\" width=\"12\" height=\"4\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>",
            cy - 6.0,
            COLOURS[joint % COLOURS.len()],
            cx + 17.0,
            cy,
            escape(&dof.name)
        );
    }
    svg.push_str("</g>\n");
}
