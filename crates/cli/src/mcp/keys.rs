//! The keys of calls. The same call always has the same key, so a repeated call never pays twice,
//! whoever repeats it and whatever has failed before.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::failure::Failure;
use imagekiln::{
    Client, Request,
    journal::{Record, State},
};
use imagekiln_label::{describe_request, sha256};

/// The prefix of the keys of calls. It distinguishes them from the keys that people choose.
const PREFIX: &str = "agent/";

/// The number of characters of a digest in a key.
const LENGTH: usize = 24;

/// What a call asks for, besides the number of its attempt.
pub struct Call {
    /// Everything that the key depends on, as JSON.
    asked: Value,
}

/// A key, and the record of the submission with it.
pub struct Known {
    pub key: String,
    pub record: Option<Record>,
    /// Whether the same call was made before, with this key or with an earlier one.
    was_made: bool,
}

impl Call {
    /// Returns the call for a request with a profile in a folder. The API key makes no difference,
    /// because accounts replace their keys; the result of a call says if another API key has paid.
    /// `files` returns the digests of images. `urls` are the URLs of the request, because its
    /// stored form lacks their queries.
    pub fn new(
        (service, profile, folder): (&str, &str, &str),
        request: &Request,
        (files, urls): (impl Fn(&std::path::Path) -> Value, &[String]),
    ) -> Result<Self, Failure> {
        let request = describe_request(request, files)?;
        let asked = json!([service, profile, folder, request, urls]);
        Ok(Self { asked })
    }

    /// Returns the key of an attempt, and its submission. If the submission has ended and is older
    /// than `same_for`, the call counts as a new one and gets the next key.
    pub async fn known(
        &self,
        client: &Client,
        attempt: u32,
        (same_for, now): (Duration, SystemTime),
    ) -> Result<Known, Failure> {
        let digest = sha256(json!([self.asked, attempt]).to_string().as_bytes());
        let name = format!("{PREFIX}{}", digest.get(..LENGTH).unwrap_or_default());
        let mut key = name.clone();
        for generation in 2_u64.. {
            let was_made = generation > 2;
            let record = client.attempts(&key).await?.pop();
            let record = record.filter(|record| *record.state() != State::NotBilled);
            let is_old = |record: &Record| {
                let age = now.duration_since(record.intent().at()).unwrap_or_default();
                record.state().is_closed() && age >= same_for
            };
            if !record.as_ref().is_some_and(is_old) {
                let was_made = was_made || record.is_some();
                return Ok(Known { key, record, was_made });
            }
            key = format!("{name}/{generation}");
        }
        Err(Failure::usage("the same call was made too often"))
    }

    /// Refuses an attempt unless the attempt before it has ended: both would be paid for.
    pub async fn check_attempt(
        &self,
        client: &Client,
        attempt: u32,
        when: (Duration, SystemTime),
    ) -> Result<(), Failure> {
        let Some(before) = attempt.checked_sub(1).filter(|before| *before > 0) else {
            return Ok(());
        };
        let known = self.known(client, before, when).await?;
        let what = match &known.record {
            Some(record) if !record.state().is_closed() => "is not finished: `look` says more",
            None if !known.was_made => "was never made: call without `attempt`",
            _ => return Ok(()),
        };
        Err(Failure::request(format!("attempt {before} of this call {what}")))
    }
}

/// Whether the key of a submission belongs to a call.
pub fn is_of_call(record: &Record) -> bool {
    record.intent().key().is_some_and(|key| key.name().starts_with(PREFIX))
}
