//! The progress line while the client waits before it repeats a request.

use std::process::Command;

use serde_json::json;

use crate::{
    bench::{Place, png},
    running::Running,
    server::Server,
    terminal::Terminal,
};

fn fox(place: &Place, server: &Server, flags: &[&str]) -> Command {
    let words = ["run", "gen-2-pro", "--prompt", "a fox", "--output", "fox.png"];
    let mut command = place.kiln(&[&words, flags].concat());
    server.point(&mut command);
    command
}

/// Waits until the program has written this text, which it may have replaced since.
#[track_caller]
fn until_written(terminal: &mut Terminal, text: &str) {
    terminal.until_it(text, |terminal| terminal.raw().contains(text));
}

#[test]
fn the_line_says_what_is_waited_for() {
    let (place, server) = (Place::new(), Server::new());
    let mut terminal = Terminal::start(fox(&place, &server, &[]));
    until_written(&mut terminal, "submitting to gen-2-pro (");
    let busy = json!({ "detail": "slow down" });
    server.next().respond_with(429, "retry-after: 2\r\n", &busy);
    until_written(&mut terminal, "the service asks to wait 2 s (429); attempt 2 in 2 s (");
    until_written(&mut terminal, "the service asks to wait 2 s (429); attempt 2 in 1 s (");
    server.next().respond(429, &busy);
    until_written(&mut terminal, "the service is busy (429); attempt 3 in 1 s (");
    let polling_url = format!("{}/poll", server.url());
    server.next().respond(200, &json!({ "id": "7c1e4b0a-5d2f", "polling_url": polling_url }));
    until_written(&mut terminal, "task 7c1e4b0a (");

    server.next().hang_up();
    until_written(&mut terminal, "the service is unreachable; next poll in 1 s (");
    server.next().respond(500, &busy);
    until_written(&mut terminal, "the service failed (500); next poll in 1 s (");
    server.next().respond(200, &json!("unreadable"));
    until_written(&mut terminal, "the response is unreadable; next poll in 1 s (");
    server.next().respond_with(429, "retry-after: 1\r\n", &busy);
    until_written(&mut terminal, "the service asks to wait 1 s (429); next poll in ");
    server.next().respond(200, &json!({ "id": "7c1e4b0a-5d2f", "status": "In\u{1b}[31m line" }));
    until_written(&mut terminal, "task 7c1e4b0a: In [31m line (");
    server.next().respond(200, &server.ready());

    server.next().respond(500, &busy);
    until_written(&mut terminal, "the download failed (500); attempt 2 of 4 in 1 s (");
    server.next().send(&png(2, 1));
    terminal.end().ok();
    let lines: Vec<String> = terminal.text().lines().map(str::to_owned).collect();
    assert_eq!(lines[0], "submitted task 7c1e4b0a-5d2f to gen-2-pro");
    assert!(lines[1].starts_with("saved fox.png: PNG, 2 x 1 pixels, "), "{lines:?}");
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn a_wait_is_noted_where_there_is_no_progress_line() {
    for (flags, note) in [
        (&[][..], "the service asks to wait 60 s (429); attempt 2 in "),
        (&["--json"], r#"{"message":"the service asks to wait 60 s (429); attempt 2 in "#),
    ] {
        let (place, server) = (Place::new(), Server::new());
        let mut running = Running::start(&mut fox(&place, &server, flags));
        let busy = json!({ "detail": "slow down" });
        server.next().respond_with(429, "retry-after: 60\r\n", &busy);
        running.until(note);
        running.interrupt();
        let (code, stdout, said) = running.end();
        assert_eq!((code, stdout.as_str()), (130, ""));
        assert!(said.contains("nothing was charged"), "{said}");
    }
    for (flags, noted) in [
        (&[][..], "the service asks to wait 1 s (429); attempt 2 in 2 s\nerror: "),
        (&["--quiet"], "error: "),
    ] {
        let (place, server) = (Place::new(), Server::new());
        let running = Running::start(&mut fox(&place, &server, flags));
        server.next().respond_with(429, "retry-after: 1\r\n", &json!({ "detail": "slow down" }));
        server.next().respond(400, &json!({ "detail": "no" }));
        let (_, stdout, said) = running.end();
        assert_eq!(stdout, "");
        assert!(said.starts_with(noted), "{said}");
    }
}
