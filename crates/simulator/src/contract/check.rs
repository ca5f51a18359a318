//! Checks a value against a schema. The violations have the format and the wording of the service.

use std::{cmp::Ordering, fmt::Display};

use regress::Regex;
use serde::Serialize;
use serde_json::{Map, Value};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use url::Url;

use crate::values::names;

/// The type of a violation, and its message, which is that of Pydantic.
type Wording = (&'static str, String);

/// How deep schemas may refer to each other for one value. Only a schema that refers to itself
/// exceeds it.
const MAX_DEPTH: u32 = 128;

/// Follows `$ref` within the document. A dangling reference yields `null`.
pub(super) fn resolve<'a>(document: &'a Value, mut value: &'a Value) -> &'a Value {
    for _ in 0..16 {
        let Some(reference) = value["$ref"].as_str() else {
            return value;
        };
        let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
        value = target.unwrap_or(&Value::Null);
    }
    &Value::Null
}

pub(super) fn list<'a>(schema: &'a Value, keyword: &str) -> impl Iterator<Item = &'a Value> {
    schema[keyword].as_array().into_iter().flatten()
}

/// The violations of a schema without references, by the value at `loc`.
pub(crate) fn violations(schema: &Value, loc: &[Step], value: &Value) -> Vec<Violation> {
    Check::new(&Value::Null, loc).run(schema, value)
}

/// An integer in any JSON notation: `7` and `7.0` are the same. Anything else counts as absent.
pub(crate) fn integer(value: &Value) -> Option<i128> {
    let float =
        || value.as_f64().filter(|number| number.fract() == 0.0).map(|number| number as i128);
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from)).or_else(float)
}

/// The integer in a field, or the nearest that fits.
pub(crate) fn integer_field(body: &Value, name: &str) -> Option<i64> {
    let integer = integer(body.get(name)?)?;
    i64::try_from(integer).ok().or(Some(if integer < 0 { i64::MIN } else { i64::MAX }))
}

/// Walks through a value with its schemas.
pub(super) struct Check<'a> {
    document: &'a Value,
    loc: Vec<Step>,
    found: Vec<Violation>,
}

impl<'a> Check<'a> {
    pub(super) fn new(document: &'a Value, loc: &[Step]) -> Self {
        Self { document, loc: loc.to_vec(), found: Vec::new() }
    }

    pub(super) fn run(mut self, schema: &Value, value: &Value) -> Vec<Violation> {
        self.value(schema, value, MAX_DEPTH);
        // A value that is not an allowed choice needs no violation of its type in addition.
        let choices = self.found.iter().filter(|violation| violation.kind == "enum");
        let choices: Vec<_> = choices.map(|violation| violation.loc.clone()).collect();
        self.found.retain(|found| found.kind == "enum" || !choices.contains(&found.loc));
        self.found
    }

    fn report(&mut self, (kind, msg): Wording) {
        let is_known = |known: &Violation| known.loc == self.loc && known.kind == kind;
        // Each one is compared with all others.
        if self.found.len() < MAX_VIOLATIONS && !self.found.iter().any(is_known) {
            self.found.push(Violation { loc: self.loc.clone(), msg, kind });
        }
    }

    fn unsatisfied(&mut self, keyword: &str) {
        self.report((
            "value_error",
            format!("Value error, the input does not satisfy `{keyword}`"),
        ));
    }

    /// Does something one step further.
    fn at(&mut self, step: impl Into<Step>, check: impl FnOnce(&mut Self)) {
        self.loc.push(step.into());
        check(self);
        self.loc.pop();
    }

    fn value(&mut self, schema: &Value, value: &Value, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return self.unsatisfied("$ref") };
        // In OpenAPI 3.0, siblings of `$ref` are ignored.
        let schema = resolve(self.document, schema);
        if *schema == Value::Bool(false) {
            return self.unsatisfied("not");
        }
        self.combined(schema, value, depth);
        if schema["enum"].is_array() && !list(schema, "enum").any(|option| equal(option, value)) {
            let msg = format!("Input should be {}", alternatives(schema));
            self.report(("enum", msg));
        }
        // OpenAPI 3.0.3: `nullable` adds null to the type in the same schema, and has no effect
        // without one or on a schema that is referred to.
        let expected = schema["type"].as_str();
        if value.is_null() && schema["nullable"] == true && expected.is_some() {
            return;
        }
        let is_whole = self.loc.len() == 1;
        if let Some(wrong) = expected.and_then(|expected| wrong_type(expected, value, is_whole)) {
            return self.report(wrong);
        }
        match value {
            Value::Number(_) => self.number(schema, value),
            Value::String(text) => self.text(schema, text),
            Value::Array(items) => self.array(schema, items, depth),
            Value::Object(members) => self.object(schema, members, depth),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Checks the keywords that combine schemas. They also apply to null.
    fn combined(&mut self, schema: &Value, value: &Value, depth: u32) {
        for part in list(schema, "allOf") {
            self.value(part, value, depth);
        }
        let fits = |schema: &&Value| {
            let mut check = Check::new(self.document, &[]);
            check.value(schema, value, depth);
            check.found.is_empty()
        };
        let fails_any =
            schema["anyOf"].is_array() && !list(schema, "anyOf").any(|part| fits(&part));
        let fails_one =
            schema["oneOf"].is_array() && list(schema, "oneOf").filter(fits).count() != 1;
        let fails_not = schema.get("not").is_some_and(|not| fits(&not));
        for (keyword, fails) in [("anyOf", fails_any), ("oneOf", fails_one), ("not", fails_not)] {
            if fails {
                self.unsatisfied(keyword);
            }
        }
    }

    fn number(&mut self, schema: &Value, value: &Value) {
        let bounds = [
            ("minimum", "exclusiveMinimum", Ordering::Less),
            ("maximum", "exclusiveMaximum", Ordering::Greater),
        ];
        for (bound, exclusive, outside) in bounds {
            let (limit, is_exclusive) = (&schema[bound], schema[exclusive] == true);
            let order = compare(value, limit);
            if order == Some(outside) || is_exclusive && order == Some(Ordering::Equal) {
                self.report(beyond(outside, is_exclusive, limit));
            }
        }
        if schema["format"] == "int64" {
            self.int64(value);
        }
        let multiple_of = &schema["multipleOf"];
        let divides = |of: i128| match value.as_f64().filter(|_| value.is_f64()) {
            Some(float) => float % of as f64 == 0.0,
            None => integer(value).is_some_and(|number| number % of == 0),
        };
        if integer(multiple_of).is_some_and(|of| !divides(of)) {
            let msg = format!("Input should be a multiple of {multiple_of}");
            self.report(("multiple_of", msg));
        }
    }

    /// The JSON parser reads integers slightly below those of 64 bits as -2^63, a float that equals
    /// their minimum.
    fn int64(&mut self, value: &Value) {
        let number = value.as_f64().unwrap_or_default();
        if value.is_i64() || number.abs() < i64::MAX as f64 {
            return;
        }
        let (outside, limit) =
            if number < 0.0 { (Ordering::Less, i64::MIN) } else { (Ordering::Greater, i64::MAX) };
        self.report(beyond(outside, false, limit));
    }

    fn text(&mut self, schema: &Value, text: &str) {
        let length = text.chars().count() as u64;
        if let Some(least) = schema["minLength"].as_u64().filter(|least| length < *least) {
            let msg = format!("String should have at least {}", counted(least, "character"));
            self.report(("string_too_short", msg));
        }
        if let Some(most) = schema["maxLength"].as_u64().filter(|most| length > *most) {
            let msg = format!("String should have at most {}", counted(most, "character"));
            self.report(("string_too_long", msg));
        }
        // Patterns are rare: none is in the fields of the document.
        if let Some(pattern) = schema["pattern"].as_str()
            && !Regex::new(pattern).is_ok_and(|regex| regex.find(text).is_some())
        {
            let msg = format!("String should match pattern '{pattern}'");
            self.report(("string_pattern_mismatch", msg));
        }
        match schema["format"].as_str() {
            Some("uri") if !is_uri(text) => {
                self.report(("url_parsing", "Input should be a valid URL".to_owned()));
            }
            Some(format) if !has_format(text, format) => self.unsatisfied("format"),
            _ => {}
        }
    }

    fn array(&mut self, schema: &Value, items: &[Value], depth: u32) {
        let count = items.len() as u64;
        if let Some(least) = schema["minItems"].as_u64().filter(|least| count < *least) {
            let msg = format!("List should have at least {}", counted(least, "item"));
            self.report(("too_short", msg));
        }
        if let Some(most) = schema["maxItems"].as_u64().filter(|most| count > *most) {
            let msg = format!("List should have at most {}", counted(most, "item"));
            self.report(("too_long", msg));
        }
        if let Some(schema) = schema.get("items") {
            for (index, item) in items.iter().enumerate() {
                self.at(Step::Index(index), |check| check.value(schema, item, depth));
            }
        }
    }

    fn object(&mut self, schema: &Value, members: &Map<String, Value>, depth: u32) {
        for name in list(schema, "required").filter_map(Value::as_str) {
            if !members.contains_key(name) {
                let missing = ("missing", "Field required".to_owned());
                self.at(name, |check| check.report(missing));
            }
        }
        for (name, member) in members {
            match (schema["properties"].get(name), &schema["additionalProperties"]) {
                (Some(schema), _) => self.at(name.as_str(), |check| {
                    check.value(schema, member, depth);
                }),
                (None, Value::Bool(false)) => {
                    let msg = "Extra inputs are not permitted".to_owned();
                    self.at(name.as_str(), |check| check.report(("extra_forbidden", msg)));
                }
                (None, Value::Null) => {}
                (None, others) => self.at(name.as_str(), |check| {
                    check.value(others, member, depth);
                }),
            }
        }
    }
}

/// The wording for a number that is less or greater than a limit, or equal to an exclusive one.
fn beyond(outside: Ordering, is_exclusive: bool, limit: impl Display) -> Wording {
    let (kind, relation) = match (outside, is_exclusive) {
        (Ordering::Less, true) => ("greater_than", "greater than"),
        (Ordering::Less, false) => ("greater_than_equal", "greater than or equal to"),
        (_, true) => ("less_than", "less than"),
        (_, false) => ("less_than_equal", "less than or equal to"),
    };
    (kind, format!("Input should be {relation} {limit}"))
}

/// Compares numbers: `7` and `7.0` are equal, and integers are compared exactly.
fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn equal(a: &Value, b: &Value) -> bool {
    a == b || compare(a, b) == Some(Ordering::Equal)
}

/// Whether text is a URI. The parser alone would repair characters that a URI cannot contain.
fn is_uri(text: &str) -> bool {
    let is_wrong = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    !text.contains(is_wrong) && Url::parse(text).is_ok()
}

/// Whether text has one of the formats of texts other than `uri`.
fn has_format(text: &str, format: &str) -> bool {
    let is_time = |text: &str| OffsetDateTime::parse(text, &Rfc3339).is_ok();
    match format {
        "date" => is_time(&format!("{text}T00:00:00Z")),
        "date-time" => is_time(text),
        "uuid" => names::is_uuid(text),
        _ => true,
    }
}

fn counted(limit: u64, unit: &str) -> String {
    format!("{limit} {unit}{}", if limit == 1 { "" } else { "s" })
}

/// The wording for a value that does not have the expected type. `is_whole` is whether the value is
/// the body.
fn wrong_type(expected: &str, value: &Value, is_whole: bool) -> Option<Wording> {
    let (kind, msg) = match (expected, value) {
        ("integer", Value::Number(_)) if integer(value).is_some() => return None,
        ("number", Value::Number(_))
        | ("boolean", Value::Bool(_))
        | ("string", Value::String(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => return None,
        ("integer", Value::String(_)) => {
            ("int_parsing", "Input should be a valid integer, unable to parse string as an integer")
        }
        ("integer", Value::Number(_)) => (
            "int_from_float",
            "Input should be a valid integer, got a number with a fractional part",
        ),
        ("integer", _) => ("int_type", "Input should be a valid integer"),
        ("number", Value::String(_)) => {
            ("float_parsing", "Input should be a valid number, unable to parse string as a number")
        }
        ("number", _) => ("float_type", "Input should be a valid number"),
        ("boolean", Value::String(_)) => {
            ("bool_parsing", "Input should be a valid boolean, unable to interpret input")
        }
        ("boolean", _) => ("bool_type", "Input should be a valid boolean"),
        ("string", _) => ("string_type", "Input should be a valid string"),
        ("array", _) => ("list_type", "Input should be a valid list"),
        ("object", _) if is_whole => (
            "model_attributes_type",
            "Input should be a valid dictionary or object to extract fields from",
        ),
        _ => ("dict_type", "Input should be a valid dictionary"),
    };
    Some((kind, msg.to_owned()))
}

/// `'a', 'b' or 'c'`
fn alternatives(schema: &Value) -> String {
    let quoted = list(schema, "enum").map(|option| match option {
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    });
    let quoted: Vec<_> = quoted.collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// The maximum number of violations to report.
pub(crate) const MAX_VIOLATIONS: usize = 100;

/// A violation of the contract.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Violation {
    pub(crate) loc: Vec<Step>,
    pub(crate) msg: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
}

/// A step on the path to the invalid value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Step {
    Name(String),
    Index(usize),
}

/// A value, or what is wrong with the request.
pub(crate) type Validated<T = ()> = Result<T, Vec<Violation>>;

impl From<&str> for Step {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl Violation {
    pub(crate) fn new(
        loc: impl IntoIterator<Item = impl Into<Step>>,
        kind: &'static str,
        msg: impl Into<String>,
    ) -> Self {
        Self { loc: loc.into_iter().map(Into::into).collect(), msg: msg.into(), kind }
    }

    /// Bounds the names on its path, and replaces characters that cannot be printed.
    pub(crate) fn make_printable(&mut self) {
        for step in &mut self.loc {
            if let Step::Name(name) = step {
                *name = names::printable(name);
            }
        }
    }

    /// A violation by a value of the right type.
    pub(crate) fn value(
        loc: impl IntoIterator<Item = impl Into<Step>>,
        reason: impl AsRef<str>,
    ) -> Self {
        Self::new(loc, "value_error", format!("Value error, {}", reason.as_ref()))
    }
}
