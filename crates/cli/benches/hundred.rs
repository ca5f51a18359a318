//! How long `kiln` takes for a hundred pictures, of which each is ready after a second, at a
//! service that allows 24 active tasks. The least possible time is 4.2 seconds.
//!
//! ```text
//! cargo bench --package imagekiln-cli --bench hundred
//! ```

use std::{
    error::Error,
    process::Command,
    time::{Duration, Instant},
};

use imagekiln_simulator::{Config, Simulator};
use imagekiln_testbed::bench::{figure, is_bench};

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn main() -> Result<(), Box<dyn Error>> {
    let (pictures, rounds) = if is_bench() { ("100", 3) } else { ("2", 1) };
    let runtime = tokio::runtime::Runtime::new()?;
    let ready_after = Duration::from_secs(1);
    let config = Config { ready_after, max_active_tasks: 24, ..Config::default() };
    let simulator = runtime.block_on(Simulator::start(config))?;
    let commands = [
        ("kiln.generate", ["generate", "a red fox", "--count", pictures]),
        ("kiln.batch", ["batch", "run", "--prompt=a red fox", &format!("--seed=1..{pictures}")]),
    ];
    for (name, command) in commands {
        let mut seconds = Vec::new();
        for _ in 0..rounds {
            let folder = tempfile::tempdir()?;
            std::fs::create_dir(folder.path().join("pictures"))?;
            let mut kiln = Command::new(env!("CARGO_BIN_EXE_kiln"));
            kiln.args(command).args(["--width=64", "--height=64", "--output=pictures/"]);
            kiln.env_clear().current_dir(&folder);
            kiln.env("HOME", folder.path());
            kiln.env("IMAGEKILN_API_KEY", simulator.api_key());
            kiln.env("IMAGEKILN_BASE_URL", simulator.base_url());
            let started = Instant::now();
            let output = kiln.output()?;
            seconds.push(started.elapsed().as_secs_f64());
            if !output.status.success() {
                return Err(format!("{kiln:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
            }
        }
        figure(name, "s", seconds);
    }
    Ok(())
}
