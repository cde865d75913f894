//! What several commands share: the arm's options, lists of numbers, files.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::CliError;
use crate::model::{Chain, RobotModel};

/// Which arm.
#[derive(Debug, clap::Args)]
pub(super) struct ArmOptions {
    /// The robot description (URDF, xacro expanded).
    #[arg(long, value_name = "FILE")]
    pub(super) urdf: PathBuf,
    /// The link that the target is for; may be left out if the robot has a single tip.
    #[arg(long, value_name = "LINK", default_value = "")]
    pub(super) tip: String,
    /// The link in whose frame the target is given; the root if left out.
    #[arg(long, value_name = "LINK", default_value = "")]
    pub(super) base: String,
    /// Respect the soft limits of <safety_controller>, too.
    #[arg(long)]
    pub(super) soft_limits: bool,
}

impl ArmOptions {
    /// Reads the description and takes the chain from it; warnings go to standard error.
    pub(super) fn load(&self) -> Result<(RobotModel, Chain), CliError> {
        let model = read_model(&self.urdf)?;
        for warning in &model.warnings {
            errln!("arm-planner: warning: {warning}");
        }
        let chain = model
            .chain(&self.base, &self.tip, self.soft_limits)
            .map_err(|error| CliError::BadInput(error.to_string()))?;
        Ok((model, chain))
    }
}

/// Reads and checks a robot description.
pub(super) fn read_model(path: &Path) -> Result<RobotModel, CliError> {
    RobotModel::from_urdf(&read_text(path)?)
        .map_err(|error| CliError::BadInput(format!("{}: {error}", path.display())))
}

/// The text of a file.
pub(super) fn read_text(path: &Path) -> Result<String, CliError> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|source| CliError::File {
        path: name.clone(),
        source,
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::BadInput(format!(
            "{name}: not UTF-8 from byte {at} on: save the file as UTF-8"
        ))
    })
}

/// Writes a file.
pub(super) fn write_text(path: &Path, text: &str) -> Result<(), CliError> {
    std::fs::write(path, text).map_err(|source| CliError::File {
        path: path.display().to_string(),
        source,
    })
}

/// Numbers separated by commas or blanks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Numbers(pub(super) Vec<f64>);

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(|c: char| c == ',' || c.is_whitespace())
            .filter(|word| !word.is_empty())
            .map(|word| {
                word.parse::<f64>()
                    .map_err(|_| format!("\"{word}\" is not a number"))
            })
            .collect::<Result<_, _>>()
            .map(Numbers)
    }
}

impl Numbers {
    /// Exactly `N` numbers.
    pub(super) fn exactly<const N: usize>(&self, option: &str) -> Result<[f64; N], CliError> {
        self.0.clone().try_into().map_err(|values: Vec<f64>| {
            CliError::BadInput(format!(
                "{option} takes {N} numbers separated by commas, not {}",
                values.len()
            ))
        })
    }
}

/// Joint values: plain numbers in the chain's order, or `joint=value` pairs in any order.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum JointValues {
    /// In the chain's order.
    Ordered(Vec<f64>),
    /// By name.
    Named(Vec<String>, Vec<f64>),
}

impl FromStr for JointValues {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains('=') {
            return Numbers::from_str(text).map(|numbers| JointValues::Ordered(numbers.0));
        }
        let mut names = Vec::new();
        let mut values = Vec::new();
        for pair in text
            .split(',')
            .map(str::trim)
            .filter(|pair| !pair.is_empty())
        {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("\"{pair}\" is not of the form joint=value"))?;
            names.push(name.trim().to_owned());
            values.push(
                value
                    .trim()
                    .parse()
                    .map_err(|_| format!("\"{value}\" is not a number"))?,
            );
        }
        Ok(JointValues::Named(names, values))
    }
}

impl JointValues {
    /// In the chain's order; joints that are not named take `fallback`'s values.
    pub(super) fn resolve(
        &self,
        chain: &Chain,
        option: &str,
        fallback: &[f64],
    ) -> Result<Vec<f64>, CliError> {
        match self {
            JointValues::Ordered(values) if values.len() == chain.dof() => Ok(values.clone()),
            JointValues::Ordered(values) => Err(CliError::BadInput(format!(
                "{option} has {} values, the chain has {} degrees of freedom: {}",
                values.len(),
                chain.dof(),
                chain.joint_names().join(", ")
            ))),
            JointValues::Named(names, values) => {
                if let Some(unknown) = names.iter().find(|name| chain.dof_index(name).is_none()) {
                    return Err(CliError::BadInput(format!(
                        "{option} names \"{unknown}\", which does not move the tip; joints: {}",
                        chain.joint_names().join(", ")
                    )));
                }
                let (values, warnings) =
                    crate::ik::seed_from_names(chain, names, values, Some(fallback))
                        .map_err(|error| CliError::BadInput(error.to_string()))?;
                for warning in warnings {
                    errln!("arm-planner: warning: {warning}");
                }
                Ok(values)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_pairs() {
        assert_eq!("1, -2.5 3e-1".parse(), Ok(Numbers(vec![1.0, -2.5, 0.3])));
        assert_eq!(
            "1,x".parse::<Numbers>(),
            Err("\"x\" is not a number".into())
        );
        assert_eq!(
            "b = 1, a=2".parse(),
            Ok(JointValues::Named(
                vec!["b".into(), "a".into()],
                vec![1.0, 2.0]
            ))
        );
        assert!("b=1,2".parse::<JointValues>().is_err());
        assert!(Numbers(vec![1.0]).exactly::<3>("--position").is_err());
    }
}
