//! Outlines of parts put together to a world's: numbered along the Z-order curve,
//! or put into the place of others in a world that is already numbered.

use super::arrangement::{Arrangement, Edge, Vertex};
use super::order::z_order;
use super::parts::NONE;

/// What became of the vertices and edges of an arrangement when some of it was replaced.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes {
    /// The new number of every old vertex; `NONE` for those that went or whose surroundings
    /// changed. Numbers of those that stay keep their order.
    pub vertices: Vec<u32>,
    /// New numbers of vertices that came or whose surroundings changed, ascending.
    pub added: Vec<u32>,
    /// Edges that went (old vertices) and came (new vertices).
    pub removed_edges: Vec<[u32; 2]>,
    pub added_edges: Vec<[u32; 2]>,
    /// Edges that stay, but end at a vertex whose surroundings changed (new vertices).
    pub rejoined_edges: Vec<[u32; 2]>,
}

/// An arrangement that takes new parts in.
pub(crate) struct Spliced {
    pub arrangement: Arrangement,
    /// The part of every vertex.
    pub part_of: Vec<u32>,
    pub changes: Changes,
}

/// How the parts of the old arrangement are called in the new one.
pub(crate) struct Renamed<'a> {
    /// The part of every old vertex.
    pub part_of: &'a [u32],
    /// The new number of every old part; `NONE` if its outlines go.
    pub parts: &'a [u32],
    /// Whether the two below say anything new.
    pub has_moved: bool,
    /// The new number of an obstacle.
    pub obstacle: &'a dyn Fn(u32) -> u32,
    /// The new number of a body's edge.
    pub parent: &'a dyn Fn(u32) -> u32,
}

/// Leaves out what goes of `old` and takes the outlines `fresh` (with their parts' numbers) in.
pub(crate) fn splice(
    old: &Arrangement,
    renamed: &Renamed<'_>,
    fresh: Vec<(u32, Arrangement)>,
) -> Spliced {
    let mut came: Vec<(u128, u32, u32, Vertex)> = Vec::new();
    let mut new_edges: Vec<Edge> = Vec::new();
    for (part, outlines) in fresh {
        let first = came.len() as u32;
        for mut edge in outlines.edges {
            edge.ends = edge.ends.map(|v| v + first);
            new_edges.push(edge);
        }
        for vertex in outlines.vertices {
            let own = came.len() as u32;
            came.push((z_order(&vertex.point), own, part, vertex));
        }
    }
    came.sort_unstable_by_key(|c| (c.0, c.1));

    let stays = |v: usize| renamed.parts[renamed.part_of[v] as usize];
    let count = old.vertices.len() + came.len();
    let mut vertices: Vec<Vertex> = Vec::with_capacity(count);
    let mut part_of: Vec<u32> = Vec::with_capacity(count);
    // New numbers of the old ones, and of the fresh ones.
    let mut number = vec![NONE; old.vertices.len()];
    let mut fresh_number = vec![NONE; came.len()];
    // Old and new vertices at the same place.
    let mut same: Vec<(u32, u32)> = Vec::new();
    let mut at = 0;
    let copy = |range: std::ops::Range<usize>,
                vertices: &mut Vec<Vertex>,
                part_of: &mut Vec<u32>,
                number: &mut [u32]| {
        for v in range {
            let part = stays(v);
            if part != NONE {
                number[v] = vertices.len() as u32;
                vertices.push(old.vertices[v].clone());
                part_of.push(part);
            }
        }
    };
    for (key, own, part, vertex) in came {
        let place = at + old.vertices[at..].partition_point(|v| z_order(&v.point) < key);
        copy(at..place, &mut vertices, &mut part_of, &mut number);
        at = place;
        fresh_number[own as usize] = vertices.len() as u32;
        if old
            .vertices
            .get(at)
            .is_some_and(|v| v.point == vertex.point)
        {
            same.push((at as u32, vertices.len() as u32));
        }
        vertices.push(vertex);
        part_of.push(part);
    }
    copy(
        at..old.vertices.len(),
        &mut vertices,
        &mut part_of,
        &mut number,
    );
    if renamed.has_moved {
        for new in number.iter().filter(|n| **n != NONE) {
            for o in &mut vertices[*new as usize].obstacles {
                *o = (renamed.obstacle)(*o);
            }
        }
    }

    for edge in &mut new_edges {
        edge.ends = edge.ends.map(|v| fresh_number[v as usize]);
    }
    new_edges.sort_unstable_by_key(|e| e.ends);
    // What came and went: vertices at the same place are the same unless their surroundings
    // changed.
    let mut tentative = number.clone();
    for (old, new) in &same {
        tentative[*old as usize] = *new;
    }
    let went: Vec<&Edge> = old
        .edges
        .iter()
        .filter(|e| stays(e.ends[0] as usize) == NONE)
        .collect();
    let renumbered = |e: &Edge| (e.ends.map(|v| tentative[v as usize]), e.is_wall);
    let mut before: Vec<([u32; 2], bool)> = went.iter().map(|e| renumbered(e)).collect();
    before.sort_unstable();
    let after: Vec<([u32; 2], bool)> = new_edges.iter().map(|e| (e.ends, e.is_wall)).collect();
    let mut changes = Changes::default();
    let mut has_changed = vec![false; vertices.len()];
    for edge in &went {
        let new = renumbered(edge);
        if after.binary_search(&new).is_err() {
            changes.removed_edges.push(edge.ends);
            for v in new.0.iter().filter(|v| **v != NONE) {
                has_changed[*v as usize] = true;
            }
        }
    }
    let (stayed, came): (Vec<_>, Vec<_>) = after
        .iter()
        .partition(|edge| before.binary_search(edge).is_ok());
    for (ends, _) in came {
        changes.added_edges.push(ends);
        for v in ends {
            has_changed[v as usize] = true;
        }
    }
    for (old_vertex, new) in same {
        let (a, b) = (&old.vertices[old_vertex as usize], &vertices[new as usize]);
        let is_same = a.sectors == b.sectors && a.corner == b.corner && a.turn == b.turn;
        if is_same && !has_changed[new as usize] {
            number[old_vertex as usize] = new;
        }
    }
    let mut is_kept = vec![false; vertices.len()];
    for new in number.iter().filter(|n| **n != NONE) {
        is_kept[*new as usize] = true;
    }
    let is_new = |v: &u32| !is_kept[*v as usize];
    changes.added = (0..vertices.len() as u32).filter(is_new).collect();
    changes.rejoined_edges = stayed
        .iter()
        .map(|edge| edge.0)
        .filter(|ends| ends.iter().any(is_new))
        .collect();
    changes.vertices = number;

    // Both are sorted: the order of what stays is the same as before.
    let mut new_edges = new_edges.into_iter().peekable();
    let mut edges: Vec<Edge> = Vec::with_capacity(old.edges.len() + new_edges.len());
    for edge in &old.edges {
        if stays(edge.ends[0] as usize) == NONE {
            continue;
        }
        let ends = edge.ends.map(|v| changes.vertices[v as usize]);
        while let Some(new) = new_edges.next_if(|e| e.ends < ends) {
            edges.push(new);
        }
        let mut edge = Edge {
            ends,
            ..edge.clone()
        };
        if renamed.has_moved {
            edge.obstacle = (renamed.obstacle)(edge.obstacle);
        }
        for parent in &mut edge.parents {
            *parent = (renamed.parent)(*parent);
        }
        edges.push(edge);
    }
    edges.extend(new_edges);
    Spliced {
        arrangement: Arrangement {
            vertices,
            edges,
            rounded: false,
        },
        part_of,
        changes,
    }
}
