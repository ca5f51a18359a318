//! One GET over the network.

use std::pin::pin;

use axum::{
    body::Bytes,
    http::{Request, StatusCode, header},
};
use http_body_util::{BodyExt as _, Empty};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

use super::{Budget, target::Target};
use crate::http::outgoing::{Tls, USER_AGENT};

/// The response of a server.
pub(super) enum FetchResponse {
    Image(Bytes),
    /// The `location` of a redirect.
    Redirect(String),
}

/// Fetches a target. An error does not quote the URL.
pub(super) async fn get(
    target: &Target,
    tls: &Tls,
    budget: &Budget,
) -> Result<FetchResponse, String> {
    let connection = TcpStream::connect(&target.addresses[..])
        .await
        .map_err(|error| format!("could not connect: {error}"))?;
    if target.https {
        exchange(target, tls.wrap(&target.host, connection).await?, budget).await
    } else {
        exchange(target, connection, budget).await
    }
}

async fn exchange(
    target: &Target,
    connection: impl AsyncRead + AsyncWrite + Unpin,
    budget: &Budget,
) -> Result<FetchResponse, String> {
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(connection)).await.map_err(broken)?;
    let request = Request::get(&target.path_and_query)
        .header(header::HOST, &target.authority)
        .header(header::ACCEPT, "image/*")
        .header(header::USER_AGENT, USER_AGENT)
        .body(Empty::<Bytes>::new())
        .map_err(|_| "could not build a request for the URL".to_owned())?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(broken)?;
        let location = response.headers().get(header::LOCATION);
        match (response.status(), location.and_then(|location| location.to_str().ok())) {
            (StatusCode::OK, _) => {
                Ok(FetchResponse::Image(read(response.into_body(), budget).await?))
            }
            (status, Some(location)) if status.is_redirection() => {
                Ok(FetchResponse::Redirect(location.to_owned()))
            }
            (status, _) => Err(format!("the response has the status code {}", status.as_u16())),
        }
    };
    let (mut exchange, connection) = (pin!(exchange), pin!(connection));
    tokio::select! {
        response = &mut exchange => response,
        // The response may be complete although the connection has ended.
        _ = connection => exchange.await,
    }
}

fn broken(error: hyper::Error) -> String {
    format!("the connection failed: {error}")
}

async fn read(mut body: Incoming, budget: &Budget) -> Result<Bytes, String> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        if !budget.take(data.len()) {
            return Err("the images of the request are larger than `max_body_bytes`".to_owned());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.into())
}
