//! A process that can die, whose disk fails, and whose hooks panic or hang.

use std::{
    future::pending,
    panic::resume_unwind,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use fastrand::Rng;
use imagekiln::{
    TaskRef,
    journal::{
        Continues, Directory, Intent, Journal, JournalError, JournalFuture, Key, Keyed, Record,
        Step, Unreadable,
    },
    middleware::{Exchange, HeaderMap, Middleware, Outcome, Purpose, Retry},
};
use tokio::{sync::watch, time::sleep};

use crate::{
    disk::Machine,
    stopped::{Call, Calls},
};

/// When a process dies. A machine that crashes takes all of its processes with it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Death {
    After(Duration),
    /// In the middle of an operation of the disk, or before or after a request.
    At(u32),
}

/// How the disk of a process fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Failing {
    /// Only what needs space fails.
    Full,
    ReadOnly,
    Broken,
}

/// What goes wrong in a process.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trouble {
    pub(crate) death: Option<Death>,
    /// How the disk fails, after how many operations, and how often, from 0 to 1.
    pub(crate) disk: Option<(Failing, u32, f64)>,
    /// How often a hook panics or hangs.
    pub(crate) hooks: f64,
    /// At which write of a locked record the process is stopped for a while.
    pub(crate) stop: Option<u32>,
    /// Whether the disk still writes after an operation at which the process dies.
    pub(crate) dies_late: bool,
}

/// How an operation of the disk fails.
pub(crate) enum Strike {
    None,
    Dead,
    Full,
    ReadOnly,
    Broken,
}

/// Whether a process lives. The processes of a machine that crashes share it.
#[derive(Default)]
pub(crate) struct Life {
    is_dying: watch::Sender<bool>,
    is_dead: AtomicBool,
    operations: AtomicU32,
}

pub(crate) struct Process {
    pub(crate) machine: Arc<Machine>,
    pub(crate) trouble: Trouble,
    /// Those of this process.
    pub(crate) calls: Calls,
    life: Arc<Life>,
    random: Mutex<Rng>,
    operations: AtomicU32,
    writes: AtomicU32,
    /// The number of submissions whose acceptance arrived.
    accepted: AtomicU32,
}

impl Process {
    pub(crate) fn new(
        machine: Arc<Machine>,
        life: Arc<Life>,
        trouble: Trouble,
        random: Rng,
    ) -> Arc<Self> {
        Arc::new(Self {
            machine,
            trouble,
            calls: Calls::default(),
            life,
            random: Mutex::new(random),
            operations: AtomicU32::new(0),
            writes: AtomicU32::new(0),
            accepted: AtomicU32::new(0),
        })
    }

    /// Returns when the process should be dropped.
    pub(crate) async fn death(&self) {
        let after = async {
            match self.trouble.death {
                Some(Death::After(after)) => sleep(after).await,
                _ => pending().await,
            }
        };
        let mut is_dying = self.life.is_dying.subscribe();
        tokio::select! {
            // Fails only if the sender was dropped.
            _ = is_dying.wait_for(|is_dying| *is_dying) => {}
            () = after => {}
        }
        self.life.is_dying.send_replace(true);
    }

    /// From now on, the process can neither write nor send anything.
    pub(crate) fn die(&self) {
        self.life.is_dead.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.life.is_dead.load(Ordering::Relaxed)
    }

    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed) as usize
    }

    pub(crate) fn random<T>(&self, choose: impl FnOnce(&mut Rng) -> T) -> T {
        choose(&mut self.random.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts an operation, at which the process may die.
    fn operate(&self) {
        let number = self.life.operations.fetch_add(1, Ordering::Relaxed);
        if let Some(Death::At(at)) = self.trouble.death
            && number == at
        {
            self.life.is_dying.send_replace(true);
            if !self.trouble.dies_late {
                self.die();
            }
        }
    }

    /// Returns how an operation of the disk fails. `grows`: it needs space.
    pub(crate) fn strike(&self, grows: bool) -> Strike {
        self.operate();
        if self.is_dead() {
            return Strike::Dead;
        }
        let number = self.operations.fetch_add(1, Ordering::Relaxed);
        let Some((failing, after, often)) = self.trouble.disk else { return Strike::None };
        if number < after || self.random(Rng::f64) >= often {
            return Strike::None;
        }
        match failing {
            Failing::Full if !grows => Strike::None,
            Failing::Full => Strike::Full,
            Failing::ReadOnly => Strike::ReadOnly,
            Failing::Broken => Strike::Broken,
        }
    }

    /// Counts a write, at which the process may be stopped.
    pub(crate) fn stops(&self) -> bool {
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        self.trouble.stop == Some(number)
    }

    fn misbehaves(&self) -> bool {
        self.random(Rng::f64) < self.trouble.hooks
    }

    fn hook(&self) {
        self.operate();
        if self.misbehaves() {
            panic();
        }
    }
}

/// Panics without a message on standard error.
fn panic() -> ! {
    resume_unwind(Box::new("a hook panicked"))
}

/// The middleware of a process.
pub(crate) struct Watching(pub(crate) Arc<Process>);

impl Middleware for Watching {
    fn before(&self, _: &Exchange<'_>, _: &mut HeaderMap) {
        self.0.hook();
    }

    fn after(&self, exchange: &Exchange<'_>, outcome: &Outcome) {
        if exchange.purpose == Purpose::Submission
            && outcome.status.is_some_and(|status| (200..300).contains(&status))
        {
            self.0.accepted.fetch_add(1, Ordering::Relaxed);
        }
        self.0.hook();
    }

    fn retry(&self, _: &Retry<'_>) {
        self.0.hook();
    }
}

/// The journal of a process.
pub(crate) struct Hooked {
    pub(crate) directory: Directory,
    pub(crate) process: Arc<Process>,
}

impl Hooked {
    fn call<'a, T: 'a>(&'a self, call: JournalFuture<'a, T>) -> JournalFuture<'a, T> {
        Box::pin(async {
            let _call = Call::begin(&self.process);
            call.await
        })
    }

    /// Panics or hangs now and then, before or after it writes.
    fn write<'a, T: 'a>(&'a self, write: JournalFuture<'a, T>) -> JournalFuture<'a, T> {
        let write = self.call(write);
        if !self.process.misbehaves() {
            return write;
        }
        match self.process.random(|random| random.u8(0..4)) {
            0 => panic(),
            1 => Box::pin(async { panic() }),
            2 => Box::pin(async {
                write.await?;
                panic()
            }),
            _ => Box::pin(async {
                write.await?;
                pending().await
            }),
        }
    }
}

impl Journal for Hooked {
    fn intend<'a>(&'a self, intent: &'a Intent) -> JournalFuture<'a, ()> {
        self.write(self.directory.intend(intent))
    }

    fn intend_once<'a>(
        &'a self,
        intent: &'a Intent,
        key: &'a Key,
    ) -> JournalFuture<'a, Option<Keyed>> {
        self.write(self.directory.intend_once(intent, key))
    }

    fn of_key<'a>(&'a self, key: &'a Key) -> JournalFuture<'a, Option<Keyed>> {
        self.call(self.directory.of_key(key))
    }

    fn permit(&self, _: &Intent) -> Result<(), JournalError> {
        if self.process.is_dead() {
            return Err(JournalError::Refused("the process is dead".into()));
        }
        Ok(())
    }

    fn advance<'a>(&'a self, submission: &'a str, step: &'a Step) -> JournalFuture<'a, ()> {
        self.write(self.directory.advance(submission, step))
    }

    fn adopt<'a>(&'a self, submission: &'a Intent, task: &'a TaskRef) -> JournalFuture<'a, bool> {
        self.call(self.directory.adopt(submission, task))
    }

    fn open_records(&self) -> JournalFuture<'_, Vec<Result<Record, Unreadable>>> {
        self.call(self.directory.open_records())
    }

    fn open_records_for(
        &self,
        continues: Continues,
    ) -> JournalFuture<'_, Vec<Result<Record, Unreadable>>> {
        self.call(self.directory.open_records_for(continues))
    }
}
