//! A slow link to PostgreSQL, and what runs need besides time.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    net::{Shutdown, TcpListener},
    os::unix::{fs::FileExt as _, net::UnixStream},
    path::Path,
    thread,
    time::Duration,
};

use rusqlite::Connection;
use sqlx_postgres::PgConnectOptions;
use tokio::time::Instant;

/// Returns the URL of a PostgreSQL database over a link that delays every request by 1 ms.
pub fn linked(database: &str) -> String {
    let options: PgConnectOptions = database.parse().unwrap();
    let socket = options.get_socket().unwrap().join(".s.PGSQL.5432");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // These threads end when a connection ends; the listener ends with the program.
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut server) = (client.unwrap(), UnixStream::connect(&socket).unwrap());
            client.set_nodelay(true).unwrap();
            let mut requests = client.try_clone().unwrap();
            let mut delayed = server.try_clone().unwrap();
            thread::spawn(move || {
                let mut buffer = [0; 64 * 1024];
                while let Ok(length @ 1..) = requests.read(&mut buffer) {
                    thread::sleep(Duration::from_millis(1));
                    delayed.write_all(&buffer[..length]).unwrap();
                }
                // The server may have closed the connection.
                let _ = delayed.shutdown(Shutdown::Both);
            });
            thread::spawn(move || io::copy(&mut server, &mut client));
        }
    });
    format!("postgres://postgres@{address}/{}", options.get_database().unwrap())
}

/// Returns the size of a ledger's file per job, without what the program stores in it.
pub fn kilobytes_per_job(ledger: &str, jobs: usize) -> f64 {
    let stored = "SELECT SUM(LENGTH(name) + LENGTH(target) + LENGTH(operation) + LENGTH(request)
        + LENGTH(location)) FROM jobs";
    let connection = Connection::open(ledger).unwrap();
    let stored: f64 = connection.query_row(stored, [], |row| row.get(0)).unwrap();
    (fs::metadata(ledger).unwrap().len() as f64 - stored) / jobs as f64 / 1000.0
}

/// Returns how often a disk can flush a page in a second.
pub fn flushes_per_second(directory: &Path, rounds: u32) -> f64 {
    let file = tempfile::tempfile_in(directory).unwrap();
    let started = Instant::now();
    for _ in 0..rounds {
        file.write_all_at(&[7; 8192], 0).unwrap();
        file.sync_data().unwrap();
    }
    f64::from(rounds) / started.elapsed().as_secs_f64()
}

/// Returns the CPU time of the child processes that ended.
pub fn cpu_time_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // After the name of the program, which may contain spaces.
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    [13, 14].iter().map(|field: &usize| fields[*field].parse::<f64>().unwrap()).sum()
}
