//! Reads what a submission needs, although the contract leaves its fields optional (`x-needs`).

use super::{
    document::DocumentNode,
    faults::{Faults, all},
};

/// A condition that a submission must meet for a useful result, and the reason.
pub struct Need {
    pub what: What,
    pub why: String,
}

pub enum What {
    /// At least one of the fields in the list. An alpha channel of the image in the second field,
    /// if there is one, replaces them.
    AnyOf(Vec<String>, Option<String>),
    /// At least this many images, in any fields.
    Images(u64),
}

/// Reads the needs of an operation.
pub fn read(operation: &DocumentNode) -> Result<Vec<Need>, Faults> {
    all(operation.elements_of("x-needs")?.iter().map(read_need))
}

fn read_need(place: &DocumentNode) -> Result<Need, Faults> {
    let image = place.get("unless-alpha-in");
    let what = match (place.get("any-of"), place.get("images")) {
        (Some(names), None) => {
            let image = image.map(|name| name.string().map(str::to_owned)).transpose()?;
            What::AnyOf(names.strings()?, image)
        }
        (None, Some(count)) => What::Images(count.count()?),
        _ => return Err(place.fault("expected either `any-of` or `images`")),
    };
    Ok(Need { what, why: place.need("why")?.string()?.to_owned() })
}
