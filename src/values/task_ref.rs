//! References to tasks, and the regions that accepted them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize};

use super::{Address, hash::short_hash};

/// A region of the service, with one of its two base URLs (`servers` in the contract). Only the
/// region that accepted a task knows the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Region {
    /// The global base URL, [`ClientBuilder::base_url`](crate::ClientBuilder::base_url).
    Global,
    /// The regional base URL,
    /// [`ClientBuilder::regional_base_url`](crate::ClientBuilder::regional_base_url). It serves the
    /// operations whose [`Operation::region`](crate::Operation::region) is `Regional`.
    Regional,
}

/// The environment variable for the regional base URL.
pub const REGIONAL_BASE_URL_VARIABLE: &str = "IMAGEKILN_REGIONAL_BASE_URL";

/// A reference to a task: its id, its polling URL, and what is known about its submission.
///
/// A reference implements `Serialize` and `Deserialize`, so another process can resume the task
/// with [`Client::task`](crate::Client::task). The serialized form contains the full polling URL.
/// Anyone with this URL and the API key can fetch the picture.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let line = r#"{"id":"a1","polling_url":"https://api.example.com/v1/get_result?id=a1"}"#;
/// let task: imagekiln::TaskRef = serde_json::from_str(line)?;
/// assert_eq!(task.id(), "a1");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRef {
    id: String,
    polling_url: Address,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_cost")]
    cost: Option<f64>,
    /// Seconds since the Unix epoch, rounded down to milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    submitted_at: Option<f64>,
    /// The id of the submission in the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    submission: Option<String>,
}

// The numbers are never NaN: JSON cannot represent NaN, and `known_cost` rejects it.
impl Eq for TaskRef {}

impl TaskRef {
    /// Creates a reference from its parts. `operation` is a name such as `gen-2-pro`, if known.
    pub fn new(
        id: impl Into<String>,
        polling_url: impl Into<Address>,
        operation: Option<String>,
    ) -> Self {
        Self {
            id: id.into(),
            polling_url: polling_url.into(),
            operation,
            region: None,
            cost: None,
            submitted_at: None,
            submission: None,
        }
    }

    pub(crate) fn in_region(mut self, region: Region) -> Self {
        self.region = Some(region);
        self
    }

    pub(crate) fn with_cost(mut self, credits: Option<f64>) -> Self {
        self.cost = credits.and_then(known_cost);
        self
    }

    /// Adds the cost from another reference to the same task, if this reference has none.
    pub(crate) fn completed_by(self, other: &Self) -> Self {
        if self.cost.is_some() || self.id != other.id {
            return self;
        }
        Self { cost: other.cost, ..self }
    }

    pub(crate) fn submitted(mut self, at: SystemTime) -> Self {
        let since = at.duration_since(UNIX_EPOCH).ok();
        self.submitted_at = since.map(|since| since.as_millis() as f64 / 1000.0);
        self
    }

    /// Removes everything except the id from the query of the polling URL, because the rest may be
    /// a secret signature. Use this for a task that is no longer polled.
    pub(crate) fn without_signature(mut self) -> Self {
        if let Ok(mut url) = self.polling_url.parse() {
            let id =
                url.query_pairs().find(|(name, _)| name == "id").map(|(_, id)| id.into_owned());
            url.set_query(None);
            url.set_fragment(None);
            if let Some(id) = id {
                url.query_pairs_mut().append_pair("id", &id);
            }
            self.polling_url = url.into();
        }
        self
    }

    /// Sets the id of the submission of the task in the [journal](crate::journal): the id of its
    /// [`Intent`](crate::journal::Intent). A store that implements a journal calls this method when
    /// it reads a task that an earlier version has written without this id.
    ///
    /// For `kiln` and the batches.
    #[must_use]
    #[doc(hidden)]
    pub fn of_submission(mut self, id: impl Into<String>) -> Self {
        self.submission = Some(id.into());
        self
    }

    /// Returns the id of the submission in the journal of the client that submitted the task.
    /// `None` if that client had no journal.
    pub fn submission(&self) -> Option<&str> {
        self.submission.as_deref()
    }

    /// Returns the id of the task.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the polling URL of the task.
    pub fn polling_url(&self) -> &Address {
        &self.polling_url
    }

    /// Returns the name of the operation that the task was submitted to, if known. It contains the
    /// values of path parameters, for example `gen-2-klein-9b-kv-finetuned`.
    pub fn operation(&self) -> Option<&str> {
        self.operation.as_deref()
    }

    /// Returns the region that accepted the task, if known.
    pub fn region(&self) -> Option<Region> {
        self.region
    }

    /// Returns the cost of the submission in credits, if the service reported it: a finite number
    /// that is not negative. The client ignores any other cost, with a warning.
    pub fn cost(&self) -> Option<f64> {
        self.cost
    }

    /// Returns when the service accepted the task, by the local clock and with a precision of
    /// milliseconds. `None` if this SDK did not submit the task.
    ///
    /// For `kiln` and the batches.
    #[doc(hidden)]
    pub fn submitted_at(&self) -> Option<SystemTime> {
        UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(self.submitted_at?).ok()?)
    }
}

/// Returns the cost if it is a finite number that is not negative. Any other cost counts as not
/// reported, because it would falsify the sum of the costs of several tasks.
fn known_cost(credits: f64) -> Option<f64> {
    if credits.is_finite() && credits >= 0.0 {
        // The addition converts negative zero to zero.
        return Some(credits + 0.0);
    }
    tracing::warn!(cost = credits, "ignored the cost of a task: it is negative or not finite");
    None
}

fn read_cost<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    Ok(Option::deserialize(from)?.and_then(known_cost))
}

impl TaskRef {
    /// Returns the identity of the task. The id alone does not identify a task: both regions may
    /// use the same id, and a faulty service may return an id twice.
    pub(crate) fn identity(&self) -> (Option<Region>, &str, &str) {
        (self.region(), self.polling_url().reveal(), self.id())
    }

    /// Whether both references are for the same task of one service. This does not compare the
    /// polling URLs, because the URL in a response may differ from the URL that the client builds
    /// from the id.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.region(), self.id()) == (other.region(), other.id())
    }

    /// Returns a short digest of the identity, for the names of files.
    pub(crate) fn digest(&self) -> String {
        let (region, polling_url, id) = self.identity();
        let region = match region {
            None => "",
            Some(Region::Global) => "global",
            Some(Region::Regional) => "regional",
        };
        short_hash(&[region, polling_url, id])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_cost_is_finite_and_not_negative() {
        let task = TaskRef::new("t1", "http://localhost/poll", None);
        let cost = |credits| task.clone().with_cost(Some(credits)).cost().map(f64::to_bits);
        for credits in [-4.0, -1e-9, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(cost(credits), None, "{credits}");
        }
        for (credits, expected) in [(-0.0, 0.0_f64), (0.5, 0.5), (1e308, 1e308)] {
            assert_eq!(cost(credits), Some(expected.to_bits()), "{credits}");
        }
        let stored = |cost| format!(r#"{{"id":"t1","polling_url":"","cost":{cost}}}"#);
        let read = |cost| serde_json::from_str::<TaskRef>(&stored(cost)).unwrap().cost();
        assert_eq!(["-4", "null", "4"].map(read), [None, None, Some(4.0)]);
    }

    #[test]
    fn every_part_of_an_identity_counts() {
        let task = |id, url| TaskRef::new(id, url, None);
        let tasks = [
            task("t1", "http://localhost/poll"),
            task("t1", "http://localhost/poll").in_region(Region::Global),
            task("t1", "http://localhost/poll").in_region(Region::Regional),
            task("t2", "http://localhost/poll"),
            task("t1", "http://localhost/poll?id=2"),
            task("lt1", "http://localhost/pol"),
        ];
        assert_eq!(tasks.iter().map(TaskRef::identity).collect::<HashSet<_>>().len(), tasks.len());
        let digests: HashSet<_> = tasks.iter().map(TaskRef::digest).collect();
        assert_eq!(digests.len(), tasks.len());
        assert!(digests.iter().all(|digest| digest.len() == 16));

        let billed = task("t1", "http://localhost/poll").with_cost(Some(4.0));
        assert_eq!(billed.identity(), tasks[0].identity(), "what a task costs does not count");
    }
}
