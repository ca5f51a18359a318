//! Reads the tables of `docs/key-hosts.md`, so that tests can compare them with the code.

use url::Url;

fn page() -> &'static str {
    imagekiln_testbed::page("docs/key-hosts.md")
}

/// Tests that every row of the tables with this header is one of the cases.
pub(super) fn is_part_of(header: &str, cases: &[(&str, &str, bool)]) {
    for [base, url, verdict] in rows(header) {
        let is_row = |case: &&(&str, &str, bool)| case.0 == base && case.1 == url;
        let found = cases.iter().find(is_row);
        let (.., expected) = found.unwrap_or_else(|| panic!("{base} {url} is not a case"));
        assert_eq!(verdict, if *expected { "yes" } else { "no" }, "{base} {url}");
    }
}

/// Returns the first three cells of every row in the tables with this header, without backticks.
fn rows(header: &str) -> Vec<[String; 3]> {
    let tables = page().split(header).skip(1);
    let rows: Vec<[String; 3]> = tables.flat_map(table_rows).collect();
    assert!(!rows.is_empty(), "the page has a table with the header {header}");
    rows
}

fn table_rows(table: &str) -> impl Iterator<Item = [String; 3]> {
    // Skip the rest of the header and the separator line.
    table.lines().skip(2).take_while(|line| line.starts_with('|')).map(|line| {
        let cells = line.trim_matches('|').split('|');
        let cells: Vec<String> =
            cells.map(|cell| cell.trim().trim_matches('`').to_owned()).collect();
        cells[..3].to_vec().try_into().expect("three columns")
    })
}

pub(super) fn same_host(one: &str, other: &str) -> bool {
    let host = |text| super::Host::of(&Url::parse(text).unwrap());
    host(one) == host(other)
}
