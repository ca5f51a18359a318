//! Whether workers submitted jobs after they had lost their leases.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use sqlx_core::{connection::Connection as _, query_as::query_as, query_scalar::query_scalar};
use sqlx_postgres::PgConnection;

use super::scenario::Scenario;
use crate::support::token;

/// The time for which a request may be on its way on a busy machine.
const TRANSIT: Duration = Duration::from_millis(500);

impl Scenario {
    /// Returns the names of the jobs that the service accepted from a worker after another one had
    /// taken over its jobs. A worker of `suspended` may have been suspended between the check of
    /// its lease and the first byte of the request.
    pub async fn late_submissions(&self, suspended: &HashSet<i64>) -> Vec<String> {
        let mut database = PgConnection::connect(&self.fixture.ledger_name()).await.unwrap();
        let ends = "SELECT s.token, w.id, w.ended_at FROM imagekiln.submissions s
            JOIN imagekiln.workers w ON w.ended_at IS NOT NULL AND w.id = s.worker";
        let ends: Vec<(String, i64, i64)> = query_as(ends).fetch_all(&mut database).await.unwrap();
        let ends: HashMap<_, _> =
            ends.into_iter().map(|(token, worker, end)| (token, (worker, end))).collect();
        assert!(!ends.is_empty(), "no submission names its worker");
        // The clock of the database is that of the machine.
        let now = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT";
        let now: i64 = query_scalar(now).fetch_one(&mut database).await.unwrap();
        let started_at = now - milliseconds(self.fixture.simulator.clock().now());
        let mut late = Vec::new();
        for task in self.fixture.simulator.tasks() {
            let Some((worker, end)) = ends.get(token(&task)) else { continue };
            let accepted_at = started_at + milliseconds(task.accepted_at);
            if accepted_at > end + milliseconds(TRANSIT) && !suspended.contains(worker) {
                late.push(task.request["prompt"].to_string());
            }
        }
        late
    }
}

fn milliseconds(duration: Duration) -> i64 {
    duration.as_millis().try_into().unwrap()
}
