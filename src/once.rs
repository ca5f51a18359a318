//! Submissions with an idempotency key, for which the service is paid at most once.

use std::{io, path::PathBuf, time::Duration};

use tokio::{
    task::spawn_blocking,
    time::{self, Instant},
};

use crate::{
    Client, Error, ErrorKind, Submit, SubmitOptions, Task,
    journal::{self, Journal, Key, Keyed, Record, State},
    task::failure,
    values::{MAX_NAME, digest_of_file, one_line},
};

/// How long a call waits while another call with the same key waits for its response, and the pause
/// between two looks at the journal.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The result of [`Client::submit_once`]: the task of an idempotency key, or its saved picture. `T`
/// is the type of the task: the blocking client has a type of its own.
#[derive(Debug)]
#[must_use = "the task is billed: wait for it"]
pub enum Once<T = Task> {
    /// The service has accepted the task, for this call or for an earlier one. Its picture is not
    /// saved, or the saved file was moved or changed.
    Task(T),
    /// The picture was saved before, and the file still exists and has not changed.
    Saved {
        /// The path of the file.
        path: PathBuf,
        /// The task of the picture.
        task: T,
    },
}

impl Client {
    /// Submits a request, unless an earlier call has submitted it with the same idempotency key. In
    /// that case, returns the result of the earlier submission. The client sends another submission
    /// with a key only if the first one was certainly not billed.
    ///
    /// The key is the program's own name for a picture. Its scope is the [journal](crate::journal)
    /// and the base URL of the client: a key names the same picture in every process that uses this
    /// journal, and after a crash.
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
    /// - If another call with the key is waiting for its response, in this process or in another
    ///   one, this call waits for that response, too, for at most 30 seconds.
    /// - If the saved file was moved or changed, the client polls the task, and returns the task if
    ///   the service still has the picture.
    /// - A submission that was certainly not billed does not count: the next call submits again.
    /// - If the task failed or its picture expired, or if a person has [dismissed](Self::dismiss)
    ///   the submission as not billed, the program can request the picture again with the next
    ///   [attempt](Key::attempt) of the key. That attempt is billed again.
    ///   [`attempts`](Self::attempts) returns the earlier attempts.
    ///
    /// # Errors
    ///
    /// The errors of [`submit`](Self::submit), and errors about the key and its earlier
    /// submissions. If one of the following errors is about the key, this call has submitted
    /// nothing:
    ///
    /// - [`TaskFailed`](ErrorKind::TaskFailed), [`Moderated`](ErrorKind::Moderated),
    ///   [`TaskNotFound`](ErrorKind::TaskNotFound), [`Expired`](ErrorKind::Expired): the earlier
    ///   submission was billed, and its picture is not available. If the picture was saved, the
    ///   message contains the path.
    /// - [`InProgress`](ErrorKind::InProgress): another submission with the key is still waiting
    ///   for its response.
    /// - [`Undecided`](ErrorKind::Undecided): the response to the earlier submission was lost, or a
    ///   person has dismissed that submission. See [`resume`](Self::resume).
    /// - [`KeyConflict`](ErrorKind::KeyConflict): the key belongs to a different request, or the
    ///   attempt before this one was never made, has its picture, or may still get it.
    /// - [`Usage`](ErrorKind::Usage): the request has no [stored form](crate::Request::to_json), or
    ///   the key is empty.
    /// - [`Settings`](ErrorKind::Settings): the client has no journal.
    /// - [`Journal`](ErrorKind::Journal): the journal could not be read or written, or does not
    ///   support keys.
    pub async fn submit_once(
        &self,
        key: impl Into<Key>,
        request: impl Submit,
    ) -> Result<Once, Error> {
        self.submit_once_with(key, request, SubmitOptions::default()).await
    }

    /// Submits a request at most once, like [`submit_once`](Self::submit_once), with options, for
    /// example a deadline or an origin.
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
        // An empty key is probably a mistake, such as an empty variable, and would make all
        // pictures of the program share one key.
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
                    // Another call has got the key first. The loop now returns the result of that
                    // call.
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

    /// Returns the records of all attempts of a key, starting with the first attempt.
    ///
    /// # Errors
    ///
    /// - [`Settings`](ErrorKind::Settings): the client has no journal.
    /// - [`Journal`](ErrorKind::Journal): the journal could not be read, or does not support keys.
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

    /// Fails unless the attempt before this one has certainly ended without a picture. Otherwise
    /// the program could pay twice for one picture by accident.
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

    /// Returns the result of an earlier submission.
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

/// Returns whether the response to a submission may still arrive, because a running process waits
/// for it.
fn is_under_way(Keyed { record, is_in_use }: &Keyed) -> bool {
    *record.state() == State::Unknown && !record.is_lost() && *is_in_use
}

/// Returns the name of a key as it is printed in an error.
fn shown(key: &Key) -> String {
    one_line(key.name(), MAX_NAME)
}

/// Returns whether a file still has the size and, if it is known, the digest of the saved picture.
async fn is_whole(path: PathBuf, bytes: u64, sha256: Option<String>) -> bool {
    let check = move || -> io::Result<bool> {
        if !path.is_file() || path.metadata()?.len() != bytes {
            return Ok(false);
        }
        let Some(sha256) = sha256 else { return Ok(true) };
        Ok(digest_of_file(&path)? == sha256)
    };
    // A file that cannot be read counts as changed, so the client tries to fetch the picture again.
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
