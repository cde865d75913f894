//! `arm-planner fk`: the tip's pose for joint values.

use serde::Serialize;

use super::arm::{ArmOptions, JointValues};
use super::json::print_pretty;
use super::table;
use super::CliError;
use crate::kinematics::{forward_kinematics, residual, Pose};
use crate::model::{forward_kinematics_by_k, Chain, RobotModel};

/// Forward kinematics: the pose of the tip in the base frame.
#[derive(Debug, clap::Args)]
pub(super) struct Fk {
    #[command(flatten)]
    arm: ArmOptions,
    /// Joint values in the chain's order (a,b,c) or by name (joint=value,…; others 0) (rad, m).
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    q: JointValues,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Compare with the independent kinematics of the crate `k`.
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Serialize)]
struct Output {
    base: String,
    tip: String,
    position: [f64; 3],
    quaternion: [f64; 4],
    within_limits: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Check>,
}

#[derive(Debug, Serialize)]
struct Check {
    position_difference: f64,
    orientation_difference: f64,
}

/// Two computations that agree differ by rounding alone \[m, rad\].
const CHECK_TOLERANCE: f64 = 1e-9;

pub(super) fn run(options: &Fk) -> Result<(), CliError> {
    let (model, chain) = options.arm.load()?;
    let zero = vec![0.0; chain.dof()];
    let q = options.q.resolve(&chain, "--q", &zero)?;
    if let Some((dof, value)) = chain
        .dofs
        .iter()
        .zip(&q)
        .find(|(_, value)| !value.is_finite())
    {
        return Err(CliError::BadInput(format!(
            "--q: the value of joint \"{}\" is not finite ({value})",
            dof.name
        )));
    }
    let tip = forward_kinematics(&chain, &q).map_err(|e| CliError::BadInput(e.to_string()))?;
    let check = options
        .check
        .then(|| check(&model, &chain, &q, &tip))
        .transpose()?;
    let failed = check.as_ref().is_some_and(|check| {
        // NaN must not pass.
        let agrees = check.position_difference <= CHECK_TOLERANCE
            && check.orientation_difference <= CHECK_TOLERANCE;
        !agrees
    });
    let t = tip.translation.vector;
    let r = tip.rotation.coords;
    let output = Output {
        base: chain.base.clone(),
        tip: chain.tip.clone(),
        position: [t.x, t.y, t.z],
        quaternion: [r.x, r.y, r.z, r.w],
        within_limits: chain.within_limits(&q),
        check,
    };
    if options.json {
        print_pretty(&output)?;
    } else {
        print(&output);
    }
    if failed {
        return Err(CliError::NoSolution("the two computations differ".into()));
    }
    Ok(())
}

fn check(model: &RobotModel, chain: &Chain, q: &[f64], tip: &Pose) -> Result<Check, CliError> {
    let values: Vec<(&str, f64)> = chain
        .dofs
        .iter()
        .map(|dof| dof.name.as_str())
        .zip(q.iter().copied())
        .collect();
    let other = forward_kinematics_by_k(model, &chain.base, &chain.tip, &values)
        .map_err(|error| CliError::BadInput(error.to_string()))?;
    let difference = residual(tip, &other);
    Ok(Check {
        position_difference: difference.position,
        orientation_difference: difference.orientation,
    })
}

fn print(output: &Output) {
    outln!("{} in {}", output.tip, output.base);
    let names = ["x [m]", "y [m]", "z [m]", "qx", "qy", "qz", "qw"];
    let values = output.position.iter().chain(&output.quaternion);
    let rows: Vec<Vec<String>> = names
        .iter()
        .zip(values)
        .map(|(name, value)| vec![(*name).to_owned(), format!("{value:.9}")])
        .collect();
    out!("{}", table::render(&["", "value"], &rows));
    if !output.within_limits {
        outln!("outside the joint limits");
    }
    if let Some(check) = &output.check {
        outln!(
            "crate k differs by {:.1e} m and {:.1e} rad",
            check.position_difference,
            check.orientation_difference
        );
    }
}
