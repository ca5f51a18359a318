//! The limit on the active tasks of a client: the number that the program has set, or the number
//! that the service turns out to allow.

use std::time::Duration;

use tokio::time::Instant;

/// The number of active tasks before anything is known about the service.
const START: usize = 8;

/// The minimum and the maximum of [`Limit::patience`]. Without the maximum, a refused submission
/// would wait for days if the service refuses each probe, and no task ends, because its polls fail.
const PATIENCE: usize = 4;
const MOST_PATIENCE: usize = 64;

/// How long nothing may happen while a submission waits, before the client acts as if tasks had
/// ended; see [`Limit::waited`].
const QUIET: Duration = Duration::from_secs(1);

/// The maximum number of active tasks.
///
/// Without a setting, the limit starts small, and doubles when the service has accepted that many
/// submissions. When the service refuses a submission because of too many requests, the limit
/// becomes the number of tasks that are active at that time. After that, the client raises the
/// limit from time to time, to find out whether the service allows more.
#[derive(Debug)]
pub(super) struct Limit {
    most: usize,
    /// What the program has set.
    set: Option<usize>,
    phase: Phase,
    /// In `Growing` and `Returning`, the number of accepted submissions. In `Found`, the number of
    /// tasks that have ended since the limit changed.
    progress: usize,
    /// How many times as many tasks as the limit allows must end before the client raises the
    /// limit.
    patience: usize,
    /// The number of tasks by which the client raises the limit.
    step: usize,
    /// The last time at which a submission was accepted, a task ended, or a wait counted as one of
    /// these.
    quiet_since: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The program has set the limit.
    Set,
    /// Responses to submissions were lost, so the limit starts small again, and grows to the number
    /// that the program has set.
    Returning,
    /// The service has refused nothing yet.
    Growing,
    /// The service has refused a submission while no task of this client was active. This says
    /// nothing about the number of tasks that the service allows, unless the service is about to
    /// accept other submissions of this client.
    Doubted,
    /// The limit is known, because the service has refused a submission while tasks of this client
    /// were active.
    Found,
    /// The client has raised the limit, and does not know yet whether the service allows the
    /// additional tasks.
    Probing,
}

impl Limit {
    pub(super) fn new(set: Option<usize>) -> Self {
        Self {
            most: set.unwrap_or(START),
            set,
            phase: if set.is_some() { Phase::Set } else { Phase::Growing },
            progress: 0,
            patience: PATIENCE,
            step: 1,
            quiet_since: Instant::now(),
        }
    }

    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Whether the program has set the limit.
    pub(super) fn is_set(&self) -> bool {
        self.set.is_some()
    }

    /// Returns whether the program or a refusal of the service has determined the limit.
    pub(super) fn is_known(&self) -> bool {
        self.is_set() || matches!(self.phase, Phase::Found | Phase::Probing)
    }

    /// The service has accepted a submission. `active` tasks are active now.
    pub(super) fn accepted(&mut self, active: usize) {
        self.quiet_since = Instant::now();
        match self.phase {
            Phase::Set => {}
            Phase::Growing | Phase::Returning => {
                self.progress += 1;
                if self.progress >= self.most {
                    self.double();
                }
            }
            Phase::Doubted => self.find(active),
            Phase::Found => self.most = self.most.max(active),
            Phase::Probing => {
                if active >= self.most {
                    (self.most, self.phase) = (active, Phase::Found);
                    self.patience = (self.patience / 2).max(PATIENCE);
                    self.step = self.step.saturating_mul(2);
                }
            }
        }
    }

    /// The service has refused a submission while `active` tasks were active. If the service
    /// accepts other submissions at the same time, these raise the limit again.
    pub(super) fn refused(&mut self, active: usize) {
        if self.phase == Phase::Probing {
            self.patience = (self.patience * 2).min(MOST_PATIENCE);
        }
        match self.phase {
            Phase::Set | Phase::Returning => {}
            _ if active == 0 => self.phase = Phase::Doubted,
            _ => self.find(active),
        }
    }

    /// The responses to the last submissions were lost. Each may have been billed without a task
    /// that the client knows, so the limit becomes small again, and only a few more submissions can
    /// be lost.
    pub(super) fn lost(&mut self) {
        self.phase = if self.is_set() { Phase::Returning } else { Phase::Growing };
        (self.most, self.progress) = (self.most.min(START), 0);
    }

    /// A task has ended.
    pub(super) fn ended(&mut self) {
        self.quiet_since = Instant::now();
        self.count_use();
    }

    /// A submission has been waiting. If nothing has happened for a while, lets more submissions
    /// start. Otherwise slow responses, or tasks that nobody polls, would block the submissions.
    pub(super) fn waited(&mut self) {
        if self.quiet_since.elapsed() < QUIET {
            return;
        }
        self.quiet_since = Instant::now();
        match self.phase {
            Phase::Growing | Phase::Returning | Phase::Doubted => self.double(),
            _ => self.count_use(),
        }
    }

    fn find(&mut self, active: usize) {
        (self.most, self.phase, self.progress, self.step) = (active, Phase::Found, 0, 1);
    }

    fn double(&mut self) {
        self.most = self.most.saturating_mul(2);
        if let Some(set) = self.set.filter(|set| self.most >= *set) {
            (self.most, self.phase) = (set, Phase::Set);
        }
    }

    fn count_use(&mut self) {
        if self.phase != Phase::Found {
            return;
        }
        self.progress += 1;
        if self.progress >= self.most.saturating_mul(self.patience) {
            self.most = self.most.saturating_add(self.step);
            (self.phase, self.progress) = (Phase::Probing, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// What a client did at a service that allows a number of active tasks.
    #[derive(Debug, Default)]
    struct Run {
        refused: usize,
        most_active: usize,
        /// When each submission was accepted, in milliseconds.
        accepted_at: Vec<u64>,
    }

    /// Makes `count` pictures at a service that allows `allowed` active tasks. Delays are in
    /// milliseconds: `trip` until the service decides and again until the client knows, `task` for
    /// a task, and `unseen` until the client knows that the task has ended.
    fn run(count: usize, allowed: usize, delays: [&mut dyn FnMut() -> u64; 3]) -> Run {
        #[derive(PartialEq, Eq, PartialOrd, Ord)]
        enum Event {
            Decided,
            Responded(bool),
            Ended,
            Seen,
        }
        let [trip, task, unseen] = delays;
        let mut limit = Limit::new(None);
        let mut run = Run::default();
        let (mut waiting, mut sending, mut active, mut at_service) = (count, 0, 0, 0);
        let (mut events, mut number, mut now) = (BTreeSet::new(), 0, 0);
        loop {
            while waiting > 0 && sending + active < limit.most() {
                (waiting, sending, number) = (waiting - 1, sending + 1, number + 1);
                events.insert((now + trip(), number, Event::Decided));
            }
            let Some((at, _, event)) = events.pop_first() else { break };
            (now, number) = (at, number + 1);
            match event {
                Event::Decided => {
                    let is_accepted = at_service < allowed;
                    at_service += usize::from(is_accepted);
                    run.most_active = run.most_active.max(at_service);
                    events.insert((now + trip(), number, Event::Responded(is_accepted)));
                    if is_accepted {
                        run.accepted_at.push(now);
                        // Its acceptance arrives before its end is seen.
                        events.insert((now + 1000 + task(), number, Event::Ended));
                    }
                }
                Event::Responded(true) => {
                    (sending, active) = (sending - 1, active + 1);
                    limit.accepted(active);
                }
                Event::Responded(false) => {
                    (sending, waiting, run.refused) = (sending - 1, waiting + 1, run.refused + 1);
                    limit.refused(active);
                }
                Event::Ended => {
                    at_service -= 1;
                    events.insert((now + unseen(), number, Event::Seen));
                }
                Event::Seen => {
                    active -= 1;
                    limit.ended();
                }
            }
        }
        assert_eq!((waiting, sending, active), (0, 0, 0));
        run
    }

    fn delays(most: u64, seed: u64) -> impl FnMut() -> u64 {
        let mut random = fastrand::Rng::with_seed(seed);
        move || random.u64(0..=most)
    }

    #[test]
    fn a_limit_of_the_program_returns_step_by_step_after_an_outage() {
        let mut limit = Limit::new(Some(20));
        limit.lost();
        let mut most = vec![limit.most()];
        for active in 1..=24 {
            limit.accepted(active);
            most.push(limit.most());
        }
        most.dedup();
        assert_eq!(most, [8, 16, 20]);
        assert_eq!(limit.phase, Phase::Set);
        let mut small = Limit::new(Some(3));
        small.lost();
        assert_eq!(small.most(), 3);
    }

    #[test]
    fn however_often_a_limit_was_confirmed_it_is_raised_again() {
        let mut limit = Limit::new(None);
        limit.refused(3);
        for _ in 0..20 {
            let uses = (0..3 * MOST_PATIENCE).take_while(|_| {
                limit.ended();
                limit.phase == Phase::Found
            });
            assert!(uses.count() < 3 * MOST_PATIENCE);
            limit.refused(3);
        }
    }

    proptest! {
        /// Whatever the delays, all pictures are made, and few submissions are refused.
        #[test]
        fn a_service_refuses_few_submissions(
            allowed in prop_oneof![Just(6), 1..150_usize],
            trip in 0..400_u64,
            task in 0..60_000_u64,
            unseen in 0..5_000_u64, seed: u64,
        ) {
            let (mut trip, mut task) = (delays(trip, seed), delays(task, !seed));
            let mut unseen = delays(unseen, seed / 2);
            let run = run(100, allowed, [&mut trip, &mut task, &mut unseen]);
            prop_assert_eq!(run.accepted_at.len(), 100);
            prop_assert!(run.most_active <= allowed);
            // The refused submissions are those of the last doubling, and the probes.
            let most = if allowed == 6 { 10 } else { allowed.max(START) + 16 };
            prop_assert!(run.refused <= most, "{} of {most}", run.refused);
        }
    }
}
