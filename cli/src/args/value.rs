//! The values of flags with a list of values. Types and bounds are not checked here: any text is
//! passed on, so that the SDK can report every violation at once.

use std::ffi::OsStr;

use clap::{
    Arg, Command,
    builder::{PossibleValue, TypedValueParser},
};
/// Offers the values of a list for help and completion, and accepts any text.
#[derive(Clone)]
pub struct Offered(pub &'static [&'static str]);

impl TypedValueParser for Offered {
    type Value = String;

    fn parse_ref(
        &self,
        _: &Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        Ok(value.to_string_lossy().into_owned())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|value| PossibleValue::new(*value))))
    }
}
