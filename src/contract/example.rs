//! The contract's examples of requests.

use serde_json::{Map, Value};

use super::{operation::Operation, request::Request};

impl Operation {
    /// The contract's example of a request to this operation, if it has one.
    ///
    /// ```
    /// for operation in imagekiln::operations() {
    ///     if let Some(request) = operation.example() {
    ///         assert!(request.validate().is_ok());
    ///     }
    /// }
    /// ```
    pub fn example(&'static self) -> Option<Request> {
        // The generator wrote the text from JSON.
        let body: Map<String, Value> = serde_json::from_str(self.example_json?).ok()?;
        let mut request = Request::new(self);
        for parameter in self.path_parameters {
            request = request.parameter(parameter.name, parameter.example?);
        }
        Some(body.into_iter().fold(request, |request, (name, value)| request.field(name, value)))
    }
}
