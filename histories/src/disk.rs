//! The disk of a machine on which processes write. Its faults and its memory of what was synced.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use fastrand::Rng;
use imagekiln::journal::Disk;
use tokio::task::yield_now;

use crate::process::{Process, Strike};

/// Waits until this process has no file open whose path starts with `path`. After a run was
/// dropped, its threads need a moment to close their files.
pub(crate) async fn closed(path: &Path) -> io::Result<()> {
    let is_open = || -> io::Result<bool> {
        let mut open = fs::read_dir("/proc/self/fd")?;
        // Other threads close files of their own.
        Ok(open.any(|file| {
            let target = file.and_then(|file| fs::read_link(file.path()));
            target.is_ok_and(|target| {
                target
                    .as_os_str()
                    .as_encoded_bytes()
                    .starts_with(path.as_os_str().as_encoded_bytes())
            })
        }))
    };
    while is_open()? {
        yield_now().await;
    }
    Ok(())
}

/// What a disk writes at once.
const SECTOR: usize = 512;

/// The files of all processes of a machine. What was not synced may be lost when it crashes.
#[derive(Default)]
pub(crate) struct Machine(Mutex<State>);

#[derive(Default)]
pub(crate) struct State {
    files: HashMap<PathBuf, Stored>,
    /// Names that are not durable, in the order in which they were given.
    names: Vec<Name>,
}

#[derive(Default)]
struct Stored {
    durable: Vec<u8>,
    unsynced: Vec<Change>,
}

enum Change {
    Write(usize, Vec<u8>),
    SetLen(usize),
}

enum Name {
    Created(PathBuf),
    Renamed { from: PathBuf, to: PathBuf, replaced: Stored },
}

impl Name {
    fn is_in(&self, directory: &Path) -> bool {
        let (Self::Created(path) | Self::Renamed { to: path, .. }) = self;
        path.parent() == Some(directory)
    }
}

impl Stored {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Write(at, bytes) => {
                self.durable.resize(self.durable.len().max(at + bytes.len()), 0);
                self.durable[*at..at + bytes.len()].copy_from_slice(bytes);
            }
            Change::SetLen(length) => self.durable.resize(*length, 0),
        }
    }

    fn sync(&mut self) {
        for change in std::mem::take(&mut self.unsynced) {
            self.apply(&change);
        }
    }

    /// Keeps each change, loses it, or keeps some of its sectors.
    fn lose(&mut self, random: &mut Rng) {
        for change in std::mem::take(&mut self.unsynced) {
            match (random.u8(0..3), &change) {
                (0, _) => {}
                (1, Change::Write(at, bytes)) => {
                    let mut start = 0;
                    while start < bytes.len() {
                        let end = bytes.len().min(start + SECTOR - (at + start) % SECTOR);
                        if random.bool() {
                            self.apply(&Change::Write(at + start, bytes[start..end].to_owned()));
                        }
                        start = end;
                    }
                }
                _ => self.apply(&change),
            }
        }
    }
}

impl Machine {
    /// Loses what was not synced. All processes are dead.
    pub(crate) fn crash(&self, random: &mut Rng) -> io::Result<()> {
        let state = &mut *self.lock();
        let kept = random.usize(0..=state.names.len());
        for name in state.names.drain(kept..).rev() {
            match name {
                Name::Created(path) => {
                    state.files.remove(&path);
                    fs::remove_file(path)?;
                }
                Name::Renamed { from, to, replaced } => {
                    fs::rename(&to, &from)?;
                    let moved = state.files.insert(to.clone(), replaced).unwrap_or_default();
                    state.files.insert(from, moved);
                    fs::write(to, [])?;
                }
            }
        }
        state.names.clear();
        for (path, stored) in &mut state.files {
            stored.lose(random);
            fs::write(path, &stored.durable)?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn stored(&mut self, path: &Path) -> &mut Stored {
        self.files.entry(path.to_owned()).or_default()
    }
}

impl Process {
    /// Returns how an operation of the disk fails, if it does. `grows`: it needs space.
    fn fault(&self, grows: bool) -> io::Result<()> {
        let error = |kind, message: &str| Err(io::Error::new(kind, message));
        match self.strike(grows) {
            Strike::None => Ok(()),
            Strike::Dead => error(ErrorKind::Other, "the process is dead"),
            Strike::Full => error(ErrorKind::StorageFull, "the disk is full"),
            Strike::ReadOnly => error(ErrorKind::ReadOnlyFilesystem, "the disk is read-only"),
            Strike::Broken => error(ErrorKind::Other, "the disk is broken"),
        }
    }
}

/// Nothing is really synced, because the histories outlive no crash of this machine.
impl Disk for Process {
    fn open(&self, path: &Path) -> io::Result<File> {
        let state = &mut *self.machine.lock();
        let is_new = !path.exists();
        self.fault(is_new)?;
        let file =
            File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        if is_new {
            state.names.push(Name::Created(path.to_owned()));
            state.files.insert(path.to_owned(), Stored::default());
        } else if !state.files.contains_key(path) {
            state.stored(path).durable = fs::read(path)?;
        }
        Ok(file)
    }

    fn write(&self, file: &File, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        let state = &mut *self.machine.lock();
        let was_alive = !self.is_dead();
        let room = file.metadata()?.len().saturating_sub(at);
        let done = self.fault(room < bytes.len() as u64);
        // A write that fails may have written a part.
        let written = match &done {
            Ok(()) => bytes.len(),
            Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => 0,
            Err(_) if was_alive => self.random(|random| random.usize(0..=bytes.len())),
            Err(_) => 0,
        };
        std::os::unix::fs::FileExt::write_all_at(file, &bytes[..written], at)?;
        let at = usize::try_from(at).map_err(io::Error::other)?;
        state.stored(path).unsynced.push(Change::Write(at, bytes[..written].to_owned()));
        done
    }

    fn set_len(&self, file: &File, path: &Path, length: u64) -> io::Result<()> {
        let state = &mut *self.machine.lock();
        self.fault(false)?;
        file.set_len(length)?;
        let length = usize::try_from(length).map_err(io::Error::other)?;
        state.stored(path).unsynced.push(Change::SetLen(length));
        Ok(())
    }

    fn sync(&self, _: &File, path: &Path) -> io::Result<()> {
        let state = &mut *self.machine.lock();
        let was_alive = !self.is_dead();
        let done = self.fault(false);
        match &done {
            Ok(()) => state.stored(path).sync(),
            // The system drops what it could not write: a later sync does not write it.
            Err(_) if was_alive => self.random(|random| state.stored(path).lose(random)),
            Err(_) => {}
        }
        done
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let state = &mut *self.machine.lock();
        self.fault(false)?;
        fs::rename(from, to)?;
        let moved = state.files.remove(from).unwrap_or_default();
        let replaced = state.files.insert(to.to_owned(), moved).unwrap_or_default();
        state.names.push(Name::Renamed { from: from.to_owned(), to: to.to_owned(), replaced });
        Ok(())
    }

    fn sync_names(&self, directory: &Path) -> io::Result<()> {
        let state = &mut *self.machine.lock();
        self.fault(false)?;
        state.names.retain(|name| !name.is_in(directory));
        Ok(())
    }
}
