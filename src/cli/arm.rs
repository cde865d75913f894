//! What several commands share: the arm's options, lists of numbers, files.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use super::output::tidy;
use super::CliError;
use crate::kinematics::{validated_pose, Pose};
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
    let text = read_text(path)?;
    RobotModel::from_urdf(&text).map_err(|error| {
        let hint = match ["<disable_collisions", "<virtual_joint"]
            .iter()
            .any(|element| text.contains(element))
        {
            true => "; it looks like an SRDF: give the URDF",
            false => "",
        };
        CliError::BadInput(format!("{}: {error}{hint}", path.display()))
    })
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

/// How long each plan, path or pair may take.
#[derive(Debug, clap::Args)]
pub(super) struct TimeLimit {
    /// Give up after this time (s); in a batch, on each item.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10.0,
        allow_negative_numbers = true
    )]
    pub(super) timeout: f64,
}

impl TimeLimit {
    pub(super) fn budget(&self) -> Result<Duration, CliError> {
        time_budget(self.timeout)
    }
}

/// The time that a `--timeout` of so many seconds leaves; more than clocks count is no limit.
pub(super) fn time_budget(seconds: f64) -> Result<Duration, CliError> {
    if seconds > 0.0 {
        Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    } else {
        Err(CliError::BadInput(format!(
            "--timeout must be a time above zero, not {seconds} s"
        )))
    }
}

/// Smallest and largest velocity, acceleration or jerk that anybody means \[SI units\]: numbers beyond are slips, and
/// in motions between them and others digits run out.
const LIMITS: std::ops::RangeInclusive<f64> = 1e-4..=1e6;

/// Whether a limit on velocity, acceleration or jerk can be meant, `what` being the option or field that holds it.
pub(super) fn check_limit(what: &str, value: f64) -> Result<(), CliError> {
    if LIMITS.contains(&value) {
        Ok(())
    } else {
        Err(CliError::BadInput(format!(
            "{what} must be between {:e} and {:e}, not {value}",
            LIMITS.start(),
            LIMITS.end()
        )))
    }
}

/// Farther from the origin \[m\] there is nothing: the planar world ends there, too.
pub(super) const FARTHEST: f64 = crate::planar::polygon::MAX_COORDINATE;

/// A pose from a position \[m\] and a quaternion of any length but zero, `what` being the option that holds them.
pub(super) fn pose(
    what: &str,
    position: [f64; 3],
    quaternion: impl Into<[f64; 4]>,
) -> Result<Pose, CliError> {
    // What is no number is told by the pose itself.
    if let Some(far) = position.iter().find(|value| value.abs() > FARTHEST) {
        return Err(CliError::BadInput(format!(
            "{what}: the coordinate {far} is not within {FARTHEST:e} m"
        )));
    }
    validated_pose(position, quaternion.into())
        .map_err(|error| CliError::BadInput(format!("{what}: {error}")))
}

/// Writes a file.
pub(super) fn write_text(path: &Path, text: &str) -> Result<(), CliError> {
    std::fs::write(path, tidy(text).as_bytes()).map_err(|source| CliError::File {
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

    #[test]
    fn times_and_limits_that_nobody_means_are_refused() {
        assert_eq!(time_budget(0.5).unwrap(), Duration::from_millis(500));
        assert_eq!(time_budget(1e300).unwrap(), Duration::MAX);
        assert_eq!(time_budget(f64::INFINITY).unwrap(), Duration::MAX);
        for seconds in [0.0, -1.0, f64::NAN] {
            assert!(time_budget(seconds).is_err());
        }
        assert!(check_limit("amax", 3.0).is_ok());
        for value in [0.0, 1e-300, 1e300, f64::INFINITY, f64::NAN, -1.0] {
            let error = check_limit("amax", value).unwrap_err().to_string();
            assert!(
                error.contains("amax must be between 1e-4 and 1e6"),
                "{error}"
            );
        }
    }
}
