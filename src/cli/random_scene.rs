//! Random tables: polygons around an arm and goals between them, for measuring whole plans.

use nalgebra::Point2;

use crate::ik::{solver, IkRequest};
use crate::kinematics::{validated_pose, Pose};
use crate::model::Chain;
use crate::planar::{predicates::Side, Polygon};
use crate::planning::Obstacle;

/// SplitMix64: the same seed gives the same scene everywhere.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform between two numbers.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A table with obstacles, and pairs of places on it that the arm reaches.
#[derive(Debug, Clone)]
pub struct RandomScene {
    /// Prisms around the arm.
    pub obstacles: Vec<Obstacle>,
    /// Joint values of the start, pose of the goal (tool pointing down, base frame).
    pub pairs: Vec<(Vec<f64>, Pose)>,
}

/// Where obstacles and goals are, and how many.
#[derive(Debug, Clone, Copy)]
pub struct RandomTable {
    /// Obstacles, convex and concave polygons.
    pub obstacles: usize,
    /// Pairs of start and goal.
    pub pairs: usize,
    /// Distance of start and goal from the obstacles (m).
    pub clearance: f64,
    /// Distance from the base (m) of the nearest and the farthest goals.
    pub ring: (f64, f64),
    /// Height of starts and goals (m).
    pub height: f64,
    /// Seed.
    pub seed: u64,
}

/// Places that are tried for a goal.
const TRIES: usize = 10_000;

impl RandomScene {
    /// Draws a scene. There are fewer pairs than asked for if places that the arm reaches between the
    /// obstacles are too rare; `None` where `give_up` says so.
    pub fn new(
        chain: &Chain,
        table: &RandomTable,
        give_up: &dyn Fn() -> bool,
    ) -> Option<RandomScene> {
        let mut random = Random(table.seed);
        let (near, far) = table.ring;
        // So that the obstacles cover about a fifth of the ring.
        let area = std::f64::consts::PI * (far * far - near * near);
        let size = (0.2 * area / table.obstacles.max(1) as f64 / 2.0).sqrt();
        let mut obstacles: Vec<Obstacle> = Vec::new();
        while obstacles.len() < table.obstacles {
            if give_up() {
                return None;
            }
            let (distance, way) = (
                random.between(near, far),
                random.between(-std::f64::consts::PI, std::f64::consts::PI),
            );
            let centre = Point2::new(distance * way.cos(), distance * way.sin());
            let corners = 3 + (random.next() % 8) as usize;
            let turn = random.between(0.0, 1.0);
            let points: Vec<Point2<f64>> = (0..corners)
                .map(|corner| {
                    let angle = std::f64::consts::TAU * (corner as f64 + turn) / corners as f64;
                    let radius = size * random.between(0.5, 1.2);
                    centre + nalgebra::Vector2::new(angle.cos(), angle.sin()) * radius
                })
                .collect();
            let Ok(polygon) = Polygon::from_points(&points) else {
                continue;
            };
            obstacles.push(Obstacle {
                id: obstacles.len().to_string(),
                polygon,
                min_height: f64::NEG_INFINITY,
                max_height: table.height + 0.05,
            });
        }
        let mut scene = RandomScene {
            obstacles,
            pairs: Vec::new(),
        };
        let mut tries = 0;
        while scene.pairs.len() < table.pairs && tries < TRIES {
            tries += 1;
            let mut place = || scene.place(&mut random, table, give_up);
            let (from, to) = (place()?, place()?);
            let ik = |target: Pose| {
                let request = IkRequest::new(target);
                let found = solver("").ok()?.solve(chain, &request, &chain.middle());
                found.ok().map(|solution| solution.q)
            };
            if let (Some(start), Some(_)) = (ik(from), ik(to)) {
                scene.pairs.push((start, to));
            }
        }
        Some(scene)
    }

    /// A free place on the table, tool down.
    fn place(
        &self,
        random: &mut Random,
        table: &RandomTable,
        give_up: &dyn Fn() -> bool,
    ) -> Option<Pose> {
        let (near, far) = table.ring;
        let mut best = Pose::identity();
        for _ in 0..TRIES {
            if give_up() {
                return None;
            }
            let (x, y) = (random.between(-far, far), random.between(-far, far));
            let Ok(pose) = validated_pose([x, y, table.height], [1.0, 0.0, 0.0, 0.0]) else {
                continue;
            };
            best = pose;
            let point = Point2::new(x, y);
            let free = self.obstacles.iter().all(|obstacle| {
                obstacle.polygon.locate(&point) == Side::Outside
                    && obstacle.polygon.distance(&point) > 1.01 * table.clearance
            });
            if (near..far).contains(&x.hypot(y)) && free {
                break;
            }
        }
        Some(best)
    }
}
