//! Shortest paths in a weighted graph: Dijkstra \[Dijkstra1959\] and A* \[Hart1968\].
//!
//! Ties are broken by the node's number, so the same graph always gives the
//! same path.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Edges in flat arrays: node `i` reaches `targets[start[i]..start[i + 1]]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Adjacency {
    start: Vec<u32>,
    targets: Vec<u32>,
    weights: Vec<f64>,
}

impl Adjacency {
    /// Undirected edges among `count` nodes with their lengths.
    pub fn new(count: usize, edges: &[[u32; 2]], weight: impl Fn(u32, u32) -> f64) -> Self {
        let mut start = vec![0u32; count + 1];
        for end in edges.iter().flatten() {
            start[*end as usize + 1] += 1;
        }
        for k in 1..start.len() {
            start[k] += start[k - 1];
        }
        let mut fill = start.clone();
        let mut targets = vec![0; edges.len() * 2];
        let mut weights = vec![0.0; edges.len() * 2];
        for &[a, b] in edges {
            let w = weight(a, b);
            for (from, to) in [(a, b), (b, a)] {
                let at = fill[from as usize] as usize;
                targets[at] = to;
                weights[at] = w;
                fill[from as usize] += 1;
            }
        }
        Adjacency {
            start,
            targets,
            weights,
        }
    }

    /// No nodes yet: for [`Adjacency::push`] and [`Adjacency::end_node`].
    pub(crate) fn with_capacity(nodes: usize, ends: usize) -> Self {
        let mut start = Vec::with_capacity(nodes + 1);
        start.push(0);
        Adjacency {
            start,
            targets: Vec::with_capacity(ends),
            weights: Vec::with_capacity(ends),
        }
    }

    /// One more neighbour of the node that is being put together, in ascending order.
    #[inline]
    pub(crate) fn push(&mut self, target: u32, weight: f64) {
        self.targets.push(target);
        self.weights.push(weight);
    }

    /// The next node's neighbours follow.
    #[inline]
    pub(crate) fn end_node(&mut self) {
        self.start.push(self.targets.len() as u32);
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Number of undirected edges.
    pub fn edge_count(&self) -> usize {
        self.targets.len() / 2
    }

    /// Neighbours of a node with the edges' lengths.
    pub fn neighbours(&self, node: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let (from, to) = match self.start.get(node as usize..node as usize + 2) {
            Some(&[from, to]) => (from as usize, to as usize),
            _ => (0, 0),
        };
        self.targets[from..to]
            .iter()
            .copied()
            .zip(self.weights[from..to].iter().copied())
    }

    /// Every undirected edge once, smaller node first.
    pub fn edges(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        (0..self.node_count() as u32).flat_map(|i| {
            self.neighbours(i)
                .filter(move |(j, _)| i < *j)
                .map(move |(j, _)| [i, j])
        })
    }
}

/// Anything that knows the neighbours of its nodes.
pub trait Graph {
    /// Number of nodes.
    fn node_count(&self) -> usize;

    /// Calls `f` with every neighbour of a node and the distance.
    fn for_each_neighbour(&mut self, node: u32, f: impl FnMut(u32, f64));
}

impl Graph for &Adjacency {
    fn node_count(&self) -> usize {
        Adjacency::node_count(self)
    }

    fn for_each_neighbour(&mut self, node: u32, mut f: impl FnMut(u32, f64)) {
        self.neighbours(node).for_each(|(n, w)| f(n, w));
    }
}

/// Which algorithm searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Search {
    /// Guided by the straight distance to the goal.
    #[default]
    AStar,
    /// In the order of the distance from the start.
    Dijkstra,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Nodes between start and goal, in order (start and goal are not among them).
    pub nodes: Vec<u32>,
    /// Length of the path.
    pub length: f64,
    /// Number of nodes that were taken up.
    pub expanded: usize,
}

#[derive(Debug, PartialEq)]
struct Entry {
    estimate: f64,
    reached: f64,
    node: u32,
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        // The heap's top is its greatest entry: the smallest estimate, of equal ones the one
        // that has come farthest.
        other
            .estimate
            .total_cmp(&self.estimate)
            .then(self.reached.total_cmp(&other.reached))
            .then(other.node.cmp(&self.node))
    }
}

/// Searches from a start that reaches the nodes `from` to a goal that is reached from the
/// nodes `to` (each with the distance). `remaining` is the straight distance from a node to
/// the goal.
pub fn shortest(
    mut graph: impl Graph,
    search: Search,
    from: &[(u32, f64)],
    to: &[(u32, f64)],
    remaining: impl Fn(u32) -> f64,
) -> Option<Found> {
    let count = graph.node_count();
    let goal = count as u32;
    let mut best = vec![f64::INFINITY; count + 1];
    let mut came_from = vec![u32::MAX; count + 1];
    let mut to_goal = vec![f64::INFINITY; count];
    for &(node, distance) in to {
        to_goal[node as usize] = distance;
    }
    let estimate = |node: u32, reached: f64| match search {
        Search::Dijkstra => reached,
        Search::AStar if node == goal => reached,
        Search::AStar => reached + remaining(node),
    };
    let mut heap = BinaryHeap::new();
    for &(node, reached) in from {
        if reached < best[node as usize] {
            best[node as usize] = reached;
            heap.push(Entry {
                estimate: estimate(node, reached),
                reached,
                node,
            });
        }
    }
    let mut expanded = 0;
    while let Some(Entry { reached, node, .. }) = heap.pop() {
        if reached > best[node as usize] {
            continue;
        }
        if node == goal {
            let mut nodes = Vec::new();
            let mut at = came_from[goal as usize];
            while at != u32::MAX {
                nodes.push(at);
                at = came_from[at as usize];
            }
            nodes.reverse();
            return Some(Found {
                nodes,
                length: reached,
                expanded,
            });
        }
        expanded += 1;
        let mut reach = |next: u32, weight: f64| {
            let reached = reached + weight;
            if reached < best[next as usize] {
                best[next as usize] = reached;
                came_from[next as usize] = node;
                heap.push(Entry {
                    estimate: estimate(next, reached),
                    reached,
                    node: next,
                });
            }
        };
        graph.for_each_neighbour(node, &mut reach);
        if to_goal[node as usize].is_finite() {
            reach(goal, to_goal[node as usize]);
        }
    }
    None
}
