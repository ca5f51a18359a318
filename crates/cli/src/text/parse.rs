//! Reads values that can be in flags, settings and job files: credits, prices, sizes and seeds.

use imagekiln_label::Price;

pub const MOST_SEEDS: usize = 1_000_000;

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
