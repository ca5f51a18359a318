//! Writes a gallery: the page, its thumbnails, and scripts with the data.

use std::{
    cmp::Reverse,
    collections::BTreeSet,
    fs::{self, File, Metadata},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use reqwest::Url;
use tokio::{
    sync::mpsc::{Receiver, channel},
    task::spawn_blocking,
};

use super::{
    found::{self, Found, Picture},
    thumbnails::Thumbnails,
};
use crate::{
    context::Context,
    failure::Failure,
    files::{
        directory::{create_private, temporary_file},
        if_exists,
    },
    pages::{Item, Kind, Page, Preview, THREADS, Totals, page::json},
    process::lock,
    text::{Clock, now},
};
use imagekiln::FileKind;

pub const INDEX: &str = "index.html";
/// The page that `--serve` shows. It has controls that change pictures, which need the server and
/// would do nothing in a page that is opened as a file.
pub const SERVED: &str = "served.html";
pub const DATA: &str = "data";

/// The number of pictures in a script. The page loads the next script when it has to show more
/// pictures.
const CHUNK: usize = 500;

/// The maximum number of pictures that are read and wait to be decoded.
const AHEAD: usize = 16;

/// Writes a page with all pictures into a folder.
pub async fn write(context: &Context, folder: &Path, kind: Kind) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::file(format!("could not write the gallery in {}", folder.display()), error)
            .advise("pass another directory to --output")
    };
    check(folder).and_then(|()| create_private(&folder.join(DATA))).map_err(failed)?;
    let favourites = super::favourites(context.process())?;
    let thumbnails = Arc::new(Thumbnails::open(folder).map_err(failed)?);
    let (sender, receiver) = channel(AHEAD);
    let making = spawn_blocking({
        let thumbnails = Arc::clone(&thumbnails);
        move || Spool::fill(receiver, &thumbnails, &favourites)
    });
    let unreached = found::all(context, &sender, |location| thumbnails.has(location)).await;
    drop(sender);
    let spool = making.await.map_err(io::Error::other).flatten().map_err(failed)?;
    let notices = unreached?;
    for notice in &notices {
        context.output.warning(notice);
    }
    let folder = folder.to_owned();
    let written = spawn_blocking(move || {
        if let Some(thumbnails) = Arc::into_inner(thumbnails) {
            thumbnails.close()?;
        }
        spool.write(&folder, kind, &notices)
    });
    written.await.map_err(io::Error::other).flatten().map_err(failed)
}

/// Refuses to replace a page that is not a gallery.
fn check(folder: &Path) -> io::Result<()> {
    let is_gallery = |index: String| index.contains(r#"<meta name="generator" content="kiln">"#);
    if if_exists(fs::read_to_string(folder.join(INDEX)))?.is_none_or(is_gallery) {
        return Ok(());
    }
    Err(io::Error::other(format!("its {INDEX} is not a gallery")))
}

/// The items of the page, kept in a temporary file. The page lists the newest item first, and the
/// order is known only after all pictures have been found.
struct Spool {
    file: File,
    end: u64,
    places: Vec<Stored>,
    totals: Totals,
}

/// Where an item is in the temporary file, and what decides its place on the page.
struct Stored {
    time: u64,
    /// The position of the picture in the order in which pictures were found.
    order: u64,
    position: u64,
    length: u64,
}

impl Spool {
    /// Receives the pictures, and makes their thumbnails in several threads.
    fn fill(
        receiver: Receiver<Found>,
        thumbnails: &Thumbnails,
        favourites: &BTreeSet<String>,
    ) -> io::Result<Self> {
        let (file, places, totals) = (tempfile::tempfile()?, Vec::new(), Totals::default());
        let spool = Mutex::new(Self { file, end: 0, places, totals });
        let receiver = Mutex::new((receiver, 0));
        let next = || {
            let (receiver, order) = &mut *lock(&receiver);
            *order += 1;
            receiver.blocking_recv().map(|found| (found, *order))
        };
        let work = || {
            loop {
                let Some((mut found, order)) = next() else { return Ok(()) };
                picture(&mut found, thumbnails)?;
                let mut item = found.item;
                item.favourite = item.sha256.as_ref().is_some_and(|sha| favourites.contains(sha));
                lock(&spool).add(&item, order)?;
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let panicked = |_| Err(io::Error::other("a thread panicked"));
            threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(panicked))
        })?;
        Ok(spool.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&mut self, item: &Item, order: u64) -> io::Result<()> {
        self.totals.add(item);
        let json = json(item)?;
        self.file.write_all(json.as_bytes())?;
        let (time, position) = (item.time.unwrap_or_default(), self.end);
        let length = json.len() as u64;
        self.places.push(Stored { time, order, position, length });
        self.end += length;
        Ok(())
    }

    fn write(mut self, folder: &Path, kind: Kind, notices: &[String]) -> io::Result<()> {
        // Pictures of the same second keep the order in which they were found: the history is read
        // from its end.
        self.places.sort_by_key(|stored| (Reverse(stored.time), stored.order));
        let now = Clock::local().minute(now());
        let chunks: Vec<_> = self.places.chunks(CHUNK).collect();
        let source = |index| format!("{DATA}/{index}.js");
        for (index, chunk) in chunks.iter().enumerate() {
            let mut script = format!("receive({index},[").into_bytes();
            for stored in *chunk {
                self.file.seek(SeekFrom::Start(stored.position))?;
                (&self.file).take(stored.length).read_to_end(&mut script)?;
                script.push(b',');
            }
            script.extend(b"]);\n");
            persist(&folder.join(source(index)), &script)?;
        }
        // An earlier page may have had more pictures, and so more scripts, which are removed.
        let rest = (chunks.len()..).map(|index| folder.join(source(index)));
        rest.take_while(|path| fs::remove_file(path).is_ok()).for_each(drop);
        let served = (kind == Kind::Served).then_some((Kind::Served, SERVED));
        for (kind, name) in [(Kind::Gallery, INDEX)].into_iter().chain(served) {
            let mut page = Page::begin(Vec::new(), kind, ("Gallery", &now), notices)?;
            for (index, chunk) in chunks.iter().enumerate() {
                page.refer(chunk.len(), &source(index))?;
            }
            persist(&folder.join(name), &page.finish_with(&self.totals)?)?;
        }
        Ok(())
    }
}

/// Adds to an item the thumbnail of its picture and, if the picture is a file, a link.
fn picture(found: &mut Found, thumbnails: &Thumbnails) -> io::Result<()> {
    let item = &mut found.item;
    match &found.picture {
        Picture::None => Ok(()),
        Picture::Read { location, content } => {
            let known = thumbnails.seen(location, None);
            if known.is_some_and(|sha256| thumbnails.show_known(item, &sha256)) {
                return Ok(());
            }
            thumbnails.show(item, content)?;
            thumbnails.remember(location, None, item);
            Ok(())
        }
        Picture::File { path, sha256, bytes } => match fs::metadata(path) {
            Ok(file) => {
                item.link = Url::from_file_path(path).ok().map(String::from);
                let is_whole = bytes.is_none_or(|bytes| bytes == file.len());
                let recorded = sha256.as_ref().filter(|_| is_whole).cloned();
                of_file(item, (path, &file), recorded, thumbnails)?;
                let differs = sha256.as_ref().zip(item.sha256.as_ref());
                if differs.is_some_and(|(recorded, found)| recorded != found) {
                    item.reason = Some("the file has changed since it was saved".to_owned());
                }
                Ok(())
            }
            Err(_) => {
                item.state = "deleted".to_owned();
                (item.note, item.id) = (Some("the file was deleted".to_owned()), None);
                let seen = || thumbnails.seen(&path.to_string_lossy(), None);
                if let Some(sha256) = sha256.clone().or_else(seen) {
                    thumbnails.show_known(item, &sha256);
                }
                Ok(())
            }
        },
    }
}

/// Adds the thumbnail of a file. Reads the file only if its digest is not known, or no thumbnail
/// with this digest exists.
fn of_file(
    item: &mut Item,
    (path, file): (&Path, &Metadata),
    recorded: Option<String>,
    thumbnails: &Thumbnails,
) -> io::Result<()> {
    let location = path.to_string_lossy();
    let is_recorded = recorded.is_some();
    item.sha256 = recorded.or_else(|| thumbnails.seen(&location, Some(file)));
    let known = item.sha256.clone();
    if known.is_some_and(|sha256| thumbnails.show_known(item, &sha256)) {
        return Ok(());
    }
    read(item, path, thumbnails)?;
    if !is_recorded {
        thumbnails.remember(&location, Some(file), item);
    }
    Ok(())
}

/// Reads a file, and shows its picture. Reads only the beginning of a video, which has no
/// thumbnail.
fn read(item: &mut Item, path: &Path, thumbnails: &Thumbnails) -> io::Result<()> {
    let is_video = |head: &[u8]| matches!(FileKind::of(head), Some(FileKind::Mp4 | FileKind::Webm));
    let content = File::open(path).and_then(|mut file| {
        let mut content = Vec::new();
        (&file).take(64).read_to_end(&mut content)?;
        if !is_video(&content) {
            file.read_to_end(&mut content)?;
        }
        Ok(content)
    });
    match content {
        Ok(content) if is_video(&content) => item.show(Preview::of(&content), |_| String::new()),
        Ok(content) => return thumbnails.show(item, &content),
        Err(error) => item.note = Some(format!("could not read the file: {error}")),
    }
    Ok(())
}

/// Replaces a file atomically, so that an open page never reads a part of it.
fn persist(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = temporary_file(path.parent().unwrap_or(path))?;
    file.write_all(content)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}
