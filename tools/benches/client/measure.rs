//! Compares candidates in one run. Rounds of all candidates alternate, so that noise of the machine
//! affects all of them.

use std::{pin::Pin, time::Duration};

use futures_util::future::join_all;
use imagekiln_testbed::bench::{figure, is_bench};
use tokio::{runtime::Runtime, time::Instant};

/// How often to measure.
#[derive(Clone, Copy)]
pub struct Plan {
    pub rounds: usize,
    /// The number of operations per round.
    pub operations: u32,
}

impl Plan {
    /// Returns this plan in `cargo bench`, and the smallest one in `cargo test`, which checks only
    /// that the benchmark works.
    pub fn new(rounds: usize, operations: u32) -> Self {
        if is_bench() { Self { rounds, operations } } else { Self { rounds: 1, operations: 1 } }
    }
}

type Round<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// One of the programs to compare.
pub struct Candidate<'a> {
    name: &'static str,
    /// Runs this many operations.
    run: Box<dyn Fn(u32) -> Round<'a> + 'a>,
}

impl<'a> Candidate<'a> {
    pub fn new<F: Future<Output = ()> + 'a>(
        name: &'static str,
        run: impl Fn(u32) -> F + 'a,
    ) -> Self {
        Self { name, run: Box::new(move |operations| Box::pin(run(operations))) }
    }

    /// A candidate that always has this many operations in progress.
    pub fn repeated<F: Future<Output = ()> + 'a>(
        name: &'static str,
        at_once: u32,
        run: impl Fn() -> F + Clone + 'a,
    ) -> Self {
        Self::new(name, move |operations| {
            let run = run.clone();
            async move {
                let run = &run;
                let some = || async move {
                    for _ in 0..operations.div_ceil(at_once) {
                        run().await;
                    }
                };
                join_all((0..at_once).map(|_| some())).await;
            }
        })
    }
}

/// Prints the time and the CPU time per operation of each candidate in microseconds, and the rate
/// of the first candidate divided by the rate of each other one.
pub fn compare(runtime: &Runtime, subject: &str, plan: Plan, candidates: &[Candidate<'_>]) {
    let mut rounds = vec![Vec::new(); candidates.len()];
    for _ in 0..plan.rounds {
        for (candidate, rounds) in candidates.iter().zip(&mut rounds) {
            let started = Mark::now();
            runtime.block_on((candidate.run)(plan.operations));
            rounds.push(started.elapsed(plan.operations));
        }
    }
    for (Candidate { name, .. }, rounds) in candidates.iter().zip(&rounds) {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let times = rounds.iter().map(|cost| micros(cost.time)).collect();
        figure(&format!("{subject}.{name}.time"), "us", times);
        let cpu: Vec<_> = rounds.iter().filter_map(|cost| cost.cpu.map(micros)).collect();
        if !cpu.is_empty() {
            figure(&format!("{subject}.{name}.cpu"), "us", cpu);
        }
    }
    let [ours, baselines @ ..] = &*rounds else { return };
    for (Candidate { name, .. }, baseline) in candidates[1..].iter().zip(baselines) {
        let pairs = ours.iter().zip(baseline);
        let ratios = pairs.map(|(ours, other)| other.time.div_duration_f64(ours.time));
        figure(&format!("{subject}.against_{name}"), "ratio", ratios.collect());
    }
}

/// The cost of one operation.
#[derive(Clone, Copy)]
pub struct Cost {
    pub time: Duration,
    /// The CPU time of the process, on systems that report it precisely.
    pub cpu: Option<Duration>,
}

/// A point in time, and the CPU time that this process had used by then.
pub struct Mark(Instant, Option<Duration>);

impl Mark {
    pub fn now() -> Self {
        Self(Instant::now(), cpu_time())
    }

    /// Returns the cost of each of `operations` operations since this mark.
    pub fn elapsed(&self, operations: u32) -> Cost {
        let (time, cpu) = (self.0.elapsed(), cpu_time());
        let cpu = self.1.zip(cpu).map(|(before, now)| (now - before) / operations);
        Cost { time: time / operations, cpu }
    }
}

#[cfg(unix)]
fn cpu_time() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

#[cfg(not(unix))]
fn cpu_time() -> Option<Duration> {
    None
}
