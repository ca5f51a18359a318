//! Submissions to servers that close idle connections, behind a delay of 50 ms each way. A server
//! may receive what is written into the closing of its connection, so the outcome of such a
//! submission is unknown. reqwest, which keeps connections, shows how often that happens otherwise.

use std::{cell::Cell, io, time::Duration};

use futures_util::future::join_all;
use imagekiln::{Billing, Client, types::Gen2Pro};
use imagekiln_testbed::bench::{figure, is_bench};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    runtime::Runtime,
    time::{Instant, sleep, sleep_until, timeout_at},
};

use super::server::{next_request, response, submitted};

/// After how long the servers close an idle connection.
const LIMITS: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_millis(650),
    Duration::from_secs(5),
];

/// The delay of everything that the network carries.
const DELAY: Duration = Duration::from_millis(50);

/// How much earlier or later than the closing the next submission starts, at most.
const SPREAD: Duration = Duration::from_millis(80);

/// How many programs submit at the same time, and how often each does.
const PROGRAMS: usize = 125;
const SUBMISSIONS: usize = 20;

pub fn run(runtime: &Runtime) {
    let (programs, submissions) = if is_bench() { (PROGRAMS, SUBMISSIONS) } else { (2, 2) };
    let counts = runtime.block_on(async {
        let limits = LIMITS.iter().filter(|limit| is_bench() || limit.as_secs() == 0);
        join_all(limits.map(|limit| unknown(*limit, programs, submissions))).await
    });
    for (name, count) in [
        ("submissions", (programs * submissions * counts.len()) as f64),
        ("imagekiln.unknown", counts.iter().map(|[ours, _]| *ours).sum()),
        ("reqwest.unknown", counts.iter().map(|[_, theirs]| *theirs).sum()),
    ] {
        figure(&format!("idle.{name}"), "", vec![count]);
    }
}

/// Returns how many submissions of imagekiln and of reqwest have an unknown outcome.
async fn unknown(limit: Duration, programs: usize, submissions: usize) -> [f64; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let body = submitted(&url);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(respond(stream, limit, response("application/json", body.as_bytes())));
        }
    });
    let client = Client::builder().api_key("key").base_url(&*url).build().unwrap();
    let http = reqwest::Client::new();
    let request = || Gen2Pro::new("a red fox");
    let (ours, theirs) = (Cell::new(0.0), Cell::new(0.0));
    let program = async || {
        for _ in 0..submissions {
            if let Err(error) = client.submit(request()).await {
                assert_eq!(error.billing(), Billing::Unknown, "{error}");
                ours.set(ours.get() + 1.0);
            }
            sleep(pause(limit)).await;
        }
    };
    let bare = async || {
        for _ in 0..submissions {
            let request = http.post(format!("{url}/v1/gen-2-pro")).json(&request());
            if request.send().await.is_err() {
                theirs.set(theirs.get() + 1.0);
            }
            sleep(pause(limit)).await;
        }
    };
    join_all((0..programs).map(|_| program())).await;
    join_all((0..programs).map(|_| bare())).await;
    [ours.get(), theirs.get()]
}

fn pause(limit: Duration) -> Duration {
    (limit + SPREAD.mul_f64(2.0 * fastrand::f64())).saturating_sub(SPREAD)
}

/// Responds to the requests of one connection until it was idle for too long.
async fn respond(mut stream: TcpStream, limit: Duration, response: Vec<u8>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 1 << 16];
    // When the client learns that the server has closed the connection.
    let mut closing = Instant::now() + Duration::from_secs(60);
    loop {
        let request = timeout_at(closing, next_request(&mut stream, &mut buffer)).await;
        let Ok(request) = request else { return stream.shutdown().await };
        if request?.is_none() {
            return Ok(());
        }
        let arrival = Instant::now() + DELAY;
        if arrival > closing - DELAY {
            // The server had closed the connection before the request arrived.
            sleep_until(arrival).await;
            return Ok(());
        }
        closing = arrival + limit + DELAY;
        sleep_until(arrival + DELAY).await;
        stream.write_all(&response).await?;
    }
}
