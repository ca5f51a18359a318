//! The figures that benchmarks print: lines with the name, the unit, the median and the quartiles,
//! separated by tabs.

/// A measured value.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    pub unit: String,
    pub median: f64,
    /// The first and the third quartile of the rounds.
    pub quartiles: [f64; 2],
}

impl Figure {
    /// Returns the name and the value in a line. Other lines are for people.
    pub fn parse(line: &str) -> Option<(&str, Self)> {
        let mut fields = line.split('\t').map(str::trim);
        let name = fields.next()?;
        let unit = fields.next()?.to_owned();
        let mut number = || fields.next()?.parse().ok();
        let (median, low, high) = (number()?, number()?, number()?);
        Some((name, Self { unit, median, quartiles: [low, high] }))
    }

    /// Returns the median as text, and the quartiles if the value was measured more than once.
    pub fn text(&self) -> String {
        let [low, high] = self.quartiles;
        if low == high {
            return self.median_text();
        }
        format!("{} ({} to {})", self.median_text(), rounded(low), rounded(high))
    }

    /// Returns the median as text.
    pub fn median_text(&self) -> String {
        match self.unit.as_str() {
            "ratio" | "" => rounded(self.median),
            "us" => format!("{} \u{b5}s", rounded(self.median)),
            unit => format!("{} {unit}", rounded(self.median)),
        }
    }
}

/// Returns a number with about three significant digits.
fn rounded(number: f64) -> String {
    match number.abs() {
        _ if number.fract() == 0.0 => format!("{number:.0}"),
        size if size >= 100.0 => format!("{number:.0}"),
        size if size >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::Figure;

    #[test]
    fn a_line_of_a_benchmark_is_a_figure() {
        let line = "poll.1.against_reqwest       \tratio \t    0.981\t    0.972\t    0.993";
        let (name, figure) = Figure::parse(line).unwrap();
        assert_eq!(name, "poll.1.against_reqwest");
        assert_eq!(figure.text(), "0.98 (0.97 to 0.99)");
    }

    #[test]
    fn other_lines_are_not_figures() {
        for line in ["", "running 0 tests", "a\tus\t1.0", "a\tus\tone\t1\t2"] {
            assert_eq!(Figure::parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_value_that_was_measured_once_has_no_quartiles() {
        let (_, figure) = Figure::parse("waiting.sockets\t\t67.0\t67.0\t67.0").unwrap();
        assert_eq!(figure.text(), "67");
    }
}
