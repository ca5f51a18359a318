//! `--describe`: the file beside a picture that describes it, in the form that a batch writes.

use std::{fs, io, io::Write as _, path::Path};

use serde_json::Value;

use crate::{
    files::{directory, target::Saved},
    history::{find::DESCRIPTION, request},
    models::SEED,
    output::Output,
    text::{printable, rfc3339},
};
use imagekiln::{DELIVERY_VALIDITY, Picture};
use imagekiln_label::{DescribedPicture, DescribedTimes, Description};

/// Writes the description. The picture is saved, so a failure is only a warning.
pub fn describe(
    output: &Output,
    request: Option<&Value>,
    (picture, credits): (&Picture, Option<f64>),
    saved: &Saved,
) {
    let Some(path) = &saved.path else { return };
    let written = match request {
        Some(request) => write(path, &description(request, picture, credits, saved)),
        None => Err(io::Error::other("its request is not known")),
    };
    if let Err(error) = written {
        let path = printable(&path.to_string_lossy());
        output.warning(&format!("{path} is saved, but could not be described: {error}"));
    }
}

fn description(
    request: &Value,
    picture: &Picture,
    credits: Option<f64>,
    saved: &Saved,
) -> Description {
    let task = picture.task();
    let ready = picture.expires_at().checked_sub(DELIVERY_VALIDITY);
    Description {
        version: Description::VERSION,
        job: None,
        model: request::model(request).unwrap_or_default(),
        task_id: task.id().to_owned(),
        seed: request::field(request, SEED).and_then(Value::as_i64),
        credits,
        times: DescribedTimes {
            added: None,
            submitted: task.submitted_at().map(rfc3339),
            ready: ready.map(rfc3339),
        },
        picture: DescribedPicture {
            media_type: saved.kind.map(|kind| kind.media_type().to_owned()),
            bytes: saved.bytes,
            sha256: saved.sha256.clone().unwrap_or_default(),
        },
        request: request.clone(),
    }
}

/// Writes the file beside a picture. Replaces the description of an earlier picture, but no other
/// file.
fn write(picture: &Path, description: &Description) -> io::Result<()> {
    let mut path = picture.as_os_str().to_owned();
    path.push(DESCRIPTION);
    let path = Path::new(&path);
    let is_another = |found: Vec<u8>| Description::parse(&found).is_none();
    if path.symlink_metadata().is_ok() && fs::read(path).map_or(true, is_another) {
        let problem = format!("{} is another file", path.display());
        return Err(io::Error::other(problem));
    }
    let mut file = directory::temporary_file(directory::parent(picture))?;
    file.write_all(&description.to_json())?;
    file.persist(path)?;
    Ok(())
}
