//! The end of a scenario: the remaining unknown jobs are found or resolved, and the ledger is
//! compared with the simulator.

use std::{collections::HashMap, fs, path::Path};

use imagekiln_batch::{JobState, JobStatus, Ledger, Resolution};
use imagekiln_simulator::TaskView;
use serde_json::Value;

use super::{child::is_lost, scenario::Scenario};
use crate::{
    support::{PRICE, all, assert_equal, is_picture, token},
    webhooks::event,
};

/// The number of tasks that webhooks found after their responses were lost.
pub struct Found {
    pub by_workers: u64,
}

impl Scenario {
    /// Continues until no job is unknown.
    pub async fn settle(&mut self) {
        loop {
            let ledger = self.fixture.ledger().await;
            let unknown = self.settle_once(&ledger).await;
            drop(ledger);
            self.fixture.simulator.faults().clear();
            let child = self.start();
            child.finish().await;
            if unknown == 0 {
                return;
            }
        }
    }

    /// Returns the number of unknown jobs.
    async fn settle_once(&mut self, ledger: &Ledger) -> u64 {
        let billed = self.fixture.billed();
        let batch = self.fixture.batch(ledger);
        let mut unknown = 0;
        for JobStatus { name, .. } in jobs_in(ledger, JobState::Unknown).await {
            unknown += 1;
            let resolution = match billed.get(&name) {
                Some(task) if !is_lost(token(task)) => {
                    // A worker acknowledged the event, and was killed before it handled it.
                    batch.callbacks().receive(token(task), &event(&task.id)).await.unwrap();
                    self.passed_on += 1;
                    continue;
                }
                Some(_) => Resolution::Paid,
                None => Resolution::NotPaid,
            };
            ledger.jobs().resolve(&name, resolution).await.unwrap();
            self.resolved += 1;
        }
        unknown
    }

    /// Compares the ledger, the service and the files, and prints a summary.
    pub async fn compare(self, name: &str) -> Found {
        let ledger = self.fixture.ledger().await;
        let billed = self.fixture.billed();
        let jobs = all(&ledger).await;
        let saved = jobs_in(&ledger, JobState::Saved).await;
        let failed = jobs_in(&ledger, JobState::Failed).await;
        let given_up: Vec<_> = jobs.iter().filter(|job| is_given_up(job, &billed)).collect();
        assert!(given_up.is_empty(), "given up without proof: {given_up:?}");
        assert_eq!((jobs.len(), billed.len()), (self.sizes.jobs as usize, jobs.len()));
        let has_ended = |job: &&JobStatus| matches!(job.state, JobState::Saved | JobState::Failed);
        let left: Vec<_> = jobs.iter().filter(|job| !has_ended(job)).collect();
        assert!(left.is_empty(), "left: {left:?}");
        for job in &failed {
            assert!(is_lost(token(&billed[&job.name])), "{job:?}");
            assert!(job.reason.is_some() && job.task_id.is_none(), "{job:?}");
        }
        for job in &saved {
            assert_eq!(job.task_id.as_ref(), Some(&billed[&job.name].id), "{job:?}");
            assert_described(job);
        }
        let found = saved.iter().filter(|job| job.credits.is_none()).count() as u64;
        let known: f64 = saved.iter().filter_map(|job| job.credits).sum();
        let unknown = PRICE * (found + failed.len() as u64) as f64;
        assert_equal(known + unknown, self.fixture.charged());
        let count = saved.len() as u64;
        let [pictures, descriptions, others] = self.fixture.files();
        let is_expected = pictures == count || self.is_restored && pictures > count;
        assert!(is_expected, "{pictures} pictures of {count} jobs");
        // A picture that a restored ledger does not know may have no description: its process was
        // killed in between, and the job has another picture.
        let least = if self.is_restored { count } else { pictures };
        assert!((least..=pictures).contains(&descriptions), "{descriptions} of {pictures}");
        assert_eq!(others, 0, "other files");
        println!(
            "kill-test {name:<8} {:>5} jobs {:>3} kills {:>3} restarts {count:>5} saved \
             {found:>3} found by webhooks {:>3} resolved {:>3} failed {:>3} given up without proof \
             {:>8.2} credits {:>4} s",
            self.sizes.jobs,
            self.kills,
            self.starts - 1,
            self.resolved,
            failed.len(),
            given_up.len(),
            self.fixture.charged(),
            self.started_at.elapsed().as_secs(),
        );
        Found { by_workers: found - self.passed_on.min(found) }
    }
}

/// Whether a job has ended without its picture, although its task is known and the service has the
/// picture. A person may have given up a job without a task.
fn is_given_up(job: &JobStatus, billed: &HashMap<String, TaskView>) -> bool {
    let has_ended = matches!(job.state, JobState::Failed | JobState::Moderated | JobState::Expired);
    has_ended && job.task_id.is_some() && billed[&job.name].status == "Ready"
}

async fn jobs_in(ledger: &Ledger, state: JobState) -> Vec<JobStatus> {
    let jobs = all(ledger).await;
    jobs.into_iter().filter(|job| job.state == state).collect()
}

/// The picture of a saved job is complete, and the file next to it describes it.
fn assert_described(job: &JobStatus) {
    let location = job.location.as_deref().unwrap();
    assert!(is_picture(location), "{job:?}");
    let description = fs::read(format!("{location}.json")).unwrap();
    let description: Value = serde_json::from_slice(&description).unwrap();
    let size = fs::metadata(Path::new(location)).unwrap().len();
    assert_eq!(description["task_id"].as_str(), job.task_id.as_deref());
    assert_eq!(description["picture"]["bytes"].as_u64(), Some(size));
}
