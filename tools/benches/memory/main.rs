//! The memory of the client, besides the pictures: for 10,000 waiting tasks, and for an upload. An
//! allocator that counts makes this program slower than others, so speed is measured elsewhere.
//!
//! ```text
//! cargo bench --bench memory -- [waiting] [upload]
//! ```

#[path = "../client/images.rs"]
mod images;
#[allow(dead_code, reason = "only the other benchmark needs all of it")]
#[path = "../client/measure.rs"]
mod measure;
#[allow(dead_code, reason = "only the other benchmark needs all of it")]
#[path = "../client/server.rs"]
mod server;
#[allow(dead_code, reason = "only the other benchmark needs all of it")]
#[path = "../client/tls.rs"]
mod tls;
mod upload;
mod waiting;

use peak_alloc::PeakAlloc;
use tokio::runtime::{Builder, Runtime};

use self::server::Server;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

type Subject = fn(&Runtime, &Server);

/// Memory that an upload frees stays resident, and would serve the tasks that wait after it.
const SUBJECTS: [(&str, Subject); 2] = [("waiting", waiting::run), ("upload", upload::run)];

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * 1024.0;

fn main() {
    if server::serve() {
        return;
    }
    let names: Vec<_> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let server = Server::start();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    for (name, run) in SUBJECTS {
        if names.is_empty() || names.iter().any(|given| given == name) {
            run(&runtime, &server);
        }
    }
}
