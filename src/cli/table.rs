//! Plain tables with aligned columns.

/// Lines of a table: `header` above `rows`, numbers to the right, words to the left.
pub(super) fn render(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|cell| cell.chars().count()).collect();
    let mut numeric = vec![!rows.is_empty(); header.len()];
    for row in rows {
        for ((cell, width), numeric) in row.iter().zip(&mut widths).zip(&mut numeric) {
            *width = (*width).max(cell.chars().count());
            *numeric &= cell.is_empty() || cell == "-" || cell.parse::<f64>().is_ok();
        }
    }
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::new();
        for ((cell, &width), &numeric) in cells.zip(&widths).zip(&numeric) {
            let blanks = " ".repeat(width.saturating_sub(cell.chars().count()));
            if !text.is_empty() {
                text.push_str("  ");
            }
            if numeric {
                text.push_str(&blanks);
                text.push_str(cell);
            } else {
                text.push_str(cell);
                text.push_str(&blanks);
            }
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        text
    };
    let mut text = line(&mut header.iter().copied());
    let rules: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
    text.push_str(&line(&mut rules.iter().map(String::as_str)));
    for row in rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_are_aligned() {
        let text = super::render(
            &["joint", "value"],
            &[
                vec!["shoulder".into(), "1.5".into()],
                vec!["é".into(), "-10.25".into()],
            ],
        );
        assert_eq!(
            text,
            "joint      value\n--------  ------\nshoulder     1.5\né         -10.25\n"
        );
    }
}
