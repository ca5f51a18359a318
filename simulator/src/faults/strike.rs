//! What strikes one request, and how its answer turns out.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;

use super::answers;
use super::body::Late;
use super::fault::{Fault, FaultPlace};
use crate::clock::Clock;
use crate::outcome::{ODD_STATUS, Outcome};
use crate::serve::Cut;
use crate::webhooks::Twist;

/// The faults that strike a request.
#[derive(Debug, Default)]
#[must_use = "a fault that struck is counted"]
pub(crate) struct Strike(Vec<Fault>);

impl Strike {
    pub(super) fn allows(&self, fault: &Fault) -> bool {
        !self.0.iter().any(|struck| struck.excludes(fault))
    }

    pub(super) fn push(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// The answer that comes instead of everything else, if one does.
    pub(crate) fn instead(&self, place: FaultPlace) -> Option<Response> {
        self.0.iter().find_map(|fault| match fault {
            Fault::ErrorBefore(status) => Some(answers::error(*status)),
            Fault::Html502 => Some(answers::bad_gateway()),
            Fault::RateLimited(seconds) => Some(answers::rate_limited(*seconds)),
            Fault::Reset { after: false } if place != FaultPlace::Delivery => {
                Some(answers::cut(Cut::Reset))
            }
            _ => None,
        })
    }

    /// What becomes of the answer to an accepted submission.
    pub(crate) fn after(&self, response: Response) -> Response {
        let answer = self.0.iter().find_map(|fault| match fault {
            Fault::ErrorAfter(status) => Some(answers::error(*status)),
            Fault::ReplyLost => Some(answers::cut(Cut::Close)),
            Fault::Reset { after: true } => Some(answers::cut(Cut::Reset)),
            _ => None,
        });
        answer.unwrap_or(response)
    }

    /// The base of the polling address, where it is not the simulator's own.
    pub(crate) fn foreign_base(&self) -> Option<String> {
        self.0.iter().find_map(|fault| match fault {
            Fault::ForeignPollingHost(host) => Some(format!("http://{host}")),
            _ => None,
        })
    }

    /// The status that a poll tells, where it is not the task's own.
    pub(crate) fn status(&self) -> Option<&'static str> {
        self.0.iter().find_map(|fault| match fault {
            Fault::UnknownStatus => Some(ODD_STATUS),
            Fault::SpuriousNotFound => Some(Outcome::NotFound.status()),
            _ => None,
        })
    }

    /// What a delivery of this media type answers with instead of the picture, if it does.
    pub(crate) fn delivered_instead(&self, media_type: &'static str) -> Option<Response> {
        self.0.iter().find_map(|fault| match fault {
            Fault::Empty => Some(answers::bytes(media_type, Vec::new())),
            Fault::Html => Some(answers::page()),
            Fault::WrongKind(wrong) => Some(answers::wrong_kind(*wrong, media_type)),
            Fault::EarlyExpiry => Some(answers::expired()),
            _ => None,
        })
    }

    /// How a delivery ends in its middle, if it does.
    pub(crate) fn cut_in_the_middle(&self) -> Option<Cut> {
        self.0.iter().find_map(|fault| match fault {
            Fault::Truncated => Some(Cut::Close),
            Fault::Reset { .. } => Some(Cut::Reset),
            _ => None,
        })
    }

    /// Holds the answer back, or its body, by the simulator's clock.
    pub(crate) async fn hold_back(&self, clock: &Clock, mut response: Response) -> Response {
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

    pub(super) fn twist(self) -> Twist {
        let mut twist = Twist::default();
        for fault in self.0 {
            match fault {
                Fault::WebhookDuplicate => twist.duplicate = true,
                Fault::WebhookLate(time) => twist.late = time,
                Fault::WebhookOutOfOrder => twist.out_of_order = true,
                Fault::WebhookForged => twist.forged = true,
                _ => {}
            }
        }
        twist
    }
}

async fn pause(clock: Clock, time: Duration) {
    clock.sleep_until(clock.now().saturating_add(time)).await;
}
