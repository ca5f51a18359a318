//! Finds the pictures of the user, in the history and in the ledgers of batches.

use std::path::{Path, PathBuf};

use tokio::{sync::mpsc::Sender, task::spawn_blocking};

use crate::{
    commands::{
        batch::{ledgers, place::Place},
        show,
    },
    context::Context,
    failure::Failure,
    history::{self, Entry, Prices, list, request},
    pages::{Item, job, sheet},
    process::Process,
    text::{Clock, one_line, quoted, seconds},
};
use imagekiln::{TaskStatus, journal::State};
use imagekiln_batch::{Filter, JobState, Ledger};

/// The number of jobs that are read at once. It is small, because their requests may contain
/// images.
const PAGE: usize = 20;

/// A picture, or a submission without one.
pub struct Found {
    pub item: Item,
    pub picture: Picture,
}

pub enum Picture {
    None,
    /// The picture is in a file. The digest and the size are those that the history recorded when
    /// the picture was saved, if it did.
    File {
        path: PathBuf,
        sha256: Option<String>,
        bytes: Option<u64>,
    },
    /// The picture is in a bucket. The content was read from there, or is empty if an earlier page
    /// has made the thumbnail.
    Read {
        location: String,
        content: Vec<u8>,
    },
}

/// Sends all pictures to `found`. `is_seen` says whether the picture in a bucket has a thumbnail,
/// so that it need not be read. Returns a notice for each ledger that cannot be read.
pub async fn all(
    context: &Context,
    found: &Sender<Found>,
    is_seen: impl Fn(&str) -> bool,
) -> Result<Vec<String>, Failure> {
    let (process, sender) = (context.process().clone(), found.clone());
    let read = spawn_blocking(move || of_history(&process, &sender)).await;
    read.map_err(|error| Failure::other("could not read the history", &error))??;
    let mut unreached = Vec::new();
    for (index, place) in ledgers::known(context.process())?.iter().enumerate() {
        if let Err(failure) = of_ledger((index, place), found, &is_seen).await {
            let why = failure.with_causes();
            unreached.push(one_line(&format!("not shown: the batch in {place}: {why}")));
        }
    }
    Ok(unreached)
}

fn of_history(process: &Process, sender: &Sender<Found>) -> Result<(), Failure> {
    for found in history::read(process)? {
        let found = match found {
            Ok(entry) => of_entry(&entry, &process.directory),
            Err(file) => {
                let mut item = Item::new(format!("@{}", file.number), "", "unreadable");
                item.reason = Some(one_line(&file.reason));
                item.fact("file", file.path.display());
                Found { item, picture: Picture::None }
            }
        };
        // The receiver is gone if writing the page has failed, which `folder::write` reports.
        if sender.blocking_send(found).is_err() {
            break;
        }
    }
    Ok(())
}

fn of_entry(entry: &Entry, here: &Path) -> Found {
    let record = &entry.record;
    let mut item = Item::new(format!("@{}", entry.number), entry.model(), entry.state());
    item.prompt = entry.prompt().filter(|prompt| !prompt.trim().is_empty()).map(str::to_owned);
    item.credits = entry.cost();
    let is_unknown = *record.state() == State::Unknown;
    item.is_without_cost = item.credits.is_none() && (is_unknown || record.task().is_some());
    let at = entry.at();
    item.time = Some(seconds(at));
    item.group = entry
        .group()
        .map(|label| (label.to_owned(), format!("the command of {}", Clock::local().minute(at))));
    item.sources = entry.sources().iter().map(|number| format!("@{number}")).collect();
    item.argument = Some(item.name.clone());
    let fields = entry.kept.request.as_ref().map(request::fields);
    // The page shows these facts in a place of their own.
    let shown = ["number", "state", "prompt", "details"];
    let facts = show::rows(&list::facts(entry, &Prices::default()), fields.as_ref(), Path::new(""));
    item.facts = facts.into_iter().filter(|[name, _]| !shown.contains(&name.as_str())).collect();
    for [_, value] in item.facts.iter_mut().filter(|[name, _]| name == "cost") {
        *value += " credits";
    }
    let details = record.details().map(|details| one_line(&show::text_of(details)));
    let moderated = match record.state() {
        State::Failed(TaskStatus::RequestModerated) => Some("the request was moderated".to_owned()),
        State::Failed(TaskStatus::ContentModerated) => Some("the picture was moderated".to_owned()),
        _ => None,
    };
    item.reason = entry.how_to_restore(here).or(details).or(moderated);
    let picture = match (entry.saved_path(), record.state()) {
        (Some(path), State::Saved { bytes, sha256, .. }) => {
            Picture::File { path: path.to_owned(), sha256: sha256.clone(), bytes: Some(*bytes) }
        }
        _ => Picture::None,
    };
    item.id = matches!(picture, Picture::File { .. }).then(|| entry.number.to_string());
    Found { item, picture }
}

async fn of_ledger(
    (index, place): (usize, &Place),
    found: &Sender<Found>,
    is_seen: &impl Fn(&str) -> bool,
) -> Result<(), Failure> {
    let submitted = JobState::ALL.into_iter();
    let submitted =
        submitted.filter(|state| ![JobState::Queued, JobState::Cancelled].contains(state));
    let (ledger, title) = (place.read().await?, place.title());
    let filter = Filter::states(submitted);
    let mut last = 0;
    loop {
        let jobs = ledger.jobs().page_with_requests(&filter, last, PAGE).await?;
        let Some((end, _)) = jobs.last() else { return Ok(()) };
        last = end.number;
        for (job, request) in jobs {
            let mut item = job::item(&job, &request);
            item.fact("batch", place);
            let group = job.group.as_ref().map(|group| format!("{group} in "));
            let group = group.unwrap_or_default() + &format!("the batch {title}");
            item.group = Some((format!("{index} {group}"), group));
            let picture = match (job::path(&job), &job.location) {
                (Some(path), _) => {
                    let argument = quoted(&path.to_string_lossy());
                    let id = format!("{index}-{}", job.number);
                    (item.argument, item.id) = (Some(argument), Some(id));
                    Picture::File { path: path.to_owned(), sha256: None, bytes: None }
                }
                (None, Some(location)) if job.state == JobState::Saved => {
                    let content = if is_seen(location) {
                        Some(Vec::new())
                    } else {
                        sheet::picture(&job).await
                    };
                    let location = location.clone();
                    content.map_or(Picture::None, |content| Picture::Read { location, content })
                }
                _ => Picture::None,
            };
            if found.send(Found { item, picture }).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// Returns the file of the picture with this id, which the page sends to the server: the number of
/// a submission, or the index of a ledger and the number of a job, such as `2-17`.
pub async fn path_of(context: &Context, id: &str) -> Result<Option<PathBuf>, Failure> {
    let Some((ledger, number)) = id.split_once('-') else {
        let Ok(number) = id.parse() else { return Ok(None) };
        let entry = history::numbered(context.process(), number)?;
        return Ok(entry.and_then(|entry| entry.saved_path().map(Path::to_owned)));
    };
    let known = ledgers::known(context.process())?;
    let (Ok(index), Ok(number)) = (ledger.parse::<usize>(), number.parse::<u64>()) else {
        return Ok(None);
    };
    let (Some(place), Some(before)) = (known.get(index), number.checked_sub(1)) else {
        return Ok(None);
    };
    let ledger: Ledger = place.read().await?;
    let jobs = ledger.jobs().page(&Filter::default(), before, 1).await?;
    let job = jobs.first().filter(|job| job.number == number);
    Ok(job.and_then(job::path).map(Path::to_owned))
}
