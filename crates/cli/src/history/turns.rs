//! The order of the numbers: pictures of one command are recorded in the order of `{index}`,
//! although they are submitted at once.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::timeout};

use super::{History, Kept};
use imagekiln::{
    TaskRef,
    journal::{Continues, Intent, Journal, JournalFuture, Key, Keyed, Record, Step, Unreadable},
};

/// How long a picture waits for the pictures before it. After that, it is recorded out of order,
/// because the picture matters more than the order.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The index of the next picture to record.
#[derive(Clone)]
pub struct Turns(Arc<watch::Sender<usize>>);

impl Turns {
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    /// Returns the turn of a picture. When it is dropped, the next picture has its turn.
    pub fn of(&self, index: usize) -> Turn {
        Turn { turns: self.clone(), index }
    }
}

pub struct Turn {
    turns: Turns,
    index: usize,
}

impl Turn {
    async fn wait(&self) {
        let mut next = self.turns.0.subscribe();
        let _ = timeout(LONGEST_WAIT, next.wait_for(|next| *next >= self.index)).await;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.0.send_modify(|next| *next = (*next).max(self.index + 1));
    }
}

fn index_of(intent: &Intent) -> usize {
    intent.context().map_or(0, |kept: Kept| kept.index)
}

/// Passes everything to the directory, and records the pictures of this command in their order.
impl Journal for History {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        Box::pin(async move {
            let turn = self.turn(index_of(intent));
            turn.wait().await;
            self.directory.intend(intent).await
        })
    }

    fn intend_once<'a>(
        &'a self,
        intent: &'a Intent,
        key: &'a Key,
    ) -> JournalFuture<'a, Option<Keyed>> {
        Box::pin(async move {
            let turn = self.turn(index_of(intent));
            turn.wait().await;
            self.directory.intend_once(intent, key).await
        })
    }

    fn of_key<'a>(&'a self, key: &'a Key) -> JournalFuture<'a, Option<Keyed>> {
        self.directory.of_key(key)
    }

    fn advance<'a>(&'a self, submission: &'a str, step: &'a Step) -> JournalFuture<'a, ()> {
        self.directory.advance(submission, step)
    }

    fn adopt<'a>(&'a self, submission: &'a Intent, task: &'a TaskRef) -> JournalFuture<'a, bool> {
        self.directory.adopt(submission, task)
    }

    fn open_records(&self) -> JournalFuture<'_, Vec<Result<Record, Unreadable>>> {
        self.directory.open_records()
    }

    fn open_records_for(
        &self,
        continues: Continues,
    ) -> JournalFuture<'_, Vec<Result<Record, Unreadable>>> {
        self.directory.open_records_for(continues)
    }
}
