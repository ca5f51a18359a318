//! Support for the tests of this workspace.
//!
//! Some tests need a program that a machine may not have, such as a browser. Cargo's own harness
//! can only report such a test as passed or failed. The harness of this package reports it as
//! ignored, with the reason.
//!
//! A test binary with `harness = false` lists its tests:
//!
//! ```
//! use imagekiln_testbed::{Requirement, Runtime, Trial, run, test_of};
//!
//! const SHELL: Requirement = Requirement {
//!     name: "a shell",
//!     is_present: || std::path::Path::new("/bin/sh").exists(),
//!     advice: "apt-get install dash",
//!     variable: "SHELL_TESTS",
//! };
//!
//! async fn the_shell_adds() {
//!     let output = std::process::Command::new("/bin/sh").args(["-c", "echo $((1 + 1))"]).output();
//!     assert_eq!(output.unwrap().stdout, b"2\n");
//! }
//!
//! fn tests() -> Vec<Trial> {
//!     vec![test_of(&[SHELL], Runtime::CurrentThread, the_shell_adds)]
//! }
//!
//! fn main() {
//!     run(tests());
//! }
//! ```

pub mod browser;
mod harness;
#[cfg(unix)]
pub mod postgres;
mod requirement;

use std::{
    collections::BTreeMap,
    io::Read as _,
    net::SocketAddr,
    path::{Path, PathBuf},
};

pub use libtest_mimic::Trial;
use tokio::net::{TcpListener, TcpSocket};

pub use self::harness::{Runtime, name_of, run, test, test_of};
pub use self::requirement::Requirement;

/// A port of the loopback address on which nothing listens.
///
/// It stays reserved until this is dropped. The port of a listener that was closed would be free
/// for tests that run at the same time.
pub struct ClosedPort(TcpSocket);

impl ClosedPort {
    /// Reserves a port that is free.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn reserve() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        Self(socket)
    }

    /// Returns the URL of a service that would listen there, without a path.
    ///
    /// # Panics
    ///
    /// If the system does not tell the port.
    pub fn url(&self) -> String {
        format!("http://{}", self.0.local_addr().unwrap())
    }

    /// Starts to listen.
    ///
    /// # Panics
    ///
    /// If the system refuses, or outside a tokio runtime.
    pub fn listen(self) -> TcpListener {
        self.0.listen(16).unwrap()
    }
}

/// Returns the text of a page of the repository, such as `docs/billing.md`.
///
/// It is read when a test runs, so that nothing is compiled after an edit of the page.
///
/// # Panics
///
/// If there is no such page.
pub fn page(path: &str) -> &'static str {
    let path = in_repository(path);
    let text = std::fs::read_to_string(&path);
    text.unwrap_or_else(|error| panic!("could not read {}: {error}", path.display())).leak()
}

/// Returns the inputs with which the fuzz targets begin, by their names `TARGET/INPUT`.
///
/// # Panics
///
/// If the archive cannot be read.
pub fn corpus() -> BTreeMap<String, Vec<u8>> {
    let archive = std::fs::read(in_repository("tools/fuzz/corpus.tar")).unwrap();
    let mut inputs = BTreeMap::new();
    for entry in tar::Archive::new(&archive[..]).entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.header().entry_type().is_file() {
            let mut input = Vec::new();
            entry.read_to_end(&mut input).unwrap();
            inputs.insert(entry.path().unwrap().to_str().unwrap().to_owned(), input);
        }
    }
    inputs
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The figures that benchmarks print.
pub mod bench {
    /// Whether `cargo bench` runs this program. `cargo test` does not pass the argument, and checks
    /// only that the benchmark works.
    pub fn is_bench() -> bool {
        std::env::args().any(|argument| argument == "--bench")
    }

    /// Prints the median and the quartiles of `values` in one line that programs and people can
    /// read: five fields, separated by tabs, which are the name, the unit, the median, and the
    /// quartiles.
    pub fn figure(name: &str, unit: &str, mut values: Vec<f64>) {
        values.sort_unstable_by(f64::total_cmp);
        let last = values.len().saturating_sub(1);
        let at = |part: f64| {
            let value = values.get((last as f64 * part).round() as usize);
            value.copied().unwrap_or(f64::NAN)
        };
        println!("{name:<44}\t{unit:<6}\t{:9.3}\t{:9.3}\t{:9.3}", at(0.5), at(0.25), at(0.75));
    }
}

/// Encoded pictures for requests.
pub mod picture {
    use std::io::Cursor;

    use image::{DynamicImage, ImageFormat, Rgb, RgbImage};

    /// The file of a picture.
    pub fn encoded(picture: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
        let mut file = Cursor::new(Vec::new());
        picture.into().write_to(&mut file, format).expect("this format can contain the picture");
        file.into_inner()
    }

    /// A picture of this size in soft colours.
    pub fn gradient(width: u32, height: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, y| Rgb([(x * 3) as u8, (y * 5) as u8, 90]))
    }
}
