//! A world in which some obstacles changed, from the world before.
//!
//! Only the parts that an obstacle belonged to or belongs to now are merged
//! again, and those whose surroundings it covered or covers. The result is the
//! one that [`PlanarWorld::build`] gives for the same obstacles in the same
//! order, bit for bit.

use super::bodies::Bodies;
use super::parts::{Parts, NONE};
use super::splice::{splice, Changes, Renamed};
use super::world::{add_obstacle, Obstacle, PlanarWorld, WorldError};

/// Obstacles that go and come.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Edit {
    /// Indices of obstacles that go.
    pub remove: Vec<u32>,
    /// Before which of the obstacles that stay (counted without those that go) the new ones
    /// are put; at the end if there are not so many.
    pub at: usize,
    /// Obstacles that come.
    pub insert: Vec<Obstacle>,
}

impl Edit {
    /// What replaces all obstacles with this name by others, at the place of the first of them
    /// (at the end if there is none).
    pub fn replace(world: &PlanarWorld, id: &str, insert: Vec<Obstacle>) -> Edit {
        let remove: Vec<u32> = (0u32..)
            .zip(world.obstacles())
            .filter(|(_, o)| o.id == id)
            .map(|(k, _)| k)
            .collect();
        Edit {
            at: remove.first().map_or(usize::MAX, |k| *k as usize),
            remove,
            insert,
        }
    }
}

impl PlanarWorld {
    /// The world after an edit: equal to the one built anew from its obstacles. This one stays
    /// as it is.
    ///
    /// # Errors
    /// See [`WorldError`].
    pub fn updated(&self, edit: &Edit) -> Result<PlanarWorld, WorldError> {
        self.updated_with_changes(edit).map(|u| u.0)
    }

    /// Says as well what became of vertices and edges.
    pub(crate) fn updated_with_changes(
        &self,
        edit: &Edit,
    ) -> Result<(PlanarWorld, Changes), WorldError> {
        let plan = Plan::new(self, edit);
        let old = &self.sources;
        let mut sources = Bodies::empty(old.is_truth);
        let mut ring_map = vec![NONE; old.rings.len()];
        let mut new_rings: Vec<u32> = Vec::new();
        let mut ring = 0u32;
        for (k, origin) in (0u32..).zip(&plan.origins) {
            match origin {
                Origin::Old(o) => {
                    // Rings are sorted by obstacles.
                    let obstacle_of = |r: u32| old.obstacle(old.rings[r as usize].body);
                    while (ring as usize) < old.rings.len() && obstacle_of(ring) < *o {
                        ring += 1;
                    }
                    let first = ring;
                    while (ring as usize) < old.rings.len() && obstacle_of(ring) == *o {
                        ring_map[ring as usize] = sources.rings.len() as u32 + (ring - first);
                        ring += 1;
                    }
                    sources.add_rings(old, first..ring, |_| k);
                }
                Origin::New(i) => {
                    let first = sources.rings.len() as u32;
                    if let Some(obstacle) = edit.insert.get(*i) {
                        add_obstacle(&mut sources, k, obstacle, &self.options)?;
                    }
                    new_rings.extend(first..sources.rings.len() as u32);
                }
            }
        }
        let boundary = self.obstacles.len() as u32;
        if old.has_complement() {
            let first =
                old.rings
                    .partition_point(|r| old.obstacle(r.body) < boundary) as u32;
            for r in first..old.rings.len() as u32 {
                ring_map[r as usize] = sources.rings.len() as u32 + (r - first);
            }
            sources.add_complement_of(old, plan.origins.len() as u32);
        }
        sources.index();

        // Parts that are merged again: those with rings that went, and those near new ones.
        let mut is_affected = vec![false; self.parts.parts.len()];
        let mut removed_rings: Vec<u32> = Vec::new();
        let mut parts = Parts {
            parts: Vec::new(),
            of_ring: vec![NONE; sources.rings.len()],
        };
        for (r, new) in (0u32..).zip(&ring_map) {
            let part = self.parts.of_ring[r as usize];
            if *new == NONE {
                removed_rings.push(r);
                is_affected[part as usize] = true;
            } else {
                // By the old number for now.
                parts.of_ring[*new as usize] = part;
            }
        }
        for r in &new_rings {
            parts.near_ring(&sources, *r, |part| is_affected[part as usize] = true);
        }
        let mut part_map = vec![NONE; self.parts.parts.len()];
        for (old_part, part) in self.parts.parts.iter().enumerate() {
            if !is_affected[old_part] {
                part_map[old_part] = parts.parts.len() as u32;
                parts.parts.push(part.clone());
            }
        }
        let mut affected_rings: Vec<u32> = Vec::new();
        for (r, part) in (0u32..).zip(&mut parts.of_ring) {
            if *part != NONE {
                *part = part_map[*part as usize];
            }
            if *part == NONE {
                affected_rings.push(r);
            }
        }
        let kept = parts.parts.len() as u32;
        // Kept parts around which a body went or came.
        let mut covered_anew: Vec<u32> = Vec::new();
        for part in 0..kept {
            let went = removed_rings.iter().map(|r| parts.winding(old, *r, part));
            let came = new_rings.iter().map(|r| parts.winding(&sources, *r, part));
            let change = came.sum::<i32>() - went.sum::<i32>();
            if change != 0 {
                parts.parts[part as usize].depth += change;
                covered_anew.push(part);
            }
        }
        parts.add(&sources, &affected_rings);
        for part in kept..parts.parts.len() as u32 {
            parts.find_depth(&sources, part);
        }
        // The outlines of all that is new.
        let contact = self.options.contact;
        let fresh_parts: Vec<u32> = covered_anew
            .iter()
            .copied()
            .chain(kept..parts.parts.len() as u32)
            .collect();
        let fresh = fresh_outlines(&mut parts, &sources, &fresh_parts, contact);
        // In the arrangement, parts that are covered anew go and come.
        let mut stays = part_map.clone();
        for part in &mut stays {
            if covered_anew.binary_search(part).is_ok() {
                *part = NONE;
            }
        }
        let has_moved = plan.has_moved;
        let renamed = Renamed {
            part_of: &self.part_of,
            parts: &stays,
            has_moved,
            obstacle: &|o| plan.new_index(o),
            parent: &|e| {
                let r = old.edge_ring[e as usize];
                match ring_map[r as usize] {
                    NONE => e,
                    new => sources.rings[new as usize].first + (e - old.rings[r as usize].first),
                }
            },
        };
        let spliced = splice(&self.arrangement, &renamed, fresh);
        let mut obstacles = Vec::with_capacity(plan.origins.len());
        for origin in &plan.origins {
            match origin {
                Origin::Old(o) => obstacles.extend(self.obstacles.get(*o as usize).cloned()),
                Origin::New(i) => obstacles.extend(edit.insert.get(*i).cloned()),
            }
        }
        let world = PlanarWorld::of_parts(
            obstacles,
            self.boundary.clone(),
            self.options.clone(),
            sources,
            parts,
            spliced.arrangement,
            spliced.part_of,
        );
        Ok((world, spliced.changes))
    }
}

/// The outlines of some parts.
pub(super) fn fresh_outlines(
    parts: &mut Parts,
    sources: &Bodies,
    fresh: &[u32],
    contact: super::sector::Contact,
) -> Vec<(u32, super::arrangement::Arrangement)> {
    // Rings by parts.
    let mut place = vec![NONE; parts.parts.len()];
    for (k, part) in (0u32..).zip(fresh) {
        place[*part as usize] = k;
    }
    let mut rings: Vec<(u32, u32)> = (0u32..)
        .zip(&parts.of_ring)
        .map(|(r, part)| (place[*part as usize], r))
        .filter(|(k, _)| *k != NONE)
        .collect();
    rings.sort_unstable();
    let mut own: Vec<u32> = Vec::new();
    rings
        .chunk_by(|a, b| a.0 == b.0)
        .filter_map(|chunk| {
            let part = fresh[chunk.first()?.0 as usize];
            own.clear();
            own.extend(chunk.iter().map(|c| c.1));
            Some((part, parts.outlines(sources, part, &own, contact)))
        })
        .collect()
}

/// Where an obstacle comes from.
enum Origin {
    Old(u32),
    New(usize),
}

struct Plan {
    origins: Vec<Origin>,
    /// New index of every old obstacle, and of the boundary.
    index: Vec<u32>,
    /// Whether any obstacle that stays has a new index.
    has_moved: bool,
}

impl Plan {
    fn new(world: &PlanarWorld, edit: &Edit) -> Self {
        let count = world.obstacles.len();
        let mut goes = vec![false; count];
        for k in &edit.remove {
            if let Some(goes) = goes.get_mut(*k as usize) {
                *goes = true;
            }
        }
        let mut origins: Vec<Origin> = (0..count as u32)
            .filter(|k| !goes[*k as usize])
            .map(Origin::Old)
            .collect();
        let at = edit.at.min(origins.len());
        origins.splice(at..at, (0..edit.insert.len()).map(Origin::New));
        let mut index = vec![NONE; count + 1];
        for (k, origin) in (0u32..).zip(&origins) {
            if let Origin::Old(o) = origin {
                index[*o as usize] = k;
            }
        }
        index[count] = origins.len() as u32;
        let has_moved = (0u32..).zip(&index).any(|(o, k)| *k != NONE && *k != o);
        Plan {
            origins,
            index,
            has_moved,
        }
    }

    fn new_index(&self, obstacle: u32) -> u32 {
        self.index
            .get(obstacle as usize)
            .copied()
            .unwrap_or(obstacle)
    }
}
