//! What submissions need with `strict`, although the contract leaves it optional, because the
//! interface does not show which fields are required.

use serde_json::{Map, Value};

use crate::{
    contract::{Need, Violation},
    media::images::{self, Image, Input},
    values::texts,
};

/// Returns the violation of a request that lacks what it needs. `null` counts as absent.
pub(super) fn violation(
    need: &Need,
    body: &Map<String, Value>,
    inputs: &[Input],
) -> Option<Violation> {
    match need {
        Need::Fields { any_of, unless_alpha_in, why } => {
            let has = |name: &String| body.get(name).is_some_and(|value| !value.is_null());
            let (first, others) = any_of.split_first()?;
            if any_of.iter().any(has)
                || unless_alpha_in.iter().any(|field| may_have_alpha(field, inputs))
            {
                return None;
            }
            let or = others.iter().map(|name| format!(", or `{name}`")).collect::<String>();
            let msg = format!("Field required{or}: {why}");
            Some(Violation::new(["body", first.as_str()], "missing", msg))
        }
        Need::Images { images, why } => {
            let given = inputs.len() + urls(body, inputs);
            let problem = format!("the operation needs {why}: the request has {given}");
            (given < *images).then(|| Violation::value(vec!["body".into()], problem))
        }
    }
}

/// Whether the image in a field has an alpha channel, or is not known.
fn may_have_alpha(field: &str, inputs: &[Input]) -> bool {
    let image = inputs.iter().find(|input| input.place == field).map(|input| &input.image);
    !matches!(image, Some(Image::Inline(image)) if !image.has_alpha())
}

/// The number of URLs, at any depth, in fields that the contract leaves open.
fn urls(body: &Map<String, Value>, inputs: &[Input]) -> usize {
    let mut urls = 0;
    let mut count = |text: &str| {
        urls += usize::from(images::host(text).is_some());
        false
    };
    let is_read = |name: &String| inputs.iter().any(|input| input.place == *name);
    for (name, value) in body {
        if name != "webhook_url" && !is_read(name) {
            texts::any(value, &mut count);
        }
    }
    urls
}
