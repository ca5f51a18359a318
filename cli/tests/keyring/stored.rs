//! The place of the key after each command.

use std::{fs, process::Command};

use crate::bench::{Bench, Outcome};

/// A shell script on a session bus with an unlocked keyring. `lock` locks it, and `no_bus` runs a
/// command that finds no bus.
const SETTING: &str = r#"
printf password | gnome-keyring-daemon --unlock --components=secrets --foreground \
    > daemon.log 2>&1 &
daemon=$!
trap 'kill $daemon' EXIT
gdbus wait --session --timeout 30 org.freedesktop.secrets
lock() {
    dbus-send --session --print-reply --dest=org.freedesktop.secrets /org/freedesktop/secrets \
        org.freedesktop.Secret.Service.Lock \
        array:objpath:/org/freedesktop/secrets/collection/login > /dev/null
}
no_bus() { env DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere "$@"; }
"#;

#[expect(clippy::disallowed_methods, reason = "the test has no `Process`")]
pub fn has_keyring() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_found = |program| std::env::split_paths(&path).any(|bin| bin.join(program).is_file());
    ["dbus-run-session", "dbus-send", "gdbus", "gnome-keyring-daemon"].into_iter().all(is_found)
}

/// Runs a script in which `kiln` is the program. The key is in `$KEY`.
#[expect(clippy::disallowed_methods, reason = "the test has no `Process`")]
fn script(bench: &Bench, lines: &str) -> Outcome {
    let home = bench.place.path("home");
    fs::create_dir_all(&home).unwrap();
    let mut command = bench.shell_command("");
    let text = format!("{SETTING}{lines}");
    let mut session = Command::new("dbus-run-session");
    session.args(["--", "sh", "-euc", &text]);
    session.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => session.env(name, value),
            None => session.env_remove(name),
        };
    }
    command.current_dir(bench.place.path("."));
    session.current_dir(bench.place.path(".")).env("KEY", bench.simulator.api_key());
    session.env_remove("IMAGEKILN_API_KEY");
    for name in ["HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME"] {
        session.env(name, &home);
    }
    Outcome::of(session.output().unwrap())
}

/// The names of the files of the stored keys, without their contents.
fn stored(bench: &Bench) -> Vec<String> {
    let entries = fs::read_dir(bench.place.config("keys")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const FOX: &str = "kiln generate 'a fox' --width 64 --height 64 -o fox.jpg --overwrite";

pub fn the_keyring_has_the_key() {
    let bench = Bench::new();
    fs::create_dir(bench.place.config("keys")).unwrap();
    fs::write(bench.place.config("keys/default.key"), "sk-earlier\n").unwrap();
    let outcome = script(
        &bench,
        &format!(
            "printf %s \"$KEY\" | kiln login\n{FOX}\nls \"$KILN_CONFIG_DIR/keys\"\n\
             kiln config | grep api_key\nkiln logout\nls \"$KILN_CONFIG_DIR/keys\"\n\
             ! {FOX} 2> error\ngrep -q 'the API key is not set' error\n"
        ),
    )
    .ok();
    let text = outcome.text();
    assert!(text.contains("stored the API key of profile `default` in the keyring"), "{text}");
    assert!(text.contains("fox.jpg\ndefault.keyring\n"), "{text}");
    assert!(text.contains("keyring"), "{text}");
    assert_eq!(stored(&bench), [""; 0]);
    for shown in [text, outcome.stderr] {
        assert!(!shown.contains(bench.simulator.api_key()), "{shown}");
    }
    assert_eq!(bench.simulator.counts().accepted, 1);
}

pub fn each_profile_has_an_entry() {
    let bench = Bench::new();
    let outcome = script(
        &bench,
        &format!(
            "printf sk-wrong | kiln login\nprintf %s \"$KEY\" | kiln login --profile work\n\
             {FOX} --profile work\n! {FOX} 2> error\ngrep -q 'rejected the key' error\n"
        ),
    )
    .ok();
    assert!(outcome.text().contains("profile `work` in the keyring"), "{}", outcome.text());
    assert_eq!(stored(&bench), ["default.keyring", "work.keyring"]);
}

pub fn without_a_bus_the_key_is_in_a_file() {
    let bench = Bench::new();
    let outcome = script(
        &bench,
        &format!(
            "printf %s \"$KEY\" | no_bus kiln login\nno_bus {FOX}\n\
             printf %s \"$KEY\" | kiln login\n"
        ),
    )
    .ok();
    assert!(outcome.stderr.contains("storing the key in a file instead"), "{}", outcome.stderr);
    assert_eq!(stored(&bench), ["default.keyring"], "the second login has a keyring");
}

pub fn a_keyring_that_is_gone_or_locked_is_reported() {
    let bench = Bench::new();
    let outcome = script(
        &bench,
        &format!(
            "printf %s \"$KEY\" | kiln login\nno_bus {FOX} || echo \"gone: $?\"\nlock\n\
             {FOX} || echo \"locked: $?\"\n"
        ),
    )
    .ok();
    let text = outcome.text();
    assert!(text.contains("gone: 2\n") && text.contains("locked: 2\n"), "{text}");
    assert!(outcome.stderr.contains("from the keyring: "), "{}", outcome.stderr);
    assert_eq!(bench.simulator.counts().accepted, 0);
}
