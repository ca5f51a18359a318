//! Makes a picture with the client of openapi-generator's `rust`.

use std::{env, error::Error, fs, time::Duration};

use openapi::{
    apis::{
        configuration::{ApiKey, Configuration},
        generation_api::gen2_pro,
        tasks_api::get_result,
    },
    models::{Gen2Pro, SubmissionResponse},
};

const MAX_POLLS: u32 = 100;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let configuration = Configuration {
        base_path: env::var("IMAGEKILN_BASE_URL")?,
        api_key: Some(ApiKey { prefix: None, key: env::var("IMAGEKILN_API_KEY")? }),
        ..Configuration::default()
    };
    let mut request = Gen2Pro::new("a red fox in the snow".to_owned());
    request.width = Some(Some(256));
    request.height = Some(Some(256));
    request.seed = Some(Some(7));
    let id = match gen2_pro(&configuration, request).await? {
        SubmissionResponse::AsyncResponse(task) => task.id,
        SubmissionResponse::AsyncWebhookResponse(task) => task.id,
    };
    for polls in 1..=MAX_POLLS {
        let poll = get_result(&configuration, &id).await?;
        if poll.status.as_deref() == Some("Ready") {
            let url = poll.result.and_then(|result| result.sample).ok_or("no delivery URL")?;
            let picture = reqwest::get(url).await?.error_for_status()?.bytes().await?;
            fs::write(env::args().nth(1).ok_or("no path for the picture")?, picture)?;
            println!("{polls}");
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(format!("the task {id} was not ready after {MAX_POLLS} polls").into())
}
