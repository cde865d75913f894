//! What commands about collisions share: the robot's shapes, the prisms of a scene.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::arm::read_text;
use super::CliError;
use crate::collision::{CollisionModel, CollisionOptions, Prism};
use crate::kinematics::Pose;
use crate::model::{did_you_mean, Chain, JointKind, RobotModel, Srdf};
use crate::resource::load_meshes;

/// What the robot is made of, and what of it may touch.
#[derive(Debug, clap::Args)]
pub(super) struct ShapeOptions {
    /// SRDF whose `disable_collisions` name the links that may touch; if left out, neighbours and
    /// what always touches are found.
    #[arg(long, value_name = "FILE")]
    pub(super) srdf: Option<PathBuf>,
    /// Folder that holds ROS packages with meshes (may be given several times); looked at before
    /// AMENT_PREFIX_PATH, ROS_PACKAGE_PATH and the folders around the URDF.
    #[arg(long = "package-path", value_name = "FOLDER")]
    pub(super) package_paths: Vec<PathBuf>,
    /// Distance that links keep from obstacles (m).
    #[arg(
        long,
        value_name = "METRES",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    pub(super) link_clearance: f64,
    /// Distance that links keep from each other (m).
    #[arg(
        long,
        value_name = "METRES",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    pub(super) self_clearance: f64,
    /// Height of solid ground in the base frame; none if left out (m).
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    pub(super) ground: Option<f64>,
}

impl ShapeOptions {
    /// The robot's shapes on `chain`; what is not as the description says goes to standard error.
    pub(super) fn load(
        &self,
        urdf: &Path,
        model: &RobotModel,
        chain: &Chain,
    ) -> Result<CollisionModel, CliError> {
        self.load_in(urdf, model, chain, &Pose::identity())
    }

    /// As [`ShapeOptions::load`], with obstacles in a frame of their own (pose in the chain's base frame).
    pub(super) fn load_in(
        &self,
        urdf: &Path,
        model: &RobotModel,
        chain: &Chain,
        frame: &Pose,
    ) -> Result<CollisionModel, CliError> {
        let bad = |option: &str, value: f64| {
            CliError::BadInput(format!("{option} must be zero or more, not {value}"))
        };
        for (option, value) in [
            ("--link-clearance", self.link_clearance),
            ("--self-clearance", self.self_clearance),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(bad(option, value));
            }
        }
        if let Some(ground) = self.ground.filter(|ground| !ground.is_finite()) {
            return Err(CliError::BadInput(format!(
                "--ground must be a height, not {ground}"
            )));
        }
        if let Some(path) = self.package_paths.iter().find(|path| !path.is_dir()) {
            return Err(CliError::BadInput(format!(
                "--package-path {}: there is no such folder",
                path.display()
            )));
        }
        let mut options = CollisionOptions {
            frame: *frame,
            clearance: self.link_clearance,
            self_clearance: self.self_clearance,
            ..CollisionOptions::default()
        };
        if let Some(path) = &self.srdf {
            let srdf = Srdf::parse(&read_text(path)?)
                .map_err(|error| CliError::BadInput(format!("{}: {error}", path.display())))?;
            let (allowed, warnings) = srdf.allowed_pairs(model);
            for warning in warnings {
                errln!("arm-planner: warning: {}: {warning}", path.display());
            }
            options.allowed = allowed;
        }
        let meshes = load_meshes(model, Some(urdf), &self.package_paths);
        let arm = CollisionModel::with_meshes(model, chain, &meshes, &options);
        for warning in arm.warnings() {
            errln!("arm-planner: warning: {warning}");
        }
        if !arm.has_shapes() {
            return Err(CliError::BadInput(format!(
                "{}: no link that moves has a <collision> or <visual> shape: there is nothing to check",
                urdf.display()
            )));
        }
        Ok(arm)
    }
}

#[derive(Deserialize)]
struct PrismFile {
    scenes: Vec<PrismScene>,
}

#[derive(Deserialize)]
struct PrismScene {
    id: String,
    prisms: Vec<PrismEntry>,
}

#[derive(Deserialize)]
struct PrismEntry {
    #[serde(default)]
    id: Option<String>,
    polygon: Vec<[f64; 2]>,
    z0: f64,
    height: f64,
}

/// The prisms of the scene called `id` in a file of scenes; prisms without a name are called
/// `prism_N`, counted from zero.
pub(super) fn read_prisms(path: &Path, id: &str) -> Result<Vec<Prism>, CliError> {
    let name = path.display();
    let file: PrismFile = serde_json::from_str(&read_text(path)?)
        .map_err(|error| CliError::BadInput(format!("{name}: {error}")))?;
    let Some(scene) = file.scenes.iter().find(|scene| scene.id == id) else {
        let ids: Vec<&str> = file.scenes.iter().map(|scene| scene.id.as_str()).collect();
        return Err(CliError::BadInput(format!(
            "{name}: there is no scene \"{id}\"{}; scenes: {}",
            did_you_mean(id, ids.iter().copied()),
            ids.join(", ")
        )));
    };
    let prism = |(index, entry): (usize, &PrismEntry)| Prism {
        id: entry.id.clone().unwrap_or_else(|| format!("prism_{index}")),
        polygon: entry.polygon.clone(),
        min_z: entry.z0,
        max_z: entry.z0 + entry.height,
    };
    Ok(scene.prisms.iter().enumerate().map(prism).collect())
}

/// Whether an arm just goes on at a link, so that the link is nobody's tip: configurations with a value too few are a slip,
/// and not meant for the arm's first part. A hand with several fingers, or with one that slides, is a tip.
fn goes_on(model: &RobotModel, link: &str) -> bool {
    // The moving joints that the link carries without another one in between.
    let carried_by = |link: usize| {
        let mut moving = Vec::new();
        let mut rigid = vec![link];
        while let Some(parent) = rigid.pop() {
            for joint in model.joints.iter().filter(|joint| joint.parent == parent) {
                if joint.kind == JointKind::Fixed {
                    rigid.push(joint.child);
                } else {
                    moving.push(joint);
                }
            }
        }
        moving
    };
    let Some(link) = model.link_index(link) else {
        return false;
    };
    match carried_by(link).as_slice() {
        [next] => next.kind != JointKind::Prismatic || !carried_by(next.child).is_empty(),
        _ => false,
    }
}

/// The chain that a list of configurations is for: from `base` to `tip` where these are given, else
/// the one chain of the robot that has the listed joints, or as many degrees of freedom.
pub(super) fn chain_for(
    model: &RobotModel,
    base: &str,
    tip: &str,
    joints: Option<&[String]>,
    dof: usize,
) -> Result<Chain, CliError> {
    if !tip.is_empty() {
        return model
            .chain(base, tip, false)
            .map_err(|error| CliError::BadInput(error.to_string()));
    }
    // Each set of moving joints once, with the tip that is farthest out.
    let mut found: Vec<Chain> = Vec::new();
    for link in &model.links {
        if joints.is_none() && goes_on(model, &link.name) {
            continue;
        }
        let Ok(chain) = model.chain(base, &link.name, false) else {
            continue;
        };
        let fits = match joints {
            Some(names) => {
                names.len() == chain.dof()
                    && names.iter().all(|name| chain.dof_index(name).is_some())
            }
            None => chain.dof() == dof,
        };
        if !fits {
            continue;
        }
        match found
            .iter_mut()
            .find(|other| other.joint_names() == chain.joint_names())
        {
            Some(other) if other.links.len() < chain.links.len() => *other = chain,
            Some(_) => {}
            None => found.push(chain),
        }
    }
    let wanted = match joints {
        Some(names) => format!("the joints {}", names.join(", ")),
        None => format!("{dof} degrees of freedom"),
    };
    match found.len() {
        1 => found
            .pop()
            .ok_or_else(|| CliError::BadInput("no chain".into())),
        0 => {
            let leaves = model.leaf_links().into_iter();
            let chains: Vec<String> = leaves
                .filter_map(|tip| model.chain(base, tip, false).ok())
                .map(|chain| format!("{} ({})", chain.tip, chain.joint_names().join(", ")))
                .collect();
            Err(CliError::BadInput(format!(
                "no chain to a tip of the robot has {wanted}; chains: {}; check the file, or give --base and --tip",
                chains.join("; ")
            )))
        }
        _ => Err(CliError::BadInput(format!(
            "several chains of the robot have {wanted} (tips {}): give --tip",
            found
                .iter()
                .map(|chain| chain.tip.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        ))),
    }
}
