//! Which entries of the usage belong to which unknown jobs. What is not certain is left to a
//! person: a job that was billed and counts as not billed is paid for twice.

use std::{
    collections::BTreeMap,
    ops::Range,
    time::{Duration, SystemTime},
};

use super::usage::Entry;

/// How much earlier than its submission an entry may be, because two clocks differ.
const BEFORE: Duration = Duration::from_secs(5 * 60);

/// How much later than its submission an entry may be: the longest that a request may be on its
/// way.
const AFTER: Duration = Duration::from_secs(15 * 60);

/// A submission, as far as an entry may show it.
#[derive(Debug, Clone)]
pub struct Submission {
    pub model: String,
    pub sent_at: SystemTime,
    pub prompt: Option<String>,
    /// Its expected cost in credits.
    pub expected: Option<f64>,
}

/// What the usage says about a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// It has the task with this id.
    Task(String),
    /// It was billed; the usage does not show its task.
    Paid,
    NotPaid,
    /// Why a person has to decide.
    Open(String),
}

/// Jobs of which each may be one of the same entries, by their positions.
struct Group<'u> {
    jobs: BTreeMap<usize, &'u Submission>,
    entries: BTreeMap<usize, &'u Entry>,
}

/// Decides about `jobs`. `entries` have none whose task belongs to another submission; those
/// without a task may be of the `known` submissions. The usage is complete during `complete`.
pub fn decide(
    jobs: &[Submission],
    entries: &[Entry],
    known: &[Submission],
    complete: &Range<SystemTime>,
) -> Vec<Finding> {
    let mut groups: Vec<Group> = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        let mut group = Group { jobs: [(index, job)].into(), entries: job.candidates(entries) };
        let (same, others): (Vec<_>, _) = groups.into_iter().partition(|other| group.meets(other));
        for other in same {
            group.jobs.extend(other.jobs);
            group.entries.extend(other.entries);
        }
        groups = others;
        groups.push(group);
    }
    let mut findings = BTreeMap::new();
    for group in groups {
        let finding = group.finding(known, complete);
        findings.extend(group.jobs.keys().map(|job| (*job, finding.clone())));
    }
    findings.into_values().collect()
}

impl Group<'_> {
    fn meets(&self, other: &Self) -> bool {
        other.entries.keys().any(|entry| self.entries.contains_key(entry))
    }

    fn finding(&self, known: &[Submission], complete: &Range<SystemTime>) -> Finding {
        let entries = || self.entries.values();
        let tasks: Vec<_> = entries().filter_map(|entry| entry.task.clone()).collect();
        let is_rival = |other: &&Submission| entries().any(|entry| other.fits(entry));
        let rivals = if tasks.is_empty() { known.iter().filter(is_rival).count() } else { 0 };
        match (self.jobs.len(), entries().len(), &tasks[..]) {
            (_, 0, _) if self.jobs.values().all(|job| job.is_covered(complete)) => Finding::NotPaid,
            (_, 0, _) => Finding::Open("the usage may lack entries of its time".to_owned()),
            (1, 1, [task]) => Finding::Task(task.clone()),
            (jobs, entries, []) if entries >= jobs + rivals => Finding::Paid,
            (jobs, entries, _) => {
                let entries = counted(entries, "entry of the usage", "entries of the usage");
                let jobs = counted(jobs, "unknown job", "unknown jobs");
                let rivals = match rivals {
                    0 => String::new(),
                    count => format!(", or of {}", counted(count, "other job", "other jobs")),
                };
                let tasks = match &tasks[..] {
                    [] => String::new(),
                    tasks => format!(": {}", tasks.join(", ")),
                };
                Finding::Open(format!("{entries} may be of {jobs}{rivals}{tasks}"))
            }
        }
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

impl Submission {
    /// The entries that this submission may be: those of the expected cost if there are some.
    fn candidates<'u>(&self, entries: &'u [Entry]) -> BTreeMap<usize, &'u Entry> {
        let fitting = entries.iter().enumerate().filter(|(_, entry)| self.fits(entry));
        let mut found: BTreeMap<_, _> = fitting.collect();
        let is_expected = |entry: &Entry| {
            let costs = self.expected.zip(entry.cost);
            costs.is_some_and(|(expected, cost)| (expected - cost).abs() < 0.005)
        };
        if found.values().any(|entry| is_expected(entry)) {
            found.retain(|_, entry| is_expected(entry));
        }
        found
    }

    fn fits(&self, entry: &Entry) -> bool {
        let is_in_time = entry.time + BEFORE >= self.sent_at && entry.time <= self.sent_at + AFTER;
        let prompts = self.prompt.as_deref().zip(entry.prompt.as_deref());
        is_in_time
            && entry.model == self.model
            && prompts.is_none_or(|(own, shown)| is_prompt(own, shown))
    }

    fn is_covered(&self, complete: &Range<SystemTime>) -> bool {
        complete.start + BEFORE <= self.sent_at && self.sent_at + AFTER <= complete.end
    }
}

/// Whether a usage shows a prompt, perhaps only its beginning, and with other white space.
fn is_prompt(own: &str, shown: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (own, shown) = (words(own), words(shown));
    let beginning = shown.strip_suffix("...").or_else(|| shown.strip_suffix('…'));
    own == shown || beginning.is_some_and(|beginning| own.starts_with(beginning.trim_end()))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, option, prelude::*};

    use super::*;

    const START: u64 = 1_795_000_000;

    fn at(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(START + second)
    }

    fn job(second: u64, prompt: &str) -> Submission {
        let (model, prompt) = ("gen-2-pro".to_owned(), Some(prompt.to_owned()));
        Submission { model, sent_at: at(second), prompt, expected: None }
    }

    fn entry(second: u64, task: Option<&str>, prompt: Option<&str>) -> Entry {
        let [task, prompt] = [task, prompt].map(|text| text.map(str::to_owned));
        Entry { time: at(second), model: "gen-2-pro".to_owned(), task, cost: Some(3.0), prompt }
    }

    fn decided(jobs: &[Submission], entries: &[Entry], known: &[Submission]) -> Vec<Finding> {
        decide(jobs, entries, known, &(at(0)..at(100_000)))
    }

    #[test]
    fn the_evidence_decides() {
        let task = |id: &str| Finding::Task(id.to_owned());
        let jobs = [job(1000, "a fox"), job(1010, "a wolf"), job(1020, "an owl")];
        let entries =
            [entry(1001, Some("t1"), Some("a  fox")), entry(1021, Some("t2"), Some("an o…"))];
        let expected = [task("t1"), Finding::NotPaid, task("t2")];
        assert_eq!(decided(&jobs, &entries, &[]), expected);
        let without = |task: Option<&str>| [entry(1001, task, None)];
        assert_eq!(decided(&jobs[..1], &without(Some("t1")), &[]), [task("t1")]);
        assert_eq!(decided(&jobs[..1], &without(None), &[]), [Finding::Paid]);
        let open = |why: &str| Finding::Open(why.to_owned());
        let two = open("1 entry of the usage may be of 2 unknown jobs: t1");
        assert_eq!(decided(&jobs[..2], &without(Some("t1")), &[]), [two.clone(), two]);
        let rival = open("1 entry of the usage may be of 1 unknown job, or of 1 other job");
        assert_eq!(decided(&jobs[..1], &without(None), &jobs[1..2]), [rival]);
        // Another time, another model, and what the usage does not cover.
        let early = [entry(1000 - 301, Some("t1"), None), entry(1000 + 901, Some("t2"), None)];
        assert_eq!(decided(&jobs[..1], &early, &[]), [Finding::NotPaid]);
        let other = [Entry { model: "gen-2-max".to_owned(), ..entry(1000, None, None) }];
        assert_eq!(decided(&jobs[..1], &other, &[]), [Finding::NotPaid]);
        for complete in [at(900)..at(9999), at(0)..at(1100)] {
            let lacks = open("the usage may lack entries of its time");
            assert_eq!(decide(&jobs[..1], &[], &[], &complete), [lacks]);
        }
    }

    #[test]
    fn the_expected_cost_decides_between_entries() {
        let jobs = [Submission { expected: Some(4.0), ..job(1000, "a fox") }];
        let mut entries = [entry(1001, Some("t1"), None), entry(1002, Some("t2"), None)];
        assert!(matches!(decided(&jobs, &entries, &[])[0], Finding::Open(_)));
        entries[1].cost = Some(4.0);
        assert_eq!(decided(&jobs, &entries, &[]), [Finding::Task("t2".to_owned())]);
        // A price may be wrong: another cost is no proof.
        assert_eq!(decided(&jobs, &entries[..1], &[]), [Finding::Task("t1".to_owned())]);
    }

    proptest! {
        /// Submissions, whether each was billed, and how much later its entry is.
        #[test]
        fn no_decision_contradicts_the_truth(
            sent in vec((0..4000_u64, 0..3_usize, option::of(0..600_u64)), 1..12),
            shows_tasks in any::<bool>(),
            shows_prompts in any::<bool>(),
        ) {
            let prompts = ["a fox", "a wolf", "an owl"];
            let jobs = sent.iter().map(|(second, prompt, _)| job(5000 + second, prompts[*prompt]));
            let jobs: Vec<_> = jobs.collect();
            let ids: Vec<_> = (0..jobs.len()).map(|index| format!("t{index}")).collect();
            let billed = sent.iter().zip(&ids).filter_map(|((second, prompt, delay), id)| {
                let (task, prompt) = (shows_tasks.then_some(&**id), prompts[*prompt]);
                Some(entry(5000 + second + (*delay)?, task, shows_prompts.then_some(prompt)))
            });
            let entries: Vec<_> = billed.collect();
            let found = decided(&jobs, &entries, &[]);
            for (((.., delay), id), found) in sent.iter().zip(&ids).zip(found) {
                match found {
                    Finding::NotPaid => prop_assert!(delay.is_none()),
                    Finding::Paid => prop_assert!(delay.is_some()),
                    Finding::Task(task) => prop_assert!(delay.is_some() && task == *id),
                    Finding::Open(_) => {}
                }
            }
        }
    }
}
