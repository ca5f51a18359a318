//! Outages of the service: decides when a client stops submitting, and when it tries again.

use std::time::Duration;

use tokio::time::Instant;

use crate::retry::Backoff;

/// The number of outcomes that are remembered, and the numbers of unknown outcomes among them, and
/// in a row, that make an outage.
const LAST: u32 = 30;
const MOST_UNKNOWN: u32 = 6;
const MOST_IN_A_ROW: u32 = 3;

/// The first and the longest pause before the client sends a single submission, to find out whether
/// the service works again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Outcomes::LONGEST_PAUSE;

/// The outcomes of the last submissions, from which an outage is detected: three outcomes in a row
/// are unknown, or 6 of the last 30 (20 %). An outcome is unknown if the service may have accepted
/// the submission, but the client did not receive the task. Each of these submissions may be billed
/// without a picture, so a client stops submitting during an outage.
///
/// A [`Client`](crate::Client) detects outages by itself. This type is public for journals that
/// detect outages for several processes.
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
    /// One bit for each outcome, which is 1 if the outcome is unknown. The lowest bit is the last
    /// outcome.
    unknown: u32,
}

impl Outcomes {
    /// The longest pause of an outage: ten minutes. An hour has at most 15 pauses.
    pub const LONGEST_PAUSE: Duration = Duration::from_secs(600);

    /// If an outage begins within this time after the end of the last one (one hour), its pauses
    /// continue to grow from where they were. Otherwise a service that works only now and then
    /// would cost more lost submissions than one that does not work at all.
    pub const RELAPSE: Duration = Duration::from_secs(3600);

    /// Adds the outcome of a submission. If an outage begins, forgets all outcomes and returns
    /// `true`.
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

/// How the service reacted to the submission with a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    Accepted,
    Unknown,
    /// The submission ended in a way that says nothing about an outage.
    Other,
}

/// Detects outages for one client, and holds back its submissions during an outage.
#[derive(Debug)]
pub(super) struct Outage {
    outcomes: Outcomes,
    pauses: Backoff,
    /// When the next submission may start. `None` if there is no outage.
    until: Option<Instant>,
    /// Whether a probe is in flight: the single submission that finds out whether the outage has
    /// ended.
    is_probing: bool,
    /// When the last outage ended.
    ended: Option<Instant>,
    /// Whether the journal detects outages instead of the client.
    is_external: bool,
}

impl Outage {
    pub(super) fn new(is_external: bool) -> Self {
        let pauses = Outcomes::pauses();
        let outcomes = Outcomes::default();
        Self { outcomes, pauses, until: None, is_probing: false, ended: None, is_external }
    }

    /// Returns how long no submission may start. `None` if a submission may start now.
    pub(super) fn wait(&self) -> Option<Duration> {
        let until = self.until?;
        // The outcome of the probe decides when the next submission may start. If the probe takes
        // longer than the longest pause, the client no longer waits for it.
        let until = if self.is_probing { until + LONGEST_PAUSE } else { until };
        Some(until.saturating_duration_since(Instant::now())).filter(|wait| !wait.is_zero())
    }

    /// Returns how long the pause still lasts. `None` while a probe is in flight.
    pub(super) fn pause(&self) -> Option<Duration> {
        self.wait().filter(|_| !self.is_probing)
    }

    /// A submission starts. Returns whether this submission is the probe.
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
        // All submissions except the probe were in flight when the outage began, so they do not
        // show whether it has ended.
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
        // This submission was in flight when the outage began.
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
