//! The call of an operation: its request as it arrived, and what a valid one asks for.

use std::sync::Arc;

use axum::http::HeaderMap;

use crate::{
    billing::accounts::ProjectRef,
    contract::Submission,
    faults::RequestedFaults,
    http::body::ReadBody,
    media::images::Input,
    request::{parsed::ParsedRequest, training::Trains},
    runtime::workers::JobSize,
};

/// The called operation, and the project of the key.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) project: ProjectRef,
    pub(crate) submission: Arc<Submission>,
    pub(crate) operation: String,
    pub(crate) operation_id: String,
    /// The base URL at which the client reaches the simulator.
    pub(crate) base: String,
}

/// A request as it arrived.
#[derive(Clone)]
pub(super) struct RawRequest {
    pub(super) call: Call,
    pub(super) headers: HeaderMap,
    pub(super) body: Arc<ReadBody>,
    /// The faults that the header requests.
    pub(super) faults: RequestedFaults,
}

impl RawRequest {
    pub(super) fn job_size(&self) -> JobSize {
        JobSize::of_bytes(self.body.len())
    }
}

/// A valid request.
pub(super) struct ValidRequest {
    pub(super) parsed: ParsedRequest,
    pub(super) inputs: Vec<Input>,
    pub(super) size: (u32, u32),
    pub(super) trains: Trains,
    /// When a video shows each input, in seconds.
    pub(super) moments: Vec<Option<f32>>,
}
