//! The speed of the client, as ratios against a baseline that runs in the same process, and its
//! CPU time per operation. The server is a separate process.
//!
//! ```text
//! cargo bench --bench client -- [SUBJECT]...
//! ```

mod careful;
mod download;
mod idle;
mod images;
mod journal;
mod measure;
mod poll;
mod server;
mod submission;
mod tls;
mod upload;

use tokio::runtime::{Builder, Runtime};

use self::server::Server;

type Subject = fn(&Runtime, &Server);

const SUBJECTS: [(&str, Subject); 8] = [
    ("submission", submission::run),
    ("submission_tls", |_, _| tls::run_trusting("submission_tls")),
    ("idle", |runtime, _| idle::run(runtime)),
    ("journal", journal::run),
    ("poll", poll::run),
    ("poll_http2", |_, _| tls::run_trusting("poll_http2")),
    ("upload", upload::run),
    ("download", download::run),
];

fn main() {
    if server::serve() {
        return;
    }
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let names: Vec<_> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    if tls::is_trusted() {
        return match names.first().map(String::as_str) {
            Some("submission_tls") => submission::run_tls(&runtime, &Server::start_tls()),
            _ => poll::run_http2(&runtime, &Server::start_http2()),
        };
    }
    let server = Server::start();
    for (name, run) in SUBJECTS {
        if names.is_empty() || names.iter().any(|given| given == name) {
            run(&runtime, &server);
        }
    }
}
