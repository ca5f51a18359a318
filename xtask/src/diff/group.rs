//! Reports a finding once, with all operations that have it.
//!
//! A change of a shared component has the same place and the same effect in every operation that
//! uses it, so it becomes one group. So does the same change of schemas that are not shared, or
//! whose components have other names in the other document.

use std::collections::HashMap;

use serde::Serialize;

use super::difference::{Difference, Finding};

/// A finding, and the operations that have it.
#[derive(Debug, Serialize)]
pub struct Group<'a> {
    pub operations: Vec<&'a str>,
    #[serde(flatten)]
    pub finding: &'a Finding,
}

/// The groups, in the order of their first difference.
pub fn by_finding(differences: &[Difference]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut indexes = HashMap::new();
    for Difference { operation, finding } in differences {
        let index = *indexes.entry(finding).or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => group.operations.push(operation),
            None => groups.push(Group { operations: vec![operation], finding }),
        }
    }
    groups
}
