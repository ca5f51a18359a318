//! The short way without async code.
//!
//!     cargo run --example blocking -- --simulate

mod support;

use imagekiln::{WaitOptions, types::Gen2Pro};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Only the simulator needs a runtime.
    let runtime = tokio::runtime::Runtime::new()?;
    let (builder, _simulator) = runtime.block_on(support::builder())?;
    let client = builder.build_blocking()?;
    let request = Gen2Pro::new("a red fox in the snow").width(256).height(256).seed(7);
    let task = client.submit(request)?; // the POST happens here, and only here
    for update in task.updates(WaitOptions::default()).changes() {
        println!("{}: {}", task.id(), update?.status());
    }
    let saved = task.wait()?.save(std::env::temp_dir().join("blocking.jpeg"))?;
    println!("{} ({} bytes)", saved.path.display(), saved.bytes);
    Ok(())
}
