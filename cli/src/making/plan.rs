//! The pictures of a command: the request and the target of each. Everything is checked here,
//! before anything is sent.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use clap::ArgMatches;

use super::checks;
use crate::{
    args::{
        count::{self, MOST, SEED},
        output,
        prompt::PROMPT,
        request, size, webhook_secret,
    },
    context::Context,
    failure::Failure,
    files::target::{Known, Place, Target},
    history::{Destination, Kept},
};
use imagekiln::Request;

/// A picture to make.
pub struct Planned {
    pub request: Request,
    pub target: Target,
    pub seed: Option<i64>,
}

impl Planned {
    pub fn prompt(&self) -> Option<&str> {
        self.request.text(PROMPT)
    }
}

/// Plans a picture for each prompt and each seed. Without prompts, `base` has all fields.
pub fn plan(
    context: &Context,
    base: Request,
    prompts: &[String],
    matches: &ArgMatches,
) -> Result<Vec<Planned>, Failure> {
    let target = output::target(&context.settings, matches)?;
    let base = webhook_secret::set(&context.output, base, matches)?;
    let base = size::or_default(base, context.settings.size());
    let base = output::with_format(&context.output, base, matches, &target)?;
    let seeds = count::seeds(matches)?;
    let count = seeds.len().saturating_mul(prompts.len().max(1));
    if count > MOST {
        let problem = format!("{count} pictures are more than {MOST}, the most of one command");
        return Err(Failure::usage(problem)
            .advise("nothing was sent; `kiln batch run` makes any number of pictures"));
    }
    let mut planned = Vec::with_capacity(count);
    for base in with_prompts(base, prompts) {
        for (at, seed) in seeds.iter().enumerate() {
            let request = match seed {
                Some(seed) => base.clone().field(SEED, *seed),
                None => base.clone(),
            };
            match at {
                0 => checks::check(&request)?,
                // The images are the same.
                _ => request.validate()?,
            }
            let seed = seed.or_else(|| request::text(matches, SEED)?.parse().ok());
            planned.push(Planned { target: target.clone(), request, seed });
        }
    }
    fill_in_targets(&mut planned)?;
    // Once for all of them, which are of one model.
    planned.first().inspect(|first| warn_of_deprecation(context, &first.request));
    Ok(planned)
}

fn warn_of_deprecation(context: &Context, request: &Request) {
    let operation = request.operation();
    if operation.deprecated {
        context.output.warning(&format!("deprecated model {operation}: {}", operation.description));
    }
}

fn with_prompts(base: Request, prompts: &[String]) -> Vec<Request> {
    match prompts {
        [] => vec![base],
        _ => prompts.iter().map(|prompt| base.clone().field(PROMPT, prompt.as_str())).collect(),
    }
}

/// Fills the known facts of each picture into its target. Refuses a target that cannot hold all of
/// them.
fn fill_in_targets(planned: &mut [Planned]) -> Result<(), Failure> {
    let count = planned.len();
    let mut names = HashSet::new();
    for (at, planned) in planned.iter_mut().enumerate() {
        let target = planned.target.filled(Known {
            index: at as u64 + 1,
            seed: planned.seed,
            prompt: planned.prompt(),
            model: planned.request.operation().name,
        })?;
        if count > 1 && !holds_another(&target.place, &mut names) {
            let name = target.shown().unwrap_or_default();
            let problem = format!("{count} pictures cannot all be saved as `{name}`");
            return Err(Failure::usage(problem).advise(
                "nothing was sent; pass a directory to --output, or a name with a field that \
                 differs, such as 'fox-{index}.{ext}'",
            ));
        }
        planned.target = target;
    }
    Ok(())
}

/// What the history keeps of each picture of a command in a working directory.
pub fn kept(planned: &[Planned], directory: &Path) -> Vec<Kept> {
    let kept = planned.iter().enumerate().map(|(index, planned)| {
        Kept::new(planned.prompt(), Destination::of(&planned.target, directory), index)
    });
    kept.collect()
}

/// Checks that the pictures can be saved to their targets, so that none is paid for in vain.
pub fn check_targets(context: &Context, planned: &[Planned]) -> Result<(), Failure> {
    let check = |target: &Target| target.check(context.output.json, &context.process().stdout);
    let mut targets = planned.iter().map(|planned| &planned.target);
    // All of them are in one directory.
    let checked = targets.clone().next().map_or(Ok(()), check);
    let checked = checked.and_then(|()| targets.try_for_each(Target::check_name));
    checked.map_err(Failure::before_payment)
}

/// Whether a place can hold a picture in addition to those with these names.
fn holds_another(place: &Place, names: &mut HashSet<PathBuf>) -> bool {
    match place {
        Place::Named(_) => true,
        Place::Pattern(pattern) => pattern.has_id() || names.insert(pattern.shown()),
        Place::File(_) | Place::Special(_) | Place::Stdout => false,
    }
}
