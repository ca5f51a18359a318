//! The notation of faults: `name[@place][=value][:often]`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    table::Effect,
    table::{FaultPlace, KnownFault},
};
use crate::values::{MAX_COUNT, names};

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
        let effect = known.effect_of(value)?;
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
        match self.often {
            _ if !self.effect.is_possible_at(now) => false,
            Often::Times(times) => self.applied < times,
            Often::Always => true,
            Often::Chance(chance) => draw() < chance,
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
        Effect::AfterAcceptance(_) => FaultPlace::Submission.alone(),
        _ => known.places,
    };
    let wanted = match (named, source) {
        (None, FaultSource::Rule) => return Ok(possible),
        (None, FaultSource::Submission) => possible.first().copied(),
        (Some(place), FaultSource::Request(here)) if place != here => None,
        (None, FaultSource::Request(here)) => Some(here),
        (Some(place), _) => Some(place),
    };
    let allowed = wanted.filter(|place| possible.contains(place));
    allowed.map(FaultPlace::alone).ok_or("this fault does not apply there")
}
