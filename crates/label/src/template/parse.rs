//! Reads templates.

use std::fmt;

use super::component;
use crate::Error;

/// The maximum number of digits of a padded index: the number of digits of the largest `u64`.
const WIDEST: u8 = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Field(Field),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// The width is 0 if the index is not padded.
    Index {
        width: u8,
    },
    Name,
    Slug,
    Seed,
    Model,
    Date,
    Id,
    Ext,
}

impl Field {
    pub(super) const ALL: [Self; 8] = [
        Self::Index { width: 0 },
        Self::Name,
        Self::Slug,
        Self::Seed,
        Self::Model,
        Self::Date,
        Self::Id,
        Self::Ext,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Index { .. } => "index",
            Self::Name => "name",
            Self::Slug => "slug",
            Self::Seed => "seed",
            Self::Model => "model",
            Self::Date => "date",
            Self::Id => "id",
            Self::Ext => "ext",
        }
    }

    /// Reads the text between two braces.
    fn parse(text: &str) -> Result<Self, String> {
        let (name, width) = match text.split_once(':') {
            Some((name, width)) => (name, Some(width)),
            None => (text, None),
        };
        let field = Self::ALL.into_iter().find(|field| field.name() == name);
        match (field, width) {
            (None, _) => Err(format!("`{}` is not a field", name.escape_debug())),
            (Some(field), None) => Ok(field),
            (Some(Self::Index { .. }), Some(width)) => parse_width(width)
                .map(|width| Self::Index { width })
                .ok_or_else(|| format!("`{}` is not a width such as `04`", width.escape_debug())),
            (Some(_), Some(_)) => Err(format!("`{name}` cannot have a width")),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Index { width } if *width > 0 => write!(f, ":0{width}"),
            _ => Ok(()),
        }
    }
}

/// Reads `04`. The zero is required, because the index is never padded with spaces.
fn parse_width(text: &str) -> Option<u8> {
    let digits = text.strip_prefix('0')?;
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|width| is_number && (1..=WIDEST).contains(width))
}

pub(super) fn parse(template: &str) -> Result<Vec<Part>, Error> {
    let parts = split(template).map_err(|(at, problem)| {
        let names: Vec<_> = Field::ALL.into_iter().map(Field::name).collect();
        refused(
            template,
            &format!("{problem}, at character {}; the fields are {}", at + 1, names.join(", ")),
        )
    })?;
    check_path(&parts).map_err(|problem| refused(template, &problem))?;
    Ok(parts)
}

fn refused(template: &str, problem: &str) -> Error {
    Error(format!("could not parse the target {template:?}: {problem}"))
}

/// Returns the parts, or a problem and its position in characters.
fn split(template: &str) -> Result<Vec<Part>, (usize, String)> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut chars = template.chars().enumerate().peekable();
    while let Some((at, c)) = chars.next() {
        if !matches!(c, '{' | '}') || chars.next_if(|(_, next)| *next == c).is_some() {
            text.push(c);
            continue;
        }
        if c == '}' {
            return Err((at, "`}` has no `{`; write `}}` for a brace".to_owned()));
        }
        let mut name = String::new();
        loop {
            match chars.next() {
                Some((_, '}')) => break,
                Some((_, c)) => name.push(c),
                None => return Err((at, "`{` has no `}`; write `{{` for a brace".to_owned())),
            }
        }
        if !text.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut text)));
        }
        parts.push(Part::Field(Field::parse(&name).map_err(|problem| (at, problem))?));
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Ok(parts)
}

/// Checks the text of a template. [`component::safe`] makes the values safe.
fn check_path(parts: &[Part]) -> Result<(), String> {
    let is_plain = parts.iter().all(|part| matches!(part, Part::Text(_)));
    let components = components(parts);
    // Otherwise, the description of another picture could replace this picture.
    if components.last().is_some_and(|last| component::is_json(&last.text)) {
        return Err("`.json` is the extension of files that describe pictures".to_owned());
    }
    components.iter().try_for_each(|Component { text, has_field }| {
        if *has_field {
            component::check_text(text)?;
        } else {
            component::check_component(text)?;
        }
        // A target without fields is the choice of the user, and only has to be valid on this
        // system.
        match text.chars().find(|c| component::FORBIDDEN.contains(c)) {
            Some(c) if !is_plain => Err(format!("file names cannot contain `{c}` on Windows")),
            _ => Ok(()),
        }
    })
}

/// A component of a path, in which `x` stands for every field.
#[derive(Default)]
struct Component {
    text: String,
    has_field: bool,
}

fn components(parts: &[Part]) -> Vec<Component> {
    let mut done = Vec::new();
    let mut current = Component::default();
    for part in parts {
        match part {
            Part::Field(_) => {
                current.text.push('x');
                current.has_field = true;
            }
            Part::Text(text) => text.split('/').enumerate().for_each(|(index, piece)| {
                if index > 0 {
                    done.push(std::mem::take(&mut current));
                }
                current.text.push_str(piece);
            }),
        }
    }
    done.push(current);
    done
}
