//! The way of a redundant arm through its null space: which of the postures that keep the tip on
//! its path leads all the way.
//!
//! The path is cut into layers. A node is a configuration on a layer. Each goes on to the next layer as it
//! is first, and moves in the null space where it is only when nothing that goes on looks better: the
//! null space of one spare joint is a curve, which is followed by steps as long as its bend allows. Nodes
//! of a layer that nearly coincide are one. The search is best-first by joint motion so far and what is
//! left at the usual rate (weighted A* \[Pohl1970\]). Where it ends, it is repeated on finer grids
//! from shortly before that place. What is found is straightened (as few bends in the null space as the
//! limits allow) and then walked exactly.
//!
//! One search in one file: nodes, moves, grids and straightening are of no use without each other.

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
    step: (f64, f64),
    /// Push in the null space: largest move of one joint \[rad or m\].
    push: f64,
}

/// One look at the whole path: the first grid everywhere, the finer ones from shortly before the place where
/// that ends.
pub(super) type Pass = [Grid; 3];

/// Layers and pushes of each look. The second one finds ways that open and close again between two layers
/// of the first.
pub(super) const PASSES: [Pass; 2] = [
    [COARSE, FINE, FINEST],
    [
        Grid {
            step: (0.02, 0.1),
            push: 0.2,
        },
        FINE,
        FINEST,
    ],
];
const COARSE: Grid = Grid {
    step: (0.04, 0.2),
    push: 0.2,
};
const FINE: Grid = Grid {
    step: (0.015, 0.08),
    push: 0.1,
};
const FINEST: Grid = Grid {
    step: (0.006, 0.03),
    push: 0.05,
};

/// Shortest step towards the next layer, as a share of the whole one.
const STEPS: f64 = 0.12;
const STEPS_FINE: f64 = 0.4;

/// How many lengths of motion in the null space are tried.
const ASIDE: usize = 4;

/// How far from where such a motion would lead straight on it may lead, as a share of it.
const BEND: f64 = 0.3;

/// Weight of what is left in the order of the search: above one for speed over least motion.
const GREED: f64 = 2.0;

/// Cost of motion in the null space while the tip stands, relative to other motion: it is avoided.
const STANDING: f64 = 1.5;

/// Iterations that a node may take: the guesses are close.
const ITERATIONS: u32 = 5;

/// Largest move of one joint between layers for which a straight line is believed \[rad or m\].
const LEAP: f64 = 0.4;

/// How far the tip may leave its path half-way between nodes: so much \[m\], \[rad\] for each square of the
/// largest joint move \[rad²\], as the bend of a chain lets it, and a little more. A leap to another branch
/// swings it farther.
const SWING: (f64, f64) = (0.3, 1.0);
const SWING_LEAST: (f64, f64) = (2e-3, 1e-2);

/// How far from the straight line between two nodes the way may lead half-way, as a share of the largest
/// joint move, and \[rad or m\] besides.
const ASTRAY: f64 = 0.2;
const ASTRAY_LEAST: f64 = 2e-3;

/// Joint motion \[rad\] that a layer takes at least, per metre and radian of the spacing: an estimate of
/// nothing would let the search spread to all sides.
const LEAST_RATE: (f64, f64) = (1.5, 0.5);

/// Nodes whose joints are this near to a limit \[rad or m\] cost more, up to that many usual layers' motion:
/// ways that hug a limit mostly end there.
const MARGIN: f64 = 0.3;
const HUGGING: f64 = 0.3;

/// Nodes nearer than this share of the push count as one.
const SAME: f64 = 0.5;
const SAME_AT_END: f64 = 0.1;

/// What a search found.
pub(super) struct Found {
    /// Fractions and configurations from the start to the farthest layer reached.
    pub nodes: Vec<(f64, Vec<f64>)>,
    /// Whether that is the last one.
    pub complete: bool,
    /// How many nodes there were.
    pub looked_at: usize,
}

/// How far a node has been dealt with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// Nothing was tried.
    Fresh,
    /// The way on to the next layer was tried.
    Ahead,
    /// The ways to both sides, too; or the arm meets something here.
    Closed,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    layer: u32,
    parent: u32,
    cost: f64,
    state: State,
    /// Whether it was found to be free of collisions.
    free: bool,
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
    finer: [Grid; 2],
    /// How many of those have been begun.
    refined: usize,
    /// Most nodes.
    most: usize,
    /// Fractions of the layers, and the tip's pose at each and half-way to the next.
    layers: Vec<f64>,
    poses: Vec<(Pose, Pose)>,
    dof: usize,
    /// Parts of the pose that count.
    rows: usize,
    nodes: Vec<Node>,
    /// Configurations of the nodes, one after the other.
    values: Vec<f64>,
    by_layer: Vec<Vec<u32>>,
    open: BinaryHeap<Open>,
    /// Joint motion that the whole path and a layer usually take.
    usual: f64,
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
    /// `usual`: joint motion of the whole path, as far as known; at most `most` nodes.
    pub(super) fn new(
        walker: &'w mut Walker<'a>,
        [grid, finer @ ..]: Pass,
        start: &[f64],
        usual: f64,
        most: usize,
        refused: &'w [Refused],
    ) -> Self {
        let layers = layers(walker.guide, grid.step);
        let count = layers.len().max(2) - 1;
        let least = LEAST_RATE.0 * grid.step.0 + LEAST_RATE.1 * grid.step.1;
        let usual = usual.max(least * count as f64);
        let mut search = NullSearch {
            dof: start.len(),
            rows: walker.tracker.goal().rows(),
            grid,
            finer,
            refined: 0,
            most,
            by_layer: vec![Vec::new(); layers.len()],
            poses: Vec::new(),
            layers: Vec::new(),
            nodes: Vec::new(),
            values: Vec::new(),
            open: BinaryHeap::new(),
            usual,
            rate: usual / count as f64,
            deepest: 0,
            refused,
            walker,
        };
        search.take_layers(layers);
        search.offer(0, start, 0.0, u32::MAX, 0.0);
        search
    }

    fn q(&self, node: u32) -> &[f64] {
        let begin = node as usize * self.dof;
        self.values.get(begin..begin + self.dof).unwrap_or(&[])
    }

    /// How near two configurations must be to count as one: at the end of a range the last bit counts.
    fn same(&self, q: &[f64]) -> f64 {
        let mut dofs = self.walker.chain.dofs.iter().zip(q);
        let at_end = dofs.any(|(dof, value)| *value <= dof.lower || *value >= dof.upper);
        self.grid.push * if at_end { SAME_AT_END } else { SAME }
    }

    fn estimate(&self, cost: f64, layer: usize) -> f64 {
        let left = self.layers.len().saturating_sub(layer + 1) as f64;
        cost + GREED * self.rate * left
    }

    /// What it costs that joints are near their limits, besides their motion.
    fn hugging(&self, q: &[f64]) -> f64 {
        let mut share = 0.0;
        for (dof, value) in self.walker.chain.dofs.iter().zip(q) {
            let margin = (value - dof.lower).min(dof.upper - value);
            share += (1.0 - margin / MARGIN).max(0.0);
        }
        HUGGING * self.rate * share
    }

    /// Takes a configuration as a node, unless there is one as good.
    fn offer(&mut self, layer: usize, q: &[f64], radius: f64, parent: u32, cost: f64) {
        let same = self.by_layer.get(layer).and_then(|nodes| {
            nodes.iter().copied().find(|&node| {
                let values = self.q(node).iter().zip(q);
                values.into_iter().all(|(a, b)| (a - b).abs() < radius)
            })
        });
        let node = match same {
            Some(node) => {
                let begin = node as usize * self.dof;
                match self.nodes.get_mut(node as usize) {
                    Some(known) if known.state == State::Fresh && cost < known.cost => {
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
                    state: State::Fresh,
                    free: false,
                });
                self.values.extend_from_slice(q);
                if let Some(nodes) = self.by_layer.get_mut(layer) {
                    nodes.push(node);
                }
                node
            }
        };
        let estimate = self.estimate(cost, layer);
        self.open.push(Open { estimate, node });
    }

    /// Searches until the last layer is reached, or no node or time is left; where the nodes run out, once more
    /// from shortly before that place, more finely.
    pub(super) fn run(&mut self) -> Found {
        let mut finer = self.finer.into_iter();
        loop {
            if let Some(end) = self.spread() {
                return self.found(end, true);
            }
            match finer.next() {
                Some(grid) if !self.is_over() => self.refine(grid),
                _ => return self.found(self.deepest, false),
            }
        }
    }

    fn is_over(&self) -> bool {
        self.nodes.len() >= self.most || self.walker.gives_up()
    }

    /// Begins again on a finer grid from the layer before the farthest one reached.
    fn refine(&mut self, grid: Grid) {
        let deepest = self.nodes.get(self.deepest as usize);
        let reached = deepest.map_or(0, |node| node.layer as usize);
        let from = reached.saturating_sub(1);
        let begin = self.layers.get(from).copied().unwrap_or(0.0);
        self.grid = grid;
        self.refined += 1;
        let kept = self.layers.iter().take(from + 1).copied();
        let fine = layers(self.walker.guide, grid.step);
        let layers: Vec<f64> = kept
            .chain(fine.into_iter().filter(|u| *u > begin))
            .collect();
        self.take_layers(layers);
        self.by_layer.truncate(from + 1);
        self.by_layer.resize(self.layers.len(), Vec::new());
        self.open.clear();
        let usual = self.usual * (1.0 - begin);
        self.rate = usual / (self.layers.len() - from).max(2) as f64;
        for index in 0..self.nodes.len() {
            let Some(node) = self.nodes.get_mut(index) else {
                continue;
            };
            if node.layer as usize > from {
                node.state = State::Closed;
            } else if node.layer as usize == from && node.free {
                node.state = State::Fresh;
                let (cost, node) = (node.cost, index as u32);
                let estimate = self.estimate(cost, from);
                self.deepest = node;
                self.open.push(Open { estimate, node });
            }
        }
    }

    fn take_layers(&mut self, layers: Vec<f64>) {
        let nexts = layers.iter().skip(1).chain(layers.last());
        let poses = layers.iter().zip(nexts).map(|(&here, &next)| {
            let middle = 0.5 * (here + next);
            (self.walker.guide.pose(here), self.walker.guide.pose(middle))
        });
        self.poses = poses.collect();
        self.layers = layers;
    }

    /// Takes node after node until one is on the last layer; `None` where they run out.
    fn spread(&mut self) -> Option<u32> {
        let last = self.layers.len().saturating_sub(1) as u32;
        while let Some(Open { node, .. }) = self.open.pop() {
            let Some(known) = self.nodes.get(node as usize) else {
                continue;
            };
            let Node {
                layer, cost, state, ..
            } = *known;
            let q = self.q(node).to_vec();
            let (here, next) = (layer as usize, layer as usize + 1);
            let done = match state {
                State::Closed => continue,
                State::Fresh if self.is_free(&q) => State::Ahead,
                _ => State::Closed,
            };
            if let Some(known) = self.nodes.get_mut(node as usize) {
                known.state = done;
                known.free |= done == State::Ahead;
            }
            match (state, done) {
                (State::Fresh, State::Ahead) => {
                    let best = self.nodes.get(self.deepest as usize);
                    if best.is_none_or(|best| layer > best.layer) {
                        self.deepest = node;
                    }
                    if layer == last {
                        return Some(node);
                    }
                    self.go_ahead(node, &q, cost, (here, next));
                    // To the sides only when nothing that goes on looks better.
                    let aside = cost + STANDING * self.grid.push;
                    let estimate = self.estimate(aside, here);
                    self.open.push(Open { estimate, node });
                }
                (State::Ahead, _) => {
                    for push in self.pushes(node, &q) {
                        self.go_aside(node, &q, cost, here, push);
                    }
                }
                _ => {}
            }
            if self.is_over() {
                return None;
            }
        }
        None
    }

    /// Motions in the null space at `q`: onwards where the node was reached by such a motion and there is but
    /// one direction, else both ways each.
    fn pushes(&mut self, node: u32, q: &[f64]) -> Vec<Vec<f64>> {
        let mut pushes: Vec<Vec<f64>> = Vec::new();
        let redundancy = self.dof.saturating_sub(self.rows);
        let parent = self.nodes.get(node as usize).and_then(|known| {
            let parent = self.nodes.get(known.parent as usize)?;
            (parent.layer == known.layer).then_some(known.parent)
        });
        if let (1, Some(parent)) = (redundancy, parent) {
            let way = q.iter().zip(self.q(parent)).map(|(q, from)| q - from);
            pushes.extend(self.push_along(q, way.collect()));
            return pushes;
        }
        // One direction leads along a one-dimensional null space, whichever wish it is from.
        let wishes = if redundancy == 1 { 1 } else { self.dof };
        for number in 0..self.dof {
            if pushes.len() >= 2 * wishes {
                break;
            }
            let mut wish = vec![0.0; self.dof];
            if let Some(part) = wish.get_mut(self.dof - 1 - number) {
                *part = 1.0;
            }
            if let Some(push) = self.push_along(q, wish) {
                let back = push.iter().map(|part| -part).collect();
                pushes.push(push);
                pushes.push(back);
            }
        }
        pushes
    }

    /// The motion in the null space at `q` that is nearest to a wish; `None` for a wish that leaves it.
    fn push_along(&mut self, q: &[f64], wish: Vec<f64>) -> Option<Vec<f64>> {
        let mut push = wish;
        let length = |push: &[f64]| push.iter().fold(0.0_f64, |most, part| most.max(part.abs()));
        let wished = length(&push);
        self.walker.tracker.project_to_null_space(q, &mut push);
        let largest = length(&push);
        // A joint that hardly takes part gives a poor direction.
        if !(largest > 0.02 * wished && largest.is_finite()) {
            return None;
        }
        let scale = self.grid.push / largest;
        push.iter_mut().for_each(|part| *part *= scale);
        Some(push)
    }

    /// On to the next layer, by shorter steps where the whole one fails.
    fn go_ahead(&mut self, node: u32, q: &[f64], cost: f64, (from, to): (usize, usize)) {
        let (Some(&begin), Some(&end)) = (self.layers.get(from), self.layers.get(to)) else {
            return;
        };
        let (Some((_, middle)), Some((target, _))) = (self.poses.get(from), self.poses.get(to))
        else {
            return;
        };
        let mut next = q.to_vec();
        if !link(self.walker, q, (middle, target), &mut next)
            && !self.in_steps((begin, q), end, &mut next)
        {
            return;
        }
        if self.is_refused((begin, q), (end, &next)) {
            return;
        }
        let way = distance(q, &next) + self.hugging(&next);
        let radius = self.same(&next);
        self.offer(to, &next, radius, node, cost + way);
    }

    fn in_steps(&mut self, (begin, q): (f64, &[f64]), end: f64, next: &mut [f64]) -> bool {
        let mut reached = begin;
        let mut last = q.to_vec();
        let mut step = 0.5 * (end - begin);
        let steps = if self.refined == 0 { STEPS } else { STEPS_FINE };
        let shortest = steps * (end - begin);
        while reached < end {
            let to = if end - reached <= 1.001 * step {
                end
            } else {
                reached + step
            };
            next.copy_from_slice(&last);
            let middle = self.walker.guide.pose(0.5 * (reached + to));
            let target = self.walker.guide.pose(to);
            if link(self.walker, &last, (&middle, &target), next) {
                last.copy_from_slice(next);
                reached = to;
            } else {
                step *= 0.5;
                if step < shortest {
                    return false;
                }
            }
        }
        true
    }

    /// Motion in the null space, by a shorter step where the whole one fails or bends too much.
    fn go_aside(&mut self, node: u32, q: &[f64], cost: f64, layer: usize, mut push: Vec<f64>) {
        let (Some(&u), Some((pose, _))) = (self.layers.get(layer), self.poses.get(layer)) else {
            return;
        };
        let pose = *pose;
        let mut length = self.grid.push;
        for left in (0..ASIDE).rev() {
            let guess: Vec<f64> = q.iter().zip(&push).map(|(q, part)| q + part).collect();
            let mut next = guess.clone();
            if link(self.walker, q, (&pose, &pose), &mut next) {
                let aside = guess.iter().zip(&next).map(|(a, b)| (a - b).abs());
                if left == 0 || aside.fold(0.0, f64::max) <= BEND * length {
                    if !self.is_refused((u, q), (u, &next)) {
                        let way = STANDING * distance(q, &next);
                        let radius = self.same(&next).min(SAME * length);
                        self.offer(layer, &next, radius, node, cost + way);
                    }
                    return;
                }
            }
            length *= 0.5;
            push.iter_mut().for_each(|part| *part *= 0.5);
        }
    }

    fn is_refused(&self, (begin, q): (f64, &[f64]), (end, next): (f64, &[f64])) -> bool {
        let is = |known: &(f64, Vec<f64>), u: f64, q: &[f64]| {
            let radius = SAME * self.grid.push;
            known.0 == u && known.1.iter().zip(q).all(|(a, b)| (a - b).abs() < radius)
        };
        let mut refused = self.refused.iter();
        refused.any(|refused| is(&refused.from, begin, q) && is(&refused.to, end, next))
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

/// Settles `next` (a guess) at the pose `target`; whether the straight line there from `q` looks like a
/// continuous motion, along which the tip passes `middle` half-way.
fn link(
    walker: &mut Walker<'_>,
    q: &[f64],
    (middle, target): (&Pose, &Pose),
    next: &mut [f64],
) -> bool {
    walker.rough.aim(target);
    if !walker.rough.settle_within(walker.chain, next, ITERATIONS) {
        return false;
    }
    let moves = q.iter().zip(next.iter()).map(|(a, b)| (a - b).abs());
    let largest = moves.fold(0.0, f64::max);
    if largest.is_nan() || largest > LEAP {
        return false;
    }
    let half: Vec<f64> = q
        .iter()
        .zip(next.iter())
        .map(|(a, b)| 0.5 * (a + b))
        .collect();
    walker.rough.aim(middle);
    let off = walker.rough.off(&half);
    let square = largest * largest;
    if !(off.position <= SWING.0 * square + SWING_LEAST.0
        && off.orientation <= SWING.1 * square + SWING_LEAST.1)
    {
        return false;
    }
    // Between two branches that lie close together the tip hardly leaves its path, but what meets the path
    // half-way lies on one of them, not in the middle.
    let mut settled = half.clone();
    if !walker
        .rough
        .settle_within(walker.chain, &mut settled, ITERATIONS)
    {
        return false;
    }
    let aside = half.iter().zip(&settled).map(|(a, b)| (a - b).abs());
    aside.fold(0.0, f64::max) <= ASTRAY * largest + ASTRAY_LEAST
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

/// Goes straight from nodes to later ones as far as the arm can: fewer bends, no standing. Given back are
/// configurations on all layers.
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
        let mut hop = nodes.len() - 1 - at;
        while hop > 1 {
            if let Some(chord) = chord(walker, nodes, at, at + hop) {
                kept.extend(chord);
                break;
            }
            hop /= 2;
        }
        if hop <= 1 {
            kept.extend(nodes.get(at + 1).cloned());
        }
        at += hop.max(1);
    }
    kept
}

/// Configurations after one node and up to a later one, where the arm can go from one to the other straight in
/// joint space but for the tip's path.
fn chord(
    walker: &mut Walker<'_>,
    nodes: &[(f64, Vec<f64>)],
    from: usize,
    to: usize,
) -> Option<Vec<(f64, Vec<f64>)>> {
    let ((begin, a), (end, b)) = (nodes.get(from)?, nodes.get(to)?);
    if end <= begin {
        return None;
    }
    let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
    for (u, _) in nodes.get(from + 1..=to)? {
        let (reached, last) = found.last().map_or((begin, a), |(u, q)| (u, q));
        if u <= reached {
            continue;
        }
        let part = (u - begin) / (end - begin);
        let mut next: Vec<f64> = a.iter().zip(b).map(|(a, b)| a + (b - a) * part).collect();
        let middle = walker.guide.pose(0.5 * (reached + u));
        let target = walker.guide.pose(*u);
        let free = link(walker, last, (&middle, &target), &mut next) && is_free(walker, &next);
        if !free {
            return None;
        }
        found.push((*u, next));
    }
    Some(found)
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
