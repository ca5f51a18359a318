//! Pages with many pictures: the contact sheet of a batch, and the gallery. Both use the same page,
//! whose script renders the part that is on the screen. The data is JSON, either in the page or in
//! scripts beside it.
//!
//! A page loads nothing from the network. Text in the data is never parsed as markup.

pub mod job;
pub mod page;
pub mod sheet;
mod thumbnail;
mod totals;

use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

pub use self::{
    page::Page,
    thumbnail::{Preview, Thumbnail},
    totals::Totals,
};

/// Characters to percent-encode in a URL. Otherwise, the part of a name before a colon could be
/// read as a scheme.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// The maximum number of threads that decode pictures. Each may need 256 MB.
pub const THREADS: usize = 4;

/// What a page is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The jobs of a batch.
    Sheet,
    /// The pictures of a user.
    Gallery,
    /// The pictures of a user, on a page whose server can change them.
    Served,
}

/// What a page shows of a picture, or of a job without one.
#[derive(Clone, Default, Serialize)]
pub struct Item {
    /// `@3`, or the name of the job.
    pub name: String,
    /// The prompt, if the request has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The name of the model.
    pub model: String,
    /// The state of the submission or job.
    pub state: String,
    /// Why the submission or the job is in this state, or how the picture differs from its request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The cost, if the service reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credits: Option<f64>,
    /// Whether the submission may have been billed although its cost is not known.
    #[serde(skip)]
    pub is_without_cost: bool,
    /// When it was submitted, in seconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
    /// The command or the batch to which the picture belongs: an id, and its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<(String, String)>,
    /// The names of the pictures from which this picture was made, or which it repeats.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The URL of the picture's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The name of the picture in commands, quoted for a shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// The name of the picture in requests to the server of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The digest of the picture, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Whether the user has marked the picture.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub favourite: bool,
    /// Names and values, which the page shows below each other.
    pub facts: Vec<[String; 2]>,
    /// The URL of the thumbnail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thumbnail: Option<String>,
    /// The text that is shown if there is no thumbnail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The width and the height of the picture in pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<(u32, u32)>,
}

impl Item {
    /// Creates an item without a picture.
    pub fn new(
        name: impl Into<String>,
        model: impl Into<String>,
        state: impl Into<String>,
    ) -> Self {
        let (name, model, state) = (name.into(), model.into(), state.into());
        Self { name, model, state, note: Some("no picture".to_owned()), ..Self::default() }
    }

    /// Adds a preview to the item. `store` stores the thumbnail and returns its URL.
    pub fn show(&mut self, preview: Preview, store: impl FnOnce(&[u8]) -> String) {
        match preview {
            Preview::Thumbnail(Thumbnail { jpeg, width, height }) => {
                (self.thumbnail, self.note) = (Some(store(&jpeg)), None);
                self.size = Some((width, height));
            }
            Preview::Note(note) => self.note = Some(note),
        }
    }

    /// Adds a name and a value for the page to show.
    pub fn fact(&mut self, name: &str, value: impl ToString) {
        self.facts.push([name.to_owned(), value.to_string()]);
    }
}

/// The relative URL of a file in or below a directory.
pub fn relative_url(path: &Path, directory: &Path) -> Option<String> {
    let path = path.strip_prefix(directory).ok()?;
    let parts: Option<Vec<_>> = path.iter().map(|part| part.to_str()).collect();
    Some(format!("./{}", utf8_percent_encode(&parts?.join("/"), ESCAPED)))
}

/// The value of a marker in a template.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    /// Text, which is escaped, so that it is also valid in a quoted attribute.
    Text(&'a str),
    /// Markup to insert as it is.
    Html(&'a str),
}

/// Replaces each marker, such as `{{title}}`, with its value. Markers in values stay as they are.
///
/// # Panics
///
/// If a marker has no value. Templates are part of the program, and the tests fill all of them.
#[expect(clippy::panic, reason = "a template without a value is a mistake in this crate")]
pub fn fill(template: &str, values: &[(&str, Value<'_>)]) -> String {
    let mut parts = template.split("{{");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, text) = part.split_once("}}").unwrap_or((part, ""));
        let value = values.iter().find(|(known, _)| *known == name);
        match value.unwrap_or_else(|| panic!("the marker {name} has no value")).1 {
            Value::Text(text) => filled += &escape(text),
            Value::Html(html) => filled += html,
        }
        filled += text;
    }
    filled
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            // HTML cannot contain a NUL.
            '\0' => escaped.push(char::REPLACEMENT_CHARACTER),
            char => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_beside_the_page() {
        let url = |path: &str| relative_url(Path::new(path), Path::new("/batch")).unwrap();
        assert_eq!(url("/batch/foxes/1 é.png"), "./foxes/1%20%C3%A9.png");
        assert_eq!(url("/batch/javascript:alert(1)"), "./javascript%3Aalert%281%29");
        assert_eq!(url("/batch/x?#"), "./x%3F%23");
        assert_eq!(url("/batch/a\\b"), "./a%5Cb");
        assert!(relative_url(Path::new("/other/1.png"), Path::new("/batch")).is_none());
    }

    #[test]
    fn text_cannot_leave_an_element_or_an_attribute() {
        let hostile = "<script>&'\"></script>\0\u{2028}";
        let filled = fill(r#"<p title="{{text}}">{{text}}</p>"#, &[("text", Value::Text(hostile))]);
        let escaped = "&lt;script&gt;&amp;&#39;&quot;&gt;&lt;/script&gt;\u{fffd}\u{2028}";
        assert_eq!(filled, format!(r#"<p title="{escaped}">{escaped}</p>"#));
    }

    #[test]
    fn markers_in_values_are_text() {
        let values = [("one", Value::Text("{{two}}")), ("two", Value::Html("<b>{{one}}</b>"))];
        assert_eq!(fill("{{one}}, {{two}}", &values), "{{two}}, <b>{{one}}</b>");
    }
}
