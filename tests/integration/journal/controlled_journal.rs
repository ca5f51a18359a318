//! An in-memory journal whose writes can wait for the test, or fail.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::Semaphore;

use imagekiln::journal::{Intent, Journal, JournalError, JournalFuture, Record, Step, Unreadable};

/// A write of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    Intend,
    Accept,
    NotBilled,
    Saved,
    Other,
}

#[derive(Clone)]
pub struct ControlledJournal(Arc<Controls>);

struct Controls {
    /// The writes in order.
    written: Mutex<Vec<Write>>,
    fails: Option<(Write, fn() -> JournalError)>,
    waits: Option<Write>,
    permits: Semaphore,
    /// The number of attempts that are permitted.
    attempts: AtomicUsize,
}

impl Controls {
    fn open() -> Self {
        Self {
            written: Mutex::default(),
            fails: None,
            waits: None,
            permits: Semaphore::new(0),
            attempts: usize::MAX.into(),
        }
    }
}

impl ControlledJournal {
    pub fn failing(write: Write) -> Self {
        Self::failing_with(write, || "the disk of this test is full".into())
    }

    /// Fails, or panics, as `failure` does.
    pub fn failing_with(write: Write, failure: fn() -> JournalError) -> Self {
        Self(Arc::new(Controls { fails: Some((write, failure)), ..Controls::open() }))
    }

    /// Permits only so many attempts.
    pub fn permitting(attempts: usize) -> Self {
        Self(Arc::new(Controls { attempts: attempts.into(), ..Controls::open() }))
    }

    /// Waits in this method until the test [releases](Self::release) it.
    pub fn waiting(write: Write) -> Self {
        Self(Arc::new(Controls { waits: Some(write), ..Controls::open() }))
    }

    pub fn release(&self) {
        self.0.permits.add_permits(1);
    }

    pub fn written(&self) -> Vec<Write> {
        self.0.written.lock().unwrap().clone()
    }

    fn write(&self, write: Write) -> JournalFuture<'_, ()> {
        Box::pin(async move {
            if self.0.waits == Some(write) {
                self.0.permits.acquire().await?.forget();
            }
            match &self.0.fails {
                Some((fails, failure)) if *fails == write => return Err(failure()),
                _ => {}
            }
            self.0.written.lock().unwrap().push(write);
            Ok(())
        })
    }
}

impl Journal for ControlledJournal {
    fn intend<'a>(&'a self, _: &'a Intent) -> JournalFuture<'a, ()> {
        self.write(Write::Intend)
    }

    fn permit(&self, _: &Intent) -> Result<(), JournalError> {
        let take = |left: usize| left.checked_sub(1);
        match self.0.attempts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(()),
            Err(_) => Err(JournalError::Refused("the lease of this test has expired".into())),
        }
    }

    fn advance<'a>(&'a self, _: &'a str, step: &'a Step) -> JournalFuture<'a, ()> {
        self.write(match step {
            Step::Accepted(_) => Write::Accept,
            Step::NotBilled => Write::NotBilled,
            Step::Saved { .. } => Write::Saved,
            _ => Write::Other,
        })
    }

    fn open_records(&self) -> JournalFuture<'_, Vec<Result<Record, Unreadable>>> {
        Box::pin(async { Err("this journal cannot be read".into()) })
    }
}
