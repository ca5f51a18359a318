//! Deliveries: serves the pictures at the signed delivery URLs.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{Method, Uri, request::Parts},
};
use futures_util::stream;
use imagekiln_painter::paint::{self, Picture};
use tracing::debug;

use super::parameter;
use crate::{
    faults::{AppliedFaults, FaultPlace, FaultSource, RequestedFaults, cut_short},
    http::{
        response::{Handled, Part, Problem},
        signed_url::EXPIRED,
    },
    journal::RequestRecord,
    runtime::workers::JobSize,
    state::{AppState, Records},
    tasks::{outcome::Outcome, timeline::HappeningKind},
};

/// The number of bytes of a picture to send at once, which is also the size of a connection's
/// buffers.
const CHUNK: usize = 16 << 10;

/// Serves a delivery URL. It requires no key, because the URL is signed.
pub(super) async fn deliver(
    state: &Arc<AppState>,
    Parts { method, uri, headers, .. }: &Parts,
    file: &str,
    record: &mut RequestRecord,
) -> Handled {
    if method != Method::GET && method != Method::HEAD {
        return Err(Problem::other_methods("GET, HEAD"));
    }
    check_url(state, uri, file)?;
    let id = file.split('.').next().unwrap_or_default();
    record.set_task(id);
    let mut requested =
        RequestedFaults::in_header(headers, FaultSource::Request(FaultPlace::Delivery))
            .map_err(Problem::malformed)?;
    let resets = {
        let Records { tasks, lateness, resets, .. } = &mut *state.records();
        if let Some(task) = tasks.get_mut(id) {
            let delay = task.ready_for(state.clock.unix_now());
            lateness.fetched.record(delay, &mut task.fetched_after);
        }
        *resets
    };
    let (kind, bytes) = picture(state, id).await?;
    let applied = match *method {
        // Faults affect the body, and the response to a HEAD request has none.
        Method::HEAD => AppliedFaults::default(),
        _ => {
            let mut records = state.records();
            let mut task = records.tasks.get_mut(id);
            let carried = task.as_mut().map(|task| &mut task.directives.faults);
            let applied = state.faults.apply(FaultPlace::Delivery, &mut requested, carried);
            if let (Some(task), Some(fault)) = (task, applied.decisive()) {
                task.timeline.record(state.clock.unix_now(), HappeningKind::DeliveryFailed, fault);
            }
            applied
        }
    };
    record.faults = applied.names();
    let replacement = applied.replacement(FaultPlace::Delivery);
    let replacement = replacement.or_else(|| applied.delivery_replacement(kind, &bytes));
    let response = replacement.unwrap_or_else(|| {
        debug!(task = id, bytes = bytes.len(), "delivering");
        let length = bytes.len();
        let part =
            if *method == Method::GET { Part::requested(headers, length) } else { Part::Whole };
        part.response(kind, bytes, |part| match applied.cut() {
            Some(cut) => cut_short(&part, cut),
            None if part.len() < length => in_parts(part, || {}),
            None => {
                let (state, id) = (Arc::clone(state), id.to_owned());
                in_parts(part, move || delivered(&state, &id, resets))
            }
        })
    });
    Ok(applied.delay(&state.clock, response).await)
}

/// Checks that the signature of a delivery URL is valid, and that the URL has not expired.
fn check_url(state: &AppState, uri: &Uri, file: &str) -> Handled<()> {
    let parameter = |name: &str| parameter(uri, name).unwrap_or_default();
    let expires = parameter("expires");
    if !state.signer.verify(file, &expires, &parameter("signature")) {
        return Err(Problem::forbidden("The signature of the delivery URL is not valid"));
    }
    let expires = Duration::from_secs(expires.parse().map_err(|_| Problem::not_found())?);
    if state.clock.unix_now() >= expires {
        return Err(Problem::forbidden(EXPIRED));
    }
    Ok(())
}

/// Returns the picture of a task that is ready, and its media type. Concurrent requests for the
/// same picture wait for the same rendering.
pub(crate) async fn picture(state: &Arc<AppState>, id: &str) -> Handled<(&'static str, Bytes)> {
    let (picture, resets) = {
        let records = state.records();
        let task = records.tasks.get(id).ok_or_else(Problem::not_found)?;
        let kind = task.picture.format.media_type();
        if task.outcome(state.clock.unix_now()) != Some(Outcome::Ready) {
            return Err(Problem::not_found());
        }
        if let Some(painted) = &task.painted {
            return Ok((kind, painted.clone()));
        }
        if task.images_dropped {
            return Err(Problem::not_found());
        }
        (task.picture.clone(), records.resets)
    };
    let (kind, size) = (picture.format.media_type(), JobSize::of_pixels(picture.work()));
    let render = {
        let (state, id) = (Arc::clone(state), id.to_owned());
        move || render(&state, &id, &picture, resets)
    };
    // After a reset of the simulator, another task may have the same id.
    let key = format!("{resets}/{id}");
    let painted = state.painters.run(&key, size, render).await.flatten();
    Ok((kind, painted.ok_or_else(Problem::internal)?))
}

/// Renders a picture, and stores it with its task. The rendering of a request whose client has left
/// may have stored it before.
fn render(state: &AppState, id: &str, picture: &Picture, resets: u64) -> Option<Bytes> {
    let stored = {
        let records = state.records();
        let task = records.tasks.get(id).filter(|_| records.resets == resets);
        task.and_then(|task| task.painted.clone())
    };
    if stored.is_some() {
        return stored;
    }
    let bytes = Bytes::from(paint::render(picture).ok()?);
    let mut records = state.records();
    // After a reset of the simulator, another task may have the same id.
    if records.resets == resets {
        records.tasks.keep_picture(id, bytes.clone(), state.clock.unix_now());
    }
    Some(bytes)
}

/// Counts a delivery of the complete picture.
fn delivered(state: &AppState, id: &str, resets: u64) {
    let mut records = state.records();
    // After a reset of the simulator, another task may have the same id.
    if records.resets == resets {
        records.delivered += 1;
        if let Some(task) = records.tasks.get_mut(id) {
            task.deliveries += 1;
            task.timeline.record(state.clock.unix_now(), HappeningKind::Delivered, "");
        }
    }
}

/// Creates a body that is sent in parts. Calls `on_end` when the connection takes the last part.
fn in_parts(bytes: Bytes, on_end: impl Fn() + Send + 'static) -> Body {
    let parts = (0..bytes.len()).step_by(CHUNK).map(move |start| {
        let end = bytes.len().min(start + CHUNK);
        if end == bytes.len() {
            on_end();
        }
        Ok::<_, Infallible>(bytes.slice(start..end))
    });
    Body::from_stream(stream::iter(parts))
}
