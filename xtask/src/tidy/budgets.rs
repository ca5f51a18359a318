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

/// Returns the pages that exceed their budgets, and what is wrong. `list` is the text of [`PAGE`],
/// and `sizes` has the bytes of each page.
pub fn exceeded(list: &str, sizes: &[(String, usize)]) -> Result<Vec<(String, String)>> {
    let words: Vec<_> = list.split_whitespace().collect();
    let words = words.join(" ");
    let of_others = number(&words, "A page has at most ", " bytes,")?;
    let of_all = number(&words, "exceed their budgets, or ", " bytes together")?;
    let mut budgets = budgets(list, "| bytes | pages |")?;
    let listed: BTreeSet<_> = budgets.iter().flat_map(|budget| budget.pages.clone()).collect();
    let others = sizes.iter().map(|(page, _)| page.as_str());
    let others = others.filter(|page| !listed.contains(page));
    budgets.extend(others.map(|page| Budget { bytes: of_others, pages: vec![page] }));
    let mut problems = Vec::new();
    for budget in budgets {
        let of_budget = sizes.iter().filter(|(page, _)| budget.pages.contains(&page.as_str()));
        let used: usize = of_budget.map(|(_, bytes)| bytes).sum();
        if used > budget.bytes {
            let place = budget.pages.join(" + ");
            problems.push((place, format!("{used} bytes of {} in {PAGE}", budget.bytes)));
        }
    }
    let all: usize = sizes.iter().map(|(_, bytes)| bytes).sum();
    if all > of_all {
        problems.push((PAGE.to_owned(), format!("all pages have {all} bytes of {of_all}")));
    }
    Ok(problems)
}

/// Returns the number between two texts.
fn number(words: &str, before: &str, after: &str) -> Result<usize> {
    let number = words.split_once(before).and_then(|(_, rest)| rest.split_once(after));
    let number = number.with_context(|| format!("{PAGE} does not say \"{before}...{after}\""))?.0;
    number.replace(',', "").parse().with_context(|| format!("{PAGE}: {number}"))
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
    const LIST: &str = "A page has at most 100 bytes, or the budget of its row. It fails if pages \
        exceed their budgets, or 1,200 bytes together.\n\n\
        | bytes | pages |\n|---|---|\n| 500 | `a.md`, `b.md` |\n| 400 | `c.md` + `d.md` |\n";

    fn exceeded(sizes: &[(&str, usize)]) -> Vec<String> {
        let sizes: Vec<_> = sizes.iter().map(|(page, size)| ((*page).to_owned(), *size)).collect();
        let problems = super::exceeded(LIST, &sizes).unwrap();
        problems.into_iter().map(|(page, what)| format!("{page}: {what}")).collect()
    }

    #[test]
    fn pages_within_their_budgets_are_no_problem() {
        let sizes = [("a.md", 500), ("b.md", 200), ("c.md", 100), ("d.md", 300), ("x.md", 100)];
        assert!(exceeded(&sizes).is_empty());
    }

    #[test]
    fn each_kind_of_problem_is_found() {
        assert_eq!(exceeded(&[("a.md", 501)]), ["a.md: 501 bytes of 500 in docs/checks.md"]);
        let shared = exceeded(&[("c.md", 200), ("d.md", 201)]);
        assert_eq!(shared, ["c.md + d.md: 401 bytes of 400 in docs/checks.md"]);
        assert_eq!(exceeded(&[("x.md", 101)]), ["x.md: 101 bytes of 100 in docs/checks.md"]);
        let all = exceeded(&[("a.md", 500), ("b.md", 500), ("c.md", 101), ("x.md", 100)]);
        assert_eq!(all, ["docs/checks.md: all pages have 1201 bytes of 1200"]);
    }

    #[test]
    fn a_list_that_cannot_be_read_is_an_error() {
        for list in [
            LIST.replace("1,200", "many"),
            LIST.replace("at most", "up to"),
            LIST.replace("| pages |", "| others |"),
            LIST.replace("500", "x"),
            LIST.replace("`b.md`", "`a.md`"),
        ] {
            assert!(super::exceeded(&list, &[]).is_err(), "{list}");
        }
    }
}
