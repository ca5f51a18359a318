//! The marker at an output, which lists the ledgers that have paid for its pictures.

use serde::{Deserialize, Serialize};

use super::Output;
use crate::{Error, ErrorKind};

/// The key of the marker. It is hidden, because the folder contains pictures.
const KEY: &str = ".imagekiln-ledger";

const VERSION: u32 = 1;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Marker {
    version: u32,
    ledgers: Vec<Known>,
}

/// A ledger that has paid for pictures of the output.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Known {
    id: String,
    /// The highest number of a submission.
    submissions: i64,
}

impl Marker {
    /// Returns the marker of an output, or `None` if no ledger has paid for its pictures.
    pub(crate) async fn read(output: &Output) -> Result<Option<Self>, Error> {
        let Some(bytes) = output.read(KEY).await? else { return Ok(None) };
        let marker: Self = serde_json::from_slice(&bytes).map_err(|error| {
            let message = format!("could not read {}; restore it", output.location(KEY));
            Error::new(ErrorKind::Foreign, message).with_source(error)
        })?;
        if marker.version > VERSION {
            let location = output.location(KEY);
            let message = format!("a later version of this program wrote {location}; update it");
            return Err(Error::new(ErrorKind::Foreign, message));
        }
        Ok(Some(marker))
    }

    /// Returns the highest number of a submission of this ledger, if the output knows the ledger.
    pub(crate) fn submissions_of(&self, ledger: &str) -> Option<i64> {
        let known = self.ledgers.iter().find(|known| known.id == ledger);
        known.map(|known| known.submissions)
    }

    /// Adds a ledger, or updates its number of submissions. Other ledgers may use the same output.
    pub(crate) async fn write(
        output: &Output,
        ledger: &str,
        submissions: i64,
    ) -> Result<(), Error> {
        let marker = Self::read(output).await?;
        let mut ledgers = marker.map(|marker| marker.ledgers).unwrap_or_default();
        ledgers.retain(|known| known.id != ledger);
        ledgers.push(Known { id: ledger.to_owned(), submissions });
        let json = serde_json::to_vec(&Self { version: VERSION, ledgers })
            .map_err(Error::because(ErrorKind::File, "could not write the marker"))?;
        output.write(KEY, &json).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::OutputTarget;

    #[tokio::test]
    async fn a_marker_keeps_the_numbers_of_other_ledgers() {
        let directory = tempfile::tempdir().unwrap();
        let target = OutputTarget::new(directory.path().to_owned()).unwrap();
        let output = Output::open(&target).await.unwrap();
        assert!(Marker::read(&output).await.unwrap().is_none());
        for (ledger, submissions) in [("one", 7), ("other", 5), ("one", 123)] {
            Marker::write(&output, ledger, submissions).await.unwrap();
        }
        let marker = Marker::read(&output).await.unwrap().unwrap();
        let known = ["one", "other", "third"].map(|ledger| marker.submissions_of(ledger));
        assert_eq!(known, [Some(123), Some(5), None]);
    }
}
