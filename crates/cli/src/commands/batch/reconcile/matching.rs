//! Decides which entries of the usage belong to which unknown jobs. Everything that is not certain
//! is left to a person: a job that was billed, but counts as not billed, would be submitted and
//! paid for again.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
    time::{Duration, SystemTime},
};

use super::usage::Entry;

/// How much earlier than the submission the time of its entry may be, because the clocks of the
/// service and of this machine may differ.
const BEFORE: Duration = Duration::from_secs(5 * 60);

/// How much later than the submission the time of its entry may be: a request may take this long to
/// reach the service.
const AFTER: Duration = Duration::from_secs(15 * 60);

/// The facts about a submission that an entry of the usage may show.
#[derive(Debug, Clone)]
pub struct Submission {
    pub model: String,
    pub sent_at: SystemTime,
    pub prompt: Option<String>,
    /// The expected cost in credits, if the model has a price.
    pub expected: Option<f64>,
    /// The id of the task, if it is known.
    pub task: Option<String>,
}

/// The usage: what the service says that it has charged.
pub struct Usage {
    entries: Vec<Entry>,
    /// The tasks that are known to belong to other submissions, so an unknown job cannot have them.
    claimed: HashSet<String>,
    /// The time range for which the usage has all entries.
    complete: Range<SystemTime>,
}

/// What the usage says about a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// The job was billed, and has the task with this id.
    Task(String),
    /// The job was billed, but the usage does not show its task.
    Paid,
    NotPaid,
    /// A person has to decide, for this reason.
    Open(String),
}

/// Jobs that share possible entries, so that one decision is made about all of them. The keys are
/// the positions of the jobs and of the entries.
struct Group<'u> {
    jobs: BTreeMap<usize, &'u Submission>,
    entries: BTreeMap<usize, &'u Entry>,
}

/// Returns a finding for each of the jobs `unknown`. `charged` are submissions that were certainly
/// charged: a complete usage must show them.
pub fn decide(unknown: &[Submission], charged: &[Submission], usage: &Usage) -> Vec<Finding> {
    let mut groups: Vec<Group> = Vec::new();
    for (index, job) in unknown.iter().enumerate() {
        let mut group = Group { jobs: [(index, job)].into(), entries: usage.candidates(job) };
        let (same, others): (Vec<_>, _) = groups.into_iter().partition(|other: &Group| {
            other.entries.keys().any(|entry| group.entries.contains_key(entry))
        });
        for other in same {
            group.jobs.extend(other.jobs);
            group.entries.extend(other.entries);
        }
        groups = others;
        groups.push(group);
    }
    let mut findings = BTreeMap::new();
    for group in groups {
        let Some(job) = group.jobs.values().next() else { continue };
        let finding = match usage.shows(charged, &job.model) {
            Some(false) => Finding::Open("the usage lacks other jobs of its model".to_owned()),
            shows if group.entries.is_empty() => usage.without(job, shows, unknown, charged),
            _ => group.finding(charged),
        };
        findings.extend(group.jobs.keys().map(|job| (*job, finding.clone())));
    }
    findings.into_values().collect()
}

impl Group<'_> {
    fn finding(&self, charged: &[Submission]) -> Finding {
        let entries = || self.entries.values();
        let tasks: Vec<_> = entries().filter_map(|entry| entry.task.clone()).collect();
        let is_rival = |other: &&Submission| entries().any(|entry| other.fits(entry));
        let rivals = if tasks.is_empty() { charged.iter().filter(is_rival).count() } else { 0 };
        match (self.jobs.len(), entries().len(), &tasks[..]) {
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

impl Usage {
    pub fn new(
        mut entries: Vec<Entry>,
        claimed: HashSet<String>,
        complete: Range<SystemTime>,
    ) -> Self {
        entries.sort_by_key(|entry| entry.time);
        Self { entries, claimed, complete }
    }

    /// Returns the entries around the time of a submission, with their positions.
    fn near(&self, submission: &Submission) -> impl Iterator<Item = (usize, &Entry)> {
        let first = self.entries.partition_point(|it| it.time + BEFORE < submission.sent_at);
        let later = self.entries.iter().enumerate().skip(first);
        later.take_while(|(_, entry)| entry.time <= submission.sent_at + AFTER)
    }

    fn is_free(&self, entry: &Entry) -> bool {
        entry.task.as_ref().is_none_or(|task| !self.claimed.contains(task))
    }

    /// Returns the entries that may belong to a job. If some of them have the expected cost,
    /// returns only these.
    fn candidates(&self, job: &Submission) -> BTreeMap<usize, &Entry> {
        let fitting =
            self.near(job).filter(|(_, entry)| self.is_free(entry) && job.fits_text(entry));
        let mut found: BTreeMap<_, _> = fitting.collect();
        let is_expected = |entry: &Entry| {
            let costs = job.expected.zip(entry.cost);
            costs.is_some_and(|(expected, cost)| (expected - cost).abs() < 0.005)
        };
        if found.values().any(|entry| is_expected(entry)) {
            found.retain(|_, entry| is_expected(entry));
        }
        found
    }

    /// Whether the usage shows all submissions to a model that were charged in its time range. If
    /// it does not, it may have other names of models, another time zone, or only a part of the
    /// entries, and proves nothing. Returns `None` if there is no such submission to compare with.
    fn shows(&self, charged: &[Submission], model: &str) -> Option<bool> {
        let is_shown = |it: &Submission| self.near(it).any(|(_, entry)| it.is(entry));
        let same = charged.iter().filter(|it| it.model == model && self.covers(it));
        same.map(is_shown).reduce(|all, one| all && one)
    }

    /// Returns what the usage proves about a job to which no entry can belong: that the job was not
    /// billed, but only if the usage would certainly show the job.
    fn without(
        &self,
        job: &Submission,
        shows: Option<bool>,
        unknown: &[Submission],
        charged: &[Submission],
    ) -> Finding {
        let open = |why: &str| Finding::Open(why.to_owned());
        if !self.covers(job) {
            return open("the usage may lack entries of its time");
        }
        if shows.is_none() {
            return open("no other job of its model shows whether the usage is complete");
        }
        // The service may shorten or change prompts in the usage. An entry of the same model and
        // time may therefore belong to the job, unless its prompt is exactly that of another job.
        let is_of_another = |entry: &Entry| {
            let others = unknown.iter().chain(charged);
            let has_prompt = |it: &Submission| it.prompt.is_some() && it.prompt == entry.prompt;
            others.filter(|it| it.prompt != job.prompt).any(|it| has_prompt(it) && it.fits(entry))
        };
        let others = self.near(job).filter(|(_, it)| self.is_free(it) && it.model == job.model);
        for (_, entry) in others {
            if !is_of_another(entry) {
                return open("an entry of its model and time has the prompt of no other job");
            }
        }
        Finding::NotPaid
    }

    fn covers(&self, submission: &Submission) -> bool {
        self.complete.start + BEFORE <= submission.sent_at
            && submission.sent_at + AFTER <= self.complete.end
    }
}

impl Submission {
    fn fits(&self, entry: &Entry) -> bool {
        let is_in_time = entry.time + BEFORE >= self.sent_at && entry.time <= self.sent_at + AFTER;
        is_in_time && self.fits_text(entry)
    }

    fn fits_text(&self, entry: &Entry) -> bool {
        let prompts = self.prompt.as_deref().zip(entry.prompt.as_deref());
        entry.model == self.model && prompts.is_none_or(|(own, shown)| is_prompt(own, shown))
    }

    /// Whether an entry shows this submission: it has the same task or, in a usage without ids of
    /// tasks, it fits.
    fn is(&self, entry: &Entry) -> bool {
        self.fits(entry) && entry.task.as_ref().is_none_or(|task| self.task.as_ref() == Some(task))
    }
}

/// Whether the usage shows this prompt: with any white space, and perhaps only its beginning,
/// followed by an ellipsis.
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
        Submission { model, sent_at: at(second), prompt, expected: None, task: None }
    }

    fn entry(second: u64, task: Option<&str>, prompt: Option<&str>) -> Entry {
        let [task, prompt] = [task, prompt].map(|text| text.map(str::to_owned));
        Entry { time: at(second), model: "gen-2-pro".to_owned(), task, cost: Some(3.0), prompt }
    }

    /// A job that was certainly charged, long before the others. A usage that shows this job counts
    /// as complete.
    fn castle() -> Submission {
        Submission { task: Some("t0".to_owned()), ..job(400, "a castle") }
    }

    fn with_castle(entries: &[Entry]) -> Vec<Entry> {
        [&[entry(401, Some("t0"), Some("a castle"))], entries].concat()
    }

    fn decided(jobs: &[Submission], entries: &[Entry], charged: &[Submission]) -> Vec<Finding> {
        let claimed = charged.iter().filter_map(|job| job.task.clone()).collect();
        decide(jobs, charged, &Usage::new(entries.to_vec(), claimed, at(0)..at(100_000)))
    }

    fn task(id: &str) -> Finding {
        Finding::Task(id.to_owned())
    }

    fn open(why: &str) -> Finding {
        Finding::Open(why.to_owned())
    }

    #[test]
    fn the_evidence_decides() {
        let jobs = [job(5000, "a fox"), job(5010, "a wolf"), job(5020, "an owl")];
        let entries =
            [entry(5001, Some("t1"), Some("a  fox")), entry(5021, Some("t2"), Some("an o…"))];
        let left = open("an entry of its model and time has the prompt of no other job");
        let found = decided(&jobs, &with_castle(&entries), &[castle()]);
        assert_eq!(found, [task("t1"), left, task("t2")]);
        let entries =
            [entry(5001, Some("t1"), Some("a fox")), entry(5021, Some("t2"), Some("an owl"))];
        let found = decided(&jobs, &with_castle(&entries), &[castle()]);
        assert_eq!(found, [task("t1"), Finding::NotPaid, task("t2")]);
        let without = |task: Option<&str>| [entry(5001, task, None)];
        assert_eq!(decided(&jobs[..1], &without(Some("t1")), &[]), [task("t1")]);
        assert_eq!(decided(&jobs[..1], &without(None), &[]), [Finding::Paid]);
        let two = open("1 entry of the usage may be of 2 unknown jobs: t1");
        assert_eq!(decided(&jobs[..2], &without(Some("t1")), &[]), [two.clone(), two]);
        let rival = open("1 entry of the usage may be of 1 unknown job, or of 1 other job");
        assert_eq!(decided(&jobs[..1], &without(None), &jobs[1..2]), [rival]);
        let early = [entry(5000 - 301, Some("t1"), None), entry(5000 + 901, Some("t2"), None)];
        let found = decided(&jobs[..1], &with_castle(&early), &[castle()]);
        assert_eq!(found, [Finding::NotPaid]);
    }

    #[test]
    fn an_entry_that_is_missing_proves_nothing_alone() {
        let fox = [job(5000, "a fox")];
        for complete in [at(4900)..at(9999), at(0)..at(5100)] {
            let usage = Usage::new(with_castle(&[]), HashSet::new(), complete);
            let lacks = open("the usage may lack entries of its time");
            assert_eq!(decide(&fox, &[castle()], &usage), [lacks]);
        }
        let whole = with_castle(&[]);
        assert_eq!(decided(&fox, &whole, &[castle()]), [Finding::NotPaid]);
        let flex = Submission { model: "gen-2-flex".to_owned(), ..castle() };
        for nothing in [&[][..], &[flex]] {
            let why = open("no other job of its model shows whether the usage is complete");
            assert_eq!(decided(&fox, &whole, nothing), [why]);
        }
        let other_zone = Submission { sent_at: at(4000), ..castle() };
        let not_shown = Submission { task: Some("t9".to_owned()), ..castle() };
        // An entry that fits the job decides nothing either, if the usage lacks a charged job.
        let more = with_castle(&[entry(5001, Some("t1"), Some("a fox"))]);
        for (entries, charged) in [
            (&whole, &[other_zone][..]),
            (&whole, &[castle(), not_shown.clone()]),
            (&more, &[not_shown]),
        ] {
            let why = open("the usage lacks other jobs of its model");
            assert_eq!(decided(&fox, entries, charged), [why]);
        }
    }

    #[test]
    fn the_expected_cost_decides_between_entries() {
        let jobs = [Submission { expected: Some(4.0), ..job(5000, "a fox") }];
        let mut entries = [entry(5001, Some("t1"), None), entry(5002, Some("t2"), None)];
        assert!(matches!(decided(&jobs, &entries, &[])[0], Finding::Open(_)));
        entries[1].cost = Some(4.0);
        assert_eq!(decided(&jobs, &entries, &[]), [task("t2")]);
        // Another cost than the expected one does not exclude an entry, because the price may be
        // wrong.
        assert_eq!(decided(&jobs, &entries[..1], &[]), [task("t1")]);
    }

    proptest! {
        /// `sent` has a submission each: its time, its prompt and, if it was billed, the delay of
        /// its entry. The other arguments say how the usage differs from the truth: what it leaves
        /// out, renames or shortens, and its time zone.
        #[test]
        fn no_decision_contradicts_the_truth(
            sent in vec((0..4000_u64, 0..3_usize, option::of(0..600_u64)), 1..12),
            [shows_tasks, shows_prompts, renames, cuts] in any::<[bool; 4]>(),
            shift in prop_oneof![Just(0), Just(3600)],
        ) {
            let prompts = ["a fox", "a wolf", "an owl"];
            let jobs = sent.iter().map(|(second, prompt, _)| job(5000 + second, prompts[*prompt]));
            let jobs: Vec<_> = jobs.collect();
            let ids: Vec<_> = (0..jobs.len()).map(|index| format!("t{index}x")).collect();
            let shown = |second: u64, id: &str, prompt: &str| {
                let prompt = if cuts { &prompt[..4] } else { prompt };
                let (id, prompt) = (shows_tasks.then_some(id), shows_prompts.then_some(prompt));
                let model = if renames { "GEN 2 (pro)" } else { "gen-2-pro" }.to_owned();
                Entry { model, ..entry(second + shift, id, prompt) }
            };
            let billed = sent.iter().zip(&ids).filter_map(|((second, prompt, delay), id)| {
                Some(shown(5000 + second + (*delay)?, id, prompts[*prompt]))
            });
            let entries: Vec<_> = billed.chain([shown(401, "t0", "a castle")]).collect();
            let found = decided(&jobs, &entries, &[castle()]);
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
