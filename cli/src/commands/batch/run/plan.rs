//! The plan of a batch, for `--dry-run`.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value, json};

use super::{
    super::place::{Access, Place},
    arguments::{RunOptions, Source},
};
use crate::{
    context::Context,
    failure::Failure,
    process::Process,
    text::{
        sanitize::one_line,
        table::{Table, wrapped},
    },
};
use imagekiln::{Operation, text::counted};
use imagekiln_batch::{KnownJob, files::FileJob};

/// The number of jobs that the plan names.
const MOST_NAMED: usize = 5;

/// What a name may contain that is not known yet.
const LEFT: [(&str, &str); 2] =
    [("{ext}", "the format of the picture"), ("{id}", "the id of its task")];

/// The jobs of a model.
struct Row {
    model: &'static Operation,
    jobs: usize,
    /// The price of each, if it is known.
    price: Option<f64>,
}

/// The jobs that a run would submit.
struct Plan<'a> {
    source: &'a Source,
    rows: Vec<Row>,
    jobs: usize,
    /// The first jobs, with the paths of their pictures below the output.
    first: Vec<(&'a FileJob, String)>,
    /// The number of other jobs of the source, which were submitted before.
    submitted: usize,
    /// Without secrets.
    output: String,
}

/// The facts from the ledger that a plan needs.
#[derive(Default)]
pub struct Known {
    /// The prices by model.
    prices: BTreeMap<String, f64>,
    jobs: HashMap<String, KnownJob>,
}

impl Known {
    /// Reads the ledger, if it exists.
    pub async fn read(process: &Process, place: Option<&Place>) -> Result<Self, Failure> {
        let Some(place) = place else { return Ok(Self::default()) };
        let ledger = place.find(process, Access::Read).await?;
        let Some(ledger) = ledger else { return Ok(Self::default()) };
        Ok(Self { prices: ledger.prices().await?, jobs: ledger.known_jobs().await? })
    }
}

/// Prints the plan for the jobs of a source.
pub fn print(
    context: &Context,
    source: &Source,
    all: &[FileJob],
    known: &Known,
    options: &RunOptions,
) -> Result<(), Failure> {
    let is_new = |job: &&FileJob| known.jobs.get(&job.name).is_none_or(|job| job.is_queued);
    let jobs: Vec<_> = all.iter().filter(is_new).collect();
    let mut last = known.jobs.values().map(|job| job.number).max().unwrap_or_default();
    let mut first = Vec::new();
    for &job in jobs.iter().take(MOST_NAMED) {
        let number = known.jobs.get(&job.name).map(|job| job.number).unwrap_or_else(|| {
            last += 1;
            last
        });
        first.push((job, job.expected_path(number)?));
    }
    let rows = rows(&jobs, |model| known.prices.get(model.name).copied().or(options.price));
    let (submitted, output) = (all.len() - jobs.len(), without_secrets(&options.output));
    let plan = Plan { source, rows, jobs: jobs.len(), first, submitted, output };
    let width = (context.process().stdout.columns)();
    context.output.result(|| wrapped(&for_people(&plan, width), width), || for_programs(&plan))
}

/// The models in the order of their first jobs.
fn rows(jobs: &[&FileJob], price: impl Fn(&Operation) -> Option<f64>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for job in jobs {
        let model = job.request.operation();
        match rows.iter_mut().find(|row| row.model.id == model.id) {
            Some(row) => row.jobs += 1,
            None => rows.push(Row { model, jobs: 1, price: price(model) }),
        }
    }
    rows
}

impl Row {
    fn credits(&self) -> Option<f64> {
        self.price.map(|price| price * self.jobs as f64)
    }
}

/// The total, if all prices are known.
fn total(rows: &[Row]) -> Option<f64> {
    rows.iter().map(Row::credits).sum()
}

fn for_people(plan: &Plan<'_>, width: Option<usize>) -> String {
    let Plan { source, rows, jobs, submitted, .. } = plan;
    let credits = |credits: Option<f64>| match credits {
        Some(credits) => format!("{credits} credits"),
        None => "price not known".to_owned(),
    };
    let (counted_jobs, price) = (counted(*jobs, "job"), credits(total(rows)));
    let mut lines = vec![format!("{counted_jobs} from {source}, {price}; nothing was sent\n")];
    if *submitted > 0 {
        let verb = if *submitted == 1 { "was" } else { "were" };
        let others = counted(*submitted, "other job");
        lines.push(format!("  {others} {verb} submitted in earlier runs\n"));
    }
    let models = rows.iter().map(|row| {
        let jobs = format!("{}, {}", counted(row.jobs, "job"), credits(row.credits()));
        [row.model.name.to_owned(), jobs]
    });
    lines.push(Table::new(models).wrapped(&[0, 1]).indented().text(width));
    if *jobs > 0 {
        lines.extend(pictures(plan, width));
    }
    lines.join("\n").trim_end().to_owned()
}

/// The paths of the pictures of the first jobs.
fn pictures(plan: &Plan<'_>, width: Option<usize>) -> Vec<String> {
    let mut lines = vec![format!("\npictures are saved to {}:\n", plan.output)];
    let names = plan.first.iter().map(|(job, path)| [&job.name, path].map(|text| one_line(text)));
    lines.push(Table::new(names).wrapped(&[0, 1]).indented().text(width));
    if let more @ 1.. = plan.jobs.saturating_sub(MOST_NAMED) {
        lines.push(format!("  and {more} more"));
    }
    let paths: HashSet<_> = plan.first.iter().map(|(_, path)| path).collect();
    if paths.len() < plan.first.len() {
        lines.push(
            "\nof pictures with the same name, all but one get the id of their task, too"
                .to_owned(),
        );
    }
    let is_left = |field: &str| plan.first.iter().any(|(_, path)| path.contains(field));
    let left = LEFT.iter().filter(|(field, _)| is_left(field));
    let left: Vec<_> = left.map(|(field, what)| format!("{field} is {what}")).collect();
    if !left.is_empty() {
        lines.push(format!("\nnot known yet: {}", left.join(", ")));
    }
    lines
}

fn for_programs(plan: &Plan<'_>) -> Value {
    let model =
        |row: &Row| json!({ "model": row.model.name, "jobs": row.jobs, "credits": row.credits() });
    let job = |(job, path): &(&FileJob, String)| {
        json!({
            "line": job.line,
            "name": job.name,
            "model": job.request.model_name(),
            "target": path,
        })
    };
    json!({
        "jobs": plan.jobs,
        "submitted_before": plan.submitted,
        "credits": total(&plan.rows),
        "output": plan.output,
        "models": plan.rows.iter().map(model).collect::<Vec<_>>(),
        "first": plan.first.iter().map(job).collect::<Vec<_>>(),
    })
}

/// The URL of a bucket may contain credentials.
fn without_secrets(output: &str) -> String {
    let Some((scheme, rest)) = output.split_once("://") else { return output.to_owned() };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_printed_without_secrets() {
        for (output, shown) in [
            ("pictures", "pictures"),
            ("a@b?c", "a@b?c"),
            ("s3://bucket/a@b", "s3://bucket/a@b"),
            ("s3://key:sec@ret@bucket", "s3://bucket"),
            ("az://bucket/a?sig=secret#secret", "az://bucket/a"),
        ] {
            assert_eq!(without_secrets(output), shown);
        }
    }
}
