//! "Did you mean …?"

/// `; did you mean "…"?` for the candidate that is nearest to `name`, or an empty text
/// when none is near.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let allowed = 1 + name.chars().count() / 4;
    candidates
        .into_iter()
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map_or_else(String::new, |(_, candidate)| {
            format!("; did you mean \"{candidate}\"?")
        })
}

/// Letters to insert, delete, replace or swap with a neighbour, without regard to case.
fn edit_distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.to_lowercase().chars().collect();
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let width = right.len() + 1;
    let mut rows: [Vec<usize>; 3] = [vec![0; width], (0..width).collect(), vec![0; width]];
    for (i, a) in left.iter().enumerate() {
        let [before, last, current] = &mut rows;
        current[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let mut best = (last[j] + usize::from(a != b))
                .min(last[j + 1] + 1)
                .min(current[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                best = best.min(before[j - 1] + 1);
            }
            current[j + 1] = best;
        }
        rows.rotate_left(1);
    }
    rows[1][width - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits_and_swaps() {
        assert_eq!(edit_distance("world", "wrold"), 1);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("Tool0", "tool0"), 0);
    }

    #[test]
    fn hints_at_the_nearest_only_if_near() {
        assert_eq!(
            did_you_mean("tol0", ["base", "tool0"]),
            "; did you mean \"tool0\"?"
        );
        assert_eq!(did_you_mean("gripper", ["base", "tool0"]), "");
    }
}
