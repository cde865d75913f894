//! Wavefront OBJ: the corners that faces use.

use super::{fault, number, MeshError};

/// The corners of all faces; all vertices where there is no face (a cloud of points has a hull, too).
pub(super) fn points(text: &str) -> Result<Vec<[f64; 3]>, MeshError> {
    let mut vertices: Vec<[f64; 3]> = Vec::new();
    let mut used: Vec<bool> = Vec::new();
    // A face may name vertices that come later.
    let mut faces: Vec<(usize, usize)> = Vec::new();
    let mut joined = String::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("");
        if let Some(start) = line.trim_end().strip_suffix('\\') {
            joined.push_str(start);
            joined.push(' ');
            continue;
        }
        joined.push_str(line);
        let whole = std::mem::take(&mut joined);
        let mut words = whole.split_whitespace();
        match words.next() {
            Some("v") => {
                let mut point = [0.0; 3];
                for value in &mut point {
                    let word = words
                        .next()
                        .ok_or_else(|| fault(index + 1, "a vertex has three coordinates"))?;
                    *value = number(word, index + 1)?;
                }
                vertices.push(point);
            }
            Some("f" | "fo") => {
                for word in words {
                    let corner = word.split('/').next().unwrap_or("");
                    let corner: i64 = corner.parse().map_err(|_| {
                        fault(index + 1, format!("'{word}' is no corner of a face"))
                    })?;
                    // Counted from one, or backwards from the last vertex so far.
                    let last = i64::try_from(vertices.len()).unwrap_or(i64::MAX);
                    let place = if corner < 0 {
                        last + corner
                    } else {
                        corner - 1
                    };
                    let place = usize::try_from(place)
                        .map_err(|_| fault(index + 1, format!("there is no vertex {corner}")))?;
                    faces.push((place, index + 1));
                }
            }
            _ => {}
        }
    }
    if faces.is_empty() {
        return Ok(vertices);
    }
    used.resize(vertices.len(), false);
    for (place, line) in faces {
        *used
            .get_mut(place)
            .ok_or_else(|| fault(line, format!("there is no vertex {}", place + 1)))? = true;
    }
    let corners = vertices.into_iter().zip(used);
    Ok(corners.filter(|(_, used)| *used).map(|(v, _)| v).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_of_faces_are_read_and_others_left_out() {
        let text = "# a part\no one\nv 0 0 0\nv 1 0 0 1.0\nv 0 2 0\nv 9 9 9\nvn 0 0 1\n\
                    f 1//1 2//1 \\\n 3//1\ng two\nv 0 0 3\nf -1 1/1 2/1/1\n";
        let expected = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]];
        assert_eq!(points(text).unwrap(), expected);
        assert_eq!(points("v 1 2 3\n").unwrap(), [[1.0, 2.0, 3.0]]);
    }

    #[test]
    fn faults_name_their_line() {
        let line = |text: &str| match points(text) {
            Err(MeshError::Text { line, .. }) => line,
            other => panic!("{other:?}"),
        };
        assert_eq!(line("v 0 0\n"), 1);
        assert_eq!(line("v 0 0 0\nv 0 x 0\n"), 2);
        assert_eq!(line("v 0 0 0\nf 1 2 3\n"), 2);
        assert_eq!(line("v 0 0 0\nf 0 1 1\n"), 2);
        assert_eq!(line("v 0 0 0\nf -2 1 1\n"), 2);
        assert_eq!(line("v 0 0 0\nf a 1 1\n"), 2);
    }
}
