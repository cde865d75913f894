//! From a planar route to the path of the tip: corners rounded, height and orientation
//! interpolated along the way; or up, over and down.
//!
//! # Why rounding a corner is safe
//! With a clearance `R` the route runs around the union of discs of radius `R` about the points
//! of the obstacles. At a corner `V` the route's two legs are free, and the fillet is the arc of
//! radius `r ≤ R` tangent to both. Suppose a disc `D(p, R)` of that union came between the arc and
//! `V`. A disc of radius `R` that reaches beyond an arc of radius `R` or less from the inside must
//! contain an end of the arc, a point of a leg, or `V`; all of these lie on the route, which no such
//! disc contains. So the fillet keeps the clearance, and no margin is needed for it. The same holds with
//! balls for discs where the tip goes up or down: its legs keep `R` from the obstacles at their heights to the
//! side, and `R` from those below.

use nalgebra::{Point2, Point3, UnitQuaternion, Vector3};

use crate::ik::{Goal, Tolerances};
use crate::kinematics::{residual, Pose};

/// Fillets smaller than this \[m\] are no fillets: the arm stops at the corner.
const SMALLEST_FILLET: f64 = 1e-6;

/// Differences of direction \[rad\] and of turn \[rad/m\] that are none.
const SAME_WAY: f64 = 1e-3;
const SAME_TURN: f64 = 1e-2;

/// Legs shorter than this \[m\] have no direction to speak of.
const SHORTEST_LEG: f64 = 1e-9;

/// A piece of the path, in the coordinates of the planning plane.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Piece {
    Line {
        from: Point3<f64>,
        direction: Vector3<f64>,
        length: f64,
    },
    /// A circular arc that may rise evenly along its axis.
    Arc {
        centre: Point3<f64>,
        /// From the centre to the arc's begin.
        from: Vector3<f64>,
        /// Unit tangent at the begin, without the rise.
        towards: Vector3<f64>,
        angle: f64,
        rise: Vector3<f64>,
    },
}

impl Piece {
    fn length(&self) -> f64 {
        match *self {
            Piece::Line { length, .. } => length,
            Piece::Arc {
                from, angle, rise, ..
            } => (from.norm() * angle).hypot(rise.norm()),
        }
    }

    /// Unit tangent at the fraction `u` of the piece.
    fn direction(&self, u: f64) -> Vector3<f64> {
        match *self {
            Piece::Line { direction, .. } => direction,
            Piece::Arc {
                from,
                towards,
                angle,
                rise,
                ..
            } => {
                let (sine, cosine) = (angle * u).sin_cos();
                let round = towards * (from.norm() * cosine) - from * sine;
                (round * angle + rise).normalize()
            }
        }
    }

    fn at(&self, along: f64) -> Point3<f64> {
        match *self {
            Piece::Line {
                from, direction, ..
            } => from + direction * along,
            Piece::Arc {
                centre,
                from,
                towards,
                angle,
                rise,
            } => {
                let part = along / self.length();
                let (sine, cosine) = (angle * part).sin_cos();
                centre + from * cosine + towards * (from.norm() * sine) + rise * part
            }
        }
    }

    /// The piece, lifted by `height` at its begin and rising by `slope` per metre of its way.
    fn lifted(self, height: f64, slope: f64) -> Piece {
        let lift = Vector3::z() * height;
        match self {
            Piece::Line {
                from,
                direction,
                length,
            } => {
                let way = direction * length + Vector3::z() * (slope * length);
                Piece::Line {
                    from: from + lift,
                    direction: way.normalize(),
                    length: way.norm(),
                }
            }
            Piece::Arc {
                centre,
                from,
                towards,
                angle,
                ..
            } => Piece::Arc {
                centre: centre + lift,
                from,
                towards,
                angle,
                rise: Vector3::z() * (slope * self.length()),
            },
        }
    }
}

/// The tip's path for one goal, by arc length.
#[derive(Debug, Clone, PartialEq)]
pub struct TipPath {
    pieces: Vec<Piece>,
    /// Arc length at the end of each piece \[m\].
    ends: Vec<f64>,
    /// Arc lengths of corners that could not be rounded \[m\].
    corners: Vec<f64>,
    /// Pose of the planning plane in the base frame.
    plane: Pose,
    /// In the base frame.
    start: Pose,
    goal: Pose,
    /// Rotation vector from the start's orientation to the goal's, in the start's frame \[rad\].
    turn: Vector3<f64>,
}

impl TipPath {
    /// The path from `start` to `goal` (base frame) along `route` (points in the plane at `plane` \[m\], first
    /// and last those of `start` and `goal`), its height above the plane changing evenly, with corners
    /// rounded by arcs of at most `radius` \[m\]. With a radius of zero all corners stay sharp.
    pub fn new(
        plane: &Pose,
        route: &[Point2<f64>],
        radius: f64,
        start: Pose,
        goal: Pose,
    ) -> TipPath {
        let mut path = TipPath::empty(plane, start, goal);
        let points: Vec<Point3<f64>> = route.iter().map(|p| Point3::new(p.x, p.y, 0.0)).collect();
        path.lay(&points, radius);
        let (from, to) = (path.local(&start), path.local(&goal));
        let planar = path.length();
        if planar <= SHORTEST_LEG {
            path.clear();
            path.lay(&[from, to], 0.0);
            return path;
        }
        let slope = (to.z - from.z) / planar;
        let mut begin = 0.0;
        for (piece, end) in path.pieces.iter_mut().zip(&mut path.ends) {
            *piece = piece.lifted(from.z + slope * begin, slope);
            begin = *end;
            *end *= slope.hypot(1.0);
        }
        path.corners
            .iter_mut()
            .for_each(|corner| *corner *= slope.hypot(1.0));
        path
    }

    /// The path straight up to `height` \[m\] above the plane, there along `route`, and straight down (or the
    /// other way round where an end lies higher), otherwise as [`TipPath::new`]; corners between the legs are
    /// rounded, too.
    pub fn over(
        plane: &Pose,
        route: &[Point2<f64>],
        height: f64,
        radius: f64,
        start: Pose,
        goal: Pose,
    ) -> TipPath {
        let mut path = TipPath::empty(plane, start, goal);
        let mut points = vec![path.local(&start)];
        points.extend(route.iter().map(|p| Point3::new(p.x, p.y, height)));
        points.push(path.local(&goal));
        path.lay(&points, radius);
        path
    }

    fn empty(plane: &Pose, start: Pose, goal: Pose) -> TipPath {
        TipPath {
            pieces: Vec::new(),
            ends: Vec::new(),
            corners: Vec::new(),
            plane: *plane,
            start,
            goal,
            turn: (start.rotation.inverse() * goal.rotation).scaled_axis(),
        }
    }

    fn clear(&mut self) {
        self.pieces.clear();
        self.ends.clear();
        self.corners.clear();
    }

    /// A pose's position in the plane's coordinates.
    fn local(&self, pose: &Pose) -> Point3<f64> {
        self.plane
            .inverse_transform_point(&Point3::from(pose.translation.vector))
    }

    fn push(&mut self, piece: Piece) {
        if piece.length() > 0.0 {
            self.ends.push(self.length() + piece.length());
            self.pieces.push(piece);
        }
    }

    fn lay(&mut self, route: &[Point3<f64>], radius: f64) {
        let mut points: Vec<Point3<f64>> = Vec::with_capacity(route.len());
        for point in route {
            if points
                .last()
                .is_none_or(|last| (point - last).norm() > SHORTEST_LEG)
            {
                points.push(*point);
            }
        }
        let legs: Vec<(Point3<f64>, Vector3<f64>, f64)> = points
            .iter()
            .zip(points.iter().skip(1))
            .map(|(from, to)| {
                let leg = to - from;
                (*from, leg / leg.norm(), leg.norm())
            })
            .collect();
        // Turn at the inner points, and the length that its fillet takes from both legs.
        let turns: Vec<f64> = legs
            .iter()
            .zip(legs.iter().skip(1))
            .map(|((_, a, _), (_, b, _))| a.cross(b).norm().atan2(a.dot(b)))
            .collect();
        let wanted: Vec<f64> = turns
            .iter()
            .map(|turn| radius * (turn / 2.0).tan())
            .collect();
        let mut cuts = wanted.clone();
        let of = |cuts: &[f64], leg: usize| {
            let before = leg.checked_sub(1).and_then(|corner| cuts.get(corner));
            let after = cuts.get(leg);
            (
                before.copied().unwrap_or(0.0),
                after.copied().unwrap_or(0.0),
            )
        };
        for (leg, (_, _, length)) in legs.iter().enumerate() {
            let (before, after) = of(&wanted, leg);
            if before + after > *length {
                let scale = length / (before + after);
                for (corner, want) in [(leg.checked_sub(1), before), (Some(leg), after)] {
                    if let Some(cut) = corner.and_then(|corner| cuts.get_mut(corner)) {
                        *cut = cut.min(want * scale);
                    }
                }
            }
        }
        for (leg, (point, direction, length)) in legs.iter().enumerate() {
            let (before, after) = of(&cuts, leg);
            self.push(Piece::Line {
                from: point + direction * before,
                direction: *direction,
                length: (length - before - after).max(0.0),
            });
            let Some(turn) = turns.get(leg).copied().filter(|turn| *turn != 0.0) else {
                continue;
            };
            let fillet = after / (turn / 2.0).tan();
            // Across the leg, in the plane of the corner, to its inside.
            let inwards = legs.get(leg + 1).and_then(|(_, next, _)| {
                (next - direction * next.dot(direction)).try_normalize(0.0)
            });
            let Some(inwards) = inwards.filter(|_| fillet >= SMALLEST_FILLET) else {
                self.corners.push(self.length());
                continue;
            };
            let tangent = point + direction * (length - after);
            self.push(Piece::Arc {
                centre: tangent + inwards * fillet,
                from: -inwards * fillet,
                towards: *direction,
                angle: turn,
                rise: Vector3::zeros(),
            });
        }
    }

    /// The path's shadow in the planning plane as a polyline, arcs by chords that leave them by a share of
    /// about 10⁻⁴ of their radius, inwards.
    pub fn shadow(&self) -> Vec<Point2<f64>> {
        let mut points = vec![self.local(&self.start).xy()];
        for piece in &self.pieces {
            let count = match piece {
                Piece::Line { .. } => 1,
                Piece::Arc { angle, .. } => pieces_of(*angle, 0.03),
            };
            let length = piece.length();
            points
                .extend((1..=count).map(|part| piece.at(length * part as f64 / count as f64).xy()));
        }
        points
    }

    /// Length of the path \[m\].
    pub fn length(&self) -> f64 {
        self.ends.last().copied().unwrap_or(0.0)
    }

    /// Angle between the orientations at both ends \[rad\].
    pub fn turn(&self) -> f64 {
        self.turn.norm()
    }

    /// Whether the tip may pass from this path to `next` without coming to rest: it goes on in the
    /// same direction, and turns at the same rate along the way.
    pub fn flows_into(&self, next: &TipPath) -> bool {
        let (Some((way, turn)), Some((next_way, next_turn))) =
            (self.heading(1.0), next.heading(0.0))
        else {
            return false;
        };
        (way - next_way).norm() < SAME_WAY && (turn - next_turn).norm() < SAME_TURN
    }

    /// Direction of travel (unit) and turn \[rad/m\] in the base frame at the fraction `u`, 0 or 1;
    /// `None` where the tip does not travel.
    fn heading(&self, u: f64) -> Option<(Vector3<f64>, Vector3<f64>)> {
        let length = self.length();
        if length <= SHORTEST_LEG {
            return None;
        }
        let piece = if u > 0.5 {
            self.pieces.last()
        } else {
            self.pieces.first()
        };
        let way = self.plane.rotation * piece?.direction(u);
        Some((way, self.start.rotation * self.turn / length))
    }

    /// Whether the goal is where the path starts, up to the tolerances.
    pub fn is_done(&self, tolerances: &Tolerances, goal: Goal) -> bool {
        let off = residual(&self.goal, &self.start);
        off.position <= tolerances.position
            && (goal == Goal::Position || off.orientation <= tolerances.orientation)
            && self.length() <= tolerances.position
    }

    /// The tip's pose in the base frame at the fraction `u` of the path, 0 to 1.
    pub fn pose(&self, u: f64) -> Pose {
        if u <= 0.0 {
            return self.start;
        }
        if u >= 1.0 {
            return self.goal;
        }
        let along = u * self.length();
        let piece = self
            .ends
            .partition_point(|end| *end <= along)
            .min(self.pieces.len().saturating_sub(1));
        let begin = piece
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .copied()
            .unwrap_or(0.0);
        let point = match self.pieces.get(piece) {
            Some(piece) => self.plane * piece.at(along - begin),
            None => self.goal.translation.vector.into(),
        };
        let rotation = self.start.rotation * UnitQuaternion::from_scaled_axis(self.turn * u);
        Pose::from_parts(point.coords.into(), rotation)
    }

    /// Fractions, 0 and 1 included and strictly rising, at which to sample the path: samples are at
    /// most `step` \[m\] and `angle_step` \[rad\] apart, corners and ends of pieces are samples, and
    /// arcs are divided finely enough for a smooth curve through the samples to follow them. The
    /// second value lists the positions of those samples at which the arm must stop.
    pub fn samples(&self, step: f64, angle_step: f64) -> (Vec<f64>, Vec<usize>) {
        let total = self.length();
        let turn = self.turn.norm();
        let mut fractions = vec![0.0];
        if total <= SHORTEST_LEG {
            let count = pieces_of(turn, angle_step);
            fractions.extend((1..=count).map(|part| part as f64 / count as f64));
            return (fractions, Vec::new());
        }
        let mut begin = 0.0;
        let mut stops = Vec::new();
        for (piece, end) in self.pieces.iter().zip(&self.ends) {
            let length = end - begin;
            let bend = match piece {
                Piece::Arc { angle, .. } => pieces_of(*angle, 0.12),
                Piece::Line { .. } => 1,
            };
            let count = pieces_of(length, step)
                .max(pieces_of(turn * length / total, angle_step))
                .max(bend);
            for part in 1..=count {
                let fraction = (begin + length * part as f64 / count as f64) / total;
                if fractions.last().is_some_and(|last| fraction > *last) {
                    fractions.push(fraction.min(1.0));
                }
            }
            begin = *end;
            if self.corners.contains(end) && *end < total {
                stops.push(fractions.len() - 1);
            }
        }
        if let Some(last) = fractions.last_mut() {
            *last = 1.0;
        }
        (fractions, stops)
    }
}

/// How many pieces of at most `step` a length is to be cut into; at least one, and never so many
/// that a tiny step exhausts the memory.
pub(super) fn pieces_of(length: f64, step: f64) -> usize {
    let count = (length / step).ceil();
    if count.is_finite() {
        (count.clamp(1.0, 100_000.0)) as usize
    } else {
        1
    }
}

#[cfg(test)]
#[path = "tip_path_tests.rs"]
mod tests;
