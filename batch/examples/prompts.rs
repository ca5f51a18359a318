//! Two hundred pictures with a cap on tasks and credits. Run it again to resume.

use imagekiln::{ClientBuilder, types::Gen2Pro};
use imagekiln_batch::{Batch, Job, Ledger};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let foxes = (1..=200).map(|number| {
        let request = Gen2Pro::new("a red fox in the snow").seed(number).width(64).height(64);
        Job::new(format!("fox-{number}"), format!("fox-{number}.jpg"), request)
    });
    let ledger = Ledger::open("foxes.db").await?;
    let report = Batch::open(ClientBuilder::from_env()?, ledger)?
        .jobs(foxes)
        .max_active(24)
        .budget(1000.0)
        .save_to("foxes")
        .on_change(|job| println!("{} {} {:?}", job.name, job.state, job.reason))
        .run()
        .await?;
    print!("{report}");
    Ok(())
}
