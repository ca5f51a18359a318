//! A client that writes requests byte by byte.

use std::{error::Error, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// The body of a small submission.
pub const TINY: &str = r#"{"prompt":"x","width":64,"height":64}"#;

/// How long to wait for a response.
const PATIENCE: Duration = Duration::from_secs(60);

/// The head of a submission with a body of this length.
pub fn head(key: &str, length: usize) -> String {
    format!(
        "POST /v1/gen-2-flex HTTP/1.1\r\nhost: localhost\r\nx-key: {key}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}

/// Sends a submission and returns the status code.
pub async fn submit(address: &str, body: &str) -> Result<String, Box<dyn Error>> {
    Ok(status(&exchange(address, body).await?))
}

/// Sends a submission and returns the id of its task.
pub async fn accepted(address: &str, body: &str) -> Result<String, Box<dyn Error>> {
    let response = exchange(address, body).await?;
    let id = response.split_once(r#""id":""#).and_then(|(_, rest)| rest.split('"').next());
    Ok(id.ok_or_else(|| format!("not accepted: {response}"))?.to_owned())
}

async fn exchange(address: &str, body: &str) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(head("imagekiln-simulator-key", body.len()).as_bytes()).await?;
    // It fails if the response comes first.
    let _ = stream.write_all(body.as_bytes()).await;
    Ok(response(&mut stream).await)
}

/// Sends a GET request and returns the response, complete or not.
pub async fn get(address: &str, path: &str) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nx-key: imagekiln-simulator-key\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut response = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut response)).await??;
    Ok(String::from_utf8_lossy(&response).into_owned())
}

/// The first part of the response; empty if there is none.
pub async fn response(stream: &mut TcpStream) -> String {
    let mut response = vec![0; 4096];
    match timeout(PATIENCE, stream.read(&mut response)).await {
        Ok(Ok(length)) => String::from_utf8_lossy(&response[..length]).into_owned(),
        _ => String::new(),
    }
}

/// The status code of a response.
pub fn status(response: &str) -> String {
    response.get(9..12).unwrap_or("no response").to_owned()
}
