//! The list of the ledgers that `kiln batch run` and `advance` have opened for this user, from
//! which `kiln gallery` and `kiln spending` find the jobs of batches. It is a file beside the
//! history, with a line of JSON for each ledger.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
};

use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;

use super::place::Place;
use crate::{
    context::Context,
    failure::Failure,
    files::{
        directory::{self, create_private},
        if_exists,
    },
    history::{
        StoredPath,
        costs::{Key, Sum},
    },
    process::Process,
};
use imagekiln_label::Description;

const NAME: &str = "ledgers";

/// The place of a ledger in the file. A URL is written without its password.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    File(StoredPath),
    Server(String),
}

impl Line {
    fn of(place: &Place, here: &Path) -> Self {
        match place {
            Place::File(path) => {
                let path = here.join(path);
                // The path is written without symbolic links, because the links may change before
                // somebody reads the line. Resolving them works because the ledger exists.
                Self::File(fs::canonicalize(&path).unwrap_or(path).as_path().into())
            }
            Place::Server(_) => Self::Server(place.to_string()),
        }
    }
}

/// Adds a ledger to the list, if the command writes to the history. If that fails, prints a warning
/// and continues: no task is lost, because the ledger itself records the tasks.
pub fn remember(context: &Context, place: &Place) -> Result<(), Failure> {
    let process = context.process();
    if !context.records()? {
        return Ok(());
    }
    let Some(file) = file(process) else { return Ok(()) };
    let line = Line::of(place, &process.directory);
    let added = match lines(&file) {
        Ok(lines) if lines.contains(&line) => Ok(()),
        Ok(_) => add(&file, &line),
        Err(error) => Err(error),
    };
    if let Err(error) = added {
        let text = format!("could not add the ledger to {}: {error}", file.display());
        context.output.warning(&text);
    }
    Ok(())
}

/// Returns the ledgers of the list, in the order in which they were added. Some may no longer
/// exist.
pub fn known(process: &Process) -> Result<Vec<Place>, Failure> {
    let Some(file) = file(process) else { return Ok(Vec::new()) };
    let lines = lines(&file).map_err(|error| {
        Failure::file(format!("could not read {}", file.display()), error)
            .advise("the file lists the ledgers of your batches: check its permissions")
    })?;
    let places = lines.into_iter().map(|line| match line {
        Line::File(path) => Place::File(path.path().to_owned()),
        Line::Server(url) => Place::Server(url),
    });
    Ok(places.collect())
}

/// Passes to `add` what the submissions of ledgers have cost. `names` are the ledgers; without
/// names, these are all ledgers of the list. A named ledger that cannot be read is an error.
/// Returns the ledgers of the list that cannot be read, each with the reason.
pub async fn add_spending(
    process: &Process,
    names: &[String],
    mut add: impl FnMut(Key, Sum),
) -> Result<Vec<(String, String)>, Failure> {
    let named = names.iter().map(|name| Place::parse(name));
    let named: Vec<Place> = named.collect::<Result<_, _>>()?;
    let is_named = !named.is_empty();
    let places = if is_named { named } else { known(process)? };
    let mut unreadable = Vec::new();
    for place in places {
        let name = place.to_string();
        let missing = || Failure::usage(format!("there is no ledger at {name}"));
        let rows = match place.read().await {
            Err(_) if !place.may_exist() => Err(missing()),
            Ok(ledger) => ledger.reports().spending().await.map_err(Failure::from),
            Err(failure) => Err(failure),
        };
        match rows {
            Ok(rows) => rows.into_iter().for_each(|row| {
                let group = row.group.unwrap_or_default();
                let key = [row.day, group, row.operation, String::new(), name.clone()];
                let [submissions, without_cost] = [row.submissions, row.without_cost];
                let [credits, estimated] = [row.credits, row.estimated];
                add(key, Sum { submissions, without_cost, credits, estimated });
            }),
            Err(failure) if is_named => return Err(failure),
            Err(failure) => unreadable.push((name, failure.message.clone())),
        }
    }
    Ok(unreadable)
}

/// Describes the picture in a file with this digest, if a batch of the list has saved it, wherever
/// its file is now. Looks only into ledgers in files: completion calls this, too, and it never
/// connects to a server. A ledger that cannot be read is left out.
pub fn described(process: &Process, file: &Path, sha256: &str) -> Option<Description> {
    let places = known(process).ok()?;
    let find = async {
        for place in places.iter().rev().filter(|place| matches!(place, Place::File(_))) {
            let Ok(ledger) = place.read().await else { continue };
            if let Ok(Some(description)) = ledger.jobs().described(sha256, file).await {
                return Some(description);
            }
        }
        None
    };
    // A thread of its own can wait for the ledgers, whether the caller is in a runtime or not.
    thread::scope(|scope| {
        let found = scope.spawn(|| Builder::new_current_thread().build().ok()?.block_on(find));
        found.join().ok().flatten()
    })
}

fn file(process: &Process) -> Option<PathBuf> {
    Some(directory::state(process)?.join(NAME))
}

/// Returns the lines of the file. Skips damaged lines, which a failed write may have left.
fn lines(file: &Path) -> io::Result<Vec<Line>> {
    let content = if_exists(fs::read(file))?.unwrap_or_default();
    let lines = content.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

/// Appends a line with a single write, because another process may append a line at the same time.
fn add(file: &Path, line: &Line) -> io::Result<()> {
    create_private(directory::parent(file))?;
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // A failed write may have left a line without its end, so the new line begins with one.
    let line = format!("\n{}\n", serde_json::to_string(line)?);
    options.open(file)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_password() {
        let line =
            Line::of(&Place::Server("postgres://ann:SECRET@host/foxes".into()), Path::new(""));
        assert!(line == Line::Server("postgres://ann@host/foxes".into()));
    }

    #[test]
    fn a_line_that_was_not_written_to_its_end_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("state/ledgers");
        let server = |name: &str| Line::Server(format!("postgres://host/{name}"));
        add(&file, &server("foxes")).unwrap();
        fs::write(&file, fs::read_to_string(&file).unwrap() + "{\"server\":\"post").unwrap();
        add(&file, &server("owls")).unwrap();
        assert!(lines(&file).unwrap() == [server("foxes"), server("owls")]);
    }
}
