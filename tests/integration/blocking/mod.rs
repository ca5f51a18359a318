//! The blocking client, called from threads without a runtime.

mod async_code;
mod methods;
mod promises;
mod simulated;

use std::{sync::LazyLock, time::Duration};

use tokio::runtime::Runtime;

use imagekiln::WaitOptions;

/// The runtime of the servers of these tests.
static SERVERS: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

/// Polls often, because these tests cannot pause the clock.
fn soon() -> WaitOptions {
    WaitOptions::default().interval(Duration::from_millis(10))
}
