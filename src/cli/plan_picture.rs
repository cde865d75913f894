//! The picture of a plan, also of one that fails: the tip's way from above and its height, how the joints move
//! over time, and where and why it ends.

use nalgebra::{Point2, Point3};

use super::chart::{self, Chart, Series};
use super::panel::{Frame, Mark, Panel, Spot};
use super::path::label_point;
use super::plan_passages::Passage;
use super::plan_story::Story;
use super::svg::{header, line_of_text, wrapped, Legend, Style, ROW};
use crate::trajectory::{Trajectory, TrajectoryPoint};

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 62.0;
/// Side of the plan view.
const PLAN: f64 = 520.0;
const HEIGHTS: f64 = 150.0;
/// Place and size of the curves.
const RIGHT: (f64, f64) = (646.0, 430.0);
const CURVES: f64 = 200.0;
/// What a frame needs above it for a title, and below it for the axis.
const ABOVE: f64 = 24.0;
const BELOW: f64 = 36.0;

const OBSTACLE: Style = Style::filled("#b9c2cc", "#5d6b7a", 1.2);
const PASSED: Style = Style::filled("#e6eaee", "#5d6b7a", 1.0).dashed("3 2");
const CULPRIT: Style = Style::filled("#f0b8b0", "#c0392b", 1.6);
const INFLATED: Style = Style::filled("#fbecd7", "#d98a1f", 1.0).dashed("4 3");
const EDGE: Style = Style::line("#3b82c4", 0.6).opacity(0.4);
const ARM_BEFORE: Style = Style::line("#c9c9c9", 5.0).opacity(0.8);
const ARM_AFTER: Style = Style::line("#8a8a8a", 5.0).opacity(0.6);
const DONE: Style = Style::line("#0072b2", 2.6);
const PLANNED: Style = Style::line("#0072b2", 1.4).dashed("6 5");
const STRAIGHT: Style = Style::line("#c0392b", 1.2).dashed("2 5");
const SAFE: Style = Style::line("#777777", 1.0).dashed("1 4");
const BREAK: Style = Style::line("#c0392b", 3.4);
const START: Style = Style::filled("#009e73", "#ffffff", 1.2);
const GOAL: Style = Style::filled("#d55e00", "#ffffff", 1.2);
const BASE: Style = Style::filled("#222222", "#ffffff", 1.2);

const RED: &str = "#c0392b";
const DARK: &str = "#222222";

/// More edges than this only blacken the picture.
const MOST_EDGES: usize = 4000;

/// Names of that many obstacles are written whether there is room or not.
const NAMED: usize = 8;

/// Draws all of it.
pub(super) fn draw(story: &Story<'_>) -> String {
    let width = match story.motion {
        Some(_) => WIDTH,
        None => LEFT + PLAN + 50.0,
    };
    let mut body = String::new();
    line_of_text(&mut body, LEFT, 26.0, 17.0, DARK, &story.title);
    let mut y = 26.0;
    let colour = if story.failed() { RED } else { DARK };
    for line in wrapped(&story.words, 13.0, width - LEFT) {
        y += 18.0;
        line_of_text(&mut body, LEFT, y, 13.0, colour, &line);
    }
    let top = y + 12.0;
    let left = left_column(&mut body, story, top);
    let right = match story.motion {
        Some(motion) => curves(&mut body, story, motion, top),
        None => {
            line_of_text(&mut body, LEFT, left + 12.0, 13.0, DARK, story.no_motion);
            left + 12.0
        }
    };
    let mut svg = header(width, left.max(right) + 12.0);
    svg.push_str(&body);
    svg.push_str("</svg>\n");
    svg
}

/// The plan view, its legend and the heights; gives back where they end.
fn left_column(svg: &mut String, story: &Story<'_>, top: f64) -> f64 {
    let frame = |y: f64, height: f64| Frame {
        x: LEFT,
        y,
        width: PLAN,
        height,
    };
    let mut y = top + ABOVE;
    let frame_of_view = if story.settings.path.plane == crate::kinematics::Pose::identity() {
        &story.chain.base
    } else {
        "the planning plane"
    };
    let title = format!("Tip {} from above, in {frame_of_view}", story.chain.tip);
    line_of_text(svg, LEFT, y - 6.0, 13.0, DARK, &title);
    let (panel, legend) = plan_view(story);
    panel.draw(svg, frame(y, PLAN));
    y += PLAN + BELOW + 12.0;
    let mut x = LEFT;
    for item in &legend {
        if x > LEFT && x + item.width() > LEFT + PLAN + 30.0 {
            x = LEFT;
            y += ROW;
        }
        item.draw(svg, x, y);
        x += item.width() + 14.0;
    }
    if story.done.len() + story.rest.len() < 2 {
        return y + 12.0;
    }
    y += 14.0 + ABOVE;
    let title = "Height of the tip above the plane, along its way";
    line_of_text(svg, LEFT, y - 6.0, 13.0, DARK, title);
    heights(story).draw(svg, frame(y, HEIGHTS));
    y + HEIGHTS + BELOW
}

fn xy(points: &[Point3<f64>]) -> Vec<Point2<f64>> {
    points.iter().map(Point3::xy).collect()
}

fn plan_view(story: &Story<'_>) -> (Panel, Vec<Legend>) {
    let mut panel = Panel::new("x, y [m]");
    let mut legend = Vec::new();
    let passed = |id: &str| story.passages.iter().any(|passage| passage.id == id);
    if !story.scene.outlines.is_empty() {
        panel.rings(story.scene.outlines.clone(), &INFLATED);
        let clearance = story.settings.path.clearance;
        legend.push(Legend::new(
            &INFLATED,
            format!("closer than {clearance} m at the tip's height"),
        ));
    }
    let mut used = [false; 3];
    for obstacle in story.obstacles {
        let kind = match &obstacle.id {
            id if story.culprits.contains(id) => 2,
            id if passed(id) => 1,
            _ => 0,
        };
        used[kind] = true;
        let rings = obstacle.polygon.rings().map(<[_]>::to_vec).collect();
        panel.rings(rings, [&OBSTACLE, &PASSED, &CULPRIT][kind]);
    }
    for (kind, (style, text)) in [
        (&OBSTACLE, "obstacle"),
        (&PASSED, "passed over or under"),
        (&CULPRIT, "in the way"),
    ]
    .into_iter()
    .enumerate()
    {
        if used[kind] {
            legend.push(Legend::new(style, text));
        }
    }
    if !story.scene.edges.is_empty() {
        let every = story.scene.edges.len().div_ceil(MOST_EDGES).max(1);
        let edges = story.scene.edges.iter().step_by(every).copied();
        panel.segments(edges.collect(), &EDGE);
        legend.push(Legend::new(&EDGE, "road map"));
    }
    for (arm, style, text) in [
        (&story.arm_before, &ARM_BEFORE, "arm at the start"),
        (&story.arm_after, &ARM_AFTER, story.end_of_arm()),
    ] {
        if arm.len() > 1 {
            panel.line(xy(arm), style);
            legend.push(Legend::new(style, text));
        }
    }
    for (line, style, text) in [
        (&story.straight, &STRAIGHT, "straight to the goal"),
        (&story.planned, &PLANNED, "route"),
        (&story.done, &DONE, story.kind_of_way()),
    ] {
        if line.len() > 1 {
            panel.line(xy(line), style);
            legend.push(Legend::new(style, text));
        }
    }
    let base = story.base.xy();
    panel.marker(base, Mark::Disc, 5.0, &BASE);
    panel.marker(story.start.xy(), Mark::Disc, 6.0, &START);
    for goal in &story.goals {
        panel.marker(goal.xy(), Mark::Disc, 6.0, &GOAL);
    }
    if let Some((place, words)) = &story.broken {
        panel.marker(place.xy(), Mark::Cross, 8.0, &BREAK);
        panel.label(place.xy(), words, Spot::Beside, true, RED);
    }
    panel.label(story.start.xy(), "start", Spot::Beside, true, "#00694d");
    for (number, goal) in (1..).zip(&story.goals) {
        let name = match story.goals.len() {
            1 => "goal".to_owned(),
            _ => format!("goal {number}"),
        };
        panel.label(goal.xy(), name, Spot::Beside, true, "#a34700");
    }
    panel.label(base, "base", Spot::Beside, true, DARK);
    let mut names: Vec<(bool, &crate::planning::Obstacle)> = story
        .obstacles
        .iter()
        .map(|obstacle| {
            let special = story.culprits.contains(&obstacle.id) || passed(&obstacle.id);
            (special, obstacle)
        })
        .collect();
    names.sort_by_key(|(special, _)| !special);
    for (count, (special, obstacle)) in names.into_iter().enumerate() {
        let at = label_point(obstacle.polygon.outer());
        let needed = special && count < NAMED;
        panel.label(at, &obstacle.id, Spot::On, needed, "#39444f");
    }
    (panel, legend)
}

/// The tip's height along its way, and the height ranges of what lies over or under it.
fn heights(story: &Story<'_>) -> Panel {
    let along = |points: &[Point3<f64>], begin: f64| -> Vec<Point2<f64>> {
        let mut way = begin;
        let mut last: Option<&Point3<f64>> = None;
        let mut line = Vec::with_capacity(points.len());
        for point in points {
            way += last.map_or(0.0, |last| (point - last).norm());
            line.push(Point2::new(way, point.z));
            last = Some(point);
        }
        line
    };
    let done = along(&story.done, 0.0);
    // Where the tip left its route there are two ways; otherwise the planned one goes on from what is done.
    let rest = along(&story.rest, done.last().map_or(0.0, |end| end.x));
    let lines = [&rest, &done];
    let edges = story.passages.iter().flat_map(Passage::near_edges);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for height in lines
        .iter()
        .flat_map(|line| line.iter().map(|point| point.y))
        .chain(edges)
        .chain([story.start.z])
        .chain(story.goals.iter().map(|goal| goal.z))
        .filter(|height| height.is_finite())
    {
        (low, high) = (low.min(height), high.max(height));
    }
    let margin = (0.25 * (high - low)).max(0.02);
    let mut panel = Panel::new("way of the tip [m]; height [m]")
        .stretched()
        .heights(low - margin, high + margin);
    let clip = |height: f64| height.clamp(low - 2.0 * margin, high + 2.0 * margin);
    for passage in &story.passages {
        let style = if story.culprits.contains(&passage.id) {
            &CULPRIT
        } else {
            &OBSTACLE
        };
        let band = |ways: (f64, f64), heights: (f64, f64)| {
            let [a, b] = [ways.0, ways.1];
            let [low, high] = [clip(heights.0), clip(heights.1)];
            vec![
                Point2::new(a, low),
                Point2::new(b, low),
                Point2::new(b, high),
                Point2::new(a, high),
            ]
        };
        let clearance = story.settings.path.clearance;
        let (least, most) = passage.heights;
        let wider = (least - clearance, most + clearance);
        panel.rings(vec![band(passage.near, wider)], &INFLATED);
        if let Some(over) = passage.over {
            panel.rings(vec![band(over, passage.heights)], style);
        }
    }
    for (count, passage) in story.passages.iter().enumerate() {
        let again = story.passages[..count]
            .iter()
            .any(|before| before.id == passage.id);
        let (least, most) = passage.heights;
        let ways = passage.over.unwrap_or(passage.near);
        let [bottom, top] = [least, most].map(|height| height.clamp(low - margin, high + margin));
        let at = Point2::new(0.5 * (ways.0 + ways.1), 0.5 * (bottom + top));
        let text = if again {
            passage.id.clone()
        } else {
            format!("{}: {}", passage.id, passage.range())
        };
        panel.label(at, text, Spot::On, count < NAMED, "#39444f");
    }
    if let Some(safe) = story.settings.path.safe_height {
        let end = lines.iter().filter_map(|line| line.last());
        let end = end.map(|point| point.x).fold(0.0, f64::max);
        panel.line([0.0, end].map(|way| Point2::new(way, safe)).to_vec(), &SAFE);
        panel.label(
            Point2::new(0.12 * end, safe),
            "safe height",
            Spot::On,
            false,
            "#777777",
        );
    }
    for (line, style) in [(rest, &PLANNED), (done, &DONE)] {
        panel.line(line, style);
    }
    if let (Some((place, _)), Some(way)) = (&story.broken, story.broken_way) {
        panel.marker(Point2::new(way, place.z), Mark::Cross, 7.0, &BREAK);
    }
    panel
}

/// The joints over time, with their names; gives back where they end.
fn curves(svg: &mut String, story: &Story<'_>, motion: &Trajectory, top: f64) -> f64 {
    let (x, width) = RIGHT;
    type Pick = fn(&TrajectoryPoint) -> &Vec<f64>;
    let charts: [(&str, Pick); 3] = [
        ("Position [rad, m]", |point| &point.positions),
        ("Velocity [rad/s, m/s]", |point| &point.velocities),
        ("Acceleration [rad/s², m/s²]", |point| {
            &point.accelerations
        }),
    ];
    let mut y = top;
    for (index, (title, pick)) in charts.into_iter().enumerate() {
        let dofs = story.chain.dofs.iter().enumerate();
        let series: Vec<Series> = dofs
            .map(|(joint, dof)| {
                let symmetric = |limits: &[f64]| {
                    let limit = limits.get(joint).copied().unwrap_or(f64::NAN);
                    (-limit, limit)
                };
                let points = motion.points.iter();
                Series {
                    points: points
                        .filter_map(|point| Some((point.time, *pick(point).get(joint)?)))
                        .collect(),
                    limits: match index {
                        0 => (dof.lower, dof.upper),
                        1 => symmetric(story.settings.limits.velocity()),
                        _ => symmetric(story.settings.limits.acceleration()),
                    },
                }
            })
            .collect();
        let title = format!("{title}{}", story.of_motion);
        let chart = Chart {
            title: &title,
            series: &series,
        };
        y += ABOVE;
        let frame = Frame {
            x,
            y,
            width,
            height: CURVES,
        };
        chart.draw(svg, frame);
        y += CURVES + BELOW;
    }
    y += 8.0;
    let names: Vec<Legend> = story
        .chain
        .dofs
        .iter()
        .enumerate()
        .map(|(joint, dof)| {
            Legend::new(
                &chart::style(joint, story.chain.dof()),
                format!("{} {}", joint + 1, dof.name),
            )
        })
        .collect();
    let widest = names.iter().map(Legend::width).fold(0.0, f64::max) + 14.0;
    let columns = ((WIDTH - x) / widest).floor().clamp(1.0, 3.0) as usize;
    for (joint, name) in names.iter().enumerate() {
        let place = x + (joint % columns) as f64 * widest;
        name.draw(svg, place, y + ROW * (joint / columns) as f64);
    }
    y += ROW * names.len().div_ceil(columns) as f64;
    let limits = "Dashed lines and arrows: limits of the joints with these numbers.";
    line_of_text(svg, x, y, 12.0, "#777777", limits);
    y + 8.0
}
