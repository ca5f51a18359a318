//! Seeds on the command line: numbers and ranges.

/// The maximum number of seeds.
pub const MOST: usize = 1_000_000;

/// Reads seeds: numbers and inclusive ranges, such as `1..8` or `1,5,10..12`. Returns each seed
/// once, in ascending order.
pub fn parse(text: &str) -> Result<Vec<i64>, String> {
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
        if last.abs_diff(first) >= MOST as u64 - seeds.len() as u64 {
            return Err(format!("at most {MOST} seeds are possible"));
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
    fn seeds_are_numbers_and_inclusive_ranges() {
        assert_eq!(parse("7"), Ok(vec![7]));
        assert_eq!(parse("1..3"), Ok(vec![1, 2, 3]));
        assert_eq!(parse("1, 5,10..12"), Ok(vec![1, 5, 10, 11, 12]));
        assert_eq!(parse("5,1..2,2"), Ok(vec![1, 2, 5]));
        assert_eq!(parse("-1..1"), Ok(vec![-1, 0, 1]));
        for text in ["", "a", "3..1", "1..", "1...3", "1..=3", "1,", "99999999999999999999"] {
            assert!(parse(text).is_err(), "{text}");
        }
        for text in ["0..9223372036854775807", "-9223372036854775808..9223372036854775807"] {
            assert_eq!(parse(text), Err("at most 1000000 seeds are possible".to_owned()));
        }
        assert_eq!(parse("1..1000000").map(|seeds| seeds.len()), Ok(1_000_000));
        assert!(parse("1..1000000,5").is_err());
    }
}
