//! Example requests from the contract.

use serde_json::{Map, Value};

use super::{operation::Operation, request::Request};

impl Operation {
    /// Returns the example request of this operation in the contract. `None` for polling.
    ///
    /// ```
    /// for operation in imagekiln::operations() {
    ///     if let Some(request) = operation.example() {
    ///         assert!(request.validate().is_ok());
    ///     }
    /// }
    /// ```
    pub fn example(&'static self) -> Option<Request> {
        // Always valid JSON, because the generator wrote it.
        let body: Map<String, Value> = serde_json::from_str(self.example_json?).ok()?;
        let mut request = Request::new(self);
        for parameter in self.path_parameters {
            request = request.parameter(parameter.name, parameter.example);
        }
        Some(body.into_iter().fold(request, |request, (name, value)| request.field(name, value)))
    }
}
