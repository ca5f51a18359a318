//! Input on a pseudo-terminal.

use std::{
    fs::{self, File},
    io::{Read, Write},
    process::Stdio,
    thread,
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, tcgetattr},
};

use crate::bench::{Outcome, Place};

#[test]
fn a_typed_key_is_not_shown() {
    let place = Place::new();
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
    let terminal = File::options().read(true).write(true).open(name).unwrap();
    let mut command = place.kiln(&["login", "--profile", "work"]);
    command.stdin(terminal.try_clone().unwrap()).stderr(terminal).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Closes our ends of the terminal, so that reading ends with the program.
    drop(command);
    let echoes = || tcgetattr(&controller).unwrap().local_modes.contains(LocalModes::ECHO);
    while echoes() {
        assert!(child.try_wait().unwrap().is_none(), "the program ended before it asked");
        thread::yield_now();
    }
    let mut controller = File::from(controller.try_clone().unwrap());
    controller.write_all(b"sk-typed\n").unwrap();
    let mut shown = Vec::new();
    // Linux reports the end as an error.
    let _ = controller.read_to_end(&mut shown);
    let outcome = Outcome::of(child.wait_with_output().unwrap()).ok();
    assert_eq!(String::from_utf8(shown).unwrap(), "API key of profile `work`: \r\n");
    assert!(!outcome.text().contains("sk-"), "{}", outcome.text());
    assert_eq!(fs::read_to_string(place.config("keys/work.key")).unwrap(), "sk-typed\n");
}
