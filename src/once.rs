//! Pictures by name: at most one payment for an idempotency key.

use std::{
    fs::File,
    io::{self, Read as _},
    path::PathBuf,
    time::Duration,
};

use sha2::{Digest as _, Sha256};
use tokio::{
    task::spawn_blocking,
    time::{self, Instant},
};

use crate::{
    Client, Error, ErrorKind, Submit, SubmitOptions, Task,
    journal::{self, Journal, Key, Keyed, Record, State},
    task::failure,
    values::{MAX_NAME, hash::hex, one_line},
};

/// How long a call waits for the response to the submission of another one.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// What became of the picture with an idempotency key, as [`Client::submit_once`] returns it. `T`
/// is the type of the task, which is another one for the blocking client.
#[derive(Debug)]
#[must_use = "the task is billed: wait for it"]
pub enum Once<T = Task> {
    /// The task was accepted, now or by an earlier call, and its picture is not saved.
    Task(T),
    /// The picture was saved. The file is still there, and has not changed.
    Saved {
        /// The path of the file.
        path: PathBuf,
        /// The task of the picture.
        task: T,
    },
}

impl Client {
    /// Submits a request, unless that was done before with the same idempotency key. Otherwise
    /// returns what became of it: it never sends a second POST for a key.
    ///
    /// The key is the program's own name for the picture that it wants. It is the same in this
    /// process, in another one with the same [journal](crate::journal), and after a crash. Its
    /// scope is the journal and the base URL of the client.
    ///
    /// ```
    /// # use imagekiln::{Client, Error, Once, types::Gen2Pro};
    /// # async fn make(client: &Client) -> Result<(), Error> {
    /// let cover = Gen2Pro::new("a red fox in the snow").seed(7);
    /// match client.submit_once("order-17/cover", cover).await? {
    ///     Once::Task(task) => drop(task.wait().await?.save("order-17.jpg").await?),
    ///     Once::Saved { path, .. } => println!("{} is there", path.display()),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// - If another call with the key waits for its response, in this process or another, this one
    ///   waits for it, too, for at most 30 seconds.
    /// - If the saved file was moved or changed, the task is polled, and returned if the service
    ///   still has the picture.
    /// - A submission that was certainly not billed does not count: the next call submits again.
    /// - If the task failed or its picture expired, or if a person has
    ///   [dismissed](Self::dismiss) the submission as not billed, the program can ask for the
    ///   picture again with the next [attempt](Key::attempt) of the key.
    ///   [`attempts`](Self::attempts) returns those that there are.
    ///
    /// # Errors
    ///
    /// The errors of [`submit`](Self::submit), and of what became of an earlier submission. Nothing
    /// was sent for these:
    ///
    /// - [`TaskFailed`](ErrorKind::TaskFailed), [`Moderated`](ErrorKind::Moderated),
    ///   [`TaskNotFound`](ErrorKind::TaskNotFound), [`Expired`](ErrorKind::Expired): the picture
    ///   was billed, and will not come. If it was saved, the message has the path.
    /// - [`InProgress`](ErrorKind::InProgress): another submission waits for its response.
    /// - [`Undecided`](ErrorKind::Undecided): the response was lost, or a person has dismissed the
    ///   submission. See [`resume`](Self::resume).
    /// - [`KeyConflict`](ErrorKind::KeyConflict): the key belongs to another request, or an earlier
    ///   attempt may still bring a picture.
    /// - [`Usage`](ErrorKind::Usage): the request has no [stored form](crate::Request::to_json), or
    ///   the key is empty.
    /// - [`Settings`](ErrorKind::Settings): the client has no journal.
    /// - [`Journal`](ErrorKind::Journal): the journal could not be read or written, or has no keys.
    pub async fn submit_once(
        &self,
        key: impl Into<Key>,
        request: impl Submit,
    ) -> Result<Once, Error> {
        self.submit_once_with(key, request, SubmitOptions::default()).await
    }

    /// Submits a request once like [`submit_once`](Self::submit_once), with a deadline or an origin
    /// of its own, for example.
    ///
    /// # Errors
    ///
    /// The same errors as [`submit_once`](Self::submit_once).
    pub async fn submit_once_with(
        &self,
        key: impl Into<Key>,
        request: impl Submit,
        mut options: SubmitOptions,
    ) -> Result<Once, Error> {
        let key = self.own(key.into());
        let request = request.into_request();
        let digest = request.digest().map_err(|error| {
            Error::new(ErrorKind::Usage, "a request without a stored form cannot have a key")
                .with_source(error)
                .with_advice("nothing was sent")
        })?;
        // A variable may be empty, and all pictures would have the same key.
        if key.name().trim().is_empty() {
            let error = Error::new(ErrorKind::Usage, "the key is empty");
            return Err(error.with_advice("nothing was sent"));
        }
        self.may_attempt(&key).await?;
        options.origin = options.origin.of_key(key.clone());
        let until = Instant::now() + LONGEST_WAIT;
        loop {
            let Some(known) = self.of_key(&key).await?.filter(Keyed::may_be_billed) else {
                let submitted = self.submit_with(request.clone(), options.clone()).await;
                match submitted {
                    // Another call was faster.
                    Err(error) if error.kind() == ErrorKind::InProgress => continue,
                    submitted => return submitted.map(Once::Task),
                }
            };
            if let Some(other) = known.record.intent().request_sha256()
                && other != digest
            {
                return Err(conflict(format!(
                    "the key `{}` belongs to another request: its digest is {other}, and that of \
                     this one is {digest}",
                    shown(&key)
                )));
            }
            if !is_under_way(&known) {
                return self.outcome(&key, known.record).await;
            }
            if Instant::now() >= until {
                return Err(in_progress(&key, &known.record));
            }
            time::sleep(BETWEEN_LOOKS).await;
        }
    }

    /// Returns the records of the attempts of a key, the first one first.
    ///
    /// # Errors
    ///
    /// - [`Settings`](ErrorKind::Settings): the client has no journal.
    /// - [`Journal`](ErrorKind::Journal): the journal could not be read, or has no keys.
    pub async fn attempts(&self, name: impl Into<String>) -> Result<Vec<Record>, Error> {
        let mut key = self.own(Key::new(name));
        let mut records = Vec::new();
        while let Some(known) = self.of_key(&key).await? {
            records.push(known.record);
            let next = key.number().saturating_add(1);
            key = key.attempt(next);
        }
        Ok(records)
    }

    fn own(&self, key: Key) -> Key {
        key.of_service(self.shared.service.base_url.as_str())
    }

    async fn of_key(&self, key: &Key) -> Result<Option<Keyed>, Error> {
        let journal: &dyn Journal = self.shared.settings.journal.as_deref().ok_or_else(|| {
            Error::new(ErrorKind::Settings, "a key needs a journal").with_advice("set one")
        })?;
        let found = journal::call(|| journal.of_key(key)).await;
        found.map_err(|error| {
            let message = format!("could not look up the key `{}` in the journal", shown(key));
            error.into_error(&message).with_advice("nothing was sent")
        })
    }

    /// Fails unless the attempt before this one brings no picture.
    async fn may_attempt(&self, key: &Key) -> Result<(), Error> {
        let Some(before) = key.number().checked_sub(1).filter(|number| *number > 0) else {
            return Ok(());
        };
        let known = self.of_key(&key.clone().attempt(before)).await?;
        let what = match known.as_ref().map(|known| (known.record.state(), known.record.task())) {
            Some((State::Failed(_) | State::Expired | State::NotBilled, _)) => return Ok(()),
            Some((State::Settled, None)) => return Ok(()),
            Some((State::Saved { .. }, _)) => "has its picture",
            Some(_) => "may still bring a picture",
            None => "was never made",
        };
        Err(conflict(format!("attempt {before} of the key `{}` {what}", shown(key))))
    }

    /// Returns what became of a submission.
    async fn outcome(&self, key: &Key, record: Record) -> Result<Once, Error> {
        let Some(task) = self.task_of_record(&record) else {
            let name = shown(key);
            let error = match record.state() {
                State::Settled => Error::new(
                    ErrorKind::Undecided,
                    format!("a person has dismissed the submission with the key `{name}`"),
                )
                .with_advice("ask for the picture again, as the next attempt of the key")
                .with_function("Key::attempt"),
                _ => Error::new(
                    ErrorKind::Undecided,
                    format!("the response to the submission with the key `{name}` was lost"),
                )
                .with_billing_unknown()
                .with_advice(
                    "nothing was sent now; check the usage at the service, then adopt its task or \
                     dismiss it",
                ),
            };
            return Err(error);
        };
        match record.state() {
            State::Failed(status) => {
                Err(failure(status.clone(), task.reference(), record.details()))
            }
            State::Expired => Err(Error::new(ErrorKind::Expired, "the picture has expired")
                .with_advice("ask the service for it")
                .with_task(task.reference())),
            State::Saved { path, bytes, sha256 } => {
                let (path, sha256) = (path.clone(), sha256.clone());
                if is_whole(path.clone(), *bytes, sha256).await {
                    return Ok(Once::Saved { path, task });
                }
                let polled = task.poll().await;
                if polled.as_ref().is_ok_and(|update| update.picture().is_some()) {
                    return Ok(Once::Task(task));
                }
                let message = format!(
                    "the picture was saved as {}, which is gone or has changed, and the service \
                     no longer has it",
                    path.display()
                );
                let error = Error::new(ErrorKind::Expired, message)
                    .with_advice("it is paid: look for the file")
                    .with_task(task.reference());
                Err(match polled {
                    Err(reason) => error.with_source(reason),
                    Ok(_) => error,
                })
            }
            _ => Ok(Once::Task(task)),
        }
    }
}

/// Whether the response to a submission may still arrive.
fn is_under_way(Keyed { record, is_in_use }: &Keyed) -> bool {
    *record.state() == State::Unknown && !record.is_lost() && *is_in_use
}

/// The name of a key in an error.
fn shown(key: &Key) -> String {
    one_line(key.name(), MAX_NAME)
}

/// Whether a file is still the one that was saved.
async fn is_whole(path: PathBuf, bytes: u64, sha256: Option<String>) -> bool {
    let check = move || -> io::Result<bool> {
        if !path.is_file() || path.metadata()?.len() != bytes {
            return Ok(false);
        }
        let Some(sha256) = sha256 else { return Ok(true) };
        let (mut file, mut digest) = (File::open(path)?, Sha256::new());
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(hex(digest) == sha256),
                count => digest.update(buffer.get(..count).unwrap_or_default()),
            }
        }
    };
    // A file that cannot be read is fetched again.
    spawn_blocking(check).await.is_ok_and(|checked| checked.unwrap_or(false))
}

fn conflict(message: String) -> Error {
    Error::new(ErrorKind::KeyConflict, message).with_advice("nothing was sent; use another key")
}

fn in_progress(key: &Key, record: &Record) -> Error {
    let message = format!(
        "another call waits for the response to submission {} with the key `{}`",
        record.intent().id(),
        shown(key)
    );
    Error::new(ErrorKind::InProgress, message).with_advice("nothing was sent; call it again later")
}
