//! Times and durations, as people type and read them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::{Span, SpanRelativeTo, Timestamp, Unit, ZonedDateTime, civil::Date, tz::TimeZone};

/// Reads a duration, such as `90` (seconds), `0.5`, `90s`, `2m`, `1h30m` or `30d`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let seconds = || {
        let span: Span = text.parse().ok()?;
        // A day always counts as 24 hours, although a day in the local time zone may have 23.
        span.total((Unit::Second, SpanRelativeTo::days_are_24_hours())).ok()
    };
    let seconds = text.parse().ok().or_else(seconds);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "give a duration such as 90, 90s, 2m, 1h30m or 30d".to_owned())
}

/// Reads the time limit of a command, which may not be 0.
pub fn deadline(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("give a duration of more than 0".to_owned()),
        deadline => Ok(deadline),
    }
}

/// Reads a time: a duration before now, such as `2h`; the start of a day, such as `2026-11-20`; or
/// a time in RFC 3339, such as `2026-11-20T08:15:09Z`.
pub fn when(text: &str) -> Result<SystemTime, String> {
    // `parse` would also accept a day with a time, and ignore the time.
    let date = Date::strptime("%Y-%m-%d", text).ok();
    let day = || Some(date?.to_zoned_datetime(TimeZone::system()).ok()?.timestamp());
    let moment = || text.parse::<Timestamp>().ok();
    let ago = || now().checked_sub(duration(text).ok()?);
    let at = moment().or_else(day).and_then(|at| SystemTime::try_from(at).ok());
    at.or_else(ago).ok_or_else(|| {
        "give a duration such as 2h or 7d, a day such as 2026-11-20, or a time such as \
         2026-11-20T08:15:09Z"
            .to_owned()
    })
}

/// For example `2026-11-22T08:15:09Z`.
pub fn rfc3339(at: SystemTime) -> String {
    timestamp(at).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Converts a time to seconds since the Unix epoch.
pub fn seconds(at: SystemTime) -> u64 {
    timestamp(at).as_second().try_into().unwrap_or_default()
}

/// Converts seconds since the Unix epoch to a time.
pub fn time_at(seconds: u64) -> SystemTime {
    // The seconds may come from a file, which can contain any number.
    let at = i64::try_from(seconds).ok().and_then(|at| Timestamp::from_second(at).ok());
    at.and_then(|at| at.try_into().ok()).unwrap_or(UNIX_EPOCH)
}

/// The current time, by the clock of this machine.
pub fn now() -> SystemTime {
    Timestamp::now().try_into().unwrap_or(UNIX_EPOCH)
}

/// Formats times for people.
#[derive(Clone)]
pub struct Clock {
    now: ZonedDateTime,
    is_relative: bool,
}

impl Clock {
    /// Uses the time zone of this machine, and shows times within the last hour by their age.
    pub fn local() -> Self {
        Self { now: ZonedDateTime::now(), is_relative: true }
    }

    pub fn utc() -> Self {
        Self { now: Timestamp::now().to_zoned_datetime(TimeZone::UTC), is_relative: false }
    }

    /// For example `just now`, `5 min ago`, or `2026-11-22 08:15`.
    pub fn shown(&self, at: SystemTime) -> String {
        let age = self.now.timestamp().duration_since(timestamp(at)).as_secs();
        match age {
            0..60 if self.is_relative => "just now".to_owned(),
            60..3600 if self.is_relative => format!("{} min ago", age / 60),
            _ => self.minute(at),
        }
    }

    /// For example `2026-11-22 08:15`.
    pub fn minute(&self, at: SystemTime) -> String {
        let at = timestamp(at).to_zoned_datetime(self.now.time_zone().clone());
        at.strftime("%Y-%m-%d %H:%M").to_string()
    }

    /// For example `2026-11-22`.
    pub fn day(&self, at: SystemTime) -> String {
        timestamp(at).to_zoned_datetime(self.now.time_zone().clone()).date().to_string()
    }
}

fn timestamp(at: SystemTime) -> Timestamp {
    Timestamp::try_from(at).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_finite_and_not_negative() {
        for (text, milliseconds) in [
            ("0.5", 500),
            ("90", 90_000),
            ("90s", 90_000),
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("30d", 2_592_000_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["-1", "-2h", "inf", "NaN", "soon", "", "1e999", "5x", "2mo"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(deadline("0s").is_err());
    }

    #[test]
    fn a_time_is_a_moment_a_day_or_an_age() {
        for (text, seconds_of_it) in
            [("2026-11-20T08:15:09Z", 1_795_162_509), ("2026-11-20T09:15:09+01:00", 1_795_162_509)]
        {
            assert_eq!(when(text).map(seconds), Ok(seconds_of_it), "{text}");
        }
        let day = when("2026-11-20").map(|day| Clock::local().minute(day));
        assert_eq!(day, Ok("2026-11-20 00:00".to_owned()));
        let age = when("2h").unwrap().elapsed().unwrap().as_secs();
        assert!((7200..7260).contains(&age), "{age}");
        for text in ["2026-13-01", "yesterday", "", "2026-11-20T08:15:09", "-2h"] {
            assert!(when(text).is_err(), "{text}");
        }
    }

    #[test]
    fn people_read_ages_and_local_times() {
        let now = Timestamp::from_second(1_795_162_509).unwrap();
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let clock = Clock { now: now.to_zoned_datetime(berlin), is_relative: true };
        let ago = |seconds: u64| clock.shown(time_at(1_795_162_509 - seconds));
        assert_eq!(ago(59), "just now");
        assert_eq!(ago(3599), "59 min ago");
        assert_eq!(ago(3600), "2026-11-20 08:15");
        assert_eq!(ago(150 * 86_400), "2026-06-23 10:15", "summer time");
        assert_eq!(
            clock.shown(time_at(1_795_162_600)),
            "2026-11-20 09:16",
            "a clock that is ahead"
        );
        assert_eq!(rfc3339(time_at(1_795_162_509)), "2026-11-20T08:15:09Z");
        assert_eq!(seconds(time_at(u64::MAX)), 0);
    }
}
