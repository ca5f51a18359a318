//! Checks what an operation says about its request: the example and the defaults fit the fields,
//! and each fact about images and fields has one that it can be about.

use super::{
    DocumentNode, Faults, Field, Kind, Operation, Submission, TAKEN, all, fit, gaps, is_field_name,
    member_name, needs, read_operation,
};

pub fn check(root: &DocumentNode) -> Result<(), Faults> {
    let mut operations = Vec::new();
    for (path, item) in root.need("paths")?.members()? {
        operations.extend(item.members()?.into_iter().map(|(method, place)| (path, method, place)));
    }
    let each = operations.iter().map(|(path, method, place)| {
        let operation = read_operation(path, method, place)?;
        let parts = [
            check_id(place, &operation),
            check_images(place, &operation),
            place.need("responses").and_then(|responses| responses.need("200")).map(drop),
            match &operation.submission {
                Some(submission) => check_submission(place, submission),
                None => check_polling(place),
            },
        ];
        all(parts).map(drop)
    });
    all(each).map(drop)
}

fn check_id(place: &DocumentNode, operation: &Operation) -> Result<(), Faults> {
    let (id, expected) = (place.need("operationId")?, &operation.id);
    if id.string()? != expected {
        return Err(id.fault(format!("expected `{expected}`, like the path")));
    }
    if !is_snake_case(expected) {
        return Err(id.fault(format!("`{expected}` is not a valid name in Rust")));
    }
    Ok(())
}

fn is_snake_case(name: &str) -> bool {
    is_field_name(name) && member_name(name) == name
}

fn check_polling(place: &DocumentNode) -> Result<(), Faults> {
    for keyword in ["x-kind", "x-needs", "x-not-accepted", "x-max-reference-images"] {
        if let Some(fact) = place.get(keyword) {
            return Err(fact.fault("only a submission can have this"));
        }
    }
    for parameter in place.elements_of("parameters")? {
        if parameter.need("name")?.value != "id" {
            return Err(parameter.fault("the SDK polls with the parameter `id` only"));
        }
    }
    Ok(())
}

fn check_images(place: &DocumentNode, operation: &Operation) -> Result<(), Faults> {
    let submission = operation.submission.as_ref();
    let fields = submission.map_or(&[][..], |submission| &submission.fields);
    let is_open = submission.is_some_and(|submission| submission.is_open);
    let is_image = |field: &&Field| matches!(field.kind, Kind::Image { mask_of: None, .. });
    let images: Vec<_> = fields.iter().filter(is_image).map(|field| field.name.as_str()).collect();
    let references = count_references(&images);
    if let Some(most) = operation.max_reference_images
        && most != references as u64
        && !(is_open && images.is_empty())
    {
        let message = format!("the request has {references} image fields, not {most}");
        return Err(place.need("x-max-reference-images")?.fault(message));
    }
    if let Some(most) = place.get("x-max-input-megapixels")
        && images.is_empty()
        && !is_open
    {
        return Err(most.fault("the request has no image field"));
    }
    match place.get("x-scaled-to-megapixels") {
        Some(scaled) if operation.max_input_megapixels.is_none() => {
            Err(scaled.fault("`x-max-input-megapixels` is missing: which images are scaled?"))
        }
        _ => Ok(()),
    }
}

/// The most image fields with one name and numbers: `input_image`, `input_image_2`.
fn count_references(images: &[&str]) -> usize {
    let base =
        |name: &str| name.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit()).to_owned();
    let counts =
        images.iter().map(|name| images.iter().filter(|other| base(name) == base(other)).count());
    counts.max().unwrap_or_default()
}

fn check_submission(place: &DocumentNode, submission: &Submission) -> Result<(), Faults> {
    let media = place.need("requestBody")?.need("content")?.need("application/json")?;
    let schema = media.need("schema")?.resolved()?;
    let fields = &submission.fields;
    let nullable = schema.get("nullable").map(|nullable| nullable.fault("a body cannot be null"));
    let taken = place
        .elements_of("x-not-accepted")?
        .into_iter()
        .filter(|name| fields.iter().any(|field| name.value == field.name.as_str()));
    let taken = taken.map(|name| Err(name.fault("the request has a field with this name")));
    let parameters = place.elements_of("parameters")?;
    let parts = [
        nullable.map_or(Ok(()), Err),
        check_callback(place, fields),
        check_values(&schema, fields),
        check_example(&media.need("example")?, submission),
        needs::check(place, submission),
        gaps::check(place, &schema, submission),
    ];
    let parameters = parameters.iter().map(|parameter| check_parameter(parameter, fields));
    all(parts.into_iter().chain(taken).chain(parameters)).map(drop)
}

/// An operation has the callback exactly if its request has a webhook URL.
fn check_callback(place: &DocumentNode, fields: &[Field]) -> Result<(), Faults> {
    let has_webhook = fields.iter().any(|field| field.name == "webhook_url");
    match (has_webhook, place.get("callbacks")) {
        (true, None) => Err(place.fault("`callbacks` is missing: the request has `webhook_url`")),
        (false, Some(callbacks)) => Err(callbacks.fault("the request has no `webhook_url`")),
        _ => Ok(()),
    }
}

/// Checks the defaults and the masks.
fn check_values(schema: &DocumentNode, fields: &[Field]) -> Result<(), Faults> {
    let parts = schema.elements_of("allOf")?.into_iter();
    let parts = parts.map(|part| check_values(&part.resolved()?, fields));
    let properties = schema.members_of("properties")?;
    let values = properties.iter().map(|(name, place)| {
        match fields.iter().find(|field| field.name == *name) {
            Some(field) => check_value(place, field, fields),
            None => Ok(()),
        }
    });
    all(parts.chain(values)).map(drop)
}

/// A default outside its own bounds is written as `x-default`, with a correction.
fn check_value(place: &DocumentNode, field: &Field, fields: &[Field]) -> Result<(), Faults> {
    if let Some(default) = place.get("default") {
        fit::fit(field, default.value).map_err(|problem| default.fault(problem))?;
    }
    if let Some(default) = place.get("x-default") {
        if fit::fit(field, default.value).is_ok() {
            return Err(default.fault("this default fits the field: use `default`"));
        }
        if place.get("default").is_some() {
            return Err(default.fault("this field has two defaults"));
        }
        place.need("x-correction")?;
    }
    if let Kind::Image { mask_of: Some(masked), .. } = &field.kind {
        let is_image = |other: &Field| matches!(other.kind, Kind::Image { mask_of: None, .. });
        if !fields.iter().any(|other| &other.name == masked && is_image(other)) {
            let message = format!("`{masked}` is not an image field");
            return Err(place.need("x-mask-of")?.fault(message));
        }
    }
    Ok(())
}

fn check_example(example: &DocumentNode, submission: &Submission) -> Result<(), Faults> {
    let Submission { fields, is_open, .. } = submission;
    let body = fit::fit_body(fields, &submission.example).into_iter();
    let problems = body
        .map(|(inner, problem)| Err(Faults::new(format!("{}{inner}", example.pointer()), problem)));
    let unknown = example
        .members()?
        .into_iter()
        .filter(|(name, _)| !is_open && !fields.iter().any(|field| field.name == *name));
    let unknown =
        unknown.map(|(_, value)| Err(value.fault("the request has no field with this name")));
    all::<()>(problems.chain(unknown)).map(drop)
}

fn check_parameter(place: &DocumentNode, fields: &[Field]) -> Result<(), Faults> {
    let (location, name) = (place.need("in")?, place.need("name")?);
    if location.string()? != "path" {
        return Err(location.fault("the parameters of a submission must be path parameters"));
    }
    if !is_snake_case(name.string()?) {
        return Err(name.fault("the name of a path parameter must be in snake case"));
    }
    // Both become members of the type of the request.
    let mut taken = fields.iter().map(|field| field.name.as_str()).chain(TAKEN);
    if taken.any(|taken| name.value == taken) {
        return Err(name.fault("a field or a method has this name"));
    }
    let (example, pattern) = (place.need("example")?, place.need("schema")?.get("pattern"));
    let prefix = pattern.and_then(|pattern| pattern.value.as_str()?.strip_prefix('^'));
    if !example.string()?.starts_with(prefix.unwrap_or_default()) {
        return Err(example.fault("the example does not match the pattern"));
    }
    Ok(())
}
