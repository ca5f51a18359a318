//! The command of `kiln simulate -- npm test`.

use std::{ffi::OsString, process::ExitStatus, time::Duration};

use tokio::process::{Child, Command};

use crate::{
    failure::{Failure, exit::Exit},
    process::interrupt::Interrupts,
};

/// The time in which the command may end after Ctrl-C, which it also receives from the terminal.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs the command with additional environment variables, and returns its exit code.
pub async fn run(
    words: &[OsString],
    environment: Vec<(&'static str, String)>,
    interrupts: &Interrupts,
) -> Result<u8, Failure> {
    let [program, arguments @ ..] = words else { return Ok(Exit::Success.code()) };
    let mut command = Command::new(program);
    command.args(arguments).envs(environment).kill_on_drop(true);
    let failed = |error| {
        Failure::file(format!("could not run {}", program.to_string_lossy()), error)
            .advise("the words after -- are a program and its arguments")
    };
    let mut child = command.spawn().map_err(failed)?;
    let ended = tokio::select! {
        ended = child.wait() => ended,
        () = interrupts.first() => return Ok(stop(&mut child, interrupts).await),
    };
    ended.map(exit_code).map_err(failed)
}

/// Waits until the command has ended, and kills it if it takes too long or on the second Ctrl-C.
async fn stop(child: &mut Child, interrupts: &Interrupts) -> u8 {
    let ended = tokio::select! {
        ended = child.wait() => ended.ok(),
        () = interrupts.second() => None,
        () = tokio::time::sleep(PATIENCE) => None,
    };
    match ended {
        Some(status) => exit_code(status),
        None => {
            // Fails only if the command has ended.
            let _ = child.kill().await;
            Exit::Interrupted.code()
        }
    }
}

/// The exit code as a shell would report it.
fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(Exit::Other.code());
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.unwrap_or(Exit::Other.code())
}
