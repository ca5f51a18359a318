//! What distinguishes a task from all others.

use sha2::{Digest, Sha256};

use super::{Region, TaskRef};

impl TaskRef {
    /// Returns the identity of the task. An id alone is not one: it may occur in both regions, and
    /// a faulty service may return it twice.
    pub(crate) fn identity(&self) -> (Option<Region>, &str, &str) {
        (self.region(), self.polling_url().reveal(), self.id())
    }

    /// Returns a short text that differs for different identities, for the names of files.
    pub(crate) fn digest(&self) -> String {
        let (region, polling_url, id) = self.identity();
        let region = match region {
            None => "",
            Some(Region::Global) => "global",
            Some(Region::Regional) => "regional",
        };
        short_hash(&[region, polling_url, id])
    }
}

/// Returns 16 hexadecimal digits, which do not reveal the texts.
pub(crate) fn short_hash(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        // The lengths keep `ab`, `c` and `a`, `bc` apart.
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    }
    let mut digest = hex(hash);
    digest.truncate(16);
    digest
}

/// Returns the digest in lowercase hexadecimal.
pub(crate) fn hex(hash: Sha256) -> String {
    let digits = hash.finalize().into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_part_of_an_identity_counts() {
        let task = |id, url| TaskRef::new(id, url, None);
        let tasks = [
            task("t1", "http://localhost/poll"),
            task("t1", "http://localhost/poll").in_region(Region::Global),
            task("t1", "http://localhost/poll").in_region(Region::Regional),
            task("t2", "http://localhost/poll"),
            task("t1", "http://localhost/poll?id=2"),
            task("lt1", "http://localhost/pol"),
        ];
        assert_eq!(tasks.iter().map(TaskRef::identity).collect::<HashSet<_>>().len(), tasks.len());
        let digests: HashSet<_> = tasks.iter().map(TaskRef::digest).collect();
        assert_eq!(digests.len(), tasks.len());
        assert!(digests.iter().all(|digest| digest.len() == 16));

        let billed = task("t1", "http://localhost/poll").with_cost(Some(4.0));
        assert_eq!(billed.identity(), tasks[0].identity(), "what a task costs does not count");
    }
}
