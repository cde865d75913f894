//! From the tree to a [`Chain`]: fixed joints folded, followers resolved.

use nalgebra::Isometry3;

use super::{
    Chain, ChainError, ChainJoint, ChainLink, Dof, DofKind, JointKind, Motion, RobotModel,
};

pub(super) fn chain(
    model: &RobotModel,
    base: &str,
    tip: &str,
    use_soft_limits: bool,
) -> Result<Chain, ChainError> {
    let _ = (
        model,
        base,
        tip,
        use_soft_limits,
        Isometry3::<f64>::identity(),
    );
    let _: Option<(
        Chain,
        ChainJoint,
        ChainLink,
        Dof,
        DofKind,
        JointKind,
        Motion,
    )> = None;
    Err(ChainError::SeveralTips { choices: vec![] })
}
