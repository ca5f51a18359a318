//! The JSON body of a submission, which is generated while it is sent. Images are read and encoded
//! in chunks, so an image file is never completely in memory. The length of the body is known
//! before the first byte is sent, because the plan of the body measures each file. A blocking
//! thread reads the file while it is sent.

mod glance;
mod stream;
#[cfg(test)]
mod tests;

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use tokio::sync::mpsc;

use self::stream::{Pool, RAW_FRAME};
pub(crate) use self::stream::{Progress, StreamedBody};
use crate::{
    Error, ErrorKind, ImageInput,
    contract::{FieldImages, Request},
    values::{
        base64_text,
        file::{self, Fingerprint},
    },
};

/// The number of frames per chunk of a file. Larger chunks save thread switches, because the
/// blocking thread hands each chunk to the thread that sends it.
const FRAMES: usize = 8;

/// The number of encoded chunks that the channel from the blocking thread can hold.
const AHEAD: usize = 2;

/// Decides immediately before an attempt is sent whether it may be sent.
pub(crate) type Permit = Box<dyn FnOnce() -> Result<(), Error> + Send + Sync>;

/// The plan of a submission's body, from which the body can be generated again for a retry.
pub(crate) struct BodyPlan {
    parts: Vec<Part>,
    pub(crate) length: u64,
}

/// A part of the body.
enum Part {
    /// Sent verbatim.
    Ready(Bytes),
    /// Encoded as base64.
    Encode(Bytes),
    /// Read and encoded as base64.
    File(Arc<PlannedFile>),
}

impl BodyPlan {
    /// Plans the body of a request. This opens the files, so it may block. An error names the field
    /// and the file.
    pub(crate) fn new(request: &Request) -> io::Result<Self> {
        let mut writer = Writer { text: Vec::new(), parts: Vec::new() };
        writer.body(request)?;
        let Writer { text, mut parts } = writer;
        parts.push(Part::Ready(text.into()));
        let length = parts.iter().map(Part::length).sum();
        Ok(Self { parts, length })
    }
}

/// Divides a body into parts. Collects JSON text in `text` until an image begins, then moves the
/// text and the image to `parts`.
struct Writer {
    text: Vec<u8>,
    parts: Vec<Part>,
}

impl Writer {
    fn body(&mut self, request: &Request) -> io::Result<()> {
        self.text.push(b'{');
        for (index, (name, value)) in request.body.iter().enumerate() {
            self.separate(index);
            serde_json::to_writer(&mut self.text, name)?;
            self.text.push(b':');
            match request.images.get(name) {
                None => serde_json::to_writer(&mut self.text, value)?,
                Some(FieldImages::One(image)) => self.image(name, image)?,
                Some(FieldImages::List(images)) => {
                    self.text.push(b'[');
                    for (index, image) in images.iter().enumerate() {
                        self.separate(index);
                        self.image(name, image)?;
                    }
                    self.text.push(b']');
                }
            }
        }
        self.text.push(b'}');
        Ok(())
    }

    fn separate(&mut self, index: usize) {
        self.text.extend((index > 0).then_some(b','));
    }

    fn image(&mut self, field: &str, image: &ImageInput) -> io::Result<()> {
        let part = match image {
            ImageInput::Bytes(bytes) => Part::Encode(bytes.clone()),
            ImageInput::Path(path) => Part::File(Arc::new(PlannedFile::new(field, path)?)),
            ImageInput::Base64(text) => match base64_text::verbatim(text) {
                Some(text) => Part::Ready(text),
                None => return self.string(&String::from_utf8_lossy(text)),
            },
            ImageInput::Url(url) => return self.string(url.reveal()),
        };
        self.text.push(b'"');
        self.parts.push(Part::Ready(std::mem::take(&mut self.text).into()));
        self.parts.push(part);
        self.text.push(b'"');
        Ok(())
    }

    fn string(&mut self, text: &str) -> io::Result<()> {
        Ok(serde_json::to_writer(&mut self.text, text)?)
    }
}

impl Part {
    fn length(&self) -> u64 {
        match self {
            Self::Ready(text) => text.len() as u64,
            Self::Encode(bytes) => encoded(bytes.len() as u64),
            Self::File(file) => encoded(file.fingerprint.length),
        }
    }
}

fn encoded(length: u64) -> u64 {
    length.div_ceil(3) * 4
}

/// An image file, and the state that the file had when the request was planned.
struct PlannedFile {
    field: String,
    path: PathBuf,
    fingerprint: Fingerprint,
}

impl PlannedFile {
    fn new(field: &str, path: &Path) -> io::Result<Self> {
        // Open the file, so that a missing read permission is an error before anything is sent.
        let fingerprint = file::open(path)
            .and_then(|file| Fingerprint::of(&file))
            .map_err(|error| described(field, path, &error))?;
        Ok(Self { field: field.to_owned(), path: path.to_owned(), fingerprint })
    }

    /// Reads and encodes the file on a blocking thread. Must be called within a tokio runtime.
    fn read(
        self: &Arc<Self>,
        pool: &Arc<Pool>,
        progress: &Arc<Progress>,
    ) -> mpsc::Receiver<io::Result<Bytes>> {
        let (sender, chunks) = mpsc::channel(AHEAD);
        let (file, pool, progress) = (Arc::clone(self), Arc::clone(pool), Arc::clone(progress));
        tokio::task::spawn_blocking(move || {
            if let Err(error) = file.send(&pool, &sender) {
                let error = described(&file.field, &file.path, &error);
                let message = format!("could not read an image: {error}");
                progress.fail(
                    Error::new(ErrorKind::File, message)
                        .with_advice("nothing was billed; the client cancelled the upload"),
                );
                // Fails if the attempt was cancelled and the receiver is gone.
                let _ = sender.blocking_send(Err(error));
            }
        });
        chunks
    }

    fn send(&self, pool: &Arc<Pool>, sender: &mpsc::Sender<io::Result<Bytes>>) -> io::Result<()> {
        let mut file = file::open(&self.path)?;
        self.must_be_unchanged(&file)?;
        let mut frame = vec![0; RAW_FRAME];
        let mut left = self.fingerprint.length;
        while left > 0 {
            let mut chunk = pool.buffer();
            for _ in 0..FRAMES {
                // Encode each small piece while it is still in the processor cache.
                frame.truncate(left.min(RAW_FRAME as u64) as usize);
                file.read_exact(&mut frame).map_err(or_changed)?;
                chunk.encode(&frame);
                left -= frame.len() as u64;
                if left == 0 {
                    break;
                }
            }
            if left == 0 {
                // Checked before the last chunk, so that the service never receives a complete file
                // that has changed.
                self.must_be_unchanged(&file)?;
            }
            if sender.blocking_send(Ok(Bytes::from_owner(chunk))).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn must_be_unchanged(&self, file: &File) -> io::Result<()> {
        if Fingerprint::of(file)? == self.fingerprint { Ok(()) } else { Err(changed()) }
    }
}

/// Reports a file that ends before its planned length as changed.
fn or_changed(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => changed(),
        _ => error,
    }
}

fn changed() -> io::Error {
    io::Error::other("changed while it was being sent")
}

fn described(field: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{} (field `{field}`): {error}", path.display()))
}
