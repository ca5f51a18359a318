//! The progress of fixed changes.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    time::Duration,
};

use indicatif::{InMemoryTerm, ProgressDrawTarget};
use serde_json::Value;
use tokio::time;

use super::{Display, Progress, bars::Bars, events, report_table};
use imagekiln::types::Gen2Pro;
use imagekiln_batch::{Job, JobState, JobStatus, Ledger, Report, ReportRow};

/// The output, shared by the test and the progress.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes only if the terminal shows no bars.
struct AfterBars(InMemoryTerm, Written);

impl Write for AfterBars {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        assert!(!self.0.contents().contains("credits"), "{}", self.0.contents());
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Refuses everything, for example because the disk is full.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Four queued jobs, and the report on them.
async fn queued() -> (Vec<JobStatus>, Report) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("ledger.db")).await.unwrap();
    let jobs = (1..=4).map(|number| {
        Job::new(format!("fox-{number}"), format!("{number}.png"), Gen2Pro::new("a red fox"))
    });
    ledger.add(jobs).await.unwrap();
    (ledger.jobs().await.unwrap(), ledger.report().await.unwrap())
}

/// A job in another state.
fn in_state(job: &JobStatus, state: JobState) -> JobStatus {
    let mut job = job.clone();
    job.state = state;
    job
}

fn saved(job: &JobStatus) -> JobStatus {
    let mut job = in_state(job, JobState::Saved);
    job.task_id = Some(format!("task-of-{}", job.name));
    job.credits = Some(4.5);
    job.location = Some(format!("/pictures/{}", job.target));
    job
}

fn moderated(job: &JobStatus) -> JobStatus {
    let mut job = in_state(job, JobState::Moderated);
    job.reason = Some("Request Moderated\u{1b}[31m".to_owned());
    job.credits = Some(0.0);
    job
}

/// Rows for the states and numbers of jobs. Each of those that are saved cost 4.5 credits.
fn rows(report: &Report, jobs: &[(JobState, u64)]) -> Vec<ReportRow> {
    let row = |&(state, jobs)| {
        let mut row = report.rows()[0].clone();
        (row.state, row.jobs) = (state, jobs);
        row.credits = if state == JobState::Saved { 4.5 * jobs as f64 } else { 0.0 };
        row
    };
    jobs.iter().map(row).collect()
}

fn on(terminal: &InMemoryTerm, rows: &[ReportRow]) -> Display {
    let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
    Display::Bars(Bars::new(target, rows))
}

#[tokio::test]
async fn bars_on_a_terminal() {
    let (jobs, report) = queued().await;
    time::pause();
    let terminal = InMemoryTerm::new(8, 70);
    let written = Written::default();
    let out = AfterBars(terminal.clone(), written.clone());
    let mut progress = Progress::with(on(&terminal, report.rows()), Box::new(out));
    let mut screens = vec![terminal.contents()];
    time::advance(Duration::from_secs(90)).await;
    progress.changed(&saved(&jobs[0]));
    let after = [(JobState::Queued, 2), (JobState::Submitted, 1), (JobState::Saved, 1)];
    progress.update(&rows(&report, &after));
    screens.push(terminal.contents());
    progress.changed(&moderated(&jobs[1]));
    let after = [(JobState::Queued, 2), (JobState::Saved, 1), (JobState::Moderated, 1)];
    progress.update(&rows(&report, &after));
    screens.push(terminal.contents());
    insta::assert_snapshot!("bars", screens.join("\n\n"));
    progress.finish(&report).unwrap();
    let shown = terminal.contents();
    assert_eq!(shown, "fox-2: moderated: Request Moderated [31m", "the bars are removed");
    assert_eq!(written.text(), report_table(&report).text(None) + "\n");
}

#[tokio::test]
async fn the_time_left_does_not_count_jobs_of_earlier_runs() {
    let (_, report) = queued().await;
    time::pause();
    let before = rows(&report, &[(JobState::Queued, 3), (JobState::Saved, 1)]);
    let terminal = InMemoryTerm::new(8, 70);
    let mut progress = Progress::with(on(&terminal, &before), Box::new(Full));
    time::advance(Duration::from_secs(60)).await;
    assert!(!terminal.contents().contains("left"), "{}", terminal.contents());
    progress.update(&rows(&report, &[(JobState::Queued, 2), (JobState::Saved, 2)]));
    let shown = terminal.contents();
    assert!(shown.contains("2/4 jobs, 9.00 credits, 2m left"), "{shown}");
}

#[tokio::test]
async fn lines_elsewhere() {
    let (jobs, report) = queued().await;
    let written = Written::default();
    let mut progress = Progress::with(Display::Lines, Box::new(written.clone()));
    progress.directory = "/pictures".into();
    progress.changed(&in_state(&jobs[0], JobState::Submitting));
    let mut submitted = in_state(&jobs[0], JobState::Submitted);
    submitted.credits = Some(4.5);
    progress.changed(&submitted);
    progress.changed(&in_state(&jobs[0], JobState::Ready));
    progress.changed(&saved(&jobs[0]));
    progress.changed(&moderated(&jobs[1]));
    progress.finish(&report).unwrap();
    insta::assert_snapshot!("lines", written.text());
}

#[tokio::test]
async fn json_lines_for_programs() {
    let (jobs, report) = queued().await;
    let written = Written::default();
    let mut progress = Progress::with(Display::Lines, Box::new(written.clone()));
    progress.json = true;
    progress.changed(&in_state(&jobs[0], JobState::Submitting));
    progress.changed(&saved(&jobs[0]));
    progress.changed(&moderated(&jobs[1]));
    progress.finish(&report).unwrap();
    let text = written.text();
    insta::assert_snapshot!("events", text);
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert!(event["event"].is_string(), "{event}");
    }
}

#[tokio::test]
async fn a_report_for_programs() {
    let (_, report) = queued().await;
    let row = |state, operation: &str, jobs, credits, without_cost| -> ReportRow {
        let mut row = report.rows()[0].clone();
        (row.state, row.operation) = (state, operation.to_owned());
        (row.jobs, row.credits, row.without_cost) = (jobs, credits, without_cost);
        row
    };
    let rows = [
        row(JobState::Saved, "gen-2-flex", 3, 12.0, 0),
        row(JobState::Saved, "gen-2-pro", 7, 31.5, 1),
        row(JobState::Unknown, "gen-2-pro", 1, 0.0, 1),
    ];
    insta::assert_snapshot!("report", format!("{:#}", events::report(&rows)));
}

#[tokio::test]
async fn only_the_report_if_quiet() {
    let (jobs, report) = queued().await;
    let json = format!("{}\n", events::report(report.rows()));
    let table = report_table(&report).text(None) + "\n";
    for (is_json, text) in [(false, table), (true, json)] {
        let written = Written::default();
        let out = Box::new(written.clone());
        let mut progress = Progress::with(Display::Nothing, out);
        progress.json = is_json;
        progress.changed(&saved(&jobs[0]));
        progress.finish(&report).unwrap();
        assert_eq!(written.text(), text);
    }
}

#[tokio::test]
async fn an_output_that_cannot_be_written_fails_at_the_end() {
    let (jobs, report) = queued().await;
    let mut progress = Progress::with(Display::Lines, Box::new(Full));
    progress.changed(&saved(&jobs[0]));
    let failure = progress.finish(&report).unwrap_err();
    assert_eq!(failure.message, "could not write to standard output");
}
