//! Generated requests to any operation.

use std::fmt;

use proptest::{option::weighted, prelude::*, sample::select};
use serde_json::{Map, Value};

use super::values;
use crate::requests::submissions;
use imagekiln::{Field, Operation, Request};

/// The request of a test.
#[derive(Clone)]
pub struct Case {
    pub operation: &'static Operation,
    pub parameters: Vec<(&'static str, String)>,
    pub body: Map<String, Value>,
}

impl Case {
    pub fn new(operation: &'static Operation, body: Map<String, Value>) -> Self {
        let parameters = operation.path_parameters.iter();
        let parameters = parameters.map(|one| (one.name, one.example.to_owned())).collect();
        Self { operation, parameters, body }
    }

    pub fn request(&self) -> Request {
        let request = Request::new(self.operation);
        let request = self
            .parameters
            .iter()
            .fold(request, |request, (name, value)| request.parameter(*name, value));
        let fields = self.body.iter();
        fields.fold(request, |request, (name, value)| request.field(name, value.clone()))
    }
}

/// Long texts are shortened.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.operation, self.parameters)?;
        for (name, value) in &self.body {
            let text = value.to_string();
            match text.char_indices().nth(200) {
                Some((end, _)) => {
                    write!(f, "\n  {name}: {}... ({} bytes)", &text[..end], text.len())?;
                }
                None => write!(f, "\n  {name}: {text}")?,
            }
        }
        Ok(())
    }
}

/// Requests with valid and invalid values, required fields left out, and unlisted fields.
pub fn any() -> impl Strategy<Value = Case> {
    let field = |field: &'static Field| {
        let value = prop_oneof![
            6 => select(values::valid(field)),
            2 => select([values::any(field), values::syntax(field)].concat()),
            1 => near(field),
        ];
        (Just(field.name), weighted(if field.required { 0.9 } else { 0.4 }, value)).boxed()
    };
    select(submissions().collect::<Vec<_>>()).prop_flat_map(move |operation| {
        let unlisted = select(values::unlisted(operation));
        (
            Just(operation),
            operation.fields.iter().map(field).collect::<Vec<_>>(),
            prop::collection::vec(unlisted, 0..2),
            base_model(),
        )
            .prop_map(|(operation, fields, unlisted, base_model)| {
                let fields = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
                let body = fields.chain(unlisted).map(|(name, value)| (name.to_owned(), value));
                let mut case = Case::new(operation, body.collect());
                case.parameters.iter_mut().for_each(|(_, value)| value.clone_from(&base_model));
                case
            })
    })
}

/// Requests in which both find nothing wrong.
pub fn valid() -> impl Strategy<Value = Case> {
    let field = |field: &'static Field| {
        let value = select(values::valid(field));
        let value = if field.required {
            value.prop_map(Some).boxed()
        } else {
            weighted(0.5, value).boxed()
        };
        (Just(field.name), value).boxed()
    };
    select(submissions().collect::<Vec<_>>()).prop_flat_map(move |operation| {
        operation.fields.iter().map(field).collect::<Vec<_>>().prop_map(move |fields| {
            let fields = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
            Case::new(operation, fields.map(|(name, value)| (name.to_owned(), value)).collect())
        })
    })
}

/// Random numbers around the limits, and random text.
fn near(field: &Field) -> BoxedStrategy<Value> {
    let minimum = field.limits.minimum.unwrap_or(-50.0);
    let maximum = field.limits.maximum.unwrap_or(minimum + 2000.0);
    let (first, last) = (minimum as i64 - 50, maximum as i64 + 50);
    prop_oneof![
        (first..last).prop_map(Value::from),
        (minimum - 2.0..maximum + 2.0).prop_map(Value::from),
        "[ -~\u{e9}]{0,20}".prop_map(Value::from),
    ]
    .boxed()
}

fn base_model() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => Just("gen-2-klein-9b-kv".to_owned()),
        1 => "gen-2-klein-[a-zA-Z0-9_-]{0,8}",
        1 => "(gen-2-klein|gen-2-Klein-|gen-3|x)[a-z0-9]{0,4}",
    ]
}
