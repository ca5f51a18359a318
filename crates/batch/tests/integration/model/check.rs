//! The invariants that hold after every step and at the end.

use imagekiln_batch::{JobState, JobStatus, Ledger, Resolution};

use super::{fuse::Fuses, world::World};
use crate::support::{all, assert_equal, is_picture};

impl World {
    pub async fn resolve(&self, ledger: &Ledger) {
        // The processes have ended: their submissions are no longer in flight.
        self.fixture.execute("UPDATE imagekiln.submissions SET hold_until = NULL").await;
        let billed = self.fixture.billed();
        for JobStatus { name, state, .. } in all(ledger).await {
            if state == JobState::Unknown {
                let paid = billed.contains_key(&name);
                let resolution = if paid { Resolution::Paid } else { Resolution::NotPaid };
                ledger.jobs().resolve(&name, resolution).await.unwrap();
            }
        }
    }

    /// Checks the invariants that hold after every step.
    pub fn check(&self) {
        let billed = self.fixture.billed();
        let jobs = self.look(async { all(&self.fixture.ledger().await).await });
        for JobStatus { name, state, location, reason, .. } in jobs {
            match state {
                JobState::Queued => assert!(!billed.contains_key(&name), "job {name} is billed"),
                JobState::Submitted | JobState::Ready => {}
                JobState::Saved => {
                    assert!(is_picture(location.unwrap()), "job {name} has no picture")
                }
                _ => assert!(reason.is_some(), "job {name} is {state} without a reason"),
            }
        }
    }

    /// Runs and resolves until all jobs are final, and compares the totals.
    pub fn finish(&self) {
        let (jobs, report) = self.look(async {
            let ledger = self.fixture.ledger().await;
            let mut batch = self.batch(&Fuses::none(), ledger.clone());
            for _ in 0..2 {
                batch.run().await.unwrap();
                self.resolve(&ledger).await;
            }
            batch.run().await.unwrap();
            (all(&ledger).await, ledger.reports().jobs().await.unwrap())
        });
        let billed = self.fixture.billed();
        // Webhooks and persons do not know the cost.
        let mut unknown = 0.0;
        for JobStatus { name, state, task_id, reason, credits, .. } in &jobs {
            let task = billed.get(name);
            let is_lost = state == &JobState::Failed && task_id.is_none();
            let is_final =
                matches!(state, JobState::Failed | JobState::Moderated | JobState::Expired);
            assert!(is_final || state == &JobState::Saved, "job {name} is {state}");
            assert!(state == &JobState::Saved || reason.is_some(), "job {name} is {state}");
            assert!(is_lost || task_id.as_ref() == task.map(|task| &task.id), "job {name}");
            if credits.is_none() {
                unknown += task.unwrap().cost.hundredths() as f64 / 100.0;
            }
        }
        assert_eq!(jobs.len(), self.faults.len());
        let saved = report.count(JobState::Saved);
        assert_eq!(self.fixture.files(), [saved, saved, 0], "pictures, descriptions, others");
        assert_equal(report.credits() + unknown, self.fixture.charged());
    }
}
