//! A journal in memory, whose writes wait for the test or fail.

use std::sync::{Arc, Mutex};

use imagekiln::{
    TaskRef,
    journal::{Entry, Intent, Journal, JournalFuture},
};
use tokio::sync::Semaphore;

/// A method that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    Intend,
    Accept,
    Withdraw,
    Settle,
}

pub struct Held {
    /// What was written, in this order.
    written: Mutex<Vec<Write>>,
    fails: Option<Write>,
    waits: Option<Write>,
    permits: Semaphore,
}

impl Held {
    pub fn failing(write: Write) -> Arc<Self> {
        Arc::new(Self { fails: Some(write), ..Self::open() })
    }

    /// Waits at this method until the test [lets it go](Self::let_go).
    pub fn waiting(write: Write) -> Arc<Self> {
        Arc::new(Self { waits: Some(write), ..Self::open() })
    }

    fn open() -> Self {
        Self { written: Mutex::default(), fails: None, waits: None, permits: Semaphore::new(0) }
    }

    pub fn let_go(&self) {
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

impl Journal for Held {
    fn intend<'a>(&'a self, _: &'a Intent) -> JournalFuture<'a, ()> {
        self.write(Write::Intend)
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
        Box::pin(async { Err("this journal can't be read".into()) })
    }
}
