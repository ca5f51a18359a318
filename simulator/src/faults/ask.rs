//! How faults are asked for: `name[@place][=value][:often]`.

use super::fault::{Fault, FaultPlace, KnownFault};

/// How often a fault strikes.
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

/// Who asks for a fault.
#[derive(Clone, Copy)]
pub(super) enum Asker {
    /// A rule, which holds for all requests.
    Rule,
    /// A submission, for itself or for its task.
    Submission,
    /// A poll or a delivery, for itself.
    Request(FaultPlace),
}

/// A text that asks for no fault, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` asks for no fault: {problem}")]
#[non_exhaustive]
pub struct FaultError {
    /// The text, or the beginning of a long one.
    pub text: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// More of a text is not quoted.
const QUOTED: usize = 60;

/// A fault that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ask {
    pub(super) text: String,
    pub(super) fault: Fault,
    pub(super) known: &'static str,
    pub(super) places: &'static [FaultPlace],
    pub(super) often: Often,
    /// How often it struck.
    pub(super) struck: u64,
}

impl Ask {
    pub(super) fn parse(text: &str, asker: Asker) -> Result<Self, FaultError> {
        Self::read(text, asker)
            .map_err(|problem| FaultError { text: text.chars().take(QUOTED).collect(), problem })
    }

    fn read(text: &str, asker: Asker) -> Result<Self, &'static str> {
        // A value may hold colons too, as a host with its port does.
        let (rest, often) = match text.rsplit_once(':') {
            Some((rest, tail)) if Often::parse(tail).is_some() => (rest, Often::parse(tail)),
            Some((rest, _)) if !rest.contains('=') => {
                return Err("what follows `:` is none of `once`, `3x`, `always` and `0.25`");
            }
            _ => (text, None),
        };
        let (rest, value) =
            rest.split_once('=').map_or((rest, None), |(rest, value)| (rest, Some(value)));
        let (name, place) =
            rest.split_once('@').map_or((rest, None), |(name, place)| (name, Some(place)));
        let (fault, known) = Fault::new(name, value)?;
        let place = match place {
            None => None,
            Some(place) => Some(FaultPlace::named(place).ok_or("there is no such place")?),
        };
        Ok(Self {
            text: text.to_owned(),
            places: places(&fault, known, place, asker)?,
            known: known.name,
            fault,
            often: often.unwrap_or(match asker {
                Asker::Rule => Often::Always,
                Asker::Submission | Asker::Request(_) => Often::Times(1),
            }),
            struck: 0,
        })
    }

    /// Whether it is to strike now, where `draw` draws from 0 to 1.
    pub(super) fn is_due(&self, draw: impl FnOnce() -> f64) -> bool {
        match self.often {
            Often::Times(times) => self.struck < times,
            Often::Always => true,
            Often::Chance(chance) => draw() < chance,
        }
    }

    /// How often it will strike yet, where that is known.
    pub(super) fn left(&self) -> Option<u64> {
        match self.often {
            Often::Times(times) => Some(times.saturating_sub(self.struck)),
            Often::Always | Often::Chance(_) => None,
        }
    }
}

fn places(
    fault: &Fault,
    known: &KnownFault,
    named: Option<FaultPlace>,
    asker: Asker,
) -> Result<&'static [FaultPlace], &'static str> {
    let possible = match fault {
        Fault::Reset { after: true } => FaultPlace::Submission.alone(),
        _ => known.places,
    };
    let wanted = match (named, asker) {
        (None, Asker::Rule) => return Ok(possible),
        (None, Asker::Submission) => possible.first().copied(),
        (Some(place), Asker::Request(here)) if place != here => None,
        (None, Asker::Request(here)) => Some(here),
        (Some(place), _) => Some(place),
    };
    let allowed = wanted.filter(|place| possible.contains(place));
    allowed.map(FaultPlace::alone).ok_or("it cannot strike there")
}

#[cfg(test)]
mod tests {
    use FaultPlace::{Delivery, Poll, Submission};

    use super::*;

    #[test]
    fn the_grammar_has_four_parts() {
        let asked = |text| Ask::parse(text, Asker::Submission).unwrap();
        let ask = asked("error-before@poll=503:3x");
        assert_eq!(ask.fault, Fault::new("error-before", Some("503")).unwrap().0);
        assert_eq!((ask.places, ask.often), (Poll.alone(), Often::Times(3)));
        let ask = asked("foreign-polling-host=127.0.0.3:8080");
        assert_eq!(ask.fault, Fault::ForeignPollingHost("127.0.0.3:8080".to_owned()));
        assert_eq!((ask.places, ask.often), (Submission.alone(), Often::Times(1)));
        assert_eq!(asked("foreign-polling-host=127.0.0.3:80:0.5").often, Often::Chance(0.5));
        assert_eq!(asked("html").places, Delivery.alone());
        assert_eq!(asked("html:always").often, Often::Always);
    }

    #[test]
    fn who_asks_decides_what_is_left_out() {
        let places = |text, asker| Ask::parse(text, asker).map(|ask| (ask.places, ask.often));
        let once = Often::Times(1);
        assert_eq!(places("html-502", Asker::Submission), Ok((Submission.alone(), once)));
        assert_eq!(places("html-502", Asker::Request(Poll)), Ok((Poll.alone(), once)));
        let everywhere: &[_] = &[Submission, Poll, Delivery];
        assert_eq!(places("html-502", Asker::Rule), Ok((everywhere, Often::Always)));
        assert_eq!(places("html-502@poll", Asker::Rule), Ok((Poll.alone(), Often::Always)));
        assert_eq!(places("reset=after", Asker::Rule), Ok((Submission.alone(), Often::Always)));
    }

    #[test]
    fn what_asks_for_no_fault_is_told() {
        for (text, asker, part) in [
            ("", Asker::Rule, "no such fault"),
            ("error", Asker::Rule, "no such fault"),
            ("html-502@home", Asker::Rule, "no such place"),
            ("html-502@webhook", Asker::Rule, "cannot strike there"),
            ("truncated@poll", Asker::Submission, "cannot strike there"),
            ("truncated", Asker::Request(Poll), "cannot strike there"),
            ("html-502@delivery", Asker::Request(Poll), "cannot strike there"),
            ("reset@poll=after", Asker::Rule, "cannot strike there"),
            ("html-502:sometimes", Asker::Rule, "what follows"),
            ("html-502:0x", Asker::Rule, "what follows"),
            ("html-502:1", Asker::Rule, "what follows"),
            ("html-502:1.5", Asker::Rule, "what follows"),
            ("html-502=1", Asker::Rule, "no value"),
            ("error-before=503:often", Asker::Rule, "no status"),
        ] {
            let error = Ask::parse(text, asker).unwrap_err();
            assert!(error.problem.contains(part), "{text}: {error}");
        }
        let long = "x".repeat(1000);
        assert!(Ask::parse(&long, Asker::Rule).unwrap_err().to_string().len() < 200);
    }
}
