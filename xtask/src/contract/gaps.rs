//! Checks that what is not shown of a request (`x-not-shown`) is neither in its fields nor about
//! others: a gap that the document has filled would mislead.

use super::{DocumentNode, Encodings, Faults, Field, Kind, Submission, all};

pub fn check(
    operation: &DocumentNode,
    schema: &DocumentNode,
    submission: &Submission,
) -> Result<(), Faults> {
    let mut gaps = operation.elements_of("x-not-shown")?;
    gaps.extend(schema.elements_of("x-not-shown")?);
    let fields = &submission.fields;
    let contradictions = gaps.iter().map(|gap| {
        let problem = contradiction(gap.string()?, fields);
        problem.map_or(Ok(()), |problem| Err(gap.fault(problem)))
    });
    let texts: Vec<_> = gaps.iter().filter_map(|gap| gap.value.as_str()).collect();
    let hides_fields = texts.iter().any(|gap| {
        let gap = gap.to_lowercase();
        gap.contains("request fields") || gap.contains("rest of the request")
    });
    let open = match schema.get("additionalProperties") {
        Some(open) if !hides_fields => {
            Err(open.fault("`x-not-shown` does not say which request fields are not shown"))
        }
        None if hides_fields => {
            Err(schema.fault("request fields are not shown, so `additionalProperties` is missing"))
        }
        _ => Ok(()),
    };
    let is_listed = |field: &Field| {
        let mut listed = texts.iter().filter(|gap| gap.starts_with(ENCODINGS));
        listed.any(|gap| names(gap).any(|name| matches(name, &field.name)))
    };
    let unlisted = fields.iter().find(|field| is_hidden_image(field) && !is_listed(field));
    let encodings = unlisted.map(|Field { name, .. }| {
        Err(schema.fault(format!("`x-not-shown` lacks the encodings of `{name}`")))
    });
    all(contradictions.chain([open]).chain(encodings)).map(drop)
}

const ENCODINGS: &str = "Accepted encodings of ";

/// The starts of gaps, and what a field that such a gap names, or does not except, must not have.
const ABSENT: [(&str, Absent); 5] = [
    ("Defaults of ", |field, is_named| (is_named && field.default.is_some(), "a default")),
    ("Bounds of ", |field, is_named| (is_named && has_bounds(field), "bounds")),
    ("Types and bounds of ", |field, is_named| (is_named && has_type(field), "a type")),
    ("Required flags of ", |field, is_named| (!is_named && field.required, "a required flag")),
    (ENCODINGS, |field, is_named| (is_named && is_shown_image(field), "encodings")),
];

type Absent = fn(&Field, bool) -> (bool, &'static str);

/// What in the fields contradicts a gap.
fn contradiction(gap: &str, fields: &[Field]) -> Option<String> {
    let is_field = |name: &&str| fields.iter().any(|field| matches(name, &field.name));
    let is_value = |name: &&str| {
        fields.iter().any(|field| match &field.kind {
            Kind::Choice { values, .. } => values.iter().any(|value| value == name),
            _ => false,
        })
    };
    // A name with a dash is that of an operation.
    let mut unknown = names(gap).filter(|name| !name.contains('-'));
    if let Some(name) = unknown.find(|name| !is_field(name) && !is_value(name)) {
        return Some(format!("the request has no field `{name}`"));
    }
    let (_, absent) = ABSENT.iter().find(|(start, _)| gap.starts_with(start))?;
    fields.iter().find_map(|field| {
        let (is_shown, what) = absent(field, names(gap).any(|name| matches(name, &field.name)));
        is_shown.then(|| format!("`{}` has {what}", field.name))
    })
}

/// The names in a text, which are in backticks.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether a name is that of a field, or its start and a `*`.
fn matches(name: &str, field: &str) -> bool {
    name.strip_suffix('*').map_or(name == field, |start| field.starts_with(start))
}

fn has_bounds(field: &Field) -> bool {
    let limits = &field.limits;
    let numbers = [limits.minimum, limits.maximum, limits.multiple_of];
    let lengths = [limits.min_length, limits.max_length];
    numbers.iter().any(Option::is_some) || lengths.iter().any(Option::is_some)
}

fn has_type(field: &Field) -> bool {
    !matches!(field.kind, Kind::Json)
}

fn is_shown_image(field: &Field) -> bool {
    matches!(field.kind, Kind::Image { .. }) && !is_hidden_image(field)
}

fn is_hidden_image(field: &Field) -> bool {
    matches!(field.kind, Kind::Image { encodings: Encodings::NotShown, .. })
}
