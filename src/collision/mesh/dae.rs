//! COLLADA (DAE): geometries where the visual scene puts them.

use std::collections::HashMap;

use nalgebra::{Matrix4, Rotation3, Unit, Vector3};
use roxmltree::{Document, Node};

use super::{fault, MeshError};

/// Nodes that nest deeper than this are taken to refer to themselves.
const DEEPEST: usize = 64;
/// At most this many nodes are visited: instances of instances multiply.
const MOST_NODES: usize = 100_000;

/// The corners of all faces, in metres.
pub(super) fn points(text: &str) -> Result<Vec<[f64; 3]>, MeshError> {
    let document = Document::parse(text).map_err(|error| MeshError::Text {
        line: error.pos().row,
        problem: error.to_string(),
    })?;
    let file = File::new(&document);
    let root = document.root_element();
    let metre = child(root, "asset")
        .and_then(|asset| child(asset, "unit"))
        .and_then(|unit| unit.attribute("meter"))
        .and_then(|metre| metre.trim().parse::<f64>().ok())
        .filter(|metre| metre.is_finite() && *metre > 0.0)
        .unwrap_or(1.0);
    let start = Matrix4::new_scaling(metre);
    let mut found = Vec::new();
    let scene = child(root, "scene")
        .and_then(|scene| child(scene, "instance_visual_scene"))
        .and_then(|instance| file.target(instance.attribute("url")?))
        .or_else(|| {
            root.descendants()
                .find(|node| node.has_tag_name_local("visual_scene"))
        });
    match scene {
        Some(scene) => {
            let mut visited = 0;
            for node in children(scene, "node") {
                file.walk(node, &start, 0, &mut visited, &mut found)?;
            }
        }
        // A file without a scene shows its geometries as they are.
        None => {
            let all = root.descendants();
            for geometry in all.filter(|node| node.has_tag_name_local("geometry")) {
                file.geometry(geometry, &start, &mut found)?;
            }
        }
    }
    Ok(found)
}

trait LocalName {
    fn has_tag_name_local(&self, name: &str) -> bool;
}

impl LocalName for Node<'_, '_> {
    /// Without the namespace, of which there are several versions.
    fn has_tag_name_local(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

fn children<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children()
        .filter(move |child| child.has_tag_name_local(name))
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> Option<Node<'a, 'i>> {
    children(node, name).next()
}

struct File<'a, 'i> {
    document: &'a Document<'i>,
    ids: HashMap<&'a str, Node<'a, 'i>>,
}

impl<'a, 'i> File<'a, 'i> {
    fn new(document: &'a Document<'i>) -> Self {
        let mut ids = HashMap::new();
        for node in document.descendants() {
            if let Some(id) = node.attribute("id") {
                ids.entry(id).or_insert(node);
            }
        }
        Self { document, ids }
    }

    /// The element that `#id` names.
    fn target(&self, url: &str) -> Option<Node<'a, 'i>> {
        self.ids.get(url.trim().strip_prefix('#')?).copied()
    }

    fn line(&self, node: Node<'_, '_>) -> usize {
        let at = self.document.text_pos_at(node.range().start);
        usize::try_from(at.row).unwrap_or(usize::MAX)
    }

    /// What an instance refers to; an instance that leads nowhere is a hole in the robot.
    fn refers(&self, instance: Node<'a, 'i>) -> Result<Node<'a, 'i>, MeshError> {
        let url = instance.attribute("url").unwrap_or("");
        self.target(url).ok_or_else(|| {
            let name = instance.tag_name().name();
            fault(
                self.line(instance),
                format!("<{name}> refers to '{url}', which is not in the file"),
            )
        })
    }

    fn walk(
        &self,
        node: Node<'a, 'i>,
        above: &Matrix4<f64>,
        depth: usize,
        visited: &mut usize,
        found: &mut Vec<[f64; 3]>,
    ) -> Result<(), MeshError> {
        *visited += 1;
        if depth > DEEPEST || *visited > MOST_NODES {
            return Err(fault(self.line(node), "the nodes nest without end"));
        }
        let mut here = *above;
        for step in node.children().filter(Node::is_element) {
            if let Some(transform) = self.transform(step)? {
                here *= transform;
            }
        }
        for step in node.children().filter(Node::is_element) {
            match step.tag_name().name() {
                "node" => self.walk(step, &here, depth + 1, visited, found)?,
                "instance_node" => {
                    self.walk(self.refers(step)?, &here, depth + 1, visited, found)?;
                }
                "instance_geometry" => self.geometry(self.refers(step)?, &here, found)?,
                "instance_controller" => {
                    // A skin or morph: the geometry that it deforms, at rest.
                    let controller = self.refers(step)?;
                    let source = controller
                        .descendants()
                        .find_map(|part| self.target(part.attribute("source")?))
                        .filter(|target| target.has_tag_name_local("geometry"));
                    if let Some(geometry) = source {
                        self.geometry(geometry, &here, found)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The transform that an element of a node stands for; none for other elements.
    fn transform(&self, step: Node<'a, 'i>) -> Result<Option<Matrix4<f64>>, MeshError> {
        let name = step.tag_name().name();
        let needed = match name {
            "matrix" => 16,
            "translate" | "scale" => 3,
            "rotate" => 4,
            "lookat" => 9,
            "skew" => 7,
            _ => return Ok(None),
        };
        let n = self.numbers(step)?;
        if n.len() != needed {
            return Err(fault(
                self.line(step),
                format!("<{name}> has {} numbers instead of {needed}", n.len()),
            ));
        }
        let vector = |at: usize| Vector3::new(n[at], n[at + 1], n[at + 2]);
        Ok(Some(match name {
            "matrix" => Matrix4::from_row_slice(&n),
            "translate" => Matrix4::new_translation(&vector(0)),
            "scale" => Matrix4::new_nonuniform_scaling(&vector(0)),
            "rotate" => match Unit::try_new(vector(0), 1e-12) {
                Some(axis) => Rotation3::from_axis_angle(&axis, n[3].to_radians()).to_homogeneous(),
                None => Matrix4::identity(),
            },
            _ => {
                return Err(fault(
                    self.line(step),
                    format!(
                        "<{name}> is not supported: export the mesh with its transforms applied"
                    ),
                ))
            }
        }))
    }

    /// All numbers in the text of an element.
    fn numbers(&self, node: Node<'a, 'i>) -> Result<Vec<f64>, MeshError> {
        let mut numbers = Vec::new();
        for text in node.children().filter(Node::is_text) {
            for word in text.text().unwrap_or("").split_whitespace() {
                // The line is counted from the file's start: for faults alone.
                numbers
                    .push(word.parse().map_err(|_| {
                        fault(self.line(node), format!("'{word}' is not a number"))
                    })?);
            }
        }
        Ok(numbers)
    }

    /// The corners that the faces of a geometry use.
    fn geometry(
        &self,
        geometry: Node<'a, 'i>,
        here: &Matrix4<f64>,
        found: &mut Vec<[f64; 3]>,
    ) -> Result<(), MeshError> {
        let Some(mesh) = child(geometry, "mesh").or_else(|| child(geometry, "convex_mesh")) else {
            // Splines have no faces.
            return Ok(());
        };
        let faces = ["triangles", "polylist", "polygons", "tristrips", "trifans"];
        for group in mesh
            .children()
            .filter(|part| part.is_element() && faces.contains(&part.tag_name().name()))
        {
            self.faces(mesh, group, here, found)?;
        }
        Ok(())
    }

    /// The corners of one group of faces.
    fn faces(
        &self,
        mesh: Node<'a, 'i>,
        group: Node<'a, 'i>,
        here: &Matrix4<f64>,
        found: &mut Vec<[f64; 3]>,
    ) -> Result<(), MeshError> {
        let offset = |input: &Node<'a, 'i>| {
            let text = input.attribute("offset").unwrap_or("0");
            text.trim().parse::<usize>().unwrap_or(0)
        };
        let inputs: Vec<Node<'a, 'i>> = children(group, "input").collect();
        let stride = inputs.iter().map(offset).max().unwrap_or(0) + 1;
        let is = |name: &'static str| {
            move |input: &&Node<'a, 'i>| input.attribute("semantic") == Some(name)
        };
        let Some(vertex) = inputs.iter().find(is("VERTEX")) else {
            return Ok(());
        };
        // The positions are named by the mesh's <vertices>.
        let position = vertex
            .attribute("source")
            .and_then(|url| self.target(url))
            .or_else(|| child(mesh, "vertices"))
            .and_then(|vertices| {
                let inputs: Vec<Node<'a, 'i>> = children(vertices, "input").collect();
                let input = *inputs.iter().find(is("POSITION"))?;
                self.target(input.attribute("source")?)
            });
        let Some(source) = position else {
            return Err(fault(
                self.line(group),
                "the positions of the corners are missing",
            ));
        };
        let Some(array) = child(source, "float_array") else {
            return Err(fault(self.line(source), "<float_array> is missing"));
        };
        let values = self.numbers(array)?;
        let accessor =
            child(source, "technique_common").and_then(|common| child(common, "accessor"));
        let read = |name: &str, or: usize| {
            accessor
                .and_then(|accessor| accessor.attribute(name))
                .and_then(|text| text.trim().parse::<usize>().ok())
                .unwrap_or(or)
        };
        let (step, first) = (read("stride", 3).max(3), read("offset", 0));
        let mut used = vec![false; values.len() / step + 1];
        let at = offset(vertex);
        // <p> holds indices, one tuple a corner; polygons with holes have them inside <ph>.
        for list in group
            .descendants()
            .filter(|node| node.has_tag_name_local("p") || node.has_tag_name_local("h"))
        {
            let words = list.text().unwrap_or("").split_whitespace();
            for word in words.skip(at).step_by(stride) {
                let place: usize = word.parse().map_err(|_| {
                    fault(
                        self.line(list),
                        format!("'{word}' is not the number of a corner"),
                    )
                })?;
                let start = place
                    .checked_mul(step)
                    .and_then(|start| start.checked_add(first));
                let corner = start.and_then(|start| values.get(start..start.checked_add(3)?));
                let Some(&[x, y, z]) = corner else {
                    return Err(fault(
                        self.line(list),
                        format!("there is no corner {place}"),
                    ));
                };
                match used.get_mut(place) {
                    Some(seen) if *seen => continue,
                    Some(seen) => *seen = true,
                    None => {}
                }
                let point = here.transform_point(&nalgebra::Point3::new(x, y, z));
                found.push([point.x, point.y, point.z]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one triangle; `scene` is what is inside the visual scene, `asset` the head.
    fn file(asset: &str, scene: &str) -> String {
        format!(
            r##"<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
            <asset>{asset}</asset>
            <library_geometries><geometry id="g"><mesh>
              <source id="pos"><float_array id="a" count="12">0 0 0 1 0 0
                0 2 0 9 9 9</float_array><technique_common>
                <accessor source="#a" count="4" stride="3"/></technique_common></source>
              <source id="nor"><float_array id="b" count="3">0 0 1</float_array></source>
              <vertices id="v"><input semantic="POSITION" source="#pos"/></vertices>
              <triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/>
                <input semantic="NORMAL" source="#nor" offset="1"/><p>0 0 1 0 2 0</p></triangles>
            </mesh></geometry></library_geometries>
            <library_nodes><node id="shared"><scale>1 1 -1</scale><translate>0 0 5</translate>
              <instance_geometry url="#g"/></node></library_nodes>
            <library_visual_scenes><visual_scene id="s">{scene}</visual_scene></library_visual_scenes>
            <scene><instance_visual_scene url="#s"/></scene></COLLADA>"##
        )
    }

    fn near(found: &[[f64; 3]], expected: &[[f64; 3]]) {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (a, b) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((a - b).abs() < 1e-12, "{found:?} {expected:?}");
        }
    }

    #[test]
    fn units_and_transforms_are_applied_in_order() {
        let plain = file("", r##"<node><instance_geometry url="#g"/></node>"##);
        near(
            &points(&plain).unwrap(),
            &[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]],
        );
        let nested = file(
            r#"<unit name="millimeter" meter="0.001"/><up_axis>Z_UP</up_axis>"#,
            r##"<node><translate>10 0 0</translate><rotate>0 0 1 90</rotate>
                <node><matrix>1 0 0 0 0 1 0 0 0 0 1 7 0 0 0 1</matrix><instance_geometry url="#g"/></node></node>"##,
        );
        let expected = [
            [0.01, 0.0, 0.007],
            [0.01, 0.001, 0.007],
            [0.008, 0.0, 0.007],
        ];
        near(&points(&nested).unwrap(), &expected);
    }

    #[test]
    fn instances_of_nodes_are_followed_and_endless_ones_refused() {
        let twice = file(
            "",
            r##"<node><instance_node url="#shared"/></node><node><instance_geometry url="#g"/></node>"##,
        );
        let found = points(&twice).unwrap();
        near(&found[..1], &[[0.0, 0.0, -5.0]]);
        assert_eq!(found.len(), 6);
        let endless = file("", r##"<node id="n"><instance_node url="#n"/></node>"##);
        assert!(points(&endless)
            .unwrap_err()
            .to_string()
            .contains("without end"));
    }

    #[test]
    fn faults_are_told() {
        let nowhere = file("", r##"<node><instance_geometry url="#x"/></node>"##);
        assert!(points(&nowhere).unwrap_err().to_string().contains("'#x'"));
        let short = file(
            "",
            r##"<node><matrix>1 2 3</matrix><instance_geometry url="#g"/></node>"##,
        );
        assert!(points(&short).unwrap_err().to_string().contains("16"));
        let plain = file("", r##"<node><instance_geometry url="#g"/></node>"##);
        let beyond = plain.replace("0 0 1 0 2 0", "0 0 1 0 4 0");
        assert!(points(&beyond)
            .unwrap_err()
            .to_string()
            .contains("corner 4"));
        assert!(matches!(points(&plain[..400]), Err(MeshError::Text { .. })));
    }

    #[test]
    fn without_a_scene_the_geometries_stand_as_they_are() {
        let text = file("", "");
        let (head, _) = text.split_once("<library_nodes>").unwrap();
        assert_eq!(points(&format!("{head}</COLLADA>")).unwrap().len(), 3);
    }
}
