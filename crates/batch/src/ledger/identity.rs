//! The identity of a ledger. A run checks it before it submits jobs, to detect another ledger, a
//! copy of the file, and a ledger that has lost submissions, for example because somebody restored
//! a backup: such a ledger does not know all paid pictures, and would pay for them again.

use std::sync::atomic::{AtomicI64, Ordering};

use tokio::sync::Mutex;

use super::{Ledger, database::no_row};
use crate::{
    Error, ErrorKind,
    output::{Marker, Output, Place},
};
use imagekiln::{Client, Durations};

/// Each process of a ledger on a server writes the marker only once per this many submissions, so
/// the marker lags behind by up to about as many. That is enough, because a server loses committed
/// submissions only if somebody restores a backup.
const SERVER_STEP: i64 = 64;

/// Stands for the URL of the service in a ledger whose tasks are simulated.
const SIMULATOR: &str = "simulator";

/// Writes the number of the ledger's submissions to the marker of an output. If a later run finds a
/// higher number in the marker than in the ledger, the ledger has lost submissions.
pub(crate) struct Marking {
    output: Output,
    /// The highest number of a submission that this process has recorded.
    recorded: AtomicI64,
    marked: Mutex<Marked>,
}

/// What this process has written to the marker.
#[derive(Default)]
struct Marked {
    submissions: Option<i64>,
    /// Where the number is, if it can be replaced in place.
    number: Option<Place>,
}

impl Marking {
    pub(crate) fn new(output: Output) -> Self {
        Self { output, recorded: AtomicI64::new(0), marked: Mutex::default() }
    }
}

/// The random id of a ledger, the file in which it was so far, and the highest number of a
/// submission.
type Identity = (String, Option<String>, i64);

impl Ledger {
    /// Fails with kind [`Foreign`](ErrorKind::Foreign) if pictures may have been paid for that this
    /// ledger does not know: the file of the ledger was copied, another ledger has paid for
    /// pictures at the output, or the marker or the acceptance log contains submissions that the
    /// database lacks.
    pub(crate) async fn check_output(&self, output: &Output) -> Result<(), Error> {
        let lost = self.take_logged().await?;
        let problem = match self.problem(output).await? {
            Some(problem) => problem,
            None if lost.is_empty() => return Ok(()),
            None => {
                format!("has lost submissions: its acceptance log knows {} more", lost.len())
            }
        };
        let message = format!(
            "the ledger {} {problem}; nothing was submitted: adopt the output, or pay again",
            self.name()
        );
        let tasks: Vec<_> = lost.iter().filter_map(|record| record.task().cloned()).collect();
        let billing_unknown = tasks.len() < lost.len();
        Err(Error::new(ErrorKind::Foreign, message).with_unrecorded(tasks, billing_unknown))
    }

    /// Returns why pictures may have been paid for that this ledger does not know.
    async fn problem(&self, output: &Output) -> Result<Option<String>, Error> {
        // Read the marker before the ledger. A worker that submits in between writes the ledger
        // first and then the marker, so its submission cannot look lost.
        let marker = Marker::read(output).await?;
        let (id, known, submissions) = self.identity().await?;
        let here = output.location("");
        if let (Some(known), Some(file)) = (known, self.file())
            && known != file
        {
            let problem = "was copied or moved; the other file may have paid for its jobs";
            return Ok(Some(problem.to_owned()));
        }
        let Some(marker) = marker else { return Ok(None) };
        Ok(match marker.submissions_of(&id) {
            None => Some(format!("has paid for no picture at {here}, but another one has")),
            Some(marked) if marked > submissions => Some(format!(
                "has lost submissions: it contains {submissions}, and the marker at {here} knows \
                 {marked}"
            )),
            Some(_) => None,
        })
    }

    /// Allows the ledger to submit jobs for this output, because a person decided so.
    pub(crate) async fn accept_output(&self, output: &Output) -> Result<(), Error> {
        self.set_file("file IS NOT NULL").await?;
        self.restore_lost(false).await?;
        let (id, _, submissions) = self.identity().await?;
        Marker::write(output, &id, submissions).await.map(drop)
    }

    /// Writes the number of a recorded submission to the marker, unless the marker is recent
    /// enough. Calls that wait for each other share one write.
    pub(super) async fn mark(&self, marking: &Marking, submission: i64) -> Result<(), Error> {
        marking.recorded.fetch_max(submission, Ordering::Relaxed);
        let mut marked = marking.marked.lock().await;
        let is_file = self.0.source.own_file().is_some();
        let step = if is_file { 1 } else { SERVER_STEP };
        if marked.submissions.is_some_and(|marked| submission < marked + step) {
            return Ok(());
        }
        let submissions = marking.recorded.load(Ordering::Relaxed);
        let is_replaced = match &marked.number {
            Some(number) => Marker::replace(number, submissions).await?,
            None => false,
        };
        if !is_replaced {
            let (id, ..) = self.identity().await?;
            let number = Marker::write(&marking.output, &id, submissions).await?;
            // All processes that share a server write the same marker, so this process cannot rely
            // on the place of the number.
            marked.number = number.filter(|_| is_file);
        }
        marked.submissions = Some(submissions);
        Ok(())
    }

    pub(super) async fn identity(&self) -> Result<Identity, Error> {
        let find = "SELECT id, file, (SELECT COALESCE(MAX(id), 0) FROM submissions)
            FROM identity";
        self.rows(find, []).await?.pop().ok_or_else(no_row)
    }

    /// Returns how long the last tasks of earlier runs took, from which the client chooses when to
    /// poll. Durations that this version cannot parse are ignored, because they only make the first
    /// polls less exact.
    pub(crate) async fn durations(&self) -> Result<Durations, Error> {
        let kept =
            self.rows::<(Option<String>,)>("SELECT durations FROM identity", []).await?.pop();
        let text = kept.and_then(|(text,)| text);
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// Binds the ledger to the service of its first batch. Fails with kind
    /// [`Elsewhere`](ErrorKind::Elsewhere) if the ledger belongs to another service: this service
    /// would not find the ledger's tasks, and the placeholders of a simulator would be mistaken for
    /// paid pictures.
    pub(crate) async fn belong_to(&self, client: &Client, is_simulated: bool) -> Result<(), Error> {
        let own = if is_simulated { SIMULATOR } else { client.base_url() };
        let set = "UPDATE identity SET service = COALESCE(service, $1) RETURNING service";
        let (known,): (String,) = self.rows(set, [own.into()]).await?.pop().ok_or_else(no_row)?;
        let is_own =
            |known: &str| !is_simulated && known != SIMULATOR && client.may_use_key_at(known);
        if known == own || is_own(&known) {
            return Ok(());
        }
        let named = |service: &str| match service {
            SIMULATOR => "a simulator, so its pictures are placeholders".to_owned(),
            service => format!("the service {service}"),
        };
        let message = format!(
            "the ledger {} belongs to {}, and this run is for {}; nothing was sent: start another \
             ledger with another output",
            self.name(),
            named(&known),
            if is_simulated { "a simulator" } else { own },
        );
        Err(Error::new(ErrorKind::Elsewhere, message))
    }

    /// Stores how long the last tasks took, for the next run.
    pub(crate) async fn keep_durations(&self, durations: &Durations) -> Result<(), Error> {
        if durations.is_empty() {
            return Ok(());
        }
        let Ok(text) = serde_json::to_string(durations) else { return Ok(()) };
        self.execute("UPDATE identity SET durations = $1", [(&text).into()]).await.map(drop)
    }

    /// Records which file the ledger is in, if `condition` holds for the file that was recorded
    /// before.
    pub(super) async fn set_file(&self, condition: &str) -> Result<(), Error> {
        let Some(file) = self.file() else { return Ok(()) };
        let set = format!("UPDATE identity SET file = $1 WHERE {condition}");
        self.execute(set, [(&file).into()]).await.map(drop)
    }

    /// Describes the file of the ledger by its inode and its time of creation: a copy has another
    /// description, and a renamed file keeps its description. The device number is used only if the
    /// filesystem has no times of creation, because it may change when the machine restarts.
    #[cfg(unix)]
    fn file(&self) -> Option<String> {
        use std::{os::unix::fs::MetadataExt as _, time::UNIX_EPOCH};
        let metadata = std::fs::metadata(self.0.source.own_file()?).ok()?;
        let created = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let (inode, device) = (metadata.ino(), metadata.dev());
        Some(match created {
            Some(created) => format!("{inode} created {}", created.as_nanos()),
            None => format!("{inode} on {device}"),
        })
    }

    #[cfg(not(unix))]
    fn file(&self) -> Option<String> {
        None
    }
}
