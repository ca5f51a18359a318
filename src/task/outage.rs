//! Outages of the service: when a client stops submitting, and when it tries again.

use std::time::Duration;

use tokio::time::Instant;

use crate::retry::Backoff;

/// The number of last outcomes that count, and how many of them, and how many in a row, are unknown
/// in an outage.
const LAST: u32 = 30;
const MOST_UNKNOWN: u32 = 6;
const MOST_IN_A_ROW: u32 = 3;

/// The first and the longest pause before a single submission finds out whether the service works
/// again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Outcomes::LONGEST_PAUSE;

/// The outcomes of the last submissions, which show an outage: three in a row are unknown, or 6 of
/// the last 30 (20 %). An outcome is unknown if the service may have accepted the submission, and
/// the response does not say so.
///
/// A [`Client`](crate::Client) stops submitting by itself. This is for
/// journals that decide it for several processes.
///
/// ```
/// let mut outcomes = imagekiln::Outcomes::default();
/// let (accepted, unknown) = (false, true);
/// for outcome in [unknown, unknown, accepted, unknown, unknown] {
///     assert!(!outcomes.add(outcome));
/// }
/// assert!(outcomes.add(unknown), "the third in a row");
/// ```
#[derive(Debug, Clone, Default)]
#[doc(hidden)]
pub struct Outcomes {
    /// One bit for each, the last one first.
    unknown: u32,
}

impl Outcomes {
    /// The longest pause of an outage: ten minutes. An hour has at most 15 pauses.
    pub const LONGEST_PAUSE: Duration = Duration::from_secs(600);

    /// How long after an outage the pauses of the next one continue to grow: one hour. A service
    /// that works only now and then costs no more than one that does not work at all.
    pub const RELAPSE: Duration = Duration::from_secs(3600);

    /// Adds the outcome of a submission. Returns whether this begins an outage, and then forgets
    /// all outcomes.
    pub fn add(&mut self, is_unknown: bool) -> bool {
        self.unknown = (self.unknown << 1 | u32::from(is_unknown)) & ((1 << LAST) - 1);
        let is_outage = self.unknown.trailing_ones() >= MOST_IN_A_ROW
            || self.unknown.count_ones() >= MOST_UNKNOWN;
        if is_outage {
            *self = Self::default();
        }
        is_outage
    }

    /// Returns the pauses of an outage: from one second to ten minutes.
    pub fn pauses() -> Backoff {
        Backoff::new(FIRST_PAUSE, LONGEST_PAUSE)
    }
}

/// What the service made of the submission with a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    Accepted,
    Unknown,
    /// It says nothing about the service.
    Other,
}

/// The outage that a client knows of, if there is one.
#[derive(Debug)]
pub(super) struct Outage {
    outcomes: Outcomes,
    pauses: Backoff,
    /// When the next submission may start. `None` if there is no outage.
    until: Option<Instant>,
    /// Whether a submission finds out whether the outage has ended.
    is_probing: bool,
    ended: Option<Instant>,
    /// Whether the journal decides instead.
    is_external: bool,
}

impl Outage {
    pub(super) fn new(is_external: bool) -> Self {
        let pauses = Outcomes::pauses();
        let outcomes = Outcomes::default();
        Self { outcomes, pauses, until: None, is_probing: false, ended: None, is_external }
    }

    /// Returns how long no submission may start. `None` if one may start now.
    pub(super) fn wait(&self) -> Option<Duration> {
        let until = self.until?;
        // The probe decides when the next submission may start, unless it takes this long.
        let until = if self.is_probing { until + LONGEST_PAUSE } else { until };
        Some(until.saturating_duration_since(Instant::now())).filter(|wait| !wait.is_zero())
    }

    /// Returns how long the pause still lasts, unless a submission finds out whether the outage has
    /// ended.
    pub(super) fn pause(&self) -> Option<Duration> {
        self.wait().filter(|_| !self.is_probing)
    }

    /// A submission starts. Returns whether it is the probe.
    pub(super) fn start(&mut self) -> bool {
        let is_probe = self.until.is_some();
        if is_probe {
            self.until = Some(Instant::now());
            self.is_probing = true;
        }
        is_probe
    }

    /// A submission has ended. Returns whether an outage has begun.
    pub(super) fn ended(&mut self, reaction: Reaction, is_probe: bool) -> bool {
        let now = Instant::now();
        // The others were in flight when the outage began.
        if self.until.is_some() && !is_probe {
            return false;
        }
        match reaction {
            Reaction::Accepted if is_probe => {
                (self.until, self.is_probing, self.ended) = (None, false, Some(now));
            }
            Reaction::Accepted => {
                self.outcomes.add(false);
            }
            Reaction::Unknown => {
                if !self.outcomes.add(true) && !is_probe {
                    return false;
                }
                let is_new = !is_probe && self.ended.is_none_or(|at| now > at + Outcomes::RELAPSE);
                if is_new {
                    self.pauses.reset();
                }
                let pause = self.pauses.pause();
                if !self.is_external {
                    self.until = Some(now + pause);
                    tracing::warn!(
                        seconds = pause.as_secs(),
                        "the service does not say whether it accepts submissions; they pause"
                    );
                }
                self.is_probing = false;
                return true;
            }
            Reaction::Other if is_probe => self.is_probing = false,
            Reaction::Other => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_in_a_row_or_six_of_thirty_are_an_outage() {
        let outages = |outcomes: &str| {
            let mut last = Outcomes::default();
            outcomes.chars().filter(|outcome| last.add(*outcome == 'u')).count()
        };
        for (outcomes, expected) in [
            ("uu.uu.u", 0),
            ("uuu", 1),
            ("uuuuu", 1),
            ("uuuuuu", 2),
            ("u....u....u....u....u....u", 1),
            ("u.....u.....u.....u.....u.....u", 0),
            ("uu..uu..uu", 1),
        ] {
            assert_eq!(outages(outcomes), expected, "{outcomes}");
        }
    }

    /// What a client does in an hour in which no outcome is known, and afterwards.
    #[tokio::test(start_paused = true)]
    async fn an_outage_costs_three_submissions_and_fifteen_an_hour() {
        let mut outage = Outage::new(false);
        for _ in 0..3 {
            assert!(outage.wait().is_none() && !outage.start());
        }
        let stopped: Vec<_> = (0..3).map(|_| outage.ended(Reaction::Unknown, false)).collect();
        assert_eq!(stopped, [false, false, true]);
        let (start, mut waits) = (Instant::now(), Vec::new());
        while let Some(wait) = outage.wait().filter(|_| start.elapsed().as_secs() < 3600) {
            waits.push(wait.as_secs());
            tokio::time::advance(wait).await;
            assert!(outage.wait().is_none() && outage.start());
            assert!(outage.wait().is_some(), "a second probe");
            outage.ended(Reaction::Unknown, true);
        }
        assert_eq!(waits[..11], [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600]);
        assert!(waits.len() <= 15, "{waits:?}");

        tokio::time::advance(LONGEST_PAUSE).await;
        assert!(outage.start());
        // It was in flight all the time.
        outage.ended(Reaction::Unknown, false);
        outage.ended(Reaction::Other, true);
        assert!(outage.wait().is_none() && outage.start());
        outage.ended(Reaction::Accepted, true);
        assert!(outage.wait().is_none() && !outage.start());
        let lose_three =
            |outage: &mut Outage| (0..3).filter(|_| outage.ended(Reaction::Unknown, false)).count();
        assert_eq!(lose_three(&mut outage), 1);
        assert_eq!(outage.wait(), Some(LONGEST_PAUSE), "a relapse");
        tokio::time::advance(LONGEST_PAUSE).await;
        assert!(outage.start());
        outage.ended(Reaction::Accepted, true);
        tokio::time::advance(Outcomes::RELAPSE + FIRST_PAUSE).await;
        assert_eq!(lose_three(&mut outage), 1);
        assert_eq!(outage.wait(), Some(FIRST_PAUSE));
    }
}
