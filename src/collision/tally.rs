//! What was in the way, told in one sentence.

use std::collections::BTreeMap;
use std::fmt;

use super::arm::{Contact, Obstacle};

impl fmt::Display for Contact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.with {
            Obstacle::Obstacle(id) => write!(f, "link \"{}\" meets obstacle \"{id}\"", self.link),
            Obstacle::Link(link) => write!(f, "link \"{}\" meets link \"{link}\"", self.link),
        }
    }
}

/// Counts contacts, so that a refusal of many candidates can say what they met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContactTally {
    counts: BTreeMap<String, usize>,
}

impl ContactTally {
    /// One more.
    pub fn add(&mut self, contact: &Contact) {
        *self.counts.entry(contact.to_string()).or_insert(0) += 1;
    }

    /// How many there were.
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }
}

/// At most this many are named.
const NAMED: usize = 3;

impl fmt::Display for ContactTally {
    /// The most frequent ones first, with their counts; nothing if there were none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all: Vec<(&String, &usize)> = self.counts.iter().collect();
        all.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        for (place, (what, count)) in all.iter().take(NAMED).enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            let times = if self.total() > 1 {
                format!(" ({count} of {})", self.total())
            } else {
                String::new()
            };
            write!(f, "{comma}{what}{times}")?;
        }
        if all.len() > NAMED {
            write!(f, " and {} more", all.len() - NAMED)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_contacts_are_named_first() {
        let meets = |link: &str, with: Obstacle| Contact {
            link: link.into(),
            with,
        };
        let mut tally = ContactTally::default();
        assert_eq!(tally.to_string(), "");
        let table = meets("hand", Obstacle::Obstacle("table".into()));
        tally.add(&table);
        assert_eq!(tally.to_string(), "link \"hand\" meets obstacle \"table\"");
        tally.add(&meets("elbow", Obstacle::Link("base".into())));
        tally.add(&table);
        for k in 0..2 {
            tally.add(&meets("wrist", Obstacle::Obstacle(k.to_string())));
        }
        assert_eq!(tally.total(), 5);
        assert_eq!(
            tally.to_string(),
            "link \"hand\" meets obstacle \"table\" (2 of 5), link \"elbow\" meets link \"base\" (1 of 5), \
             link \"wrist\" meets obstacle \"0\" (1 of 5) and 1 more"
        );
    }
}
