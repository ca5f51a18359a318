//! Snapshots of the simulator.

use std::sync::LazyLock;

use imagekiln_simulator::{Config, Simulator, Snapshot};

use crate::service::run;

/// A snapshot is restored, and then again from what the simulator saves, or it is refused and
/// changes nothing.
pub fn snapshot(data: &[u8]) {
    static SIMULATOR: LazyLock<Simulator> = LazyLock::new(|| {
        let config = Config {
            max_input_pixels: 64 * 1024,
            max_output_pixels: 64 * 1024,
            max_output_side: 512,
            ..Config::default()
        };
        run(Simulator::start(config)).expect("a simulator")
    });
    let read = match Snapshot::from_json(data) {
        Ok(snapshot) => snapshot,
        Err(error) => return assert_printable(&error.to_string()),
    };
    let known = || (SIMULATOR.counts(), SIMULATOR.tasks().len(), SIMULATOR.faults().rules());
    let before = format!("{:?}", known());
    if let Err(error) = run(SIMULATOR.restore(&read)) {
        assert_printable(&error.to_string());
        return assert_eq!(format!("{:?}", known()), before, "{error}");
    }
    let after = format!("{:?}", known());
    let saved = Snapshot::from_json(&SIMULATOR.snapshot().to_json()).expect("a saved snapshot");
    run(SIMULATOR.restore(&saved)).expect("a saved snapshot can be restored");
    assert_eq!(format!("{:?}", known()), after);
}

fn assert_printable(error: &str) {
    assert!(!error.contains(char::is_control) && error.len() < 4096, "{error:?}");
    assert!(!error.contains("the simulator failed"), "{error}");
}
