//! Applies faults to the response of a request.

use std::time::Duration;

use axum::{body::Body, response::Response};

use super::{body::Late, fault::Fault, known::FaultPlace, responses};
use crate::{http::Cut, runtime::clock::Clock, webhooks::WebhookFaults};

/// The status in a poll response that is not the task's own.
#[derive(Clone, Copy)]
pub(crate) enum FalseStatus {
    /// An in-progress status that no client knows.
    Unknown,
    /// `Task not found`.
    NotFound,
}

/// The faults that apply to a request.
#[derive(Debug, Default)]
#[must_use = "these faults are already counted as applied"]
pub(crate) struct AppliedFaults(Vec<Fault>);

impl AppliedFaults {
    pub(super) fn allows(&self, fault: &Fault) -> bool {
        !self.0.iter().any(|applied| applied.excludes(fault))
    }

    pub(super) fn push(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// The response that replaces all processing of the request.
    pub(crate) fn replacement(&self, place: FaultPlace) -> Option<Response> {
        self.0.iter().find_map(|fault| match fault {
            Fault::ErrorBefore(status) => Some(responses::error(*status)),
            Fault::Html502 => Some(responses::bad_gateway()),
            Fault::RateLimited(seconds) => Some(responses::rate_limited(*seconds)),
            Fault::Reset { after: false } if place != FaultPlace::Delivery => {
                Some(responses::cut(Cut::Reset))
            }
            _ => None,
        })
    }

    /// The response to an accepted submission, or its replacement.
    pub(crate) fn after(&self, response: Response) -> Response {
        let replacement = self.0.iter().find_map(|fault| match fault {
            Fault::ErrorAfter(status) => Some(responses::error(*status)),
            Fault::ReplyLost => Some(responses::cut(Cut::Close)),
            Fault::Reset { after: true } => Some(responses::cut(Cut::Reset)),
            _ => None,
        });
        replacement.unwrap_or(response)
    }

    /// The base of the polling URL, if it is not the simulator's own.
    pub(crate) fn foreign_base(&self) -> Option<String> {
        self.0.iter().find_map(|fault| match fault {
            Fault::ForeignPollingHost(host) => Some(format!("http://{host}")),
            _ => None,
        })
    }

    /// The status in the poll response, if it is not the task's own.
    pub(crate) fn status(&self) -> Option<FalseStatus> {
        self.0.iter().find_map(|fault| match fault {
            Fault::UnknownStatus => Some(FalseStatus::Unknown),
            Fault::SpuriousNotFound => Some(FalseStatus::NotFound),
            _ => None,
        })
    }

    /// The response that replaces a delivery of this media type.
    pub(crate) fn delivery_replacement(&self, media_type: &'static str) -> Option<Response> {
        self.0.iter().find_map(|fault| match fault {
            Fault::Empty => Some(responses::bytes(media_type, Vec::new())),
            Fault::Html => Some(responses::page()),
            Fault::WrongKind(wrong) => Some(responses::wrong_kind(*wrong, media_type)),
            Fault::EarlyExpiry => Some(responses::expired()),
            _ => None,
        })
    }

    /// How the connection ends in the middle of a delivery.
    pub(crate) fn cut(&self) -> Option<Cut> {
        self.0.iter().find_map(|fault| match fault {
            Fault::Truncated => Some(Cut::Close),
            Fault::Reset { .. } => Some(Cut::Reset),
            _ => None,
        })
    }

    /// Delays the response or its body, on the simulator's clock.
    pub(crate) async fn delay(&self, clock: &Clock, mut response: Response) -> Response {
        for fault in &self.0 {
            match fault {
                Fault::SlowHeaders(time) => pause(clock.clone(), *time).await,
                Fault::SlowBody(time) => {
                    let pause = pause(clock.clone(), *time);
                    response = response.map(|body| Body::new(Late::new(pause, body)));
                }
                _ => {}
            }
        }
        response
    }

    pub(super) fn webhook_faults(self) -> WebhookFaults {
        let mut faults = WebhookFaults::default();
        for fault in self.0 {
            match fault {
                Fault::WebhookDuplicate => faults.duplicate = true,
                Fault::WebhookLate(time) => faults.late = time,
                Fault::WebhookOutOfOrder => faults.out_of_order = true,
                Fault::WebhookForged => faults.forged = true,
                _ => {}
            }
        }
        faults
    }
}

async fn pause(clock: Clock, time: Duration) {
    clock.sleep_until(clock.now().saturating_add(time)).await;
}
