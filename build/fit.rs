//! Checks that the examples and the defaults in the document fit their fields.

use serde_json::{Map, Value};

use super::field::{Field, Kind};

/// Checks the body of an example. Returns the problem, and its pointer within the body.
pub fn fit_body(fields: &[Field], body: &Map<String, Value>) -> Result<(), (String, String)> {
    for field in fields {
        match body.get(&field.name) {
            Some(value) => {
                fit(field, value).map_err(|problem| (format!("/{}", field.name), problem))?;
            }
            None if field.required => {
                return Err((String::new(), format!("`{}` is missing", field.name)));
            }
            None => {}
        }
    }
    Ok(())
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
        (Kind::List(item), Value::Array(values)) => {
            let length = values.len() as u64;
            if field.limits.min_items.is_some_and(|least| length < least)
                || field.limits.max_items.is_some_and(|most| length > most)
            {
                return Err(format!("{length} items are outside the limits"));
            }
            values.iter().try_for_each(|value| fit(item, value))
        }
        (Kind::List(_), _) => expected("an array"),
        (Kind::Object(object), Value::Object(members)) => fit_body(&object.fields, members)
            .map_err(|(place, problem)| format!("{place}: {problem}")),
        (Kind::Object(_), _) => expected("an object"),
        (_, Value::String(text)) => {
            let length = text.chars().count() as u64;
            let fits = field.limits.min_length.is_none_or(|least| length >= least)
                && field.limits.max_length.is_none_or(|most| length <= most);
            if fits { Ok(()) } else { Err(format!("{length} characters are outside the limits")) }
        }
        _ => expected("text"),
    }
}
