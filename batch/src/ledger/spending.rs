//! What the submissions of each operation cost.

/// The submissions of an operation that were not withdrawn: the highest known cost of one in
/// credits, the sum of the known costs, the number of those without a known cost, and of those
/// without a response.
pub(super) type Spending = (String, Option<f64>, f64, i64, i64);

/// Returns [`Spending`] by operation: of a group, or of the whole ledger if its name is empty. The
/// parts of an operation are those of the connections.
pub(super) const SPENDING: &str = "SELECT operation, MAX(price), SUM(credits),
        CAST(SUM(without_cost) AS BIGINT), CAST(SUM(open) AS BIGINT)
    FROM spending WHERE group_name = $1 GROUP BY operation ORDER BY operation";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{database::Database, migrations::tests as ledgers};

    /// The triggers count what the submissions add up to after each change.
    async fn check_spending(mut database: Database) {
        type Rows = Vec<(String, Option<f64>, f64, i64, i64)>;
        const COUNTED: &str = "SELECT operation, MAX(cost),
                COALESCE(SUM(cost) FILTER (WHERE state <> 'withdrawn'), 0.0),
                COUNT(*) FILTER (WHERE state <> 'withdrawn' AND cost IS NULL),
                COUNT(*) FILTER (WHERE state = 'open')
            FROM submissions WHERE $1 = '' OR group_name = $1
            GROUP BY operation ORDER BY operation";
        for change in [
            "INSERT INTO submissions
                (intent_id, operation, record, state, cost, sent_at, group_name)
             VALUES ('s1', 'old', '', 'open', NULL, 0, NULL),
                ('s2', 'old', '', 'open', NULL, 0, NULL),
                ('s3', 'old', '', 'accepted', 3, 0, NULL)",
            "UPDATE submissions SET state = 'accepted', cost = 4 WHERE intent_id = 's1'",
            "UPDATE submissions SET state = 'withdrawn' WHERE intent_id = 's2'",
            "UPDATE submissions SET state = 'open' WHERE intent_id = 's2'",
            "UPDATE submissions SET state = 'settled', cost = 1.5 WHERE intent_id = 's2'",
            "UPDATE submissions SET cost = cost + 1 WHERE cost IS NOT NULL",
            "INSERT INTO submissions
                (intent_id, operation, record, state, cost, sent_at, group_name)
             VALUES ('n1', 'new', '', 'open', NULL, 0, NULL),
                ('n2', 'new', '', 'settled', 7, 0, NULL),
                ('n3', 'new', '', 'withdrawn', NULL, 0, NULL),
                ('n4', 'new', '', 'open', NULL, 0, 'anna'),
                ('n5', 'old', '', 'open', NULL, 0, 'anna')",
            "UPDATE submissions SET state = 'accepted', cost = 3 WHERE intent_id = 'n4'",
            "UPDATE submissions SET state = 'settled', cost = 5 WHERE group_name = 'anna'",
            "UPDATE submissions SET record = 'new'",
        ] {
            database.execute(change, []).await.unwrap();
            for group in ["", "anna"] {
                let counted: Rows = database.rows(COUNTED, [group.into()]).await.unwrap();
                let kept: Rows = database.rows(SPENDING, [group.into()]).await.unwrap();
                assert_eq!(kept, counted, "{change} {group}");
            }
        }
    }

    #[tokio::test]
    async fn spending_is_what_submissions_add_up_to() {
        check_spending(ledgers::sqlite().await).await;
    }

    #[cfg(feature = "postgres")]
    #[tokio::test]
    async fn spending_is_what_submissions_add_up_to_in_postgres() {
        if let Some(database) = ledgers::postgres().await {
            check_spending(database).await;
        }
    }
}
