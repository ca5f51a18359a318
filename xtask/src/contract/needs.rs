//! Checks that what a submission needs (`x-needs`) can be met, and that its example does.

use serde_json::Value;

use super::{DocumentNode, Faults, Field, Kind, Need, Submission, What, all, fit};

pub fn check(operation: &DocumentNode, submission: &Submission) -> Result<(), Faults> {
    let places = operation.elements_of("x-needs")?;
    let each = places.iter().zip(&submission.needs).map(|(place, need)| {
        check_need(place, submission)?;
        if is_met(need, submission) {
            return Ok(());
        }
        let message = "the example does not have what this says that a request needs";
        Err(place.fault(message))
    });
    all(each).map(drop)
}

fn check_need(place: &DocumentNode, submission: &Submission) -> Result<(), Faults> {
    let Submission { fields, is_open, .. } = submission;
    let image = place.get("unless-alpha-in");
    for name in place.elements_of("any-of")? {
        let text = name.string()?;
        match fields.iter().find(|field| field.name == text) {
            None if !is_open => {
                return Err(name.fault(format!("the request has no field `{text}`")));
            }
            Some(field) if field.required => {
                return Err(name.fault(format!("`{text}` is required anyway")));
            }
            _ => {}
        }
    }
    if let Some(count) = place.get("images") {
        if let Some(name) = image {
            return Err(name.fault("only a field (`any-of`) can be replaced"));
        }
        if count.count()? == 0 {
            return Err(count.fault("this need is always met"));
        }
    }
    let is_image = |field: &Field, name: &DocumentNode| {
        matches!(field.kind, Kind::Image { .. }) && name.value == field.name.as_str()
    };
    match image {
        Some(name) if !fields.iter().any(|field| is_image(field, &name)) => {
            Err(name.fault("expected the name of an image field"))
        }
        _ => Ok(()),
    }
}

/// Whether the example meets the need. Its images are in the fields of the contract, or in others
/// if not all fields are shown. Nothing looks for an alpha channel: an example says what it means.
fn is_met(need: &Need, submission: &Submission) -> bool {
    let example = &submission.example;
    match &need.what {
        What::AnyOf(names, _) => names.iter().any(|name| example.contains_key(name)),
        What::Images(least) => {
            let is_image = |(name, value): &(&String, &Value)| {
                let field = submission.fields.iter().find(|field| field.name == **name);
                field.is_none_or(|field| matches!(field.kind, Kind::Image { mask_of: None, .. }))
                    && value.as_str().is_some_and(fit::seems_image)
            };
            example.iter().filter(is_image).count() as u64 >= *least
        }
    }
}
