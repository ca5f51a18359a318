//! 10,000 tasks that wait at the same time: memory, sockets, CPU time, and how late the polls are.

use std::{
    collections::HashMap,
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::TryFutureExt;
use imagekiln::{
    Client, TaskRef, WaitOptions,
    middleware::{Exchange, HeaderMap, Middleware, Outcome},
};
use imagekiln_testbed::bench::{figure, is_bench};
use tokio::{
    runtime::Runtime,
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{HEAP, KIB, measure::Mark, server::Server};

/// A pause between two polls is random between these.
const SHORTEST: f64 = 2.5;
const LONGEST: f64 = 5.0;

pub fn run(runtime: &Runtime, server: &Server) {
    let (tasks, before, time) = if is_bench() { (10_000, 10.0, 20.0) } else { (10, 0.1, 0.1) };
    let [before, time] = [before, time].map(Duration::from_secs_f64);
    runtime.block_on(measure(server, tasks, before, time));
}

/// Measures for `time`, starting when the tasks have waited for `before`.
async fn measure(server: &Server, tasks: u32, before: Duration, time: Duration) {
    let pauses = Pauses::default();
    let client = Client::builder().api_key("key").base_url(&*server.url);
    let client = client.middleware(pauses.clone()).build().unwrap();
    let (heap, resident) = (HEAP.current_usage(), resident());
    let interval = Duration::from_secs_f64(LONGEST);
    let options = WaitOptions::default().interval(interval).max_interval(interval);
    let mut waits = JoinSet::new();
    for number in 0..tasks {
        let url = format!("{}/v1/get_result?id={number}", server.url);
        let task = client.task(TaskRef::new(number.to_string(), url, None));
        waits.spawn(task.wait_with(options).map_ok(drop));
    }
    sleep(before).await;
    pauses.start();
    let started = Mark::now();
    sleep(time).await;
    let cost = started.elapsed(1);
    let pauses = pauses.stop();
    let each = |bytes: usize| vec![bytes as f64 / KIB / f64::from(tasks)];
    figure("waiting.heap_per_task", "KiB", each(HEAP.current_usage().saturating_sub(heap)));
    figure("waiting.resident_per_task", "KiB", each(self::resident().saturating_sub(resident)));
    figure("waiting.sockets", "", vec![sockets() as f64]);
    if let Some(cpu) = cost.cpu {
        let minute = cpu.as_secs_f64() * 60.0 / cost.time.as_secs_f64();
        figure("waiting.cpu_per_minute", "s", vec![minute]);
    }
    figure("waiting.polls_per_second", "", vec![pauses.len() as f64 / time.as_secs_f64()]);
    // The pauses are uniformly distributed, so their 99th percentile is known.
    let late = percentile(pauses, 0.99) - (SHORTEST + 0.99 * (LONGEST - SHORTEST));
    figure("waiting.lateness_p99", "ms", vec![late * 1000.0]);
    waits.abort_all();
}

fn percentile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((last as f64 * part).round() as usize).copied().unwrap_or(LONGEST)
}

/// Records the time from each response to the next poll of the same task, in seconds.
#[derive(Clone, Default)]
struct Pauses(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// `None` before the measurement, so that the record needs no memory while memory is measured.
    pauses: Option<Vec<f64>>,
    ended: HashMap<String, Instant>,
}

impl Pauses {
    fn start(&self) {
        self.0.lock().unwrap().pauses = Some(Vec::new());
    }

    fn stop(&self) -> Vec<f64> {
        let mut state = self.0.lock().unwrap();
        state.ended = HashMap::new();
        state.pauses.take().unwrap()
    }
}

impl Middleware for Pauses {
    fn before(&self, exchange: &Exchange<'_>, _: &mut HeaderMap) {
        let State { pauses, ended } = &mut *self.0.lock().unwrap();
        let task = exchange.task_id.unwrap();
        if let (Some(pauses), Some(ended)) = (pauses, ended.remove(task)) {
            pauses.push(ended.elapsed().as_secs_f64());
        }
    }

    fn after(&self, exchange: &Exchange<'_>, _: &Outcome) {
        let State { pauses, ended } = &mut *self.0.lock().unwrap();
        if pauses.is_some() {
            ended.insert(exchange.task_id.unwrap().to_owned(), Instant::now());
        }
    }
}

/// Returns the resident memory of this process in bytes, on Linux.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kib.unwrap_or_default() * 1024
}

/// Returns the number of open sockets of this process, on Linux.
fn sockets() -> usize {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.filter(|target| target.as_os_str().as_encoded_bytes().starts_with(b"socket:")).count()
}
