//! The idempotency keys of a ledger. The name of a job is its key: a picture with this name is paid
//! for once, whether a batch submits it or a client whose journal is the ledger.

use imagekiln::journal::{Intent, Key, Keyed, Record, State};
use serde_json::Value;

use crate::{
    Error, ErrorKind,
    ledger::{
        Ledger,
        database::Database,
        records::{self, SubmissionRow, key_name},
        ticket::Ticket,
    },
};

/// How long a submission without a job may be in flight, in milliseconds: as long as the request of
/// a worker that has lost its lease.
const LONGEST: i64 = 15 * 60 * 1000;

/// A submission with a key: its record, whether it is in flight, the digest of the request of its
/// job, and where its picture is.
type Row = (String, i64, Option<String>, Option<String>);

impl Ledger {
    /// Returns the submission with this key and this number of the attempt, if there is one.
    pub(super) async fn keyed(&self, key: &Key) -> Result<Option<Keyed>, Error> {
        let name = key.name().to_owned();
        let rows = self
            .transaction(move |database| {
                let find = "SELECT s.record, CAST(CASE WHEN j.state = 'submitting'
                        OR s.job IS NULL AND s.sent_at > $2 THEN 1 ELSE 0 END AS BIGINT),
                        COALESCE(j.request_sha256, a.request_sha256),
                        COALESCE(j.location, a.location)
                    FROM submissions s LEFT JOIN jobs j ON j.submission = s.id
                    LEFT JOIN archived_jobs a ON a.name = s.key_name
                    WHERE s.key_name = $1 ORDER BY s.id";
                let since = database.now() - LONGEST;
                database.rows::<Row>(find, [(&name).into(), since.into()])
            })
            .await?;
        let known: Vec<Keyed> = rows.into_iter().map(keyed).collect::<Result<_, _>>()?;
        // A submission that was not billed is not an attempt.
        let mut attempts = known
            .into_iter()
            .filter(|known| known.may_be_billed() && is_of(&known.record, Some(key.service())));
        Ok(attempts.nth(index(key)))
    }
}

fn index(key: &Key) -> usize {
    key.number().saturating_sub(1) as usize
}

/// Whether a submission was sent to this service. Returns `true` if one of the services is not
/// known.
fn is_of(record: &Record, service: Option<&str>) -> bool {
    let own = record.intent().service();
    own.zip(service).is_none_or(|(own, service)| own == service)
}

/// Completes the record of a submission with the fields of its job, because the ledger stores them
/// only once.
fn keyed((record, is_in_use, digest, location): Row) -> Result<Keyed, Error> {
    let mut record: Value = records::read(&record)?;
    if let (Some(Value::Object(intent)), Some(digest)) = (record.get_mut("intent"), digest) {
        intent.insert("request_sha256".to_owned(), digest.into());
    }
    if let (Some(path), Some(location)) = (record.pointer_mut("/state/saved/path"), location) {
        *path = location.into();
    }
    Ok(Keyed { record: records::read(&record.to_string())?, is_in_use: is_in_use > 0 })
}

/// Fails if the key of a submission that is about to be recorded is already taken, because its
/// picture would be paid for twice.
pub(super) fn check(
    database: &mut Database,
    intent: &Intent,
    ticket: Option<&Ticket>,
) -> Result<(), Error> {
    let Some(name) = key_name(intent, ticket.is_some()) else { return Ok(()) };
    let job = ticket.map(|ticket| ticket.job);
    let service = intent.service();
    let known = SubmissionRow::find(database, "s.key_name = $1", [name.into()])?;
    let others = known.iter().filter(|row| {
        let is_other = job.is_none() || row.job != job;
        is_other && *row.record.state() != State::NotBilled && is_of(&row.record, service)
    });
    if others.count() > intent.key().map_or(0, index) {
        let message = format!("the ledger has a submission with the key `{name}`");
        return Err(Error::new(ErrorKind::Job, message));
    }
    let has_job = "SELECT 1 FROM jobs WHERE name = $1";
    if job.is_none() && database.finds(has_job, [name.into()])? {
        let message = format!("the ledger has a job `{name}`, which a batch submits");
        return Err(Error::new(ErrorKind::Job, message));
    }
    Ok(())
}
