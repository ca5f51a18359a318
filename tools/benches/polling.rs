//! How late and how often tasks are polled, on simulated time: the schedule of the client beside
//! fixed and exponential ones. Prints a table with a million tasks for each schedule.
//!
//! ```text
//! cargo bench --bench polling
//! ```

#[path = "../../src/task/schedule.rs"]
#[expect(dead_code, reason = "no waits here begin late or receive webhooks")]
mod schedule;

use fastrand::Rng;

use schedule::{Events, Schedule, Seen, WaitProgress};

/// How the next duration is drawn from the number of the task.
type Service = (&'static str, fn(usize, &mut Rng) -> f64);

const SERVICES: [Service; 13] = [
    ("1.63 s", |_, _| 1.63),
    ("4.21 s", |_, _| 4.21),
    ("9.37 s", |_, _| 9.37),
    ("120 s", |_, _| 120.0),
    ("1.63 s ± 10 %", |_, random| varied(1.63, 0.1, random)),
    ("4.21 s ± 10 %", |_, random| varied(4.21, 0.1, random)),
    ("9.37 s ± 10 %", |_, random| varied(9.37, 0.1, random)),
    ("120 s ± 10 %", |_, random| varied(120.0, 0.1, random)),
    ("4.21 s ± 30 %", |_, random| varied(4.21, 0.3, random)),
    ("1 to 10 s", |_, random| 1.0 + 9.0 * random.f64()),
    ("2 s or 8 s", |_, random| if random.bool() { 2.0 } else { 8.0 }),
    ("at least 2 s, heavy tail", |_, random| 2.0 / (1.0 - random.f64()).powf(1.0 / 1.5)),
    ("3 s, every second hundred 30 s", |index, random| {
        varied(if index % 200 < 100 { 3.0 } else { 30.0 }, 0.1, random)
    }),
];

fn varied(duration: f64, by: f64, random: &mut Rng) -> f64 {
    duration * (1.0 - by + 2.0 * by * random.f64())
}

/// The schedules that are compared, each with its polls of a task.
#[derive(Clone, Copy)]
enum Polls {
    /// The schedule of the client, which has made pictures before.
    Warmed,
    /// That of a client that has just started.
    Cold,
    Every(f64),
    /// Each gap is half as long again as the one before it.
    Exponential,
}

const SCHEDULES: [(&str, Polls); 6] = [
    ("imagekiln", Polls::Warmed),
    ("imagekiln, first task", Polls::Cold),
    ("0.5 s", Polls::Every(0.5)),
    ("1 s", Polls::Every(1.0)),
    ("1.5 s", Polls::Every(1.5)),
    ("0.5 s × 1.5", Polls::Exponential),
];

impl Polls {
    /// Returns the age of the poll that finds the task, and the number of its polls.
    fn find(self, duration: f64, schedule: &mut Schedule, random: &mut Rng) -> (f64, u32) {
        let (mut last, mut polls) = (0.0, 0);
        loop {
            let age = match self {
                Self::Warmed | Self::Cold => {
                    let progress = WaitProgress {
                        in_progress_at: last,
                        age: last,
                        polls,
                        waiting: 1,
                        events: Events::Missing,
                        is_surprised: false,
                    };
                    schedule.next(progress, random.f64())
                }
                Self::Every(gap) => last + gap,
                Self::Exponential => last + 0.5 * 1.5_f64.powi(polls as i32),
            };
            polls += 1;
            if age >= duration {
                if matches!(self, Self::Warmed) {
                    schedule.learn(Seen { after: last, by: age });
                }
                return (age, polls);
            }
            last = age;
        }
    }
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let tasks = if is_bench { 1_000_000 / SERVICES.len() } else { 200 };
    println!("Mean lateness, its 99th percentile in seconds, and polls of {tasks} tasks a cell.\n");
    println!("| durations | {} |", SCHEDULES.map(|(name, _)| name).join(" | "));
    println!("|---|{}", "---|".repeat(SCHEDULES.len()));
    for (service, duration) in SERVICES {
        let cells = SCHEDULES.map(|(_, polls)| cell(polls, duration, tasks));
        println!("| {service} | {} |", cells.join(" | "));
    }
}

fn cell(polls: Polls, duration: fn(usize, &mut Rng) -> f64, tasks: usize) -> String {
    let (mut random, mut schedule) = (Rng::with_seed(1), Schedule::default());
    let (mut late, mut sum) = (Vec::new(), 0);
    for index in 0..tasks {
        let duration = duration(index, &mut random);
        let (found_at, count) = polls.find(duration, &mut schedule, &mut random);
        late.push(found_at - duration);
        sum += count;
    }
    late.sort_by(f64::total_cmp);
    let mean = late.iter().sum::<f64>() / tasks as f64;
    let p99 = late.get(tasks * 99 / 100).copied().unwrap_or_default();
    format!("{mean:.2}, {p99:.2}, {:.1}", f64::from(sum) / tasks as f64)
}
