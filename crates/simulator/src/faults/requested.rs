//! The notation of faults, `name[@place][=value][:often]`, and the faults that a request asks for,
//! in its header or in words in its texts.

use std::{collections::VecDeque, time::Duration};

use axum::http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tracing::debug;

use super::table::{Effect, FaultPlace, KnownFault};
use crate::{
    contract::key_header,
    values::{MAX_COUNT, names, texts},
};

/// How often a fault applies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Often {
    Times(u64),
    Always,
    /// With this probability, each time.
    Chance(f64),
}

impl Often {
    fn parse(text: &str) -> Option<Self> {
        let chance = || {
            let chance: f64 = text.parse().ok()?;
            (text.contains('.') && (0.0..=1.0).contains(&chance)).then_some(Self::Chance(chance))
        };
        let times =
            || text.strip_suffix('x')?.parse().ok().filter(|times| *times > 0).map(Self::Times);
        match text {
            "once" => Some(Self::Times(1)),
            "always" => Some(Self::Always),
            _ => times().or_else(chance),
        }
    }
}

/// Where a fault was requested, which decides where it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultSource {
    /// In a rule, which applies to all requests.
    Rule,
    /// In a submission, for the submission itself or for its task.
    Submission,
    /// In a poll or a request for a delivery URL, for that request only.
    Request(FaultPlace),
}

/// The error for a text that is not a valid fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid fault `{text}`: {problem}")]
#[non_exhaustive]
pub struct FaultError {
    /// The text, or the beginning of a long text. `?` stands for each character that can't be
    /// printed.
    pub text: String,
    /// What is wrong with the text.
    pub problem: &'static str,
}

/// The maximum length of a quoted text, in characters.
const QUOTED: usize = 60;

/// A fault that a rule or a request asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "WrittenFault", into = "WrittenFault")]
pub(super) struct FaultSpec {
    pub(super) text: String,
    source: FaultSource,
    pub(super) known: &'static KnownFault,
    pub(super) effect: Effect,
    pub(super) places: &'static [FaultPlace],
    pub(super) often: Often,
    /// How often the fault has been applied.
    pub(super) applied: u64,
}

/// A fault as a snapshot stores it: its text, and how often the fault has been applied.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFault {
    text: String,
    source: FaultSource,
    applied: u64,
}

impl From<FaultSpec> for WrittenFault {
    fn from(FaultSpec { text, source, applied, .. }: FaultSpec) -> Self {
        Self { text, source, applied }
    }
}

impl TryFrom<WrittenFault> for FaultSpec {
    type Error = FaultError;

    fn try_from(WrittenFault { text, source, applied }: WrittenFault) -> Result<Self, FaultError> {
        Ok(Self { applied: applied.min(MAX_COUNT), ..Self::parse(&text, source)? })
    }
}

impl FaultSpec {
    pub(super) fn parse(text: &str, source: FaultSource) -> Result<Self, FaultError> {
        Self::read(text, source)
            .map_err(|problem| FaultError { text: names::bounded(text, QUOTED), problem })
    }

    fn read(text: &str, source: FaultSource) -> Result<Self, &'static str> {
        // Split at the last colon, because a value may contain colons, such as a host with a port.
        let (rest, often) = match text.rsplit_once(':') {
            Some((rest, tail)) if Often::parse(tail).is_some() => (rest, Often::parse(tail)),
            Some((rest, _)) if !rest.contains('=') => {
                return Err("expected `once`, `3x`, `always` or `0.25` after `:`");
            }
            _ => (text, None),
        };
        let (rest, value) =
            rest.split_once('=').map_or((rest, None), |(rest, value)| (rest, Some(value)));
        let (name, place) =
            rest.split_once('@').map_or((rest, None), |(name, place)| (name, Some(place)));
        let known = KnownFault::named(name).ok_or("unknown fault")?;
        let effect = (known.read)(value)?;
        let place = match place {
            None => None,
            Some(place) => Some(FaultPlace::named(place).ok_or("unknown place")?),
        };
        Ok(Self {
            text: text.to_owned(),
            source,
            places: places(&effect, known, place, source)?,
            known,
            effect,
            often: often.unwrap_or(match source {
                FaultSource::Rule => Often::Always,
                FaultSource::Submission | FaultSource::Request(_) => Often::Times(1),
            }),
            applied: 0,
        })
    }

    /// Whether the fault applies at this time of the simulator's clock. `draw` returns a random
    /// number from 0 to 1.
    pub(super) fn is_due(&self, now: Duration, draw: impl FnOnce() -> f64) -> bool {
        match (self.often, &self.effect) {
            (_, Effect::Outage(period)) if !period.contains(&now) => false,
            (Often::Times(times), _) => self.applied < times,
            (Often::Always, _) => true,
            (Often::Chance(chance), _) => draw() < chance,
        }
    }

    /// How often the fault will still apply. `None` for `always` and for probabilities.
    pub(super) fn left(&self) -> Option<u64> {
        match self.often {
            Often::Times(times) => Some(times.saturating_sub(self.applied)),
            Often::Always | Often::Chance(_) => None,
        }
    }

    /// Whether the two faults cannot apply to the same request.
    pub(super) fn excludes(&self, other: &Self) -> bool {
        let exclusive = self.effect.is_exclusive() && other.effect.is_exclusive();
        exclusive || self.known.name == other.known.name
    }
}

fn places(
    effect: &Effect,
    known: &KnownFault,
    named: Option<FaultPlace>,
    source: FaultSource,
) -> Result<&'static [FaultPlace], &'static str> {
    let possible = match effect {
        Effect::AfterAcceptance(_) => &[FaultPlace::Submission],
        _ => known.places,
    };
    let wanted = match (named, source) {
        (None, FaultSource::Rule) => return Ok(possible),
        (None, FaultSource::Submission) => possible.first().copied(),
        (Some(place), FaultSource::Request(here)) if place != here => None,
        (None, FaultSource::Request(here)) => Some(here),
        (Some(place), _) => Some(place),
    };
    let alone = possible.chunks(1).find(|alone| alone.first() == wanted.as_ref());
    alone.ok_or("this fault does not apply there")
}

/// The header that requests faults.
const HEADER: &str = "x-simulator-fault";

/// The maximum number of faults that a request can ask for.
const MAX_FAULTS: usize = 16;

/// A word that looks like a fault, but selects the status of the task.
const STATUS_WORD: &str = "unknown-status";

/// The faults that a request asks for. Those of a submission include the faults of its task.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RequestedFaults {
    pub(super) list: Vec<FaultSpec>,
    /// The identity of the submission, by which a repetition is recognized. `None` if no fault
    /// applies to the submission itself.
    #[serde(skip)]
    pub(super) repeat: Option<Identity>,
}

/// A digest of a submission.
pub(super) type Identity = [u8; 32];

impl RequestedFaults {
    /// Reads the faults in the header of a request, or returns what is wrong with the header.
    pub(crate) fn in_header(headers: &HeaderMap, source: FaultSource) -> Result<Self, String> {
        let mut list = Vec::new();
        for value in headers.get_all(HEADER) {
            let text = value.to_str().map_err(|_| invalid_header("it is not visible ASCII"))?;
            for text in text.split(',').map(str::trim) {
                list.push(FaultSpec::parse(text, source).map_err(invalid_header)?);
                if list.len() > MAX_FAULTS {
                    return Err(invalid_header(format!("more than {MAX_FAULTS} faults")));
                }
            }
        }
        Ok(Self { list, repeat: None })
    }

    /// Reads the faults in the words of a submission's texts, at any depth. Other words in double
    /// brackets request no fault.
    pub(crate) fn in_words(request: &Value) -> Self {
        let mut list = Vec::new();
        texts::any(request, &mut |text| {
            let words = text.split("[[").skip(1).filter_map(|part| Some(part.split_once("]]")?.0));
            for word in words.filter(|word| *word != STATUS_WORD) {
                match FaultSpec::parse(word, FaultSource::Submission) {
                    Ok(spec) => list.push(spec),
                    Err(error) => {
                        debug!(problem = error.problem, "ignored a word in double brackets");
                    }
                }
                if list.len() == MAX_FAULTS {
                    return true;
                }
            }
            false
        });
        Self { list, repeat: None }
    }

    /// Adds the faults of the header, before those of the words, and computes the identity of the
    /// submission.
    pub(crate) fn join(
        &mut self,
        mut header: Self,
        operation: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) {
        header.list.append(&mut self.list);
        self.list = header.list;
        if self.list.iter().any(|spec| spec.places.contains(&FaultPlace::Submission)) {
            let mut hash = Sha256::new();
            let headers = [key_header(), HEADER].into_iter().flat_map(|name| headers.get_all(name));
            for part in [operation.as_bytes()].into_iter().chain(headers.map(HeaderValue::as_bytes))
            {
                hash.update((part.len() as u64).to_be_bytes());
                hash.update(part);
            }
            hash.update(body);
            self.repeat = Some(hash.finalize().into());
        }
    }
}

/// The maximum number of submissions to remember. Above it, the oldest is dropped.
const MAX_REPEATS: usize = 1024;

/// How often each fault of a submission has been applied, so that a client that repeats the
/// submission eventually succeeds. The submissions are in the order of their first attempts.
#[derive(Clone, Default)]
pub(super) struct Repeats(VecDeque<(Identity, Vec<u64>)>);

impl Repeats {
    pub(super) fn recall(&self, repeat: &Identity, requested: &mut [FaultSpec]) {
        let known = self.0.iter().find(|(known, _)| known == repeat);
        let known = known.into_iter().flat_map(|(_, applied)| applied);
        for (spec, applied) in requested.iter_mut().zip(known) {
            spec.applied = *applied;
        }
    }

    pub(super) fn keep(&mut self, repeat: Identity, requested: &[FaultSpec]) {
        let applied = requested.iter().map(|spec| spec.applied).collect();
        if let Some((_, known)) = self.0.iter_mut().find(|(known, _)| *known == repeat) {
            *known = applied;
            return;
        }
        self.0.push_back((repeat, applied));
        if self.0.len() > MAX_REPEATS {
            self.0.pop_front();
        }
    }
}

fn invalid_header(problem: impl ToString) -> String {
    format!("Invalid {HEADER} header: {}", problem.to_string())
}
