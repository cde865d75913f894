//! STL, binary and as text.

use super::{fault, number, text, MeshError};

/// Bytes before the first triangle.
const HEADER: usize = 84;
/// Bytes of a triangle: normal, three corners, two bytes nobody uses.
const TRIANGLE: usize = 50;

/// The corners of all triangles.
pub(super) fn points(bytes: &[u8]) -> Result<Vec<[f64; 3]>, MeshError> {
    let count = count(bytes);
    // Many a binary file begins with "solid", too: the length decides.
    let exact = count.is_some_and(|count| bytes.len() == HEADER + TRIANGLE * count);
    let start = bytes.trim_ascii_start();
    let says_solid = start.len() >= 5 && start[..5].eq_ignore_ascii_case(b"solid");
    if !exact && says_solid && !bytes.contains(&0) {
        return from_text(&text(bytes)?);
    }
    let Some(count) = count else {
        return Err(MeshError::CutOff {
            detail: format!("{} bytes are no STL file", bytes.len()),
        });
    };
    let body = bytes.get(HEADER..).unwrap_or(&[]);
    if body.len() / TRIANGLE < count {
        return Err(MeshError::CutOff {
            detail: format!(
                "it announces {count} triangles and holds {}",
                body.len() / TRIANGLE
            ),
        });
    }
    let mut points = Vec::with_capacity(3 * count);
    for triangle in body.chunks_exact(TRIANGLE).take(count) {
        for corner in triangle.chunks_exact(12).skip(1).take(3) {
            let mut point = [0.0; 3];
            for (value, raw) in point.iter_mut().zip(corner.chunks_exact(4)) {
                let raw: [u8; 4] = raw.try_into().unwrap_or_default();
                *value = f64::from(f32::from_le_bytes(raw));
            }
            points.push(point);
        }
    }
    Ok(points)
}

/// How many triangles a binary file announces.
fn count(bytes: &[u8]) -> Option<usize> {
    let raw: [u8; 4] = bytes.get(HEADER - 4..HEADER)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(raw)).ok()
}

fn from_text(text: &str) -> Result<Vec<[f64; 3]>, MeshError> {
    let mut points = Vec::new();
    let mut ended = false;
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some(word) if word.eq_ignore_ascii_case("vertex") => {
                let mut point = [0.0; 3];
                for value in &mut point {
                    let word = words
                        .next()
                        .ok_or_else(|| fault(index + 1, "a vertex has three coordinates"))?;
                    *value = number(word, index + 1)?;
                }
                points.push(point);
                ended = false;
            }
            Some(word) if word.eq_ignore_ascii_case("endsolid") => ended = true,
            _ => {}
        }
    }
    if points.is_empty() {
        return Err(MeshError::Empty);
    }
    if !ended {
        return Err(MeshError::CutOff {
            detail: "'endsolid' is missing".into(),
        });
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "solid part\n facet normal 0 0 1\n  outer loop\n   vertex 0 0 0\n   VERTEX 1 0 0\n   vertex 0 1e0 -2.5\n  endloop\n endfacet\nendsolid part\n";

    fn binary(header: &[u8], corners: &[[f32; 9]]) -> Vec<u8> {
        let mut bytes = header.to_vec();
        bytes.resize(80, b' ');
        bytes.extend((corners.len() as u32).to_le_bytes());
        for corner in corners {
            bytes.extend([0; 12]);
            for value in corner {
                bytes.extend(value.to_le_bytes());
            }
            bytes.extend([0; 2]);
        }
        bytes
    }

    #[test]
    fn text_and_bytes_give_the_same_points() {
        let expected = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, -2.5]];
        assert_eq!(points(TEXT.as_bytes()).unwrap(), expected);
        let corners = [[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, -2.5]];
        assert_eq!(points(&binary(b"made by", &corners)).unwrap(), expected);
        // A trailing byte or two does no harm.
        let mut longer = binary(b"made by", &corners);
        longer.extend([0, 0, 0]);
        assert_eq!(points(&longer).unwrap(), expected);
    }

    #[test]
    fn a_binary_file_that_begins_with_solid_is_binary() {
        let corners = [[1.5; 9]; 2];
        assert_eq!(
            points(&binary(b"solid x", &corners)).unwrap(),
            [[1.5; 3]; 6]
        );
    }

    #[test]
    fn files_that_are_cut_off_are_refused() {
        let whole = binary(b"x", &[[1.0; 9]; 2]);
        for length in [0, 50, 83, 84, 100, whole.len() - 1] {
            let found = points(&whole[..length]);
            assert!(matches!(found, Err(MeshError::CutOff { .. })), "{length}");
        }
        let short = &TEXT.as_bytes()[..TEXT.len() - 16];
        assert!(matches!(points(short), Err(MeshError::CutOff { .. })));
        let bad = TEXT.replace("1e0", "one");
        assert!(matches!(
            points(bad.as_bytes()),
            Err(MeshError::Text { line: 6, .. })
        ));
        assert_eq!(points(b"solid\nendsolid\n"), Err(MeshError::Empty));
    }
}
