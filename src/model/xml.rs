//! A small document tree that keeps line numbers and forgives undeclared prefixes.
//!
//! Strict XML readers stop at `<xacro:property>` left over in a URDF, while the reader that
//! ROS uses does not notice; users compare with RViz. The nodes lie in one vector, so that
//! neither reading nor dropping a deep document recurses.

use xmlparser::{ElementEnd, StrSpan, Token, Tokenizer};

use super::ModelError;

/// An attribute with its prefix (empty for none).
#[derive(Debug, Clone)]
pub(super) struct Attribute {
    pub prefix: String,
    pub name: String,
    pub value: String,
    pub line: u32,
}

/// An element; text is not kept, URDF has none that matters.
#[derive(Debug, Clone)]
pub(super) struct Element {
    pub prefix: String,
    pub name: String,
    pub line: u32,
    pub attributes: Vec<Attribute>,
    pub children: Vec<usize>,
    parent: Option<usize>,
}

impl Element {
    /// Value and line of the attribute `name` without prefix.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes
            .iter()
            .find(|attribute| attribute.prefix.is_empty() && attribute.name == name)
    }

    /// The name as written.
    pub fn qualified(&self) -> String {
        qualified(&self.prefix, &self.name)
    }
}

/// A name with its prefix, as written.
pub(super) fn qualified(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}:{name}")
    }
}

/// A document: element 0 is the root.
#[derive(Debug)]
pub(super) struct Document {
    pub elements: Vec<Element>,
}

impl Document {
    /// Reads `text`.
    pub fn parse(text: &str) -> Result<Document, ModelError> {
        // A byte order mark is no part of the document.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim().is_empty() {
            return Err(ModelError::Empty);
        }
        let lines = Lines::new(text);
        let mut elements: Vec<Element> = Vec::new();
        let mut open: Option<usize> = None;
        let mut closed_root = false;
        for token in Tokenizer::from(text) {
            let token = token.map_err(|error| ModelError::Xml {
                line: error.pos().row,
                column: error.pos().col,
                message: error.to_string(),
            })?;
            match token {
                Token::ElementStart {
                    prefix,
                    local,
                    span,
                } => {
                    if closed_root {
                        return Err(lines.error(span, "a second root element".to_owned()));
                    }
                    let index = elements.len();
                    elements.push(Element {
                        prefix: prefix.as_str().to_owned(),
                        name: local.as_str().to_owned(),
                        line: lines.line(span),
                        attributes: Vec::new(),
                        children: Vec::new(),
                        parent: open,
                    });
                    if let Some(parent) = open.and_then(|parent| elements.get_mut(parent)) {
                        parent.children.push(index);
                    }
                    open = Some(index);
                }
                Token::Attribute {
                    prefix,
                    local,
                    value,
                    span,
                } => {
                    let Some(element) = open.and_then(|index| elements.get_mut(index)) else {
                        continue;
                    };
                    let (prefix, name) = (prefix.as_str(), local.as_str());
                    if element
                        .attributes
                        .iter()
                        .any(|other| other.prefix == prefix && other.name == name)
                    {
                        let name = qualified(prefix, name);
                        return Err(lines.error(span, format!("attribute `{name}` is there twice")));
                    }
                    element.attributes.push(Attribute {
                        prefix: prefix.to_owned(),
                        name: name.to_owned(),
                        value: decode(value.as_str())
                            .map_err(|message| lines.error(value, message))?,
                        line: lines.line(span),
                    });
                }
                Token::ElementEnd { end, span } => match end {
                    ElementEnd::Open => {}
                    ElementEnd::Empty => {
                        open = open
                            .and_then(|index| elements.get(index))
                            .and_then(|element| element.parent);
                        closed_root = open.is_none();
                    }
                    ElementEnd::Close(prefix, local) => {
                        let Some(element) = open.and_then(|index| elements.get(index)) else {
                            return Err(
                                lines.error(span, format!("`{}` closes nothing", span.as_str()))
                            );
                        };
                        if element.prefix != prefix.as_str() || element.name != local.as_str() {
                            let message = format!(
                                "`{}` where </{}> (opened in line {}) is expected",
                                span.as_str(),
                                element.qualified(),
                                element.line
                            );
                            return Err(lines.error(span, message));
                        }
                        open = element.parent;
                        closed_root = open.is_none();
                    }
                },
                Token::Text { text } if open.is_none() && !text.as_str().trim().is_empty() => {
                    return Err(lines.error(text, "text outside of the root element".to_owned()));
                }
                _ => {}
            }
        }
        if let Some(element) = open.and_then(|index| elements.get(index)) {
            return Err(ModelError::Xml {
                line: element.line,
                column: 1,
                message: format!(
                    "<{}> is never closed: the file is cut off",
                    element.qualified()
                ),
            });
        }
        if elements.is_empty() {
            return Err(ModelError::Xml {
                line: 1,
                column: 1,
                message: "there is no element".to_owned(),
            });
        }
        Ok(Document { elements })
    }

    /// The root element.
    pub fn root(&self) -> Option<&Element> {
        self.elements.first()
    }

    /// The child elements of `element`.
    pub fn children<'a>(&'a self, element: &'a Element) -> impl Iterator<Item = &'a Element> {
        element
            .children
            .iter()
            .filter_map(|&child| self.elements.get(child))
    }

    /// Prefixes that some `xmlns:` attribute declares anywhere.
    pub fn declared_prefixes(&self) -> Vec<&str> {
        let mut prefixes = vec!["xml", "xmlns"];
        for attribute in self.elements.iter().flat_map(|element| &element.attributes) {
            if attribute.prefix == "xmlns" {
                prefixes.push(&attribute.name);
            }
        }
        prefixes
    }
}

/// Byte offsets of line starts, to turn spans into line numbers quickly.
struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    fn new(text: &str) -> Self {
        let mut starts = vec![0];
        starts.extend(
            text.bytes()
                .enumerate()
                .filter(|(_, byte)| *byte == b'\n')
                .map(|(at, _)| at + 1),
        );
        Lines { starts }
    }

    fn line(&self, span: StrSpan<'_>) -> u32 {
        let count = self.starts.partition_point(|start| *start <= span.start());
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn error(&self, span: StrSpan<'_>, message: String) -> ModelError {
        let line = self.line(span);
        let start = self
            .starts
            .get(line.saturating_sub(1) as usize)
            .copied()
            .unwrap_or(0);
        let column = u32::try_from(span.start().saturating_sub(start) + 1).unwrap_or(u32::MAX);
        ModelError::Xml {
            line,
            column,
            message,
        }
    }
}

/// Replaces the predefined and numeric character references of an attribute value.
fn decode(raw: &str) -> Result<String, String> {
    let mut decoded = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest
            .find(';')
            .ok_or_else(|| "`&` without `;` (write &amp;)".to_owned())?;
        let name = &rest[..end];
        let character = match name {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => name
                .strip_prefix("#x")
                .map(|hex| u32::from_str_radix(hex, 16))
                .or_else(|| name.strip_prefix('#').map(str::parse))
                .and_then(Result::ok)
                .and_then(char::from_u32),
        };
        decoded.push(character.ok_or_else(|| format!("unknown entity &{name};"))?);
        rest = &rest[end + 1..];
    }
    decoded.push_str(rest);
    Ok(decoded)
}

/// Writes `text` so that it can stand in a double-quoted attribute.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => encoded.push_str("&amp;"),
            '<' => encoded.push_str("&lt;"),
            '>' => encoded.push_str("&gt;"),
            '"' => encoded.push_str("&quot;"),
            // Other white space would be normalised to blanks by the next reader.
            '\n' | '\r' | '\t' => encoded.push_str(&format!("&#{};", u32::from(character))),
            _ => encoded.push(character),
        }
    }
    encoded
}
