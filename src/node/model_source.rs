//! Where the robot description comes from, and the arm that is taken from it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::collision::MeshStore;
use crate::resource::{load_meshes, ResourcePaths};

use super::parameter_values::ParameterError;
use super::parameters::Parameters;
use crate::model::{
    did_you_mean, Chain, ChainError, JointKind, ModelError, RobotModel, Srdf, SrdfError,
};

/// A robot description that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SourceError {
    /// The file cannot be read.
    #[error("parameter urdf_file: cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: String,
    },
    /// No file of that name is found.
    #[error("parameter {parameter}: \"{name}\": {error}")]
    NotFound {
        /// Which parameter names it.
        parameter: &'static str,
        /// What was given.
        name: String,
        /// Where it was looked for.
        error: String,
    },
    /// The SRDF cannot be read.
    #[error("parameter srdf_file: {}: {error}", path.display())]
    Srdf {
        /// The file.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// The description is broken.
    #[error("{origin}: {error}")]
    Model {
        /// Where it came from.
        origin: String,
        /// Why.
        error: Box<ModelError>,
    },
    /// The arm cannot be taken from it.
    #[error("{origin}: {error}")]
    Chain {
        /// Where it came from.
        origin: String,
        /// Why.
        error: Box<ChainError>,
    },
    /// A parameter does not fit the arm.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// The SRDF that the parameter names, if it does.
///
/// # Errors
/// [`SourceError::NotFound`], [`SourceError::Srdf`].
pub fn srdf(parameters: &Parameters, places: &ResourcePaths) -> Result<Option<Srdf>, SourceError> {
    let file = &parameters.collision.srdf_file;
    if file.is_empty() {
        return Ok(None);
    }
    let path = located("srdf_file", file, places)?;
    let unusable = |error: String| SourceError::Srdf {
        path: path.clone(),
        error,
    };
    let text = std::fs::read_to_string(&path).map_err(|error| unusable(error.to_string()))?;
    let parsed = Srdf::parse(&text).map_err(|error: SrdfError| unusable(error.to_string()))?;
    Ok(Some(parsed))
}

/// Where the description is to come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// It is here already.
    Text {
        /// URDF.
        text: String,
        /// For messages.
        origin: String,
        /// The file that it came from, if it did.
        file: Option<PathBuf>,
    },
    /// The latched topic `robot_description`.
    Topic,
}

impl Source {
    /// The source that the parameters name; reads the file.
    ///
    /// # Errors
    /// [`SourceError::Unreadable`] and [`SourceError::NotFound`].
    pub fn find(parameters: &Parameters, places: &ResourcePaths) -> Result<Source, SourceError> {
        if !parameters.urdf_file.is_empty() {
            let path = located("urdf_file", &parameters.urdf_file, places)?;
            let text = std::fs::read_to_string(&path).map_err(|error| SourceError::Unreadable {
                path: path.clone(),
                error: error.to_string(),
            })?;
            return Ok(Source::Text {
                text,
                origin: path.display().to_string(),
                file: Some(path),
            });
        }
        if parameters.robot_description.is_empty() {
            return Ok(Source::Topic);
        }
        Ok(Source::Text {
            text: parameters.robot_description.clone(),
            origin: "parameter robot_description".to_owned(),
            file: None,
        })
    }
}

/// The path behind a path, `file://` or `package://`.
fn located(
    parameter: &'static str,
    file: &str,
    places: &ResourcePaths,
) -> Result<PathBuf, SourceError> {
    places.locate(file).map_err(|error| SourceError::NotFound {
        parameter,
        name: file.to_owned(),
        error: error.to_string(),
    })
}

/// A robot and its arm; immutable.
#[derive(Debug, Clone, PartialEq)]
pub struct Robot {
    /// The whole robot.
    pub model: RobotModel,
    /// The arm.
    pub chain: Arc<Chain>,
    /// The controller's joints in its order.
    pub controller_joints: Vec<String>,
    /// The meshes that its description names.
    pub meshes: Arc<MeshStore>,
    soft_limits: bool,
}

impl Robot {
    /// Reads a description and takes the arm from it that the parameters name.
    ///
    /// # Errors
    /// See [`SourceError`].
    pub fn new(text: &str, origin: &str, parameters: &Parameters) -> Result<Robot, SourceError> {
        let model = RobotModel::from_urdf(text).map_err(|error| SourceError::Model {
            origin: origin.to_owned(),
            error: Box::new(error),
        })?;
        let soft_limits = parameters.use_soft_limits;
        let chain = model
            .chain(&parameters.base_link, &parameters.tip_link, soft_limits)
            .map_err(|error| SourceError::Chain {
                origin: origin.to_owned(),
                error: Box::new(error),
            })?;
        parameters.check_lengths(&chain)?;
        let controller_joints = controller_joints(parameters, &model, &chain)?;
        Ok(Robot {
            model,
            chain: Arc::new(chain),
            controller_joints,
            meshes: Arc::default(),
            soft_limits,
        })
    }

    /// With the meshes that the description names, as far as they are found: beside the file that it
    /// came from, in the packages of the environment, and in the folders that the parameters name.
    #[must_use]
    pub fn with_meshes(mut self, parameters: &Parameters, file: Option<&Path>) -> Robot {
        let extra: Vec<PathBuf> = parameters
            .collision
            .mesh_paths
            .iter()
            .map(PathBuf::from)
            .collect();
        self.meshes = Arc::new(load_meshes(&self.model, file, &extra));
        self
    }

    /// The chain from the arm's base to another link; empty means the arm itself.
    ///
    /// # Errors
    /// See [`ChainError`].
    pub fn chain_to(&self, tip: &str) -> Result<Arc<Chain>, ChainError> {
        if tip.is_empty() || tip == self.chain.tip {
            return Ok(Arc::clone(&self.chain));
        }
        self.model
            .chain(&self.chain.base, tip, self.soft_limits)
            .map(Arc::new)
    }

    /// Joints of the robot that have a value of their own: neither fixed nor followers.
    pub fn free_joints(&self) -> impl Iterator<Item = (usize, &crate::model::Joint)> {
        self.model.joints.iter().enumerate().filter(|(_, joint)| {
            joint.mimic.is_none()
                && matches!(
                    joint.kind,
                    JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic
                )
        })
    }
}

fn controller_joints(
    parameters: &Parameters,
    model: &RobotModel,
    chain: &Chain,
) -> Result<Vec<String>, ParameterError> {
    if parameters.controller.joints.is_empty() {
        return Ok(chain.joint_names());
    }
    let given = &parameters.controller.joints;
    let not_allowed = |allowed: String| ParameterError::NotAllowed {
        name: "controller_joints".to_owned(),
        value: format!("{given:?}"),
        allowed,
    };
    for (index, name) in given.iter().enumerate() {
        if model.joint_index(name).is_none() {
            let names: Vec<&str> = model
                .joints
                .iter()
                .map(|joint| joint.name.as_str())
                .collect();
            let hint = did_you_mean(name, names.iter().copied());
            return Err(not_allowed(format!(
                "a list of the robot's joints (\"{name}\" is none{hint})"
            )));
        }
        if given.iter().take(index).any(|other| other == name) {
            return Err(not_allowed(format!(
                "a list without repetition (\"{name}\" is there twice)"
            )));
        }
    }
    let lacking: Vec<String> = chain
        .joint_names()
        .into_iter()
        .filter(|name| !given.contains(name))
        .collect();
    if lacking.is_empty() {
        Ok(given.clone())
    } else {
        Err(not_allowed(format!(
            "a list with all joints of the arm ({} missing)",
            lacking.join(", ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::parameter_values::defaults;
    use r2r::ParameterValue;

    const TWO_TIPS: &str = r#"<robot name="r"><link name="base"/><link name="a"/><link name="b"/>
        <joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint>
        <joint name="k" type="continuous"><parent link="base"/><child link="b"/></joint></robot>"#;

    fn parameters(list: &[(&'static str, ParameterValue)]) -> Parameters {
        let mut values = defaults();
        values.extend(list.iter().cloned());
        Parameters::new(&values)
    }

    fn text(text: &str) -> ParameterValue {
        ParameterValue::String(text.into())
    }

    #[test]
    fn sources_go_in_their_order_and_say_what_is_missing() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/faults");
        let file = format!("{folder}/js_nan_fields.urdf");
        let both = parameters(&[
            ("urdf_file", text(&file)),
            ("robot_description", text("<robot/>")),
        ]);
        let nowhere = ResourcePaths::default();
        let Source::Text {
            text: urdf, origin, ..
        } = Source::find(&both, &nowhere).unwrap()
        else {
            panic!()
        };
        assert!(urdf.contains("<robot") && origin == file);
        let only = parameters(&[("robot_description", text("<robot/>"))]);
        assert!(
            matches!(Source::find(&only, &nowhere), Ok(Source::Text { origin, .. }) if origin.contains("robot_description"))
        );
        assert_eq!(Source::find(&parameters(&[]), &nowhere), Ok(Source::Topic));
        let gone =
            Source::find(&parameters(&[("urdf_file", text("gone.urdf"))]), &nowhere).unwrap_err();
        assert!(gone.to_string().contains("cannot read gone.urdf"), "{gone}");
        let package = parameters(&[("urdf_file", text("package://nowhere/arm.urdf"))]);
        let gone = Source::find(&package, &nowhere).unwrap_err();
        assert!(gone.to_string().contains("nowhere"), "{gone}");
        assert!(gone.to_string().contains("urdf_file"), "{gone}");
    }

    #[test]
    fn packages_are_found_under_share() {
        let folder = std::env::temp_dir().join(format!("arm_planner_share_{}", std::process::id()));
        let share = folder.join("share/some_arm");
        std::fs::create_dir_all(share.join("urdf")).unwrap();
        std::fs::write(share.join("urdf/a b.urdf"), "<robot/>").unwrap();
        let places = ResourcePaths {
            packages: vec![PathBuf::from("/nowhere"), folder.clone()],
            urdf_folder: None,
        };
        let found = [
            "package://some_arm/urdf/a%20b.urdf",
            "package://some_arm/none",
        ]
        .map(|name| located("urdf_file", name, &places));
        std::fs::remove_dir_all(&folder).unwrap();
        let [found, missing] = found;
        assert_eq!(found, Ok(share.join("urdf/a b.urdf")));
        let missing = missing.unwrap_err().to_string();
        assert!(missing.contains("share/some_arm/none"), "{missing}");
    }

    #[test]
    fn an_arm_must_be_named_where_there_are_several() {
        let error = Robot::new(TWO_TIPS, "here", &parameters(&[]))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("here: ") && error.contains("a, b"),
            "{error}"
        );
        let robot = Robot::new(TWO_TIPS, "here", &parameters(&[("tip_link", text("b"))])).unwrap();
        assert_eq!(robot.controller_joints, ["k"]);
        assert_eq!(robot.chain_to("").unwrap().tip, "b");
        assert_eq!(robot.chain_to("a").unwrap().joint_names(), ["j"]);
        assert!(robot.chain_to("c").is_err());
        assert_eq!(robot.free_joints().count(), 2);
    }

    #[test]
    fn controller_joints_must_hold_the_arm() {
        let with = |joints: &[&str]| {
            let joints = joints.iter().map(|name| (*name).to_owned()).collect();
            let list = ParameterValue::StringArray(joints);
            let parameters = parameters(&[("tip_link", text("b")), ("controller_joints", list)]);
            Robot::new(TWO_TIPS, "here", &parameters).map_err(|error| error.to_string())
        };
        assert_eq!(with(&["j", "k"]).unwrap().controller_joints, ["j", "k"]);
        assert!(with(&["j"]).unwrap_err().contains("k missing"));
        assert!(with(&["k", "q"]).unwrap_err().contains("\"q\" is none"));
        assert!(with(&["k", "k"]).unwrap_err().contains("twice"));
    }
}
