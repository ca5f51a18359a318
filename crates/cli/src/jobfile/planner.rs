//! Turns drafts into jobs, and collects the problems of all lines.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    iter::repeat_n,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use super::{
    Defaults, FileJob, List,
    draft::{Cell, Draft, Part, Setting, find_prompt},
    fields::{self, Converted, is_foreign},
    names,
    problems::Problems,
    upright::Copies,
};
use crate::{
    failure::{Failure, LineProblem, advice},
    making::checks::{MissingInput, is_mask, mask_problem, masks},
    models::PROMPT,
    text::{one_line, printable},
};
use imagekiln::{
    ImageInput, Operation, Request, complete_model, find_model, models,
    text::{counted, hint},
};
use imagekiln_batch::Job;
use imagekiln_label::Template;

/// The name in messages for prompts from the command line, which are not in a file.
pub const PROMPTS: &str = "--prompt";

pub struct Planner<'a> {
    /// The name of the file.
    file: String,
    /// The folder to which the paths of images are relative.
    folder: &'a Path,
    pub defaults: &'a Defaults,
    pub list: List,
    problems: Problems,
    /// How often each name was created.
    names: HashMap<String, u64>,
    /// The values of `name` and `target` that jobs have taken, each with the line of its job.
    taken: HashMap<(&'static str, String), u64>,
    /// The problem of each mask that was read, or `None` if the mask is fine. Many jobs may use the
    /// same mask, which is then decoded only once.
    masks: HashMap<PathBuf, Option<&'static str>>,
    copies: Copies,
    /// Whether some image has the wrong size only because it is stored turned, so that `--upright`
    /// would help.
    fits_upright: bool,
}

impl<'a> Planner<'a> {
    pub fn new(file: String, folder: &'a Path, defaults: &'a Defaults) -> Self {
        Self {
            file,
            folder,
            defaults,
            list: List::default(),
            problems: Problems::default(),
            names: HashMap::new(),
            taken: HashMap::new(),
            masks: HashMap::new(),
            copies: Copies::default(),
            fits_upright: false,
        }
    }

    pub fn problem(&mut self, line: u64, message: String) {
        let file = if line > 0 { self.file.clone() } else { PROMPTS.to_owned() };
        // A message may quote a path, which can contain control characters.
        let message = printable(&message);
        self.problems.add(LineProblem { file, line, message });
    }

    /// The failure if an error occurred before the end of the file.
    pub fn unreadable(&self, error: io::Error) -> Failure {
        Failure::file(format!("could not read {}", self.file), error)
    }

    /// Returns the key of the prompt among the keys of a record or a line. `None` if that key is
    /// [`PROMPT`], or if there is no prompt.
    pub fn prompt_among<'k>(
        &mut self,
        mut keys: impl Iterator<Item = &'k str> + Clone,
    ) -> Result<Option<String>, String> {
        let model = self.defaults.model;
        let needs_prompt = model.field(PROMPT).is_some_and(|field| field.required)
            && !self.defaults.settings.iter().any(|setting| setting.name == PROMPT);
        let key = match self.defaults.prompt_column.as_deref() {
            Some(PROMPT) => return Ok(None),
            Some(name) if keys.any(|key| key == name) => name,
            Some(name) => return Err(format!("nothing is called `{}`", one_line(name))),
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

    /// Adds the job, unless problems were found while its line was read: then reports these
    /// problems.
    pub fn add_unless(&mut self, draft: Draft, problems: Vec<String>) {
        if problems.is_empty() {
            self.add(draft);
        } else {
            problems.into_iter().for_each(|problem| self.problem(draft.line, problem));
        }
    }

    /// Adds the job, [`count`](Defaults::count) times, or reports its problems.
    pub fn add(&mut self, draft: Draft) {
        for (number, mut draft) in (1..).zip(repeat_n(draft, self.defaults.count)) {
            if let Some(name) = draft.name.as_mut().filter(|_| number > 1) {
                *name += &format!("-{number}");
            }
            self.add_one(draft);
        }
    }

    fn add_one(&mut self, mut draft: Draft) {
        let line = draft.line;
        // The name of a finetuned model, such as `gen-2-klein-9b-kv-finetuned`, stands for the name
        // of its model and a setting for the path parameter.
        if let Some(found) = draft.model.as_deref().and_then(complete_model) {
            let value = Cell::Text(found.value.to_owned());
            draft.settings.push(Setting::new(found.parameter.name, value));
            draft.model = Some(found.model.name.to_owned());
        }
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
        self.take("name", &name, line);
        if let Some(target) = draft.target.as_deref().filter(|target| !target.contains('{')) {
            self.take("target", target, line);
        }
        if let Some(Err(problem)) = draft.target.as_deref().map(Template::parse) {
            return self.problem(line, problem.to_string());
        }
        let target = draft.target.unwrap_or_else(|| self.defaults.target.clone());
        let group = draft.group.or_else(|| self.defaults.group.clone());
        let priority = draft.priority.unwrap_or(self.defaults.priority);
        let metadata = draft.metadata;
        if metadata.as_ref().is_some_and(|value| value.to_string().len() > Job::MAX_METADATA) {
            let limit = Job::MAX_METADATA / 1024;
            return self.problem(line, format!("the metadata is larger than {limit} KiB"));
        }
        self.list.jobs.push(FileJob { line, name, target, request, group, priority, metadata });
    }

    /// Moves the settings that are not fields of any model to the metadata. A member that the
    /// metadata already has keeps its value.
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

    /// Returns the jobs, or a failure if there is any problem.
    pub fn finish(mut self) -> Result<List, Failure> {
        self.list.upright = self.copies.used.len();
        match self.problems.count() {
            0 if self.list.jobs.is_empty() => {
                Err(Failure::usage(format!("{} contains no jobs", self.file)))
            }
            0 => Ok(self.list),
            count => {
                let (problems, more) = self.problems.by_kind();
                let message = format!("{} has {}", self.file, counted(count, "problem"));
                let mut failure = Failure::request(message)
                    .advise("nothing was sent; correct the lines, and run the command again");
                (failure.problems, failure.more_problems) = (problems, more);
                if let Some(advice) = failure.advice.as_mut().filter(|_| self.fits_upright) {
                    *advice += advice::UPRIGHT;
                }
                Err(failure)
            }
        }
    }

    /// Returns the request of a job and the name for a job without one, or the problems of the
    /// request.
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
            let replaced = |value| match &self.defaults.upright {
                Some(settings) => {
                    let is_mask = operation.field(name).is_some_and(|field| is_mask(&field.kind));
                    let replaced = self.copies.replace(value, settings, (operation, is_mask));
                    replaced.map_err(|problem| format!("{}: {problem}", one_line(name)))
                }
                None => Ok((value, None)),
            };
            match value.and_then(replaced) {
                // A dry run does not write the upright copy of an image, and checks its first
                // bytes.
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
        // A field that could not be converted has a problem already, so do not report it as
        // missing.
        let violations = violations
            .filter(|violation| !violation.field().is_some_and(|field| failed.contains(&field)));
        problems.extend(violations.map(|violation| {
            self.fits_upright |= advice::is_turned(violation);
            violation.to_string()
        }));
        if problems.is_empty() {
            problems.extend(MissingInput::of(checked).map(|missing| missing.message));
            problems.extend(self.mask_problems(checked));
        }
        if problems.is_empty() {
            Ok((request, names::create(&mut self.names, operation, &written)))
        } else {
            Err(problems)
        }
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

    fn take(&mut self, member: &'static str, text: &str, line: u64) {
        if let Some(first) = self.taken.insert((member, text.to_owned()), line) {
            let text = one_line(text);
            self.problem(line, format!("{member}: `{text}` is the {member} of line {first} too"));
        }
    }
}

/// The settings of a job and the defaults that it does not override, which are marked with `true`.
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
        format!("model: `{}` is not a model{hint}", one_line(name))
    })
}

/// The value that goes into the name of the job. Paths stay as the user wrote them, so that the
/// name does not depend on the current directory.
fn as_written(value: &Converted, setting: &Setting) -> Value {
    match (value, &setting.value) {
        (Converted::Json(value), _) | (_, Cell::Json(value)) => value.clone(),
        (_, Cell::Text(text)) => text.as_str().into(),
    }
}
