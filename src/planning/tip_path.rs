//! From a planar route to the path of the tip: corners rounded, height and orientation
//! interpolated along the way.
//!
//! # Why rounding a corner is safe
//! With a clearance `R` the route runs around the union of discs of radius `R` about the points
//! of the obstacles. At a corner `V` the route's two legs are free, and the fillet is the arc of
//! radius `r ≤ R` tangent to both. Suppose a disc `D(p, R)` of that union came between the arc and
//! `V`. A disc of radius `R` that reaches beyond an arc of radius `R` or less from the inside must
//! contain an end of the arc, a point of a leg, or `V`; all of these lie on the route, which no such
//! disc contains. So the fillet keeps the clearance, and no margin is needed for it.

use nalgebra::{Point2, Rotation2, UnitQuaternion, Vector2, Vector3};

use crate::ik::{Goal, Tolerances};
use crate::kinematics::{residual, Pose};

/// Fillets smaller than this \[m\] are no fillets: the arm stops at the corner.
const SMALLEST_FILLET: f64 = 1e-6;

/// Differences of direction \[rad\] and of turn \[rad/m\] that are none.
const SAME_WAY: f64 = 1e-3;
const SAME_TURN: f64 = 1e-2;

/// Legs shorter than this \[m\] have no direction to speak of.
const SHORTEST_LEG: f64 = 1e-9;

/// A piece of the planar path.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Piece {
    Line {
        from: Point2<f64>,
        direction: Vector2<f64>,
        length: f64,
    },
    Arc {
        centre: Point2<f64>,
        from: Vector2<f64>,
        radius: f64,
        angle: f64,
    },
}

impl Piece {
    fn length(&self) -> f64 {
        match *self {
            Piece::Line { length, .. } => length,
            Piece::Arc { radius, angle, .. } => radius * angle.abs(),
        }
    }

    /// Unit tangent at the fraction `u` of the piece.
    fn direction(&self, u: f64) -> Vector2<f64> {
        match *self {
            Piece::Line { direction, .. } => direction,
            Piece::Arc { from, angle, .. } => {
                let radial = Rotation2::new(angle * u) * from.normalize();
                Vector2::new(-radial.y, radial.x) * angle.signum()
            }
        }
    }

    fn at(&self, along: f64) -> Point2<f64> {
        match *self {
            Piece::Line {
                from, direction, ..
            } => from + direction * along,
            Piece::Arc {
                centre,
                from,
                radius,
                angle,
            } => centre + Rotation2::new(along / radius * angle.signum()) * from,
        }
    }
}

/// The tip's path for one goal, by arc length in the plane.
#[derive(Debug, Clone, PartialEq)]
pub struct TipPath {
    pieces: Vec<Piece>,
    /// Arc length at the end of each piece \[m\].
    ends: Vec<f64>,
    /// Arc lengths of corners that could not be rounded \[m\].
    corners: Vec<f64>,
    start: Pose,
    goal: Pose,
    goal_point: Point2<f64>,
    /// Rotation vector from the start's orientation to the goal's, in the start's frame \[rad\].
    turn: Vector3<f64>,
}

impl TipPath {
    /// The path along `route` (points in the base frame's XY plane \[m\], first and last those of
    /// `start` and `goal`), with corners rounded by arcs of at most `radius` \[m\]. With a radius of
    /// zero all corners stay sharp.
    pub fn new(route: &[Point2<f64>], radius: f64, start: Pose, goal: Pose) -> TipPath {
        let mut points: Vec<Point2<f64>> = Vec::with_capacity(route.len());
        for point in route {
            if points
                .last()
                .is_none_or(|last| (point - last).norm() > SHORTEST_LEG)
            {
                points.push(*point);
            }
        }
        let goal_point = Point2::new(goal.translation.x, goal.translation.y);
        let turn = (start.rotation.inverse() * goal.rotation).scaled_axis();
        let mut path = TipPath {
            pieces: Vec::new(),
            ends: Vec::new(),
            corners: Vec::new(),
            start,
            goal,
            goal_point,
            turn,
        };
        path.lay(&points, radius);
        path
    }

    fn push(&mut self, piece: Piece) {
        if piece.length() > 0.0 {
            self.ends.push(self.planar_length() + piece.length());
            self.pieces.push(piece);
        }
    }

    fn lay(&mut self, points: &[Point2<f64>], radius: f64) {
        let legs: Vec<(Vector2<f64>, f64)> = points
            .windows(2)
            .map(|pair| {
                let leg = pair[1] - pair[0];
                (leg / leg.norm(), leg.norm())
            })
            .collect();
        // Signed turn at the inner points, and the length that its fillet takes from both legs.
        let turns: Vec<f64> = legs
            .windows(2)
            .map(|pair| pair[0].0.perp(&pair[1].0).atan2(pair[0].0.dot(&pair[1].0)))
            .collect();
        let wanted: Vec<f64> = turns
            .iter()
            .map(|turn| radius * (turn.abs() / 2.0).tan())
            .collect();
        let mut cuts = wanted.clone();
        for (leg, (_, length)) in legs.iter().enumerate() {
            let before = leg
                .checked_sub(1)
                .and_then(|corner| wanted.get(corner))
                .copied()
                .unwrap_or(0.0);
            let after = wanted.get(leg).copied().unwrap_or(0.0);
            if before + after > *length {
                let scale = length / (before + after);
                for (corner, want) in [(leg.checked_sub(1), before), (Some(leg), after)] {
                    if let Some(cut) = corner.and_then(|corner| cuts.get_mut(corner)) {
                        *cut = cut.min(want * scale);
                    }
                }
            }
        }
        for (leg, (direction, length)) in legs.iter().enumerate() {
            let before = leg
                .checked_sub(1)
                .and_then(|corner| cuts.get(corner))
                .copied()
                .unwrap_or(0.0);
            let after = cuts.get(leg).copied().unwrap_or(0.0);
            let from = points[leg] + direction * before;
            self.push(Piece::Line {
                from,
                direction: *direction,
                length: (length - before - after).max(0.0),
            });
            let Some(turn) = turns.get(leg).copied().filter(|turn| *turn != 0.0) else {
                continue;
            };
            let fillet = after / (turn.abs() / 2.0).tan();
            if fillet < SMALLEST_FILLET {
                self.corners.push(self.planar_length());
                continue;
            }
            let inwards = Vector2::new(-direction.y, direction.x) * turn.signum();
            let tangent = points[leg + 1] - direction * after;
            self.push(Piece::Arc {
                centre: tangent + inwards * fillet,
                from: -inwards * fillet,
                radius: fillet,
                angle: turn,
            });
        }
    }

    /// The path's shadow as a polyline, arcs by chords that leave them by a share of 10⁻⁵ of their
    /// radius, inwards.
    pub fn shadow(&self) -> Vec<Point2<f64>> {
        let mut points = vec![Point2::new(
            self.start.translation.x,
            self.start.translation.y,
        )];
        for piece in &self.pieces {
            let count = match piece {
                Piece::Line { .. } => 1,
                Piece::Arc { angle, .. } => pieces_of(angle.abs(), 0.01),
            };
            let length = piece.length();
            points.extend((1..=count).map(|part| piece.at(length * part as f64 / count as f64)));
        }
        points
    }

    /// Length of the path's shadow in the plane \[m\].
    pub fn planar_length(&self) -> f64 {
        self.ends.last().copied().unwrap_or(0.0)
    }

    /// Length of the path in space \[m\].
    pub fn length(&self) -> f64 {
        // Height changes at a constant rate along the shadow, so the path is a helix-like
        // curve of constant slope.
        self.planar_length()
            .hypot(self.goal.translation.z - self.start.translation.z)
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
        if self.planar_length() <= SHORTEST_LEG {
            return None;
        }
        let piece = if u > 0.5 {
            self.pieces.last()
        } else {
            self.pieces.first()
        };
        let plane = piece?.direction(u);
        let slope = (self.goal.translation.z - self.start.translation.z) / self.planar_length();
        let way = Vector3::new(plane.x, plane.y, slope).normalize();
        Some((way, self.start.rotation * self.turn / length))
    }

    /// Whether the goal is where the path starts, up to the tolerances.
    pub fn is_done(&self, tolerances: &Tolerances, goal: Goal) -> bool {
        let off = residual(&self.goal, &self.start);
        off.position <= tolerances.position
            && (goal == Goal::Position || off.orientation <= tolerances.orientation)
            && self.planar_length() <= tolerances.position
    }

    /// The tip's pose at the fraction `u` of the path, 0 to 1.
    pub fn pose(&self, u: f64) -> Pose {
        if u <= 0.0 {
            return self.start;
        }
        if u >= 1.0 {
            return self.goal;
        }
        let along = u * self.planar_length();
        let piece = self
            .ends
            .partition_point(|end| *end <= along)
            .min(self.pieces.len().saturating_sub(1));
        let begin = piece
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .copied()
            .unwrap_or(0.0);
        let point = self
            .pieces
            .get(piece)
            .map_or(self.goal_point, |piece| piece.at(along - begin));
        let (from, to) = (self.start.translation.z, self.goal.translation.z);
        let height = from + (to - from) * u;
        let rotation = self.start.rotation * UnitQuaternion::from_scaled_axis(self.turn * u);
        Pose::from_parts(Vector3::new(point.x, point.y, height).into(), rotation)
    }

    /// Fractions, 0 and 1 included and strictly rising, at which to sample the path: samples are at
    /// most `step` \[m\] and `angle_step` \[rad\] apart, corners and ends of pieces are samples, and
    /// arcs are divided finely enough for a smooth curve through the samples to follow them. The
    /// second value lists the positions of those samples at which the arm must stop.
    pub fn samples(&self, step: f64, angle_step: f64) -> (Vec<f64>, Vec<usize>) {
        let total = self.planar_length();
        let turn = self.turn.norm();
        let mut fractions = vec![0.0];
        if total <= SHORTEST_LEG {
            let rise = (self.goal.translation.z - self.start.translation.z).abs();
            let count = pieces_of(rise, step).max(pieces_of(turn, angle_step));
            fractions.extend((1..=count).map(|part| part as f64 / count as f64));
            return (fractions, Vec::new());
        }
        let stretch = self.length() / total;
        let mut begin = 0.0;
        let mut stops = Vec::new();
        for (piece, end) in self.pieces.iter().zip(&self.ends) {
            let length = end - begin;
            let bend = match piece {
                Piece::Arc { angle, .. } => pieces_of(angle.abs(), 0.12),
                Piece::Line { .. } => 1,
            };
            let count = pieces_of(length * stretch, step)
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
