//! Turns drafts into jobs, and collects their problems.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use serde_json::Value;

use super::{
    Defaults, PlannedJob, Source,
    draft::{Cell, Draft, Setting},
    fields::{self, Converted},
    names::Names,
    problem::Problems,
};
use crate::{
    failure::{Failure, LineProblem},
    making::checks,
    models,
    text::{sanitize::one_line, words::hint},
};
use imagekiln::{Operation, Request};
use imagekiln_batch::Template;

pub struct Planner<'a> {
    source: &'a Source,
    defaults: &'a Defaults,
    jobs: Vec<PlannedJob>,
    problems: Problems,
    names: Names,
    /// The lines of all names and of all targets that the file sets.
    taken: HashMap<(Taken, String), u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Taken {
    Name,
    Target,
}

impl<'a> Planner<'a> {
    pub fn new(source: &'a Source, defaults: &'a Defaults) -> Self {
        Self {
            source,
            defaults,
            jobs: Vec::new(),
            problems: Problems::default(),
            names: Names::default(),
            taken: HashMap::new(),
        }
    }

    pub fn problem(&mut self, line: u64, message: String) {
        let file = match (line, self.source) {
            (0, Source::Matrix(_)) => "--prompt".to_owned(),
            (_, source) => source.to_string(),
        };
        self.problems.add(LineProblem { file, line, message });
    }

    /// Adds the job, or reports the problems that were found while its line was read.
    pub fn add_unless(&mut self, draft: Draft, problems: Vec<String>) {
        if problems.is_empty() {
            self.add(draft);
        } else {
            problems.into_iter().for_each(|problem| self.problem(draft.line, problem));
        }
    }

    /// Adds the job, or reports its problems.
    pub fn add(&mut self, mut draft: Draft) {
        let line = draft.line;
        draft.fill_model();
        let operation = match draft.model.as_deref().map(find) {
            None => self.defaults.model,
            Some(Ok(operation)) => operation,
            Some(Err(problem)) => return self.problem(line, problem),
        };
        let (request, name) = match self.request(operation, &draft) {
            Ok(request) => request,
            Err(problems) => {
                return problems.into_iter().for_each(|problem| self.problem(line, problem));
            }
        };
        let name = draft.name.unwrap_or(name);
        self.take(Taken::Name, &name, line);
        if let Some(target) = draft.target.as_deref().filter(|target| !target.contains('{')) {
            self.take(Taken::Target, target, line);
        }
        if let Some(Err(problem)) = draft.target.as_deref().map(Template::parse) {
            return self.problem(line, problem.to_string());
        }
        let target = draft.target.unwrap_or_else(|| self.defaults.target.clone());
        let Draft { group, priority, metadata, .. } = draft;
        self.jobs.push(PlannedJob { line, name, target, request, group, priority, metadata });
    }

    /// Returns the jobs if there is no problem.
    pub fn finish(self, source: &Source) -> Result<Vec<PlannedJob>, Failure> {
        match self.problems.count() {
            0 if self.jobs.is_empty() => Err(Failure::usage(format!("{source} contains no jobs"))),
            0 => Ok(self.jobs),
            count => Err(Failure::lines(&source.to_string(), self.problems.shown, count)),
        }
    }

    /// Returns the request with its name, or the problems.
    fn request(
        &mut self,
        operation: &'static Operation,
        draft: &Draft,
    ) -> Result<(Request, String), Vec<String>> {
        let mut request = Request::new(operation);
        let mut written = BTreeMap::new();
        let mut failed = Vec::new();
        let mut problems = Vec::new();
        for (setting, from_flag) in settings(self.defaults, draft) {
            let name = setting.name.as_str();
            let folder = if from_flag { Path::new("") } else { self.source.folder() };
            match fields::convert(operation, setting, folder) {
                Ok(value) => {
                    written.insert(name, as_written(&value, setting));
                    request = value.set(request, name);
                }
                Err(problem) => {
                    failed.push(name);
                    let source = if from_flag { " (set on the command line)" } else { "" };
                    problems.push(format!("{problem}{source}"));
                }
            }
        }
        let violations = request.validate().err();
        let violations = violations.iter().flat_map(|error| error.violations());
        // A field that could not be converted is not missing.
        let violations = violations
            .filter(|violation| !violation.field().is_some_and(|field| failed.contains(&field)));
        problems.extend(violations.map(ToString::to_string));
        if problems.is_empty() {
            problems.extend(checks::check_job(&request).err().map(|one| one.message.clone()));
        }
        if problems.is_empty() {
            Ok((request, self.names.create(operation, &written)))
        } else {
            Err(problems)
        }
    }

    fn take(&mut self, what: Taken, text: &str, line: u64) {
        if let Some(first) = self.taken.insert((what, text.to_owned()), line) {
            let member = match what {
                Taken::Name => "name",
                Taken::Target => "target",
            };
            let text = one_line(text);
            self.problem(line, format!("{member}: `{text}` is the {member} of line {first} too"));
        }
    }
}

/// The settings of a job, and whether they are flags. Its own settings replace flags.
fn settings<'a>(
    defaults: &'a Defaults,
    draft: &'a Draft,
) -> impl Iterator<Item = (&'a Setting, bool)> {
    let is_default =
        |setting: &&Setting| !draft.settings.iter().any(|own| own.name == setting.name);
    let flags = defaults.settings.iter().filter(is_default).map(|setting| (setting, true));
    flags.chain(draft.settings.iter().map(|setting| (setting, false)))
}

fn find(name: &str) -> Result<&'static Operation, String> {
    models::find(name).ok_or_else(|| {
        let hint = hint(name, models::models().map(|model| model.name));
        format!("model: `{}` is not a model{hint}", one_line(name))
    })
}

/// The value for the name of the job. Paths are not made absolute.
fn as_written(value: &Converted, setting: &Setting) -> Value {
    match (value, &setting.value) {
        (Converted::Json(value), _) | (_, Cell::Json(value)) => value.clone(),
        (_, Cell::Text(text)) => text.as_str().into(),
    }
}
