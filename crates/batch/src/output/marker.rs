//! The marker at an output, which lists the ledgers that have paid for its pictures.

use serde::{Deserialize, Serialize};

use super::{Output, folder::Place};
use crate::{Error, ErrorKind};

/// The key of the marker. The name makes it a hidden file among the pictures.
const KEY: &str = ".imagekiln-ledger";

const VERSION: u32 = 1;

/// The text that follows the last number, and the width to which this number is padded. Thanks to
/// the padding, a new number can replace the old one without writing the file anew.
const END: &str = "}]}";
const WIDTH: usize = 20;

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
        let location = output.location(KEY);
        let message = format!("could not read {location}; restore it");
        let marker: Self =
            serde_json::from_slice(&bytes).map_err(Error::because(ErrorKind::Foreign, message))?;
        if marker.version > VERSION {
            let message = format!("a later version of this program wrote {location}; update it");
            return Err(Error::new(ErrorKind::Foreign, message));
        }
        Ok(Some(marker))
    }

    /// Returns the highest number of a submission of this ledger, if the marker contains the
    /// ledger.
    pub(crate) fn submissions_of(&self, ledger: &str) -> Option<i64> {
        let known = self.ledgers.iter().find(|known| known.id == ledger);
        known.map(|known| known.submissions)
    }

    /// Adds a ledger to the marker, or updates its number of submissions. Keeps the other ledgers
    /// that use the same output. Returns the place of the number, if the output can replace bytes
    /// in place.
    pub(crate) async fn write(
        output: &Output,
        ledger: &str,
        submissions: i64,
    ) -> Result<Option<Place>, Error> {
        let marker = Self::read(output).await?;
        let mut ledgers = marker.map(|marker| marker.ledgers).unwrap_or_default();
        ledgers.retain(|known| known.id != ledger);
        ledgers.push(Known { id: ledger.to_owned(), submissions });
        let json = serde_json::to_string(&Self { version: VERSION, ledgers })
            .map_err(Error::because(ErrorKind::File, "could not write the marker"))?;
        let before = json.strip_suffix(&format!("{submissions}{END}")).unwrap_or(&json);
        let json = format!("{before}{submissions:>WIDTH$}{END}");
        output.write(KEY, json.as_bytes()).await?;
        let number = before.len()..before.len() + WIDTH;
        output.place(KEY, json.as_bytes(), number).await
    }

    /// Replaces the number of submissions at this place durably. The ledger does this before every
    /// submission, because it is much faster than replacing the file. Returns `false` if another
    /// process has replaced the marker.
    pub(crate) async fn replace(number: &Place, submissions: i64) -> Result<bool, Error> {
        number.write(format!("{submissions:>WIDTH$}").into()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::OutputTarget;

    #[cfg(unix)]
    #[tokio::test]
    async fn numbers_are_replaced_in_place_unless_the_marker_was_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let target = OutputTarget::new(directory.path().to_owned()).unwrap();
        let output = Output::open(&target).await.unwrap();
        let known =
            async |ledger| Marker::read(&output).await.unwrap().unwrap().submissions_of(ledger);
        let place = Marker::write(&output, "one", 7).await.unwrap();
        assert_eq!(known("one").await, Some(7));
        let place = place.unwrap();
        assert!(Marker::replace(&place, 123).await.unwrap());
        assert_eq!(known("one").await, Some(123));
        Marker::write(&output, "other", 5).await.unwrap();
        assert!(!Marker::replace(&place, 124).await.unwrap());
        assert_eq!((known("one").await, known("other").await), (Some(123), Some(5)));
    }
}
