//! The way of a redundant arm through its null space: which of the postures that keep the tip on
//! its path leads all the way.
//!
//! The path is cut into layers. A node is a configuration on a layer; from each the arm may go on to
//! the next layer as it is or with a push to either side of the null space, or move in the null space
//! where it is. Nodes of a layer that nearly coincide are one. The search is best-first by joint
//! motion so far and what is left at the usual rate (weighted A* \[Pohl1970\]); coarse layers come
//! first. What is found is straightened (as few bends in the null space as the limits allow) and then
//! walked exactly.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::follow::{distance, Trail, Walker};
use super::guide::Guide;
use super::BreakCause;
use crate::kinematics::{residual, Pose};

/// How finely to search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    /// Spacing of the layers \[m\], \[rad\].
    pub step: (f64, f64),
    /// Push in the null space: largest move of one joint \[rad or m\].
    pub push: f64,
    /// Most nodes.
    pub nodes: usize,
}

impl Grid {
    /// With at most so many nodes.
    pub(super) fn within(self, nodes: usize) -> Grid {
        Grid {
            nodes: self.nodes.min(nodes),
            ..self
        }
    }
}

/// Coarse to fine.
pub(super) const GRIDS: [Grid; 3] = [
    Grid {
        step: (0.04, 0.2),
        push: 0.2,
        nodes: 8_000,
    },
    Grid {
        step: (0.015, 0.08),
        push: 0.1,
        nodes: 40_000,
    },
    Grid {
        step: (0.006, 0.03),
        push: 0.05,
        nodes: 120_000,
    },
];

/// Weight of what is left in the order of the search: above one for speed over least motion.
const GREED: f64 = 1.5;

/// Cost of motion in the null space while the tip stands, relative to other motion: it is avoided.
const STANDING: f64 = 1.5;

/// Iterations that a node may take: the guesses are close.
const ITERATIONS: u32 = 8;

/// Largest move of one joint between layers for which a straight line is believed \[rad or m\].
const LEAP: f64 = 0.4;

/// How far the tip may leave its path half-way between nodes: so much \[m\], \[rad\] for each square of the
/// largest joint move \[rad²\], as the bend of a chain lets it, and a little more. A leap to another branch
/// swings it farther.
const SWING: (f64, f64) = (0.3, 1.0);
const SWING_LEAST: (f64, f64) = (2e-3, 1e-2);

/// What a search found.
pub(super) struct Found {
    /// Fractions and configurations from the start to the farthest layer reached.
    pub nodes: Vec<(f64, Vec<f64>)>,
    /// Whether that is the last one.
    pub complete: bool,
    /// How many nodes there were.
    pub looked_at: usize,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    layer: u32,
    parent: u32,
    cost: f64,
    closed: bool,
}

/// In a heap the greatest comes first: least estimate, then the older node.
#[derive(PartialEq)]
struct Open {
    estimate: f64,
    node: u32,
}

impl Eq for Open {}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .estimate
            .total_cmp(&self.estimate)
            .then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// One search on one grid.
pub(super) struct NullSearch<'w, 'a> {
    walker: &'w mut Walker<'a>,
    grid: Grid,
    /// Fractions of the layers.
    layers: Vec<f64>,
    dof: usize,
    /// Parts of the pose that count.
    rows: usize,
    nodes: Vec<Node>,
    /// Configurations of the nodes, one after the other.
    values: Vec<f64>,
    by_layer: Vec<Vec<u32>>,
    open: BinaryHeap<Open>,
    /// Joint motion that a layer usually takes.
    rate: f64,
    deepest: u32,
    refused: &'w [Refused],
}

/// A transition that looked like a continuous motion and is none.
#[derive(Debug, Clone)]
pub(super) struct Refused {
    /// Fraction and configuration where it begins and where it ends.
    pub from: (f64, Vec<f64>),
    pub to: (f64, Vec<f64>),
}

impl<'w, 'a> NullSearch<'w, 'a> {
    /// `rate`: joint motion of the whole path, as far as known.
    pub(super) fn new(
        walker: &'w mut Walker<'a>,
        grid: Grid,
        start: &[f64],
        rate: f64,
        refused: &'w [Refused],
    ) -> Self {
        let layers = layers(walker.guide, grid.step);
        let count = layers.len().max(2) - 1;
        let mut search = NullSearch {
            dof: start.len(),
            rows: walker.tracker.goal().rows(),
            grid,
            by_layer: vec![Vec::new(); layers.len()],
            layers,
            nodes: Vec::new(),
            values: Vec::new(),
            open: BinaryHeap::new(),
            rate: rate / count as f64,
            deepest: 0,
            refused,
            walker,
        };
        search.offer(0, start, u32::MAX, 0.0);
        search
    }

    fn q(&self, node: u32) -> &[f64] {
        let begin = node as usize * self.dof;
        self.values.get(begin..begin + self.dof).unwrap_or(&[])
    }

    /// Takes a configuration as a node, unless there is one as good.
    fn offer(&mut self, layer: usize, q: &[f64], parent: u32, cost: f64) {
        let radius = 0.5 * self.grid.push;
        let same = self.by_layer.get(layer).and_then(|nodes| {
            nodes.iter().copied().find(|&node| {
                let values = self.q(node).iter().zip(q);
                values.into_iter().all(|(a, b)| (a - b).abs() < radius)
            })
        });
        let left = self.layers.len().saturating_sub(layer + 1) as f64;
        let estimate = cost + GREED * self.rate * left;
        let node = match same {
            Some(node) => {
                let begin = node as usize * self.dof;
                match self.nodes.get_mut(node as usize) {
                    Some(known) if !known.closed && cost < known.cost => {
                        known.cost = cost;
                        known.parent = parent;
                    }
                    _ => return,
                }
                if let Some(values) = self.values.get_mut(begin..begin + self.dof) {
                    values.copy_from_slice(q);
                }
                node
            }
            None => {
                let node = self.nodes.len() as u32;
                self.nodes.push(Node {
                    layer: layer as u32,
                    parent,
                    cost,
                    closed: false,
                });
                self.values.extend_from_slice(q);
                if let Some(nodes) = self.by_layer.get_mut(layer) {
                    nodes.push(node);
                }
                node
            }
        };
        self.open.push(Open { estimate, node });
    }

    /// Searches on until the last layer is reached, or no node or time is left.
    pub(super) fn run(&mut self) -> Found {
        let last = self.layers.len().saturating_sub(1) as u32;
        let mut pushes = Vec::new();
        while let Some(Open { node, .. }) = self.open.pop() {
            let Some(known) = self.nodes.get_mut(node as usize) else {
                continue;
            };
            if known.closed {
                continue;
            }
            known.closed = true;
            let Node { layer, cost, .. } = *known;
            let q = self.q(node).to_vec();
            if !self.is_free(&q) {
                continue;
            }
            let best = self.nodes.get(self.deepest as usize);
            if best.is_none_or(|best| layer > best.layer) {
                self.deepest = node;
            }
            if layer == last {
                return self.found(node, true);
            }
            if self.nodes.len() >= self.grid.nodes || self.walker.gives_up() {
                break;
            }
            self.pushes(&q, &mut pushes);
            let here = layer as usize;
            self.try_move(node, &q, cost, here, here + 1, None);
            for push in &pushes {
                self.try_move(node, &q, cost, here, here + 1, Some(push));
                self.try_move(node, &q, cost, here, here, Some(push));
            }
        }
        self.found(self.deepest, false)
    }

    /// Motions in the null space at `q`, both ways each.
    fn pushes(&mut self, q: &[f64], pushes: &mut Vec<Vec<f64>>) {
        pushes.clear();
        self.walker
            .tracker
            .aim(&crate::kinematics::Pose::identity());
        let redundancy = self.dof.saturating_sub(self.rows);
        // One direction leads along a one-dimensional null space, whichever wish it is from.
        let wishes = if redundancy == 1 { 1 } else { self.dof };
        for number in 0..self.dof {
            if pushes.len() >= 2 * wishes {
                break;
            }
            let mut push = vec![0.0; self.dof];
            if let Some(part) = push.get_mut(self.dof - 1 - number) {
                *part = 1.0;
            }
            self.walker.tracker.project_to_null_space(q, &mut push);
            let largest = push.iter().fold(0.0_f64, |most, part| most.max(part.abs()));
            // A joint that hardly takes part gives a poor direction.
            if !(largest > 0.02 && largest.is_finite()) {
                continue;
            }
            let scale = self.grid.push / largest;
            push.iter_mut().for_each(|part| *part *= scale);
            let back = push.iter().map(|part| -part).collect();
            pushes.push(push);
            pushes.push(back);
        }
    }

    fn try_move(
        &mut self,
        node: u32,
        q: &[f64],
        cost: f64,
        from: usize,
        to: usize,
        push: Option<&Vec<f64>>,
    ) {
        let (Some(&begin), Some(&end)) = (self.layers.get(from), self.layers.get(to)) else {
            return;
        };
        let mut next = q.to_vec();
        if let Some(push) = push {
            next.iter_mut().zip(push).for_each(|(q, part)| *q += part);
        }
        if !link(self.walker, (begin, q), end, &mut next) {
            return;
        }
        let radius = 0.5 * self.grid.push;
        let is = |known: &(f64, Vec<f64>), u: f64, q: &[f64]| {
            known.0 == u && known.1.iter().zip(q).all(|(a, b)| (a - b).abs() < radius)
        };
        if self
            .refused
            .iter()
            .any(|refused| is(&refused.from, begin, q) && is(&refused.to, end, &next))
        {
            return;
        }
        let way = distance(q, &next);
        let way = if from == to { STANDING * way } else { way };
        self.offer(to, &next, node, cost + way);
    }

    fn is_free(&mut self, q: &[f64]) -> bool {
        is_free(self.walker, q)
    }

    fn found(&self, end: u32, complete: bool) -> Found {
        let mut nodes = Vec::new();
        let mut node = end;
        while let Some(known) = self.nodes.get(node as usize) {
            let u = self.layers.get(known.layer as usize).copied();
            nodes.push((u.unwrap_or(0.0), self.q(node).to_vec()));
            node = known.parent;
        }
        nodes.reverse();
        Found {
            nodes,
            complete,
            looked_at: self.nodes.len(),
        }
    }
}

fn is_free(walker: &mut Walker<'_>, q: &[f64]) -> bool {
    let free = walker
        .checker
        .as_mut()
        .is_none_or(|checker| matches!(checker.is_free(q), Ok(true)));
    free && walker.ik.accept.is_none_or(|accept| accept(q))
}

/// Settles `next` (a guess) at the fraction `end`; whether the straight line there from `q` at `begin` looks
/// like a continuous motion.
fn link(walker: &mut Walker<'_>, (begin, q): (f64, &[f64]), end: f64, next: &mut [f64]) -> bool {
    walker.tracker.aim(&walker.guide.pose(end));
    if !walker.tracker.settle_within(walker.chain, next, ITERATIONS) {
        return false;
    }
    if !q
        .iter()
        .zip(next.iter())
        .all(|(a, b)| (a - b).abs() <= LEAP)
    {
        return false;
    }
    let middle: Vec<f64> = q
        .iter()
        .zip(next.iter())
        .map(|(a, b)| 0.5 * (a + b))
        .collect();
    walker.tracker.aim(&walker.guide.pose(0.5 * (begin + end)));
    let off = walker.tracker.off(&middle);
    let largest = q
        .iter()
        .zip(next.iter())
        .fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
    let square = largest * largest;
    off.position <= SWING.0 * square + SWING_LEAST.0
        && off.orientation <= SWING.1 * square + SWING_LEAST.1
}

/// Fractions as far apart as the spacing \[m\], \[rad\] allows, out of those of a guide's samples.
fn layers(guide: &dyn Guide, step: (f64, f64)) -> Vec<f64> {
    let (samples, _) = guide.samples(step.0, step.1);
    let mut layers: Vec<f64> = Vec::new();
    let mut kept: Option<Pose> = None;
    let mut before: Option<f64> = None;
    for &u in &samples {
        let far = kept.is_none_or(|kept| {
            let off = residual(&kept, &guide.pose(u));
            off.position > 1.001 * step.0 || off.orientation > 1.001 * step.1
        });
        if far {
            let layer = before.unwrap_or(u);
            if layers.last() != Some(&layer) {
                layers.push(layer);
            }
            kept = Some(guide.pose(layer));
        }
        before = Some(u);
    }
    if let Some(&last) = samples.last() {
        if layers.last() != Some(&last) {
            layers.push(last);
        }
    }
    layers
}

/// Leaves out nodes as long as the arm can go straight from one to a later one: fewer bends, no standing.
pub(super) fn straighten(
    walker: &mut Walker<'_>,
    nodes: &[(f64, Vec<f64>)],
) -> Vec<(f64, Vec<f64>)> {
    let mut kept: Vec<(f64, Vec<f64>)> = Vec::new();
    let Some(first) = nodes.first() else {
        return kept;
    };
    kept.push(first.clone());
    let mut at = 0;
    while at + 1 < nodes.len() {
        let mut reach = at + 1;
        let mut hop = nodes.len() - 1 - at;
        while hop > 1 {
            if chord(walker, nodes, at, at + hop) {
                reach = at + hop;
                break;
            }
            hop /= 2;
        }
        kept.extend(nodes.get(reach).cloned());
        at = reach;
    }
    kept
}

/// Whether the arm can go from one node to a later one straight in joint space but for the tip's path.
fn chord(walker: &mut Walker<'_>, nodes: &[(f64, Vec<f64>)], from: usize, to: usize) -> bool {
    let (Some((begin, a)), Some((end, b))) = (nodes.get(from), nodes.get(to)) else {
        return false;
    };
    if end <= begin {
        return false;
    }
    let mut last = a.clone();
    let mut reached = *begin;
    for (u, _) in nodes.get(from + 1..=to).unwrap_or(&[]) {
        if *u <= reached {
            continue;
        }
        let part = (u - begin) / (end - begin);
        let mut next: Vec<f64> = a.iter().zip(b).map(|(a, b)| a + (b - a) * part).collect();
        if !link(walker, (reached, &last), *u, &mut next) || !is_free(walker, &next) {
            return false;
        }
        last = next;
        reached = *u;
    }
    true
}

/// Why and where a search that did not reach the end broke: walks to its farthest node, and on from there.
pub(super) fn walk_on(
    walker: &mut Walker<'_>,
    samples: &[f64],
    nodes: &[(f64, Vec<f64>)],
    start: &[f64],
) -> (Trail, Result<(), (f64, BreakCause)>) {
    let mut trail = Trail::from(start);
    let outcome = walker
        .along(samples, nodes, &mut trail)
        .and_then(|()| walker.go(samples, None, &mut trail))
        .map_err(|broken| (broken.fraction, broken.cause));
    (trail, outcome)
}
