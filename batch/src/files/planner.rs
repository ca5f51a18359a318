//! Turns drafts into jobs, and collects their problems.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::{Path, PathBuf},
};

use imagekiln::{
    ImageInput, Operation, Request, find_model, models,
    text::{hint, one_line},
};
use serde_json::{Map, Value};

use super::{
    Defaults, Error, FileJob, List, Problem,
    draft::{Cell, Draft, PROMPT, Part, Setting, find_prompt},
    error::Problems,
    fields::{self, Converted, is_foreign},
    names::Names,
    shown,
    upright::Copies,
};
use crate::{MissingInput, Template, checks::is_mask, job::LONGEST_METADATA, mask_problem, masks};

pub(super) struct Planner<'a> {
    /// The name of the file.
    file: Option<String>,
    /// The folder to which the paths of images are relative.
    folder: &'a Path,
    pub(super) defaults: &'a Defaults,
    pub(super) list: List,
    problems: Problems,
    names: Names,
    /// The lines of all names and of all targets that the file sets.
    taken: HashMap<(Taken, String), u64>,
    /// What is wrong with the masks that were read: many jobs may have the same.
    masks: HashMap<PathBuf, Option<&'static str>>,
    copies: Copies,
    /// Whether an image has the wrong size only because it is stored turned.
    fits_upright: bool,
}

/// The kind of a violation by an image that would fit as viewers show it.
const TURNED: &str = "image_orientation";

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Taken {
    Name,
    Target,
}

impl<'a> Planner<'a> {
    pub(super) fn new(file: Option<String>, folder: &'a Path, defaults: &'a Defaults) -> Self {
        Self {
            file,
            folder,
            defaults,
            list: List::default(),
            problems: Problems::default(),
            names: Names::default(),
            taken: HashMap::new(),
            masks: HashMap::new(),
            copies: Copies::default(),
            fits_upright: false,
        }
    }

    pub(super) fn problem(&mut self, line: u64, message: String) {
        let file = self.file.clone().filter(|_| line > 0);
        // Paths may contain control characters.
        let message = one_line(&message, usize::MAX);
        self.problems.add(Problem { file, line, message });
    }

    /// The file could not be read to its end.
    pub(super) fn unreadable(&self, source: io::Error) -> Error {
        let message = format!("could not read {}", self.file.as_deref().unwrap_or_default());
        Error::Unreadable { message, source }
    }

    /// Finds the key of the prompt among those of a record or a line, if it is not [`PROMPT`].
    pub(super) fn prompt_among<'k>(
        &mut self,
        mut keys: impl Iterator<Item = &'k str> + Clone,
    ) -> Result<Option<String>, String> {
        let model = self.defaults.model;
        let needs_prompt = model.field(PROMPT).is_some_and(|field| field.required)
            && !self.defaults.settings.iter().any(|setting| setting.name == PROMPT);
        let key = match self.defaults.prompt_column.as_deref() {
            Some(PROMPT) => return Ok(None),
            Some(name) if keys.any(|key| key == name) => name,
            Some(name) => return Err(format!("nothing is called `{}`", shown(name))),
            None if keys.clone().any(|key| key == PROMPT) || !needs_prompt => return Ok(None),
            None => match find_prompt(keys)? {
                Some(key) => key,
                None => return Ok(None),
            },
        };
        if !self.list.prompt_columns.iter().any(|known| known == key) {
            self.list.prompt_columns.push(key.to_owned());
        }
        Ok(Some(key.to_owned()))
    }

    /// Adds the job, or reports the problems that were found while its line was read.
    pub(super) fn add_unless(&mut self, draft: Draft, problems: Vec<String>) {
        if problems.is_empty() {
            self.add(draft);
        } else {
            problems.into_iter().for_each(|problem| self.problem(draft.line, problem));
        }
    }

    /// Adds the job, or reports its problems.
    pub(super) fn add(&mut self, mut draft: Draft) {
        let line = draft.line;
        draft.fill_model();
        let operation = match draft.model.as_deref().map(find) {
            None => self.defaults.model,
            Some(Ok(operation)) => operation,
            Some(Err(problem)) => return self.problem(line, problem),
        };
        self.move_foreign(operation, &mut draft);
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
        let group = draft.group.or_else(|| self.defaults.group.clone());
        let priority = draft.priority.unwrap_or(self.defaults.priority);
        let metadata = draft.metadata;
        if metadata.as_ref().is_some_and(|value| value.to_string().len() > LONGEST_METADATA) {
            let limit = LONGEST_METADATA / 1024;
            return self.problem(line, format!("the metadata is larger than {limit} KiB"));
        }
        self.list.jobs.push(FileJob { line, name, target, request, group, priority, metadata });
    }

    /// Moves what is foreign to all models to the metadata, unless it has the name already.
    fn move_foreign(&mut self, operation: &Operation, draft: &mut Draft) {
        let foreign = draft.settings.extract_if(.., |setting| match setting.part {
            Part::Metadata => true,
            Part::Listed => is_foreign(operation, &setting.name),
            _ => false,
        });
        for Setting { name, value, .. } in foreign {
            if !self.list.metadata_columns.contains(&name) {
                self.list.metadata_columns.push(name.clone());
            }
            let metadata = draft.metadata.get_or_insert_with(|| Map::new().into());
            if let Some(members) = metadata.as_object_mut() {
                members.entry(name).or_insert(match value {
                    Cell::Json(value) => value,
                    Cell::Text(text) => text.into(),
                });
            }
        }
    }

    /// Returns the jobs if there is no problem.
    pub(super) fn finish(mut self) -> Result<List, Error> {
        self.list.upright = self.copies.count();
        match self.problems.count() {
            0 if self.list.jobs.is_empty() => Err(Error::Empty(self.file)),
            0 => Ok(self.list),
            count => {
                let (problems, more) = self.problems.by_kind();
                let Self { file, fits_upright, .. } = self;
                Err(Error::Invalid { file, problems, count, more, fits_upright })
            }
        }
    }

    /// Returns the request with its name, or the problems.
    fn request(
        &mut self,
        operation: &'static Operation,
        draft: &Draft,
    ) -> Result<(Request, String), Vec<String>> {
        let (mut request, mut unwritten) = (Request::new(operation), None);
        let mut written = BTreeMap::new();
        let mut failed = Vec::new();
        let mut problems = Vec::new();
        for (setting, is_default) in settings(self.defaults, draft) {
            let name = setting.name.as_str();
            let folder = if is_default { Path::new("") } else { self.folder };
            let value = fields::convert(operation, setting, folder);
            match value.and_then(|value| self.upright(operation, name, value)) {
                Ok((value, in_dry_run)) => {
                    written.insert(name, as_written(&value, setting));
                    request = value.set(request, name);
                    if let Some(value) = in_dry_run {
                        let changes = unwritten.unwrap_or_else(|| Request::new(operation));
                        unwritten = Some(value.set(changes, name));
                    }
                }
                Err(problem) => {
                    failed.push(name);
                    let scope = if is_default { " (set for all jobs)" } else { "" };
                    problems.push(format!("{problem}{scope}"));
                }
            }
        }
        let checked = match unwritten {
            Some(changes) => &request.clone().changed_by(changes),
            None => &request,
        };
        let violations = checked.validate().err();
        let violations = violations.iter().flat_map(|error| error.violations());
        // A field that could not be converted is not missing.
        let violations = violations
            .filter(|violation| !violation.field().is_some_and(|field| failed.contains(&field)));
        problems.extend(violations.map(|violation| {
            self.fits_upright |= violation.kind == TURNED;
            violation.to_string()
        }));
        if problems.is_empty() {
            problems.extend(MissingInput::of(checked).map(|missing| missing.to_string()));
            problems.extend(self.mask_problems(checked));
        }
        if problems.is_empty() {
            Ok((request, self.names.create(operation, &written)))
        } else {
            Err(problems)
        }
    }

    /// Replaces images by their copies, if the defaults say so. The second value is for the checks
    /// of a dry run, in which copies are not written.
    fn upright(
        &mut self,
        operation: &'static Operation,
        name: &str,
        value: Converted,
    ) -> Result<(Converted, Option<Converted>), String> {
        let Some(settings) = &self.defaults.upright else { return Ok((value, None)) };
        let is_mask = operation.field(name).is_some_and(|field| is_mask(&field.kind));
        let replaced = self.copies.replace(value, settings, (operation, is_mask));
        replaced.map_err(|problem| format!("{}: {problem}", shown(name)))
    }

    fn mask_problems(&mut self, request: &Request) -> Vec<String> {
        let masks = masks(request).filter(|_| !self.defaults.any_mask);
        let problems = masks.filter_map(|(field, mask)| {
            let problem = match mask {
                ImageInput::Path(path) => {
                    *self.masks.entry(path.clone()).or_insert_with(|| mask_problem(mask))
                }
                mask => mask_problem(mask),
            };
            Some(format!("{field}: {}", problem?))
        });
        problems.collect()
    }

    fn take(&mut self, what: Taken, text: &str, line: u64) {
        if let Some(first) = self.taken.insert((what, text.to_owned()), line) {
            let member = match what {
                Taken::Name => "name",
                Taken::Target => "target",
            };
            let text = shown(text);
            self.problem(line, format!("{member}: `{text}` is the {member} of line {first} too"));
        }
    }
}

/// The settings of a job, and whether they are defaults.
fn settings<'a>(
    defaults: &'a Defaults,
    draft: &'a Draft,
) -> impl Iterator<Item = (&'a Setting, bool)> {
    let is_default =
        |setting: &&Setting| !draft.settings.iter().any(|own| own.name == setting.name);
    let defaults = defaults.settings.iter().filter(is_default).map(|setting| (setting, true));
    defaults.chain(draft.settings.iter().map(|setting| (setting, false)))
}

fn find(name: &str) -> Result<&'static Operation, String> {
    find_model(name).ok_or_else(|| {
        let hint = hint(name, models().map(|model| model.name));
        format!("model: `{}` is not a model{hint}", shown(name))
    })
}

/// The value for the name of the job. Paths are not made absolute.
fn as_written(value: &Converted, setting: &Setting) -> Value {
    match (value, &setting.value) {
        (Converted::Json(value), _) | (_, Cell::Json(value)) => value.clone(),
        (_, Cell::Text(text)) => text.as_str().into(),
    }
}
