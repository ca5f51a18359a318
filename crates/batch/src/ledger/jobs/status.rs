//! Reads the status of jobs.

use std::{
    collections::{HashMap, HashSet},
    fs, iter,
    path::Path,
};

use imagekiln::Request;
use imagekiln_label::Description;

use super::Jobs;
use crate::{
    Error, ErrorKind, Filter, JobState, JobStatus,
    description::description,
    ledger::{
        database::{
            Database, FromRow, Row, Value,
            clocks::{of_time, time_of},
        },
        limits::admission::explain,
    },
    output::SavedPicture,
};

/// The maximum number of task ids that one query looks up.
const MOST_TEXTS: usize = 1_000;

/// A job in the result of [`Jobs::known`].
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownJob {
    /// The position of the job in the ledger, starting at 1.
    pub number: u64,
    /// The state of the job, or its last state if the job was archived.
    pub state: JobState,
    /// The [digest](Request::digest) of its request.
    pub request_sha256: String,
    /// Where the picture is; see [`JobStatus::location`].
    pub location: Option<String>,
}

impl Jobs<'_> {
    /// Returns the status of the job with this name.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn get(self, name: &str) -> Result<Option<JobStatus>, Error> {
        let name = Value::from(name);
        let named = move |_: &Database| ("j.name = $1".to_owned(), vec![name.clone()]);
        Ok(self.explained(NO_REQUEST, named).await?.pop().map(|job| job.status))
    }

    /// Returns the status of the jobs that match a filter, in the order in which they were added.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn list(self, filter: &Filter) -> Result<Vec<JobStatus>, Error> {
        self.page(filter, 0, usize::MAX).await
    }

    /// Returns a page of a large [list](Self::list): the next `limit` jobs with a
    /// [number](JobStatus::number) above `after`.
    ///
    /// ```
    /// use imagekiln_batch::{Filter, JobState, Ledger};
    ///
    /// # async fn run(ledger: Ledger) -> Result<(), imagekiln_batch::Error> {
    /// let failed = Filter::states([JobState::Failed, JobState::Unknown]);
    /// let mut last = 0;
    /// loop {
    ///     let page = ledger.jobs().page(&failed, last, 100).await?;
    ///     let Some(end) = page.last() else { break };
    ///     last = end.number;
    ///     for job in page {
    ///         println!("{} {}", job.name, job.state);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    pub async fn page(
        self,
        filter: &Filter,
        after: u64,
        limit: usize,
    ) -> Result<Vec<JobStatus>, Error> {
        let filter = filter.clone();
        let listed = move |database: &Database| page(database, &filter, after, limit);
        let found = self.explained(NO_REQUEST, listed).await?;
        Ok(found.into_iter().map(|job| job.status).collect())
    }

    /// Returns the same jobs as [`page`](Self::page), with their requests, for the pages of `kiln`.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read, or a later version wrote a
    /// request.
    #[doc(hidden)]
    pub async fn page_with_requests(
        self,
        filter: &Filter,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(JobStatus, Request)>, Error> {
        let filter = filter.clone();
        let listed = move |database: &Database| page(database, &filter, after, limit);
        // One query, because a job may change or be removed between two queries.
        let found = self.explained("j.request", listed).await?.into_iter();
        found.map(|job| job.request().map(|request| (job.status, request))).collect()
    }

    /// Reads jobs, and explains which limits hold back those that are queued. `request` is the
    /// column of the requests, or [`NO_REQUEST`].
    async fn explained(
        self,
        request: &'static str,
        condition: impl Fn(&Database) -> (String, Vec<Value>) + Send + 'static,
    ) -> Result<Vec<FoundJob>, Error> {
        self.ledger
            .transaction(move |database| {
                let (condition, values) = condition(database);
                let mut found = database.rows::<FoundJob>(&select(request, &condition), values)?;
                explain(database, found.iter_mut().map(|job| &mut job.status))?;
                Ok(found)
            })
            .await
    }

    /// Returns all jobs by their names, with what a program has to know before it adds more jobs.
    /// [Archived](Self::archive) jobs are included, because the ledger does not submit a job with
    /// the name of an archived one.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    #[doc(hidden)]
    pub async fn known(self) -> Result<HashMap<String, KnownJob>, Error> {
        const JOBS: &str = "SELECT name, number, state, request_sha256, location FROM jobs
            UNION ALL SELECT name, number, state, request_sha256, location FROM archived_jobs";
        type Row = (String, i64, String, String, Option<String>);
        let jobs = self.ledger.rows::<Row>(JOBS, []).await?.into_iter();
        let known = jobs.map(|(name, number, state, request_sha256, location)| {
            let (number, state) = (number.unsigned_abs(), state_named(state)?);
            Ok((name, KnownJob { number, state, request_sha256, location }))
        });
        known.collect()
    }

    /// Returns those of the ids that belong to tasks of this ledger: to current and earlier
    /// submissions, to archived and removed jobs, and to submissions without a job. A program that
    /// passes the ids from the usage report of the service finds the billed tasks that the ledger
    /// does not know: they are the ids that are missing from the result.
    ///
    /// # Errors
    ///
    /// Kind [`Ledger`](ErrorKind::Ledger): the ledger cannot be read.
    #[doc(hidden)]
    pub async fn known_tasks(self, ids: &[String]) -> Result<HashSet<String>, Error> {
        let mut known = HashSet::new();
        for ids in ids.chunks(MOST_TEXTS) {
            let ids = serde_json::Value::from(ids).to_string();
            let find = move |database: &mut Database| {
                let texts = database.elements(1);
                let find = format!("SELECT task_id FROM submissions WHERE task_id IN ({texts})");
                database.rows::<(String,)>(&find, [ids.as_str().into()])
            };
            known.extend(self.ledger.transaction(find).await?.into_iter().map(|(id,)| id));
        }
        Ok(known)
    }

    /// Returns the description of the picture in a file with this digest, as it is beside the saved
    /// picture. Finds the picture by its digest, wherever its file is now. Of several jobs with the
    /// same picture, this is the last one. Reads the records of all saved jobs. Reads the file only
    /// if one of them has the digest, because a user may name any file, however large.
    ///
    /// # Errors
    ///
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be read, or a later version wrote the
    ///   request.
    /// - [`File`](ErrorKind::File): the file cannot be read.
    #[doc(hidden)]
    pub async fn described(self, sha256: &str, file: &Path) -> Result<Option<Description>, Error> {
        let digest = format!("%\"sha256\":\"{sha256}\"%");
        let saved = "j.state = 'saved' AND s.record LIKE $1 ORDER BY j.number DESC LIMIT 1";
        let saved = select("j.request", saved);
        let found = self.ledger.rows::<FoundJob>(saved, [(&digest).into()]).await?.pop();
        let Some(job) = found else { return Ok(None) };
        let message = format!("could not read {}", file.display());
        let content = fs::read(file).map_err(Error::because(ErrorKind::File, message))?;
        let picture = SavedPicture::new(&content, String::new());
        description(&job.status, &job.request()?, &picture).map(Some)
    }
}

/// Returns the condition for a page of jobs `j`, with its values.
pub(super) fn page(
    database: &Database,
    filter: &Filter,
    after: u64,
    limit: usize,
) -> (String, Vec<Value>) {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut values = vec![after.into(), limit.into()];
    let condition = matching(database, filter, "j", &mut values);
    (format!("j.number > $1 AND {condition} ORDER BY j.number LIMIT $2"), values)
}

/// Returns the condition that a row of `table` matches a filter, and adds its values.
pub(in crate::ledger) fn matching(
    database: &Database,
    filter: &Filter,
    table: &str,
    values: &mut Vec<Value>,
) -> String {
    let mut conditions = vec!["TRUE".to_owned()];
    for (column, value) in [("operation", &filter.operation), ("group_name", &filter.group)] {
        if let Some(value) = value {
            values.push(value.into());
            conditions.push(format!("{table}.{column} = ${}", values.len()));
        }
    }
    for (comparison, time) in [(">=", filter.sent_after), ("<", filter.sent_before)] {
        if let Some(time) = time {
            values.push(of_time(time).into());
            let number = values.len();
            conditions.push(format!(
                "EXISTS (SELECT 1 FROM submissions n WHERE n.id = {table}.submission
                    AND n.sent_at {comparison} ${number})"
            ));
        }
    }
    if let Some(names) = &filter.names {
        values.push(serde_json::Value::from(&names[..]).to_string().as_str().into());
        let texts = database.elements(values.len());
        // With an OR of both conditions, a database would read all jobs to find a few. A name is
        // not also the id of another job's task: a program may let others choose the names.
        conditions.push(format!(
            "{table}.id IN (SELECT m.id FROM jobs m WHERE m.name IN ({texts}) UNION
                SELECT m.id FROM jobs m JOIN submissions n ON n.id = m.submission
                WHERE n.task_id IN ({texts})
                    AND NOT EXISTS (SELECT 1 FROM jobs o WHERE o.name = n.task_id))"
        ));
    }
    if let Some(states) = &filter.states {
        let is_in = states.iter().map(|state| format!("{table}.state = '{state}'"));
        let is_in: Vec<_> = iter::once("FALSE".to_owned()).chain(is_in).collect();
        conditions.push(format!("({})", is_in.join(" OR ")));
    }
    conditions.join(" AND ")
}

/// Reads the request of the job with this name.
pub(in crate::ledger) fn read_request(name: &str, request: &str) -> Result<Request, Error> {
    let message = format!("could not read the request of job `{name}`");
    Request::from_json(request).map_err(Error::because(ErrorKind::Ledger, message))
}

/// A job, and its current submission.
pub(in crate::ledger) struct FoundJob {
    pub(in crate::ledger) id: i64,
    /// Its current submission.
    pub(in crate::ledger) submission: Option<i64>,
    /// The only worker that can change it, or the last one.
    pub(in crate::ledger) worker: Option<i64>,
    /// When the job changed, as it is stored.
    pub(in crate::ledger) changed_at: i64,
    pub(in crate::ledger) status: JobStatus,
    /// Its request, if the query has read it.
    pub(in crate::ledger) request: Option<String>,
}

impl FoundJob {
    fn request(&self) -> Result<Request, Error> {
        read_request(&self.status.name, self.request.as_deref().unwrap_or_default())
    }
}

/// Returns the jobs `j` that meet a condition, without their requests.
pub(in crate::ledger) fn find_jobs(
    database: &mut Database,
    condition: &str,
    values: impl IntoIterator<Item = Value>,
) -> Result<Vec<FoundJob>, Error> {
    database.rows(&select(NO_REQUEST, condition), values)
}

/// Returns the query of each [`FoundJob`] that meets a condition. Requests may be large, so an
/// expression says which of them are read.
pub(in crate::ledger) fn select(request: &str, condition: &str) -> String {
    format!(
        "SELECT j.id, j.submission, j.worker, j.name, j.number, j.operation, j.pixels, j.target,
            j.group_name, j.metadata, j.priority, j.state, j.reason, j.location, j.added_at,
            j.ready_at, j.changed_at, s.task_id, s.cost, s.sent_at, s.accepted_at,
            (SELECT COUNT(*) FROM submissions n WHERE n.job = j.id AND n.state <> 'withdrawn')
                AS submissions,
            {request} AS request
         FROM {TABLES} WHERE {condition}"
    )
}

const NO_REQUEST: &str = "CAST(NULL AS TEXT)";

/// A job `j`, and its current submission `s`.
pub(super) const TABLES: &str = "jobs j LEFT JOIN submissions s ON s.id = j.submission";

impl FromRow for FoundJob {
    fn from_row(row: &Row<'_>) -> Result<Self, Error> {
        let changed_at = row.named("changed_at")?;
        let status = JobStatus {
            name: row.named("name")?,
            number: row.named::<i64>("number")?.unsigned_abs(),
            operation: row.named("operation")?,
            pixels: row.named::<i64>("pixels")?.unsigned_abs(),
            target: row.named("target")?,
            group: row.named("group_name")?,
            metadata: metadata(row.named("metadata")?)?,
            priority: row.named("priority")?,
            state: state_named(row.named("state")?)?,
            reason: row.named("reason")?,
            submissions: row.named::<i64>("submissions")?.unsigned_abs(),
            task_id: row.named("task_id")?,
            credits: row.named("cost")?,
            location: row.named("location")?,
            added_at: time_of(row.named("added_at")?),
            sent_at: row.named::<Option<i64>>("sent_at")?.map(time_of),
            submitted_at: row.named::<Option<i64>>("accepted_at")?.map(time_of),
            ready_at: row.named::<Option<i64>>("ready_at")?.map(time_of),
            changed_at: time_of(changed_at),
        };
        Ok(Self {
            id: row.named("id")?,
            submission: row.named("submission")?,
            worker: row.named("worker")?,
            changed_at,
            status,
            request: row.named("request")?,
        })
    }
}

fn metadata(text: Option<String>) -> Result<Option<serde_json::Value>, Error> {
    let read = |text: String| serde_json::from_str(&text);
    text.map(read).transpose().map_err(|error| damaged("the metadata of a job").with_source(error))
}

/// Returns the state with this name. Fails only for a damaged ledger, because the table accepts
/// only known states.
pub(in crate::ledger) fn state_named(name: String) -> Result<JobState, Error> {
    JobState::named(&name).ok_or_else(|| damaged(&format!("the state {name}")))
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::Ledger, format!("could not read {what} in the ledger"))
}
