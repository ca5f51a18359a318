//! Clients that are too slow, and those that are not; on a clock that stands still unless everybody
//! waits.

use std::time::Duration;

use axum::http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use imagekiln_simulator::Config;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, sleep, timeout};

use super::bench::Bench;
use super::raw::Raw;

const PATIENCE: Duration = Duration::from_secs(10);

async fn bench() -> Bench {
    Bench::with(Config { client_timeout: PATIENCE, ..Config::default() }).await
}

fn address(bench: &Bench) -> &str {
    bench.sim.base_url().trim_start_matches("http://")
}

async fn connect(bench: &Bench) -> TcpStream {
    TcpStream::connect(address(bench)).await.unwrap()
}

/// What still comes until the connection ends, however it does.
async fn rest(stream: &mut TcpStream) -> String {
    let mut rest = Vec::new();
    let read = timeout(PATIENCE * 10, stream.read_to_end(&mut rest)).await;
    let _ = read.expect("the connection ends");
    String::from_utf8(rest).unwrap()
}

/// A byte every few seconds, each in time; gives what was answered when the connection ended.
async fn dribble(stream: &mut TcpStream, byte: &[u8]) -> String {
    for _ in 0..10 {
        tokio::select! {
            answer = rest(stream) => return answer,
            () = sleep(PATIENCE * 2 / 5) => {}
        }
        if stream.write_all(byte).await.is_err() {
            return rest(stream).await;
        }
    }
    panic!("the connection is still open")
}

#[tokio::test(start_paused = true)]
async fn who_says_nothing_is_cut_off() {
    let bench = bench().await;
    assert_eq!(rest(&mut connect(&bench).await).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_head_that_dribbles_is_cut_off() {
    let bench = bench().await;
    // The second begins as a connection of HTTP/2 does.
    for (beginning, byte) in [("GET /v1/get_result?id=", "x"), ("P", "R")] {
        let mut stream = connect(&bench).await;
        stream.write_all(beginning.as_bytes()).await.unwrap();
        let answer = dribble(&mut stream, byte.as_bytes()).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    // So is that of a later request on a connection.
    let mut stream = connect(&bench).await;
    let request = b"GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n";
    stream.write_all(request).await.unwrap();
    assert!(answer_of(&mut stream).await.starts_with("HTTP/1.1 404"));
    sleep(PATIENCE * 3).await;
    stream.write_all(b"GET /nowhere?").await.unwrap();
    assert_eq!(dribble(&mut stream, b"x").await, "");
}

/// One answer, which must come in a single piece, as small ones do.
async fn answer_of(stream: &mut TcpStream) -> String {
    let mut answer = vec![0; 4096];
    let length = stream.read(&mut answer).await.unwrap();
    String::from_utf8(answer[..length].to_vec()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_body_that_dribbles_is_answered_with_408() {
    let bench = bench().await;
    for (length, byte) in
        [("content-length: 1000", "x"), ("transfer-encoding: chunked", "1\r\nx\r\n")]
    {
        let mut stream = connect(&bench).await;
        let head = format!(
            "POST /v1/gen-2-pro HTTP/1.1\r\nhost: x\r\nx-key: {}\r\ncontent-type: application/json\r\n{length}\r\n\r\n",
            bench.sim.api_key()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let answer = dribble(&mut stream, byte.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        assert!(body["detail"].is_string(), "{body}");
    }
    assert_eq!((bench.sim.counts().accepted, bench.sim.counts().refused_with(408)), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn who_never_reads_is_cut_off() {
    let bench = bench().await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(1024).unwrap();
    let mut stream = socket.connect(address(&bench).parse().unwrap()).await.unwrap();
    // Until nobody takes anything any more: neither we the answers, nor the simulator the requests.
    let requests = "GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n".repeat(100);
    let ended = async { while stream.write_all(requests.as_bytes()).await.is_ok() {} };
    timeout(PATIENCE * 3, ended).await.expect("the connection ends");
}

#[tokio::test(start_paused = true)]
async fn who_opens_no_window_in_http2_is_cut_off() {
    let bench = bench().await;
    // A picture of more than a frame, which is as much as goes out of sight at once.
    let body = json!({ "prompt": "x", "width": 512, "height": 512, "output_format": "png" });
    let sample = bench.sample(&bench.submit("/v1/gen-2-pro", &body).await).await;
    for (window, arrives) in [(64, false), (1 << 20, true)] {
        let client = Client::builder(TokioExecutor::new())
            .http2_only(true)
            .http2_initial_stream_window_size(window)
            .build_http::<Empty<axum::body::Bytes>>();
        let request = Request::get(&sample).body(Empty::new()).unwrap();
        let answer = client.request(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        sleep(PATIENCE * 2).await;
        assert_eq!(answer.into_body().collect().await.is_ok(), arrives);
    }
}

#[tokio::test(start_paused = true)]
async fn who_asks_nothing_for_long_is_not_slow() {
    let bench = bench().await;
    let mut stream = connect(&bench).await;
    for _ in 0..3 {
        stream.write_all(b"GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        assert!(answer_of(&mut stream).await.starts_with("HTTP/1.1 404"));
        sleep(PATIENCE * 100).await;
    }
}

#[tokio::test(start_paused = true)]
async fn idle_connections_do_not_hold_up_a_shutdown() {
    let bench = bench().await;
    let mut used = connect(&bench).await;
    used.write_all(b"GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert!(answer_of(&mut used).await.starts_with("HTTP/1.1 404"));
    let mut silent = connect(&bench).await;
    let before = Instant::now();
    let Bench { sim, .. } = bench;
    sim.shutdown().await;
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(rest(&mut used).await, "");
    assert_eq!(rest(&mut silent).await, "");
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_before_a_shutdown_is_answered() {
    let bench = bench().await;
    let url = format!("{}/v1/get_result?id=x", bench.sim.base_url());
    let headers = [("x-key", bench.sim.api_key()), ("x-simulator-fault", "slow-headers=3")];
    let stream = Raw::start("GET", &url, &headers, "").await;
    // By then the simulator waits with its answer, as nothing else is left to do.
    sleep(Duration::from_secs(1)).await;
    let Bench { sim, .. } = bench;
    let (answer, ()) = tokio::join!(Raw::read(stream), sim.shutdown());
    assert_eq!(answer.summary(), "200 application/json");
}
