//! The planar rooms on scenes from seeds: `cargo bench --bench planar`.
//!
//! First the growth: build and query times over the number of corners, with the exponent of a fitted
//! power law, for every kind of scene and road map, and after how many queries a stored graph has cost
//! less than the lazy mode (the road map `auto` goes by that), and what it costs to follow one obstacle
//! that moves. Then single figures by criterion.
//!
//! With a folder in `ARM_PLANNER_SCENES` the scenes are written there, too, for
//! `arm-planner path-batch --scene`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use arm_planner::planar::offset::inflate_all;
use arm_planner::planar::{
    Edit, Join, Obstacle, PlanarWorld, Polygon, PolygonOptions, WorldOptions,
};
use arm_planner::roadmap::{build_roadmap, DynamicRoadmap, Roadmap};
use criterion::{criterion_group, criterion_main, Criterion};
use nalgebra::{Point2, Vector2};

#[path = "../tests/planar_support/mod.rs"]
#[allow(dead_code)]
mod planar_support;

use planar_support::{comb, convex, lattice, non_convex, Random, Ring};

type Make = fn(usize) -> Vec<Ring>;

const KINDS: [(&str, Make); 4] = [
    ("convex", |n| convex(n, 1)),
    ("non-convex", |n| non_convex(n, 2)),
    ("lattice", lattice),
    ("comb", comb),
];

struct Scene {
    obstacles: Vec<Obstacle>,
    vertices: usize,
    queries: Vec<[Point2<f64>; 2]>,
}

impl Scene {
    fn new(rings: &[Ring], queries: usize) -> Self {
        let read = |(k, ring): (usize, &Ring)| {
            let read = Obstacle::from_ring(&k.to_string(), ring, &PolygonOptions::default());
            read.unwrap().0
        };
        let obstacles: Vec<Obstacle> = rings.iter().enumerate().flat_map(read).collect();
        let mut scene = Scene {
            vertices: obstacles.iter().map(|o| o.polygon.outer().len()).sum(),
            obstacles,
            queries: Vec::new(),
        };
        let world = scene.world();
        let all = || rings.iter().flatten();
        let low = all().copied().reduce(|a, b| a.inf(&b)).unwrap();
        let high = all().copied().reduce(|a, b| a.sup(&b)).unwrap();
        let mut random = Random(3);
        let mut end = || loop {
            let p = Point2::new(random.between(low.x, high.x), random.between(low.y, high.y));
            if world.locate(&p).is_free() {
                return p;
            }
        };
        scene.queries = (0..queries).map(|_| [end(), end()]).collect();
        scene
    }

    fn world(&self) -> Arc<PlanarWorld> {
        let options = WorldOptions::default();
        Arc::new(PlanarWorld::build(self.obstacles.clone(), None, &options).unwrap())
    }

    /// In the form that `path-batch` reads.
    fn write(&self, path: &std::path::Path) -> std::io::Result<()> {
        let pair = |p: &Point2<f64>| [p.x, p.y];
        let ring = |o: &Obstacle| o.polygon.outer().iter().map(pair).collect::<Vec<_>>();
        let scene = serde_json::json!({
            "obstacles": self.obstacles.iter().map(ring).collect::<Vec<_>>(),
            "queries": self.queries.iter().map(|q| q.each_ref().map(pair)).collect::<Vec<_>>(),
        });
        std::fs::write(path, scene.to_string())
    }

    fn build(&self, roadmap: &str) -> Box<dyn Roadmap> {
        build_roadmap(roadmap, self.world()).unwrap()
    }
}

/// The least of some repetitions, milliseconds, and the last result.
fn least<T>(repetitions: usize, mut run: impl FnMut() -> T) -> (f64, T) {
    let mut timed = || {
        let begin = Instant::now();
        let result = run();
        (begin.elapsed().as_secs_f64() * 1e3, result)
    };
    let (mut best, mut result) = timed();
    for _ in 1..repetitions {
        let (time, again) = timed();
        best = best.min(time);
        result = again;
    }
    (best, result)
}

/// Median, 99th percentile and mean of one pass over all queries, microseconds.
fn query_times(scene: &Scene, map: &dyn Roadmap) -> [f64; 3] {
    let ask = |[start, goal]: &[Point2<f64>; 2]| {
        let (time, _) = least(3, || black_box(map.shortest_path(start, goal).is_ok()));
        time * 1e3
    };
    let mut times: Vec<f64> = scene.queries.iter().map(ask).collect();
    times.sort_by(f64::total_cmp);
    let at = |q: f64| times[((q * times.len() as f64).ceil() as usize).max(1) - 1];
    [
        at(0.5),
        at(0.99),
        times.iter().sum::<f64>() / times.len() as f64,
    ]
}

/// Exponent of the power law that fits (n, time) best.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs = || points.iter().map(|(n, t)| (n.ln(), t.max(1e-9).ln()));
    let count = points.len() as f64;
    let mean_x = logs().map(|l| l.0).sum::<f64>() / count;
    let mean_y = logs().map(|l| l.1).sum::<f64>() / count;
    let slope: f64 = logs().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    slope / logs().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>()
}

struct Row {
    n: f64,
    build: f64,
    median: f64,
    p99: f64,
    mean: f64,
}

fn row(scene: &Scene, roadmap: &str) -> Row {
    let repetitions = if scene.vertices <= 5000 { 5 } else { 2 };
    let (build, map) = least(repetitions, || scene.build(roadmap));
    let [median, p99, mean] = query_times(scene, map.as_ref());
    println!(
        "{roadmap:<17} {:>7} {build:>11.3} {median:>13.2} {p99:>11.2} {:>9}",
        scene.vertices,
        map.edge_count()
    );
    Row {
        n: scene.vertices as f64,
        build,
        median,
        p99,
        mean,
    }
}

fn table(kind: &str, make: Make, sizes: &[(&str, &[usize])]) {
    println!(
        "\n{kind}\n{:<17} {:>7} {:>11} {:>13} {:>11} {:>9}",
        "road map", "n", "build [ms]", "median [µs]", "p99 [µs]", "edges"
    );
    let mut graph_and_lazy: Vec<Vec<Row>> = Vec::new();
    for (roadmap, sizes) in sizes {
        let rows: Vec<Row> = sizes
            .iter()
            .map(|n| {
                row(
                    &Scene::new(&make(*n), if *n > 5000 { 40 } else { 200 }),
                    roadmap,
                )
            })
            .collect();
        if rows.len() > 1 {
            let of = |pick: fn(&Row) -> f64| {
                exponent(&rows.iter().map(|r| (r.n, pick(r))).collect::<Vec<_>>())
            };
            println!(
                "{roadmap:<17}   n^… {:>11.2} {:>13.2} {:>11.2}",
                of(|r| r.build),
                of(|r| r.median),
                of(|r| r.p99)
            );
        }
        graph_and_lazy.push(rows);
    }
    let [graph, lazy, ..] = graph_and_lazy.as_slice() else {
        return;
    };
    for (graph, lazy) in graph.iter().zip(lazy) {
        let (more, less) = ((graph.build - lazy.build) * 1e3, lazy.mean - graph.mean);
        if more > 0.0 && less > 0.0 {
            println!(
                "the graph of n = {} pays from {:.0} queries on",
                graph.n,
                more / less
            );
        }
    }
}

/// What it takes to follow random obstacles that move a little, one at a time.
fn changes(kind: &str, make: Make, sizes: &[usize]) {
    println!(
        "\n{kind}: one obstacle changed\n{:>25} {:>12} {:>11} {:>13}",
        "n", "median [ms]", "p99 [ms]", "rebuild [ms]"
    );
    let mut points = Vec::new();
    for n in sizes {
        let scene = Scene::new(&make(*n), 0);
        let (rebuild, mut map) = least(3, || DynamicRoadmap::new(scene.world()));
        let mut random = Random(5);
        let mut moved = || {
            let which = random.below(scene.obstacles.len());
            let by = Vector2::new(random.between(-5.0, 5.0), random.between(-5.0, 5.0));
            let obstacle = &map.world().obstacles()[which];
            let ring: Vec<_> = obstacle.polygon.outer().iter().map(|p| p + by).collect();
            let edit = Edit {
                remove: vec![which as u32],
                at: which,
                insert: vec![Obstacle {
                    id: obstacle.id.clone(),
                    polygon: Polygon::from_points(&ring).unwrap(),
                }],
            };
            let begin = Instant::now();
            map = map.edited(&edit).unwrap();
            begin.elapsed().as_secs_f64() * 1e3
        };
        let mut times: Vec<f64> = (0..100).map(|_| moved()).collect();
        times.sort_by(f64::total_cmp);
        println!(
            "{:>25} {:>12.3} {:>11.3} {rebuild:>13.3}",
            scene.vertices, times[49], times[98]
        );
        points.push((scene.vertices as f64, times[49]));
    }
    println!("{:>25} {:>12.2}", "n^…", exponent(&points));
}

/// Where the user wants to have the scenes.
fn write_scenes(folder: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (kind, make) in KINDS {
        for n in [1000, 5000, 50_000] {
            let scene = Scene::new(&make(n), if n > 5000 { 200 } else { 1000 });
            scene.write(&folder.join(format!("{kind}-{}.json", scene.vertices)))?;
        }
    }
    Ok(())
}

fn growth(_: &mut Criterion) {
    // As `cargo test` runs benchmarks: that they run at all.
    let is_test = std::env::args().any(|argument| argument == "--test");
    let sizes: &[(&str, &[usize])] = if is_test {
        &[("visibility_graph", &[60, 120]), ("lazy", &[60, 120])]
    } else {
        &[
            ("visibility_graph", &[250, 500, 1000, 2000, 5000]),
            ("lazy", &[250, 500, 1000, 2000, 5000, 20_000, 50_000]),
            ("visibility_sweep", &[250, 500, 1000, 2000]),
            ("visibility_naive", &[125, 250, 500]),
            ("trapezoidal_map", &[250, 500, 1000, 2000, 5000]),
        ]
    };
    let changed: &[usize] = match is_test {
        true => &[60, 120],
        false => &[250, 500, 1000, 2000, 5000],
    };
    for (kind, make) in KINDS {
        table(kind, make, sizes);
        changes(kind, make, changed);
    }
    if let Some(folder) = std::env::var_os("ARM_PLANNER_SCENES") {
        write_scenes(folder.as_ref()).unwrap();
    }
    println!();
}

fn single(criterion: &mut Criterion) {
    for (kind, make) in KINDS {
        let scene = Scene::new(&make(1000), 256);
        criterion.bench_function(&format!("world/{kind}/1000"), |bencher| {
            bencher.iter(|| black_box(scene.world()));
        });
        for name in ["visibility_graph", "lazy", "trapezoidal_map"] {
            criterion.bench_function(&format!("build/{name}/{kind}/1000"), |bencher| {
                bencher.iter(|| black_box(scene.build(name)));
            });
            let map = scene.build(name);
            let mut next = scene.queries.iter().cycle();
            criterion.bench_function(&format!("query/{name}/{kind}/1000"), |bencher| {
                bencher.iter(|| {
                    let [start, goal] = next.next().unwrap();
                    black_box(map.shortest_path(black_box(start), goal).is_ok())
                });
            });
        }
    }
    let polygons: Vec<Polygon> = Scene::new(&non_convex(1000, 2), 0)
        .obstacles
        .into_iter()
        .map(|o| o.polygon)
        .collect();
    for (name, join) in [
        ("round", Join::default()),
        ("mitre", Join::Mitre { limit: 2.0 }),
    ] {
        criterion.bench_function(&format!("inflate/{name}/1000"), |bencher| {
            bencher.iter(|| black_box(inflate_all(&polygons, 5.0, &join).unwrap()));
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = growth, single
}
criterion_main!(benches);
