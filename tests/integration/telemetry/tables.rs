//! Compares the tables of the guide with what a run against the simulator reports.

use std::collections::{BTreeMap, BTreeSet};

use metrics_exporter_prometheus::PrometheusBuilder;
use tempfile::TempDir;

use crate::{
    operations::{client_of, simulator},
    support::spans::Spans,
};
use imagekiln::types::Gen2Pro;

const PAGE: &str = include_str!("../../../src/guide/observe.md");

/// The rows of the table under a heading, without its head.
fn rows(heading: &str) -> Vec<Vec<&'static str>> {
    let (_, section) = PAGE.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    rows.skip(2).map(|row| row.split('|').map(str::trim).collect()).collect()
}

/// The texts in backticks.
fn codes(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn code(cell: &'static str) -> &'static str {
    codes(cell).next().unwrap()
}

/// Makes a picture with failures on the way, one that is moderated, one that cannot be saved, and
/// one that the service refuses.
async fn run() {
    let simulator = simulator().await;
    let client = client_of(&simulator);
    let directory = TempDir::new().unwrap();
    let fox = |words: &str| Gen2Pro::new(format!("a fox {words}")).width(64).height(64);

    let faults = "[[rate-limited@submission:1x]] [[html-502@poll:1x]] [[html@delivery:1x]]";
    let task = client.submit(fox(faults)).await.unwrap();
    let picture = task.wait().await.unwrap();
    picture.save(directory.path().join("fox.png")).await.unwrap();
    picture.save(directory.path()).await.unwrap_err();
    let task = client.submit(fox("[[content-moderated]]")).await.unwrap();
    task.wait().await.unwrap_err();
    client.submit(fox("[[error-before@submission]]")).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn the_guide_lists_every_span_and_field() {
    let spans = Spans::capture();

    run().await;

    let emitted = spans.all();
    let names: BTreeMap<&str, String> =
        emitted.iter().map(|span| (span.name, span.level.to_string())).collect();
    let listed: BTreeMap<&str, String> =
        rows("Spans").iter().map(|row| (code(row[0]), row[1].to_owned())).collect();
    assert_eq!(names, listed);

    let fields: BTreeSet<(&str, &str)> = emitted
        .iter()
        .flat_map(|span| span.fields.keys().map(|field| (span.name, *field)))
        .collect();
    let listed: BTreeSet<(&str, &str)> = rows("Fields")
        .iter()
        .flat_map(|row| {
            let spans: Vec<&str> = match row[1] {
                "all" => listed.keys().copied().collect(),
                some => codes(some).collect(),
            };
            spans.into_iter().flat_map(|span| codes(row[0]).map(move |field| (span, field)))
        })
        .collect();
    assert_eq!(fields, listed);

    for name in rows("Spans").iter().flat_map(|row| codes(row[2])) {
        let found = emitted.iter().any(|span| span.field("otel.name") == name);
        assert!(found, "no span is named {name}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_guide_lists_every_metric_and_label() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let prometheus = recorder.handle();
    let _guard = ::metrics::set_default_local_recorder(&recorder);

    run().await;

    let page = prometheus.render();
    let mut exported: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for line in page.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        assert!(page.contains(&format!("# HELP {name} ")), "{name} is not described");
        // The exporter shows histograms as summaries.
        let (kind, series) = match kind {
            "summary" => ("histogram", format!("{name}_sum{{")),
            other => (other, format!("{name}{{")),
        };
        let labels = page.lines().filter_map(|line| line.strip_prefix(&series));
        let labels = labels.flat_map(|line| line.split_once('}').unwrap().0.split(','));
        let labels = labels.map(|label| label.split_once('=').unwrap().0).collect();
        exported.insert((name, kind), labels);
    }
    let listed: BTreeMap<_, _> = rows("Metrics")
        .iter()
        .map(|row| ((code(row[0]), row[1]), codes(row[2]).collect()))
        .collect();
    assert_eq!(exported, listed, "{page}");
}
