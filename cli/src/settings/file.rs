//! Reads `config.toml`. Errors name the line, and never quote a value.

use std::{fs, io, path::Path};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{
    names::{self, NAMES, Name},
    profile,
};
use crate::{failure::Failure, text::sanitize::one_line};
use imagekiln::text::hint;

/// The table that contains the profiles.
const PROFILES: &str = "profile";

/// A setting of the file.
#[derive(Debug, Clone)]
pub struct Entry {
    pub name: &'static str,
    /// `None` outside of `[profile.NAME]`.
    pub profile: Option<String>,
    pub texts: Vec<String>,
}

/// The settings of a file, and its profiles.
#[derive(Debug, Clone, Default)]
pub struct File {
    pub entries: Vec<Entry>,
    pub profiles: Vec<String>,
}

/// A problem, with advice and its position in the file.
struct Problem {
    at: usize,
    problem: String,
    advice: String,
}

/// Reads the file. A file that does not exist sets nothing.
pub fn read(path: &Path) -> Result<File, Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(File::default()),
        Err(error) => {
            return Err(Failure::file(format!("could not read {}", path.display()), error));
        }
    };
    of_text(path, &text)
}

/// Reads the text of the file at `path`.
pub fn of_text(path: &Path, text: &str) -> Result<File, Failure> {
    parse(text).map_err(|Problem { at, problem, advice }| {
        let line = text.get(..at).unwrap_or(text).matches('\n').count() + 1;
        Failure::settings(format!("{}, line {line}: {problem}", path.display())).advise(advice)
    })
}

/// Returns the first problem of the file, if there is one.
fn parse(text: &str) -> Result<File, Problem> {
    let table = DeTable::parse(text).map_err(|error| Problem {
        at: error.span().map_or(text.len(), |span| span.start),
        problem: error.message().trim().to_owned(),
        advice: "correct the file, whose format is TOML".to_owned(),
    })?;
    let (mut file, mut problems) = (File::default(), Vec::new());
    for (key, value) in table.get_ref() {
        let added = match (key.get_ref().as_ref(), value.get_ref()) {
            (PROFILES, DeValue::Table(table)) => {
                for (name, value) in table {
                    problems.extend(file.add_profile(name, value));
                }
                continue;
            }
            (PROFILES, _) => Err(Problem {
                at: key.span().start,
                problem: "`profile` is not a table".to_owned(),
                advice: "write [profile.NAME]; --profile and KILN_PROFILE choose one".to_owned(),
            }),
            _ => file.add(key, value, None),
        };
        problems.extend(added.err());
    }
    match problems.into_iter().min_by_key(|problem| problem.at) {
        None => Ok(file),
        Some(problem) => Err(problem),
    }
}

type Key<'a> = Spanned<std::borrow::Cow<'a, str>>;

impl File {
    fn add_profile(&mut self, name: &Key<'_>, value: &Spanned<DeValue<'_>>) -> Vec<Problem> {
        let (text, at) = (name.get_ref(), name.span().start);
        let problem = |problem: &str, advice: &str| {
            vec![Problem { at, problem: problem.to_owned(), advice: advice.to_owned() }]
        };
        if !profile::is_valid(text) {
            return problem("invalid name of a profile", profile::RULE);
        }
        let DeValue::Table(table) = value.get_ref() else {
            return problem("`profile` contains a setting", "write it below [profile.NAME]");
        };
        self.profiles.push(text.to_string());
        let added = table.iter().map(|(key, value)| self.add(key, value, Some(text)));
        added.filter_map(Result::err).collect()
    }

    fn add(
        &mut self,
        key: &Key<'_>,
        value: &Spanned<DeValue<'_>>,
        profile: Option<&str>,
    ) -> Result<(), Problem> {
        let problem = |at: usize, problem: String, advice: String| Problem { at, problem, advice };
        let Some(name) = names::find(key.get_ref()) else {
            let (text, advice) = unknown(key.get_ref());
            return Err(problem(key.span().start, text, advice));
        };
        let at = value.span().start;
        let texts = texts(name, value.get_ref())
            .and_then(|texts| texts.iter().try_for_each(|text| check(name, text)).map(|()| texts));
        let texts = texts.map_err(|text| {
            let advice = "`kiln config --help` lists the settings".to_owned();
            problem(at, format!("invalid `{}`: {text}", name.name), advice)
        })?;
        self.entries.push(Entry { name: name.name, profile: profile.map(str::to_owned), texts });
        Ok(())
    }
}

/// The values as texts. Numbers are texts, too.
fn texts(name: &Name, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let items = match (name.is_list, value) {
        (true, DeValue::Array(items)) => items.iter().map(Spanned::get_ref).collect(),
        (true, _) => return Err("expected a list of strings, such as [\"a\", \"b\"]".to_owned()),
        (false, value) => vec![value],
    };
    let text = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) if !name.is_list => Ok(number.to_string()),
        DeValue::Float(number) if !name.is_list => Ok(number.to_string()),
        _ => Err("expected a string".to_owned()),
    };
    items.into_iter().map(text).collect()
}

fn check(name: &Name, text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    (name.check)(text)
}

/// The problem of an unknown name, with advice. Secrets do not belong in the file, which people
/// copy and share.
fn unknown(name: &str) -> (String, String) {
    let shown = one_line(name);
    let lower = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&["webhook"]) && has(&["secret"]) {
        let advice = "remove it, and use IMAGEKILN_WEBHOOK_SECRET or --webhook-secret-file";
        return (format!("secrets do not belong in this file: `{shown}`"), advice.to_owned());
    }
    if has(&["key", "secret", "token", "password"]) {
        let advice = "remove it, and run `kiln login` to store the API key";
        return (format!("secrets do not belong in this file: `{shown}`"), advice.to_owned());
    }
    let known = NAMES.into_iter().map(|name| name.name).chain([PROFILES]);
    let advice = "`kiln config --help` lists the settings".to_owned();
    (format!("unknown setting `{shown}`{}", hint(name, known)), advice)
}
