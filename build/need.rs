//! What a submission needs, although the contract leaves its fields optional (`x-needs`).

use super::{
    document::DocumentNode,
    fault::Fault,
    field::{Field, Kind},
};

/// What a submission needs, and why.
pub struct Need {
    pub what: What,
    pub why: String,
}

pub enum What {
    /// One of these fields. If it is missing, an alpha channel of the image in the second field
    /// replaces it.
    AnyOf(Vec<String>, Option<String>),
    /// This many images, in any fields.
    Images(u64),
}

/// Reads the needs of an operation with these fields. If they are not all shown, it `is_open`.
pub fn read(operation: &DocumentNode, fields: &[Field], is_open: bool) -> Result<Vec<Need>, Fault> {
    let needs = operation.elements_of("x-needs")?;
    needs.iter().map(|need| read_need(need, fields, is_open)).collect()
}

fn read_need(place: &DocumentNode, fields: &[Field], is_open: bool) -> Result<Need, Fault> {
    let find = |name: &DocumentNode| {
        let text = name.string()?;
        let found = fields.iter().find(|field| field.name == text);
        match found {
            None if !is_open => Err(name.fault(format!("the request has no field `{text}`"))),
            Some(field) if field.required => {
                Err(name.fault(format!("`{text}` is required anyway")))
            }
            _ => Ok(found),
        }
    };
    let image = place.get("unless-alpha-in");
    let what = match (place.get("any-of"), place.get("images")) {
        (Some(names), None) => {
            names.elements()?.iter().try_for_each(|name| find(name).map(|_| ()))?;
            if let Some(name) = &image {
                let is_image = |field: &Field| {
                    matches!(field.kind, Kind::Image { .. }) && name.value == field.name.as_str()
                };
                if !fields.iter().any(is_image) {
                    return Err(name.fault("expected the name of an image field"));
                }
            }
            let image = image.map(|name| name.string().map(str::to_owned)).transpose()?;
            What::AnyOf(names.strings()?, image)
        }
        (None, Some(count)) => {
            if let Some(name) = image {
                return Err(name.fault("only a field (`any-of`) can be replaced"));
            }
            match count.count()? {
                0 => return Err(count.fault("this need is always met")),
                images => What::Images(images),
            }
        }
        _ => return Err(place.fault("expected either `any-of` or `images`")),
    };
    Ok(Need { what, why: place.need("why")?.string()?.to_owned() })
}
