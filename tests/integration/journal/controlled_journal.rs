//! An in-memory journal whose writes can wait for the test, or fail.

use std::{
    error::Error,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::Semaphore;

use imagekiln::{
    TaskRef,
    journal::{Entry, Intent, Journal, JournalFuture},
};

/// A writing method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    Intend,
    Accept,
    Withdraw,
    Settle,
}

pub struct ControlledJournal {
    /// The writes in order.
    written: Mutex<Vec<Write>>,
    fails: Option<Write>,
    waits: Option<Write>,
    permits: Semaphore,
    /// The number of attempts that are permitted.
    attempts: AtomicUsize,
}

impl ControlledJournal {
    pub fn failing(write: Write) -> Arc<Self> {
        Arc::new(Self { fails: Some(write), ..Self::open() })
    }

    /// Permits only so many attempts.
    pub fn permitting(attempts: usize) -> Arc<Self> {
        Arc::new(Self { attempts: attempts.into(), ..Self::open() })
    }

    /// Waits in this method until the test [releases](Self::release) it.
    pub fn waiting(write: Write) -> Arc<Self> {
        Arc::new(Self { waits: Some(write), ..Self::open() })
    }

    fn open() -> Self {
        Self {
            written: Mutex::default(),
            fails: None,
            waits: None,
            permits: Semaphore::new(0),
            attempts: usize::MAX.into(),
        }
    }

    pub fn release(&self) {
        self.permits.add_permits(1);
    }

    pub fn written(&self) -> Vec<Write> {
        self.written.lock().unwrap().clone()
    }

    fn write(&self, write: Write) -> JournalFuture<'_, ()> {
        Box::pin(async move {
            if self.waits == Some(write) {
                self.permits.acquire().await?.forget();
            }
            if self.fails == Some(write) {
                return Err("the budget of this test is used up".into());
            }
            self.written.lock().unwrap().push(write);
            Ok(())
        })
    }
}

impl Journal for ControlledJournal {
    fn intend<'a>(&'a self, _: &'a Intent) -> JournalFuture<'a, ()> {
        self.write(Write::Intend)
    }

    fn permit(&self, _: &Intent) -> Result<(), Box<dyn Error + Send + Sync>> {
        let take = |left: usize| left.checked_sub(1);
        match self.attempts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(()),
            Err(_) => Err("the lease of this test has expired".into()),
        }
    }

    fn accept<'a>(&'a self, _: &'a Intent, _: &'a TaskRef) -> JournalFuture<'a, ()> {
        self.write(Write::Accept)
    }

    fn withdraw<'a>(&'a self, _: &'a Intent) -> JournalFuture<'a, ()> {
        self.write(Write::Withdraw)
    }

    fn settle<'a>(&'a self, _: &'a TaskRef) -> JournalFuture<'a, ()> {
        self.write(Write::Settle)
    }

    fn entries(&self) -> JournalFuture<'_, Vec<Entry>> {
        Box::pin(async { Err("this journal cannot be read".into()) })
    }
}
