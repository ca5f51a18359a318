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

/// The turn of a picture to be recorded. When it is dropped, the next picture has its turn.
pub struct Turn {
    /// The index of the next picture to record.
    next: Arc<watch::Sender<usize>>,
    index: usize,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.next.send_modify(|next| *next = (*next).max(self.index + 1));
    }
}

impl History {
    pub fn turn(&self, index: usize) -> Turn {
        Turn { next: Arc::clone(&self.next), index }
    }

    /// Waits for the turn of the picture with this intent.
    async fn turn_of(&self, intent: &Intent) -> Turn {
        let turn = self.turn(intent.context().map_or(0, |kept: Kept| kept.index));
        let mut next = self.next.subscribe();
        let _ = timeout(LONGEST_WAIT, next.wait_for(|next| *next >= turn.index)).await;
        turn
    }
}

/// Passes everything to the directory, and records the pictures of this command in their order.
impl Journal for History {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        Box::pin(async move {
            let _turn = self.turn_of(intent).await;
            self.directory.intend(intent).await
        })
    }

    fn intend_once<'a>(
        &'a self,
        intent: &'a Intent,
        key: &'a Key,
    ) -> JournalFuture<'a, Option<Keyed>> {
        Box::pin(async move {
            let _turn = self.turn_of(intent).await;
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
