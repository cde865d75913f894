//! What the surroundings of one boundary point look like: which directions
//! lead into an obstacle, and which free directions hang together.
//!
//! Around a point of the boundary every obstacle that reaches it covers a
//! *sector*, an open turn from the outgoing edge of its ring to the incoming
//! one (obstacles lie to the left of their rings). A straight move through the
//! point, or a turn of a path in it, is decided from these sectors alone.
//!
//! Longer than most files here: half of it are the cases of its tests.

use nalgebra::Point2;

use super::predicates::{compare_angle, in_open_sector, orient2d, same_direction, Orientation};

/// Whether obstacles that touch can be slipped between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Contact {
    /// Obstacles that touch are one obstacle: no way through a shared corner or seam.
    #[default]
    Blocked,
    /// Only interiors block: the way along a seam or through a shared corner is free.
    Passable,
}

/// An obstacle's turn around a point: counter-clockwise from `from` to `to`
/// (points that give the directions), blocked in between.
///
/// `from` and `to` in the same direction stand for a wall without thickness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sector {
    /// Direction of the outgoing edge.
    pub from: Point2<f64>,
    /// Direction of the incoming edge, seen from the point.
    pub to: Point2<f64>,
}

impl Sector {
    fn is_wall(&self, center: &Point2<f64>) -> bool {
        same_direction(center, &self.from, &self.to)
    }
}

/// Whether the direction `center → d` leads into an obstacle's interior.
#[inline]
pub fn enters(center: &Point2<f64>, sectors: &[Sector], d: &Point2<f64>) -> bool {
    sectors
        .iter()
        .any(|s| in_open_sector(center, &s.from, &s.to, d))
}

/// Whether a path may come from `center → back` and go on along `center → ahead`.
///
/// No sector at all means that the point is free. A point inside an obstacle
/// has to be found elsewhere.
pub fn passes(
    center: &Point2<f64>,
    sectors: &[Sector],
    contact: Contact,
    back: &Point2<f64>,
    ahead: &Point2<f64>,
) -> bool {
    if enters(center, sectors, back) || enters(center, sectors, ahead) {
        return false;
    }
    if contact == Contact::Passable || sectors.len() < 2 {
        return true;
    }
    let fan = Fan::new(center, sectors, contact);
    let ahead = fan.components(ahead);
    fan.components(back)
        .iter()
        .flatten()
        .any(|c| ahead.contains(&Some(*c)))
}

/// Whether a path may start in `center` along `center → ahead`.
pub fn leaves(
    center: &Point2<f64>,
    sectors: &[Sector],
    contact: Contact,
    ahead: &Point2<f64>,
) -> bool {
    if enters(center, sectors, ahead) {
        return false;
    }
    if contact == Contact::Passable || sectors.len() < 2 {
        return true;
    }
    Fan::new(center, sectors, contact)
        .components(ahead)
        .iter()
        .any(Option::is_some)
}

/// The free directions around a point, sorted into components.
///
/// A component is a set of directions a path can turn through without leaving
/// the point's free surroundings.
#[derive(Debug, Clone)]
pub struct Fan {
    center: Point2<f64>,
    contact: Contact,
    /// Boundary directions in counter-clockwise order, no two the same.
    rays: Vec<Point2<f64>>,
    /// Component of the open turn between ray `k` and the next, if it is free.
    turn: Vec<Option<usize>>,
    /// First and last ray of every component with a turn (equal for a full circle cut once).
    spans: Vec<(usize, usize)>,
    /// Number of components that consist of a single ray (a seam between two obstacles).
    seams: usize,
}

impl Fan {
    /// Sorts the surroundings of `center`.
    pub fn new(center: &Point2<f64>, sectors: &[Sector], contact: Contact) -> Self {
        let mut rays: Vec<Point2<f64>> = sectors.iter().flat_map(|s| [s.from, s.to]).collect();
        rays.sort_by(|a, b| compare_angle(center, a, b));
        rays.dedup_by(|a, b| same_direction(center, a, b));
        let count = rays.len();
        let index = |p: &Point2<f64>| {
            rays.binary_search_by(|r| compare_angle(center, r, p))
                .unwrap_or(0)
        };
        // Coverage of the open turns, by walking every sector.
        let mut covered = vec![false; count];
        let mut wall = vec![false; count];
        for sector in sectors {
            let (mut k, end) = (index(&sector.from), index(&sector.to));
            if k == end {
                if let Some(w) = wall.get_mut(k) {
                    *w = true;
                }
                continue;
            }
            while k != end {
                if let Some(c) = covered.get_mut(k) {
                    *c = true;
                }
                k = (k + 1) % count;
            }
        }
        let ray_free: Vec<bool> = rays.iter().map(|r| !enters(center, sectors, r)).collect();
        let is_covered = |k: usize| covered.get(k).copied().unwrap_or(true);
        let mut turn = vec![None; count];
        let mut spans = Vec::new();
        // A component starts at a turn whose predecessor is covered or cut off by a wall.
        for start in 0..count {
            let before = (start + count - 1) % count;
            let cut = wall.get(start).copied().unwrap_or(false);
            if is_covered(start) || !(is_covered(before) || cut) {
                continue;
            }
            let component = spans.len();
            let mut k = start;
            loop {
                if let Some(t) = turn.get_mut(k) {
                    *t = Some(component);
                }
                k = (k + 1) % count;
                if k == start || is_covered(k) || wall.get(k).copied().unwrap_or(false) {
                    break;
                }
            }
            spans.push((start, k));
        }
        let seams = (0..count)
            .filter(|&k| {
                ray_free.get(k).copied().unwrap_or(false)
                    && is_covered(k)
                    && is_covered((k + count - 1) % count)
            })
            .count();
        Fan {
            center: *center,
            contact,
            rays,
            turn,
            spans,
            seams,
        }
    }

    /// The components whose closed turn contains the direction `center → d` (at most two,
    /// two only along a wall without thickness). Seams count only where contact can be passed,
    /// and are then no component of this list.
    fn components(&self, d: &Point2<f64>) -> [Option<usize>; 2] {
        let count = self.rays.len();
        if count == 0 {
            return [Some(0), None];
        }
        let turn = |k: usize| self.turn.get(k).copied().flatten();
        match self
            .rays
            .binary_search_by(|r| compare_angle(&self.center, r, d))
        {
            Ok(k) => [turn((k + count - 1) % count), turn(k)],
            Err(k) => [turn((k + count - 1) % count), None],
        }
    }

    /// Whether any direction at all leads away from here.
    pub fn has_exit(&self) -> bool {
        self.rays.is_empty()
            || !self.spans.is_empty()
            || (self.contact == Contact::Passable && self.seams > 0)
    }

    /// The free turn wider than a half turn, as a blocked complement: `Some(Some(sector))`
    /// is the obstacles' share there, `Some(None)` that there is nothing.
    fn wide_component(&self) -> Option<usize> {
        self.spans.iter().position(|&(start, end)| {
            start == end
                || match (self.rays.get(start), self.rays.get(end)) {
                    (Some(a), Some(b)) => orient2d(&self.center, a, b) == Orientation::Right,
                    _ => false,
                }
        })
    }

    /// Whether a shortest path can turn here, and if so by which directions it may come
    /// and go: `None` if never, else the blocked complement (see [`Corner`]).
    pub fn corner(&self) -> Option<Corner> {
        match self.contact {
            Contact::Passable => {
                let several = self.spans.len() + self.seams > 1;
                (several || self.wide_component().is_some()).then_some(Corner { blocked: None })
            }
            Contact::Blocked => {
                let wide = self.wide_component()?;
                let &(start, end) = self.spans.get(wide)?;
                let (from, to) = (*self.rays.get(end)?, *self.rays.get(start)?);
                Some(Corner {
                    blocked: Some(Sector { from, to }),
                })
            }
        }
    }

    /// How a taut path can go through here: `None` if no straight or convex way does.
    pub fn turn(&self) -> Option<Turn> {
        if self.contact == Contact::Passable && self.spans.len() + self.seams > 1 {
            return Some(Turn::Any);
        }
        self.spans
            .iter()
            .filter_map(|&(start, end)| Some((*self.rays.get(start)?, *self.rays.get(end)?)))
            .find(|(a, b)| {
                // At least a half turn of free directions from `a` to `b`.
                orient2d(&self.center, a, b) != Orientation::Left
                    || same_direction(&self.center, a, b)
            })
            .map(|(a, b)| {
                if same_direction(&self.center, &a, &b) {
                    Turn::Any
                } else {
                    Turn::Around(Sector { from: b, to: a })
                }
            })
    }
}

/// Corner and turn of a point with a single sector: what its [`Fan`] says, at once. `None` if
/// the sector is a wall.
pub(crate) fn simple_vertex(
    center: &Point2<f64>,
    sector: &Sector,
    contact: Contact,
) -> Option<(Option<Corner>, Option<Turn>)> {
    let turn = Some(Turn::Around(*sector));
    match orient2d(center, &sector.to, &sector.from) {
        Orientation::Left => Some((None, None)),
        Orientation::Right => {
            let blocked = (contact == Contact::Blocked).then_some(*sector);
            Some((Some(Corner { blocked }), turn))
        }
        Orientation::Collinear if sector.is_wall(center) => None,
        Orientation::Collinear => Some((None, turn)),
    }
}

/// A vertex in which shortest paths can turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corner {
    /// Where contact blocks: everything but the one free turn that is wider than a half
    /// turn (a path that came in through another one cannot go on from there). `None`
    /// where contact can be passed: there the sectors alone decide.
    pub blocked: Option<Sector>,
}

impl Corner {
    /// Whether a path that turns in this corner may use the direction `center → d`,
    /// given that the direction leads into no interior.
    #[inline]
    pub fn admits(&self, center: &Point2<f64>, d: &Point2<f64>) -> bool {
        match &self.blocked {
            None => true,
            Some(s) if s.is_wall(center) => true,
            Some(s) => !in_open_sector(center, &s.from, &s.to, d),
        }
    }
}

/// How a taut path can go through a vertex.
///
/// A path that is pulled taut touches the obstacle in every vertex that it goes
/// through: it neither comes from where the obstacle is nor straight at it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Turn {
    /// Around this blocked sector, of a half turn at most.
    Around(Sector),
    /// By any free direction: the tip of a wall, or a contact that can be passed.
    Any,
}

impl Turn {
    /// Whether a taut path through `center` can come or go along `center → d`.
    #[inline]
    pub fn is_taut(&self, center: &Point2<f64>, d: &Point2<f64>) -> bool {
        self.side(center, d) == Side::Tangent
    }

    /// Where the direction `center → d` leads.
    #[inline]
    pub fn side(&self, center: &Point2<f64>, d: &Point2<f64>) -> Side {
        use Orientation::{Collinear, Left, Right};
        let Turn::Around(sector) = self else {
            return Side::Tangent;
        };
        let from = orient2d(center, &sector.from, d);
        let to = orient2d(center, &sector.to, d);
        match (from, to) {
            (Left, Right) => Side::Obstacle,
            (Right, Left) => Side::Opposite,
            (Collinear, _) | (_, Collinear) | (Left, Left) | (Right, Right) => Side::Tangent,
        }
    }
}

/// Where a direction leads as seen from a [`Turn`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Where taut paths come and go.
    Tangent,
    /// Strictly into the blocked sector.
    Obstacle,
    /// Strictly into the sector opposite to it: a path from there runs straight at it.
    Opposite,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(x: f64, y: f64) -> Point2<f64> {
        Point2::new(x, y)
    }

    const O: Point2<f64> = Point2::new(0.0, 0.0);

    fn sector(from: Point2<f64>, to: Point2<f64>) -> Sector {
        Sector { from, to }
    }

    #[test]
    fn one_convex_corner() {
        let s = [sector(p(1.0, 0.0), p(0.0, 1.0))];
        for contact in [Contact::Blocked, Contact::Passable] {
            let fan = Fan::new(&O, &s, contact);
            let corner = fan.corner().expect("free turn of 270 degrees");
            assert!(corner.admits(&O, &p(1.0, 0.0)));
            assert!(passes(&O, &s, contact, &p(-1.0, 1.0), &p(1.0, -1.0)));
            assert!(passes(&O, &s, contact, &p(1.0, 0.0), &p(0.0, 1.0)));
            assert!(!passes(&O, &s, contact, &p(1.0, 1.0), &p(-1.0, -1.0)));
        }
    }

    #[test]
    fn shared_corner() {
        // North-east and south-west quadrants.
        let s = [
            sector(p(1.0, 0.0), p(0.0, 1.0)),
            sector(p(-1.0, 0.0), p(0.0, -1.0)),
        ];
        let (nw, se) = (p(-1.0, 1.0), p(1.0, -1.0));
        assert!(passes(&O, &s, Contact::Passable, &nw, &se));
        assert!(!passes(&O, &s, Contact::Blocked, &nw, &se));
        assert!(passes(&O, &s, Contact::Blocked, &nw, &p(-1.0, 0.0)));
        assert!(Fan::new(&O, &s, Contact::Passable).corner().is_some());
        assert!(Fan::new(&O, &s, Contact::Blocked).corner().is_none());
        assert!(leaves(&O, &s, Contact::Blocked, &nw));
    }

    #[test]
    fn seam_end() {
        // Two quadrants side by side below a line.
        let s = [
            sector(p(-1.0, 0.0), p(0.0, -1.0)),
            sector(p(0.0, -1.0), p(1.0, 0.0)),
        ];
        let south = p(0.0, -1.0);
        assert!(passes(&O, &s, Contact::Passable, &p(0.0, 1.0), &south));
        assert!(!passes(&O, &s, Contact::Blocked, &p(0.0, 1.0), &south));
        assert!(!leaves(&O, &s, Contact::Blocked, &south));
        assert!(Fan::new(&O, &s, Contact::Passable).corner().is_some());
        assert!(Fan::new(&O, &s, Contact::Blocked).corner().is_none());
    }

    #[test]
    fn seam_inside() {
        let s = [
            sector(p(0.0, 1.0), p(0.0, -1.0)),
            sector(p(0.0, -1.0), p(0.0, 1.0)),
        ];
        assert!(passes(
            &O,
            &s,
            Contact::Passable,
            &p(0.0, 1.0),
            &p(0.0, -1.0)
        ));
        assert!(!leaves(&O, &s, Contact::Blocked, &p(0.0, 1.0)));
        assert!(!Fan::new(&O, &s, Contact::Blocked).has_exit());
        assert!(Fan::new(&O, &s, Contact::Passable).has_exit());
    }

    #[test]
    fn single_sectors_are_what_their_fans_say() {
        let ring = [
            p(1.0, 0.0),
            p(2.0, 1.0),
            p(0.0, 3.0),
            p(-1.0, 1.0),
            p(-1.0, 0.0),
            p(-1.0, -1.0),
            p(0.0, -2.0),
            p(2.0, -2.0),
        ];
        for from in ring {
            for to in ring {
                for contact in [Contact::Blocked, Contact::Passable] {
                    let fan = Fan::new(&O, &[sector(from, to)], contact);
                    let simple = simple_vertex(&O, &sector(from, to), contact);
                    if from == to {
                        assert_eq!(simple, None);
                    } else {
                        assert_eq!(simple, Some((fan.corner(), fan.turn())), "{from} {to}");
                    }
                }
            }
        }
    }

    #[test]
    fn wall_tip_and_wall_foot() {
        let tip = [sector(p(0.0, -1.0), p(0.0, -1.0))];
        let fan = Fan::new(&O, &tip, Contact::Blocked);
        let corner = fan.corner().expect("the tip of a wall");
        assert!(corner.admits(&O, &p(0.0, -1.0)));
        assert!(passes(
            &O,
            &tip,
            Contact::Blocked,
            &p(-1.0, 0.0),
            &p(1.0, 0.0)
        ));
        // A wall that stands on the obstacle below the x axis cuts the free half plane in two.
        let foot = [
            sector(p(-1.0, 0.0), p(1.0, 0.0)),
            sector(p(0.0, 1.0), p(0.0, 1.0)),
        ];
        assert!(!passes(
            &O,
            &foot,
            Contact::Blocked,
            &p(-1.0, 0.0),
            &p(1.0, 0.0)
        ));
        assert!(passes(
            &O,
            &foot,
            Contact::Blocked,
            &p(-1.0, 0.0),
            &p(0.0, 1.0)
        ));
        assert!(passes(
            &O,
            &foot,
            Contact::Blocked,
            &p(1.0, 0.0),
            &p(0.0, 1.0)
        ));
    }
}
