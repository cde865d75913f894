//! How far a search has come, in buffers that are kept for the next one.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Mutex, PoisonError};

use nalgebra::Point2;

use crate::planar::gaze::Gaze;
use crate::planar::triangulation::SightStack;

use super::taut::NONE;

/// A node during one search.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    /// The search that it belongs to.
    pub stamp: u32,
    /// The node before; `NONE`: the start.
    pub parent: u32,
    /// Length of the way here.
    pub best: f64,
    /// Distance to the goal, if it is seen from here.
    pub to_goal: f64,
    /// Whether the way here is the shortest one.
    pub is_done: bool,
}

const UNKNOWN: State = State {
    stamp: 0,
    parent: NONE,
    best: f64::INFINITY,
    to_goal: f64::INFINITY,
    is_done: false,
};

#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub estimate: f64,
    pub reached: f64,
    pub node: u32,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        // The heap's top is its greatest entry: the smallest estimate, of equal ones the one
        // that has come farthest.
        match other.estimate.partial_cmp(&self.estimate) {
            Some(Ordering::Equal) | None => self
                .reached
                .total_cmp(&other.reached)
                .then(other.node.cmp(&self.node)),
            Some(order) => order,
        }
    }
}

/// The buffers of a search, kept for the next one.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub stamp: u32,
    pub states: Vec<State>,
    pub heap: BinaryHeap<Entry>,
    pub stack: SightStack,
    pub from_start: Gaze,
    pub from_goal: Gaze,
}

impl Scratch {
    /// Makes ready for a search among so many nodes, without touching them all.
    pub fn begin(&mut self, nodes: usize) {
        self.heap.clear();
        self.from_start.clear();
        self.from_goal.clear();
        self.states.resize(nodes, UNKNOWN);
        if self.stamp == u32::MAX {
            self.states.fill(UNKNOWN);
            self.stamp = 0;
        }
        self.stamp += 1;
    }
}

/// Buffers that no search uses at the moment: as many as searches ever ran at once.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<Vec<Scratch>>);

impl Pool {
    pub fn take(&self) -> Scratch {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pool.pop().unwrap_or_default()
    }

    pub fn give_back(&self, scratch: Scratch) {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pool.push(scratch);
    }
}

/// One search.
pub(super) struct Frontier<'a> {
    pub points: &'a [Point2<f64>],
    pub goal: Point2<f64>,
    pub stamp: u32,
    pub states: &'a mut [State],
    pub heap: &'a mut BinaryHeap<Entry>,
    /// Length of the best way to the goal so far, and the last node before it.
    pub best: f64,
    pub last: u32,
}

impl Frontier<'_> {
    #[inline]
    pub fn state(&mut self, node: u32) -> &mut State {
        let state = &mut self.states[node as usize];
        if state.stamp != self.stamp {
            *state = State {
                stamp: self.stamp,
                ..UNKNOWN
            };
        }
        state
    }

    /// The goal is seen from `node`.
    pub fn reach_goal(&mut self, node: u32, distance: f64) {
        let state = self.state(node);
        state.to_goal = distance;
        if state.is_done {
            let length = state.best + distance;
            self.arrive(node, length);
        }
    }

    /// A way to the goal by `node`.
    pub fn arrive(&mut self, node: u32, length: f64) {
        if length < self.best || length == self.best && node < self.last {
            (self.best, self.last) = (length, node);
        }
    }

    /// The next node by which a way could lead that is shorter than the best one, and not
    /// longer than `limit`.
    pub fn next_before(&mut self, limit: f64) -> Option<Entry> {
        let top = self.heap.peek()?;
        if top.estimate >= self.best || top.estimate > limit {
            return None;
        }
        self.heap.pop()
    }

    /// A way to `node` of length `reached`, unless `is_slack` says that it can be shortened.
    #[inline]
    pub fn reach(
        &mut self,
        node: u32,
        reached: f64,
        parent: u32,
        is_slack: impl FnOnce(&Point2<f64>) -> bool,
    ) {
        let point = self.points[node as usize];
        let state = self.state(node);
        if reached >= state.best || is_slack(&point) {
            return;
        }
        state.best = reached;
        state.parent = parent;
        let estimate = reached + (self.goal - point).norm();
        if estimate < self.best {
            self.heap.push(Entry {
                estimate,
                reached,
                node,
            });
        }
    }
}
