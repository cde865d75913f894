//! From a user's URDF to one that the parser behind cannot misread.
//!
//! `urdf_rs` by itself takes duplicate names, zero axes, reversed limits and NaN in silence, reads
//! a revolute joint without limits as locked, and refuses a whole robot for a missing velocity, a
//! partial `<inertial>` or an unbound prefix. Here everything that matters to kinematics and
//! collision is checked and named, what does not matter is left out, and a plain text is written
//! in which every number is present and finite.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::numbers::{number, optional_number, vector, words};
use super::xml::{encode, qualified, Document, Element};
use super::{ModelError, ModelWarning};

/// A checked text, and what was forgiven on the way to it.
pub(super) struct Cleaned {
    pub urdf: String,
    pub warnings: Vec<ModelWarning>,
}

/// Checks `text` and rewrites it.
pub(super) fn clean(text: &str) -> Result<Cleaned, ModelError> {
    let document = Document::parse(text)?;
    let Some(root) = document.root() else {
        return Err(ModelError::Empty);
    };
    if root.name != "robot" || !root.prefix.is_empty() {
        return Err(ModelError::NotARobot {
            found: root.qualified(),
        });
    }
    let mut cleaner = Cleaner {
        document: &document,
        declared: document.declared_prefixes(),
        urdf: String::new(),
        warnings: Vec::new(),
    };
    cleaner.robot(root)?;
    Ok(Cleaned {
        urdf: cleaner.urdf,
        warnings: cleaner.warnings,
    })
}

struct Cleaner<'a> {
    document: &'a Document,
    declared: Vec<&'a str>,
    urdf: String,
    warnings: Vec<ModelWarning>,
}

/// What an element is called in messages.
fn describe(kind: &str, name: &str) -> String {
    format!("<{kind}> \"{name}\"")
}

impl<'a> Cleaner<'a> {
    fn robot(&mut self, root: &'a Element) -> Result<(), ModelError> {
        self.prefixes()?;
        let name = root
            .attribute("name")
            .map_or("", |attribute| attribute.value.as_str());
        self.urdf
            .push_str(&format!("<robot name=\"{}\">\n", encode(name)));
        let mut seen: HashMap<(&str, &str), u32> = HashMap::new();
        for element in self
            .document
            .children(root)
            .filter(|element| element.prefix.is_empty())
        {
            let what = match element.name.as_str() {
                "link" => "link",
                "joint" => "joint",
                _ => continue,
            };
            self.no_xacro(element)?;
            let name = self.required(element, what, "name", "its name=\"…\"")?;
            if let Some(first) = seen.insert((what, name), element.line) {
                return Err(ModelError::DuplicateName {
                    what,
                    name: name.to_owned(),
                    first,
                    second: element.line,
                });
            }
            if what == "link" {
                self.link(element, name)?;
            } else {
                self.joint(element, name)?;
            }
        }
        self.urdf.push_str("</robot>\n");
        Ok(())
    }

    /// Names undeclared prefixes once each, and refuses xacro that makes parts of the robot.
    fn prefixes(&mut self) -> Result<(), ModelError> {
        let mut named: Vec<&str> = Vec::new();
        for element in &self.document.elements {
            // Properties and arguments make nothing by themselves: leftovers of an expansion.
            let harmless = ["property", "arg"].contains(&element.name.as_str());
            if element.prefix == "xacro" && !harmless {
                return Err(ModelError::UnexpandedXacro {
                    line: element.line,
                    text: format!("<{}>", element.qualified()),
                });
            }
            let attributes = element
                .attributes
                .iter()
                .map(|a| (a.prefix.as_str(), a.name.as_str(), a.line));
            let own =
                std::iter::once((element.prefix.as_str(), element.name.as_str(), element.line));
            for (prefix, name, line) in own.chain(attributes) {
                let unbound = !prefix.is_empty() && !self.declared.contains(&prefix);
                if unbound && !named.contains(&prefix) {
                    named.push(prefix);
                    self.warnings.push(ModelWarning::UnboundPrefix {
                        line,
                        name: qualified(prefix, name),
                    });
                }
            }
        }
        Ok(())
    }

    /// Refuses `${…}` and `$(…)` anywhere below a link or joint.
    fn no_xacro(&self, top: &'a Element) -> Result<(), ModelError> {
        let mut waiting = vec![top];
        while let Some(element) = waiting.pop() {
            for attribute in &element.attributes {
                if attribute.value.contains("${") || attribute.value.contains("$(") {
                    return Err(ModelError::UnexpandedXacro {
                        line: attribute.line,
                        text: format!("{}=\"{}\"", attribute.name, attribute.value),
                    });
                }
            }
            waiting.extend(self.document.children(element));
        }
        Ok(())
    }

    fn required(
        &self,
        element: &'a Element,
        kind: &str,
        attribute: &str,
        missing: &str,
    ) -> Result<&'a str, ModelError> {
        match element.attribute(attribute) {
            Some(found) if !found.value.trim().is_empty() => Ok(&found.value),
            _ => Err(ModelError::Missing {
                line: element.line,
                element: format!("a <{kind}>"),
                missing: missing.to_owned(),
            }),
        }
    }

    /// The first child called `name`; further ones are ignored and named.
    fn child(&mut self, element: &'a Element, owner: &str, name: &str) -> Option<&'a Element> {
        let mut found = self
            .document
            .children(element)
            .filter(|child| child.prefix.is_empty() && child.name == name);
        let first = found.next();
        if let Some(second) = found.next() {
            self.warnings.push(ModelWarning::Ignored {
                line: second.line,
                element: format!("<{name}> of {owner}"),
                problem: "there twice".to_owned(),
            });
        }
        first
    }

    fn link(&mut self, element: &'a Element, name: &str) -> Result<(), ModelError> {
        self.urdf
            .push_str(&format!("  <link name=\"{}\">\n", encode(name)));
        let owner = describe("link", name);
        for kind in ["visual", "collision"] {
            for shape in self.document.children(element) {
                if shape.prefix.is_empty() && shape.name == kind {
                    self.shape(shape, kind, &owner)?;
                }
            }
        }
        self.urdf.push_str("  </link>\n");
        Ok(())
    }

    fn shape(&mut self, element: &'a Element, kind: &str, owner: &str) -> Result<(), ModelError> {
        let place = format!("<{kind}> of {owner}");
        let ignored = |line: u32, problem: String| ModelWarning::Ignored {
            line,
            element: place.clone(),
            problem,
        };
        let Some(geometry) = self.child(element, &place, "geometry") else {
            self.warnings
                .push(ignored(element.line, "without <geometry>".to_owned()));
            return Ok(());
        };
        let Some(solid) = self
            .document
            .children(geometry)
            .find(|child| child.prefix.is_empty())
        else {
            self.warnings
                .push(ignored(geometry.line, "an empty <geometry>".to_owned()));
            return Ok(());
        };
        let place = format!("<{}> in {place}", solid.name);
        let sizes: &[&str] = match solid.name.as_str() {
            "cylinder" | "capsule" => &["radius", "length"],
            "sphere" => &["radius"],
            "box" | "mesh" => &[],
            other => {
                let problem = format!("of the unknown shape <{other}>");
                self.warnings.push(ignored(solid.line, problem));
                return Ok(());
            }
        };
        let mut text = String::new();
        for size in sizes {
            let found = solid.attribute(size).ok_or_else(|| ModelError::Missing {
                line: solid.line,
                element: place.clone(),
                missing: format!("{size}=\"…\""),
            })?;
            let value = number(found, &place)?;
            if value < 0.0 {
                return Err(ModelError::InvalidNumber {
                    line: found.line,
                    element: place,
                    attribute: found.name.clone(),
                    text: found.value.clone(),
                    hint: " (it must not be negative)".to_owned(),
                });
            }
            let _ = write!(text, " {size}=\"{value:?}\"");
        }
        match solid.name.as_str() {
            "box" => {
                let found = solid.attribute("size").ok_or_else(|| ModelError::Missing {
                    line: solid.line,
                    element: place.clone(),
                    missing: "size=\"x y z\"".to_owned(),
                })?;
                let size = vector::<3>(found, &place)?;
                let _ = write!(text, " size=\"{}\"", words(&size));
            }
            "mesh" => {
                let file = self.required(solid, "mesh", "filename", "its filename=\"…\"")?;
                let scale = match solid.attribute("scale") {
                    Some(found) => vector::<3>(found, &place)?,
                    None => [1.0; 3],
                };
                let _ = write!(
                    text,
                    " filename=\"{}\" scale=\"{}\"",
                    encode(file),
                    words(&scale)
                );
            }
            _ => {}
        }
        let origin = self.origin(element, &place)?;
        let solid = &solid.name;
        self.urdf.push_str(&format!(
            "    <{kind}>{origin}<geometry><{solid}{text}/></geometry></{kind}>\n"
        ));
        Ok(())
    }

    fn origin(&mut self, element: &'a Element, owner: &str) -> Result<String, ModelError> {
        let mut parts = [[0.0; 3]; 2];
        if let Some(origin) = self.child(element, owner, "origin") {
            let place = format!("<origin> of {owner}");
            for (part, name) in parts.iter_mut().zip(["xyz", "rpy"]) {
                if let Some(found) = origin.attribute(name) {
                    *part = vector::<3>(found, &place)?;
                }
            }
        }
        Ok(format!(
            "<origin xyz=\"{}\" rpy=\"{}\"/>",
            words(&parts[0]),
            words(&parts[1])
        ))
    }

    fn joint(&mut self, element: &'a Element, name: &str) -> Result<(), ModelError> {
        let owner = describe("joint", name);
        let missing = |missing: &str| ModelError::Missing {
            line: element.line,
            element: owner.clone(),
            missing: missing.to_owned(),
        };
        let kind = element
            .attribute("type")
            .ok_or_else(|| missing("its type=\"…\""))?
            .value
            .trim();
        let known = [
            "revolute",
            "continuous",
            "prismatic",
            "fixed",
            "floating",
            "planar",
        ];
        if !known.contains(&kind) {
            return Err(ModelError::UnknownJointType {
                joint: name.to_owned(),
                text: kind.to_owned(),
            });
        }
        let mut text = format!("  <joint name=\"{}\" type=\"{kind}\">", encode(name));
        text.push_str(&self.origin(element, &owner)?);
        for role in ["parent", "child"] {
            let link = self
                .child(element, &owner, role)
                .and_then(|found| found.attribute("link"))
                .filter(|link| !link.value.trim().is_empty())
                .ok_or_else(|| missing(&format!("its <{role} link=\"…\"/>")))?;
            let _ = write!(text, "<{role} link=\"{}\"/>", encode(&link.value));
        }
        text.push_str(&self.axis(element, name, kind, &owner)?);
        text.push_str(&self.limit(element, name, kind, &owner)?);
        if let Some(mimic) = self.child(element, &owner, "mimic") {
            let place = format!("<mimic> of {owner}");
            let driver = self.required(mimic, "mimic", "joint", "its joint=\"…\"")?;
            let factor = optional_number(mimic, "multiplier", &place)?.unwrap_or(1.0);
            let offset = optional_number(mimic, "offset", &place)?.unwrap_or(0.0);
            let driver = encode(driver);
            let _ = write!(
                text,
                "<mimic joint=\"{driver}\" multiplier=\"{factor:?}\" offset=\"{offset:?}\"/>"
            );
        }
        if let Some(safety) = self.child(element, &owner, "safety_controller") {
            let place = format!("<safety_controller> of {owner}");
            let lower = optional_number(safety, "soft_lower_limit", &place)?;
            let upper = optional_number(safety, "soft_upper_limit", &place)?;
            // Left-out soft limits would default to zero and lock the joint: only a pair counts.
            if let (Some(lower), Some(upper)) = (lower, upper) {
                let _ = write!(
                    text,
                    "<safety_controller soft_lower_limit=\"{lower:?}\" soft_upper_limit=\"{upper:?}\" k_velocity=\"0.0\"/>"
                );
            }
        }
        text.push_str("</joint>\n");
        self.urdf.push_str(&text);
        Ok(())
    }

    fn axis(
        &mut self,
        element: &'a Element,
        name: &str,
        kind: &str,
        owner: &str,
    ) -> Result<String, ModelError> {
        let mut axis = [1.0, 0.0, 0.0];
        let given = self
            .child(element, owner, "axis")
            .and_then(|axis| axis.attribute("xyz"));
        if let Some(found) = given.filter(|_| kind != "fixed" && kind != "floating") {
            axis = vector::<3>(found, &format!("<axis> of {owner}"))?;
            let largest = axis.iter().fold(0.0_f64, |most, part| most.max(part.abs()));
            if largest == 0.0 {
                return Err(ModelError::ZeroAxis {
                    joint: name.to_owned(),
                });
            }
            // Scaled first: squares of huge or tiny parts would overflow or vanish.
            let scaled = axis.map(|part| part / largest);
            let norm = scaled.iter().map(|part| part * part).sum::<f64>().sqrt();
            let length = largest * norm;
            // Three written decimals are no reason to speak up.
            if (length - 1.0).abs() > 1e-3 {
                self.warnings.push(ModelWarning::AxisNormalised {
                    joint: name.to_owned(),
                    length,
                });
            }
            axis = scaled.map(|part| part / norm);
        }
        Ok(format!("<axis xyz=\"{}\"/>", words(&axis)))
    }

    fn limit(
        &mut self,
        element: &'a Element,
        name: &str,
        kind: &str,
        owner: &str,
    ) -> Result<String, ModelError> {
        let kind: &'static str = match kind {
            "revolute" => "revolute",
            "prismatic" => "prismatic",
            "continuous" => "continuous",
            _ => return Ok(String::new()),
        };
        let place = format!("<limit> of {owner}");
        let limit = self.child(element, owner, "limit");
        let get = |what: &str| match limit {
            Some(limit) => optional_number(limit, what, &place),
            None => Ok(None),
        };
        let (mut lower, mut upper) = (get("lower")?, get("upper")?);
        if kind == "continuous" {
            (lower, upper) = (None, None);
        } else if lower.is_none() && upper.is_none() {
            return Err(ModelError::MissingLimit {
                joint: name.to_owned(),
                kind,
            });
        }
        // URDF: a single limit left out is zero.
        let (lower, upper) = (lower.unwrap_or(0.0), upper.unwrap_or(0.0));
        if lower > upper {
            return Err(ModelError::ReversedLimits {
                joint: name.to_owned(),
                lower,
                upper,
            });
        }
        let (velocity, effort) = (get("velocity")?, get("effort")?);
        let found = |value: Option<f64>| {
            value.map_or("none given".to_owned(), |value| format!("{value} given"))
        };
        if !velocity.is_some_and(|velocity| velocity > 0.0) {
            let found = found(velocity);
            self.warnings.push(ModelWarning::NoVelocityLimit {
                joint: name.to_owned(),
                found,
            });
        }
        if !effort.is_some_and(|effort| effort > 0.0) {
            let found = found(effort);
            self.warnings.push(ModelWarning::NoEffortLimit {
                joint: name.to_owned(),
                found,
            });
        }
        let (velocity, effort) = (velocity.unwrap_or(0.0), effort.unwrap_or(0.0));
        Ok(format!(
            "<limit lower=\"{lower:?}\" upper=\"{upper:?}\" velocity=\"{velocity:?}\" effort=\"{effort:?}\"/>"
        ))
    }
}
