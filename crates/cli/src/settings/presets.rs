//! Presets: the model, the fields and the prompt that several pictures have in common. They are in
//! `[preset.NAME]` of `config.toml`.

use std::ops::Range;

use serde_json::Value;
use toml::de::DeValue;

use super::{PROFILE_RULE, Settings, is_profile};
use crate::{
    failure::Failure,
    models::{self, PROMPT},
    text::one_line,
};
use imagekiln::{FieldKind, Location, Operation, Request, text::hint};

pub const PRESETS: &str = "preset";

/// The member with the model. Except for the prompt, all other members are fields.
const MODEL: &str = "model";

#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    pub model: &'static Operation,
    /// A prompt with named parts, such as `a poster of {prompt}, in {colors}`.
    pub prompt: Option<String>,
    pub fields: Vec<(String, Value)>,
}

impl Preset {
    /// Checks the model, the names and values of the fields, and the prompt.
    pub fn new(members: Vec<(String, Value)>) -> Result<Self, String> {
        let (mut model, mut prompt, mut fields) = (models::DEFAULT.to_owned(), None, Vec::new());
        for (name, value) in members {
            match (name.as_str(), value) {
                (MODEL, Value::String(text)) => model = text,
                (PROMPT, Value::String(text)) => prompt = Some(text),
                (MODEL | PROMPT, _) => return Err(format!("`{name}` is not a text")),
                (_, value) => fields.push((name, value)),
            }
        }
        let model = models::find(&model).ok_or_else(|| models::unknown(&model).0)?;
        if let Some(prompt) = &prompt {
            parts(prompt)?;
        }
        let mut request = Request::new(model);
        for (name, value) in &fields {
            let known = model.field(name);
            if known.is_none() && model.all_fields_shown {
                let names = model.fields.iter().map(|field| field.name);
                let name = one_line(name);
                return Err(format!("{model} has no field `{name}`{}", hint(&name, names)));
            }
            if known.is_some_and(|field| matches!(field.kind, FieldKind::Image { .. })) {
                return Err(format!("`{name}` is an image, which a preset cannot have"));
            }
            request = request.field(name, value.clone());
        }
        // A preset need not have all required fields, so only violations of fields that it sets
        // count.
        let violations = request.validate().err();
        let violations = violations.iter().flat_map(|error| error.violations());
        let is_set = |location: &Location| {
            fields.iter().any(|(name, _)| *location == Location::Name(name.clone()))
        };
        match violations.into_iter().find(|violation| violation.loc.iter().any(is_set)) {
            Some(violation) => Err(violation.to_string()),
            None => Ok(Self { model, prompt, fields }),
        }
    }

    /// Reads the table of a preset in `config.toml`.
    pub fn of_table(name: &str, value: &DeValue<'_>) -> Result<Self, String> {
        if !is_profile(name) {
            return Err(format!("invalid name of a preset: {PROFILE_RULE}"));
        }
        let DeValue::Table(table) = value else {
            return Err("a preset is a table: write [preset.NAME]".to_owned());
        };
        let members = table.iter().map(|(key, value)| {
            let name = key.get_ref().to_string();
            let value = match value.get_ref() {
                DeValue::String(text) => text.to_string().into(),
                DeValue::Boolean(is_set) => (*is_set).into(),
                DeValue::Integer(number) => number_of(&number.to_string()),
                DeValue::Float(number) => number_of(&number.to_string()),
                _ => {
                    return Err(format!(
                        "`{}` is not a text, a number or a truth",
                        one_line(&name)
                    ));
                }
            };
            Ok((name, value))
        });
        Self::new(members.collect::<Result<_, _>>()?)
    }

    /// The text of the preset in `config.toml`. JSON strings are also valid TOML.
    pub fn text(&self, name: &str) -> String {
        let model = (MODEL.to_owned(), self.model.name.into());
        let prompt = self.prompt.iter().map(|text| (PROMPT.to_owned(), text.as_str().into()));
        let members = [model].into_iter().chain(prompt).chain(self.fields.iter().cloned());
        let lines = members.map(|(name, value)| format!("{name} = {value}\n"));
        format!("[{PRESETS}.{name}]\n{}", lines.collect::<String>())
    }

    /// Returns the prompt of a picture: the preset's prompt, with `given` in place of `{prompt}`,
    /// and with each named text in place of the part with its name.
    pub fn fill(&self, given: Option<&str>, named: &[(&str, &str)]) -> Result<String, Failure> {
        let refused = |problem: String, advice: &str| {
            Failure::usage(problem).advise(format!("nothing was sent; {advice}"))
        };
        let template = self.prompt.as_deref().unwrap_or("{prompt}");
        let value = |name: &str| match named.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Some(*text),
            None => given.filter(|_| name == PROMPT),
        };
        let parts = parts(template).map_err(|problem| refused(problem, "correct the preset"))?;
        let all = named.iter().map(|(name, _)| *name).chain(given.map(|_| PROMPT));
        let has =
            |name: &str| parts.iter().any(|part| matches!(part, Part::Name(it) if *it == name));
        if let Some(unknown) = all.into_iter().find(|name| !has(name)) {
            let problem = format!("the prompt of the preset has no {{{}}}", one_line(unknown));
            return Err(refused(problem, &format!("it is: {}", one_line(template))));
        }
        let texts = parts.iter().map(|part| match part {
            Part::Text(text) => Ok(text.clone()),
            Part::Name(name) => value(name).map(str::to_owned).ok_or_else(|| {
                let advice = match *name {
                    PROMPT => "pass a prompt".to_owned(),
                    name => format!("pass --part {name}=TEXT"),
                };
                refused(format!("the prompt of the preset needs {{{name}}}"), &advice)
            }),
        });
        texts.collect()
    }
}

impl Settings {
    pub fn presets(&self) -> impl Iterator<Item = (&str, &Preset)> {
        self.file.presets.iter().map(|(name, (preset, _))| (&**name, preset))
    }

    pub fn preset(&self, name: &str) -> Result<&Preset, Failure> {
        let found = self.presets().find(|(known, _)| *known == name);
        found.map(|(_, preset)| preset).ok_or_else(|| {
            let hint = hint(name, self.presets().map(|(name, _)| name));
            Failure::usage(format!("there is no preset `{}`{hint}", one_line(name)))
                .advise("nothing was sent; `kiln preset` lists the presets")
        })
    }

    /// The model of commands without `--model` that use this preset, or no preset.
    pub fn model_with(&self, preset: Option<&str>) -> Option<&'static Operation> {
        let preset = preset.and_then(|preset| self.preset(preset).ok());
        preset.map(|preset| preset.model).or_else(|| self.model())
    }
}

fn number_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

enum Part<'a> {
    Text(String),
    Name(&'a str),
}

/// Splits the prompt of a preset into its parts. `{{` and `}}` stand for braces.
fn parts(template: &str) -> Result<Vec<Part<'_>>, String> {
    let (mut parts, mut rest) = (Vec::new(), template);
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        parts.push(Part::Text(before.to_owned()));
        if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
            parts.push(Part::Text(from[..1].to_owned()));
            rest = after;
            continue;
        }
        let name = from.strip_prefix('{').and_then(|from| from.split_once('}'));
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let Some((name, after)) = name.filter(|(name, _)| is_name(name)) else {
            return Err("a brace in `prompt` does not enclose a name; write {{ for a brace".into());
        };
        parts.push(Part::Name(name));
        rest = after;
    }
    parts.push(Part::Text(rest.to_owned()));
    Ok(parts)
}

/// The positions of the lines of a table, from the line with its name to the line in which its last
/// value ends.
pub fn lines(text: &str, table: Range<usize>) -> Range<usize> {
    let start = text[..table.start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[table.end..].find('\n').map_or(text.len(), |newline| table.end + newline + 1);
    start..end
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn preset(prompt: &str) -> Preset {
        Preset::new(vec![(PROMPT.to_owned(), prompt.into())]).unwrap()
    }

    #[test]
    fn a_prompt_has_named_parts() {
        let poster = preset("a {{poster}} of {prompt}, in {colors}");
        let filled = poster.fill(Some("a fox"), &[("colors", "red {x}")]);
        assert_eq!(filled.unwrap(), "a {poster} of a fox, in red {x}");
        for (given, named) in [(None, vec![("colors", "red")]), (Some("a fox"), vec![])] {
            assert!(poster.fill(given, &named).is_err());
        }
        assert!(poster.fill(Some("a fox"), &[("colors", "red"), ("size", "A4")]).is_err());
        assert!(preset("a logo").fill(Some("a fox"), &[]).is_err(), "nobody wants it ignored");
        assert_eq!(preset("a logo").fill(None, &[]).unwrap(), "a logo");
        for template in ["{", "}", "a {b", "{a b}", "{}", "{{}"] {
            assert!(Preset::new(vec![(PROMPT.to_owned(), template.into())]).is_err(), "{template}");
        }
    }

    #[test]
    fn fields_are_those_of_the_model() {
        let of = |members: Value| {
            let members = members.as_object().unwrap();
            Preset::new(members.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
        };
        let flex = of(json!({ "model": "gen-2-flex", "guidance": 4.5, "width": 1024 })).unwrap();
        assert_eq!(
            flex.text("a"),
            "[preset.a]\nmodel = \"gen-2-flex\"\nguidance = 4.5\nwidth = 1024\n"
        );
        for (wrong, problem) in [
            (json!({ "model": "gen-9" }), "unknown model"),
            (json!({ "guidance": 4.5 }), "has no field `guidance`"),
            (json!({ "model": "gen-2-flex", "guidance": 400 }), "guidance"),
            (json!({ "width": "wide" }), "width"),
            (json!({ "input_image": "cat.png" }), "is an image"),
            (json!({ "prompt": 7 }), "is not a text"),
        ] {
            let found = of(wrong).unwrap_err();
            assert!(found.contains(problem), "{found}");
        }
    }
}
