//! The public handle of a running simulator.

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{sync::watch, task::JoinHandle};
use tokio_rustls::TlsAcceptor;
use tracing::info;

use crate::{
    billing::accounts::{Actor, OrganizationView},
    config::{Config, TlsFiles},
    contract::{Contract, Region},
    control,
    endpoints::{self, Endpoint},
    error::StartError,
    expectation::Expectation,
    faults::Faults,
    http::{self, Listeners, Service, tls},
    journal::RequestRecord,
    runtime::clock::Clock,
    snapshot::{self, RestoreError, Snapshot},
    state::AppState,
    tasks::{Counts, Task, TaskView, lateness::Lateness},
    webhooks::{self, WebhookDelivery},
};

/// How long [`Simulator::shutdown`] waits for requests in progress.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// A running simulator. Dropping it stops it: it accepts no new connections and closes idle ones.
/// Requests in progress are completed as long as the runtime lives.
pub struct Simulator {
    state: Arc<AppState>,
    stop: watch::Sender<bool>,
    /// The tasks that serve the sockets, and the one that sends webhooks.
    servers: Vec<JoinHandle<()>>,
    control_url: String,
}

impl Simulator {
    /// Starts the service on the caller's tokio runtime. It is ready to serve when this returns.
    ///
    /// # Errors
    ///
    /// If a setting is invalid, an address is not loopback although
    /// [`allow_remote`](Config::allow_remote) is not set, or the simulator could not listen on an
    /// address.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let contract = Contract::built_in()?;
        config.check(&contract)?;
        let global = Listeners::open(config.listen).await?;
        let regional = Listeners::open(config.regional_listen).await?;
        let control = Listeners::open(config.control_listen).await?;
        let bases = [&global, &regional].map(|at| base_url(config.scheme(), at.address));
        let control_url = base_url("http", control.address);
        let tls = config.tls.as_ref().map(|TlsFiles { certificate, key }| {
            tls::acceptor(certificate, key.as_deref(), &config.hosts())
        });
        let tls = tls.transpose()?;
        info!(base = bases[0], regional_base = bases[1], control = control_url, "listening");
        let own_ports = [&global, &regional, &control].map(|listeners| listeners.address.port());
        let stop = watch::Sender::new(false);
        let stopped = stop.subscribe();
        let state = Arc::new(AppState::new(config, contract, bases, own_ports.into(), stopped)?);
        let service = |region| service(&state, region, tls.clone());
        let control_service = Service {
            router: control::router(Arc::clone(&state), control.address),
            tls: None,
            client_timeout: state.config.client_timeout,
            on_protocol_error: Arc::new(|_| {}),
        };
        let webhooks = webhooks::run(Arc::clone(&state.webhooks), stop.subscribe());
        let mut servers = vec![tokio::spawn(webhooks)];
        for (listeners, service) in [
            (global, service(Region::Global)),
            (regional, service(Region::Regional)),
            (control, control_service),
        ] {
            for socket in listeners.sockets {
                let server = http::serve(socket, service.clone(), stop.subscribe());
                servers.push(tokio::spawn(server));
            }
        }
        Ok(Self { state, stop, servers, control_url })
    }

    /// The base URL, without a trailing slash: `http://127.0.0.1:PORT`, or `https://` with
    /// [`Config::tls`].
    pub fn base_url(&self) -> &str {
        self.state.base(Region::Global)
    }

    /// The base URL for regional models: the same service on another port. A task is known only at
    /// the base URL that accepted it.
    pub fn regional_base_url(&self) -> &str {
        self.state.base(Region::Regional)
    }

    /// The URL of the control interface and its page, on a separate port: `http://127.0.0.1:PORT`.
    /// It does not take API keys. Other machines cannot reach it without
    /// [`Config::control_token`].
    pub fn control_url(&self) -> &str {
        &self.control_url
    }

    /// An accepted API key: the first of [`Config::api_keys`].
    pub fn api_key(&self) -> &str {
        self.state.config.api_keys.first().map_or("", |key| key.expose())
    }

    /// The counters so far.
    pub fn counts(&self) -> Counts {
        self.state.counts()
    }

    /// How late clients noticed until now that tasks were ready, on the simulator's clock. A client
    /// that learns it from webhooks counts in the same way.
    pub fn lateness(&self) -> Lateness {
        self.state.lateness()
    }

    /// What is known about a task, at either base URL.
    pub fn task(&self, id: &str) -> Option<TaskView> {
        let records = self.state.records();
        records.tasks.get(id).map(|task| self.view(task))
    }

    /// All tasks that are kept, in the order of their acceptance; see [`Config::max_kept_bytes`].
    pub fn tasks(&self) -> Vec<TaskView> {
        let records = self.state.records();
        records.tasks.iter().map(|task| self.view(task)).collect()
    }

    fn view(&self, task: &Task) -> TaskView {
        let AppState { clock, config, .. } = &*self.state;
        task.view(clock.unix_now(), clock, &config.in_progress)
    }

    /// The requests that are kept, oldest first: all that were sent to the service, refused ones
    /// included. See [`Config::max_kept_requests`].
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.state.journal.oldest_first()
    }

    /// Expects requests from now on that match a pattern. Dropping the [`Expectation`] fails the
    /// test if there were none, or not as many as it says.
    ///
    /// A pattern consists of a method, an operation or a path, and, after a `?`, other values that
    /// a [`RequestRecord`] must have: `organization`, `project`, `key` (masked), `region`,
    /// `status`, `task_id`, `fault`, `violation` (a location), `ignored_field`. All parts are
    /// optional. Operation and path may end with `*`, and `status` may be `4xx`.
    ///
    /// ```
    /// # use imagekiln_simulator::{Config, Simulator, StartError};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), StartError> {
    /// let simulator = Simulator::start(Config::default()).await?;
    /// {
    ///     let _no_picture = simulator.expect("GET /delivery/*").times(0);
    ///     let _no_retry = simulator.expect("POST gen-2-*?fault=html-502").times(0);
    ///     let seed = serde_json::json!({ "seed": 7 });
    ///     let _no_seed = simulator.expect("POST gen-2-pro").request(seed).times(0);
    ///     // Run what is tested here.
    /// } // The requests are counted here.
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn expect(&self, pattern: &str) -> Expectation {
        Expectation::new(&self.state, pattern)
    }

    /// The organizations, with their credits, projects, keys and spending.
    pub fn organizations(&self) -> Vec<OrganizationView> {
        self.state.organizations(&Actor::Operator)
    }

    /// The pending and the finished webhooks, in the order in which they were queued, at most
    /// [`WebhookSettings::max_kept`](crate::WebhookSettings::max_kept).
    pub fn webhooks(&self) -> Vec<WebhookDelivery> {
        self.state.webhooks.views()
    }

    /// Waits until `holds` returns true for the webhooks, and returns them. It is called at once
    /// and after every change.
    pub async fn webhooks_when(
        &self,
        holds: impl FnMut(&[WebhookDelivery]) -> bool,
    ) -> Vec<WebhookDelivery> {
        self.state.webhooks.views_when(holds).await
    }

    /// Sends a webhook again, now, with the same id and body, and with retries. Returns the
    /// [id](WebhookDelivery::id) of the new delivery. Returns `None` if there is no delivery with
    /// this id (any more), or if the log is full of pending deliveries.
    pub fn redeliver_webhook(&self, id: u64) -> Option<u64> {
        Some(self.state.webhooks.redeliver(id)?.id)
    }

    /// The simulator's clock, which tests can advance.
    pub fn clock(&self) -> Clock {
        self.state.clock.clone()
    }

    /// The fault rules, which can be changed while the simulator runs.
    pub fn faults(&self) -> Faults {
        self.state.faults.clone()
    }

    /// Returns to the state after the start: no tasks, webhooks and requests, and the accounts and
    /// fault rules of the [`Config`]. The same submissions get the same task ids again. The clock
    /// keeps its time and returns to its [speed](Config::speed).
    ///
    /// # Errors
    ///
    /// None that can be expected: the settings were valid at the start.
    pub fn reset(&self) -> Result<(), StartError> {
        self.state.reset()
    }

    /// What the simulator knows now, apart from the requests and the webhooks. Takes as long as
    /// copying the texts of all tasks.
    ///
    /// - Organizations and everything in them, the ledger and the audit log. API keys are SHA-256
    ///   digests, from which a short key can be guessed.
    /// - Tasks with their images. A picture is contained only if it can't be rendered again.
    /// - Counters, faults with how often they have applied, and the speed of the clock.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.state)
    }

    /// Returns to the state of a snapshot, of this simulator or of another one. The clock keeps its
    /// time: what was five seconds ahead at the snapshot is five seconds ahead now. Dates in the
    /// ledger, in the audit log and of spending stay as they are. There are no requests and no
    /// webhooks, and a task of the snapshot sends none.
    ///
    /// Keys continue to work, but only those of the [`Config`], or known before, can be revealed.
    /// With the same [seed](Config::seed), tasks get the same ids, and delivery URLs stay valid.
    ///
    /// If the snapshot takes more than [`Config::max_kept_bytes`], the oldest tasks with a final
    /// status are dropped.
    ///
    /// # Errors
    ///
    /// If the snapshot is inconsistent, or exceeds the limits of this simulator's [`Config`], such
    /// as [`Config::max_output_side`]. The simulator is unchanged then.
    pub async fn restore(&self, snapshot: &Snapshot) -> Result<(), RestoreError> {
        snapshot::restore(&self.state, snapshot).await
    }

    /// Stops the service: accepts no new connections, and waits up to five seconds for requests in
    /// progress. Pending webhooks are not sent.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        for server in &mut self.servers {
            if tokio::time::timeout(SHUTDOWN_TIMEOUT, &mut *server).await.is_err() {
                server.abort();
            }
        }
    }
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulator")
            .field("base_url", &self.base_url())
            .field("regional_base_url", &self.regional_base_url())
            .field("control_url", &self.control_url)
            .finish_non_exhaustive()
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

/// The service at one of its base URLs.
fn service(state: &Arc<AppState>, region: Region, tls: Option<TlsAcceptor>) -> Service {
    let endpoint = Endpoint { state: Arc::clone(state), region, is_forwarded: false };
    let journal_state = Arc::clone(state);
    Service {
        router: http::allow_origins(&state.config.cors_origins, endpoints::router(endpoint)),
        tls,
        client_timeout: state.config.client_timeout,
        on_protocol_error: Arc::new(move |status| {
            let unix = journal_state.clock.unix_now();
            let record = RequestRecord::unreadable(unix, region, status);
            drop(journal_state.journal.entry(record));
        }),
    }
}

/// The base URL of `address`, with the loopback address instead of an unspecified one.
fn base_url(scheme: &str, mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    format!("{scheme}://{address}")
}
