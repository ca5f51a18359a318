//! Attacks with the bodies of requests.

use std::{error::Error, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, timeout},
};

use super::{Target, raw, tiny};

/// A body of 16 MiB with millions of values.
pub async fn many_values(target: &Target) -> Result<(), Box<dyn Error>> {
    let values = r#"{"":0},"#.repeat((16 << 20) / 7);
    let body = format!(r#"{{"prompt":"x","more":[{values}0]}}"#);
    let begun = Instant::now();
    let status = raw::submit(&target.address, &body).await?;
    let findings = format!("{status} after {:.2} s", begun.elapsed().as_secs_f64());
    target.report("many values", &findings).await
}

/// Twenty bodies of 64 MiB, of which the last byte is missing.
pub async fn half_sent(target: &Target) -> Result<(), Box<dyn Error>> {
    const LENGTH: usize = 64 << 20;
    let head = raw::head("imagekiln-simulator-key", LENGTH);
    let part = vec![b' '; 1 << 20];
    let mut streams = Vec::new();
    let mut refused = 0;
    for _ in 0..20 {
        let mut stream = TcpStream::connect(&target.address).await?;
        stream.write_all(head.as_bytes()).await?;
        for sent in (0..LENGTH).step_by(part.len()) {
            let left = (LENGTH - sent - 1).min(part.len());
            // It fails once the simulator does not accept more.
            let _ = stream.write_all(&part[..left]).await;
        }
        let response = timeout(Duration::from_millis(100), stream.read(&mut [0; 512])).await;
        refused += usize::from(response.is_ok());
        streams.push(stream);
    }
    let findings = format!("{refused} of 20 refused, a small submission {}", tiny(target).await?);
    drop(streams);
    target.report("half-sent bodies", &findings).await
}

/// A request with an unknown key, whose body is announced but not sent.
pub async fn unsent(target: &Target) -> Result<(), Box<dyn Error>> {
    let mut stream = TcpStream::connect(&target.address).await?;
    stream.write_all(raw::head("unknown", 100 << 20).as_bytes()).await?;
    let begun = Instant::now();
    let status = raw::status(&raw::response(&mut stream).await);
    let findings = format!("{status} after {:.2} s", begun.elapsed().as_secs_f64());
    target.report("unsent body", &findings).await
}
