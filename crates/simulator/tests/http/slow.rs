//! Slow clients are disconnected. The tests run on a paused clock, which advances only while all
//! tasks wait.

use std::time::Duration;

use axum::http::Request;
use http_body_util::{BodyExt as _, Empty};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::{Instant, sleep, timeout},
};

use super::{
    bench::{Bench, http2},
    raw::{Raw, announce, open},
};
use imagekiln_simulator::Config;

const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);

async fn bench() -> Bench {
    Bench::with(Config { client_timeout: CLIENT_TIMEOUT, ..Config::default() }).await
}

async fn connect(bench: &Bench) -> TcpStream {
    open(bench.sim.base_url(), "").await
}

/// Everything until the connection ends, in any way.
async fn rest(stream: &mut TcpStream) -> String {
    let mut rest = Vec::new();
    let read = timeout(CLIENT_TIMEOUT * 10, stream.read_to_end(&mut rest)).await;
    let _ = read.expect("the connection did not end");
    String::from_utf8(rest).unwrap()
}

/// Sends a byte every few seconds, and returns what was received when the connection ended.
async fn dribble(stream: &mut TcpStream, byte: &[u8]) -> String {
    for _ in 0..10 {
        tokio::select! {
            response = rest(stream) => return response,
            () = sleep(CLIENT_TIMEOUT * 2 / 5) => {}
        }
        if stream.write_all(byte).await.is_err() {
            return rest(stream).await;
        }
    }
    panic!("the connection is still open")
}

#[tokio::test(start_paused = true)]
async fn silent_clients_are_disconnected() {
    let bench = bench().await;
    assert_eq!(rest(&mut connect(&bench).await).await, "");
}

#[tokio::test(start_paused = true)]
async fn clients_that_send_headers_slowly_are_disconnected() {
    let bench = bench().await;
    // The second case starts like an HTTP/2 connection.
    for (beginning, byte) in [("GET /v1/get_result?id=", "x"), ("P", "R")] {
        let mut stream = connect(&bench).await;
        stream.write_all(beginning.as_bytes()).await.unwrap();
        let response = dribble(&mut stream, byte.as_bytes()).await;
        assert!(response.is_empty() || response.starts_with("HTTP/1.1 400"), "{response}");
    }
    // The same applies to a later request on a connection.
    let mut stream = connect(&bench).await;
    let request = b"GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n";
    stream.write_all(request).await.unwrap();
    assert!(response_of(&mut stream).await.starts_with("HTTP/1.1 404"));
    sleep(CLIENT_TIMEOUT / 2).await;
    stream.write_all(b"GET /nowhere?").await.unwrap();
    assert_eq!(dribble(&mut stream, b"x").await, "");
}

/// Reads one response, which must arrive in a single piece, as small ones do.
async fn response_of(stream: &mut TcpStream) -> String {
    let mut response = vec![0; 4096];
    let length = stream.read(&mut response).await.unwrap();
    String::from_utf8(response[..length].to_vec()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn clients_that_send_a_body_slowly_get_a_408() {
    let bench = bench().await;
    for (length, byte) in
        [("content-length: 1000", "x"), ("transfer-encoding: chunked", "1\r\nx\r\n")]
    {
        let (base, key) = (bench.sim.base_url(), bench.sim.api_key());
        let lines = format!("content-type: application/json\r\n{length}");
        let mut stream = announce(base, "/v1/gen-2-pro", key, &lines).await;
        let response = dribble(&mut stream, byte.as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
        let (_, body) = response.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        assert!(body["detail"].is_string(), "{body}");
    }
    assert_eq!((bench.sim.counts().accepted, bench.sim.counts().refused_with(408)), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn clients_that_never_read_are_disconnected() {
    let bench = bench().await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(1024).unwrap();
    let address = bench.sim.base_url().trim_start_matches("http://").parse().unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    // Until both sides are blocked: neither reads any more.
    let requests = "GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n".repeat(100);
    let ended = async { while stream.write_all(requests.as_bytes()).await.is_ok() {} };
    timeout(CLIENT_TIMEOUT * 3, ended).await.expect("the connection did not end");
}

#[tokio::test(start_paused = true)]
async fn http2_clients_that_open_no_window_are_disconnected() {
    let bench = bench().await;
    // A picture of more than one frame, which is as much as is buffered, and of less than loopback
    // delivers at once.
    let body = json!({ "prompt": "x", "width": 192, "height": 192, "output_format": "png" });
    let sample = bench.sample(&bench.submit("/v1/gen-2-pro", &body).await).await;
    for (window, arrives) in [(64, false), (1 << 20, true)] {
        let request = Request::get(&sample).body(Empty::new()).unwrap();
        let response = http2(window).request(request).await.unwrap();
        assert_eq!(response.status(), 200);
        sleep(CLIENT_TIMEOUT * 2).await;
        assert_eq!(response.into_body().collect().await.is_ok(), arrives);
    }
}

#[tokio::test(start_paused = true)]
async fn idle_connections_are_closed_after_the_timeout() {
    let bench = bench().await;
    let mut stream = connect(&bench).await;
    for _ in 0..3 {
        stream.write_all(b"GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        assert!(response_of(&mut stream).await.starts_with("HTTP/1.1 404"));
        sleep(CLIENT_TIMEOUT * 9 / 10).await;
    }
    assert_eq!(rest_within(&mut stream, CLIENT_TIMEOUT).await, "");
}

/// The rest of what was received, if the connection ends in time.
async fn rest_within(stream: &mut TcpStream, time: Duration) -> String {
    timeout(time, rest(stream)).await.expect("the connection did not end in time")
}

#[tokio::test(start_paused = true)]
async fn half_a_request_behind_a_whole_one_is_slow() {
    let bench = bench().await;
    let mut stream = connect(&bench).await;
    let requests = b"GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\nGET /nowhere HTTP/1.1\r\nhost";
    stream.write_all(requests).await.unwrap();
    let response = rest_within(&mut stream, CLIENT_TIMEOUT * 2).await;
    assert!(response.starts_with("HTTP/1.1 404"), "{response}");
    assert_eq!(response.matches("HTTP/1.1").count(), 1, "{response}");
}

/// The start of an HTTP/2 connection, and a request for `/` on stream 1.
const HTTP2_REQUEST: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\
    \0\0\0\x04\0\0\0\0\0\
    \0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x41\x01x";

#[tokio::test(start_paused = true)]
async fn http2_frames_without_a_request_do_not_keep_a_connection_open() {
    let bench = bench().await;
    let ping = &b"\0\0\x08\x06\0\0\0\0\0abcdefgh"[..];
    let half_headers = &b"\0\0\x01\x01\x01\0\0\0\x03\x82"[..];
    let continuation = &b"\0\0\0\x09\0\0\0\0\x03"[..];
    for (first, then) in [(&b""[..], ping), (half_headers, continuation)] {
        let mut stream = connect(&bench).await;
        stream.write_all(&[HTTP2_REQUEST, first].concat()).await.unwrap();
        let started = Instant::now();
        let mut buffer = [0; 4096];
        loop {
            tokio::select! {
                read = stream.read(&mut buffer) => match read {
                    Ok(0) | Err(_) => break,
                    Ok(_) => {}
                },
                () = sleep(CLIENT_TIMEOUT / 5) => {
                    let _ = stream.write_all(then).await;
                }
            }
            assert!(started.elapsed() < CLIENT_TIMEOUT * 3, "the connection did not end");
        }
    }
}

/// They acknowledge what they receive, but do not let the response continue.
#[tokio::test(start_paused = true)]
async fn pings_do_not_replace_reading_a_response() {
    let bench = bench().await;
    let body = json!({ "prompt": "x", "width": 512, "height": 512, "output_format": "png" });
    let sample = bench.sample(&bench.submit("/v1/gen-2-pro", &body).await).await;
    let (_, path) = sample.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = connect(&bench).await;
    // The initial window of a stream has 64 bytes.
    let settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\x40";
    let length = u8::try_from(path.len() + 1 - 127).unwrap();
    assert!(length < 128);
    let headers =
        [&b"\x82\x86\x41\x01x\x04\x7f"[..], &[length], format!("/{path}").as_bytes()].concat();
    let frame = [0, 0, u8::try_from(headers.len()).unwrap(), 1, 5, 0, 0, 0, 1];
    stream.write_all(&[&settings[..], &frame, &headers].concat()).await.unwrap();
    let started = Instant::now();
    let (mut buffer, mut received) = ([0; 4096], 0);
    while started.elapsed() < CLIENT_TIMEOUT * 3 {
        tokio::select! {
            read = stream.read(&mut buffer) => match read {
                Ok(0) | Err(_) => {
                    assert!(received > 64, "the response did not start");
                    return;
                }
                Ok(length) => received += length,
            },
            () = sleep(CLIENT_TIMEOUT / 5) => {
                let _ = stream.write_all(b"\0\0\x08\x06\0\0\0\0\0abcdefgh").await;
            }
        }
    }
    panic!("the connection did not end");
}

#[tokio::test(start_paused = true)]
async fn idle_connections_do_not_delay_a_shutdown() {
    let bench = bench().await;
    let mut used = connect(&bench).await;
    used.write_all(b"GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert!(response_of(&mut used).await.starts_with("HTTP/1.1 404"));
    let mut silent = connect(&bench).await;
    let before = Instant::now();
    let Bench { sim, .. } = bench;
    sim.shutdown().await;
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(rest(&mut used).await, "");
    assert_eq!(rest(&mut silent).await, "");
}

#[tokio::test(start_paused = true)]
async fn requests_before_a_shutdown_are_completed() {
    let bench = bench().await;
    let url = format!("{}/v1/get_result?id=x", bench.sim.base_url());
    let headers = [("x-key", bench.sim.api_key()), ("x-simulator-fault", "slow-headers=3")];
    let stream = Raw::start("GET", &url, &headers, "").await;
    // By then the simulator is delaying its response, because nothing else is left to do.
    sleep(Duration::from_secs(1)).await;
    let Bench { sim, .. } = bench;
    let (response, ()) = tokio::join!(Raw::read(stream), sim.shutdown());
    assert_eq!(response.summary(), "200 application/json");
}
