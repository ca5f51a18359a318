//! Submissions that a ledger has lost, for example because it was restored from a backup, and that
//! are restored from the acceptance log. A job gets its submission back, also if it is added later.

use imagekiln::{
    TaskRef,
    journal::{Record, State, Step},
};

use super::SubmissionRow;
use crate::{
    Error,
    ledger::{database::Database, ticket::Ticket},
};

/// Continues a lost submission with its task. Without one, its job waits for a webhook or a person.
pub(in crate::ledger) fn take_up(
    database: &mut Database,
    lost: &mut SubmissionRow,
    task: Option<&TaskRef>,
) -> Result<(), Error> {
    let step = task.map_or(Step::Lost, |task| Step::Accepted(task.clone()));
    lost.advance(database, &step)?;
    if task.is_some() || lost.job.is_none() {
        return Ok(());
    }
    let ticket = Ticket::of(lost.record.intent());
    let token = ticket.and_then(|ticket| ticket.token);
    let set = "UPDATE submissions SET token = $1 WHERE id = $2";
    database.execute(set, [token.into(), lost.id.into()])?;
    let reason = "the ledger was restored, and nobody knows whether the service accepted the job";
    let wait = "UPDATE jobs SET state = 'unknown', submission = $1, reason = $2, worker = NULL,
        left_after = NULL, changed_at = $3 WHERE id = $4";
    let values = [lost.id.into(), reason.into(), database.now().into(), lost.job.into()];
    database.execute(wait, values)?;
    Ok(())
}

/// Keeps the name of a job that the ledger does not contain as the key of its last lost submission.
/// If somebody adds the job later, the job [gets](give) the submission. Otherwise, it would be paid
/// for a second time.
pub(in crate::ledger) fn keep_name(
    database: &mut Database,
    lost: &SubmissionRow,
    name: &str,
) -> Result<(), Error> {
    let keep = "UPDATE submissions SET key_name = $1 WHERE id = $2
        AND NOT EXISTS (SELECT 1 FROM jobs WHERE name = $1)
        AND NOT EXISTS (SELECT 1 FROM submissions WHERE key_name = $1)";
    database.execute(keep, [name.into(), lost.id.into()])?;
    Ok(())
}

/// Whether the submission was lost, and its name is [kept](keep_name) for a job with this request.
pub(in crate::ledger) fn is_kept_for(row: &SubmissionRow, request_sha256: &str) -> bool {
    let intent = row.record.intent();
    let is_lost = row.job.is_none() && *row.record.state() == State::Settled;
    is_lost && Ticket::of(intent).is_some() && intent.request_sha256() == Some(request_sha256)
}

/// Gives a lost submission to its job, which was added after the submission was restored.
pub(in crate::ledger) fn give(
    database: &mut Database,
    mut lost: SubmissionRow,
) -> Result<(), Error> {
    let intent = lost.record.intent().clone();
    let find = "SELECT id FROM jobs WHERE name = $1 AND state = 'queued' AND submission IS NULL";
    let name = intent.label().unwrap_or_default();
    let Some((job,)) = database.row::<(i64,)>(find, [name.into()])? else { return Ok(()) };
    let set = "UPDATE submissions SET job = $1 WHERE id = $2";
    database.execute(set, [job.into(), lost.id.into()])?;
    lost.job = Some(job);
    let task = lost.record.task().cloned();
    // It was settled only because there was no job.
    lost.record = Record::new(intent);
    take_up(database, &mut lost, task.as_ref())
}
