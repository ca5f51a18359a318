//! The spending of a project in the current day, week and month.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::settings::Limits;
use crate::billing::credits::Credits;

/// Spending since the start of each period, in credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Spent {
    /// Since midnight, UTC.
    pub daily: Credits,
    /// Since Monday, UTC.
    pub weekly: Credits,
    /// Since the first of the month, UTC.
    pub monthly: Credits,
}

/// The total usage of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Usage {
    /// Accepted submissions.
    pub submissions: u64,
    /// Credits charged for them.
    pub charged: Credits,
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spending {
    pub(super) usage: Usage,
    spent: Spent,
    periods: Periods,
}

/// The current day, week and month.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Periods {
    day: (i32, u16),
    week: (i32, u8),
    month: (i32, u8),
}

impl Periods {
    /// The periods of a Unix time. After the year 9999 it is always the same day.
    fn at(unix: Duration) -> Self {
        let moment = i64::try_from(unix.as_secs())
            .ok()
            .and_then(|s| OffsetDateTime::from_unix_timestamp(s).ok());
        moment.map_or_else(Self::default, |moment| {
            let (year, week, _) = moment.to_iso_week_date();
            Self {
                day: (moment.year(), moment.ordinal()),
                week: (year, week),
                month: (moment.year(), moment.month().into()),
            }
        })
    }
}

impl Spending {
    /// The spending in the periods that contain `unix`.
    pub(super) fn at(&self, unix: Duration) -> Spent {
        let (now, then) = (Periods::at(unix), self.periods);
        let within = |same: bool, spent: Credits| if same { spent } else { Credits::ZERO };
        Spent {
            daily: within(now.day == then.day, self.spent.daily),
            weekly: within(now.week == then.week, self.spent.weekly),
            monthly: within(now.month == then.month, self.spent.monthly),
        }
    }

    /// The first period whose limit `cost` would exceed, with the limit.
    pub(super) fn exceeded_limit(
        &self,
        limits: &Limits,
        cost: Credits,
        unix: Duration,
    ) -> Option<(&'static str, Credits)> {
        let spent = self.at(unix);
        [
            ("daily", limits.daily, spent.daily),
            ("weekly", limits.weekly, spent.weekly),
            ("monthly", limits.monthly, spent.monthly),
        ]
        .into_iter()
        .find_map(|(period, limit, spent)| {
            let limit = limit?;
            (spent + cost > limit).then_some((period, limit))
        })
    }

    pub(super) fn add(&mut self, cost: Credits, unix: Duration) {
        let spent = self.at(unix);
        self.spent = Spent {
            daily: spent.daily + cost,
            weekly: spent.weekly + cost,
            monthly: spent.monthly + cost,
        };
        self.periods = Periods::at(unix);
        self.usage.submissions += 1;
        self.usage.charged = self.usage.charged + cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(days: u64, seconds: u64) -> Duration {
        Duration::from_secs(days * 86_400 + seconds)
    }

    const ONE: Credits = Credits::from_hundredths(100);

    #[test]
    fn periods_follow_the_calendar() {
        // 2026-01-29 is a Thursday.
        let thursday = 20_482;
        let mut spending = Spending::default();
        spending.add(ONE, at(thursday, 0));
        let read = |spending: &Spending, moment| {
            let spent = spending.at(moment);
            [spent.daily, spent.weekly, spent.monthly].map(Credits::hundredths)
        };
        assert_eq!(read(&spending, at(thursday, 86_399)), [100, 100, 100]);
        assert_eq!(read(&spending, at(thursday + 1, 0)), [0, 100, 100], "Friday");
        assert_eq!(read(&spending, at(thursday + 3, 0)), [0, 100, 0], "Sunday, 1 February");
        assert_eq!(read(&spending, at(thursday + 4, 0)), [0, 0, 0], "Monday");
        spending.add(ONE, at(thursday + 1, 5));
        assert_eq!(read(&spending, at(thursday + 2, 0)), [0, 200, 200]);
    }

    #[test]
    fn a_limit_can_be_reached_but_not_exceeded() {
        let limits = Limits {
            daily: Some(Credits::from_hundredths(250)),
            weekly: None,
            monthly: Some(ONE + ONE + ONE),
        };
        let mut spending = Spending::default();
        assert_eq!(spending.exceeded_limit(&limits, Credits::from_hundredths(250), at(1, 0)), None);
        spending.add(ONE + ONE, at(1, 0));
        assert_eq!(
            spending.exceeded_limit(&limits, ONE, at(1, 9)),
            Some(("daily", Credits::from_hundredths(250)))
        );
        assert_eq!(spending.exceeded_limit(&limits, ONE, at(2, 0)), None);
        assert_eq!(
            spending.exceeded_limit(&limits, ONE + ONE, at(2, 0)),
            Some(("monthly", Credits::from_hundredths(300)))
        );
    }

    #[test]
    fn the_latest_time_is_accepted() {
        let mut spending = Spending::default();
        spending.add(ONE, Duration::MAX);
        assert_eq!(spending.at(Duration::MAX).daily, ONE);
    }
}
