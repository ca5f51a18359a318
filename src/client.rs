//! The client, which holds everything that the requests of a program share.

use std::{fmt, sync::Arc};

use url::Url;

use crate::{
    Address, Error, ErrorKind, Operation, REGIONAL_BASE_URL_VARIABLE, Region, Task, TaskRef,
    picture::Deliveries, task::Tasks, telemetry::metrics, transport::service::Service,
};

/// A client of the service.
///
/// `Client` is cheap to clone. Clones share connections, limits and retry budgets.
///
/// ```
/// use imagekiln::Client;
/// # fn main() -> Result<(), imagekiln::Error> {
/// let client = Client::builder()
///     .api_key("my key")
///     .base_url("https://api.example.com")
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    service: Arc<Service>,
    tasks: Tasks,
    deliveries: Deliveries,
}

impl Client {
    pub(crate) fn new(service: Service, tasks: Tasks, deliveries: Deliveries) -> Self {
        metrics::describe();
        Self(Arc::new(Inner { service: Arc::new(service), tasks, deliveries }))
    }

    /// Returns how to reach the service.
    pub(crate) fn service(&self) -> &Arc<Service> {
        &self.0.service
    }

    /// Returns the shared state of submissions and waits.
    pub(crate) fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    /// Returns how pictures are fetched.
    pub(crate) fn deliveries(&self) -> &Deliveries {
        &self.0.deliveries
    }

    /// Resumes a task, for example one that another process submitted.
    ///
    /// This sends nothing; the first request is the first poll.
    pub fn task(&self, reference: TaskRef) -> Task {
        Task::resumed(self.clone(), reference)
    }

    /// Resumes a task from its operation and its id.
    ///
    /// The client polls `/v1/get_result` at the base URL that serves the operation. If the
    /// operation is unknown, use [`task_in`](Self::task_in).
    ///
    /// ```
    /// # fn resume(client: &imagekiln::Client) -> Result<(), imagekiln::Error> {
    /// let operation = imagekiln::find_operation("gen-2-pro").unwrap();
    /// let task = client.task_by_id(operation, "f7a1c9")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](crate::ErrorKind::Settings): the operation needs the regional base URL,
    /// and none is set.
    pub fn task_by_id(
        &self,
        operation: &'static Operation,
        id: impl Into<String>,
    ) -> Result<Task, Error> {
        let base = self.base_of(operation)?;
        let operation_name = Some(operation.name.to_owned());
        Ok(self.task_at(base, operation.region(), id.into(), operation_name))
    }

    /// Resumes a task from the region that accepted it and its id.
    ///
    /// # Errors
    ///
    /// Kind [`Settings`](crate::ErrorKind::Settings): the regional base URL is not set.
    pub fn task_in(&self, region: Region, id: impl Into<String>) -> Result<Task, Error> {
        let base = self
            .service()
            .base(region)
            .ok_or_else(|| no_regional_base("the regional base URL is not set"))?;
        Ok(self.task_at(base, region, id.into(), None))
    }

    fn task_at(&self, base: &Url, region: Region, id: String, operation: Option<String>) -> Task {
        let polling_url = result_url(base, &id);
        self.task(TaskRef::new(id, polling_url, operation).in_region(region))
    }

    /// Returns the base URL that serves an operation.
    pub(crate) fn base_of(&self, operation: &'static Operation) -> Result<&Url, Error> {
        self.service().base(operation.region()).ok_or_else(|| {
            let message = format!("{operation} needs the regional base URL, which is not set");
            no_regional_base(message).with_operation(operation.name)
        })
    }
}

fn no_regional_base(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Settings, message)
        .with_setting(REGIONAL_BASE_URL_VARIABLE)
        .with_advice("set it")
        .with_function("ClientBuilder::regional_base_url")
}

/// Builds the polling URL of a task whose submission response had none (operation `get_result` of
/// the contract).
pub(crate) fn result_url(base: &Url, id: &str) -> Address {
    let mut url = base.clone();
    url.set_path(&format!("{}/v1/get_result", base.path().trim_end_matches('/')));
    url.query_pairs_mut().clear().append_pair("id", id);
    url.into()
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &Address::from(self.service().base_url.clone()))
            .field("key", &self.service().key)
            .finish_non_exhaustive()
    }
}
