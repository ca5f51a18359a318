//! Active tasks: how many there are, and which queued jobs the limits allow workers to claim.

use std::collections::{HashMap, HashSet};

use super::{StoredLimit, StoredLimits, Subject, outage};
use crate::{
    Error, Scope,
    ledger::database::{Database, Value},
    state::{ACTIVE, OPEN, UNFINISHED},
};

/// Returns the number of jobs between their submission and the saved picture. Jobs that a worker
/// gave up for now (`left_after`) do not count, because their tasks may never become final.
pub(super) fn count_active_jobs(database: &mut Database) -> Result<u64, Error> {
    let count = format!("SELECT COUNT(*) FROM jobs WHERE {ACTIVE} AND left_after IS NULL");
    Ok(database.value::<i64>(&count, [])?.unsigned_abs())
}

/// Returns the number of active tasks by scope: active jobs, and submissions without a job that are
/// not known to have ended. Optionally also counts the queued jobs that a worker has claimed and is
/// about to submit.
pub(in crate::ledger) fn count_active(
    database: &mut Database,
    with_claimed: bool,
) -> Result<HashMap<Scope, i64>, Error> {
    // The condition of claimed jobs begins with the text of an index.
    let claimed = format!(
        "UNION ALL SELECT operation, group_name, COUNT(*) FROM jobs
            WHERE {OPEN} AND state = 'queued'
            AND worker IN (SELECT id FROM workers WHERE ended_at IS NULL)
            GROUP BY operation, group_name"
    );
    let counted = format!(
        "SELECT operation, group_name, COUNT(*) FROM jobs
            WHERE {ACTIVE} AND left_after IS NULL GROUP BY operation, group_name
        UNION ALL SELECT operation, group_name, COUNT(*) FROM submissions
            WHERE job IS NULL AND {UNFINISHED} GROUP BY operation, group_name {}",
        if with_claimed { &*claimed } else { "" }
    );
    let mut active = HashMap::new();
    let rows = database.rows::<(String, Option<String>, i64)>(&counted, [])?;
    for (operation, group, count) in &rows {
        for scope in (Subject { operation, group: group.as_deref() }).scopes() {
            *active.entry(scope).or_default() += count;
        }
    }
    Ok(active)
}

/// Decides which queued jobs a worker may claim. It closes the scopes that are paused, have as many
/// active tasks as they may have, or have used up their rate. Otherwise, a worker could claim only
/// jobs that have to wait, and the jobs of one group would delay those of all others.
pub(in crate::ledger) struct Gate {
    limits: StoredLimits,
    active: HashMap<Scope, i64>,
    /// How many submissions the rates and the outages allow now.
    turns: HashMap<Scope, i64>,
    closed: HashSet<Scope>,
    /// The scopes in which a budget does not allow pictures with this many pixels or more.
    blocked: Vec<(Scope, u64)>,
}

impl Gate {
    pub(in crate::ledger) fn read(
        database: &mut Database,
        blocked: &[(Scope, u64)],
    ) -> Result<Self, Error> {
        let condition = "paused_at IS NOT NULL OR max_active IS NOT NULL OR rate IS NOT NULL";
        let limits = StoredLimits::read(database, condition, [])?;
        let has_caps = limits.0.values().any(|limit| limit.max_active.is_some());
        let active = if has_caps { count_active(database, true)? } else { HashMap::new() };
        let now = database.now();
        let turns = limits.0.iter().filter_map(|(scope, of)| Some((scope.clone(), of.turns(now)?)));
        let mut turns: HashMap<_, _> = turns.collect();
        let mut closed = HashSet::new();
        for (scope, is_due) in outage::held_scopes(database)? {
            if is_due {
                // One job may be submitted: the probe that tests whether the outage has ended.
                turns.entry(scope).and_modify(|turns| *turns = (*turns).min(1)).or_insert(1);
            } else {
                closed.insert(scope);
            }
        }
        let mut gate = Self { limits, active, turns, closed, blocked: blocked.to_vec() };
        let known: Vec<_> = gate.limits.0.keys().chain(gate.active.keys()).cloned().collect();
        known.into_iter().for_each(|scope| gate.close_if_full(scope));
        Ok(gate)
    }

    fn close_if_full(&mut self, scope: Scope) {
        let StoredLimit { max_active, is_paused, .. } = self.limits.of(&scope);
        let active = self.active.get(&scope).copied().unwrap_or_default();
        // A limit for "each group" has no count of its own. It is checked against the tasks of each
        // group.
        let is_full = max_active.is_some_and(|most| active >= most) && scope != Scope::EachGroup;
        let has_no_turn = self.turns.get(&scope).is_some_and(|turns| *turns <= 0);
        if is_paused || is_full || has_no_turn {
            self.closed.insert(scope);
        }
    }

    /// Whether no job can be claimed.
    pub(in crate::ledger) fn is_closed(&self) -> bool {
        self.closed.contains(&Scope::Ledger)
    }

    /// Returns true if this gate may hold back jobs.
    pub(in crate::ledger) fn is_limiting(&self) -> bool {
        !self.closed.is_empty() || !self.blocked.is_empty()
    }

    /// Whether a worker may claim one more job of this operation and group. If so, the job counts
    /// as active from now on.
    pub(in crate::ledger) fn admits(&mut self, subject: Subject<'_>) -> bool {
        let scopes = subject.scopes();
        if scopes.iter().any(|scope| self.closed.contains(scope)) {
            return false;
        }
        for scope in scopes {
            *self.active.entry(scope.clone()).or_default() += 1;
            self.turns.entry(scope.clone()).and_modify(|turns| *turns -= 1);
            self.close_if_full(scope);
        }
        true
    }

    /// Returns the condition that a job belongs to no closed scope and that no budget blocks it,
    /// and adds its values.
    pub(in crate::ledger) fn condition(&self, values: &mut Vec<Value>) -> String {
        let mut condition = String::new();
        let (mut operations, mut groups) = (Vec::new(), Vec::new());
        for scope in &self.closed {
            let list = match scope {
                Scope::Ledger => continue,
                Scope::EachGroup => {
                    condition.push_str(" AND group_name IS NULL");
                    continue;
                }
                Scope::Operation(_) => &mut operations,
                Scope::Group(_) => &mut groups,
            };
            values.push(scope.columns().1.into());
            list.push(format!("${}", values.len()));
        }
        for (column, list) in [("operation", operations), ("COALESCE(group_name, '')", groups)] {
            if !list.is_empty() {
                condition.push_str(&format!(" AND {column} NOT IN ({})", list.join(", ")));
            }
        }
        for (scope, pixels) in &self.blocked {
            values.extend([scope.columns().1.into(), pixels.cast_signed().into()]);
            let (column, name, least) = (scope.job_column(), values.len() - 1, values.len());
            let other = format!("COALESCE({column}, '') <> ${name}");
            condition.push_str(&format!(" AND ({other} OR pixels < ${least})"));
        }
        condition
    }
}
