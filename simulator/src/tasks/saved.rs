//! Tasks in a snapshot. Times are in nanoseconds from the moment of the snapshot, negative if they
//! have passed.

use std::time::Duration;

use axum::body::Bytes;
use serde::{Deserialize, Serialize};

use super::{
    Retention, Task, Tasks,
    logged_request::LoggedRequest,
    outcome::{Directives, Outcome},
    timeline::{Happening, HappeningKind, MAX_HAPPENINGS, Timeline},
};
use crate::{
    billing::{
        accounts::{Accounts, ProjectRef},
        credits::{Credits, Megapixels},
    },
    contract::{Contract, Region},
    faults::{RequestedFaults, SavedFault},
    media::paint::{PictureLimits, SavedPicture},
    values::saved::{
        Base64, RestoreError, Restored, ahead, check_count, check_length, check_text, ensure,
        moment,
    },
};

/// More than the ignored fields of any request.
const MAX_IGNORED: usize = 32;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedTasks {
    /// The numbers of tasks since the start, including those that are no longer kept.
    accepted: u64,
    ready: u64,
    failed: u64,
    pub(crate) kept: Vec<SavedTask>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedTask {
    number: u64,
    id: String,
    organization: String,
    project: String,
    operation: String,
    region: Region,
    /// The text of JSON.
    pub(crate) request: String,
    ignored: Vec<String>,
    pub(crate) picture: SavedPicture,
    images_dropped: bool,
    /// The rendered picture, if it cannot be rendered again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) painted: Option<Base64>,
    outcome: Outcome,
    unknown_status: bool,
    reason: Option<String>,
    faults: Vec<SavedFault>,
    cost: Credits,
    input_mp: Option<Megapixels>,
    output_mp: Megapixels,
    accepted_at: i64,
    final_at: i64,
    polls: u64,
    deliveries: u64,
    timeline: Vec<SavedHappening>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedHappening {
    kind: HappeningKind,
    detail: String,
    count: u64,
    first: i64,
    last: i64,
}

/// What restored tasks refer to.
pub(crate) struct RestoreContext<'a> {
    pub(crate) contract: &'a Contract,
    pub(crate) accounts: &'a Accounts,
    /// The base URLs.
    pub(crate) base: &'a dyn Fn(Region) -> String,
    pub(crate) limits: PictureLimits,
    /// The current Unix time.
    pub(crate) now: Duration,
}

impl SavedTasks {
    /// The tasks at `now`, when they have been settled.
    pub(crate) fn of(tasks: &Tasks, now: Duration) -> Self {
        let kept = tasks.kept.iter().map(|(number, task)| SavedTask::of(*number, task, now));
        let Tasks { accepted, ready, failed, .. } = *tasks;
        Self { accepted, ready, failed, kept: kept.collect() }
    }

    pub(crate) fn restore(
        &self,
        context: &RestoreContext<'_>,
        retention: Retention,
    ) -> Restored<Tasks> {
        self.check_counters()?;
        let mut tasks = Tasks::default();
        for (index, saved) in self.kept.iter().enumerate() {
            let place = |error: RestoreError| error.within(format!("kept[{index}]"));
            let is_next = saved.number >= tasks.accepted && saved.number < self.accepted;
            ensure(is_next, "number", "numbers must be ascending, and below `accepted`")
                .map_err(place)?;
            tasks.accepted = saved.number;
            let task = saved.restore(context).map_err(place)?;
            ensure(tasks.get(&task.id).is_none(), "id", "the id occurs twice").map_err(place)?;
            tasks.insert(task);
        }
        tasks.accepted = self.accepted;
        tasks.settle(context.now, retention);
        (tasks.ready, tasks.failed) = (self.ready, self.failed);
        Ok(tasks)
    }

    fn check_counters(&self) -> Restored {
        check_count(self.accepted, "accepted")?;
        check_count(self.ready, "ready")?;
        check_count(self.failed, "failed")?;
        let (ended, active): (Vec<_>, Vec<_>) =
            self.kept.iter().partition(|task| task.final_at <= 0);
        let ready = ended.iter().filter(|task| task.outcome == Outcome::Ready).count();
        let holds = self.ready >= ready as u64
            && self.failed >= (ended.len() - ready) as u64
            && self.ready + self.failed + active.len() as u64 <= self.accepted;
        let problem = "the tasks are more than the counters `accepted`, `ready` and `failed` say";
        ensure(holds, "accepted", problem)
    }
}

impl Tasks {
    /// Moves the times of all tasks.
    pub(crate) fn delay(&mut self, by: Duration) {
        for task in self.kept.values_mut() {
            task.accepted_at = task.accepted_at.saturating_add(by);
            task.final_at = task.final_at.saturating_add(by);
            task.timeline.delay(by);
        }
        for waiting in self.active.values_mut() {
            let later = std::mem::take(waiting).into_iter();
            *waiting = later.map(|(end, number)| (end.saturating_add(by), number)).collect();
        }
    }
}

impl SavedTask {
    fn of(number: u64, task: &Task, now: Duration) -> Self {
        let Directives { outcome, unknown_status, reason, faults } = &task.directives;
        let painted = task.painted.as_ref().filter(|_| task.images_dropped);
        let happening = |Happening { kind, detail, count, first, last }: &Happening| {
            let (first, last) = (ahead(now, *first), ahead(now, *last));
            SavedHappening { kind: *kind, detail: detail.to_string(), count: *count, first, last }
        };
        Self {
            number,
            id: task.id.clone(),
            organization: task.project.organization.to_string(),
            project: task.project.project.to_string(),
            operation: task.operation.clone(),
            region: task.region,
            request: task.request.json().to_owned(),
            ignored: task.ignored.clone(),
            picture: SavedPicture::of(&task.picture),
            images_dropped: task.images_dropped,
            painted: painted.cloned().map(Base64),
            outcome: *outcome,
            unknown_status: *unknown_status,
            reason: reason.clone(),
            faults: faults.saved(),
            cost: task.cost,
            input_mp: task.input_mp,
            output_mp: task.output_mp,
            accepted_at: ahead(now, task.accepted_at),
            final_at: ahead(now, task.final_at),
            polls: task.polls,
            deliveries: task.deliveries,
            timeline: task.timeline.happenings().iter().map(happening).collect(),
        }
    }

    fn restore(&self, context: &RestoreContext<'_>) -> Restored<Task> {
        ensure(is_task_id(&self.id), "id", "the text is not the id of a task")?;
        let project = ProjectRef {
            organization: self.organization.as_str().into(),
            project: self.project.as_str().into(),
        };
        let problem = "the organization has no project of this id";
        ensure(context.accounts.has_project(&project), "project", problem)?;
        let found = context.contract.submission(&self.operation).ok_or_else(|| {
            RestoreError::new("operation", "the contract has no operation of this name")
        });
        let (operation_id, submission) = found?;
        self.check()?;
        let within = |error: RestoreError| error.within("picture");
        let operation = (self.operation.as_str(), submission.rules.kind);
        let picture = self.picture.restore(operation, &context.limits).map_err(within)?;
        Ok(Task {
            request: LoggedRequest::restore(&self.request, &self.picture.prompt)?,
            operation_id: operation_id.to_owned(),
            base: (context.base)(self.region),
            directives: self.directives()?,
            accepted_at: moment(context.now, self.accepted_at),
            final_at: moment(context.now, self.final_at),
            timeline: self.timeline(context.now)?,
            painted: self.painted.as_ref().map(|Base64(bytes)| bytes.clone()),
            id: self.id.clone(),
            operation: self.operation.clone(),
            ignored: self.ignored.clone(),
            images_dropped: self.images_dropped,
            region: self.region,
            cost: self.cost,
            input_mp: self.input_mp,
            output_mp: self.output_mp,
            polls: self.polls,
            deliveries: self.deliveries,
            project,
            picture,
        })
    }

    fn check(&self) -> Restored {
        let order = self.accepted_at <= 0 && self.accepted_at <= self.final_at;
        ensure(order, "accepted_at", "a task is accepted before the snapshot, and before it ends")?;
        check_count(self.polls, "polls")?;
        check_count(self.deliveries, "deliveries")?;
        check_length(self.ignored.len(), MAX_IGNORED, "ignored")?;
        self.ignored.iter().try_for_each(|name| check_text(name, "ignored"))?;
        let problem = "a picture is only contained if the images of the request were dropped";
        ensure(self.painted.is_none() || self.images_dropped, "painted", problem)?;
        let problem = "the images were dropped, but the picture has some";
        ensure(!(self.images_dropped && self.picture.has_images()), "images_dropped", problem)
    }

    /// The picture, and the file in which it is contained.
    pub(crate) fn rendered(&self) -> Option<(&SavedPicture, &Bytes)> {
        let Base64(file) = self.painted.as_ref()?;
        Some((&self.picture, file))
    }

    fn directives(&self) -> Restored<Directives> {
        self.reason.iter().try_for_each(|reason| check_text(reason, "reason"))?;
        Ok(Directives {
            outcome: self.outcome,
            unknown_status: self.unknown_status,
            reason: self.reason.clone(),
            faults: RequestedFaults::restore(&self.faults)?,
        })
    }

    fn timeline(&self, now: Duration) -> Restored<Timeline> {
        check_length(self.timeline.len(), MAX_HAPPENINGS, "timeline")?;
        let happenings = self.timeline.iter().map(|saved| {
            check_text(&saved.detail, "timeline")?;
            check_count(saved.count, "timeline")?;
            Ok(Happening {
                kind: saved.kind,
                detail: saved.detail.as_str().into(),
                count: saved.count,
                first: moment(now, saved.first),
                last: moment(now, saved.last),
            })
        });
        Ok(Timeline::of(happenings.collect::<Restored<_>>()?))
    }
}

/// Whether a text has the form of a UUID in lower case.
pub(crate) fn is_task_id(text: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    let fits = |(at, byte): (usize, u8)| {
        if dashes.contains(&at) {
            byte == b'-'
        } else {
            byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
        }
    };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}
