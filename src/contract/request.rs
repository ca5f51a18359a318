//! A request in the form that the client validates and sends. The generated types convert to this
//! form, and programs can also build it at run time.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    convert::Infallible,
    fmt,
};

use serde_json::{Map, Value};

use super::{
    images::{FieldImages, IMAGE, Images, located},
    operation::Operation,
};
use crate::{Address, ImageInput, IntoField, Location, Secret, Violation, values::Fault};

/// The maximum amount of text, in bytes, to validate and serialize on the thread of an async task.
/// This takes about a millisecond.
const LIGHT: usize = 1024 * 1024;

/// The message about a field or a path parameter that was set twice. The field or parameter keeps
/// its first value.
const SET_TWICE: &str = "is set twice; set it once";

/// A request that [`Client::submit`](crate::Client::submit) accepts: every request type in
/// [`types`](crate::types), and [`Request`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a request",
    label = "not a request",
    note = "create one of `imagekiln::types`, such as `Gen2Pro::new(\"a red fox\")`, or an \
            `imagekiln::Request`"
)]
pub trait Submit {
    /// Converts the request to the form that is validated and sent.
    fn into_request(self) -> Request;
}

/// A request to any operation, built at run time.
///
/// Use this type in programs such as command lines, which read the operations and their fields from
/// [`operations()`](crate::operations) at run time.
///
/// ```
/// use imagekiln::{Request, find_operation};
/// let operation = find_operation("gen-2-pro").unwrap();
/// let request = Request::new(operation).field("prompt", "a red fox").field("width", 1024);
/// assert!(request.validate().is_ok());
/// let request = request.field("seed", "seven").field("height", 16);
/// assert_eq!(request.validate().unwrap_err().violations().len(), 2);
/// ```
///
/// Two requests are equal if they have the same operation and the same values, regardless of the
/// order in which the fields were set. [`to_json`](Self::to_json) and
/// [`from_json`](Self::from_json) store and read a request.
#[derive(Clone)]
#[must_use = "a request does nothing until it is submitted"]
pub struct Request {
    pub(crate) operation: &'static Operation,
    pub(super) path_parameters: BTreeMap<String, String>,
    pub(crate) body: Map<String, Value>,
    pub(crate) images: Images,
    /// The locations of the fields and path parameters that were set more than once.
    set_twice: BTreeSet<Vec<Location>>,
    /// Other violations found while the request was built.
    pub(super) faults: Vec<Violation>,
}

impl Request {
    /// Creates an empty request to `operation`.
    pub fn new(operation: &'static Operation) -> Self {
        Self {
            operation,
            path_parameters: BTreeMap::new(),
            body: Map::new(),
            images: Images::default(),
            set_twice: BTreeSet::new(),
            faults: Vec::new(),
        }
    }

    /// Returns the operation of the request.
    pub fn operation(&self) -> &'static Operation {
        self.operation
    }

    /// Returns the name of the operation with the values of its path parameters.
    ///
    /// ```
    /// use imagekiln::{Request, find_operation};
    /// let request = Request::new(find_operation("{base_model}-finetuned").unwrap());
    /// let request = request.parameter("base_model", "gen-2-klein-9b-kv");
    /// assert_eq!(request.model_name(), "gen-2-klein-9b-kv-finetuned");
    /// ```
    ///
    /// For `kiln` and the batches.
    #[doc(hidden)]
    pub fn model_name(&self) -> String {
        let name = self.operation.name.to_owned();
        self.path_parameters
            .iter()
            .fold(name, |name, (parameter, value)| name.replace(&format!("{{{parameter}}}"), value))
    }

    /// Sets a field. The client also sends fields that the contract does not define.
    ///
    /// Text in an image field is either an http or https URL, as in [`ImageInput::url`], or base64,
    /// as in [`ImageInput::base64`]. For files, use [`image`](Self::image) with
    /// [`ImageInput::path`].
    pub fn field(mut self, name: impl Into<String>, value: impl IntoField<Value>) -> Self {
        self.set(name.into(), value.into_field());
        self
    }

    /// Sets an image field. The client also sends fields that the contract does not define. Such a
    /// field may contain a video or a ZIP archive instead of an image.
    pub fn image(mut self, name: impl Into<String>, image: impl Into<ImageInput>) -> Self {
        self.insert_images(name.into(), FieldImages::One(image.into()));
        self
    }

    /// Sets a field with a list of images.
    pub fn images(
        mut self,
        name: impl Into<String>,
        images: impl IntoIterator<Item = impl Into<ImageInput>>,
    ) -> Self {
        let images = images.into_iter().map(Into::into).collect();
        self.insert_images(name.into(), FieldImages::List(images));
        self
    }

    /// Sets a path parameter, such as `base_model`. The value may contain letters, digits, `-`, `.`
    /// and `_`.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        match self.path_parameters.entry(name.into()) {
            Entry::Vacant(entry) => {
                entry.insert(value.into());
            }
            Entry::Occupied(entry) => {
                let location = vec![Location::name("path"), Location::name(entry.key())];
                self.set_twice.insert(location);
            }
        }
        self
    }

    /// Replaces each field and path parameter that `changes` sets. `changes` must be a request to
    /// the same operation.
    ///
    /// ```
    /// use imagekiln::{Request, Submit, types::Gen2Pro};
    /// let request = Gen2Pro::new("a red fox").seed(7).into_request();
    /// let changes = Request::new(request.operation()).field("width", 1024).field("seed", 8);
    /// let changed = request.changed_by(changes);
    /// assert_eq!(changed, Gen2Pro::new("a red fox").width(1024).seed(8).into_request());
    /// ```
    #[doc(hidden)]
    pub fn changed_by(mut self, changes: Self) -> Self {
        self.path_parameters.extend(changes.path_parameters);
        for (name, value) in changes.body {
            self.images.remove(&name);
            self.body.insert(name, value);
        }
        self.images.extend(changes.images);
        self.set_twice.extend(changes.set_twice);
        self.faults.extend(changes.faults);
        self
    }

    /// Returns whether the request sets this field, even if its value is `null`.
    #[doc(hidden)]
    pub fn has_field(&self, name: &str) -> bool {
        self.body.contains_key(name)
    }

    /// Returns the text of a field. `None` if the field is not set, or if its value is not text.
    ///
    /// ```
    /// use imagekiln::{Request, Submit, types::Gen2Pro};
    /// let request = Gen2Pro::new("a red fox").into_request().field("seed", 7);
    /// assert_eq!(request.text("prompt"), Some("a red fox"));
    /// assert_eq!(request.text("seed"), None);
    /// ```
    #[doc(hidden)]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.body.get(name).filter(|_| self.image_in(name).is_none())?.as_str()
    }

    /// Returns the integer of a field. `None` if the field is not set, or if its value is not a
    /// 64-bit integer.
    ///
    /// ```
    /// use imagekiln::{Request, Submit, types::Gen2Pro};
    /// let request = Gen2Pro::new("a red fox").seed(7).into_request();
    /// assert_eq!(request.integer("seed"), Some(7));
    /// assert_eq!(request.integer("prompt"), None);
    /// ```
    #[doc(hidden)]
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.body.get(name)?.as_i64()
    }

    /// Returns the image in a field. `None` if the field is not set, or if its value is not a
    /// single image.
    #[doc(hidden)]
    pub fn image_in(&self, name: &str) -> Option<&ImageInput> {
        match self.images.get(name)? {
            FieldImages::One(image) => Some(image),
            FieldImages::List(_) => None,
        }
    }

    /// Returns all images with their locations in the body.
    pub(crate) fn all_images(&self) -> impl Iterator<Item = (Vec<Location>, &ImageInput)> {
        located(&self.images)
    }

    /// Returns `true` if an image of the request is a file. If this returns `false`,
    /// [`validate`](Self::validate) does not block.
    ///
    /// For tests of this project.
    #[doc(hidden)]
    pub fn reads_files(&self) -> bool {
        self.all_images().any(|(_, image)| matches!(image, ImageInput::Path(_)))
    }

    /// Whether validating and serializing the request would block an async task for too long,
    /// because the request reads files or contains more than 1 MiB of text.
    pub(crate) fn is_heavy(&self) -> bool {
        let fields =
            self.body.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len));
        let images = self.all_images().map(|(_, image)| match image {
            ImageInput::Base64(text) => text.len(),
            _ => 0,
        });
        self.reads_files() || fields.chain(images).sum::<usize>() > LIGHT
    }

    /// Sets a field. Text in an image field of the contract becomes an image.
    pub(super) fn set(&mut self, name: String, value: Result<Value, Fault>) {
        let is_image = || matches!(self.operation.field(&name), Some(field) if field.is_image());
        match value {
            Ok(Value::String(text)) if is_image() => {
                self.insert_images(name, FieldImages::One(ImageInput::from_text(text)));
            }
            Ok(value) if !self.is_repeated(&name) => drop(self.body.insert(name, value)),
            Ok(_) => {}
            Err(Fault(fault)) => self.faults.push(Violation::of_field(&name, "value_error", fault)),
        }
    }

    fn insert_images(&mut self, name: String, images: FieldImages) {
        if !self.is_repeated(&name) {
            self.put_images(name, images);
        }
    }

    /// Sets the images of a field, and their placeholders in the body.
    pub(super) fn put_images(&mut self, field: String, images: FieldImages) {
        let Ok(placeholders) = images.to_json(|_| Ok::<_, Infallible>(IMAGE.into()));
        self.body.insert(field.clone(), placeholders);
        self.images.insert(field, images);
    }

    /// Whether the field is already set. If it is, this records a violation, and the caller must
    /// keep the first value.
    fn is_repeated(&mut self, name: &str) -> bool {
        let is_set = self.has_field(name);
        if is_set {
            self.set_twice.insert(vec![Location::name("body"), Location::name(name)]);
        }
        is_set
    }

    /// Returns the violations found while the request was built.
    pub(super) fn faults(&self) -> Vec<Violation> {
        let twice = |loc: &Vec<Location>| Violation {
            loc: loc.clone(),
            ..Violation::new("set_twice", SET_TWICE)
        };
        self.faults.iter().cloned().chain(self.set_twice.iter().map(twice)).collect()
    }

    pub(crate) fn path_value(&self, name: &str) -> &str {
        self.path_parameters.get(name).map_or("", String::as_str)
    }
}

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
        // The example is always valid JSON, because the generator has serialized it.
        let body: Map<String, Value> = serde_json::from_str(self.example_json?).ok()?;
        let mut request = Request::new(self);
        for parameter in self.path_parameters {
            request = request.parameter(parameter.name, parameter.example);
        }
        Some(body.into_iter().fold(request, |request, (name, value)| request.field(name, value)))
    }
}

impl PartialEq for Request {
    fn eq(&self, other: &Self) -> bool {
        self.operation.id == other.operation.id
            && self.path_parameters == other.path_parameters
            && self.images == other.images
            && self.set_twice == other.set_twice
            && self.faults == other.faults
            && have_equal_members(&self.body, &other.body)
    }
}

/// Compares numbers by value: `2` equals `2.0`.
fn is_equal(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => {
            one == two || (one.is_f64() != two.is_f64() && one.as_f64() == two.as_f64())
        }
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| is_equal(one, two))
        }
        (Value::Object(one), Value::Object(two)) => have_equal_members(one, two),
        _ => one == two,
    }
}

fn have_equal_members(one: &Map<String, Value>, two: &Map<String, Value>) -> bool {
    let is_same = |(name, value)| two.get(name).is_some_and(|other| is_equal(value, other));
    one.len() == two.len() && one.iter().all(is_same)
}

impl Submit for Request {
    fn into_request(self) -> Request {
        self
    }
}

/// Prints only the names of the fields, because values may be secret or large.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("operation", &self.operation.name)
            .field("fields", &self.body.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

pub(super) const URL: &str = "webhook_url";
pub(super) const SECRET: &str = "webhook_secret";

/// The webhook URL and the webhook secret of a client, for requests that do not set these fields.
#[derive(Debug, Clone, Default)]
pub(crate) struct WebhookDefaults {
    pub(crate) url: Option<Address>,
    pub(crate) secret: Option<Secret>,
}

impl WebhookDefaults {
    /// Adds the defaults to a request that does not set them. Does nothing if the contract defines
    /// no webhooks for the operation. Adds the secret only if the request has a webhook URL.
    pub(crate) fn fill(&self, request: &mut Request) {
        let url = self.url.as_ref().map(Address::reveal);
        let secret = self.secret.as_ref().map(Secret::reveal);
        for (name, value) in [(URL, url), (SECRET, secret)] {
            if let Some(value) = value
                && !request.has_field(name)
                && request.operation.field(name).is_some()
                && (name == URL || request.asks_for_webhook())
            {
                request.body.insert(name.to_owned(), value.into());
            }
        }
    }
}

impl Request {
    /// Whether the request asks for a webhook. An explicit `null` as webhook URL means that it does
    /// not.
    pub(crate) fn asks_for_webhook(&self) -> bool {
        self.body.get(URL).is_some_and(|value| !value.is_null())
    }
}

#[cfg(test)]
mod tests {
    use super::WebhookDefaults;
    use crate::{Request, Secret, find_operation};

    #[test]
    fn an_operation_without_webhooks_gets_no_defaults() {
        let defaults = WebhookDefaults {
            url: Some("https://example.com/hook".into()),
            secret: Some(Secret::from("whsec")),
        };
        let mut request = Request::new(find_operation("get_result").unwrap());
        defaults.fill(&mut request);
        assert!(request.body.is_empty());
    }
}
