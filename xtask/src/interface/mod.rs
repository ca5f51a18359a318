//! Compares the document with independently transcribed lists of the interface.
//!
//! `fields.tsv`, `operations.tsv`, `responses.tsv` and `service.tsv` were copied by hand from the
//! interface listing. The comparison works in both directions, so it finds forgotten fields and
//! invented ones. If the two disagree, read the interface again before changing either.

mod document;
mod facts;
mod listing;
mod requests;
mod responses;

use anyhow::Result;
use serde_json::Value;

use self::facts::{Facts, differences};
use crate::{
    contract::{DocumentNode, Faults},
    repository,
};

/// The folder of the lists in the repository.
pub const FOLDER: &str = "xtask/interface";

/// The lists.
pub struct Lists {
    operations: Facts<'static>,
    fields: Facts<'static>,
    responses: Facts<'static>,
    service: Facts<'static>,
}

impl Lists {
    /// Reads the lists of the repository.
    pub fn read() -> Result<Self> {
        Self::read_with(|name| repository::read(&format!("{FOLDER}/{name}")))
    }

    /// Reads each list with `read`, which gets the name of its file.
    pub fn read_with(read: impl Fn(&str) -> Result<String>) -> Result<Self> {
        let operations = read("operations.tsv")?;
        Ok(Self {
            operations: listing::operations(&operations)?,
            fields: listing::fields(&operations, &read("fields.tsv")?)?,
            responses: listing::responses(&read("responses.tsv")?)?,
            service: listing::service(&read("service.tsv")?)?,
        })
    }
}

/// Returns every difference between the lists and a document from which code can be generated, one
/// per line.
pub fn compare(lists: &Lists, document: &Value) -> Result<Vec<String>, Faults> {
    let root = DocumentNode::root(document);
    let pairs = [
        (&lists.operations, document::operations(&root)?),
        (&lists.fields, requests::fields(&root)?),
        (&lists.responses, responses::fields(&root)?),
        (&lists.service, document::service(&root, lists.service.keys())),
    ];
    let holder = |place: &str| document::holder(&root, place);
    Ok(pairs.iter().flat_map(|(list, document)| differences(list, document, holder)).collect())
}
