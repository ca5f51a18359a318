//! Reads values that flags, settings and job files share: durations, credits, sizes and seeds.

use std::time::Duration;

use imagekiln_label::Price;
use time::{Date, Month, Time, UtcDateTime, format_description::well_known::Rfc3339};

pub const MOST_SEEDS: usize = 1_000_000;

/// A duration in seconds, minutes, hours or days, such as `90`, `0.5`, `90s`, `2m`, `1h` or `30d`.
pub fn duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(char, f64); 4] = [('s', 1.0), ('m', 60.0), ('h', 3600.0), ('d', 86_400.0)];
    let unit =
        UNITS.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = unit.unwrap_or((text, 1.0));
    let seconds = number.parse().ok().map(|number: f64| number * factor);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "give a duration such as 90, 90s, 2m, 1h or 30d".to_owned())
}

/// The duration of a command, which may not be 0.
pub fn deadline(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("nothing was sent; give a duration of more than 0".to_owned()),
        deadline => Ok(deadline),
    }
}

/// A time: so long ago, such as `2h`, the start of a day in UTC, such as `2026-11-20`, or a time in
/// RFC 3339, such as `2026-11-20T08:15:09Z`.
pub fn since(text: &str) -> Result<UtcDateTime, String> {
    let day = || {
        let mut parts = text.splitn(3, '-');
        let year = parts.next()?.parse().ok()?;
        let month = Month::try_from(parts.next()?.parse::<u8>().ok()?).ok()?;
        let day = Date::from_calendar_date(year, month, parts.next()?.parse().ok()?).ok()?;
        Some(UtcDateTime::new(day, Time::MIDNIGHT))
    };
    let moment = || UtcDateTime::parse(text, &Rfc3339).ok();
    let ago = || UtcDateTime::now().checked_sub(duration(text).ok()?.try_into().ok()?);
    day().or_else(moment).or_else(ago).ok_or_else(|| {
        "give a duration such as 2h or 7d, a day such as 2026-11-20, or a time such as \
         2026-11-20T08:15:09Z"
            .to_owned()
    })
}

/// A number of credits, such as `4` or `0.5`.
pub fn credits(text: &str) -> Result<f64, String> {
    let credits = text.parse().ok().filter(|credits: &f64| credits.is_finite() && *credits >= 0.0);
    // Negative zero becomes zero.
    credits
        .map(|credits| credits + 0.0)
        .ok_or_else(|| "give a number of credits, such as 4 or 0.5".to_owned())
}

/// A price, such as `4`, `0.5/MP` or `1+0.5/MP`.
pub fn price(text: &str) -> Result<Price, String> {
    text.parse().map_err(|error: imagekiln_label::Error| error.to_string())
}

pub fn size(text: &str) -> Result<[u32; 2], String> {
    let sides = text.split_once(['x', 'X', '\u{d7}']);
    let sides = sides.and_then(|(width, height)| {
        Some([width.trim().parse().ok()?, height.trim().parse().ok()?])
    });
    sides.ok_or_else(|| "give a width and a height in pixels, such as 1024x768".to_owned())
}

/// Reads seeds: numbers and inclusive ranges, such as `1..8` or `1,5,10..12`. Returns each seed
/// once, in ascending order.
pub fn seeds(text: &str) -> Result<Vec<i64>, String> {
    let mut seeds = Vec::new();
    for part in text.split(',').map(str::trim) {
        let number = |text: &str| text.trim().parse::<i64>().ok();
        let ends = match part.split_once("..") {
            Some((first, last)) => number(first).zip(number(last)),
            None => number(part).map(|seed| (seed, seed)),
        };
        let Some((first, last)) = ends.filter(|(first, last)| first <= last) else {
            return Err("use numbers and ranges, such as 7, 1..8 or 1,5,10..12".to_owned());
        };
        if last.abs_diff(first) >= MOST_SEEDS as u64 - seeds.len() as u64 {
            return Err(format!("at most {MOST_SEEDS} seeds are possible"));
        }
        seeds.extend(first..=last);
    }
    seeds.sort_unstable();
    seeds.dedup();
    Ok(seeds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_are_finite_and_not_negative() {
        assert_eq!(credits("0.5"), Ok(0.5));
        assert_eq!(credits("-0").map(f64::to_bits), Ok(0));
        for text in ["-1", "inf", "NaN", "free", "", "1e999"] {
            assert!(credits(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_finite_and_not_negative() {
        for (text, milliseconds) in [
            ("0.5", 500),
            ("90", 90_000),
            ("90s", 90_000),
            ("2m", 120_000),
            ("1.5h", 5_400_000),
            ("30d", 2_592_000_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["-1", "inf", "NaN", "soon", "", "1e30", "m", "2 m", "2min", "-2m", "1e300h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_may_have_an_offset() {
        for (text, seconds) in [
            ("2026-11-20", 1_795_132_800),
            ("2026-11-20T08:15:09Z", 1_795_162_509),
            ("2026-11-20T09:15:09+01:00", 1_795_162_509),
            ("2026-11-20T08:15:09.000Z", 1_795_162_509),
        ] {
            assert_eq!(since(text).map(UtcDateTime::unix_timestamp), Ok(seconds), "{text}");
        }
        assert!(since("2h").is_ok());
        for text in ["2026-11-20T08:15:09", "2026-11-20T25:00:00Z", "2026-13-01", "now", ""] {
            assert!(since(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_has_two_sides() {
        for text in ["1024x768", "1024X768", "1024 x 768"] {
            assert_eq!(size(text), Ok([1024, 768]), "{text}");
        }
        for text in ["1024", "1024x", "x768", "1024*768", "-1x5", "1.5x2", ""] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seeds_are_numbers_and_inclusive_ranges() {
        assert_eq!(seeds("7"), Ok(vec![7]));
        assert_eq!(seeds("1..3"), Ok(vec![1, 2, 3]));
        assert_eq!(seeds("1, 5,10..12"), Ok(vec![1, 5, 10, 11, 12]));
        assert_eq!(seeds("5,1..2,2"), Ok(vec![1, 2, 5]));
        assert_eq!(seeds("-1..1"), Ok(vec![-1, 0, 1]));
        for text in ["", "a", "3..1", "1..", "1...3", "1..=3", "1,", "99999999999999999999"] {
            assert!(seeds(text).is_err(), "{text}");
        }
        for text in ["0..9223372036854775807", "-9223372036854775808..9223372036854775807"] {
            assert_eq!(seeds(text), Err("at most 1000000 seeds are possible".to_owned()));
        }
        assert_eq!(seeds("1..1000000").map(|seeds| seeds.len()), Ok(1_000_000));
        assert!(seeds("1..1000000,5").is_err());
    }
}
