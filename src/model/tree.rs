//! Several chains of one robot that share their beginnings: a tree of joints with several tips.

use nalgebra::Isometry3;

use super::{Chain, ChainError, ChainJoint, Dof, DofKind, RobotModel};

/// A moving joint of a [`TreeChain`].
#[derive(Debug, Clone, PartialEq)]
pub struct TreeJoint {
    /// The joint; `before` leads from the frame after the parent joint (or the base), `dof` is
    /// an index into [`TreeChain::dofs`].
    pub joint: ChainJoint,
    /// The moving joint before it, an index into [`TreeChain::joints`] smaller than its own;
    /// `None` at the base.
    pub parent: Option<usize>,
}

/// A tip of a [`TreeChain`].
#[derive(Debug, Clone, PartialEq)]
pub struct TreeTip {
    /// Name of the tip link.
    pub name: String,
    /// The last moving joint before it, an index into [`TreeChain::joints`].
    pub after: usize,
    /// From the frame after that joint to the tip link's frame.
    pub offset: Isometry3<f64>,
}

/// A tree of joints from one base to several tips. Immutable once built.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeChain {
    /// Name of the base link.
    pub base: String,
    /// The degrees of freedom; their number is the length of `q`.
    pub dofs: Vec<Dof>,
    /// The moving joints, parents before children (followers included).
    pub joints: Vec<TreeJoint>,
    /// The tips, in the order in which they were asked for.
    pub tips: Vec<TreeTip>,
}

impl TreeChain {
    /// The number of degrees of freedom, the length of `q`.
    pub fn dof(&self) -> usize {
        self.dofs.len()
    }

    /// Names of the degrees of freedom, in the order of `q`.
    pub fn joint_names(&self) -> Vec<String> {
        self.dofs.iter().map(|dof| dof.name.clone()).collect()
    }

    /// Position of the degree of freedom called `name` in `q`.
    pub fn dof_index(&self, name: &str) -> Option<usize> {
        self.dofs.iter().position(|dof| dof.name == name)
    }

    /// The middle of all ranges, see [`Dof::middle`].
    pub fn middle(&self) -> Vec<f64> {
        self.dofs.iter().map(Dof::middle).collect()
    }

    /// Whether `q` has the right length and lies inside all limits.
    pub fn within_limits(&self, q: &[f64]) -> bool {
        let mut pairs = self.dofs.iter().zip(q);
        q.len() == self.dofs.len() && pairs.all(|(dof, &value)| dof.contains(value))
    }

    /// Joins chains of one model that have the same base.
    fn join(chains: Vec<Chain>) -> Result<TreeChain, ChainError> {
        let mut tree = TreeChain {
            base: chains.first().map_or_else(String::new, |c| c.base.clone()),
            dofs: Vec::new(),
            joints: Vec::new(),
            tips: Vec::new(),
        };
        for chain in chains {
            if tree.tips.iter().any(|tip| tip.name == chain.tip) {
                return Err(ChainError::TipTwice { tip: chain.tip });
            }
            let mut index = Vec::with_capacity(chain.dofs.len());
            for dof in &chain.dofs {
                index.push(tree.add_dof(dof)?);
            }
            let mut parent = None;
            for joint in chain.joints {
                let known = tree.joints.iter().position(|j| j.joint.name == joint.name);
                parent = Some(known.unwrap_or_else(|| {
                    let dof = index.get(joint.dof).copied().unwrap_or(joint.dof);
                    tree.joints.push(TreeJoint {
                        joint: ChainJoint { dof, ..joint },
                        parent,
                    });
                    tree.joints.len() - 1
                }));
            }
            let Some(after) = parent else {
                return Err(ChainError::NoMovingJoint {
                    base: chain.base,
                    tip: chain.tip,
                });
            };
            tree.tips.push(TreeTip {
                name: chain.tip,
                after,
                offset: chain.tip_offset,
            });
        }
        Ok(tree)
    }

    /// Adds a degree of freedom or narrows the one that is there: its followers in several
    /// chains must all be able to follow.
    fn add_dof(&mut self, dof: &Dof) -> Result<usize, ChainError> {
        let Some(index) = self.dof_index(&dof.name) else {
            self.dofs.push(dof.clone());
            return Ok(self.dofs.len() - 1);
        };
        if let Some(known) = self.dofs.get_mut(index) {
            known.lower = known.lower.max(dof.lower);
            known.upper = known.upper.min(dof.upper);
            if known.lower > known.upper {
                return Err(ChainError::EmptyRange {
                    joint: dof.name.clone(),
                    follower: "in another chain".to_owned(),
                });
            }
            if dof.kind != DofKind::Continuous {
                known.kind = dof.kind;
            }
            known.velocity = match (known.velocity, dof.velocity) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        Ok(index)
    }
}

impl RobotModel {
    /// The tree from `base` (empty: the root) to several tips. A tip may lie on the way to another.
    ///
    /// # Errors
    /// See [`ChainError`].
    pub fn tree(
        &self,
        base: &str,
        tips: &[&str],
        use_soft_limits: bool,
    ) -> Result<TreeChain, ChainError> {
        if tips.is_empty() {
            return Err(ChainError::NoTips);
        }
        let chains = tips
            .iter()
            .map(|tip| self.chain(base, tip, use_soft_limits))
            .collect::<Result<_, _>>()?;
        TreeChain::join(chains)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TORSO: &str = include_str!("../../urdf/two_arm_torso.urdf");

    #[test]
    fn shared_joints_are_there_once() {
        let model = RobotModel::from_urdf(TORSO).unwrap();
        let tree = model.tree("", &["left_hand", "right_hand"], false).unwrap();
        assert_eq!(tree.dof(), 14);
        let roots = tree.joints.iter().filter(|j| j.parent.is_none()).count();
        assert_eq!(roots, 1);
        for (index, joint) in tree.joints.iter().enumerate() {
            assert!(joint.parent.is_none_or(|parent| parent < index));
        }
        // Each path is the chain that one would get alone.
        for tip in &tree.tips {
            let chain = model.chain("", &tip.name, false).unwrap();
            let mut path = Vec::new();
            let mut next = Some(tip.after);
            while let Some(index) = next {
                path.push(tree.joints[index].joint.name.clone());
                next = tree.joints[index].parent;
            }
            path.reverse();
            let names: Vec<_> = chain.joints.iter().map(|j| j.name.clone()).collect();
            assert_eq!(path, names);
            assert_eq!(tip.offset, chain.tip_offset);
        }
    }

    #[test]
    fn bad_tips_are_named() {
        let model = RobotModel::from_urdf(TORSO).unwrap();
        assert_eq!(model.tree("", &[], false), Err(ChainError::NoTips));
        let twice = model.tree("", &["left_hand", "left_hand"], false);
        assert!(matches!(twice, Err(ChainError::TipTwice { .. })));
        let unknown = model.tree("", &["left_hand", "tail"], false);
        assert!(matches!(unknown, Err(ChainError::UnknownLink { .. })));
        let still = model.tree("", &["left_hand", "pedestal"], false);
        assert!(matches!(still, Err(ChainError::NoMovingJoint { .. })));
    }
}
