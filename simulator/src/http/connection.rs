//! Serves one connection.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use axum::{
    Router,
    http::{Request, Version},
};
use hyper::{
    body::Incoming,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use tokio::{net::TcpStream, sync::watch, time::sleep};
use tracing::debug;

use super::{
    activity::{Activity, Cut},
    body::{Timed, TrackedBody},
    stream::TrackedStream,
};

/// Serves requests until the connection is closed by either side.
pub(crate) async fn serve(
    stream: TcpStream,
    router: Router,
    client_timeout: Duration,
    mut stopped: watch::Receiver<bool>,
) {
    let activity = Activity::new(client_timeout);
    let router = TowerToHyperService::new(router);
    let handle = {
        let activity = Arc::clone(&activity);
        move |request: Request<Incoming>| {
            activity.request_started(request.version() == Version::HTTP_2);
            let work = activity.work();
            let activity = Arc::clone(&activity);
            let response = router.call(request.map(|body| Timed::new(body, client_timeout)));
            async move {
                let response = response.await.unwrap_or_else(|never| match never {});
                if let Some(cut) = response.extensions().get::<Cut>() {
                    activity.cut_with(*cut);
                    return Err(*cut);
                }
                let response = response.map(|body| TrackedBody::new(body, activity));
                drop(work);
                Ok(response)
            }
        }
    };
    let builder = Builder::new(TokioExecutor::new());
    let stream = TokioIo::new(TrackedStream::new(stream, Arc::clone(&activity)));
    let mut connection = pin!(builder.serve_connection(stream, service_fn(handle)));
    let mut timer = pin!(sleep(client_timeout));
    let mut stopping = false;
    loop {
        // Polled after the connection, which changes the deadline.
        let overdue = poll_fn(|context| match activity.deadline() {
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
            () = activity.until_cut() => return,
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    debug!(error, "a connection failed");
                }
                return;
            }
            () = overdue => {
                debug!("disconnected a slow client");
                return;
            }
            // An error means that the sender was dropped, which also stops it.
            _ = stopped.wait_for(|stop| *stop), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}
