//! The connection of a command to the service, or to a simulator in this process: the client, the
//! lines about retries, the recordings of `--record`, and the log of `--verbose`.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::time::Instant;
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::{
    context::Context,
    failure::Failure,
    history::{
        Entry, History,
        durations::{self, KeptDurations},
    },
    output::Output,
    process::{Stream, lock},
    settings::names::{DELIVERY_HOSTS, POLLING_HOSTS},
    terminal::{self, counted_down},
    text::rfc3339,
};
use imagekiln::{
    Client, ClientBuilder, Error, ErrorKind, Once, Request, Slot, SubmitOptions,
    journal::Key,
    middleware::{Middleware, Purpose, Retry},
    recording::Recording,
};
use imagekiln_simulator::{Config, Simulator, StartError};

/// How much later than the pause in the last line another pause may end without a line of its own.
/// A line also stands for at least this long.
const TOGETHER: Duration = Duration::from_secs(5);

/// A client, its journal, and the simulator if it runs in this process.
pub struct Session {
    pub client: Client,
    /// `None` if the command does not write to the history.
    pub history: Option<History>,
    /// Whether the command has already warned that a submission was paid with another API key.
    has_warned: AtomicBool,
    _durations: Option<KeptDurations>,
    _simulator: Option<Simulator>,
}

impl Session {
    /// Creates a client whose journal is the history, if there is one. Sends nothing.
    pub async fn recorded(context: &Context, history: Option<History>) -> Result<Self, Failure> {
        let (builder, simulator) = client(context).await?;
        let client = history.iter().cloned().fold(builder, ClientBuilder::journal).build()?;
        let durations =
            history.as_ref().and_then(|_| KeptDurations::of(context.process(), &client));
        let has_warned = AtomicBool::new(false);
        Ok(Self { client, history, has_warned, _durations: durations, _simulator: simulator })
    }

    /// Refuses to continue a submission that was sent to another service: the client must not send
    /// its key there. The failure suggests the command `kiln` with `words`, run with the settings
    /// of that service. If only the API key differs, this warns once and continues, because
    /// accounts replace their keys from time to time.
    pub fn check_service(
        &self,
        context: &Context,
        entry: &Entry,
        words: &str,
    ) -> Result<(), Failure> {
        let service = entry.record.intent().service();
        let Some(service) = service.filter(|_| !self.client.can_continue(&entry.record)) else {
            let has_other_key = self.client.has_key_of(&entry.record) == Some(false);
            if has_other_key && !self.has_warned.swap(true, Ordering::Relaxed) {
                context.output.warning(&format!(
                    "submission @{} was paid with another API key; if that key belongs to another \
                     account, the service does not find the task with this one",
                    entry.number
                ));
            }
            return Ok(());
        };
        let failure = Failure::elsewhere(entry.number, entry.record.task(), service);
        let other = entry.kept.profile.as_ref();
        Err(failure.advise(match other.filter(|it| **it != context.settings.profile.name) {
            Some(profile) => format!("run `kiln --profile {profile} {words}`"),
            None => format!("set the base URL and the key of that service, and run `kiln {words}`"),
        }))
    }

    /// Submits the request of a picture of this command. If the request has an idempotency key, an
    /// earlier command may have submitted it, and the result is the task or the picture of that
    /// command. Without a history the key has no effect, for example with `--simulate`, whose tasks
    /// end with their command.
    pub async fn submit(
        &self,
        index: usize,
        (request, key): (Request, Option<Key>),
        deadline: Duration,
        slot: Option<Slot>,
    ) -> Result<Once, Error> {
        // Dropping the turn lets the next picture be recorded, even if this one never is, because
        // its submission fails first or its key is known.
        let _turn = self.history.as_ref().map(|history| history.turn(index));
        let origin = self.history.as_ref().map(|history| history.origin(index));
        let options = SubmitOptions::default().deadline(deadline);
        let options = origin.into_iter().fold(options, SubmitOptions::origin);
        match key.filter(|_| self.history.is_some()) {
            Some(key) => {
                // If `submit_once_with` has to send the request, it waits for a slot of its own.
                drop(slot);
                self.client.submit_once_with(key, request, options).await
            }
            None => self.client.submit_in(slot, request, options).await.map(Once::Task),
        }
    }

    /// Returns the last submission for a picture of this command, if there is a history.
    pub fn submission(&self, index: usize) -> Option<Entry> {
        self.history.as_ref()?.submission(index)
    }
}

/// Returns the builder of a client that shows its pauses before retries, and the simulator, which
/// must live as long as the client. Sends nothing.
pub async fn client(context: &Context) -> Result<(ClientBuilder, Option<Simulator>), Failure> {
    let options = &context.shared;
    let (builder, simulator) = if options.simulate {
        let simulator = simulator(Config::default()).await?;
        let builder = Client::builder()
            .api_key(simulator.api_key())
            .base_url(simulator.base_url())
            .regional_base_url(simulator.regional_base_url());
        (builder, Some(simulator))
    } else {
        (context.settings.service()?.durations(durations::known(context.process())), None)
    };
    let builder = builder
        .middleware(Retries { output: context.output.clone(), printed: LastPause::default() });
    let hosts = context.hosts(&options.allow_polling_host, &POLLING_HOSTS).into_iter();
    let builder = hosts.fold(builder, |builder, host| builder.allow_polling_host(host));
    let hosts = context.hosts(&options.allow_delivery_host, &DELIVERY_HOSTS).into_iter();
    let builder = hosts.fold(builder, |builder, host| builder.allow_delivery_host(host));
    let builder = match &options.record {
        Some(path) => {
            let recordings = Recordings::create(path, &context.output)?;
            builder.recorder(move |recording| recordings.record(&recording))
        }
        None => builder,
    };
    let tls = tls(!options.simulate)?;
    let builder = builder.http_client(move |http| http.tls_backend_preconfigured(tls.clone()));
    Ok(((context.process().client)(builder), simulator))
}

/// Starts a simulator. Without a seed in the settings, it draws one: task ids then differ between
/// runs, so nobody mistakes a task of an earlier run for one of this run.
pub async fn simulator(config: Config) -> Result<Simulator, Failure> {
    let seed = config.seed.unwrap_or_else(|| fastrand::u64(..).into());
    Simulator::start(Config { seed: Some(seed), ..config }).await.map_err(|error| match error {
        StartError::NotLoopback { address } => {
            Failure::settings(format!("{address} is reachable from other machines"))
                .advise("add --allow-remote if that is intended, or listen on 127.0.0.1")
        }
        StartError::Setting { setting, problem } => {
            let setting = setting.replace('_', " ");
            Failure::settings(format!("invalid {setting} of the simulator: {problem}"))
                .advise("`kiln simulate --help` lists the options")
        }
        StartError::Listen { address, source } => Failure::file(
            format!("the simulator could not listen on {address}"),
            source,
        )
        .advise(
            "another simulator may be running; choose another port with --port; 0 picks free ones",
        ),
        other => Failure::other("could not start the simulator", &other),
    })
}

/// The TLS configuration of the HTTP clients: rustls with ring, for the shortest cold build. The
/// SDK leaves this choice to the program because it applies to the whole process. A simulator needs
/// no certificates, so a system without any is an error only if `is_needed`.
pub fn tls(is_needed: bool) -> Result<ClientConfig, Failure> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::other("could not set up TLS", &error))?;
    let builder = match builder.clone().with_platform_verifier() {
        Ok(verified) => verified,
        Err(error) if is_needed => {
            return Err(Failure::other("could not read the system's certificates", &error)
                .advise("install them; on many systems the package is ca-certificates"));
        }
        Err(_) => builder.with_root_certificates(RootCertStore::empty()),
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Shows the pauses before retries in the spinner. Without a spinner, prints a line for a pause,
/// unless the last line stands for this pause, too: a busy service refuses many requests of a
/// command at once.
struct Retries {
    output: Output,
    printed: LastPause,
}

/// The end of the pause for which a line was printed last.
#[derive(Default)]
struct LastPause(Mutex<Option<Instant>>);

impl LastPause {
    /// Whether a pause that starts now needs a line of its own. If so, remembers its end.
    fn is_news(&self, wait: Duration) -> bool {
        let (now, wait) = (Instant::now(), wait.max(TOGETHER));
        let mut printed = lock(&self.0);
        let left = printed.map_or(Duration::ZERO, |end| end.saturating_duration_since(now));
        let is_news = left.is_zero() || wait > left.saturating_add(TOGETHER);
        if is_news {
            *printed = now.checked_add(wait);
        }
        is_news
    }
}

impl Middleware for Retries {
    fn retry(&self, retry: &Retry<'_>) {
        let text = format!("{}; {}", cause(retry), next(retry));
        if !terminal::wait(&text, retry.wait) && self.printed.is_news(retry.wait) {
            self.output.note(&counted_down(&text, retry.wait));
        }
    }
}

/// For example `the service asks to wait 6 s (429)`.
fn cause(retry: &Retry<'_>) -> String {
    let error = retry.error;
    let asked = error.retry_after().filter(|wait| !wait.is_zero());
    let text = match (asked, retry.purpose, error.kind()) {
        (.., ErrorKind::Outage) => "the last responses were lost, so submissions pause".to_owned(),
        (Some(wait), ..) => format!("the service asks to wait {} s", wait.as_secs()),
        (None, Purpose::Download, _) => "the download failed".to_owned(),
        (None, _, ErrorKind::Network) => "the service is unreachable".to_owned(),
        (None, _, ErrorKind::RateLimited) => "the service is busy".to_owned(),
        (None, _, ErrorKind::Response) => "the response is unreadable".to_owned(),
        _ => "the service failed".to_owned(),
    };
    match error.status() {
        Some(status) => format!("{text} ({status})"),
        None => text,
    }
}

/// For example `attempt 2 of 6`.
fn next(retry: &Retry<'_>) -> String {
    match (retry.attempts, retry.purpose) {
        (Some(attempts), _) => format!("attempt {} of {attempts}", retry.failures + 1),
        (None, Purpose::Poll) => "next poll".to_owned(),
        (None, _) => format!("attempt {}", retry.failures + 1),
    }
}

/// `--record DIR`: writes a redacted copy of each exchange to a new file in a directory.
pub struct Recordings {
    path: PathBuf,
    /// The number in the name of the last file.
    last: AtomicU32,
    warned: AtomicBool,
    output: Output,
}

impl Recordings {
    /// Creates the directory, unless it exists.
    pub fn create(path: &Path, output: &Output) -> Result<Self, Failure> {
        let failed = |error| {
            let message = format!("could not create the directory {}", path.display());
            Failure::file(message, error).advise("nothing was sent; check the path of --record")
        };
        fs::create_dir_all(path).map_err(failed)?;
        let (last, warned) = (AtomicU32::new(0), AtomicBool::new(false));
        Ok(Self { path: path.to_owned(), last, warned, output: output.clone() })
    }

    /// Writes the file under a temporary name, which only its owner can read, and then links it to
    /// a name that does not exist.
    fn write(&self, recording: &Recording) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".recording-").tempfile_in(&self.path)?;
        serde_json::to_writer_pretty(&mut file, recording)?;
        file.write_all(b"\n")?;
        loop {
            let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
            let path = self.path.join(file_name(recording, number));
            match file.persist_noclobber(path) {
                Ok(_) => return Ok(()),
                // Another process may have taken the name, so the next number is tried.
                Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {
                    file = failed.file;
                }
                Err(failed) => return Err(failed.error),
            }
        }
    }

    /// Writes a recording. If that fails, warns once and continues, because the exchange itself has
    /// succeeded.
    fn record(&self, recording: &Recording) {
        if let Err(error) = self.write(recording)
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            let directory = self.path.display();
            self.output.warning(&format!("could not record an exchange in {directory}: {error}"));
        }
    }
}

/// For example `20261122T081500Z-0001-gen-2-pro-submit.json`.
fn file_name(recording: &Recording, number: u32) -> String {
    let operation = recording.operation.as_deref().unwrap_or("task");
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let operation: String =
        operation.chars().take(60).map(|c| if plain(c) { c } else { '-' }).collect();
    let operation = operation.trim_matches(['-', '.']);
    let purpose = match recording.purpose {
        Purpose::Submission => "submit",
        Purpose::Poll => "poll",
        _ => "other",
    };
    let at =
        rfc3339(UNIX_EPOCH + Duration::from_secs(recording.recorded_at)).replace(['-', ':'], "");
    format!("{at}-{number:04}-{operation}-{purpose}.json")
}

/// Logs the events of the SDK to standard error, unless a log exists: the steps at verbosity 1, and
/// also polls and retries from 2 on. These events contain no secrets.
pub fn log(stderr: &Stream, verbosity: u8, json: bool) {
    let level = match verbosity {
        0 => return,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    // Leaves out the events of the SDK's dependencies, which contain whole URLs with the signed
    // query.
    let ours = Targets::new().with_target("imagekiln", level);
    let stderr = stderr.clone();
    let events = fmt::layer().with_writer(move || stderr.clone()).with_ansi(false);
    let events = if json { events.json().boxed() } else { events.without_time().boxed() };
    // Fails only if a subscriber is installed already, and then that one keeps the log.
    let _ = tracing_subscriber::registry().with(events.with_filter(ours)).try_init();
}

#[cfg(test)]
mod tests {
    use tokio::time;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_that_begin_or_end_together_share_a_line() {
        let (printed, seconds) = (LastPause::default(), Duration::from_secs);
        for (after, wait, is_news) in [
            (0, 60, true),
            // Another job that was refused at the same time, and whose pause has other jitter.
            (0, 65, false),
            (3, 60, false),
            // The service asks for a longer pause.
            (0, 600, true),
            (597, 8, false),
            (3, 1, true),
            (1, 1, false),
            (4, 1, true),
        ] {
            time::advance(seconds(after)).await;
            assert_eq!(printed.is_news(seconds(wait)), is_news, "{wait} s, {after} s later");
        }
    }
}
