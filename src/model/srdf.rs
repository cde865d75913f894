//! What an SRDF says about collisions: which pairs of links need not be looked at.

use super::hint::did_you_mean;
use super::xml::{Document, Element};
use super::{ModelError, RobotModel};

/// An SRDF that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SrdfError {
    /// The text is not XML.
    #[error("the SRDF is not well-formed XML: {0}")]
    Xml(String),
    /// The text is XML but not an SRDF.
    #[error("the SRDF's root element is <{found}>, not <robot>: is this the right file?")]
    NotARobot {
        /// The root element found.
        found: String,
    },
    /// A robot's links and joints, not what an SRDF says about them.
    #[error("line {line}: <{element}> describes the robot itself, so this is a URDF, not an SRDF: give the file with the <disable_collisions> of this robot")]
    IsUrdf {
        /// Line, from 1.
        line: u32,
        /// The element.
        element: String,
    },
    /// An element without a name that it must have.
    #[error("line {line} of the SRDF: <{element}> lacks the attribute '{attribute}'")]
    Missing {
        /// Line, from 1.
        line: u32,
        /// The element.
        element: String,
        /// What it lacks.
        attribute: &'static str,
    },
}

/// A link that an SRDF names and the robot has not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the SRDF names link \"{link}\", which the robot has not{hint}: the line is left out")]
pub struct SrdfWarning {
    /// Line, from 1.
    pub line: u32,
    /// The name.
    pub link: String,
    /// `; did you mean …?` or empty.
    pub hint: String,
}

/// A line of an SRDF about two links.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pair {
    line: u32,
    links: [String; 2],
}

/// The collision part of an SRDF; groups, states and end effectors are not read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Srdf {
    disabled: Vec<Pair>,
    enabled: Vec<Pair>,
    /// Links that meet nothing unless an enabled pair says so, with their lines.
    default_disabled: Vec<(u32, String)>,
}

impl Srdf {
    /// Reads `disable_collisions`, `disable_default_collisions` and `enable_collisions`.
    ///
    /// # Errors
    /// [`SrdfError`].
    pub fn parse(text: &str) -> Result<Srdf, SrdfError> {
        let document = Document::parse(text).map_err(|error| match error {
            ModelError::Xml {
                line,
                column,
                message,
            } => SrdfError::Xml(format!("line {line}, column {column}: {message}")),
            ModelError::Empty => SrdfError::Xml("it is empty".into()),
            other => SrdfError::Xml(other.to_string()),
        })?;
        let Some(root) = document.root() else {
            return Err(SrdfError::Xml("it is empty".into()));
        };
        if root.name != "robot" {
            return Err(SrdfError::NotARobot {
                found: root.qualified(),
            });
        }
        let mut srdf = Srdf::default();
        for element in document.children(root) {
            match element.name.as_str() {
                "disable_collisions" => srdf.disabled.push(pair(element)?),
                // In an SRDF these stand within groups alone.
                "link" | "joint" | "material" | "transmission" => {
                    return Err(SrdfError::IsUrdf {
                        line: element.line,
                        element: element.name.clone(),
                    })
                }
                "enable_collisions" => srdf.enabled.push(pair(element)?),
                "disable_default_collisions" => {
                    let link = named(element, "link")?;
                    srdf.default_disabled.push((element.line, link));
                }
                _ => {}
            }
        }
        Ok(srdf)
    }

    /// The pairs of links of `model` that need not be looked at, and the names that it has not.
    pub fn allowed_pairs(&self, model: &RobotModel) -> (Vec<(String, String)>, Vec<SrdfWarning>) {
        let mut warnings = Vec::new();
        let mut known = |line: u32, link: &String| {
            let found = model.link_index(link).is_some();
            if !found {
                let names = model.links.iter().map(|link| link.name.as_str());
                warnings.push(SrdfWarning {
                    line,
                    link: link.clone(),
                    hint: did_you_mean(link, names),
                });
            }
            found
        };
        let mut known_pair = |pair: &&Pair| {
            // Both, so that both are told.
            let [first, second] = pair.links.each_ref().map(|link| known(pair.line, link));
            first && second
        };
        let both = |pair: &Pair| (pair.links[0].clone(), pair.links[1].clone());
        let mut allowed: Vec<(String, String)> = self
            .disabled
            .iter()
            .filter(&mut known_pair)
            .map(both)
            .collect();
        let enabled: Vec<(String, String)> = self
            .enabled
            .iter()
            .filter(&mut known_pair)
            .map(both)
            .collect();
        for (line, link) in &self.default_disabled {
            if !known(*line, link) {
                continue;
            }
            let others = model.links.iter().filter(|other| other.name != *link);
            allowed.extend(others.map(|other| (link.clone(), other.name.clone())));
        }
        allowed.retain(|(a, b)| {
            !enabled
                .iter()
                .any(|(x, y)| (x == a && y == b) || (x == b && y == a))
        });
        (allowed, warnings)
    }
}

fn named(element: &Element, attribute: &'static str) -> Result<String, SrdfError> {
    let found = element.attribute(attribute).map(|found| found.value.trim());
    match found {
        Some(name) if !name.is_empty() => Ok(name.to_owned()),
        _ => Err(SrdfError::Missing {
            line: element.line,
            element: element.name.clone(),
            attribute,
        }),
    }
}

fn pair(element: &Element) -> Result<Pair, SrdfError> {
    Ok(Pair {
        line: element.line,
        links: [named(element, "link1")?, named(element, "link2")?],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn robot() -> RobotModel {
        RobotModel::from_urdf(
            r#"<robot name="r"><link name="base"/><link name="arm"/><link name="hand"/>
            <joint name="a" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
            <joint name="b" type="continuous"><parent link="arm"/><child link="hand"/><axis xyz="0 0 1"/></joint></robot>"#,
        )
        .unwrap()
    }

    fn pairs(text: &str) -> (Vec<(String, String)>, Vec<SrdfWarning>) {
        Srdf::parse(text).unwrap().allowed_pairs(&robot())
    }

    #[test]
    fn disabled_pairs_are_read_and_unknown_links_told() {
        let (allowed, warnings) = pairs(
            "<robot name=\"r\"><group name=\"g\"><joint name=\"a\"/></group>\n\
             <disable_collisions link1=\"base\" link2=\"arm\" reason=\"Adjacent\"/>\n\
             <disable_collisions link1=\"base\" link2=\"hnad\"/></robot>",
        );
        assert_eq!(allowed, [("base".into(), "arm".into())]);
        assert_eq!(warnings.len(), 1);
        assert_eq!((warnings[0].line, warnings[0].link.as_str()), (3, "hnad"));
        assert!(warnings[0].to_string().contains("did you mean \"hand\""));
    }

    #[test]
    fn links_disabled_by_default_meet_what_is_enabled_only() {
        let (allowed, warnings) = pairs(
            r#"<robot name="r"><disable_default_collisions link="hand"/>
            <enable_collisions link1="base" link2="hand"/></robot>"#,
        );
        assert_eq!(allowed, [("hand".into(), "arm".into())]);
        assert!(warnings.is_empty());
    }

    #[test]
    fn what_is_no_srdf_is_refused() {
        let refused = |text: &str| Srdf::parse(text).unwrap_err().to_string();
        assert!(refused("").contains("empty"));
        assert!(refused("<robot>").contains("never closed"));
        assert!(refused("<sdf/>").contains("<sdf>"));
        let urdf = refused("<robot name=\"r\">\n<link name=\"base\"/></robot>");
        assert!(urdf.contains("line 2") && urdf.contains("URDF"), "{urdf}");
        let lacks = refused("<robot>\n<disable_collisions link1=\"a\"/></robot>");
        assert!(
            lacks.contains("line 2") && lacks.contains("link2"),
            "{lacks}"
        );
    }
}
