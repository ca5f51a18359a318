//! Two hundred pictures with a cap, a budget and progress. Run it again to resume.
//!
//!     cargo run --package imagekiln-batch --example prompts

use imagekiln::{ClientBuilder, types::Gen2Pro};
use imagekiln_batch::{Batch, Job, Ledger};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let foxes = (1..=200).map(|number| {
        let request = Gen2Pro::new("a red fox in the snow").seed(number).width(64).height(64);
        Job::new(format!("fox-{number}"), "{index:03}-{slug}-{seed}.{ext}", request)
    });
    let report = Batch::open(ClientBuilder::from_env()?, Ledger::open("foxes.db").await?)?
        .jobs(foxes)
        .max_active(24)
        .budget(1000)
        .save_to("foxes")
        .on_change(|job| {
            println!("{} {} {}", job.name, job.state, job.reason.as_deref().unwrap_or(""))
        })
        .run()
        .await?;
    print!("{report}");
    Ok(())
}
