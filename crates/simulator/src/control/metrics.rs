//! Shows the counters in the text format of Prometheus.

use std::{fmt::Write as _, time::Duration};

use axum::{
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};

use super::Shared;
use crate::tasks::lateness::Histogram;

/// The media type with the version of the text format.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The upper limits of a histogram's buckets, in milliseconds.
const LIMITS: [u64; 15] =
    [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 3_600_000];

/// The values of a metric. The text of each value follows the name of the metric: a label in
/// braces, or the suffix of a part of a histogram.
type Series = Vec<(String, f64)>;

fn single(count: u64) -> Series {
    vec![(String::new(), count as f64)]
}

/// Creates a series with one value for each value of a label, which must be a number or a name
/// without quotes.
fn by<V: ToString>(label: &str, counts: impl IntoIterator<Item = (V, u64)>) -> Series {
    let labelled = |value: V| format!("{{{label}=\"{}\"}}", value.to_string());
    counts.into_iter().map(|(value, count)| (labelled(value), count as f64)).collect()
}

/// Creates the series of a histogram: the number of delays up to each limit, the sum of the delays,
/// and their number.
fn histogram(delays: &Histogram) -> Series {
    let bucket = |limit: &str, count: u64| (format!("_bucket{{le=\"{limit}\"}}"), count as f64);
    let up_to = |millis: u64| {
        let limit = Duration::from_millis(millis);
        bucket(&limit.as_secs_f64().to_string(), delays.count_up_to(limit))
    };
    let all = delays.count();
    let sum = ("_sum".to_owned(), delays.sum.as_secs_f64());
    let mut series: Series = LIMITS.into_iter().map(up_to).collect();
    series.extend([bucket("+Inf", all), sum, ("_count".to_owned(), all as f64)]);
    series
}

pub(super) async fn show(State(state): Shared) -> Response {
    let counts = state.counts();
    let ended = [("ready", counts.ready), ("failed", counts.failed)];
    let charged = vec![(String::new(), counts.charged.into())];
    let measured = state.records().lateness.clone();
    let mut text = String::new();
    let mut add = |name: &str, help: &str, series: Series| {
        let kind = match name.rsplit('_').next() {
            Some("total") => "counter",
            Some("seconds") => "histogram",
            _ => "gauge",
        };
        let name = format!("imagekiln_simulator_{name}");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (label, value) in series {
            let _ = writeln!(text, "{name}{label} {value}");
        }
    };
    let accepted = single(counts.accepted);
    add("submissions_total", "Accepted submissions; each created a task.", accepted);
    add("credits_charged_total", "Credits charged for accepted submissions.", charged);
    add("active_tasks", "Tasks in progress.", single(counts.active));
    add("tasks_ended_total", "Tasks with a final status.", by("outcome", ended));
    let polls = single(counts.polls);
    add("polls_total", "Polls answered with a status, including Task not found.", polls);
    add("found_seconds", "From Ready to the first poll with it.", histogram(&measured.found));
    add("fetched_seconds", "From Ready to the first download.", histogram(&measured.fetched));
    add("deliveries_total", "Pictures delivered completely.", single(counts.delivered));
    let help = "Rejected requests by status code, without those of faults.";
    add("rejections_total", help, by("status", counts.refused));
    add("faults_total", "Applied faults by name.", by("fault", counts.faults));
    let webhooks = by("state", state.webhooks.counts());
    add("webhooks", "Webhook deliveries in the log by state.", webhooks);
    ([(CONTENT_TYPE, TEXT_FORMAT)], text).into_response()
}
