//! Bodies with a wrong length.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{bench::Bench, raw::announce};

/// Bodies that are longer or shorter than their announced length. HTTP does not allow some of them.
#[tokio::test(start_paused = true)]
async fn wrong_lengths_do_not_break_the_simulator() {
    let bench = Bench::new().await;
    let (base, key) = (bench.sim.base_url(), bench.sim.api_key());
    let body = r#"{"prompt":"a fox"}"#;
    for (lengths, status) in [
        ("content-length: 18", "200"),
        ("content-length: 17", "422"),
        ("content-length: 0", "422"),
        ("content-length: 19", "408"),
        ("content-length: 184467440737095516160", "400"),
        ("content-length: -1", "400"),
        ("content-length: 18\r\ncontent-length: 17", "400"),
        ("content-length: 99999999999", "413"),
        ("transfer-encoding: chunked", "400"),
        ("transfer-encoding: gzip", "400"),
    ] {
        let lines = format!("content-type: application/json\r\nconnection: close\r\n{lengths}");
        let mut stream = announce(base, "/v1/gen-2-pro", key, &lines).await;
        stream.write_all(body.as_bytes()).await.unwrap();
        let mut response = Vec::new();
        // The connection may be reset if more data arrived than was read.
        let _ = stream.read_to_end(&mut response).await;
        let response = String::from_utf8(response).unwrap();
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{lengths}: {response}");
    }
    assert_eq!(bench.sim.counts().accepted, 1);
}
