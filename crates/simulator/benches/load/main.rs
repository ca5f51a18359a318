//! A load test: a constant rate of requests for a minute, with ten thousand active tasks. The
//! simulator runs in a separate process, so that its memory can be measured. The baseline is the
//! same load on a server with a constant response. Then the attacks, which `--attacks` makes alone.
//!
//! ```text
//! cargo bench --package imagekiln-simulator --bench load -- \
//!     [--rate 200] [--seconds 60] [--active 10000] [--attacks | --no-attacks]
//! ```

mod attacks;
mod drive;
mod process;

use std::{error::Error, time::Duration};

use imagekiln_testbed::bench::{figure, is_bench};

use self::drive::{Driver, Mix, Report};
use self::process::{KEPT_BYTES, Kind, Process};

struct Plan {
    rate: u32,
    seconds: u32,
    active: u64,
    attacks: bool,
    only_attacks: bool,
}

impl Plan {
    fn from_args() -> Result<Self, Box<dyn Error>> {
        let (seconds, active) = if is_bench() { (60, 10_000) } else { (1, 10) };
        let mut plan =
            Self { rate: 200, seconds, active, attacks: is_bench(), only_attacks: false };
        // Cargo adds `--bench` to the arguments.
        let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
        while let Some(name) = args.next() {
            if name == "--attacks" {
                plan.only_attacks = true;
                continue;
            }
            if name == "--no-attacks" {
                plan.attacks = false;
                continue;
            }
            let value = args.next().ok_or_else(|| format!("{name} needs a number"))?;
            match name.as_str() {
                "--rate" => plan.rate = value.parse()?,
                "--seconds" => plan.seconds = value.parse()?,
                "--active" => plan.active = value.parse()?,
                _ => {
                    return Err(format!(
                        "unknown option {name}: expected --rate, --seconds, --active, \
                         --attacks or --no-attacks"
                    )
                    .into());
                }
            }
        }
        Ok(plan)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(kind) = Kind::of_this_process() {
        return process::serve(kind);
    }
    let plan = Plan::from_args()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if !plan.only_attacks {
            run(&plan).await?;
        }
        if plan.attacks { attacks::run().await } else { Ok(()) }
    })
}

async fn run(plan: &Plan) -> Result<(), Box<dyn Error>> {
    let time = Duration::from_secs(plan.seconds.into());

    let baseline = Process::start(Kind::Baseline)?;
    let driver = Driver::new(&baseline.base_url);
    let constant = driver.hold(plan.rate, time, Mix::constant()).await;
    drop(baseline);

    let simulator = Process::start(Kind::Simulator)?;
    let idle = simulator.resident_bytes()?;
    let driver = Driver::new(&simulator.base_url);
    driver.fill(plan.active).await?;
    let filled = simulator.resident_bytes()?;
    let mut memory = Vec::new();
    let load = driver.hold(plan.rate, time, Mix::service());
    tokio::pin!(load);
    let mut second = tokio::time::interval(Duration::from_secs(1));
    let service = loop {
        tokio::select! {
            report = &mut load => break report,
            _ = second.tick() => memory.push(simulator.resident_bytes()?),
        }
    };

    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "{} requests per second for {} s, {} active tasks at the start",
        plan.rate, plan.seconds, plan.active
    );
    print("baseline", &constant);
    print("simulator", &service);
    for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
        let ratio = ratio(service.responses.quantile(part), constant.responses.quantile(part));
        figure(&format!("simulator.{name}.against_constant"), "ratio", vec![ratio]);
        let picture = service.pictures.quantile(part);
        figure(&format!("simulator.picture.{name}"), "ms", vec![millis(picture)]);
    }
    figure("simulator.failed", "", vec![service.failed as f64]);
    let largest = memory.iter().copied().fold(filled, u64::max);
    figure("simulator.resident", "MiB", vec![mib(largest)]);
    let tens: Vec<_> =
        memory.iter().skip(10).step_by(10).map(|bytes| format!("{:.0}", mib(*bytes))).collect();
    println!(
        "memory     {:.0} MiB at the start, {:.0} MiB with the tasks, then {} MiB every ten \
         seconds; up to {:.0} MiB may be kept",
        mib(idle),
        mib(filled),
        tens.join(", "),
        mib(KEPT_BYTES),
    );
    if service.failed > 0 {
        return Err(format!("{} requests failed: {:?}", service.failed, service.problems).into());
    }
    Ok(())
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64().max(f64::EPSILON)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn print(name: &str, report: &Report) {
    print!(
        "{name:<10} {:.1} responses per second, {} failed",
        report.responses_per_second(),
        report.failed
    );
    for (what, latencies) in [("responses", &report.responses), ("pictures", &report.pictures)] {
        let [p50, p99, longest] = [0.5, 0.99, 1.0].map(|part| millis(latencies.quantile(part)));
        if longest > 0.0 {
            print!("; {what}: p50 {p50:.2} ms, p99 {p99:.2} ms, longest {longest:.1} ms");
        }
    }
    println!();
}
