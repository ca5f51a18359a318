//! The figures that benchmarks print, which `cargo xtask bench` collects.

/// Whether `cargo bench` runs this program. `cargo test` does not pass the argument, and checks
/// only that the benchmark works.
pub fn is_bench() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// Prints the median and the quartiles of `values` in one line that programs and people can read:
/// five fields, separated by tabs, which are the name, the unit, the median, and the quartiles.
pub fn figure(name: &str, unit: &str, mut values: Vec<f64>) {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    let at = |part: f64| {
        let value = values.get((last as f64 * part).round() as usize);
        value.copied().unwrap_or(f64::NAN)
    };
    println!("{name:<44}\t{unit:<6}\t{:9.3}\t{:9.3}\t{:9.3}", at(0.5), at(0.25), at(0.75));
}
