//! The notation of faults: `name[@place][=value][:often]`.

use serde::{Deserialize, Serialize};

use super::{
    effect::Effect,
    table::{FaultPlace, KnownFault},
};
use crate::values::{MAX_COUNT, names};

/// How often a fault applies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Often {
    Times(u64),
    Always,
    /// With this probability each time.
    Chance(f64),
}

impl Often {
    pub(super) fn parse(text: &str) -> Option<Self> {
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

    /// Whether it applies after it has been applied this often; `draw` returns a random number from
    /// 0 to 1.
    pub(super) fn is_due(self, applied: u64, draw: impl FnOnce() -> f64) -> bool {
        match self {
            Self::Times(times) => applied < times,
            Self::Always => true,
            Self::Chance(chance) => draw() < chance,
        }
    }

    /// How often it will still apply, if that is known.
    pub(super) fn left(self, applied: u64) -> Option<u64> {
        match self {
            Self::Times(times) => Some(times.saturating_sub(applied)),
            Self::Always | Self::Chance(_) => None,
        }
    }
}

/// Where a fault is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultSource {
    /// In a rule, which applies to all requests.
    Rule,
    /// In a submission, for itself or for its task.
    Submission,
    /// In a poll or a delivery, for itself.
    Request(FaultPlace),
}

/// The error for text that is not a valid fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid fault `{text}`: {problem}")]
#[non_exhaustive]
pub struct FaultError {
    /// The text, or the start of a long one. `?` stands for each character that can't be printed.
    pub text: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// The maximum length of a quoted text, in characters.
const QUOTED: usize = 60;

/// A requested fault.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "WrittenFault", into = "WrittenFault")]
pub(super) struct FaultSpec {
    pub(super) text: String,
    source: FaultSource,
    pub(super) known: &'static KnownFault,
    pub(super) effect: Effect,
    pub(super) places: &'static [FaultPlace],
    pub(super) often: Often,
    /// How often it has been applied.
    pub(super) applied: u64,
}

/// A requested fault in a snapshot: its text, and how often it has been applied.
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
        // A value may contain colons, such as a host with a port.
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

    /// Whether it applies now; `draw` returns a random number from 0 to 1.
    pub(super) fn is_due(&self, draw: impl FnOnce() -> f64) -> bool {
        self.often.is_due(self.applied, draw)
    }

    /// How often it will still apply, if that is known.
    pub(super) fn left(&self) -> Option<u64> {
        self.often.left(self.applied)
    }

    /// Whether the two cannot apply to the same request.
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

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::{super::effect::FalseResponse, *};
    use FaultPlace::{Delivery, Poll, Submission};

    #[test]
    fn the_notation_has_four_parts() {
        let parse = |text| FaultSpec::parse(text, FaultSource::Submission).unwrap();
        let spec = parse("error-before@poll=503:3x");
        let unavailable = FalseResponse::Error(StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(spec.effect, Effect::Instead(unavailable));
        assert_eq!((spec.places, spec.often), (Poll.alone(), Often::Times(3)));
        let spec = parse("foreign-polling-host=127.0.0.3:8080");
        assert_eq!(spec.effect, Effect::PollingHost("127.0.0.3:8080".to_owned()));
        assert_eq!((spec.places, spec.often), (Submission.alone(), Often::Times(1)));
        assert_eq!(parse("foreign-polling-host=127.0.0.3:80:0.5").often, Often::Chance(0.5));
        assert_eq!(parse("html").places, Delivery.alone());
        assert_eq!(parse("html:always").often, Often::Always);
    }

    #[test]
    fn the_source_decides_the_defaults() {
        let places =
            |text, source| FaultSpec::parse(text, source).map(|spec| (spec.places, spec.often));
        let once = Often::Times(1);
        assert_eq!(places("html-502", FaultSource::Submission), Ok((Submission.alone(), once)));
        assert_eq!(places("html-502", FaultSource::Request(Poll)), Ok((Poll.alone(), once)));
        let everywhere: &[_] = &[Submission, Poll, Delivery];
        assert_eq!(places("html-502", FaultSource::Rule), Ok((everywhere, Often::Always)));
        assert_eq!(places("html-502@poll", FaultSource::Rule), Ok((Poll.alone(), Often::Always)));
        assert_eq!(
            places("reset=after", FaultSource::Rule),
            Ok((Submission.alone(), Often::Always))
        );
    }

    #[test]
    fn a_place_must_be_one_of_the_source() {
        for (text, source) in [
            ("truncated@poll", FaultSource::Submission),
            ("truncated", FaultSource::Request(Poll)),
            ("html-502@delivery", FaultSource::Request(Poll)),
        ] {
            let error = FaultSpec::parse(text, source).unwrap_err();
            assert!(error.problem.contains("does not apply there"), "{text}: {error}");
        }
    }
}
