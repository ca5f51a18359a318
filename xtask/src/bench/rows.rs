//! The rows of the page: its figures, their aims, and the reasons for missing them.

/// The aim of a figure.
#[derive(Clone, Copy)]
pub enum Aim {
    AtLeast(f64),
    AtMost(f64),
}

/// A figure of the page.
pub struct Row {
    pub what: &'static str,
    /// The name of the figure in the output of the benchmark.
    pub figure: &'static str,
    /// The figures with the CPU time of imagekiln and of the baseline, if they are compared.
    pub cpu: Option<[&'static str; 2]>,
    pub aim: Option<Aim>,
    /// A paragraph of the page that says why the figure misses its aim, for when it does.
    pub reason: &'static str,
}

use Aim::{AtLeast, AtMost};

impl Row {
    const fn new(what: &'static str, figure: &'static str) -> Self {
        Self { what, figure, cpu: None, aim: None, reason: "" }
    }

    const fn cpu(mut self, imagekiln: &'static str, baseline: &'static str) -> Self {
        self.cpu = Some([imagekiln, baseline]);
        self
    }

    const fn aim(mut self, aim: Aim) -> Self {
        self.aim = Some(aim);
        self
    }

    const fn reason(mut self, reason: &'static str) -> Self {
        self.reason = reason;
        self
    }
}

/// The sections of the page, and the rows of their tables.
pub const TABLES: [(&str, &[Row]); 9] = [
    ("Submissions", SUBMISSION),
    ("Polls", POLL),
    ("Uploads", UPLOAD),
    ("Downloads", DOWNLOAD),
    ("Memory, and 10,000 waiting tasks", WAITING),
    ("The batch", BATCH),
    ("kiln", KILN),
    ("The simulator", SIMULATOR),
    ("Sizes", SIZE),
];

/// Why a single submission costs more than the same one of reqwest.
const SUBMISSION_REASON: &str = "\
The connection needs half of this time. The rest goes into the promises: the submission runs in its
own task, the request is checked against the contract, two timers watch for silence, and the
response is read leniently, and checked for secrets.";

/// Why a journal does not keep up with a service that responds at once.
const JOURNAL_REASON: &str = "\
A record is a file of its own, so that damage to a file is the loss of one record at most, and a new
file costs more than a line in a log. No service can use the difference: 24 active tasks of half a
second are 48 submissions per second.";

const SUBMISSION: &[Row] = &[
    Row::new("CPU time of a submission", "submission.imagekiln.cpu")
        .aim(AtMost(60.0))
        .reason(SUBMISSION_REASON),
    Row::new("CPU time of a submission, 64 at once", "submission.64.without.cpu")
        .aim(AtMost(60.0))
        .reason(SUBMISSION_REASON),
    Row::new("CPU time of a submission, 64 at once, with a journal", "submission.64.journal.cpu")
        .aim(AtMost(60.0))
        .reason(JOURNAL_REASON),
    Row::new("rate / reqwest's rate", "submission.against_reqwest")
        .cpu("submission.imagekiln.cpu", "submission.reqwest.cpu"),
    Row::new("over TLS / reqwest, which keeps its connection", "submission_tls.against_reqwest")
        .cpu("submission_tls.imagekiln.cpu", "submission_tls.reqwest.cpu"),
    Row::new(
        "over TLS / reqwest without a kept connection",
        "submission_tls.against_reqwest_without_reuse",
    )
    .cpu("submission_tls.imagekiln.cpu", "submission_tls.reqwest_without_reuse.cpu"),
    Row::new("10,000 beside closing connections, unknown outcomes", "idle.imagekiln.unknown")
        .aim(AtMost(0.0)),
    Row::new("the same with reqwest, which keeps connections", "idle.reqwest.unknown"),
    Row::new("64 at once with a journal / without one", "submission.64.against_without")
        .cpu("submission.64.journal.cpu", "submission.64.without.cpu")
        .aim(AtLeast(0.5)),
];

const POLL: &[Row] = &[
    Row::new("CPU time of a poll", "poll.1.imagekiln.cpu").aim(AtMost(60.0)),
    Row::new("CPU time of a poll, 64 at a time", "poll.64.imagekiln.cpu").aim(AtMost(60.0)),
    Row::new("one at a time / reqwest, same checks", "poll.1.against_reqwest_with_checks")
        .cpu("poll.1.imagekiln.cpu", "poll.1.reqwest_with_checks.cpu"),
    Row::new("64 at a time / reqwest, same checks", "poll.64.against_reqwest_with_checks")
        .cpu("poll.64.imagekiln.cpu", "poll.64.reqwest_with_checks.cpu"),
    Row::new("HTTP/2, one / reqwest, same checks", "poll_http2.1.against_reqwest_with_checks")
        .cpu("poll_http2.1.imagekiln.cpu", "poll_http2.1.reqwest_with_checks.cpu"),
    Row::new("HTTP/2, 64 / reqwest, same checks", "poll_http2.64.against_reqwest_with_checks")
        .cpu("poll_http2.64.imagekiln.cpu", "poll_http2.64.reqwest_with_checks.cpu"),
];

const UPLOAD: &[Row] = &[
    Row::new("from files / ready body", "upload.files.against_ready_body")
        .cpu("upload.files.imagekiln.cpu", "upload.files.ready_body.cpu")
        .aim(AtLeast(0.6))
        .reason("Files are read and encoded on another thread, which here has the same core."),
    Row::new("from memory / ready body", "upload.memory.against_ready_body")
        .cpu("upload.memory.imagekiln.cpu", "upload.memory.ready_body.cpu"),
    Row::new("from memory / `serde_json::to_vec`", "upload.memory.against_to_vec")
        .cpu("upload.memory.imagekiln.cpu", "upload.memory.to_vec.cpu"),
    Row::new("time of the base64 encoder alone", "upload.encoder.cpu"),
];

const DOWNLOAD: &[Row] = &[
    Row::new("in memory / discard, then write", "download.memory.against_discard_then_write")
        .cpu("download.memory.imagekiln.cpu", "download.memory.discard_then_write.cpu")
        .aim(AtLeast(0.95)),
    Row::new("in memory / `tokio::fs`, not flushed", "download.memory.against_tokio_fs")
        .cpu("download.memory.imagekiln.cpu", "download.memory.tokio_fs.cpu"),
    Row::new("on disk / `tokio::fs`, not flushed", "download.disk.against_without_fsync")
        .cpu("download.disk.imagekiln.cpu", "download.disk.without_fsync.cpu"),
    Row::new("on disk / one at a time", "download.disk.against_one_at_a_time")
        .cpu("download.disk.imagekiln.cpu", "download.disk.one_at_a_time.cpu")
        .aim(AtLeast(1.0)),
];

const WAITING: &[Row] = &[
    Row::new("heap of each task", "waiting.heap_per_task").aim(AtMost(1.5)),
    Row::new("resident memory of each task", "waiting.resident_per_task"),
    Row::new("sockets", "waiting.sockets").aim(AtMost(70.0)),
    Row::new("polls per second", "waiting.polls_per_second"),
    Row::new("lateness of polls, 99th percentile", "waiting.lateness_p99"),
    Row::new("CPU time in a minute", "waiting.cpu_per_minute"),
    Row::new("heap of an upload from memory", "upload.memory.heap").aim(AtMost(4.0)),
    Row::new("heap of an upload from files", "upload.files.heap").aim(AtMost(4.0)),
    Row::new("heap of an upload with `serde_json::to_vec`", "upload.to_vec.heap"),
];

const CAP_REASON: &str = "\
Over the link, the cap allows 267 jobs per second. One process alone runs more than half of them, so
four can't be 2.5 times as fast.";

const COMMITS_REASON: &str = "\
Jobs that wait at the same time in one process share a transaction. Those of four processes have a
third as many steps. On two cores with colder caches, every function also needs 1.6 times as long.";

const BATCH: &[Row] = &[
    Row::new("flushes of the disk per second", "batch.disk"),
    Row::new("SQLite, one worker / client alone", "batch.sqlite_1.against_client")
        .aim(AtLeast(0.4)),
    Row::new("PostgreSQL, one worker / client alone", "batch.postgres_1.against_client")
        .aim(AtLeast(0.25)),
    Row::new("PostgreSQL, four processes / one", "batch.postgres.4_to_1").aim(AtLeast(1.0)),
    Row::new("the same, CPU time of the processes per job", "batch.postgres.4_to_1.cpu")
        .aim(AtMost(1.2))
        .reason(COMMITS_REASON),
    Row::new("the same, over a link of 1 ms, with tasks of 1 s", "batch.waiting.4_to_1")
        .aim(AtLeast(2.5))
        .reason(CAP_REASON),
    Row::new("SQLite with 100,000 old jobs / without", "batch.old.against_empty").aim(AtLeast(0.9)),
    Row::new("the same, with a budget", "batch.old_budget.against_empty").aim(AtLeast(0.9)),
    Row::new("SQLite file per saved job, without requests, names and paths", "batch.file_per_job")
        .aim(AtMost(1.0)),
    Row::new("report on 100,000 jobs", "batch.old.report").aim(AtMost(0.3)),
    Row::new("run with 100,000 jobs and nothing to do", "batch.old.nothing").aim(AtMost(0.5)),
    Row::new("delay of other jobs while 100,000 are added, SQLite", "batch.adding_sqlite.delay")
        .aim(AtMost(1.0)),
    Row::new("the same, PostgreSQL", "batch.adding_postgres.delay").aim(AtMost(1.0)),
    Row::new("the same, over a link of 1 ms", "batch.adding_linked.delay").aim(AtMost(1.0)),
    Row::new("resident memory with 10,000 active jobs", "batch.resident"),
    Row::new("time to resume 10,000 jobs", "batch.resume"),
];

const KILN: &[Row] = &[
    Row::new("`kiln generate`", "kiln.generate").aim(AtMost(6.0)),
    Row::new("`kiln batch run`", "kiln.batch").aim(AtMost(6.0)),
];

const SIMULATOR: &[Row] = &[
    Row::new("latency, median / constant response", "simulator.p50.against_constant"),
    Row::new("latency, 99th percentile / constant response", "simulator.p99.against_constant")
        .aim(AtMost(4.0)),
    Row::new("time to fetch a picture, median", "simulator.picture.p50"),
    Row::new("time to fetch a picture, 99th percentile", "simulator.picture.p99"),
    Row::new("failed requests", "simulator.failed").aim(AtMost(0.0)),
    Row::new("resident memory, largest", "simulator.resident").aim(AtMost(110.0)),
];

const SIZE_REASON: &str =
    "Three rounds of merging and deleting came this far. Less would cost a documented feature.";

const SIZE: &[Row] = &[
    Row::new("code of the SDK, without blanks, comments and unit tests", "size.src.code")
        .aim(AtMost(11_272.0))
        .reason(SIZE_REASON),
    Row::new("generated code of the SDK", "size.generated").aim(AtMost(8_000.0)),
    Row::new("`simulator/src`", "size.simulator").aim(AtMost(21_000.0)),
    Row::new("`cli/src`", "size.cli").aim(AtMost(13_000.0)).reason(SIZE_REASON),
];
