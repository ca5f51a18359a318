//! Counts the exchanges and changes of a process.

use std::sync::{
    Arc,
    atomic::{AtomicI32, Ordering},
};

use imagekiln::middleware::{Exchange, HeaderMap, Middleware, Outcome};
use tokio::sync::Notify;

/// Notifies when a number of exchanges and changes is reached.
pub struct Fuse {
    left: AtomicI32,
    blown: Notify,
}

impl Fuse {
    /// Without a length, the fuse never notifies.
    pub fn new(length: Option<i32>) -> Arc<Self> {
        Arc::new(Self { left: AtomicI32::new(length.unwrap_or_default()), blown: Notify::new() })
    }

    fn burn(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.blown.notify_one();
        }
    }

    pub async fn blown(&self) {
        self.blown.notified().await;
    }
}

/// The fuses of a process.
#[derive(Clone)]
pub struct Fuses {
    pub crash: Arc<Fuse>,
    pub take_over: Arc<Fuse>,
    pub events: Arc<Fuse>,
}

impl Fuses {
    /// A process in which nothing happens.
    pub fn none() -> Self {
        Self { crash: Fuse::new(None), take_over: Fuse::new(None), events: Fuse::new(None) }
    }

    pub fn burn(&self) {
        for fuse in [&self.crash, &self.take_over, &self.events] {
            fuse.burn();
        }
    }
}

impl Middleware for Fuses {
    fn before(&self, _: &Exchange<'_>, _: &mut HeaderMap) {
        self.burn();
    }

    fn after(&self, _: &Exchange<'_>, _: &Outcome) {
        self.burn();
    }
}
