//! A journal whose process can die, and whose disk can be full.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use fastrand::Rng;
use imagekiln::journal::{Directory, Intent, Journal, JournalError, JournalFuture, Record, Step};

/// The directory of a process. After its death, nothing reaches the directory, and no request is
/// sent: what still runs in this process only looks as if it ran.
#[derive(Clone)]
pub(crate) struct Mortal(Arc<Inner>);

struct Inner {
    directory: Directory,
    is_dead: AtomicBool,
    random: Mutex<Rng>,
    /// How often a write fails, from 0 to 1.
    failures: f64,
}

impl Mortal {
    pub(crate) fn new(directory: Directory, random: Rng, failures: f64) -> Self {
        let (is_dead, random) = (AtomicBool::new(false), Mutex::new(random));
        Self(Arc::new(Inner { directory, is_dead, random, failures }))
    }

    pub(crate) fn die(&self) {
        self.0.is_dead.store(true, Ordering::Relaxed);
    }

    fn write<'a, T: 'a>(&self, write: JournalFuture<'a, T>) -> JournalFuture<'a, T> {
        if self.is_dead() {
            return Box::pin(async { Err("the process is dead".into()) });
        }
        let chance = self.0.random.lock().unwrap_or_else(PoisonError::into_inner).f64();
        if chance < self.0.failures {
            return Box::pin(async { Err("the disk is full".into()) });
        }
        write
    }

    fn is_dead(&self) -> bool {
        self.0.is_dead.load(Ordering::Relaxed)
    }
}

impl Journal for Mortal {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        self.write(self.0.directory.intend(intent))
    }

    fn permit(&self, _: &Intent) -> Result<(), JournalError> {
        if self.is_dead() {
            return Err(JournalError::Refused("the process is dead".into()));
        }
        Ok(())
    }

    fn advance<'a>(&'a self, submission: &'a str, step: &'a Step) -> JournalFuture<'a, ()> {
        self.write(self.0.directory.advance(submission, step))
    }

    fn open_records(&self) -> JournalFuture<'_, Vec<Record>> {
        self.0.directory.open_records()
    }
}
