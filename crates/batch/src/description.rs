//! Describes a picture of a job.

use imagekiln::Request;
use imagekiln_label::{DescribedPicture, DescribedTimes, Description, describe_request, named};

use crate::{Error, ErrorKind, JobStatus, output::SavedPicture, time::rfc3339};

pub(crate) fn description(
    job: &JobStatus,
    request: &Request,
    picture: &SavedPicture,
) -> Result<Description, Error> {
    let message = format!("could not describe the picture of job `{}`", job.name);
    let described =
        describe_request(request, named).map_err(Error::because(ErrorKind::Job, message))?;
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use imagekiln::{FileKind, ImageInput, Submit, types::Gen2Pro};
    use imagekiln_label::sha256;

    use super::*;
    use crate::JobState;

    fn text_of(request: Request) -> String {
        let picture = SavedPicture {
            bytes: 3,
            sha256: sha256(b"abc"),
            kind: Some(FileKind::Jpeg),
            location: "/pictures/fox.jpg".to_owned(),
            pixels: None,
        };
        let job = JobStatus {
            group: None,
            metadata: None,
            priority: 0,
            name: "fox".to_owned(),
            number: 1,
            operation: "gen-2-pro".to_owned(),
            pixels: 10_000,
            target: "fox.jpg".to_owned(),
            state: JobState::Ready,
            reason: None,
            submissions: 1,
            task_id: Some("t-1".to_owned()),
            credits: Some(3.0),
            location: None,
            added_at: UNIX_EPOCH,
            sent_at: Some(UNIX_EPOCH + Duration::from_secs(8)),
            submitted_at: Some(UNIX_EPOCH + Duration::from_secs(9)),
            ready_at: None,
            changed_at: UNIX_EPOCH,
        };
        String::from_utf8(description(&job, &request, &picture).unwrap().to_json()).unwrap()
    }

    #[test]
    fn the_document_has_a_stable_form() {
        let request = Gen2Pro::new("a red fox").seed(7).input_image(ImageInput::path("fox.png"));
        let expected = concat!(
            "{\n  \"version\": 1,\n  \"job\": \"fox\",\n  \"model\": \"gen-2-pro\",\n",
            "  \"task_id\": \"t-1\",\n  \"seed\": 7,\n  \"credits\": 3.0,\n  \"times\": {\n",
            "    \"added\": \"1970-01-01T00:00:00Z\",\n",
            "    \"submitted\": \"1970-01-01T00:00:09Z\"\n  },\n  \"picture\": {\n",
            "    \"media_type\": \"image/jpeg\",\n    \"bytes\": 3,\n    \"sha256\": ",
            "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"\n  },\n",
            "  \"request\": {\n    \"fields\": {\n      \"input_image\": {\n",
            "        \"path\": \"fox.png\"\n      },\n      \"prompt\": \"a red fox\",\n",
            "      \"seed\": 7\n    },\n    \"operation\": \"gen-2-pro\"\n  }\n}\n",
        );
        assert_eq!(text_of(request.into_request()), expected);
    }
}
