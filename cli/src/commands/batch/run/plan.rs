//! The plan of a batch, for `--dry-run`.

use serde_json::{Value, json};

use super::arguments::Source;
use crate::{
    context::Context,
    failure::Failure,
    text::{
        sanitize::one_line,
        table::{Table, wrapped},
    },
};
use imagekiln::{Operation, text::counted};
use imagekiln_batch::files::FileJob;

/// The number of jobs that the plan names.
const MOST_NAMED: usize = 5;

/// The jobs of a model.
struct Row {
    model: &'static Operation,
    jobs: usize,
    /// The price of each, if it is known.
    price: Option<f64>,
}

/// The jobs that a run would submit.
pub struct Plan<'a> {
    pub source: &'a Source,
    pub jobs: &'a [FileJob],
    /// The number of other jobs of the source, which were submitted before.
    pub submitted: usize,
    pub output: &'a str,
}

impl Plan<'_> {
    /// Prints the plan. `price` returns the price of a job in credits, if it is known.
    pub fn print(
        &self,
        context: &Context,
        price: impl Fn(&Operation) -> Option<f64>,
    ) -> Result<(), Failure> {
        let rows = rows(self.jobs, price);
        let width = (context.process().stdout.columns)();
        context.output.result(|| for_people(self, &rows, width), || for_programs(self, &rows))
    }
}

/// The models in the order of their first jobs.
fn rows(jobs: &[FileJob], price: impl Fn(&Operation) -> Option<f64>) -> Vec<Row> {
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

fn for_people(plan: &Plan<'_>, rows: &[Row], width: Option<usize>) -> String {
    let Plan { source, jobs, submitted, output } = *plan;
    let credits = |credits: Option<f64>| match credits {
        Some(credits) => format!("{credits} credits"),
        None => "price not known".to_owned(),
    };
    let mut lines = vec![format!(
        "{} from {source}, {}; nothing was sent\n",
        counted(jobs.len(), "job"),
        credits(total(rows))
    )];
    if submitted > 0 {
        lines.push(format!(
            "  {submitted} other {} submitted in earlier runs\n",
            if submitted == 1 { "job was" } else { "jobs were" }
        ));
    }
    let models = rows.iter().map(|row| {
        let jobs = format!("{}, {}", counted(row.jobs, "job"), credits(row.credits()));
        [row.model.name.to_owned(), jobs]
    });
    lines.push(Table::new(models).wrapped(&[0, 1]).indented().text(width));
    if jobs.is_empty() {
        return lines.join("\n").trim_end().to_owned();
    }
    lines.extend(targets(jobs, output, width));
    wrapped(&lines.join("\n"), width)
}

/// The targets of the pictures of the first jobs.
fn targets(jobs: &[FileJob], output: &str, width: Option<usize>) -> Vec<String> {
    let mut lines = vec![format!("\npictures are saved to {}:\n", without_secrets(output))];
    let named = jobs.iter().take(MOST_NAMED);
    let named = named.map(|job| [one_line(&job.name), one_line(&job.target)]);
    lines.push(Table::new(named).wrapped(&[0, 1]).indented().text(width));
    if let more @ 1.. = jobs.len().saturating_sub(MOST_NAMED) {
        lines.push(format!("  and {more} more"));
    }
    lines
}

fn for_programs(plan: &Plan<'_>, rows: &[Row]) -> Value {
    let Plan { jobs, submitted, output, .. } = *plan;
    let model =
        |row: &Row| json!({ "model": row.model.name, "jobs": row.jobs, "credits": row.credits() });
    let job = |job: &FileJob| {
        json!({
            "line": job.line,
            "name": job.name,
            "model": job.request.operation().name,
            "target": job.target,
        })
    };
    json!({
        "jobs": jobs.len(),
        "submitted_before": submitted,
        "credits": total(rows),
        "output": without_secrets(output),
        "models": rows.iter().map(model).collect::<Vec<_>>(),
        "first": jobs.iter().take(MOST_NAMED).map(job).collect::<Vec<_>>(),
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
