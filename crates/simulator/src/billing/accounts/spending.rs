//! How much a project has spent in the current day, week and month.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::billing::credits::Credits;

/// The spending of a project since the start of each period, in credits.
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
    /// The number of accepted submissions.
    pub submissions: u64,
    /// The credits charged for these submissions.
    pub charged: Credits,
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spending {
    pub(super) usage: Usage,
    /// What was spent in those periods that contain `charged_at`.
    spent: Spent,
    /// The Unix time of the last charge.
    charged_at: Duration,
}

/// Returns the day, the week and the month of a Unix time. After the year 9999, all times have the
/// same day, week and month.
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
    /// Returns what was spent in the periods that contain `unix`.
    pub(super) fn at(&self, unix: Duration) -> Spent {
        let ([day, week, month], then) = (periods(unix), periods(self.charged_at));
        let within = |same: bool, spent: Credits| if same { spent } else { Credits::ZERO };
        Spent {
            daily: within(day == then[0], self.spent.daily),
            weekly: within(week == then[1], self.spent.weekly),
            monthly: within(month == then[2], self.spent.monthly),
        }
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
