//! The server of `kiln webhook listen`.

use std::{io, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest, Request, State},
    http::{Method, StatusCode, header::ALLOW},
    response::{IntoResponse, Response},
};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, mpsc},
    task::spawn_blocking,
    time::timeout,
};

use super::{
    super::{MAX_BODY, scheme::Reading},
    delivery::Delivery,
};
use crate::{output::Output, text::json::json_line};

/// The time limit for the body of a delivery.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of bodies in memory; other deliveries wait.
const MAX_BODIES: usize = 64;

pub struct Server {
    reading: Reading,
    path: String,
    output: Output,
    bodies: Semaphore,
    failures: mpsc::Sender<io::Error>,
}

impl Server {
    /// Creates a server, and a channel with its errors at standard output.
    pub fn new(
        reading: Reading,
        path: String,
        output: Output,
    ) -> (Self, mpsc::Receiver<io::Error>) {
        let (failures, receiver) = mpsc::channel(1);
        let bodies = Semaphore::new(MAX_BODIES);
        (Self { reading, path, output, bodies, failures }, receiver)
    }

    pub async fn serve(self, listener: TcpListener) -> io::Result<()> {
        // A route would treat braces in the path as parameters, and panic on some of them.
        let router = Router::new()
            .fallback(receive)
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .with_state(Arc::new(self));
        axum::serve(listener, router).await
    }

    /// Prints a delivery before the response is sent, so that the service redelivers if printing
    /// fails.
    async fn print(&self, delivery: &Delivery) -> StatusCode {
        let line = if self.output.json {
            json_line(&delivery.to_programs())
        } else {
            delivery.to_people()
        };
        let process = Arc::clone(&self.output.process);
        // Writing to a full pipe blocks, which must not block Ctrl-C.
        match spawn_blocking(move || process.line_on_stdout(&line)).await {
            Ok(Ok(())) => delivery.status(),
            Ok(Err(error)) => {
                // If there already is an error, the command is about to end.
                let _ = self.failures.try_send(error);
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

async fn receive(State(server): State<Arc<Server>>, request: Request) -> Response {
    if request.uri().path() != server.path {
        return StatusCode::NOT_FOUND.into_response();
    }
    if request.method() != Method::POST {
        return (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "POST")]).into_response();
    }
    let headers = request.headers().clone();
    let _permit = server.bodies.acquire().await;
    let delivery = match timeout(BODY_TIMEOUT, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => Delivery::read(&server.reading, &headers, &body),
        Ok(Err(rejection)) => Delivery::unread(rejection.status(), &headers),
        Err(_) => Delivery::unread(StatusCode::REQUEST_TIMEOUT, &headers),
    };
    server.print(&delivery).await.into_response()
}
