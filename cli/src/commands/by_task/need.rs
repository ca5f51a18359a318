//! What a task needs besides what the contract says that its models need. Nobody wants to pay for a
//! task without it.

use serde_json::{Map, Value};

use crate::failure::Failure;
use imagekiln::Request;

/// The fields that a task needs, and the error if they are missing.
pub struct Need {
    pub rule: Rule,
    pub problem: &'static str,
    pub advice: &'static str,
}

/// Numbers that are zero count as not set.
pub enum Rule {
    /// All of these fields.
    All(&'static [&'static str]),
    /// At least one of these fields.
    Any(&'static [&'static str]),
}

impl Need {
    pub fn check(&self, request: &Request) -> Result<(), Failure> {
        let body = request.outline();
        let is_met = match self.rule {
            Rule::All(names) => names.iter().all(|name| is_set(&body, name)),
            Rule::Any(names) => names.iter().any(|name| is_set(&body, name)),
        };
        if is_met {
            Ok(())
        } else {
            let advice = format!("nothing was sent; {}", self.advice);
            Err(Failure::request(self.problem).advise(advice))
        }
    }
}

fn is_set(body: &Map<String, Value>, name: &str) -> bool {
    body.get(name).is_some_and(|value| !value.is_null() && *value != 0)
}
