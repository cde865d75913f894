//! Keys in doc comments and `REFERENCES.md` name the same works.

use std::collections::BTreeSet;
use std::path::Path;

/// `[Name1234]` or `[Name1234b]`, escaped or not.
fn keys(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for part in text.split('[').skip(1) {
        let Some(end) = part.find(']') else { continue };
        let key = part[..end].trim_end_matches('\\');
        let name = key.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let digits = name.chars().rev().take_while(char::is_ascii_digit).count();
        let letters = name.len() - digits.min(name.len());
        if digits == 4
            && letters > 1
            && name[..letters].chars().all(char::is_alphabetic)
            && key.len() <= name.len() + 1
        {
            found.insert(key.to_owned());
        }
    }
    found
}

fn read(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.extend(keys(&std::fs::read_to_string(path).unwrap()));
        }
    }
}

#[test]
fn every_key_is_listed_and_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = keys(&std::fs::read_to_string(root.join("REFERENCES.md")).unwrap());
    let mut used = BTreeSet::new();
    read(&root.join("src"), &mut used);
    used.extend(keys(
        &std::fs::read_to_string(root.join("docs/methods.md")).unwrap(),
    ));
    let missing: Vec<_> = used.difference(&listed).collect();
    assert!(missing.is_empty(), "not in REFERENCES.md: {missing:?}");
    let unused: Vec<_> = listed.difference(&used).collect();
    assert!(
        unused.is_empty(),
        "in REFERENCES.md but nowhere used: {unused:?}"
    );
    assert!(used.len() > 20);
}

#[test]
fn keys_are_told_from_other_brackets() {
    let text = "\\[m\\] [Foo2011] \\[Bar1999b\\] [abc](x) [12] [B2020x2]";
    assert_eq!(
        keys(text),
        BTreeSet::from(["Foo2011".to_owned(), "Bar1999b".to_owned()])
    );
}
