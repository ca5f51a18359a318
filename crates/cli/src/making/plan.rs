//! The pictures of a command: the request and the target of each. Everything is checked here,
//! before anything is sent and billed.

use std::{cell::RefCell, collections::HashSet, path::PathBuf, slice::from_mut};

use clap::{ArgMatches, FromArgMatches as _};
use serde_json::Value;

use super::{
    checks::{MissingInput, mask_problem, masks},
    keyed, upright,
    variants::{self, Pictures, Variant},
};
use crate::{
    args::{
        inputs::Inputs,
        options::{FieldOptions, MOST},
        output, request,
    },
    context::Context,
    failure::Failure,
    files::target::{Place, Target},
    history::{Destination, Kept, ancestry, request::kept as kept_request},
    models::{PROMPT, SEED},
    text::{Clock, now},
};
use imagekiln::{Request, journal::Key};
use imagekiln_label::TemplateFields;

pub struct Planned {
    pub request: Request,
    pub target: Target,
    /// A name for the picture: of the image that it is made from, or of what was varied.
    name: Option<String>,
    /// The seed, if the command drew it at random and `--seed` can repeat it.
    pub drawn: Option<i64>,
    /// What was varied, such as `guidance 3`.
    pub label: Option<String>,
    /// The expected cost, as text for the progress line.
    pub price: Option<String>,
    /// The number of the submission whose picture is made again.
    again_of: Option<u64>,
    /// The request in the form that the history keeps.
    pub kept: Option<Value>,
    /// The idempotency key, if the user names the picture.
    pub key: Option<Key>,
}

impl Planned {
    pub fn prompt(&self) -> Option<&str> {
        self.request.text(PROMPT)
    }

    pub fn seed(&self) -> Option<i64> {
        self.request.integer(SEED)
    }
}

/// Plans a picture for each variant, each combination of values, and each seed.
pub fn plan(
    context: &Context,
    pictures: Pictures,
    matches: &ArgMatches,
) -> Result<Vec<Planned>, Failure> {
    let Pictures { request, variants, again_of } = pictures;
    let target = output::target(&context.settings, matches)?;
    let request = request::with_secret(&context.output, request, matches)?;
    let request = output::with_format(&context.output, request, matches, &target)?;
    let key = keyed::key(context, matches, &target.place)?;
    let nth = |at, count| key.as_ref().map(|key| keyed::nth(key, at, count));
    let seeds = request::seeds(matches)?;
    let (model, mut inputs) = (request.operation(), Inputs::of(&context.output, &context.settings));
    let combinations = variants::combinations(model, seeds.len(), matches, &mut inputs)?;
    let has_names = variants.iter().any(|variant| matches!(variant, Variant::Image { .. }));
    let target = if has_names { target.named_after_images(seeds.len())? } else { target };
    let count = [variants.len().max(1), combinations.len(), seeds.len()];
    let count = count.into_iter().fold(1, usize::saturating_mul);
    if count > MOST {
        let problem = format!("{count} pictures are more than {MOST}, the most of one command");
        return Err(Failure::usage(problem)
            .advise("nothing was sent; `kiln batch run` makes any number of pictures"));
    }
    let draws = !request::has_seeds(matches) && !request.has_field(SEED);
    // The combinations of `--vary` share their seeds, because people could not compare pictures
    // that also differ in their seeds.
    let shared = seeds.into_iter().enumerate().map(|(at, seed)| {
        let key = nth(at, count);
        let draw = || drawn(context, key.as_ref(), request.clone()).integer(SEED);
        seed.or_else(|| if combinations.len() > 1 { draw() } else { None })
    });
    let shared: Vec<Option<i64>> = shared.collect();
    let options = FieldOptions::from_arg_matches(matches)?;
    let mut planned = Vec::with_capacity(count);
    let digests = RefCell::default();
    for base in variants::bases(request, &variants, &combinations) {
        let request = base.request;
        let request = if options.upright { upright::turned(request)? } else { request };
        for (at, seed) in shared.iter().enumerate() {
            let key = nth(planned.len(), count);
            let request = match seed.filter(|_| !request.has_field(SEED)) {
                Some(seed) => request.clone().field(SEED, seed),
                None => drawn(context, key.as_ref(), request.clone()),
            };
            match at {
                0 => check(context, &request, options.any_mask)?,
                // The images are those of the first request, so they are not checked again.
                _ => request.validate()?,
            }
            let can_repeat = draws && key.is_none() && variants.len() <= 1;
            planned.push(Planned {
                drawn: request.integer(SEED).filter(|_| can_repeat),
                kept: kept_request(&request, &context.process().directory, &digests),
                request,
                target: target.clone(),
                name: base.name.clone(),
                label: base.label.clone(),
                price: None,
                again_of,
                key,
            });
        }
    }
    fill_in_targets(&mut planned)?;
    // Warn once, because all pictures are of one model.
    let operation = planned.first().map(|first| first.request.operation());
    if let Some(operation) = operation.filter(|operation| operation.deprecated) {
        context.output.warning(&format!("deprecated model {operation}: {}", operation.description));
    }
    Ok(planned)
}

/// Plans a picture that a program asks for by a key. The request gets the seed that follows from
/// the key.
pub fn keyed(
    context: &Context,
    request: Request,
    target: Target,
    key: Key,
) -> Result<Planned, Failure> {
    let request = drawn(context, Some(&key), request);
    check(context, &request, false)?;
    let kept = kept_request(&request, &context.process().directory, &RefCell::default());
    let mut planned = Planned {
        request,
        target,
        name: None,
        drawn: None,
        label: None,
        price: None,
        again_of: None,
        kept,
        key: Some(key),
    };
    fill_in_targets(from_mut(&mut planned))?;
    Ok(planned)
}

/// Adds a seed to a request without one. With a key, the seed follows from its name, so that the
/// same command always has the same request.
fn drawn(context: &Context, key: Option<&Key>, request: Request) -> Request {
    match key {
        Some(key) => request::with_seed(request, request::seed_of(key.name())),
        None => request::with_seed(request, |range| (context.process().seed)(range)),
    }
}

/// Refuses requests that the contract does not allow, and requests that it allows but whose
/// pictures nobody wants to pay for: with a blank prompt, a truncated image, an unusable mask, or
/// without the image that the model works on. May block, because it reads image files.
fn check(context: &Context, request: &Request, any_mask: bool) -> Result<(), Failure> {
    let missing = MissingInput::of(request);
    if !missing.as_ref().is_some_and(|missing| missing.is_prompt) {
        request.validate()?;
        request.check_images()?;
    }
    let Some(MissingInput { message, advice, .. }) = missing else {
        for (field, mask) in masks(request) {
            if let Some(problem) = mask_problem(mask).filter(|_| !any_mask) {
                return Err(Failure::request(format!("{field}: {problem}")).advise(
                    "nothing was sent; correct the mask, or pass --any-mask to send it as it is",
                ));
            }
            upright::warn(&context.output, request, field);
        }
        return Ok(());
    };
    Err(Failure::request(message).advise(format!("nothing was sent; {advice}")))
}

/// Fills the known facts of each picture into its target. Refuses a target that cannot hold all
/// pictures.
fn fill_in_targets(planned: &mut [Planned]) -> Result<(), Failure> {
    let count = planned.len();
    let mut names = HashSet::new();
    let date = Clock::local().day(now());
    for (at, planned) in planned.iter_mut().enumerate() {
        let target = planned.target.filled(&TemplateFields {
            index: at as u64 + 1,
            seed: planned.seed(),
            prompt: planned.prompt().unwrap_or_default(),
            name: planned.name.as_deref().unwrap_or_default(),
            model: &planned.request.model_name(),
            date: &date,
            ..TemplateFields::default()
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

/// Returns what the history keeps of each picture of a command.
pub fn kept(context: &Context, planned: &[Planned]) -> Vec<Kept> {
    let process = context.process();
    let requests = planned.iter().map(|planned| planned.kept.as_ref());
    let made_from = ancestry::sources(process, requests);
    let kept = planned.iter().zip(made_from).enumerate().map(|(index, (planned, made_from))| {
        let request = planned.kept.clone();
        let prompt = planned.prompt().filter(|_| request.is_none()).map(str::to_owned);
        let destination = Destination::of(&planned.target, &process.directory);
        let profile = Some(context.settings.profile.name.clone());
        let again_of = planned.again_of;
        Kept { request, prompt, destination, profile, index, made_from, again_of }
    });
    kept.collect()
}

/// Checks that the pictures can be saved to their targets, so that nothing is billed for a picture
/// that cannot be saved.
pub fn check_targets(context: &Context, planned: &[Planned]) -> Result<(), Failure> {
    let check = |target: &Target| target.check(context.output.json, &context.process().stdout);
    let mut targets = planned.iter().map(|planned| &planned.target);
    // All targets are in one directory, so it is checked once.
    let checked = targets.clone().next().map_or(Ok(()), check);
    let checked = checked.and_then(|()| targets.try_for_each(Target::check_name));
    checked.map_err(Failure::before_payment)
}

/// Whether a place can hold another picture beside the pictures with these names.
fn holds_another(place: &Place, names: &mut HashSet<PathBuf>) -> bool {
    match place {
        Place::Named(_) => true,
        Place::Pattern(pattern) => {
            pattern.template.has_field("id") || names.insert(pattern.shown())
        }
        Place::File(_) | Place::Special(_) | Place::Stdout => false,
    }
}
