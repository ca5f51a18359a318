//! The disk of a machine on which processes write. Its faults and its memory of what was synced.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::{Result, ensure};
use fastrand::Rng;
use imagekiln::{FileKind, journal::Disk};
use tokio::task::yield_now;

use crate::{
    process::{Process, Strike},
    stopped::{Calls, stop},
};

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
pub(crate) struct Machine {
    state: Mutex<State>,
    pub(crate) calls: Calls,
}

#[derive(Default)]
pub(crate) struct State {
    /// The contents of files. A file may have several names.
    files: Vec<Stored>,
    names: Names,
    durable: Names,
    /// Changes of names that are not durable, in their order.
    pending: Vec<Change>,
    /// The files that cannot be opened for writing.
    read_only: HashSet<PathBuf>,
}

/// The indices of files by their names.
type Names = HashMap<PathBuf, usize>;

#[derive(Default)]
struct Stored {
    durable: Vec<u8>,
    /// The positions and the bytes of writes.
    unsynced: Vec<(usize, Vec<u8>)>,
}

/// A change of the names in a directory.
enum Change {
    Linked(PathBuf, usize),
    Removed(PathBuf),
    Renamed(PathBuf, PathBuf),
}

impl Change {
    fn is_in(&self, directory: &Path) -> bool {
        let (Self::Linked(path, _) | Self::Removed(path) | Self::Renamed(_, path)) = self;
        path.parent() == Some(directory)
    }

    fn apply(&self, names: &mut Names) {
        match self {
            Self::Linked(path, file) => drop(names.insert(path.clone(), *file)),
            Self::Removed(path) => drop(names.remove(path)),
            Self::Renamed(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
        }
    }
}

impl Stored {
    fn apply(&mut self, at: usize, bytes: &[u8]) {
        self.durable.resize(self.durable.len().max(at + bytes.len()), 0);
        self.durable[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn sync(&mut self) {
        for (at, bytes) in std::mem::take(&mut self.unsynced) {
            self.apply(at, &bytes);
        }
    }

    /// Keeps each write, loses it, or keeps some of its sectors.
    fn lose(&mut self, random: &mut Rng) {
        for (at, bytes) in std::mem::take(&mut self.unsynced) {
            match random.u8(0..3) {
                0 => {}
                1 => {
                    let mut start = 0;
                    while start < bytes.len() {
                        let end = bytes.len().min(start + SECTOR - (at + start) % SECTOR);
                        if random.bool() {
                            self.apply(at + start, &bytes[start..end]);
                        }
                        start = end;
                    }
                }
                _ => self.apply(at, &bytes),
            }
        }
    }
}

impl Machine {
    /// Loses what was not synced. All processes are dead.
    pub(crate) fn crash(&self, random: &mut Rng) -> io::Result<()> {
        let state = &mut *self.lock();
        let kept = random.usize(0..=state.pending.len());
        for change in state.pending.drain(..).take(kept) {
            change.apply(&mut state.durable);
        }
        for path in state.names.keys() {
            if let Err(error) = fs::remove_file(path)
                && error.kind() != ErrorKind::NotFound
            {
                return Err(error);
            }
        }
        state.names = state.durable.clone();
        state.files.iter_mut().for_each(|file| file.lose(random));
        for (path, file) in &state.names {
            fs::write(path, &state.files[*file].durable)?;
        }
        Ok(())
    }

    /// Replaces or removes a file. No process runs.
    pub(crate) fn tamper(&self, path: &Path, text: Option<Vec<u8>>) -> io::Result<()> {
        let state = &mut *self.lock();
        // Nothing is pending for a file that is damaged afterwards.
        for change in state.pending.drain(..) {
            change.apply(&mut state.durable);
        }
        state.names.remove(path);
        state.durable.remove(path);
        let Some(text) = text else { return fs::remove_file(path) };
        fs::write(path, text)?;
        state.file(path).map(drop)
    }

    /// Makes a file read-only.
    pub(crate) fn protect(&self, path: PathBuf) {
        self.lock().read_only.insert(path);
    }

    /// Makes all files writable.
    pub(crate) fn unprotect(&self) {
        self.lock().read_only.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.names);
        self.pending.push(change);
    }

    /// Whether a path is that of a lock. The simulated processes are in one process of the system,
    /// which runs on when the simulated machine crashes, so locks are not lost with it.
    fn is_lock(path: &Path) -> bool {
        path.parent().is_some_and(|folder| folder.ends_with("processes"))
    }

    /// Returns the index of the file at a path. It may be one that nobody has changed yet.
    fn file(&mut self, path: &Path) -> io::Result<usize> {
        if let Some(file) = self.names.get(path) {
            return Ok(*file);
        }
        self.files.push(Stored { durable: fs::read(path)?, unsynced: Vec::new() });
        let file = self.files.len() - 1;
        self.names.insert(path.to_owned(), file);
        self.durable.insert(path.to_owned(), file);
        Ok(file)
    }

    fn stored(&mut self, path: &Path) -> io::Result<&mut Stored> {
        let file = self.file(path)?;
        self.files.get_mut(file).ok_or(ErrorKind::NotFound.into())
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

impl Process {
    /// A full disk and a read-only one can be read.
    fn read_fault(&self) -> io::Result<()> {
        match self.fault(false) {
            Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => Ok(()),
            done => done,
        }
    }
}

/// Nothing is really synced, because the histories outlive no crash of this machine.
impl Disk for Process {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_fault()?;
        System.read(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        self.read_fault()?;
        if self.machine.lock().read_only.contains(path) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        System.open(path)
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        let state = &mut *self.machine.lock();
        self.fault(true)?;
        let file = System.create(path)?;
        if State::is_lock(path) {
            return Ok(file);
        }
        state.files.push(Stored::default());
        state.change(Change::Linked(path.to_owned(), state.files.len() - 1));
        Ok(file)
    }

    fn write(&self, file: &File, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        if holds_lock(path) && self.stops() {
            stop(self);
        }
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
        // Before the bytes are there: the file may not be known yet.
        let stored = state.stored(path)?;
        std::os::unix::fs::FileExt::write_all_at(file, &bytes[..written], at)?;
        let at = usize::try_from(at).map_err(io::Error::other)?;
        stored.unsynced.push((at, bytes[..written].to_owned()));
        done
    }

    fn sync(&self, _: &File, path: &Path) -> io::Result<()> {
        let state = &mut *self.machine.lock();
        let done = self.fault(false);
        let stored = state.stored(path)?;
        match &done {
            Ok(()) => stored.sync(),
            // The system still writes what a dead process has written.
            Err(_) if self.is_dead() => {}
            // The system drops what it could not write: a later sync does not write it.
            Err(_) => self.random(|random| stored.lose(random)),
        }
        done
    }

    fn link(&self, file: &Path, name: &Path) -> io::Result<()> {
        let state = &mut *self.machine.lock();
        self.fault(true)?;
        if !file.is_file() {
            // A pipe that somebody has made: reading it would wait.
            return System.link(file, name);
        }
        let index = state.file(file)?;
        System.link(file, name)?;
        state.change(Change::Linked(name.to_owned(), index));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let state = &mut *self.machine.lock();
        self.fault(true)?;
        if State::is_lock(to) {
            return System.rename(from, to);
        }
        state.file(from)?;
        System.rename(from, to)?;
        state.change(Change::Renamed(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let state = &mut *self.machine.lock();
        self.fault(false)?;
        System.remove(path)?;
        if State::is_lock(path) {
            return Ok(());
        }
        state.change(Change::Removed(path.to_owned()));
        Ok(())
    }

    fn sync_names(&self, directory: &Path) -> io::Result<()> {
        let state = &mut *self.machine.lock();
        self.fault(false)?;
        let State { pending, durable, .. } = state;
        pending.retain(|change| {
            let is_in = change.is_in(directory);
            if is_in {
                change.apply(durable);
            }
            !is_in
        });
        Ok(())
    }
}

/// Whether a process has the lock of a record when it writes this file.
fn holds_lock(path: &Path) -> bool {
    let is_new = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"new-"));
    let folder = path.parent().and_then(Path::file_name);
    !(is_new && folder.is_some_and(|folder| folder == "open" || folder == "keys"))
}

/// The disk of this machine.
struct System;

impl Disk for System {}

/// Fails if a file is not a complete picture.
pub(crate) fn expect_whole(file: &Path) -> Result<()> {
    let bytes = fs::read(file)?;
    let is_whole = FileKind::of(&bytes) == Some(FileKind::Jpeg) && bytes.ends_with(&[0xff, 0xd9]);
    ensure!(is_whole, "{} is not whole", file.display());
    Ok(())
}
