//! The faults of a request, applied to its response.

use std::time::Duration;

use axum::{body::Bytes, http::StatusCode, response::Response};

use super::{
    grammar::FaultSpec,
    responses,
    table::FaultPlace,
    table::{Effect, FalseResponse, FalseStatus},
};
use crate::{
    http::{Cut, IdleClose, response},
    runtime::clock::Clock,
    webhooks::WebhookFaults,
};

/// The response during an outage.
const OUTAGE: FalseResponse = FalseResponse::Error(StatusCode::INTERNAL_SERVER_ERROR);

/// The faults that apply to a request.
#[derive(Debug, Default)]
#[must_use = "these faults are already counted as applied"]
pub(crate) struct AppliedFaults(pub(super) Vec<FaultSpec>);

impl AppliedFaults {
    /// The names of the faults.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|fault| fault.known.name).collect()
    }

    /// The name of the fault that decides about the response.
    pub(crate) fn decisive(&self) -> Option<&'static str> {
        let decisive = self.0.iter().find(|fault| fault.effect.is_exclusive());
        decisive.map(|fault| fault.known.name)
    }

    fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.0.iter().map(|fault| &fault.effect)
    }

    /// The response that replaces all processing of the request.
    pub(crate) fn replacement(&self, place: FaultPlace) -> Option<Response> {
        self.effects().find_map(|effect| match effect {
            Effect::Instead(FalseResponse::Cut(_)) if place == FaultPlace::Delivery => None,
            Effect::Outage(_) => Some(responses::of_request(OUTAGE)),
            Effect::Instead(response) => Some(responses::of_request(*response)),
            _ => None,
        })
    }

    /// The response to an accepted submission, or its replacement.
    pub(crate) fn after(&self, response: Response) -> Response {
        let replacement = self.effects().find_map(|effect| match effect {
            Effect::AfterAcceptance(response) => Some(responses::of_request(*response)),
            _ => None,
        });
        replacement.unwrap_or(response)
    }

    /// The base of the polling URL, if it is not the simulator's own.
    pub(crate) fn foreign_base(&self, scheme: &str) -> Option<String> {
        self.effects().find_map(|effect| match effect {
            Effect::PollingHost(host) => Some(format!("{scheme}://{host}")),
            _ => None,
        })
    }

    /// The status in the poll response, if it is not the task's own.
    pub(crate) fn status(&self) -> Option<FalseStatus> {
        self.effects().find_map(|effect| match effect {
            Effect::Status(status) => Some(*status),
            _ => None,
        })
    }

    /// The response that replaces a delivery of this media type.
    pub(crate) fn delivery_replacement(
        &self,
        media_type: &'static str,
        picture: &Bytes,
    ) -> Option<Response> {
        self.effects().find_map(|effect| match effect {
            Effect::File(file) => Some(responses::of_delivery(*file, media_type, picture)),
            _ => None,
        })
    }

    /// How the connection ends in the middle of a delivery.
    pub(crate) fn cut(&self) -> Option<Cut> {
        self.effects().find_map(|effect| match effect {
            Effect::CutShort(cut) | Effect::Instead(FalseResponse::Cut(cut)) => Some(*cut),
            _ => None,
        })
    }

    /// Delays the response or its body, on the simulator's clock, limits how long its connection
    /// may be idle, and sets a wrong date.
    pub(crate) async fn delay(&self, clock: &Clock, mut response: Response) -> Response {
        for effect in self.effects() {
            match effect {
                Effect::SlowHeaders(time) => pause(clock.clone(), *time).await,
                Effect::SlowBody(time) => {
                    response = responses::with_late_body(response, pause(clock.clone(), *time));
                }
                Effect::IdleClose(time) => {
                    response.extensions_mut().insert(IdleClose(*time));
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

    pub(super) fn webhook_faults(&self) -> WebhookFaults {
        let changes = self.effects().filter_map(|effect| match effect {
            Effect::Webhook(changes) => Some(*changes),
            _ => None,
        });
        changes.fold(WebhookFaults::default(), WebhookFaults::and)
    }
}

async fn pause(clock: Clock, time: Duration) {
    clock.sleep_until(clock.now().saturating_add(time)).await;
}
