//! Shows people the body of a request that would be sent, without the bytes of images and without
//! secrets.

use std::convert::Infallible;

use serde_json::{Map, Value, json};

use super::{operation::FieldKind, request::Request};
use crate::{
    Address, FileKind, ImageInput,
    values::{REDACTED, file, file_kind::HEAD, is_secret, text::is_url},
};

impl Request {
    /// Returns the body of the request as JSON for people, for example to show what a program is
    /// about to submit. This method does not validate the request.
    ///
    /// Each image becomes an object. The object of an image at a URL contains only the `url`. The
    /// object of any other image contains the `format`, such as `png`, and the size in `bytes`. If
    /// the dimensions are known, it also contains the stored `width` and `height` in pixels, and
    /// the EXIF `orientation` unless the image is upright. The object of an image file also
    /// contains the path as `file`. Secrets become `[redacted]`, and the queries of URLs are
    /// omitted. A field that was set twice has its first value.
    ///
    /// This method may block, because it reads the first bytes of image files. See
    /// [`reads_files`](Self::reads_files).
    ///
    /// ```
    /// use imagekiln::{ImageInput, Request, find_operation};
    /// let request = Request::new(find_operation("gen-2-pro").unwrap())
    ///     .field("prompt", "a red fox")
    ///     .image("input_image", ImageInput::bytes(&b"GIF89a\x40\0\x20\0\0\0\0;"[..]))
    ///     .field("webhook_secret", "HUSH");
    /// let image = serde_json::json!({ "format": "gif", "width": 64, "height": 32, "bytes": 14 });
    /// let outline = request.outline();
    /// assert_eq!((&outline["prompt"], &outline["input_image"]), (&"a red fox".into(), &image));
    /// assert_eq!(outline["webhook_secret"], "[redacted]");
    /// ```
    ///
    /// For `kiln`.
    #[doc(hidden)]
    pub fn outline(&self) -> Map<String, Value> {
        self.shown(&|_, _, text| shown_url(text).unwrap_or_else(|| text.into()), of_image)
    }

    /// Returns a copy of the body. `replace` returns the value for each text that is not secret,
    /// and `describe` the value for each image.
    pub(crate) fn shown(
        &self,
        replace: Replace<'_>,
        describe: impl Fn(&ImageInput) -> Value,
    ) -> Map<String, Value> {
        let shown = self.body.iter().map(|(name, value)| {
            let kind = self.operation.field(name).map(|field| &field.kind);
            (name.clone(), replaced(name, kind, value, replace))
        });
        let mut shown: Map<_, _> = shown.collect();
        for (field, images) in &self.images {
            let Ok(value) = images.to_json(|image| Ok::<_, Infallible>(describe(image)));
            shown.insert(field.clone(), value);
        }
        shown
    }
}

/// Returns the value that replaces a text, from the name of its member, the type of the field in
/// the contract, if it is known, and the text.
pub(crate) type Replace<'a> = &'a dyn Fn(&str, Option<&FieldKind>, &str) -> Value;

/// Replaces the texts in a value at every depth. Redacts every member that is secret according to
/// the contract or to its name, even if its value is not text.
pub(crate) fn replaced(
    name: &str,
    kind: Option<&'static FieldKind>,
    value: &Value,
    replace: Replace<'_>,
) -> Value {
    match value {
        Value::Null => Value::Null,
        _ if kind == Some(&FieldKind::Secret) || is_secret(name) => REDACTED.into(),
        Value::String(text) => replace(name, kind, text),
        Value::Array(items) => {
            items.iter().map(|item| replaced(name, None, item, replace)).collect()
        }
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| (name.clone(), replaced(name, None, value, replace)));
            members.collect()
        }
        Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Returns a URL without its secret parts, or `None` for other text.
pub(crate) fn shown_url(text: &str) -> Option<Value> {
    let is_url = is_url(text) && !text.contains(char::is_whitespace);
    is_url.then(|| Address::from(text).to_string().into())
}

fn of_image(image: &ImageInput) -> Value {
    let bytes = match image {
        ImageInput::Url(url) => return json!({ "url": url.to_string() }),
        ImageInput::Bytes(bytes) => Some(bytes.len() as u64),
        ImageInput::Path(path) => {
            file::open(path).and_then(|file| file.metadata()).map(|data| data.len()).ok()
        }
        ImageInput::Base64(text) => image.head(text.len()).map(|bytes| bytes.len() as u64),
    };
    let mut shown = Map::new();
    let start = image.head(HEAD).unwrap_or_default();
    let format = FileKind::of(&start).map(|kind| kind.to_string().to_lowercase());
    shown.insert("format".to_owned(), format.into());
    if let Some((width, height, orientation)) = image.stored_size() {
        shown.insert("width".to_owned(), width.into());
        shown.insert("height".to_owned(), height.into());
        if orientation != 1 {
            shown.insert("orientation".to_owned(), orientation.into());
        }
    }
    shown.insert("bytes".to_owned(), bytes.into());
    if let ImageInput::Path(path) = image {
        shown.insert("file".to_owned(), path.to_string_lossy().into());
    }
    Value::Object(shown)
}
