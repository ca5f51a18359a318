//! The budget of each page, which is listed in `docs/checks.md`.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};

/// The page with the list.
pub const PAGE: &str = "docs/checks.md";

/// A limit in bytes for pages together.
struct Budget<'a> {
    bytes: usize,
    pages: Vec<&'a str>,
}

/// Returns the pages that have no budget or exceed it, and what is wrong. `list` is the text of
/// [`PAGE`], and `sizes` has the bytes of each page.
pub fn exceeded(list: &str, sizes: &[(String, usize)]) -> Result<Vec<(String, String)>> {
    let by_hand = budgets(list, "| bytes | pages written by hand |")?;
    let generated = budgets(list, "| bytes | generated pages |")?;
    let is_in =
        |budgets: &[Budget], page: &str| budgets.iter().any(|budget| budget.pages.contains(&page));
    let mut problems = Vec::new();
    for (page, bytes) in sizes {
        if !is_in(&by_hand, page) && !is_in(&generated, page) {
            problems.push((page.clone(), format!("{bytes} bytes, but no budget in {PAGE}")));
        }
    }
    for budget in by_hand.iter().chain(&generated) {
        let of_budget = sizes.iter().filter(|(page, _)| budget.pages.contains(&page.as_str()));
        let used: usize = of_budget.map(|(_, bytes)| bytes).sum();
        if used > budget.bytes {
            let place = budget.pages.join(" + ");
            problems.push((place, format!("{used} bytes of {} in {PAGE}", budget.bytes)));
        }
    }
    let words: Vec<_> = list.split_whitespace().collect();
    let words = words.join(" ");
    let most = words.split_once("the pages written by hand exceed ").map(|(_, rest)| rest);
    let most = most.and_then(|rest| rest.split_once(" bytes together"));
    let most = most.with_context(|| format!("{PAGE} does not say how long all pages may be"))?.0;
    let most: usize = most.replace(',', "").parse().with_context(|| format!("{PAGE}: {most}"))?;
    let all: usize =
        sizes.iter().filter(|(page, _)| is_in(&by_hand, page)).map(|(_, bytes)| bytes).sum();
    if all > most {
        problems.push((PAGE.to_owned(), format!("all pages have {all} bytes of {most}")));
    }
    Ok(problems)
}

/// Reads the table with this header: bytes, and names in backticks that each have as many. Pages
/// joined by ` + ` have them together.
fn budgets<'a>(list: &'a str, header: &str) -> Result<Vec<Budget<'a>>> {
    let mut lines = list.lines().skip_while(|line| *line != header);
    ensure!(lines.next().is_some(), "{PAGE} has no table with the header {header}");
    let mut budgets = Vec::new();
    let mut known = BTreeSet::new();
    for row in lines.skip(1).take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let [_, bytes, pages, _] = cells[..] else {
            anyhow::bail!("{PAGE}: not two cells: {row}");
        };
        let bytes = bytes.parse().with_context(|| format!("{PAGE}: {row}"))?;
        for pages in pages.split(", ") {
            let pages: Vec<_> = pages.split(" + ").map(|page| page.trim_matches('`')).collect();
            for page in &pages {
                ensure!(known.insert(*page), "{PAGE}: {page} has two budgets");
            }
            budgets.push(Budget { bytes, pages });
        }
    }
    Ok(budgets)
}

#[cfg(test)]
mod tests {
    const LIST: &str = "It fails if the pages written by hand exceed 1,200 bytes together.\n\n\
        | bytes | pages written by hand |\n|---|---|\n| 500 | `a.md`, `b.md` |\n\
        | 400 | `c.md` + `d.md` |\n\n| bytes | generated pages |\n|---|---|\n| 900 | `e.md` |\n";

    fn exceeded(sizes: &[(&str, usize)]) -> Vec<String> {
        let sizes: Vec<_> = sizes.iter().map(|(page, size)| ((*page).to_owned(), *size)).collect();
        let problems = super::exceeded(LIST, &sizes).unwrap();
        problems.into_iter().map(|(page, what)| format!("{page}: {what}")).collect()
    }

    #[test]
    fn pages_within_their_budgets_are_no_problem() {
        let sizes = [("a.md", 500), ("b.md", 300), ("c.md", 100), ("d.md", 300), ("e.md", 900)];
        assert!(exceeded(&sizes).is_empty());
    }

    #[test]
    fn each_kind_of_problem_is_found() {
        assert_eq!(exceeded(&[("a.md", 501)]), ["a.md: 501 bytes of 500 in docs/checks.md"]);
        assert_eq!(exceeded(&[("e.md", 901)]), ["e.md: 901 bytes of 900 in docs/checks.md"]);
        let shared = exceeded(&[("c.md", 200), ("d.md", 201)]);
        assert_eq!(shared, ["c.md + d.md: 401 bytes of 400 in docs/checks.md"]);
        assert_eq!(exceeded(&[("x.md", 7)]), ["x.md: 7 bytes, but no budget in docs/checks.md"]);
        let all = exceeded(&[("a.md", 500), ("b.md", 500), ("c.md", 201)]);
        assert_eq!(all, ["docs/checks.md: all pages have 1201 bytes of 1200"]);
    }

    #[test]
    fn a_list_that_cannot_be_read_is_an_error() {
        for list in [
            LIST.replace("1,200", "many"),
            LIST.replace("generated pages", "others"),
            LIST.replace("500", "x"),
            LIST.replace("`e.md`", "`a.md`, `a.md`"),
        ] {
            assert!(super::exceeded(&list, &[]).is_err(), "{list}");
        }
    }
}
