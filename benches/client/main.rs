//! The speed of the client, as ratios against a baseline that runs in the same process, and its
//! CPU time per operation. The server is a separate process.
//!
//! ```text
//! cargo bench --bench client -- [SUBJECT]...
//! ```

mod careful;
mod download;
mod http2;
mod images;
mod journal;
mod measure;
mod poll;
mod server;
mod submission;
mod upload;

use tokio::runtime::{Builder, Runtime};

use self::server::Server;

type Subject = fn(&Runtime, &Server);

const SUBJECTS: [(&str, Subject); 6] = [
    ("submission", submission::run),
    ("journal", journal::run),
    ("poll", poll::run),
    ("poll_http2", |_, _| http2::run_trusting("poll_http2")),
    ("upload", upload::run),
    ("download", download::run),
];

fn main() {
    if server::serve() {
        return;
    }
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    if http2::is_trusted() {
        return poll::run_http2(&runtime, &Server::start_http2());
    }
    let names: Vec<_> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let server = Server::start();
    for (name, run) in SUBJECTS {
        if names.is_empty() || names.iter().any(|given| given == name) {
            run(&runtime, &server);
        }
    }
}
