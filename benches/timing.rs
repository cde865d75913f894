//! Timing of joint paths, by the number of waypoints. `cargo bench --bench timing`.

use std::hint::black_box;

use arm_planner::trajectory::{EndCondition, MotionLimits, Spline, TimedPath};
use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion};

#[path = "../tests/ik_support/mod.rs"]
mod ik_support;

/// Random waypoints of seven joints, or dense samples of a smooth curve with corners.
fn waypoints(count: usize, dense: bool) -> (Vec<f64>, Vec<Vec<f64>>) {
    let mut random = ik_support::Random(count as u64);
    let points: Vec<Vec<f64>> = (0..count)
        .map(|k| {
            let t = k as f64 * 0.02;
            (0..7)
                .map(|joint| match dense {
                    true => {
                        (t * (0.4 + 0.2 * f64::from(joint))).sin() + 0.3 * (t % 0.5 - 0.25).abs()
                    }
                    false => random.between(-2.0, 2.0),
                })
                .collect()
        })
        .collect();
    let mut knots = vec![0.0];
    for pair in points.windows(2) {
        let step = pair[0].iter().zip(&pair[1]).map(|(a, b)| (b - a) * (b - a));
        let last = knots[knots.len() - 1];
        knots.push(last + step.sum::<f64>().sqrt());
    }
    (knots, points)
}

fn timing(criterion: &mut Criterion) {
    let limits = MotionLimits::new(vec![2.2; 7], vec![12.0; 7]).unwrap();
    let smooth = limits.clone().with_jerk(vec![200.0; 7]).unwrap();
    let mut group = criterion.benchmark_group("timing");
    group.sample_size(20);
    for (label, dense, counts) in [
        ("spline", false, [2, 5, 10, 20, 40]),
        ("dense", true, [50, 100, 200, 400, 800]),
    ] {
        for count in counts {
            let (knots, points) = waypoints(count, dense);
            group.bench_function(BenchmarkId::new(label, count), |bencher| {
                bencher.iter(|| {
                    let ends = EndCondition::Natural;
                    let spline = Spline::with_knots(black_box(&knots), &points, ends).unwrap();
                    black_box(TimedPath::along(vec![spline], &limits).unwrap().duration())
                });
            });
        }
    }
    let (knots, points) = waypoints(6, false);
    group.bench_function("jerk/6", |bencher| {
        bencher.iter(|| {
            let ends = EndCondition::Natural;
            let spline = Spline::with_knots(black_box(&knots), &points, ends).unwrap();
            black_box(TimedPath::along(vec![spline], &smooth).unwrap().duration())
        });
    });
    group.finish();
}

criterion_group!(benches, timing);
criterion_main!(benches);
