//! Reads and edits `config.toml`. Errors name the line, and never quote a value, which may be a
//! secret.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    path::Path,
};

use serde_json::json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{
    PROFILE_RULE, is_profile,
    names::{self, DESCRIBE, Name},
    presets::{PRESETS, Preset, lines},
};
use crate::{
    failure::Failure,
    files::{directory, if_exists},
    text::one_line,
};
use imagekiln::text::hint;

const PROFILES: &str = "profile";

/// The advice about a setting that is unknown or invalid.
const HELP: &str = "`kiln config --help` lists the settings";

#[derive(Debug, Clone)]
pub struct Entry {
    pub name: &'static str,
    /// The profile to which the entry belongs, or `None` outside of `[profile.NAME]`.
    pub profile: Option<String>,
    pub texts: Vec<String>,
    /// The position of the name and the value in the text of the file.
    at: Range<usize>,
    /// The position of the value in the text of the file.
    value: Range<usize>,
}

#[derive(Debug, Clone, Default)]
pub struct File {
    entries: Vec<Entry>,
    /// The profiles. The number is the position in the text of the file at which the name ends.
    pub profiles: BTreeMap<String, usize>,
    /// The presets, with the positions of their tables in the text of the file.
    pub presets: BTreeMap<String, (Preset, Range<usize>)>,
}

/// A problem, with its position in the text of the file.
struct Problem {
    at: usize,
    failure: Failure,
}

impl Problem {
    fn new(at: usize, problem: &str, advice: &str) -> Self {
        Self { at, failure: Failure::settings(problem).advise(advice) }
    }
}

/// Reads the file. If it does not exist, nothing is set.
pub fn read(path: &Path) -> Result<File, Failure> {
    of_text(path, &text(path)?)
}

/// Returns the text of the file, or an empty text if it does not exist.
fn text(path: &Path) -> Result<String, Failure> {
    if_exists(fs::read_to_string(path))
        .map(Option::unwrap_or_default)
        .map_err(|error| Failure::file(format!("could not read {}", path.display()), error))
}

pub fn of_text(path: &Path, text: &str) -> Result<File, Failure> {
    parse(text).map_err(|Problem { at, mut failure }| {
        let line = text.get(..at).unwrap_or(text).matches('\n').count() + 1;
        failure.message = format!("{}, line {line}: {}", path.display(), failure.message);
        failure
    })
}

fn parse(text: &str) -> Result<File, Problem> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(text.len(), |span| span.start);
        Problem::new(at, error.message().trim(), "correct the file, whose format is TOML")
    })?;
    let mut file = File::default();
    for (key, value) in in_order(table.get_ref()) {
        match (key.get_ref().as_ref(), value.get_ref()) {
            (PROFILES, DeValue::Table(profiles)) => {
                for (name, value) in in_order(profiles) {
                    file.add_profile(name, value)?;
                }
            }
            (PROFILES, _) => {
                let advice = "write [profile.NAME]; --profile and KILN_PROFILE choose one";
                return Err(Problem::new(key.span().start, "`profile` is not a table", advice));
            }
            (PRESETS, DeValue::Table(presets)) => {
                for (name, value) in in_order(presets) {
                    file.add_preset(name, value)?;
                }
            }
            _ => file.add(key, value, None)?,
        }
    }
    Ok(file)
}

type Key<'a> = Spanned<Cow<'a, str>>;
type Item<'a> = Spanned<DeValue<'a>>;

/// The entries of a table in the order of the file, so that the error is about the first problem.
fn in_order<'a, 'b>(table: &'b DeTable<'a>) -> Vec<(&'b Key<'a>, &'b Item<'a>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

impl File {
    fn add_profile(&mut self, name: &Key<'_>, value: &Item<'_>) -> Result<(), Problem> {
        let (text, at) = (name.get_ref(), name.span());
        if !is_profile(text) {
            return Err(Problem::new(at.start, "invalid name of a profile", PROFILE_RULE));
        }
        let DeValue::Table(table) = value.get_ref() else {
            let advice = "write it below [profile.NAME]";
            return Err(Problem::new(at.start, "`profile` contains a setting", advice));
        };
        self.profiles.insert(text.to_string(), at.end);
        in_order(table).into_iter().try_for_each(|(key, value)| self.add(key, value, Some(text)))
    }

    fn add_preset(&mut self, name: &Key<'_>, value: &Item<'_>) -> Result<(), Problem> {
        let (text, at) = (name.get_ref().to_string(), name.span());
        let preset = Preset::of_table(&text, value.get_ref()).map_err(|problem| {
            let problem = format!("invalid preset `{}`: {problem}", one_line(&text));
            Problem::new(at.start, &problem, "`kiln preset --help` says what a preset has")
        })?;
        let values = value.get_ref().as_table().into_iter().flat_map(DeTable::values);
        let end = values.map(|value| value.span().end).max().unwrap_or(at.end);
        self.presets.insert(text, (preset, at.start..end));
        Ok(())
    }

    fn add(
        &mut self,
        key: &Key<'_>,
        item: &Item<'_>,
        profile: Option<&str>,
    ) -> Result<(), Problem> {
        let (start, value) = (key.span().start, item.span());
        let name = named(key.get_ref()).map_err(|failure| Problem { at: start, failure })?;
        let texts = texts(name, item.get_ref())
            .map_err(|problem| invalid(name, &problem))
            .and_then(|texts| check(name, &texts).map(|()| texts))
            .map_err(|failure| Problem { at: value.start, failure })?;
        let (profile, at) = (profile.map(str::to_owned), start..value.end);
        self.entries.push(Entry { name: name.name, profile, texts, at, value });
        Ok(())
    }

    /// Finds a setting of a profile, or one outside of all profiles.
    pub fn entry(&self, profile: Option<&str>, name: &Name) -> Option<&Entry> {
        let is_it = |it: &&Entry| it.name == name.name && it.profile.as_deref() == profile;
        self.entries.iter().find(is_it)
    }

    /// What the file says, without positions, to compare two versions of it.
    fn facts(&self) -> Facts<'_> {
        let profiles = self.profiles.keys().map(|profile| (Some(&**profile), "", &[][..]));
        let entries = self.entries.iter();
        let entries = entries.map(|entry| (entry.profile.as_deref(), entry.name, &entry.texts[..]));
        let presets = self.presets.iter().map(|(name, (preset, _))| (name.as_str(), preset));
        (profiles.chain(entries).collect(), presets.collect())
    }

    /// Returns the text of the file with the setting replaced, removed or added. Only the lines of
    /// this setting differ.
    fn edited(&self, text: &str, profile: Option<&str>, name: &Name, texts: &[String]) -> String {
        let mut edited = text.to_owned();
        // JSON strings and lists are also valid TOML.
        let value = match texts {
            [text] if !name.is_list => json!(text),
            texts => json!(texts),
        };
        match self.entry(profile, name) {
            Some(entry) if texts.is_empty() => {
                edited.replace_range(lines(text, entry.at.clone()), "");
            }
            Some(entry) => edited.replace_range(entry.value.clone(), &value.to_string()),
            None if texts.is_empty() => {}
            None => {
                let blank = if text.is_empty() { "" } else { "\n" };
                let entries = self.entries.iter();
                let entries = entries.filter(|entry| entry.profile.as_deref() == profile);
                let last = entries.map(|entry| entry.at.end).max();
                let header = profile.and_then(|profile| self.profiles.get(profile).copied());
                let (place, header) = match (last.or(header), profile) {
                    (Some(at), _) => (lines(text, at..at).end, String::new()),
                    (None, Some(profile)) => (text.len(), format!("{blank}[profile.{profile}]\n")),
                    (None, None) if self.profiles.is_empty() && self.presets.is_empty() => {
                        (text.len(), String::new())
                    }
                    // A line after the header of a profile or a preset would belong to it, so
                    // insert this one before all headers.
                    (None, None) => (0, String::new()),
                };
                let is_new_line = place == 0 || text[..place].ends_with('\n');
                let newline = if is_new_line { "" } else { "\n" };
                edited.insert_str(place, &format!("{newline}{header}{} = {value}\n", name.name));
            }
        }
        edited
    }
}

/// The settings, each with its profile, its name and its texts, and the presets.
type Facts<'a> = (BTreeSet<Fact<'a>>, BTreeMap<&'a str, &'a Preset>);
type Fact<'a> = (Option<&'a str>, &'a str, &'a [String]);

/// Sets a setting in the file, or removes it if there are no texts. Returns whether that changed
/// the file. The rest of the file stays as it is.
pub fn edit(
    path: &Path,
    profile: Option<&str>,
    name: &Name,
    texts: &[String],
) -> Result<bool, Failure> {
    let before = text(path)?;
    let file = of_text(path, &before)?;
    check(name, texts)?;
    let after = file.edited(&before, profile, name, texts);
    let mut expected = file.facts();
    expected.0.retain(|fact| (fact.0, fact.1) != (profile, name.name));
    if !texts.is_empty() {
        expected.0.insert((profile, name.name, texts));
        expected.0.extend(profile.map(|profile| (Some(profile), "", &[][..])));
    }
    if after == before {
        return Ok(false);
    }
    write(path, &after, &format!("`{}`", name.name), &expected).map(|()| true)
}

/// Writes the edited text of the file, if that changes only `what` was to be changed: if the file
/// has tables within a line, for example, editing single lines damages it.
fn write(path: &Path, text: &str, what: &str, expected: &Facts<'_>) -> Result<(), Failure> {
    if !of_text(path, text).is_ok_and(|edited| edited.facts() == *expected) {
        let problem = format!("could not change {what} in {}", path.display());
        return Err(Failure::settings(problem)
            .advise("the file has tables within a line; change it with `kiln config edit`"));
    }
    directory::write_private(path, text)
        .map_err(|error| Failure::file(format!("could not write {}", path.display()), error))
}

/// Writes a preset to the file, or removes it. The rest of the file stays as it is.
pub fn edit_preset(path: &Path, name: &str, preset: Option<&Preset>) -> Result<(), Failure> {
    let before = text(path)?;
    let file = of_text(path, &before)?;
    let mut after = before.clone();
    if let Some((_, table)) = file.presets.get(name) {
        after.replace_range(lines(&before, table.clone()), "");
    }
    if let Some(preset) = preset {
        let newlines = match &after {
            text if text.is_empty() || text.ends_with("\n\n") => "",
            text if text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        after += &format!("{newlines}{}", preset.text(name));
    }
    let mut expected = file.facts();
    expected.1.remove(name);
    expected.1.extend(preset.map(|preset| (name, preset)));
    write(path, &after, &format!("the preset `{name}`"), &expected)
}

/// The texts of a setting's value. Numbers become texts, too.
fn texts(name: &Name, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let items = match (name.is_list, value) {
        (true, DeValue::Array(items)) => items.iter().map(Spanned::get_ref).collect(),
        (true, _) => return Err("expected a list of strings, such as [\"a\", \"b\"]".to_owned()),
        (false, value) => vec![value],
    };
    let text = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) if !name.is_list => Ok(number.to_string()),
        DeValue::Boolean(is_set) if name.name == DESCRIBE.name => Ok(is_set.to_string()),
        DeValue::Float(number) if !name.is_list => Ok(number.to_string()),
        _ => Err("expected a string".to_owned()),
    };
    items.into_iter().map(text).collect()
}

fn check(name: &Name, texts: &[String]) -> Result<(), Failure> {
    let check = |text: &String| match text.trim() {
        "" => Err("it is empty".to_owned()),
        _ => (name.check)(text),
    };
    texts.iter().try_for_each(check).map_err(|problem| invalid(name, &problem))
}

fn invalid(name: &Name, problem: &str) -> Failure {
    Failure::settings(format!("invalid `{}`: {problem}", name.name)).advise(HELP)
}

/// Finds a setting that may be in the file. Refuses secrets, because people copy and share the
/// file.
pub fn named(name: &str) -> Result<&'static Name, Failure> {
    let shown = one_line(name);
    let lower = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let secret = |place: &str| {
        Failure::settings(format!("secrets do not belong in this file: `{shown}`"))
            .advise(format!("keep it out of the file, and {place}"))
    };
    match names::find(name) {
        Some(known) if known.is_in_file => Ok(known),
        _ if has(&["webhook"]) && has(&["secret"]) => {
            Err(secret("use IMAGEKILN_WEBHOOK_SECRET or --webhook-secret-file"))
        }
        _ if has(&["key", "secret", "token", "password"]) => {
            Err(secret("run `kiln config login` to store the API key"))
        }
        Some(Name { variable: Some(variable), .. }) => {
            Err(Failure::settings(format!("`{shown}` does not belong in this file"))
                .advise(format!("set {variable} instead")))
        }
        _ => {
            let known = names::in_file().map(|name| name.name).chain([PROFILES]);
            let problem = format!("unknown setting `{shown}`{}", hint(name, known));
            Err(Failure::settings(problem).advise(HELP))
        }
    }
}
