//! The body of a request for people: what is sent, without the bytes of images and without secrets.

use serde_json::{Map, Value, json};

use super::{
    images::value_at,
    operation::FieldKind,
    request::Request,
    validate::{head, size},
};
use crate::{
    Address, FileKind, ImageInput, ImageSource,
    values::{REDACTED, file_kind::HEAD, image_file, is_secret, web_url::is_url},
};

impl Request {
    /// Returns the body of the request as JSON for people, for example to show it before it is
    /// submitted. Does not validate the request.
    ///
    /// Every image is an object with what is known of it: its `format` such as `png`, its `width`
    /// and `height` in pixels, its size in `bytes`, its `file`, or its `url`. Secrets are
    /// `[redacted]`, and the queries of URLs are omitted. A field that is set twice has its first
    /// value.
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
    pub fn outline(&self) -> Map<String, Value> {
        let shown = self.body.iter().map(|(name, value)| {
            let field = self.operation.field(name);
            let secret = field.is_some_and(|field| field.kind == FieldKind::Secret);
            (name.clone(), if secret { REDACTED.into() } else { of_json(name, value) })
        });
        let mut shown = shown.collect();
        for (steps, image) in self.images.iter() {
            if let Some(value) = value_at(&mut shown, steps) {
                *value = of_image(image);
            }
        }
        shown
    }
}

fn of_json(name: &str, value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        _ if is_secret(name) => REDACTED.into(),
        Value::String(text) if is_url(text) && !text.contains(char::is_whitespace) => {
            Address::from(text.as_str()).to_string().into()
        }
        Value::Array(items) => items.iter().map(|item| of_json(name, item)).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), of_json(name, value)));
            Value::Object(members.collect())
        }
        value => value.clone(),
    }
}

fn of_image(image: &ImageInput) -> Value {
    let bytes = match image.source() {
        ImageSource::Url(url) => return json!({ "url": url.to_string() }),
        ImageSource::Bytes(bytes) => Some(bytes.len() as u64),
        ImageSource::Path(path) => {
            image_file::open(path).and_then(|file| file.metadata()).map(|data| data.len()).ok()
        }
        ImageSource::Base64(text) => head(image, text.len()).map(|bytes| bytes.len() as u64),
    };
    let mut shown = Map::new();
    let start = head(image, HEAD).unwrap_or_default();
    let format = FileKind::of(&start).map(|kind| kind.to_string().to_lowercase());
    shown.insert("format".to_owned(), format.into());
    if let Some((width, height)) = size(image) {
        shown.insert("width".to_owned(), width.into());
        shown.insert("height".to_owned(), height.into());
    }
    shown.insert("bytes".to_owned(), bytes.into());
    if let ImageSource::Path(path) = image.source() {
        shown.insert("file".to_owned(), path.to_string_lossy().into());
    }
    Value::Object(shown)
}
