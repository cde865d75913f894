//! Points of mesh files, from their bytes: STL, OBJ and COLLADA (DAE).
//!
//! A convex hull needs nothing but the corners of the faces, so that is all that is read. No file
//! is opened here: `resource` finds and reads them.

mod dae;
mod obj;
mod stl;

use std::collections::BTreeMap;

/// A mesh file that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MeshError {
    /// An ending that is none of those that can be read.
    #[error(
        "'{ending}' is not a mesh format that can be read: convert the file to STL, OBJ or DAE"
    )]
    UnknownFormat {
        /// The file name's ending.
        ending: String,
    },
    /// Fewer bytes or lines than there must be.
    #[error("the file is cut off: {detail}")]
    CutOff {
        /// What is missing.
        detail: String,
    },
    /// A place that does not say what it should.
    #[error("line {line}: {problem}")]
    Text {
        /// Counted from one.
        line: u32,
        /// What is wrong there.
        problem: String,
    },
    /// A coordinate that is NaN, infinite or beyond all measure.
    #[error("a corner has a coordinate that is not a finite number")]
    NotFinite,
    /// No face at all.
    #[error("the file has no faces")]
    Empty,
    /// Not found, or not to be read: said by the one who looked for it.
    #[error("{0}")]
    Unavailable(String),
}

/// The points of the convex parts of a mesh, in file units times the file's own unit, as yet without
/// the URDF's `scale`.
pub type MeshParts = Vec<Vec<[f64; 3]>>;

/// Meshes by the file name as the URDF writes it, or why one cannot be had.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeshStore {
    /// By file name.
    pub meshes: BTreeMap<String, Result<MeshParts, MeshError>>,
}

/// The corners of all faces in a mesh file, by its bytes and the ending of its name. Names with
/// upper-case endings are fine.
///
/// A COLLADA file's `unit` and the transforms of its nodes are applied. Its `up_axis` is not, as in
/// RViz and MoveIt: meshes are drawn and checked in the same place.
///
/// # Errors
/// [`MeshError`].
pub fn mesh_points(name: &str, bytes: &[u8]) -> Result<Vec<[f64; 3]>, MeshError> {
    let ending = name
        .rsplit_once('.')
        .map_or("", |(_, ending)| ending)
        .to_ascii_lowercase();
    let points = match ending.as_str() {
        "stl" | "stlb" => stl::points(bytes)?,
        "obj" => obj::points(&text(bytes)?)?,
        "dae" => dae::points(&text(bytes)?)?,
        _ => return Err(MeshError::UnknownFormat { ending }),
    };
    if points.is_empty() {
        return Err(MeshError::Empty);
    }
    // Beyond this, squares overflow.
    let usable = |value: &f64| value.abs() < 1e100;
    if !points.iter().flatten().all(usable) {
        return Err(MeshError::NotFinite);
    }
    Ok(points)
}

/// The text of a file; a stray byte in a comment or a name is no reason to refuse a mesh.
fn text(bytes: &[u8]) -> Result<std::borrow::Cow<'_, str>, MeshError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.contains(&0) {
        return Err(MeshError::Text {
            line: 1,
            problem: "this is no text file".into(),
        });
    }
    Ok(String::from_utf8_lossy(bytes))
}

/// A coordinate.
fn number(word: &str, line: usize) -> Result<f64, MeshError> {
    word.parse().map_err(|_| MeshError::Text {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        problem: format!("'{word}' is not a number"),
    })
}

/// A fault in a line.
fn fault(line: usize, problem: impl Into<String>) -> MeshError {
    MeshError::Text {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        problem: problem.into(),
    }
}
