//! One connection, from its first byte to its last.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::http::{Request, Version};
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::debug;

use super::body::{Timed, Watched};
use super::pulse::{Cut, Pulse};
use super::wire::Wire;

/// Serves requests until the connection is closed by either side.
pub(crate) async fn serve(
    stream: TcpStream,
    router: Router,
    client_timeout: Duration,
    mut stopped: watch::Receiver<bool>,
) {
    let pulse = Pulse::new(client_timeout);
    let router = TowerToHyperService::new(router);
    let handle = {
        let pulse = Arc::clone(&pulse);
        move |request: Request<Incoming>| {
            pulse.asked(request.version() == Version::HTTP_2);
            let work = pulse.work();
            let pulse = Arc::clone(&pulse);
            let answer = router.call(request.map(|body| Timed::new(body, client_timeout)));
            async move {
                let response = answer.await.unwrap_or_else(|never| match never {});
                if let Some(cut) = response.extensions().get::<Cut>() {
                    pulse.cut_off(*cut);
                    return Err(*cut);
                }
                let response = response.map(|body| Watched::new(body, pulse));
                drop(work);
                Ok(response)
            }
        }
    };
    let builder = Builder::new(TokioExecutor::new());
    let wire = TokioIo::new(Wire::new(stream, Arc::clone(&pulse)));
    let mut connection = pin!(builder.serve_connection(wire, service_fn(handle)));
    let mut timer = pin!(sleep(client_timeout));
    let mut stopping = false;
    loop {
        // Looked at after the connection, which moves the deadline.
        let overdue = poll_fn(|context| match pulse.deadline() {
            None => Poll::Pending,
            Some(deadline) => {
                if timer.deadline() != deadline {
                    timer.as_mut().reset(deadline);
                }
                timer.as_mut().poll(context)
            }
        });
        tokio::select! {
            biased;
            () = pulse.until_cut() => return,
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    debug!(error, "a connection ended badly");
                }
                return;
            }
            () = overdue => {
                debug!("a slow client was cut off");
                return;
            }
            // An error means that the sender is gone, which is a stop too.
            _ = stopped.wait_for(|stop| *stop), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}
