//! The routes of the application.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Form, Router,
    body::Body,
    extract::{self, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{Html, IntoResponse, Redirect, Response},
    routing::{get, post},
};
use imagekiln::{Client, Error, ErrorKind, ImageInput, Task, Unfinished, types::Gen2Pro};
use serde::Deserialize;

#[derive(Clone)]
struct App {
    client: Client,
    /// Where pictures are saved.
    folder: PathBuf,
    /// What became of each task, by its id.
    tasks: Arc<Mutex<BTreeMap<String, Progress>>>,
}

enum Progress {
    Waiting,
    /// The name of the file.
    Saved(String),
    Failed(String),
}

#[derive(Deserialize)]
struct Order {
    prompt: String,
    /// The URL of a reference image, if there is one.
    image: String,
}

/// The application. It resumes what the journal has from an earlier run.
pub async fn router(client: Client, folder: PathBuf) -> Result<Router, Error> {
    let app = App { client, folder, tasks: Arc::default() };
    for unfinished in app.client.resume().await? {
        match unfinished {
            Unfinished::Task(task) => app.follow(task),
            unknown => eprintln!("check the service's usage: {unknown:?}"),
        }
    }
    Ok(Router::new()
        .route("/", get(page))
        .route("/pictures", post(submit))
        .route("/pictures/{name}", get(picture))
        .with_state(app))
}

impl App {
    /// Saves the picture of a task as soon as it is ready, whoever looks at the page.
    fn follow(&self, task: Task) {
        let app = self.clone();
        app.set(&task, Progress::Waiting);
        tokio::spawn(async move {
            let progress = match app.save(&task).await {
                Ok(name) => Progress::Saved(name),
                Err(error) => {
                    eprintln!("{error}");
                    Progress::Failed(error.message())
                }
            };
            app.set(&task, progress);
        });
    }

    async fn save(&self, task: &Task) -> Result<String, Error> {
        let saved = task.wait().await?.save_in(&self.folder).await?;
        Ok(saved.path.file_name().unwrap_or_default().to_string_lossy().into_owned())
    }

    fn set(&self, task: &Task, progress: Progress) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.insert(task.id().to_owned(), progress);
    }
}

async fn submit(State(app): State<App>, Form(order): Form<Order>) -> Response {
    let request = Gen2Pro::new(order.prompt).output_format("png");
    let request = match order.image.as_str() {
        "" => request,
        // Text from a form is a URL, and never the path of a file on this machine.
        url => match ImageInput::try_url(url) {
            Ok(image) => request.input_image(image),
            Err(error) => return refused(StatusCode::BAD_REQUEST, &error.to_string()),
        },
    };
    // A browser that leaves does not cut the submission.
    match app.client.submit(request).await {
        Ok(task) => {
            app.follow(task);
            Redirect::to("/").into_response()
        }
        Err(error) => {
            // The advice is for whoever runs the application, the message for whoever uses it.
            eprintln!("{error}");
            let status = match error.kind() {
                ErrorKind::Validation => StatusCode::UNPROCESSABLE_ENTITY,
                _ => StatusCode::BAD_GATEWAY,
            };
            refused(status, &error.message())
        }
    }
}

async fn page(State(app): State<App>) -> Html<String> {
    let tasks = app.tasks.lock().unwrap_or_else(PoisonError::into_inner);
    let items: String = tasks.iter().map(|(id, progress)| item(id, progress)).collect();
    Html(format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Pictures</title>\
         <h1>Pictures</h1><form method=post action=/pictures>\
         <label>Prompt <input name=prompt required></label> \
         <label>URL of a reference image <input name=image type=url></label> \
         <button>Make it</button></form><ul>{items}</ul>"
    ))
}

fn item(id: &str, progress: &Progress) -> String {
    let id = escaped(id);
    match progress {
        Progress::Waiting => format!("<li>{id}: waiting"),
        Progress::Failed(message) => format!("<li>{id}: {}", escaped(message)),
        Progress::Saved(name) => {
            format!("<li>{id}<br><img src=\"/pictures/{}\" alt=\"\">", escaped(name))
        }
    }
}

async fn picture(State(app): State<App>, extract::Path(name): extract::Path<String>) -> Response {
    // The name comes from the browser: only a file right in the folder is served, and only a
    // picture.
    let is_plain = Path::new(&name).file_name().is_some_and(|file| file == name.as_str());
    let file = app.folder.join(&name);
    match tokio::fs::read(&file).await {
        Ok(bytes) if is_plain && name.ends_with(".png") => {
            ([(CONTENT_TYPE, "image/png")], Body::from(bytes)).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn refused(status: StatusCode, message: &str) -> Response {
    (status, Html(format!("<p>{}<p><a href=\"/\">Back</a>", escaped(message)))).into_response()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
