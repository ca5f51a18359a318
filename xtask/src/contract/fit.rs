//! Checks that the examples and the defaults in the document fit their fields.

use base64::{Engine, engine::general_purpose::STANDARD};
use imagesize::ImageSize;
use serde_json::{Map, Value};

use super::{Encodings, Field, Kind, ratio};

/// Checks the body of an example. Returns the problems, each with its pointer within the body.
pub fn fit_body(fields: &[Field], body: &Map<String, Value>) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    for field in fields {
        let place = format!("/{}", field.name);
        match body.get(&field.name) {
            Some(value) => problems.extend(fit(field, value).err().map(|it| (place.clone(), it))),
            None if field.required => {
                problems.push((String::new(), format!("`{}` is missing", field.name)));
            }
            None => {}
        }
        if let Kind::Image { mask_of: Some(image), same_size: true, .. } = &field.kind {
            let size = |name: &str| body.get(name)?.as_str().and_then(|text| size(text).ok());
            if let (Some(mask), Some(image)) = (size(&field.name), size(image))
                && mask != image
            {
                problems.push((place, "the mask and its image have different sizes".to_owned()));
            }
        }
    }
    problems
}

/// Whether a text in a field that is not shown may be an image: one in base64, or its URL.
pub fn seems_image(text: &str) -> bool {
    is_url(text) || size(text).is_ok()
}

fn is_url(text: &str) -> bool {
    let rest = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
}

/// Returns the size of an image in base64.
fn size(text: &str) -> Result<ImageSize, String> {
    let bytes = STANDARD.decode(text).map_err(|error| format!("expected base64: {error}"))?;
    imagesize::blob_size(&bytes).map_err(|error| format!("expected an image: {error}"))
}

/// Checks a value of the field. Returns the problem.
pub fn fit(field: &Field, value: &Value) -> Result<(), String> {
    let expected = |what: &str| Err(format!("expected {what}, found {value}"));
    match (&field.kind, value) {
        (Kind::Json, _) => Ok(()),
        (_, Value::Null) if field.nullable => Ok(()),
        (Kind::Integer, Value::Number(number)) if number.is_f64() => expected("an integer"),
        (Kind::Integer | Kind::Number, Value::Number(number)) => {
            let number = number.as_f64().unwrap_or_default();
            let limits = &field.limits;
            let fits = limits.minimum.is_none_or(|least| number >= least)
                && limits.maximum.is_none_or(|most| number <= most)
                && limits.multiple_of.is_none_or(|step| number % step == 0.0);
            if fits { Ok(()) } else { Err(format!("{number} is outside the limits")) }
        }
        (Kind::Integer, _) => expected("an integer"),
        (Kind::Number, _) => expected("a number"),
        (Kind::Boolean, Value::Bool(_)) => Ok(()),
        (Kind::Boolean, _) => expected("true or false"),
        (Kind::Choice { values, .. }, Value::String(text)) if !values.contains(text) => {
            Err(format!("`{text}` is not one of {}", values.join(", ")))
        }
        (
            Kind::Image { encodings: Encodings::Base64OrUrl | Encodings::NotShown, .. },
            Value::String(text),
        ) if is_url(text) => Ok(()),
        (Kind::Image { max_megapixels, .. }, Value::String(text)) => {
            let pixels = size(text).map(|size| size.width as f64 * size.height as f64)?;
            let most = max_megapixels.unwrap_or(f64::INFINITY) * 1e6;
            if pixels <= most { Ok(()) } else { Err(format!("more than {most} pixels")) }
        }
        (Kind::AspectRatio { narrowest, widest }, Value::String(text)) => {
            let (width, height) = ratio(text).ok_or("expected a ratio such as `16:9`")?;
            let is_at_most = |(w, h): (u32, u32), (other_w, other_h): (u32, u32)| {
                u64::from(w) * u64::from(other_h) <= u64::from(other_w) * u64::from(h)
            };
            let sides = (width, height);
            if is_at_most(*narrowest, sides) && is_at_most(sides, *widest) {
                Ok(())
            } else {
                Err(format!("{text} is outside the limits"))
            }
        }
        (Kind::Address, Value::String(text)) if !is_url(text) => expected("a URL"),
        (_, Value::String(text)) => {
            let length = text.chars().count() as u64;
            let fits = field.limits.min_length.is_none_or(|least| length >= least)
                && field.limits.max_length.is_none_or(|most| length <= most);
            if fits { Ok(()) } else { Err(format!("{length} characters are outside the limits")) }
        }
        _ => expected("text"),
    }
}
