//! The body of a delivery, bounded in size and time.

use std::{future::poll_fn, pin::Pin, time::Duration};

use axum::body::{Body, HttpBody};
use tokio::time::timeout;

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    TooLarge,
    TooSlow,
    BrokenOff,
}

/// Reads a body of at most `limit` bytes that arrives within `time`.
pub async fn read(body: Body, limit: usize, time: Duration) -> Result<Vec<u8>, Unread> {
    timeout(time, read_bounded(body, limit)).await.unwrap_or(Err(Unread::TooSlow))
}

async fn read_bounded(mut body: Body, limit: usize) -> Result<Vec<u8>, Unread> {
    // Without this, a sender that announces too much would be read up to the limit first.
    if body.size_hint().lower() > limit as u64 {
        return Err(Unread::TooLarge);
    }
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(data) = frame.map_err(|_| Unread::BrokenOff)?.into_data() else { continue };
        if bytes.len() + data.len() > limit {
            return Err(Unread::TooLarge);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        task::{Context, Poll},
    };

    use futures_core::Stream;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// A body that never continues.
    struct Stalled;

    impl Stream for Stalled {
        type Item = Result<&'static str, Infallible>;

        fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            Poll::Pending
        }
    }

    #[tokio::test]
    async fn a_body_is_bounded_in_size_and_time() {
        assert_eq!(read(Body::from("1234"), 4, MINUTE).await, Ok(b"1234".to_vec()));
        assert_eq!(read(Body::from("12345"), 4, MINUTE).await, Err(Unread::TooLarge));
        let stalled = read(Body::from_stream(Stalled), 4, Duration::from_millis(1));
        assert_eq!(stalled.await, Err(Unread::TooSlow));
    }
}
