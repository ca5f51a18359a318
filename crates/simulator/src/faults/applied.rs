//! Applies the faults of a request to its response.

use std::{io::Cursor, time::Duration};

use axum::{
    Extension,
    body::{Body, Bytes},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use futures_util::{StreamExt as _, stream};
use http_body::Body as _;
use image::{ImageFormat, RgbImage};

use super::{
    requested::FaultSpec,
    table::{Effect, FalseFile, FalseResponse, FalseStatus, FaultPlace},
};
use crate::{
    http::{
        Cut, IdleClose,
        response::{self, Problem},
        signed_url::EXPIRED,
    },
    runtime::clock::Clock,
    webhooks::WebhookFault,
};

/// The response during an outage.
const OUTAGE: FalseResponse = FalseResponse::Error(StatusCode::INTERNAL_SERVER_ERROR);

/// The faults that apply to a request, and that are already counted as applied.
#[derive(Debug, Default)]
#[must_use = "these faults are already counted as applied"]
pub(crate) struct AppliedFaults(pub(super) Vec<FaultSpec>);

impl AppliedFaults {
    /// The names of the faults.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|fault| fault.known.name).collect()
    }

    /// The name of the fault that determines the response.
    pub(crate) fn decisive(&self) -> Option<&'static str> {
        self.exclusive().map(|fault| fault.known.name)
    }

    /// The fault that determines the response. A request has at most one.
    fn exclusive(&self) -> Option<&FaultSpec> {
        self.0.iter().find(|fault| fault.effect.is_exclusive())
    }

    /// The response with which a fault replaces all processing of the request.
    pub(crate) fn replacement(&self, place: FaultPlace) -> Option<Response> {
        match self.exclusive()?.effect {
            Effect::Instead(FalseResponse::Cut(_)) if place == FaultPlace::Delivery => None,
            Effect::Outage(_) => Some(of_request(OUTAGE)),
            Effect::Instead(response) => Some(of_request(response)),
            _ => None,
        }
    }

    /// The response to an accepted submission, or the response with which a fault replaces it.
    pub(crate) fn after(&self, response: Response) -> Response {
        match self.exclusive().map(|fault| &fault.effect) {
            Some(Effect::AfterAcceptance(response)) => of_request(*response),
            _ => response,
        }
    }

    /// The base of the polling URL, if a fault sets a host other than the simulator's own.
    pub(crate) fn foreign_base(&self, scheme: &str) -> Option<String> {
        let Effect::PollingHost(host) = &self.exclusive()?.effect else { return None };
        Some(format!("{scheme}://{host}"))
    }

    /// The status in the poll response, if a fault replaces the status of the task.
    pub(crate) fn status(&self) -> Option<FalseStatus> {
        let Effect::Status(status) = self.exclusive()?.effect else { return None };
        Some(status)
    }

    /// The response with which a fault replaces a delivery of this media type.
    pub(crate) fn delivery_replacement(
        &self,
        media_type: &'static str,
        picture: &Bytes,
    ) -> Option<Response> {
        let Effect::File(file) = self.exclusive()?.effect else { return None };
        Some(of_delivery(file, media_type, picture))
    }

    /// How a fault ends the connection in the middle of a delivery.
    pub(crate) fn cut(&self) -> Option<Cut> {
        match self.exclusive()?.effect {
            Effect::CutShort(cut) | Effect::Instead(FalseResponse::Cut(cut)) => Some(cut),
            _ => None,
        }
    }

    /// Applies the faults that do not replace the response: delays its start or its body, on the
    /// simulator's clock, limits how long its connection may be idle, and sets a wrong date.
    pub(crate) async fn delay(&self, clock: &Clock, mut response: Response) -> Response {
        for fault in &self.0 {
            match &fault.effect {
                Effect::SlowHeaders(time) => pause(clock.clone(), *time).await,
                Effect::SlowBody(time) => {
                    response = with_late_body(response, pause(clock.clone(), *time));
                }
                Effect::IdleClose(time) => {
                    response = (Extension(IdleClose(*time)), response).into_response();
                }
                Effect::ClockSkew(seconds) => {
                    let now = clock.unix_now().as_secs().saturating_add_signed(*seconds);
                    response::set_date(&mut response, Duration::from_secs(now));
                }
                _ => {}
            }
        }
        response
    }

    /// The faults of a webhook.
    pub(crate) fn of_webhook(&self) -> Vec<WebhookFault> {
        let faults = self.0.iter().filter_map(|fault| match fault.effect {
            Effect::Webhook(fault) => Some(fault),
            _ => None,
        });
        faults.collect()
    }
}

async fn pause(clock: Clock, time: Duration) {
    clock.sleep_until(clock.now().saturating_add(time)).await;
}

const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n\
    <body><h1>502 Bad Gateway</h1><p>This page is a simulated fault.</p></body></html>\n";

/// Makes the response to a request other than a delivery.
pub(super) fn of_request(response: FalseResponse) -> Response {
    match response {
        FalseResponse::Error(status) => {
            let reason = status.canonical_reason().unwrap_or("The service failed");
            Problem::new(status, reason).into_response()
        }
        FalseResponse::ProxyPage => (StatusCode::BAD_GATEWAY, page()).into_response(),
        FalseResponse::RateLimited(seconds) => {
            let response = Problem::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests");
            ([(header::RETRY_AFTER, HeaderValue::from(seconds))], response).into_response()
        }
        FalseResponse::Cut(cut) => Extension(cut).into_response(),
    }
}

/// Makes the response that replaces a picture of this media type.
pub(super) fn of_delivery(file: FalseFile, media_type: &'static str, picture: &Bytes) -> Response {
    match file {
        FalseFile::Empty => bytes(media_type, Vec::new()),
        FalseFile::Half => bytes(media_type, picture.slice(..picture.len() / 2).into()),
        FalseFile::OtherSize => {
            let format = ImageFormat::from_mime_type(media_type).unwrap_or(ImageFormat::Png);
            bytes(media_type, black([64, 80], format))
        }
        FalseFile::Page => page(),
        FalseFile::Text => bytes(media_type, b"This text is a simulated fault.\n".to_vec()),
        FalseFile::OtherFormat => {
            let is_png = media_type == "image/png";
            let format = if is_png { ImageFormat::Jpeg } else { ImageFormat::Png };
            bytes(media_type, black([64, 64], format))
        }
        FalseFile::Expired => Problem::forbidden(EXPIRED).into_response(),
    }
}

/// A body with the first half of some bytes, after which the connection ends.
pub(crate) fn cut_short(bytes: &Bytes, cut: Cut) -> Body {
    let half = bytes.slice(..bytes.len() / 2);
    let end = async move {
        // Yield once, because the server sends what it has only while no more data is available.
        tokio::task::yield_now().await;
        Err(cut)
    };
    Body::from_stream(stream::iter([Ok(half)]).chain(stream::once(end)))
}

/// Delays the body of a response until `pause` has ended.
pub(super) fn with_late_body(
    mut response: Response,
    pause: impl Future<Output = ()> + Send + 'static,
) -> Response {
    // The new body is a stream, whose length is not known, so keep the length in a header.
    if let Some(length) = response.body().size_hint().exact() {
        response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    }
    response.map(|body| {
        let late = async {
            pause.await;
            body.into_data_stream()
        };
        Body::from_stream(stream::once(late).flatten())
    })
}

fn page() -> Response {
    bytes("text/html; charset=utf-8", PAGE.into())
}

fn bytes(media_type: &'static str, bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, media_type)], bytes).into_response()
}

fn black([width, height]: [u32; 2], format: ImageFormat) -> Vec<u8> {
    let mut encoded = Cursor::new(Vec::new());
    // Writing to memory does not fail. If it did, the body would still not be the expected picture.
    let _ = RgbImage::new(width, height).write_to(&mut encoded, format);
    encoded.into_inner()
}
