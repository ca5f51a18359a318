//! The plan of a batch, for `--dry-run`.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::json;

use super::arguments::{RunOptions, Source};
use crate::{
    context::Context,
    failure::Failure,
    jobfile::FileJob,
    models::SEED,
    text::{Table, one_line, wrapped},
};
use imagekiln::{
    Address,
    text::{Credits, counted},
};
use imagekiln_batch::{JobState, KnownJob, Ledger, Price, Prices};

/// The maximum number of jobs that the plan names.
const MOST_NAMED: usize = 5;

/// The fields that the name of a picture may still contain, because their values are not known
/// before the submission.
const LEFT: [(&str, &str); 3] = [
    ("{date}", "the day of its submission"),
    ("{ext}", "the format of the picture"),
    ("{id}", "the id of its task"),
];

/// The jobs that a run would submit. Programs get this struct as JSON.
#[derive(Serialize)]
struct Plan<'a> {
    #[serde(skip)]
    source: &'a Source,
    #[serde(skip)]
    copies: Option<String>,
    jobs: usize,
    /// The number of jobs of the source that a run would not submit, because they are in the ledger
    /// and no longer queued.
    submitted_before: usize,
    /// The number of queued jobs that only the ledger has. The run would submit them, too.
    queued_before: usize,
    /// The number of different images for which `--upright` makes turned copies.
    upright: usize,
    /// The total price, if all prices are known.
    credits: Option<f64>,
    /// The output, without the credentials that a URL may contain.
    output: String,
    models: Vec<OfModel>,
    first: Vec<First<'a>>,
}

/// The jobs of a model.
#[derive(Serialize)]
struct OfModel {
    model: &'static str,
    jobs: usize,
    /// The price of these jobs, if it is known.
    credits: Option<f64>,
}

/// One of the first jobs.
#[derive(Serialize)]
struct First<'a> {
    line: u64,
    name: &'a str,
    model: String,
    seed: Option<i64>,
    /// The path of the picture below the output.
    target: String,
}

/// The facts from the settings and the ledger that a plan needs.
#[derive(Default)]
pub struct Known {
    prices: Prices,
    jobs: HashMap<String, KnownJob>,
}

impl Known {
    /// Reads the ledger, if it exists, and the prices of the settings.
    pub async fn read(context: &Context, ledger: Option<&Ledger>) -> Result<Self, Failure> {
        let mut known = match ledger {
            Some(ledger) => {
                Self { prices: ledger.limits().prices().await?, jobs: ledger.jobs().known().await? }
            }
            None => Self::default(),
        };
        for (model, price) in context.settings.prices() {
            known.prices.set_default(model, price);
        }
        Ok(known)
    }
}

/// Prints the plan for the jobs of a source.
pub fn print(
    context: &Context,
    (source, all): (&Source, &[FileJob]),
    (upright, copies): (usize, Option<String>),
    known: &Known,
    options: &RunOptions,
) -> Result<(), Failure> {
    let is_new =
        |job: &&FileJob| known.jobs.get(&job.name).is_none_or(|job| job.state == JobState::Queued);
    let jobs: Vec<_> = all.iter().filter(is_new).collect();
    let names: HashSet<_> = all.iter().map(|job| &job.name).collect();
    let is_besides =
        |(name, job): &(&String, &KnownJob)| job.state == JobState::Queued && !names.contains(name);
    let price = |model: &str| known.prices.of_or(model, options.price);
    let models = by_model(&jobs, price);
    let plan = Plan {
        source,
        copies,
        jobs: jobs.len(),
        submitted_before: all.len() - jobs.len(),
        queued_before: known.jobs.iter().filter(is_besides).count(),
        upright,
        credits: models.iter().map(|model| model.credits).sum(),
        // The URL of a bucket may contain credentials.
        output: match &options.places.output {
            url if url.contains("://") => Address::from(url.as_str()).to_string(),
            path => path.clone(),
        },
        first: first(&jobs, known)?,
        models,
    };
    let width = (context.process().stdout.columns)();
    context.output.result(|| wrapped(&for_people(&plan, width), width), || json!(plan))
}

/// Returns the models of the jobs, in the order of their first jobs.
fn by_model(jobs: &[&FileJob], price: impl Fn(&str) -> Option<Price>) -> Vec<OfModel> {
    let mut models: Vec<OfModel> = Vec::new();
    for job in jobs {
        let model = job.request.operation().name;
        let credits = price(model).map(|price| price.of(&job.request));
        match models.iter_mut().find(|other| other.model == model) {
            Some(of_model) => {
                of_model.jobs += 1;
                of_model.credits = of_model.credits.zip(credits).map(|(sum, one)| sum + one);
            }
            None => models.push(OfModel { model, jobs: 1, credits }),
        }
    }
    models
}

fn first<'a>(jobs: &[&'a FileJob], known: &Known) -> Result<Vec<First<'a>>, Failure> {
    let mut last = known.jobs.values().map(|job| job.number).max().unwrap_or_default();
    let mut first = Vec::new();
    for job in jobs.iter().take(MOST_NAMED) {
        let number = known.jobs.get(&job.name).map(|job| job.number).unwrap_or_else(|| {
            last += 1;
            last
        });
        let FileJob { line, name, request, .. } = job;
        let (model, seed) = (request.model_name(), request.integer(SEED));
        first.push(First { line: *line, name, model, seed, target: job.expected_path(number)? });
    }
    Ok(first)
}

fn for_people(plan: &Plan<'_>, width: Option<usize>) -> String {
    let credits = |credits: Option<f64>| match credits {
        Some(credits) => format!("{} credits", Credits(credits)),
        None => "price not known".to_owned(),
    };
    let jobs = counted(plan.jobs, "job");
    let (source, price) = (plan.source, credits(plan.credits));
    let mut lines = vec![format!("{jobs} from {source}, {price}; nothing was sent\n")];
    if plan.submitted_before > 0 {
        let verb = if plan.submitted_before == 1 { "was" } else { "were" };
        let others = counted(plan.submitted_before, "other job");
        lines.push(format!("  {others} {verb} submitted or cancelled before\n"));
    }
    if plan.queued_before > 0 {
        let others = counted(plan.queued_before, "queued job");
        lines.push(format!(
            "  the run also submits {others} of the ledger, at a price not counted\n"
        ));
    }
    if let Some(copies) = &plan.copies {
        lines.push(format!("  {}\n", one_line(copies)));
    }
    let models = plan.models.iter().map(|model| {
        let jobs = format!("{}, {}", counted(model.jobs, "job"), credits(model.credits));
        [model.model.to_owned(), jobs]
    });
    lines.push(Table::new(models).wrapped(&[0, 1]).indented().text(width));
    if plan.jobs > 0 {
        lines.extend(pictures(plan, width));
    }
    lines.join("\n").trim_end().to_owned()
}

/// Returns lines with the paths of the pictures of the first jobs.
fn pictures(plan: &Plan<'_>, width: Option<usize>) -> Vec<String> {
    let mut lines = vec![format!("\npictures are saved to {}:\n", plan.output)];
    let names = plan.first.iter().map(|job| [job.name, &job.target].map(one_line));
    lines.push(Table::new(names).wrapped(&[0, 1]).indented().text(width));
    if let more @ 1.. = plan.jobs.saturating_sub(MOST_NAMED) {
        lines.push(format!("  and {more} more"));
    }
    let paths: HashSet<_> = plan.first.iter().map(|job| &job.target).collect();
    if paths.len() < plan.first.len() {
        lines.push(
            "\nof pictures with the same name, all but one get the id of their task, too"
                .to_owned(),
        );
    }
    let is_left = |field: &str| plan.first.iter().any(|job| job.target.contains(field));
    let left = LEFT.iter().filter(|(field, _)| is_left(field));
    let left: Vec<_> = left.map(|(field, what)| format!("{field} is {what}")).collect();
    if !left.is_empty() {
        lines.push(format!("\nnot known yet: {}", left.join(", ")));
    }
    lines
}
