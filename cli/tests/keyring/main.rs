//! `kiln login` with a real keyring, on a separate session bus.

#[cfg(unix)]
#[allow(dead_code, unused_imports, unused_macros, reason = "shared with other tests")]
#[path = "../it/bench.rs"]
mod bench;
#[cfg(unix)]
mod stored;

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
fn main() {
    use imagekiln_testbed::{Requirement, Runtime, run, test};

    const KEYRING: Requirement = Requirement {
        name: "a keyring",
        is_present: stored::has_keyring,
        advice: "apt-get install gnome-keyring dbus",
        variable: "IMAGEKILN_KEYRING_TESTS",
    };
    type Test = (&'static str, fn());
    const TESTS: [Test; 4] = [
        ("the_keyring_has_the_key", stored::the_keyring_has_the_key),
        ("each_profile_has_an_entry", stored::each_profile_has_an_entry),
        ("without_a_bus_the_key_is_in_a_file", stored::without_a_bus_the_key_is_in_a_file),
        (
            "a_keyring_that_is_gone_or_locked_is_reported",
            stored::a_keyring_that_is_gone_or_locked_is_reported,
        ),
    ];
    // A bench has a runtime of its own, which cannot start in another one.
    let in_thread = |body: fn()| async move {
        std::thread::spawn(body).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    };
    let tests = TESTS.map(|(name, body)| {
        test(name, &[KEYRING], Runtime::CurrentThread, move || in_thread(body))
    });
    run(tests.into());
}
