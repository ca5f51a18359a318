//! The members of an object in a request, which the fields of a generated type set and take one by
//! one.

use serde_json::Value;

use super::field_value::{FieldValue, FromFieldValue, IntoFieldValue};
use crate::Extra;

#[derive(Default)]
pub(crate) struct Members {
    values: Vec<(String, FieldValue)>,
    /// What is wrong with a member.
    problem: Option<String>,
}

#[allow(dead_code, reason = "for generated objects, if the contract defines any")]
impl Members {
    pub(crate) fn put(&mut self, name: &str, value: impl IntoFieldValue) {
        match value.into_field_value() {
            Ok(value) => self.values.push((name.to_owned(), value)),
            Err(problem) => self.fail(name, &problem),
        }
    }

    pub(crate) fn put_option(&mut self, name: &str, value: Option<impl IntoFieldValue>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    /// Adds the fields that the contract does not define.
    pub(crate) fn finish(mut self, extra: Extra) -> Result<FieldValue, String> {
        let (fields, problems) = extra.into_parts();
        for (name, value) in fields {
            match self.values.iter().any(|(known, _)| *known == name) {
                true => self.fail(&name, "is set twice; set it once"),
                false => self.values.push((name, FieldValue::Json(value))),
            }
        }
        problems.iter().for_each(|(name, problem)| self.fail(name, problem));
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(FieldValue::object(self.values)),
        }
    }

    fn fail(&mut self, name: &str, problem: &str) {
        self.problem.get_or_insert_with(|| format!("has a field `{name}` that {problem}"));
    }

    /// Returns the members of `value`, if it is an object.
    pub(crate) fn of(value: &FieldValue) -> Option<Self> {
        let values = match value {
            FieldValue::Object(members) => members.clone(),
            FieldValue::Json(Value::Object(members)) => members
                .iter()
                .map(|(name, value)| (name.clone(), FieldValue::Json(value.clone())))
                .collect(),
            _ => return None,
        };
        Some(Self { values, problem: None })
    }

    /// Takes a member, if it is set and has the type.
    pub(crate) fn take<T: FromFieldValue>(&mut self, name: &str) -> Option<T> {
        let at = self.values.iter().position(|(known, _)| known == name)?;
        let value = T::from_field_value(&self.values.get(at)?.1)?;
        self.values.remove(at);
        Some(value)
    }

    /// Returns the remaining members, unless one contains an image.
    pub(crate) fn rest(self) -> Option<Extra> {
        let mut extra = Extra::default();
        for (name, value) in self.values {
            let FieldValue::Json(value) = value else { return None };
            extra.set(name, value);
        }
        Some(extra)
    }
}
