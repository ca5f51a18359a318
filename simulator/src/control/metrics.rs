//! The counters in the text format of Prometheus.

use std::{fmt::Write as _, sync::Arc};

use axum::{
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};

use crate::state::AppState;

/// The version of the text format.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A metric with its series.
struct Family {
    /// The name without the prefix that all share.
    name: &'static str,
    /// `counter` or `gauge`.
    kind: &'static str,
    help: &'static str,
    series: Vec<Series>,
}

struct Series {
    /// The name and the value of its label. Values are numbers and names without quotes.
    label: Option<(&'static str, String)>,
    value: f64,
}

impl Family {
    fn counter(name: &'static str, help: &'static str, series: Vec<Series>) -> Self {
        Self { name, kind: "counter", help, series }
    }

    fn gauge(name: &'static str, help: &'static str, series: Vec<Series>) -> Self {
        Self { name, kind: "gauge", help, series }
    }
}

fn single(value: f64) -> Vec<Series> {
    vec![Series { label: None, value }]
}

/// One series for each value of a label.
fn by<V: ToString>(label: &'static str, counts: impl IntoIterator<Item = (V, u64)>) -> Vec<Series> {
    let series = counts.into_iter().map(|(value, count)| Series {
        label: Some((label, value.to_string())),
        value: count as f64,
    });
    series.collect()
}

pub(super) async fn show(State(state): State<Arc<AppState>>) -> Response {
    ([(CONTENT_TYPE, TEXT_FORMAT)], text(&families(&state))).into_response()
}

fn families(state: &AppState) -> Vec<Family> {
    let counts = state.counts();
    let ended = [("ready", counts.ready), ("failed", counts.failed)];
    vec![
        Family::counter(
            "submissions_total",
            "Accepted submissions; each created a task.",
            single(counts.accepted as f64),
        ),
        Family::counter(
            "credits_charged_total",
            "Credits charged for accepted submissions.",
            single(counts.charged.hundredths() as f64 / 100.0),
        ),
        Family::gauge("active_tasks", "Tasks in progress.", single(counts.active as f64)),
        Family::counter("tasks_ended_total", "Tasks with a final status.", by("outcome", ended)),
        Family::counter(
            "polls_total",
            "Polls answered with a status, including Task not found.",
            single(counts.polls as f64),
        ),
        Family::counter(
            "deliveries_total",
            "Pictures delivered completely.",
            single(counts.delivered as f64),
        ),
        Family::counter(
            "rejections_total",
            "Rejected requests by status code, without those of faults.",
            by("status", counts.refused),
        ),
        Family::counter("faults_total", "Applied faults by name.", by("fault", counts.faults)),
        Family::gauge(
            "webhooks",
            "Webhook deliveries in the log by state.",
            by("state", state.webhooks.counts()),
        ),
    ]
}

fn text(families: &[Family]) -> String {
    let mut text = String::new();
    for Family { name, kind, help, series } in families {
        let name = format!("imagekiln_simulator_{name}");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for Series { label, value } in series {
            let _ = match label {
                Some((label, of)) => writeln!(text, "{name}{{{label}=\"{of}\"}} {value}"),
                None => writeln!(text, "{name} {value}"),
            };
        }
    }
    text
}
