use std::path::{Path, PathBuf};

use super::{decoded, ResourcePaths};
use crate::collision::MeshError;
use crate::model::RobotModel;

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("arm_planner_{name}_{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const CORNERS: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n";

fn paths(packages: &[PathBuf], folder: &Path) -> ResourcePaths {
    ResourcePaths {
        packages: packages.to_vec(),
        urdf_folder: Some(folder.to_path_buf()),
    }
}

#[test]
fn names_are_found_where_ros_would_find_them() {
    let root = Folder::new("find");
    let installed = root.file("ws/install/share/arm_description/meshes/a.obj", CORNERS);
    let source = root.file("src/other/meshes/b c.obj", CORNERS);
    let beside = root.file("robots/meshes/c.obj", CORNERS);
    let above = root.file("robots/top/d.obj", CORNERS);
    let urdf = root.0.join("robots/urdf");
    std::fs::create_dir_all(&urdf).unwrap();
    let paths = paths(
        &[
            root.0.join("ws/install"),
            root.0.join("src"),
            root.0.join("src/other"),
        ],
        &urdf,
    );
    let same = |name: &str, expected: &Path| {
        let found = paths.find(name).unwrap();
        assert_eq!(
            found.canonicalize().unwrap(),
            expected.canonicalize().unwrap()
        );
    };
    same("package://arm_description/meshes/a.obj", &installed);
    same("package://other/meshes/b%20c.obj", &source);
    same("package://top/d.obj", &above);
    same("../meshes/c.obj", &beside);
    same(&format!("file://{}", beside.display()), &beside);
    same(&format!("file://localhost{}", beside.display()), &beside);
    same(&beside.display().to_string(), &beside);
}

#[test]
fn what_is_not_found_says_where_it_was_looked_for() {
    let root = Folder::new("missing");
    let paths = paths(&[root.0.join("install")], &root.0);
    let said = |name: &str| paths.find(name).unwrap_err().to_string();
    let text = said("package://arm/meshes/a.stl");
    assert!(text.contains("install/share/arm/meshes/a.stl"), "{text}");
    assert!(text.contains("package path"), "{text}");
    assert!(said("meshes/a.stl").contains("meshes/a.stl"));
    assert!(said("http://host/a.stl").contains("http"));
    assert!(said("package://arm").contains("PACKAGE"));
    // A folder is no mesh.
    assert!(said(&root.0.display().to_string()).contains("not found"));
}

#[test]
fn all_meshes_of_a_robot_are_read_and_broken_ones_told() {
    let root = Folder::new("load");
    let good = root.file("good.OBJ", CORNERS);
    root.file("broken.stl", "solid\nvertex 1 2");
    root.file("photo.jpg", "");
    let text = format!(
        r#"<robot name="r"><link name="a">
        <collision><geometry><mesh filename="file://{}"/></geometry></collision>
        <collision><geometry><mesh filename="broken.stl"/></geometry></collision>
        <visual><geometry><mesh filename="unused.dae"/></geometry></visual></link>
        <link name="b"><visual><geometry><mesh filename="photo.jpg"/></geometry></visual></link>
        <joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint></robot>"#,
        good.display()
    );
    let model = RobotModel::from_urdf(&text).unwrap();
    let store = paths(&[], &root.0).load(&model);
    assert_eq!(store.meshes.len(), 3);
    let get = |name: &str| store.meshes.get(name).unwrap();
    let whole = get(&format!("file://{}", good.display()));
    assert_eq!(whole.as_ref().unwrap()[0].len(), 4);
    for name in ["broken.stl", "photo.jpg"] {
        let Err(MeshError::Unavailable(why)) = get(name) else {
            panic!("{name}");
        };
        assert!(why.contains(name), "{why}");
    }
}

#[test]
fn percent_signs_stand_for_bytes() {
    assert_eq!(decoded("a%20b%C3%A9"), "a bé");
    assert_eq!(decoded("100%"), "100%");
    assert_eq!(decoded("%zz%4"), "%zz%4");
}
