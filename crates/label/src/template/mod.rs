//! Templates for the names of pictures.

mod component;
mod parse;
mod slug;
#[cfg(test)]
mod tests;

use std::{fmt, str::FromStr};

pub use self::component::{MAX_COMPONENT, check_component, shortened};
use self::{
    component::{id, lasting, plain, safe, text},
    parse::{Field, Part},
    slug::slug,
};
use crate::Error;

/// The maximum lengths of values in bytes. Together they leave room for the other parts of a name.
const LONGEST_NAME: usize = 100;
const LONGEST_MODEL: usize = 60;
const LONGEST_DATE: usize = 10;
const LONGEST_ID: usize = 100;
const LONGEST_EXTENSION: usize = 10;

/// The path of a picture below the output, with fields that are filled in when the picture has
/// arrived.
///
/// ```
/// use imagekiln_label::{Template, TemplateFields};
///
/// # fn main() -> Result<(), imagekiln_label::Error> {
/// let template = Template::parse("{model}/{index:04}-{slug}.{ext}")?;
/// let fields = TemplateFields {
///     index: 7,
///     prompt: "A red fox, running",
///     model: "gen-2-pro",
///     ext: "jpg",
///     ..TemplateFields::default()
/// };
/// assert_eq!(template.render(&fields), "gen-2-pro/0007-a-red-fox-running.jpg");
/// # Ok(())
/// # }
/// ```
///
/// | field | value |
/// |---|---|
/// | `{index}` | the position of the job or the picture; `{index:04}` pads it with zeros to four digits |
/// | `{name}` | the name of the job or the picture |
/// | `{slug}` | the letters and digits of the prompt as words in lower case, up to 60 bytes |
/// | `{seed}` | the seed of the request, or `random` if it has none |
/// | `{model}` | the name of the operation |
/// | `{date}` | the day of the submission, such as `2026-11-29` |
/// | `{id}` | the id of the task |
/// | `{ext}` | the usual extension of the format in which the picture arrived |
///
/// `{{` and `}}` are braces. In a slug, Latin letters lose their marks, as in `creme-brulee`, and
/// letters of other scripts are kept. The slug of a prompt without letters and digits is `prompt-`
/// and eight digits of its SHA-256 digest.
///
/// A rendered name is a relative path with `/` between its components, and valid on Unix and
/// Windows. Values cannot add components: characters that file names cannot contain become `-`.
/// Components are at most 200 bytes long; those with fields are shortened. A shortened component,
/// and an id that had to be changed, get eight digits of a SHA-256 digest, so that different names
/// stay different.
///
/// A target without fields is used as it is, even if its extension does not match the format of the
/// picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// No text is empty, and no two texts follow each other.
    parts: Vec<Part>,
}

/// The values for the fields of a [`Template`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TemplateFields<'a> {
    /// The position of the job or the picture.
    pub index: u64,
    /// The name of the job or the picture.
    pub name: &'a str,
    /// The prompt of the request, or an empty text.
    pub prompt: &'a str,
    /// The seed of the request.
    pub seed: Option<i64>,
    /// The name of the operation, such as `gen-2-pro`.
    pub model: &'a str,
    /// The day of the submission, such as `2026-11-29`.
    pub date: &'a str,
    /// The id of the task.
    pub id: &'a str,
    /// The extension of the picture, without the dot.
    pub ext: &'a str,
}

impl Template {
    /// Parses a target.
    ///
    /// # Errors
    ///
    /// A field is not known, a brace has no partner, or the target is not a path below the output.
    /// Targets also cannot end with `.json`, because a file with this extension describes each
    /// picture. The error names the position, and lists the fields.
    pub fn parse(text: &str) -> Result<Self, Error> {
        parse::parse(text).map(|parts| Self { parts })
    }

    /// Whether the target has no fields.
    pub fn is_plain(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }

    /// Whether the template has a field of this name, such as `seed`.
    ///
    /// ```
    /// use imagekiln_label::Template;
    ///
    /// # fn main() -> Result<(), imagekiln_label::Error> {
    /// let template = Template::parse("{index:04}-{slug}.{ext}")?;
    /// assert!(template.has_field("index") && !template.has_field("seed"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn has_field(&self, name: &str) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Field(field) if field.name() == name))
    }

    /// Fills in the fields, and returns a template without them. A date, an id and an extension
    /// that are empty in `fields` are not known yet: these fields stay in the template.
    ///
    /// ```
    /// use imagekiln_label::{Template, TemplateFields};
    ///
    /// # fn main() -> Result<(), imagekiln_label::Error> {
    /// let fields = TemplateFields { seed: Some(7), ..TemplateFields::default() };
    /// let template = Template::parse("fox-{seed}.{ext}")?.filled(&fields);
    /// assert_eq!(template.to_string(), "fox-7.{ext}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn filled(&self, fields: &TemplateFields<'_>) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        for part in &self.parts {
            let text = match part {
                Part::Field(field)
                    if (*field == Field::Date && fields.date.is_empty())
                        || (*field == Field::Id && fields.id.is_empty())
                        || (*field == Field::Ext && fields.ext.is_empty()) =>
                {
                    parts.push(part.clone());
                    continue;
                }
                _ => part.render(fields),
            };
            match parts.last_mut() {
                Some(Part::Text(before)) => before.push_str(&text),
                _ => parts.push(Part::Text(text)),
            }
        }
        // A template without fields is rendered as it is.
        if !self.is_plain() {
            make_safe(&mut parts);
        }
        Self { parts }
    }

    /// Returns the path of a picture below the output, with `/` between its components. The same
    /// fields give the same path.
    pub fn render(&self, fields: &TemplateFields<'_>) -> String {
        let is_plain = self.is_plain();
        let path: String = self.parts.iter().map(|part| part.render(fields)).collect();
        if is_plain { path } else { safe_path(&path) }
    }
}

/// Makes the text that is already known safe, as rendering would do later, because
/// [`Template::parse`] may refuse the text as it is.
fn make_safe(parts: &mut [Part]) {
    let count = parts.len();
    for (place, part) in parts.iter_mut().enumerate() {
        let Part::Text(text) = part else { continue };
        let last = text.matches('/').count();
        let components = text.split('/').enumerate().map(|(index, component)| {
            let is_start = index > 0 || place == 0;
            let is_end = index < last || place + 1 == count;
            match (is_start, is_end) {
                (true, true) => safe(component),
                (true, false) => lasting(component),
                (false, _) => component.to_owned(),
            }
        });
        *text = components.collect::<Vec<_>>().join("/");
    }
}

fn safe_path(path: &str) -> String {
    path.split('/').map(safe).collect::<Vec<_>>().join("/")
}

impl Part {
    fn render(&self, fields: &TemplateFields<'_>) -> String {
        let field = match self {
            Self::Text(text) => return text.clone(),
            Self::Field(field) => field,
        };
        match *field {
            Field::Index { width } => {
                format!("{:0width$}", fields.index, width = usize::from(width))
            }
            Field::Name => text(fields.name, LONGEST_NAME, "job"),
            Field::Slug => slug(fields.prompt),
            Field::Seed => fields.seed.map_or("random".to_owned(), |seed| seed.to_string()),
            Field::Model => plain(fields.model, LONGEST_MODEL, "model"),
            Field::Date => plain(fields.date, LONGEST_DATE, "date"),
            Field::Id => id(fields.id, LONGEST_ID, "task"),
            Field::Ext => plain(fields.ext, LONGEST_EXTENSION, "bin"),
        }
    }
}

/// Writes the text that [`Template::parse`] reads.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}")),
            Part::Field(field) => write!(f, "{{{field}}}"),
        })
    }
}

impl FromStr for Template {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}
