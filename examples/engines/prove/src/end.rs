//! The end of a proof: a person decides about the unknown jobs, and the ledger is compared with
//! what the simulator charged.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    process::Command,
    time::Duration,
};

use anyhow::Result;
use imagekiln_batch::{Filter, JobState, Resolution};
use imagekiln_simulator::TaskView;
use tokio::time::{Instant, sleep};

use crate::{JOBS, KILLS, PATIENCE, Proof};

/// What a person decided.
#[derive(Default)]
struct Decisions {
    with_task: u64,
    not_paid: u64,
}

impl Proof {
    /// Waits until all jobs are saved, and returns what is wrong.
    pub async fn end(&mut self) -> Result<Vec<String>> {
        let mut decisions = Decisions::default();
        let end = Instant::now() + PATIENCE;
        while self.jobs([JobState::Saved]).await?.len() < JOBS as usize && Instant::now() < end {
            self.decide(&mut decisions).await?;
            self.supervise()?;
            sleep(Duration::from_millis(200)).await;
        }
        let mut problems = self.compare(&decisions).await?;
        if let Err(error) = self.fleet.finish().await {
            problems.push(error.to_string());
        }
        Ok(problems)
    }

    /// Decides about the unknown jobs as a person does who compares them with the usage.
    async fn decide(&mut self, decisions: &mut Decisions) -> Result<()> {
        let unknown = self.jobs([JobState::Unknown]).await?;
        if unknown.is_empty() {
            return Ok(());
        }
        // The person waits until no request can be on its way: 15 minutes. All workers that had
        // one are dead.
        let pass = "UPDATE imagekiln.submissions SET hold_until = NULL WHERE hold_until > 0";
        let psql =
            Command::new("psql").arg("--quiet").arg(&self.url).args(["-c", pass]).output()?;
        if !psql.status.success() {
            // A deadlock with the workers, for example. The next call tries again.
            return Ok(());
        }
        let billed = self.billed();
        for job in unknown {
            if let Some([task, ..]) = billed.get(&job.name).map(Vec::as_slice) {
                self.batch.resolve_with_task(&job.name, &task.id).await?;
                decisions.with_task += 1;
            } else {
                self.ledger.jobs().resolve(&job.name, Resolution::NotPaid).await?;
                decisions.not_paid += 1;
            }
        }
        Ok(())
    }

    /// The tasks that the simulator charged, by the name of their job.
    fn billed(&self) -> HashMap<String, Vec<TaskView>> {
        let mut billed = HashMap::<_, Vec<_>>::new();
        for task in self.simulator.tasks() {
            billed.entry(task.prompt.replace(' ', "-")).or_default().push(task);
        }
        billed
    }

    async fn compare(&self, decisions: &Decisions) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        let billed = self.billed();
        let jobs = self.ledger.jobs().list(&Filter::default()).await?;
        let mut states = BTreeMap::<_, u64>::new();
        let (mut saved, mut lost) = (0, 0);
        for job in &jobs {
            *states.entry(job.state.to_string()).or_default() += 1;
            let ids: Vec<_> = billed.get(&job.name).into_iter().flatten().map(|t| &t.id).collect();
            let location = job.location.clone().unwrap_or_default();
            let is_picture = fs::read(location).is_ok_and(|bytes| bytes.starts_with(b"\xff\xd8"));
            let is_saved = job.state == JobState::Saved && is_picture;
            saved += u64::from(is_saved);
            let has_task = job.task_id.as_ref().is_some_and(|id| ids.contains(&id));
            if !ids.is_empty() && (!is_saved || !has_task) {
                lost += 1;
                problems.push(format!("paid for and lost: {}, {}", job.name, job.state));
            }
        }
        let twice: Vec<_> = billed.iter().filter(|(_, tasks)| tasks.len() > 1).collect();
        problems.extend(twice.iter().map(|(name, _)| format!("paid for twice: {name}")));
        if saved != JOBS {
            problems.push(format!("{saved} of {JOBS} jobs are saved: {states:?}"));
        }
        let refused = self.simulator.counts().refused_with(429);
        if refused > 0 {
            problems.push(format!("{refused} submissions above the cap"));
        }
        if self.fleet.kills != KILLS {
            problems.push(format!("{} instead of {KILLS} kills", self.fleet.kills));
        }
        let ends = self.fleet.ends()?;
        let again = |(name, before): &(&String, &u64)| ends.get(*name).is_some_and(|n| n > before);
        let again = self.unrecorded.iter().filter(again).count();
        if again == 0 {
            problems.push("no step was delivered again after its effect".into());
        }
        println!(
            "{}: {JOBS} jobs, {} workers killed, {} nodes killed, {} restarts: {saved} saved, {} \
             paid twice, {lost} lost; {} unknown: {} with a task, {} not paid; {again} of {} \
             steps delivered again after an effect that the queue had not recorded; {} ends of \
             jobs returned; {:.0} s",
            self.engine,
            self.fleet.kills + self.fleet.kills_at_once,
            self.nodes.as_ref().map_or(0, |nodes| nodes.kills),
            self.fleet.restarts,
            twice.len(),
            decisions.with_task + decisions.not_paid,
            decisions.with_task,
            decisions.not_paid,
            self.unrecorded.len(),
            ends.values().sum::<u64>(),
            self.started_at.elapsed().as_secs_f64(),
        );
        Ok(problems)
    }
}
