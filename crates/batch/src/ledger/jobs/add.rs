//! Adds jobs: writes them in chunks to a table that workers do not read, and then makes all of them
//! visible at once.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    mem,
    sync::Arc,
};

use imagekiln::Request;
use imagekiln_label::pixels;

use super::Jobs;
use crate::{
    Error, ErrorKind, Job,
    ledger::{
        database::{Database, Value, is_taken},
        records::{
            SubmissionRow,
            lost::{give, is_kept_for},
        },
    },
    random,
    state::SubmissionState,
};

/// The number of jobs that one transaction writes. Workers can write between two transactions.
const CHUNK: usize = 500;

/// The maximum number of attempts to make jobs visible while other processes add some of them.
const MAX_ATTEMPTS: u32 = 10;

/// After this time in milliseconds, jobs that were staged and never became visible are removed.
const ABANDONED: i64 = 24 * 3600 * 1000;

impl Jobs<'_> {
    /// Adds all of the jobs, or none of them if there is an error. Running workers wait at most for
    /// the last step, which makes the jobs visible.
    ///
    /// A job that the ledger already contains is left as it is, so a program can add the same jobs
    /// each time it starts.
    ///
    /// # Errors
    ///
    /// - [`Job`](ErrorKind::Job): a name is empty, a target is not a path below the output
    ///   directory, another job has the same target, the ledger contains a different job with the
    ///   same name, a client has submitted a request with the name as its
    ///   [key](imagekiln::journal::Key), or a request cannot be stored; see [`Request::to_json`].
    /// - [`Ledger`](ErrorKind::Ledger): the ledger cannot be written.
    pub async fn add(self, jobs: impl IntoIterator<Item = Job>) -> Result<(), Error> {
        let jobs = distinct(jobs)?;
        if jobs.is_empty() {
            return Ok(());
        }
        let addition = i64::from_le_bytes(random()?);
        let added = self.add_in_chunks(addition, jobs).await;
        if added.is_err() {
            let remove = "DELETE FROM staged_jobs WHERE addition = $1";
            if let Err(error) = self.ledger.execute(remove, [addition.into()]).await {
                tracing::debug!(error = error.chain(), "jobs that were not added stay for a day");
            }
        }
        added.map_err(|error| {
            let message = "another process has just added a job with one of the targets";
            if is_taken(&error) { Error::new(ErrorKind::Job, message) } else { error }
        })
    }

    async fn add_in_chunks(self, addition: i64, mut jobs: Vec<StoredJob>) -> Result<(), Error> {
        let (mut first, is_large) = (0, jobs.len() > CHUNK);
        while !jobs.is_empty() {
            let rest = jobs.split_off(jobs.len().min(CHUNK));
            let (chunk, is_last) = (Arc::new(mem::replace(&mut jobs, rest)), jobs.is_empty());
            for attempt in 1.. {
                let chunk = Arc::clone(&chunk);
                let write = move |database: &mut Database| {
                    stage(database, addition, first, &chunk)?;
                    if is_last {
                        publish(database, addition, is_large)?;
                    }
                    Ok(())
                };
                match self.ledger.transaction(write).await {
                    // Another process has just added one of the jobs. The check of the next attempt
                    // finds it.
                    Err(error) if is_taken(&error) && attempt < MAX_ATTEMPTS => {}
                    Err(error) => return Err(error),
                    Ok(()) => break,
                }
            }
            first += CHUNK as i64;
        }
        self.ledger.announce();
        Ok(())
    }
}

/// Returns the jobs without repetitions. Fails if two of them cannot be in the same ledger.
fn distinct(jobs: impl IntoIterator<Item = Job>) -> Result<Vec<StoredJob>, Error> {
    let (mut distinct, mut targets) = (Vec::<StoredJob>::new(), HashSet::new());
    let mut indices = HashMap::new();
    for job in jobs {
        let job = StoredJob::new(job)?;
        match indices.entry(job.name.clone()) {
            Entry::Occupied(index) if distinct.get(*index.get()) == Some(&job) => continue,
            Entry::Occupied(_) => return Err(is_different(&job.name)),
            Entry::Vacant(entry) => entry.insert(distinct.len()),
        };
        if !job.target.contains('{') && !targets.insert(job.target.clone()) {
            return Err(has_taken_target(&job.name, &job.target));
        }
        distinct.push(job);
    }
    Ok(distinct)
}

/// A job in the form of its row.
#[derive(PartialEq)]
struct StoredJob {
    name: String,
    target: String,
    /// The values of the columns of [`stage`], from the name on.
    row: [Value; 9],
}

impl StoredJob {
    fn new(job: Job) -> Result<Self, Error> {
        let target = job.checked_target()?.to_owned();
        let metadata = job.checked_metadata()?;
        let stored = job.request.to_json().and_then(|json| Ok((json, job.request.digest()?)));
        let message = format!("could not store the request of job `{}`", job.name);
        let (request, request_sha256) = stored.map_err(Error::because(ErrorKind::Job, message))?;
        let row = [
            (&job.name).into(),
            (&target).into(),
            job.request.operation().name.into(),
            request.into(),
            request_sha256.into(),
            pixels(&job.request).cast_signed().into(),
            job.group.into(),
            metadata.into(),
            job.priority.into(),
        ];
        Ok(Self { name: job.name, target, row })
    }
}

fn stage(
    database: &mut Database,
    addition: i64,
    first: i64,
    jobs: &[StoredJob],
) -> Result<(), Error> {
    const COLUMNS: usize = 12;
    let now = database.now();
    let row = |row: usize| {
        let places: Vec<_> = (1..=COLUMNS).map(|c| format!("${}", row * COLUMNS + c)).collect();
        format!("({})", places.join(", "))
    };
    let rows: Vec<_> = (0..jobs.len()).map(row).collect();
    let insert = format!(
        "INSERT INTO staged_jobs (addition, position, staged_at, name, target, operation, request,
            request_sha256, pixels, group_name, metadata, priority)
         VALUES {} ON CONFLICT DO NOTHING",
        rows.join(", ")
    );
    let values = jobs.iter().zip(first..).flat_map(|(job, position)| {
        let place = [addition, position, now].map(Value::from);
        place.into_iter().chain(job.row.iter().cloned())
    });
    database.execute(&insert, values)?;
    Ok(())
}

/// The staged jobs that the ledger does not contain.
const NEW: &str = "s.addition = $1 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.name = s.name)
    AND NOT EXISTS (SELECT 1 FROM archived_jobs a WHERE a.name = s.name)";

/// Makes the staged jobs visible. If this runs again after its commit, it changes nothing.
fn publish(database: &mut Database, addition: i64, is_large: bool) -> Result<(), Error> {
    const REMOVE: &str = "DELETE FROM staged_jobs WHERE addition = $1 OR staged_at < $2";
    // Large additions take seconds, and wait for each other. Small ones do not wait for them.
    if is_large {
        database.lock_additions()?;
    }
    let lost = check(database, addition)?;
    let (now, number) = (database.later()?, database.next_number());
    // If another process adds the same jobs at the same time, the statement waits for its commit.
    let publish = format!(
        "INSERT INTO jobs (name, number, target, operation, request, request_sha256, pixels,
            group_name, metadata, priority, state, added_at, changed_at)
         SELECT name, {number}, target, operation, request, request_sha256, pixels,
            group_name, metadata, priority, 'queued', $2, $2
         FROM (SELECT * FROM staged_jobs s WHERE {NEW} ORDER BY position) s
         WHERE TRUE ORDER BY position ON CONFLICT (name) DO NOTHING"
    );
    database.execute(&publish, [addition.into(), now.into()])?;
    lost.into_iter().try_for_each(|lost| give(database, lost))?;
    check(database, addition)?;
    database.execute(REMOVE, [addition.into(), (now - ABANDONED).into()])?;
    Ok(())
}

/// Fails if a staged job conflicts with a job of the ledger. Returns the lost submissions whose
/// jobs are staged.
fn check(database: &mut Database, addition: i64) -> Result<Vec<SubmissionRow>, Error> {
    const SAME_NAMES: &str = "SELECT s.name, s.target, s.request, j.target, j.request,
            CAST(CASE WHEN COALESCE(j.group_name, '') = COALESCE(s.group_name, '') THEN 1 ELSE 0 END
                AS BIGINT)
        FROM staged_jobs s JOIN jobs j ON j.name = s.name
        WHERE s.addition = $1 AND (j.target <> s.target OR j.request <> s.request
            OR COALESCE(j.group_name, '') <> COALESCE(s.group_name, ''))
        ORDER BY s.position";
    const ARCHIVED: &str =
        "SELECT s.name FROM staged_jobs s JOIN archived_jobs a ON a.name = s.name
        WHERE s.addition = $1 AND (a.target <> s.target OR a.request_sha256 <> s.request_sha256)
        ORDER BY s.position LIMIT 1";
    // Not a join: PostgreSQL has no statistics of new tables, and would compare all pairs.
    const SAME_TARGETS: &str = "SELECT s.name, s.target FROM staged_jobs s
        WHERE s.addition = $1 AND (SELECT j.name FROM jobs j
            WHERE j.target = s.target AND j.target NOT LIKE '%{%') <> s.name
        ORDER BY s.position LIMIT 1";
    let taken = database.row::<(String, String)>(SAME_TARGETS, [addition.into()])?;
    if let Some((name, target)) = taken {
        return Err(has_taken_target(&name, &target));
    }
    // The submission of an archived job has no job, but the name as its key. The query below
    // compares such jobs.
    const KEYS: &str = "SELECT s.name, s.request_sha256, k.id, k.state
        FROM staged_jobs s JOIN submissions k ON k.key_name = s.name
        WHERE s.addition = $1 AND k.job IS NULL
            AND NOT EXISTS (SELECT 1 FROM archived_jobs a WHERE a.name = s.name)
        ORDER BY s.position";
    let mut lost = Vec::new();
    for (name, digest, id, state) in
        database.rows::<(String, String, i64, String)>(KEYS, [addition.into()])?
    {
        let known = SubmissionRow::find_one(database, "s.id = $1", id)?;
        match known.filter(|known| is_kept_for(known, &digest)) {
            Some(known) => lost.push(known),
            None if state == SubmissionState::Withdrawn.to_string() => {}
            None => return Err(is_key(&name)),
        }
    }
    type Pair = (String, String, String, String, String, i64);
    for (name, target, request, known_target, known_request, is_same_group) in
        database.rows::<Pair>(SAME_NAMES, [addition.into()])?
    {
        let is_same = is_same_group > 0 && is_same(&request, &known_request);
        if target != known_target || !is_same {
            return Err(is_different(&name));
        }
    }
    match database.row::<(String,)>(ARCHIVED, [addition.into()])? {
        Some((name,)) => Err(is_different(&name)),
        None => Ok(lost),
    }
}

fn is_key(name: &str) -> Error {
    let message =
        format!("`{name}` is the key of a submission without a job; give the job another name");
    Error::new(ErrorKind::Job, message)
}

/// Whether both texts are the same request. The order of their fields may differ.
fn is_same(request: &str, stored: &str) -> bool {
    let read = |text| Request::from_json(text).ok();
    read(request).zip(read(stored)).is_some_and(|(request, stored)| request == stored)
}

fn is_different(name: &str) -> Error {
    let message = format!(
        "job `{name}` is in the ledger with another request, target or group; give it a new name"
    );
    Error::new(ErrorKind::Job, message)
}

fn has_taken_target(name: &str, target: &str) -> Error {
    Error::new(ErrorKind::Job, format!("job `{name}` has the target of another job: {target}"))
}
