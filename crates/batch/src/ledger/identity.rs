//! The identity of a ledger, which differs from that of other ledgers, of copies of its file, and
//! of the same ledger before it lost submissions.

use std::sync::atomic::{AtomicI64, Ordering};

use tokio::sync::Mutex;

use super::{Ledger, database::no_row};
use crate::{
    Error, ErrorKind,
    output::{MarkedNumber, Marker, Output},
};
use imagekiln::{Client, Durations};

/// The number of submissions for which a ledger on a server writes the marker once. A server only
/// loses committed submissions if a backup is restored.
const SERVER_STEP: i64 = 64;

/// The service of a ledger whose tasks are simulated.
const SIMULATOR: &str = "simulator";

/// Writes the number of the ledger's submissions to the marker of an output.
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
    number: Option<MarkedNumber>,
}

impl Marking {
    pub(crate) fn new(output: Output) -> Self {
        Self { output, recorded: AtomicI64::new(0), marked: Mutex::default() }
    }
}

/// The random id of a ledger, the file that it had so far, and the highest number of a submission.
type Identity = (String, Option<String>, i64);

impl Ledger {
    /// Fails with kind [`Foreign`](ErrorKind::Foreign) if this ledger may not know everything that
    /// was paid for: its file was copied, or the output knows another ledger or more submissions.
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

    /// Returns why this ledger may not know everything that was paid for.
    async fn problem(&self, output: &Output) -> Result<Option<String>, Error> {
        // Before the ledger: other workers may submit in between, and write the ledger first.
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

    /// Writes the number of a submission that was recorded to the marker, if the marker has to be
    /// written. Calls that wait for each other write it once.
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
            Some(number) => number.replace(submissions).await?,
            None => false,
        };
        if !is_replaced {
            let (id, ..) = self.identity().await?;
            let number = Marker::write(&marking.output, &id, submissions).await?;
            // The processes of a server write the same number.
            marked.number = number.filter(|_| is_file);
        }
        marked.submissions = Some(submissions);
        Ok(())
    }

    /// Returns the random id of the ledger.
    #[cfg(feature = "postgres")]
    pub(super) async fn id(&self) -> Result<String, Error> {
        Ok(self.identity().await?.0)
    }

    async fn identity(&self) -> Result<Identity, Error> {
        let find = "SELECT id, file, (SELECT COALESCE(MAX(id), 0) FROM submissions)
            FROM identity";
        self.rows(find, []).await?.pop().ok_or_else(no_row)
    }

    /// Returns how long the last tasks of earlier runs took. If another version of the SDK cannot
    /// read them, only the first polls are worse.
    pub(crate) async fn durations(&self) -> Result<Durations, Error> {
        let kept =
            self.rows::<(Option<String>,)>("SELECT durations FROM identity", []).await?.pop();
        let text = kept.and_then(|(text,)| text);
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// Makes the ledger that of a service, if no batch has run. Fails with kind
    /// [`Elsewhere`](ErrorKind::Elsewhere) if it belongs to another one: its tasks would not be
    /// found, and pictures of a simulator would pass for paid ones.
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

    /// Keeps how long the last tasks took, for the next run.
    pub(crate) async fn keep_durations(&self, durations: &Durations) -> Result<(), Error> {
        if durations.is_empty() {
            return Ok(());
        }
        let Ok(text) = serde_json::to_string(durations) else { return Ok(()) };
        self.execute("UPDATE identity SET durations = $1", [(&text).into()]).await.map(drop)
    }

    /// Records the file of the ledger, if the condition holds for the known one.
    pub(super) async fn set_file(&self, condition: &str) -> Result<(), Error> {
        let Some(file) = self.file() else { return Ok(()) };
        let set = format!("UPDATE identity SET file = $1 WHERE {condition}");
        self.execute(set, [(&file).into()]).await.map(drop)
    }

    /// Describes the file of the ledger. A copy has another description, and a file that was
    /// renamed has the same. Numbers of devices are not used if there is a time of creation,
    /// because they may change when the machine starts.
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
