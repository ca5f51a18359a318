//! Reports of a ledger: what its jobs and submissions cost, also in the text format of Prometheus.

use std::fmt::{Display, Write as _};

use imagekiln::text::Credits;

use super::{
    Ledger, LimitStatus,
    jobs::status::state_named,
    limits::{
        active::count_active,
        outage::Outage,
        spending::{SPENDING, Spending, prices},
    },
};
#[cfg(doc)]
use crate::ErrorKind;
use crate::{Error, Prices, Report, ReportRow, Scope, SpendingRow, time};

/// What the jobs and submissions of a ledger cost, from [`Ledger::reports`].
#[derive(Debug, Clone, Copy)]
pub struct Reports<'l> {
    ledger: &'l Ledger,
}

impl Ledger {
    /// Returns the reports of the ledger.
    pub fn reports(&self) -> Reports<'_> {
        Reports { ledger: self }
    }
}

impl Reports<'_> {
    /// Returns the number and the cost of all jobs by state and operation.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn jobs(self) -> Result<Report, Error> {
        type Columns = (String, String, i64, f64, i64, Option<i64>);
        const ROWS: &str = "SELECT j.state, j.operation, COUNT(*),
                COALESCE(SUM(s.cost), CAST(0 AS DOUBLE PRECISION)),
                COUNT(j.submission) - COUNT(s.cost),
                CAST(SUM(CASE WHEN s.cost IS NULL THEN s.pixels ELSE 0 END) AS BIGINT)
            FROM jobs j LEFT JOIN submissions s ON s.id = j.submission
            GROUP BY j.state, j.operation";
        let mut rows: Vec<ReportRow> = self
            .ledger
            .transaction(|database| {
                let prices = prices(database)?;
                let rows = database.rows::<Columns>(ROWS, [])?.into_iter();
                let rows = rows.map(|(state, operation, jobs, credits, unpriced, pixels)| {
                    let (jobs, without_cost) = (jobs.unsigned_abs(), unpriced.unsigned_abs());
                    let state = state_named(state)?;
                    let estimated = estimate(&prices, &operation, without_cost, pixels);
                    Ok(ReportRow { state, operation, jobs, credits, without_cost, estimated })
                });
                rows.collect()
            })
            .await?;
        rows.sort_by(|one, other| {
            (one.state, &one.operation).cmp(&(other.state, &other.operation))
        });
        Ok(Report { rows })
    }

    /// Returns what the submissions of the ledger cost, by day (UTC), group and operation. The sums
    /// include submissions of archived and removed jobs, and submissions without a job. They do not
    /// include submissions that are known not to have been billed.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn spending(self) -> Result<Vec<SpendingRow>, Error> {
        type Columns = (i64, Option<String>, String, i64, f64, i64, Option<i64>);
        const ROWS: &str = "SELECT sent_at / 86400000, group_name, operation, COUNT(*),
                COALESCE(SUM(cost), CAST(0 AS DOUBLE PRECISION)), COUNT(*) - COUNT(cost),
                CAST(SUM(CASE WHEN cost IS NULL THEN pixels ELSE 0 END) AS BIGINT)
            FROM submissions WHERE state <> 'withdrawn'
            GROUP BY 1, 2, 3 ORDER BY 1, COALESCE(group_name, ''), 3";
        self.ledger
            .transaction(|database| {
                let prices = prices(database)?;
                let rows = database.rows::<Columns>(ROWS, [])?.into_iter();
                let rows =
                    rows.map(|(day, group, operation, submissions, credits, unpriced, pixels)| {
                        let without_cost = unpriced.unsigned_abs();
                        let estimated = estimate(&prices, &operation, without_cost, pixels);
                        SpendingRow {
                            day: time::day(day.unsigned_abs()),
                            group,
                            operation,
                            submissions: submissions.unsigned_abs(),
                            credits,
                            without_cost,
                            estimated,
                        }
                    });
                Ok(rows.collect())
            })
            .await
    }

    /// Returns the state of the ledger as metrics in the text format of Prometheus: the jobs by
    /// state and operation, the known and the estimated costs by operation, the limits with what
    /// counts for them, and the active tasks. The content type is `text/plain; version=0.0.4`.
    ///
    /// The metrics contain the names of the groups that have limits.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn metrics(self) -> Result<String, Error> {
        let (report, limits) = (self.jobs().await?, self.ledger.limits().list().await?);
        let outages = self.ledger.limits().outages().await?;
        let (spending, active) = self
            .ledger
            .transaction(|database| {
                let active = count_active(database, false)?;
                let active = active.get(&Scope::Ledger).copied().unwrap_or_default();
                let spending: Vec<Spending> = database.rows(SPENDING, ["".into()])?;
                let prices = prices(database)?;
                let estimated = spending.into_iter().map(|spending| {
                    let price = prices.of(&spending.operation);
                    (spending.reserved(price), spending)
                });
                Ok((estimated.collect::<Vec<_>>(), active))
            })
            .await?;
        Ok(metrics(&report, &spending, (&limits, &outages), active.unsigned_abs()))
    }
}

/// Returns the credits that `without_cost` submissions may cost, whose pictures have `pixels`
/// pixels in total. Returns 0 if the operation has no price.
fn estimate(prices: &Prices, operation: &str, without_cost: u64, pixels: Option<i64>) -> f64 {
    let pixels = pixels.unwrap_or_default().unsigned_abs();
    prices.of(operation).map_or(0.0, |price| price.of_all(without_cost, pixels))
}

fn metrics(
    report: &Report,
    spending: &[(f64, Spending)],
    (limits, outages): (&[LimitStatus], &[Outage]),
    active: u64,
) -> String {
    let mut text = Text::default();
    text.family("jobs", "gauge", "Jobs by state and operation.");
    for row in &report.rows {
        let labels = [("state", row.state.as_str()), ("operation", &row.operation)];
        text.sample("jobs", labels, row.jobs);
    }
    text.family("credits_total", "counter", "Known costs of submissions in credits.");
    for (_, Spending { operation, credits, .. }) in spending {
        text.sample("credits_total", [("operation", operation)], Credits(*credits));
    }
    text.family("estimated_credits", "gauge", "What submissions without a known cost may cost.");
    for (estimated, Spending { operation, .. }) in spending {
        text.sample("estimated_credits", [("operation", operation)], Credits(*estimated));
    }
    text.family("active_tasks", "gauge", "Submissions whose pictures are not saved yet.");
    text.sample("active_tasks", labels(&Scope::Ledger), active);
    let counted = || limits.iter().filter(|limit| limit.scope != Scope::EachGroup);
    for limit in counted().filter(|limit| limit.scope != Scope::Ledger) {
        text.sample("active_tasks", labels(&limit.scope), limit.active);
    }
    text.family("active_tasks_limit", "gauge", "The maximum number of active tasks.");
    for (limit, most) in limits.iter().filter_map(|limit| Some((limit, limit.max_active?))) {
        text.sample("active_tasks_limit", labels(&limit.scope), most);
    }
    text.family("rate_limit", "gauge", "The maximum number of submissions per minute.");
    for (limit, rate) in limits.iter().filter_map(|limit| Some((limit, limit.rate?))) {
        text.sample("rate_limit", labels(&limit.scope), rate);
    }
    text.family("budget_credits", "gauge", "The budget in credits.");
    for (limit, budget) in limits.iter().filter_map(|limit| Some((limit, limit.budget?))) {
        text.sample("budget_credits", labels(&limit.scope), Credits(budget));
    }
    text.family("budget_known_credits", "gauge", "The known costs that count for the budget.");
    for limit in counted().filter(|limit| limit.budget.is_some()) {
        text.sample("budget_known_credits", labels(&limit.scope), Credits(limit.credits));
    }
    text.family("paused", "gauge", "Whether submissions are paused.");
    let is_paused = limits.iter().any(|limit| limit.scope == Scope::Ledger && limit.is_paused);
    text.sample("paused", labels(&Scope::Ledger), u8::from(is_paused));
    for limit in limits.iter().filter(|limit| limit.scope != Scope::Ledger) {
        text.sample("paused", labels(&limit.scope), u8::from(limit.is_paused));
    }
    text.family("outage", "gauge", "Whether the service accepts no submissions.");
    let is_down = outages.iter().any(|outage| outage.scope == Scope::Ledger);
    text.sample("outage", labels(&Scope::Ledger), u8::from(is_down));
    for outage in outages.iter().filter(|outage| outage.scope != Scope::Ledger) {
        text.sample("outage", labels(&outage.scope), 1);
    }
    text.0
}

fn labels(scope: &Scope) -> [(&'static str, &str); 2] {
    let (kind, name) = match scope {
        Scope::EachGroup => ("each_group", ""),
        scope => scope.columns(),
    };
    [("scope", kind), ("name", name)]
}

/// Metrics in the text format. The name of each begins with `imagekiln_batch_`.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP imagekiln_batch_{name} {help}");
        let _ = writeln!(self.0, "# TYPE imagekiln_batch_{name} {kind}");
    }

    fn sample<const N: usize>(
        &mut self,
        name: &str,
        labels: [(&str, &str); N],
        value: impl Display,
    ) {
        let labels = labels.map(|(label, value)| {
            let value = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            format!("{label}=\"{value}\"")
        });
        let _ = writeln!(self.0, "imagekiln_batch_{name}{{{}}} {value}", labels.join(","));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JobState, ReportRow};

    #[test]
    fn metrics_in_the_text_format() {
        let report = Report {
            rows: vec![ReportRow {
                state: JobState::Saved,
                operation: "gen-2-pro".to_owned(),
                jobs: 3,
                credits: 9.0,
                without_cost: 0,
                estimated: 0.0,
            }],
        };
        let spending = Spending {
            operation: "gen-2-pro".to_owned(),
            credits: 9.0,
            without_cost: 2,
            pixels: 0,
            open: 1,
        };
        let spending = [(7.0, spending)];
        let limit = LimitStatus {
            scope: Scope::EachGroup,
            budget: Some(12.5),
            max_active: None,
            rate: None,
            is_paused: false,
            credits: 0.0,
            without_cost: 0,
            active: 0,
        };
        let group = LimitStatus {
            scope: Scope::Group("a \"b\" \\c\nd".to_owned()),
            budget: None,
            max_active: Some(4),
            rate: Some(60),
            is_paused: true,
            active: 2,
            ..limit.clone()
        };
        let text = metrics(&report, &spending, (&[limit, group], &[]), 5);
        let samples: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            samples,
            [
                r#"imagekiln_batch_jobs{state="saved",operation="gen-2-pro"} 3"#,
                r#"imagekiln_batch_credits_total{operation="gen-2-pro"} 9"#,
                r#"imagekiln_batch_estimated_credits{operation="gen-2-pro"} 7"#,
                r#"imagekiln_batch_active_tasks{scope="ledger",name=""} 5"#,
                r#"imagekiln_batch_active_tasks{scope="group",name="a \"b\" \\c\nd"} 2"#,
                r#"imagekiln_batch_active_tasks_limit{scope="group",name="a \"b\" \\c\nd"} 4"#,
                r#"imagekiln_batch_rate_limit{scope="group",name="a \"b\" \\c\nd"} 60"#,
                r#"imagekiln_batch_budget_credits{scope="each_group",name=""} 12.5"#,
                r#"imagekiln_batch_paused{scope="ledger",name=""} 0"#,
                r#"imagekiln_batch_paused{scope="each_group",name=""} 0"#,
                r#"imagekiln_batch_paused{scope="group",name="a \"b\" \\c\nd"} 1"#,
                r#"imagekiln_batch_outage{scope="ledger",name=""} 0"#,
            ]
        );
        let head = "# HELP imagekiln_batch_jobs Jobs by state and operation.\n\
                    # TYPE imagekiln_batch_jobs gauge\n";
        assert!(text.starts_with(head), "{text}");
    }

    #[test]
    fn the_alerts_of_the_book_name_metrics() {
        let page = imagekiln_testbed::page("docs/operations.md");
        let guide = imagekiln_testbed::page("src/guide/observe.md");
        let text = metrics(&Report { rows: Vec::new() }, &[], (&[], &[]), 0);
        let is_part = |letter: char| letter.is_ascii_lowercase() || letter == '_';
        let words = page.split(|letter| !is_part(letter));
        let names: Vec<_> = words.filter_map(|word| word.strip_prefix("imagekiln_")).collect();
        assert!(names.len() > 5, "{names:?}");
        for name in names {
            let client = format!("`imagekiln_{}`", name.strip_suffix("_count").unwrap_or(name));
            let is_metric = text.contains(&format!("# HELP imagekiln_{name} "));
            assert!(is_metric || guide.contains(&client), "imagekiln_{name}");
        }
    }
}
