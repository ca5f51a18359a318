//! The simulator as its user holds it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::info;

use crate::accounts::{Actor, OrganizationView};
use crate::clock::Clock;
use crate::config::Config;
use crate::contract::{Contract, Region};
use crate::control;
use crate::counts::Counts;
use crate::error::StartError;
use crate::faults::Faults;
use crate::serve;
use crate::server::{self, Door};
use crate::service::Service;
use crate::tasks::TaskView;
use crate::webhooks::{self, WebhookDelivery};

/// How long [`Simulator::shutdown`] waits for requests under way.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running simulator. Dropping it stops it: no connection is accepted any more, idle ones are
/// closed, and requests under way are still answered as long as the runtime lives.
pub struct Simulator {
    service: Arc<Service>,
    stop: watch::Sender<bool>,
    servers: [JoinHandle<()>; 3],
    control_url: String,
    webhooks: JoinHandle<()>,
}

impl Simulator {
    /// Starts the service on the tokio runtime of the caller. It is ready to serve when this
    /// returns.
    ///
    /// # Errors
    ///
    /// When a setting makes no sense, an address is not loopback though
    /// [`allow_remote`](Config::allow_remote) is not set, or an address cannot be listened on.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        config.check()?;
        let contract = Contract::built_in()?;
        let global = server::listen(config.listen).await?;
        let regional = server::listen(config.regional_listen).await?;
        let control = server::listen(config.control_listen).await?;
        let base = |listener: &TcpListener, wanted: SocketAddr| {
            let address = listener.local_addr();
            address.map(base_url).map_err(|source| StartError::Listen { address: wanted, source })
        };
        let bases = (base(&global, config.listen)?, base(&regional, config.regional_listen)?);
        let control_address = control
            .local_addr()
            .map_err(|source| StartError::Listen { address: config.control_listen, source })?;
        let control_url = base_url(control_address);
        info!(base = bases.0, regional_base = bases.1, control = control_url, "listening");
        let service = Arc::new(Service::new(config, contract, bases.0, bases.1)?);
        let stop = watch::Sender::new(false);
        let door = |region| server::router(Door { service: Arc::clone(&service), region });
        let control_router =
            control::router(Arc::clone(&service), control_address, stop.subscribe());
        let servers = [
            (global, door(Region::Global)),
            (regional, door(Region::Regional)),
            (control, control_router),
        ];
        let servers = servers.map(|(listener, router)| {
            tokio::spawn(serve::run(
                listener,
                router,
                service.config.client_timeout,
                stop.subscribe(),
            ))
        });
        let webhooks = tokio::spawn(webhooks::run(Arc::clone(&service.webhooks), stop.subscribe()));
        Ok(Self { service, stop, servers, webhooks, control_url })
    }

    /// The service's address, without a slash at its end: `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> &str {
        self.service.base(Region::Global)
    }

    /// The regional address: the same service on another port. A task is known only at the address
    /// that took it.
    pub fn regional_base_url(&self) -> &str {
        self.service.base(Region::Regional)
    }

    /// Where the control interface and its page are, on a port of their own:
    /// `http://127.0.0.1:PORT`. No key opens it, and no other machine reaches it.
    pub fn control_url(&self) -> &str {
        &self.control_url
    }

    /// A key that is let in: the first of [`Config::api_keys`].
    pub fn api_key(&self) -> &str {
        self.service.config.api_keys.first().map_or("", String::as_str)
    }

    /// What happened up to now.
    pub fn counts(&self) -> Counts {
        self.service.counts()
    }

    /// What is known of a task, whichever address took it.
    pub fn task(&self, id: &str) -> Option<TaskView> {
        let now = self.service.clock.now();
        let state = self.service.state();
        state.tasks.get(id).map(|task| task.view(now, &self.service.config.in_progress))
    }

    /// All tasks that are kept, in the order of their acceptance; see [`Config::max_kept_bytes`].
    pub fn tasks(&self) -> Vec<TaskView> {
        let now = self.service.clock.now();
        let state = self.service.state();
        state.tasks.iter().map(|task| task.view(now, &self.service.config.in_progress)).collect()
    }

    /// The organizations, with their credits, projects, keys and what was spent.
    pub fn organizations(&self) -> Vec<OrganizationView> {
        self.service.organizations(&Actor::Operator)
    }

    /// The webhooks on their way and those that went out, in the order in which they were taken on,
    /// as many as [`WebhookSettings::max_kept`](crate::WebhookSettings::max_kept) says.
    pub fn webhooks(&self) -> Vec<WebhookDelivery> {
        self.service.webhooks.views()
    }

    /// Waits until `holds` is true of the webhooks, and gives them. It is asked at once and after
    /// every change.
    pub async fn webhooks_when(
        &self,
        holds: impl FnMut(&[WebhookDelivery]) -> bool,
    ) -> Vec<WebhookDelivery> {
        self.service.webhooks.views_when(holds).await
    }

    /// Sends a webhook again, now: with the same id and body, and with retries. Gives the
    /// [id](WebhookDelivery::id) of the new delivery; `None` where there is no delivery of this id
    /// (any more), or all that can be kept still wait.
    pub fn redeliver_webhook(&self, id: u64) -> Option<u64> {
        self.service.webhooks.redeliver(id)
    }

    /// The simulator's clock, to move it forward.
    pub fn clock(&self) -> Clock {
        self.service.clock.clone()
    }

    /// The faults that strike by rules, to be changed as it runs.
    pub fn faults(&self) -> Faults {
        self.service.faults.clone()
    }

    /// Stops the service: accepts no connection any more, and waits for the requests under way,
    /// five seconds at most. Webhooks that have not gone out are not sent any more.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        for server in self.servers.iter_mut().chain([&mut self.webhooks]) {
            if tokio::time::timeout(PATIENCE, &mut *server).await.is_err() {
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

/// A base address for `address`; where that is "any", the loopback address stands for it.
fn base_url(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    format!("http://{address}")
}
