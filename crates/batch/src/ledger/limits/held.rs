//! Jobs that a budget holds back.

use super::StoredLimits;
use crate::{
    Error, Scope,
    ledger::{
        Ledger,
        database::{Database, Value},
    },
};

impl Ledger {
    /// Sets the reason of the queued jobs of an operation or a group that a budget holds back: of
    /// the jobs that have no reason yet, whose pictures have at least this many pixels, and that
    /// this worker or nobody has claimed.
    pub(crate) async fn explain_held(
        &self,
        worker: i64,
        scope: Scope,
        pixels: u64,
        reason: String,
    ) -> Result<(), Error> {
        let column = scope.job_column();
        let explain = format!(
            "UPDATE jobs SET reason = $1 WHERE state = 'queued'
                AND (worker IS NULL OR worker = $4)
                AND reason IS NULL AND {column} = $2 AND pixels >= $3"
        );
        let pixels = pixels.cast_signed().into();
        let values = [(&reason).into(), scope.columns().1.into(), pixels, worker.into()];
        self.execute(explain, values).await.map(drop)
    }

    /// Leaves the queued jobs of a group to workers that register later, because the budget of this
    /// many credits is used up. Changes nothing if the budget of the group has changed in the
    /// meantime. Leaves only jobs whose pictures have at least this many pixels: the budget may
    /// still allow smaller ones.
    pub(crate) async fn leave_group(
        &self,
        group: &str,
        credits: f64,
        pixels: u64,
        reason: String,
    ) -> Result<(), Error> {
        let scope = Scope::Group(group.to_owned());
        self.exclusive(move |database| {
            let (now, name) = (database.now(), scope.columns().1);
            let of_group = "scope = 'group' AND name IN ($1, '')";
            let limits = StoredLimits::read(database, of_group, [name.into()])?;
            if limits.of(&scope).budget != Some(credits) {
                return Ok(());
            }
            let leave = "UPDATE jobs SET reason = $1, left_after = (SELECT MAX(id) FROM workers),
                    changed_at = $3
                WHERE group_name = $2 AND state = 'queued' AND worker IS NULL AND pixels >= $4";
            let pixels = pixels.cast_signed().into();
            database.execute(leave, [(&reason).into(), name.into(), now.into(), pixels])?;
            Ok(())
        })
        .await
    }
}

/// Makes jobs claimable for the running workers again that a worker had left to later ones because
/// of a budget.
pub(super) fn free_left(
    database: &mut Database,
    condition: &str,
    values: impl IntoIterator<Item = Value>,
) -> Result<(), Error> {
    let free = format!(
        "UPDATE jobs SET left_after = NULL, reason = NULL
         WHERE state = 'queued' AND worker IS NULL AND left_after IS NOT NULL {condition}"
    );
    database.execute(&free, values)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use imagekiln::types::Gen2Pro;

    use super::*;
    use crate::Job;

    /// A person may raise a budget after it refused a submission, and before the worker has left
    /// the other jobs of the group.
    #[tokio::test]
    async fn a_group_is_left_only_because_of_its_present_budget() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path().join("ledger.db")).await.unwrap();
        let worker = "INSERT INTO workers (name, started_at, lease_until) VALUES ('', 0, 0)";
        let insert = |database: &mut Database| database.execute(worker, []);
        ledger.transaction(insert).await.unwrap();
        ledger
            .jobs()
            .add([Job::new("a", "a.jpg", Gen2Pro::new("a fox")).group("anna")])
            .await
            .unwrap();
        let reason = async || ledger.jobs().get("a").await.unwrap().unwrap().reason;
        let anna = Scope::Group("anna".to_owned());
        ledger.limits().set_budget(Scope::EachGroup, Some(3.0)).await.unwrap();
        ledger.limits().set_budget(anna.clone(), Some(5.0)).await.unwrap();
        ledger.leave_group("anna", 3.0, 0, "an earlier budget".to_owned()).await.unwrap();
        assert_eq!(reason().await, None);
        ledger.limits().set_budget(anna.clone(), None).await.unwrap();
        ledger.leave_group("anna", 3.0, 0, "used up".to_owned()).await.unwrap();
        assert_eq!(reason().await.as_deref(), Some("used up"));
        ledger.limits().pause(anna.clone()).await.unwrap();
        ledger.limits().unpause(anna.clone()).await.unwrap();
        assert_eq!(reason().await.as_deref(), Some("used up"));
        ledger.limits().set_budget(anna, Some(4.0)).await.unwrap();
        assert_eq!(reason().await, None);
    }

    #[tokio::test]
    async fn a_job_that_a_run_has_at_its_end_gets_a_reason() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path().join("ledger.db")).await.unwrap();
        let fox = imagekiln::types::Gen2Pro::new("a red fox");
        ledger.jobs().add([Job::new("fox", "fox.jpg", fox)]).await.unwrap();
        let claim = |database: &mut Database| {
            let worker = "INSERT INTO workers (name, started_at, lease_until) VALUES ('', 0, 0)
                RETURNING id";
            let worker: i64 = database.value(worker, [])?;
            database.execute("UPDATE jobs SET worker = $1", [worker.into()])?;
            Ok(worker)
        };
        let worker = ledger.transaction(claim).await.unwrap();
        let held = Scope::Operation("gen-2-pro".to_owned());
        for (by, expected) in [(worker + 1, None), (worker, Some("used up"))] {
            ledger.explain_held(by, held.clone(), 0, "used up".to_owned()).await.unwrap();
            let reason = ledger.jobs().get("fox").await.unwrap().unwrap().reason;
            assert_eq!(reason.as_deref(), expected);
        }
    }
}
