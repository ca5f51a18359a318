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
pub const TABLES: [(&str, &[Row]); 11] = [
    ("Submissions", SUBMISSION),
    ("Polls", POLL),
    ("Uploads", UPLOAD),
    ("Downloads", DOWNLOAD),
    ("Memory, and 10,000 waiting tasks", WAITING),
    ("Requests", REQUEST),
    ("Webhooks", WEBHOOK),
    ("The batch", BATCH),
    ("kiln", KILN),
    ("The simulator", SIMULATOR),
    ("Sizes", SIZE),
];

const SUBMISSION: &[Row] = &[
    Row::new("rate / reqwest's rate", "submission.against_reqwest")
        .cpu("submission.imagekiln.cpu", "submission.reqwest.cpu")
        .aim(AtLeast(0.8))
        .reason(
            "The additional time goes into the promises. The submission runs in its own task. The \
             request is\nchecked against the contract. Two timers watch for silence. The response \
             is read leniently, and\nchecked for secrets.",
        ),
    Row::new("64 at once with a journal / without one", "submission.64.against_without")
        .cpu("submission.64.journal.cpu", "submission.64.without.cpu")
        .aim(AtLeast(0.5))
        .reason(
            "A journal costs processor time: two records of each submission, the digest of its\n\
             request (5 µs), and two flushes that the submissions of a moment share. While one is\n\
             flushed, all of them wait.",
        ),
];

/// Why polls cost more than those of reqwest with the same checks.
const POLL_REASON: &str = "\
The additional time goes into reading each field by itself, reporting unknown ones, and replacing
stalled connections.";

const POLL: &[Row] = &[
    Row::new("one at a time / reqwest, same checks", "poll.1.against_reqwest_with_checks")
        .cpu("poll.1.imagekiln.cpu", "poll.1.reqwest_with_checks.cpu")
        .aim(AtLeast(0.98))
        .reason(POLL_REASON),
    Row::new("one at a time / bare reqwest", "poll.1.against_reqwest")
        .cpu("poll.1.imagekiln.cpu", "poll.1.reqwest.cpu")
        .aim(AtLeast(0.95)),
    Row::new("one at a time / hyper", "poll.1.against_hyper")
        .cpu("poll.1.imagekiln.cpu", "poll.1.hyper.cpu"),
    Row::new("64 at a time / reqwest, same checks", "poll.64.against_reqwest_with_checks")
        .cpu("poll.64.imagekiln.cpu", "poll.64.reqwest_with_checks.cpu")
        .aim(AtLeast(0.92))
        .reason(POLL_REASON),
    Row::new("64 at a time / bare reqwest", "poll.64.against_reqwest")
        .cpu("poll.64.imagekiln.cpu", "poll.64.reqwest.cpu")
        .aim(AtLeast(0.88)),
    Row::new("64 at a time / hyper", "poll.64.against_hyper")
        .cpu("poll.64.imagekiln.cpu", "poll.64.hyper.cpu"),
    Row::new("HTTP/2, one / reqwest, same checks", "poll_http2.1.against_reqwest_with_checks")
        .cpu("poll_http2.1.imagekiln.cpu", "poll_http2.1.reqwest_with_checks.cpu")
        .aim(AtLeast(0.97))
        .reason(POLL_REASON),
    Row::new("HTTP/2, one / bare reqwest", "poll_http2.1.against_reqwest")
        .cpu("poll_http2.1.imagekiln.cpu", "poll_http2.1.reqwest.cpu"),
    Row::new("HTTP/2, 64 / reqwest, same checks", "poll_http2.64.against_reqwest_with_checks")
        .cpu("poll_http2.64.imagekiln.cpu", "poll_http2.64.reqwest_with_checks.cpu")
        .aim(AtLeast(0.97))
        .reason(POLL_REASON),
    Row::new("HTTP/2, 64 / bare reqwest", "poll_http2.64.against_reqwest")
        .cpu("poll_http2.64.imagekiln.cpu", "poll_http2.64.reqwest.cpu"),
];

const UPLOAD: &[Row] = &[
    Row::new("from memory / ready body", "upload.memory.against_ready_body")
        .cpu("upload.memory.imagekiln.cpu", "upload.memory.ready_body.cpu")
        .aim(AtLeast(0.8))
        .reason(
            "The ready body is encoded already. A client that only encoded 64 MB as base64 would \
             reach about\n0.7, so the aim can't be reached on one core.",
        ),
    Row::new("from files / ready body", "upload.files.against_ready_body")
        .cpu("upload.files.imagekiln.cpu", "upload.files.ready_body.cpu")
        .aim(AtLeast(0.6))
        .reason("Files are read and encoded on another thread, which here has the same core."),
    Row::new("from memory / `serde_json::to_vec`", "upload.memory.against_to_vec")
        .cpu("upload.memory.imagekiln.cpu", "upload.memory.to_vec.cpu"),
    Row::new("time of the base64 encoder alone", "upload.encoder.cpu"),
];

const DOWNLOAD: &[Row] = &[
    Row::new("in memory / discard, then write", "download.memory.against_discard_then_write")
        .cpu("download.memory.imagekiln.cpu", "download.memory.discard_then_write.cpu")
        .aim(AtLeast(1.0)),
    Row::new("in memory / `tokio::fs`, not flushed", "download.memory.against_tokio_fs")
        .cpu("download.memory.imagekiln.cpu", "download.memory.tokio_fs.cpu")
        .aim(AtLeast(1.0)),
    Row::new("on disk / `tokio::fs`, not flushed", "download.disk.against_without_fsync")
        .cpu("download.disk.imagekiln.cpu", "download.disk.without_fsync.cpu"),
    Row::new("on disk / one at a time", "download.disk.against_one_at_a_time")
        .cpu("download.disk.imagekiln.cpu", "download.disk.one_at_a_time.cpu")
        .aim(AtLeast(1.0)),
    Row::new("on disk / write and flush, no download", "download.disk.against_only_fsync")
        .cpu("download.disk.imagekiln.cpu", "download.disk.only_fsync.cpu"),
];

/// Why a waiting task needs more memory than it did, from the sizes of types that the compiler
/// prints (`-Zprint-type-sizes`).
const WAITING_REASON: &str = "\
Of these bytes, 896 are the benchmark's future, of which `wait` has 608; 152 the task's reference;
157 the parsed polling URL, which saves time in each poll; 142 the task's place in the list for
webhooks. The rest are texts and buffers. Resident memory adds what the allocator keeps.";

const WAITING: &[Row] = &[
    Row::new("heap of each task", "waiting.heap_per_task").aim(AtMost(1.2)).reason(WAITING_REASON),
    Row::new("resident memory of each task", "waiting.resident_per_task")
        .aim(AtMost(1.5))
        .reason(WAITING_REASON),
    Row::new("sockets", "waiting.sockets").aim(AtMost(70.0)),
    Row::new("polls per second", "waiting.polls_per_second"),
    Row::new("lateness of polls, 99th percentile", "waiting.lateness_p99"),
    Row::new("CPU time in a minute", "waiting.cpu_per_minute"),
    Row::new("heap of an upload from memory", "upload.memory.heap").aim(AtMost(4.0)),
    Row::new("heap of an upload from files", "upload.files.heap").aim(AtMost(4.0)),
    Row::new("heap of an upload with `serde_json::to_vec`", "upload.to_vec.heap"),
];

const REQUEST: &[Row] = &[
    Row::new("check against the contract / `to_vec`", "request.validate.against_to_vec")
        .cpu("request.validate.imagekiln.cpu", "request.validate.to_vec.cpu"),
    Row::new("the check alone", "request.validate.imagekiln.cpu").aim(AtMost(0.3)),
    Row::new("conversion for sending / `to_vec`", "request.convert.against_to_vec")
        .cpu("request.convert.imagekiln.cpu", "request.convert.to_vec.cpu"),
];

const WEBHOOK: &[Row] = &[
    Row::new("HMAC-SHA256 / bare HMAC and JSON", "webhook.hmac_sha256.against_hmac_and_json"),
    Row::new("two secrets / bare HMAC and JSON", "webhook.two_secrets.against_hmac_and_json"),
    Row::new("Standard Webhooks / bare HMAC and JSON", "webhook.standard.against_hmac_and_json"),
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
