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
    /// What was spent in the periods of `charged_at`.
    spent: Spent,
    /// The Unix time of the last charge.
    charged_at: Duration,
}

/// The day, week and month of a Unix time. After the year 9999 it is always the same day.
fn periods(unix: Duration) -> [(i32, u16); 3] {
    let seconds = i64::try_from(unix.as_secs()).unwrap_or(i64::MAX);
    let Ok(moment) = OffsetDateTime::from_unix_timestamp(seconds) else {
        return Default::default();
    };
    let (week_year, week, _) = moment.to_iso_week_date();
    let (year, month) = (moment.year(), u8::from(moment.month()));
    [(year, moment.ordinal()), (week_year, week.into()), (year, month.into())]
}

impl Spending {
    /// The spending in the periods that contain `unix`.
    pub(super) fn at(&self, unix: Duration) -> Spent {
        let ([day, week, month], then) = (periods(unix), periods(self.charged_at));
        let within = |same: bool, spent: Credits| if same { spent } else { Credits::ZERO };
        Spent {
            daily: within(day == then[0], self.spent.daily),
            weekly: within(week == then[1], self.spent.weekly),
            monthly: within(month == then[2], self.spent.monthly),
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
        self.charged_at = unix;
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
