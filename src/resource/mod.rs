//! Files as ROS names them, descriptions and the meshes in them: where they are, and what is in meshes.
//!
//! The one room beside `node` and `cli` that opens files: both need the same meshes, and the core
//! may not look for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::collision::{mesh_points, MeshError, MeshStore};
use crate::model::{Geometry, RobotModel};

/// At most this many places are named where a file was looked for.
const TOLD: usize = 6;
/// Meshes above this size are not read \[bytes\]: no collision mesh is that large.
const LARGEST: u64 = 1 << 30;

/// Where files that are named as in ROS are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourcePaths {
    /// Folders that hold packages, or are one, or are an install prefix with `share/`; first come first served.
    pub packages: Vec<PathBuf>,
    /// The folder of the URDF, for relative names and for packages beside or above it; none where
    /// the description came without a file.
    pub urdf_folder: Option<PathBuf>,
}

impl ResourcePaths {
    /// `extra` folders first, then those of `AMENT_PREFIX_PATH` and `ROS_PACKAGE_PATH`, then what
    /// lies beside or above the file `urdf`.
    pub fn from_environment(extra: &[PathBuf], urdf: Option<&Path>) -> Self {
        let mut packages = extra.to_vec();
        for variable in ["AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH"] {
            if let Some(list) = std::env::var_os(variable) {
                packages.extend(std::env::split_paths(&list).filter(|p| !p.as_os_str().is_empty()));
            }
        }
        let urdf_folder = urdf.map(|file| {
            let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
            whole.parent().map_or_else(PathBuf::new, Path::to_path_buf)
        });
        Self {
            packages,
            urdf_folder,
        }
    }

    /// The file that `name` (`package://`, `file://` or a path) stands for, as a URDF writes it.
    ///
    /// # Errors
    /// [`MeshError::Unavailable`] with the places where it was looked for.
    pub fn find(&self, name: &str) -> Result<PathBuf, MeshError> {
        let name = name.trim();
        let candidates = self.candidates(name)?;
        if let Some(found) = candidates.iter().find(|path| path.is_file()) {
            return Ok(found.clone());
        }
        let mut tried: Vec<String> = candidates
            .iter()
            .take(TOLD)
            .map(|path| path.display().to_string())
            .collect();
        if candidates.len() > TOLD {
            tried.push(format!("{} more places", candidates.len() - TOLD));
        }
        let hint = if name.contains("://") {
            "; source the workspace that holds the package, or give its folder as a package path"
        } else {
            ""
        };
        let tried = if tried.is_empty() {
            "no folder to look in is known".to_owned()
        } else {
            format!("looked for {}", tried.join(", "))
        };
        Err(MeshError::Unavailable(format!("not found: {tried}{hint}")))
    }

    /// As [`ResourcePaths::find`]; but where there is only one place where the file can be, that one, whether
    /// it is there or not: opening it says best what is wrong.
    ///
    /// # Errors
    /// As [`ResourcePaths::find`].
    pub fn locate(&self, name: &str) -> Result<PathBuf, MeshError> {
        let scheme = name.trim().split_once("://").map(|(scheme, _)| scheme);
        if !matches!(scheme, None | Some("file")) {
            return self.find(name);
        }
        let only = self.candidates(name.trim())?.into_iter().next();
        only.map_or_else(|| self.find(name), Ok)
    }

    /// Every place where a file may be.
    fn candidates(&self, name: &str) -> Result<Vec<PathBuf>, MeshError> {
        Ok(match name.split_once("://") {
            Some(("package" | "model", rest)) => {
                let rest = decoded(rest);
                let (package, inside) = rest.split_once('/').unwrap_or((&rest, ""));
                if package.is_empty() || inside.is_empty() {
                    return Err(MeshError::Unavailable(format!(
                        "'{name}' names no file in a package: write package://PACKAGE/FOLDER/FILE"
                    )));
                }
                self.in_package(package, inside)
            }
            Some(("file", rest)) => {
                let rest = decoded(rest);
                let path = rest
                    .strip_prefix("localhost/")
                    .map(|path| format!("/{path}"));
                vec![PathBuf::from(path.unwrap_or(rest))]
            }
            Some((scheme, _)) => {
                return Err(MeshError::Unavailable(format!(
                    "'{scheme}://' cannot be read: use package://, file:// or a path"
                )))
            }
            None => {
                let path = Path::new(name);
                let folder = self.urdf_folder.as_deref().unwrap_or(Path::new(""));
                vec![folder.join(path)]
            }
        })
    }

    /// Every place where a file of a package may be.
    fn in_package(&self, package: &str, inside: &str) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for folder in &self.packages {
            all.push(folder.join("share").join(package).join(inside));
            all.push(folder.join(package).join(inside));
            if folder.file_name().is_some_and(|name| name == package) {
                all.push(folder.join(inside));
            }
        }
        let above = self
            .urdf_folder
            .iter()
            .flat_map(|folder| folder.ancestors());
        for folder in above {
            if folder.file_name().is_some_and(|name| name == package) {
                all.push(folder.join(inside));
            }
            all.push(folder.join(package).join(inside));
        }
        // What is there comes first in any case; a package that is there comes first in the words.
        let missing = |path: &PathBuf| {
            let mut folder = path.clone();
            for _ in Path::new(inside).components() {
                folder.pop();
            }
            !folder.is_dir()
        };
        all.sort_by_key(missing);
        all
    }

    /// Reads all meshes that collision checks of `model` need, each file once.
    pub fn load(&self, model: &RobotModel) -> MeshStore {
        let mut meshes = BTreeMap::new();
        for link in &model.links {
            let shapes = if link.collision.is_empty() {
                &link.visual
            } else {
                &link.collision
            };
            for shape in shapes {
                if let Geometry::Mesh { filename, .. } = &shape.geometry {
                    if !meshes.contains_key(filename) {
                        meshes.insert(filename.clone(), self.read(filename));
                    }
                }
            }
        }
        MeshStore { meshes }
    }

    fn read(&self, name: &str) -> Result<Vec<Vec<[f64; 3]>>, MeshError> {
        let path = self.find(name)?;
        let unavailable =
            |what: String| MeshError::Unavailable(format!("{}: {what}", path.display()));
        let size = std::fs::metadata(&path).map_err(|error| unavailable(error.to_string()))?;
        if size.len() > LARGEST {
            return Err(unavailable(format!("{} bytes are too many", size.len())));
        }
        let bytes = std::fs::read(&path).map_err(|error| unavailable(error.to_string()))?;
        let file = path.to_string_lossy();
        match mesh_points(&file, &bytes) {
            Ok(points) => Ok(vec![points]),
            Err(error) => Err(unavailable(error.to_string())),
        }
    }
}

/// Reads all meshes of `model` in one call. `urdf` is the file that the description came from, if it
/// did; `package_paths` are looked at before those of the environment.
pub fn load_meshes(
    model: &RobotModel,
    urdf: Option<&Path>,
    package_paths: &[PathBuf],
) -> MeshStore {
    ResourcePaths::from_environment(package_paths, urdf).load(model)
}

/// A URI's `%20` and the like as the bytes that they stand for.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = bytes
            .get(at + 1..at + 3)
            .filter(|_| byte == b'%')
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match hex {
            Some(value) => {
                out.push(value);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests;
