//! `arm-planner info`: what a robot description holds.

use std::path::PathBuf;

use serde::Serialize;

use super::arm::read_model;
use super::json::print_pretty;
use super::table;
use super::CliError;
use crate::model::RobotModel;

/// Links, joints, limits, chains and warnings of a robot description.
#[derive(Debug, clap::Args)]
pub(super) struct Info {
    /// The robot description (URDF, xacro expanded).
    #[arg(long, value_name = "FILE")]
    urdf: PathBuf,
    /// Base of the chains; the root if left out.
    #[arg(long, value_name = "LINK", default_value = "")]
    base: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Output {
    robot: String,
    root: String,
    links: Vec<String>,
    joints: Vec<JointRow>,
    chains: Vec<ChainRow>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct JointRow {
    name: String,
    kind: String,
    parent: String,
    child: String,
    lower: Option<f64>,
    upper: Option<f64>,
    velocity: Option<f64>,
    effort: Option<f64>,
    mimics: Option<String>,
}

#[derive(Debug, Serialize)]
struct ChainRow {
    base: String,
    tip: String,
    joints: Vec<String>,
    reach: Option<f64>,
    /// Which closed form of inverse kinematics fits.
    closed_form: Option<String>,
    /// Why there is no chain to this tip.
    problem: Option<String>,
}

pub(super) fn run(options: &Info) -> Result<(), CliError> {
    let model = read_model(&options.urdf)?;
    if !options.base.is_empty() && model.link_index(&options.base).is_none() {
        return Err(CliError::BadInput(format!(
            "base link \"{}\" does not exist{}",
            options.base,
            crate::model::did_you_mean(
                &options.base,
                model.links.iter().map(|link| link.name.as_str())
            )
        )));
    }
    let output = output(&model, &options.base);
    if options.json {
        print_pretty(&output)?;
    } else {
        print(&output);
    }
    Ok(())
}

fn output(model: &RobotModel, base: &str) -> Output {
    let link_name = |index: usize| model.links.get(index).map_or("", |link| link.name.as_str());
    let root = link_name(model.root).to_owned();
    let base = if base.is_empty() { root.as_str() } else { base };
    let joints = model
        .joints
        .iter()
        .map(|joint| JointRow {
            name: joint.name.clone(),
            kind: joint.kind.name().to_owned(),
            parent: link_name(joint.parent).to_owned(),
            child: link_name(joint.child).to_owned(),
            lower: Some(joint.limits.lower).filter(|value| value.is_finite()),
            upper: Some(joint.limits.upper).filter(|value| value.is_finite()),
            velocity: joint.limits.velocity,
            effort: joint.limits.effort,
            mimics: joint.mimic.map(|mimic| {
                let driver = model
                    .joints
                    .get(mimic.driver)
                    .map_or("", |joint| &joint.name);
                format!("{} * {driver} + {}", mimic.multiplier, mimic.offset)
            }),
        })
        .collect();
    let chains = model
        .leaf_links()
        .into_iter()
        .map(|tip| match model.chain(base, tip, false) {
            Ok(chain) => ChainRow {
                base: chain.base.clone(),
                tip: tip.to_owned(),
                joints: chain.joint_names(),
                reach: Some(chain.reach().1).filter(|reach| reach.is_finite()),
                closed_form: crate::ik::closed_form_of(&chain),
                problem: None,
            },
            Err(error) => ChainRow {
                base: base.to_owned(),
                tip: tip.to_owned(),
                joints: Vec::new(),
                reach: None,
                closed_form: None,
                problem: Some(error.to_string()),
            },
        })
        .collect();
    Output {
        robot: model.name.clone(),
        links: model.links.iter().map(|link| link.name.clone()).collect(),
        joints,
        chains,
        warnings: model.warnings.iter().map(ToString::to_string).collect(),
        root,
    }
}

fn print(output: &Output) {
    outln!(
        "robot {}: {} links, {} joints, root {}",
        output.robot,
        output.links.len(),
        output.joints.len(),
        output.root
    );
    outln!("links: {}\n", output.links.join(", "));
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.4}"));
    let rows: Vec<Vec<String>> = output
        .joints
        .iter()
        .map(|joint| {
            vec![
                joint.name.clone(),
                joint.kind.clone(),
                joint.parent.clone(),
                joint.child.clone(),
                number(joint.lower),
                number(joint.upper),
                number(joint.velocity),
                number(joint.effort),
                joint.mimics.clone().unwrap_or_default(),
            ]
        })
        .collect();
    let header = [
        "joint", "kind", "parent", "child", "lower", "upper", "velocity", "effort", "mimics",
    ];
    outln!("{}", table::render(&header, &rows));
    let rows: Vec<Vec<String>> = output
        .chains
        .iter()
        .map(|chain| {
            vec![
                chain.base.clone(),
                chain.tip.clone(),
                chain.joints.len().to_string(),
                number(chain.reach),
                chain.closed_form.clone().unwrap_or_else(|| "-".to_owned()),
                chain
                    .problem
                    .clone()
                    .unwrap_or_else(|| chain.joints.join(" ")),
            ]
        })
        .collect();
    out!(
        "{}",
        table::render(
            &["base", "tip", "free", "reach [m]", "closed form", "joints"],
            &rows
        )
    );
    for warning in &output.warnings {
        outln!("warning: {warning}");
    }
}
