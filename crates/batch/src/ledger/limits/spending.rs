//! What the submissions of each operation cost.

use crate::{
    Error, Price, Prices,
    ledger::database::{Database, FromRow, Row},
};

/// The submissions of an operation that were not withdrawn.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::ledger) struct Spending {
    pub(in crate::ledger) operation: String,
    /// The sum of the known costs in credits.
    pub(in crate::ledger) credits: f64,
    /// The number of submissions without a known cost.
    pub(in crate::ledger) without_cost: u64,
    /// The sum of their pixels.
    pub(in crate::ledger) pixels: u64,
    /// The number of submissions without a response.
    pub(in crate::ledger) open: u64,
}

impl Spending {
    /// Returns what the submissions without a known cost may cost.
    pub(in crate::ledger) fn reserved(&self, price: Option<Price>) -> f64 {
        price.map_or(0.0, |price| price.of_all(self.without_cost, self.pixels))
    }
}

impl FromRow for Spending {
    fn from_row(row: &Row<'_>) -> Result<Self, Error> {
        Ok(Self {
            operation: row.named("operation")?,
            credits: row.named("credits")?,
            without_cost: row.named::<i64>("without_cost")?.unsigned_abs(),
            pixels: row.named::<i64>("pixels")?.unsigned_abs(),
            open: row.named::<i64>("open")?.unsigned_abs(),
        })
    }
}

/// Returns [`Spending`] by operation: of a group, or of the whole ledger if its name is empty. The
/// table has several rows per operation, because each connection of PostgreSQL changes a row of its
/// own.
pub(in crate::ledger) const SPENDING: &str = "SELECT operation, SUM(credits) AS credits,
        CAST(SUM(without_cost) AS BIGINT) AS without_cost, CAST(SUM(pixels) AS BIGINT) AS pixels,
        CAST(SUM(open) AS BIGINT) AS open
    FROM spending WHERE group_name = $1 GROUP BY operation ORDER BY operation";

/// Returns the prices of the operations: those that were set, and the highest known costs.
pub(in crate::ledger) fn prices(database: &mut Database) -> Result<Prices, Error> {
    let set = "SELECT operation, credits, per_megapixel FROM prices";
    let known = "SELECT operation, MAX(price) FROM spending
        WHERE group_name = '' AND price IS NOT NULL GROUP BY operation";
    let set = database.rows::<(String, f64, f64)>(set, [])?.into_iter();
    let set = set
        .map(|(operation, credits, per_megapixel)| (operation, Price { credits, per_megapixel }));
    let known = database.rows(known, [])?.into_iter().collect();
    Ok(Prices::new(set.collect(), known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::database::migrations::tests as ledgers;

    const COUNTED: &str = "SELECT operation,
            COALESCE(SUM(cost) FILTER (WHERE state <> 'withdrawn'), 0.0) AS credits,
            COUNT(*) FILTER (WHERE state <> 'withdrawn' AND cost IS NULL) AS without_cost,
            CAST(COALESCE(SUM(pixels) FILTER (WHERE state <> 'withdrawn' AND cost IS NULL), 0)
                AS BIGINT) AS pixels,
            COUNT(*) FILTER (WHERE state = 'open') AS open
        FROM submissions WHERE ($1 = '' OR group_name = $1)
        GROUP BY operation ORDER BY operation";

    /// A random change of a submission, or a new one. The sums of the costs are exact.
    fn change(random: &mut fastrand::Rng, number: usize) -> String {
        let state = random.choice(["'open'", "'accepted'", "'settled'", "'withdrawn'"]).unwrap();
        let cost = random.choice(["NULL", "0", "1.5", "3"]).unwrap();
        if number > 0 && random.u8(..) < 170 {
            let what = match random.u8(..4) {
                0 => format!("state = {state}"),
                1 => format!("cost = {cost}"),
                2 => "record = 'new'".to_owned(),
                _ => format!("state = {state}, cost = {cost}"),
            };
            let from = random.usize(..number);
            return format!("UPDATE submissions SET {what} WHERE id BETWEEN {from} AND {from} + 2");
        }
        let operation = random.choice(["'gen-2-pro'", "'gen-2-flex'"]).unwrap();
        let group = random.choice(["NULL", "'anna'", "'bob'"]).unwrap();
        let pixels = random.u64(..) % 5_000_000;
        format!(
            "INSERT INTO submissions
                (intent_id, operation, record, state, cost, sent_at, group_name, pixels)
             VALUES ('{number}', {operation}, '', 'open', {cost}, 0, {group}, {pixels})"
        )
    }

    /// After each change, the triggers have counted what the submissions add up to.
    fn check_spending(mut database: Database) {
        let mut random = fastrand::Rng::with_seed(7);
        for number in 0..400 {
            let change = change(&mut random, number);
            database.execute(&change, []).unwrap();
            for group in ["", "anna", "bob"] {
                let counted: Vec<Spending> = database.rows(COUNTED, [group.into()]).unwrap();
                let kept: Vec<Spending> = database.rows(SPENDING, [group.into()]).unwrap();
                assert_eq!(kept, counted, "{change}, group `{group}`");
            }
        }
        let costs = "SELECT (SELECT MAX(price) FROM spending), (SELECT MAX(cost) FROM submissions)";
        let highest = database.row::<(f64, f64)>(costs, []).unwrap().unwrap();
        assert_eq!(highest, (3.0, 3.0));
    }

    #[test]
    fn spending_is_what_submissions_add_up_to() {
        check_spending(ledgers::sqlite());
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn spending_is_what_submissions_add_up_to_in_postgres() {
        if let Some(database) = ledgers::postgres() {
            check_spending(database);
        }
    }
}
