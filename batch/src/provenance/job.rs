//! Describes a picture of a job.

use imagekiln::Request;

use super::{DescribedPicture, DescribedTimes, Description, describe_request, named};
use crate::{Error, ErrorKind, JobStatus, output::SavedPicture, time::rfc3339};

pub(crate) fn description(
    job: &JobStatus,
    request: &Request,
    picture: &SavedPicture,
) -> Result<Description, Error> {
    let described = describe_request(request, named).map_err(|error| {
        let message = format!("could not describe the picture of job `{}`", job.name);
        Error::new(ErrorKind::Job, message).with_source(error)
    })?;
    Ok(Description {
        version: Description::VERSION,
        job: Some(job.name.clone()),
        model: request.model_name(),
        task_id: job.task_id.clone().unwrap_or_default(),
        seed: request.integer("seed"),
        credits: job.credits,
        times: DescribedTimes {
            added: rfc3339(job.added_at),
            submitted: job.submitted_at.and_then(rfc3339),
            ready: job.ready_at.and_then(rfc3339),
        },
        picture: DescribedPicture {
            media_type: picture.kind.map(|kind| kind.media_type().to_owned()),
            bytes: picture.bytes,
            sha256: picture.sha256.clone(),
        },
        request: described,
    })
}
