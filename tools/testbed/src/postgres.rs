//! A private PostgreSQL server for the tests of a binary, with a database for each test.

use std::{
    env,
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use tempfile::TempDir;

use crate::{Requirement, bench::is_bench};

/// A PostgreSQL server that tests can start.
pub const POSTGRES: Requirement = Requirement {
    name: "PostgreSQL",
    is_present: || programs().is_some() && (!is_root() || user_id().is_some()),
    advice: "apt-get install postgresql",
    variable: "IMAGEKILN_POSTGRES_TESTS",
};

/// The user that runs the server if the tests run as root, which PostgreSQL refuses.
const USER: &str = "postgres";

/// The maximum number of attempts to start a server after a crash.
const STARTS: u32 = 300;

/// A server in a temporary directory. It listens on a Unix socket there, so it needs no port.
pub struct Cluster {
    directory: TempDir,
    programs: PathBuf,
    databases: AtomicU32,
    /// Stops the server when this process ends, however it ends.
    _guardian: Child,
}

/// Returns the server of this process, and starts it when it is first needed.
///
/// # Panics
///
/// If [`POSTGRES`] is missing or the server does not start.
pub fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(Cluster::start)
}

impl Cluster {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// If [`POSTGRES`] is missing or the server does not start.
    pub fn start() -> Self {
        Self::start_with(|_| "listen_addresses = ''\n".to_owned())
    }

    /// Starts a server with a certificate and its key in PEM, which also listens on this port of
    /// the loopback address.
    ///
    /// # Panics
    ///
    /// If [`POSTGRES`] is missing or the server does not start.
    pub fn start_tls(certificate: &str, key: &str, port: u16) -> Self {
        Self::start_with(|directory| {
            let write = |name: &str, pem: &str| {
                let path = directory.join(name);
                fs::write(&path, pem).unwrap();
                fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
                give_to_server(&path);
                path.to_str().unwrap().to_owned()
            };
            let (certificate, key) = (write("server.crt", certificate), write("server.key", key));
            format!(
                "listen_addresses = 'localhost'\nport = {port}\nssl = on\n\
                 ssl_cert_file = '{certificate}'\nssl_key_file = '{key}'\n"
            )
        })
    }

    /// Starts a server in a new directory, with the settings that this returns for the directory.
    fn start_with(settings: impl FnOnce(&Path) -> String) -> Self {
        let programs = programs().expect("PostgreSQL is missing");
        let directory = tempfile::tempdir().unwrap();
        give_to_server(directory.path());
        let data = directory.path().join("data");
        let sockets = directory.path().to_str().unwrap().to_owned();
        let initdb = command(&programs.join("initdb"))
            .args(["--auth=trust", "--no-sync", "--encoding=UTF8", "--username=postgres", "-D"])
            .arg(&data)
            .output();
        assert_success(initdb);
        // Tests kill the server, but not the machine.
        let fsync = if is_bench() { "on" } else { "off" };
        let settings = settings(directory.path())
            + &format!(
                "unix_socket_directories = '{sockets}'\nmax_connections = 200\nfsync = {fsync}\n"
            );
        let file = data.join("postgresql.conf");
        fs::write(&file, fs::read_to_string(&file).unwrap() + &settings).unwrap();
        let guardian = guard(&programs, &data);
        let cluster =
            Self { directory, programs, databases: AtomicU32::new(0), _guardian: guardian };
        cluster.control(&["-l", "/dev/null", "start"]);
        cluster
    }

    /// Creates a database, and returns its URL.
    ///
    /// # Panics
    ///
    /// If the server refuses it.
    pub fn create_database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let created = command(&self.programs.join("createdb"))
            .args(["--username=postgres", "--host"])
            .arg(self.directory.path())
            .arg(&name)
            .output();
        assert_success(created);
        let host = self.directory.path().to_str().unwrap().replace('/', "%2F");
        format!("postgres://postgres@{host}/{name}")
    }

    /// Kills the server with SIGKILL, and starts it again.
    ///
    /// # Panics
    ///
    /// If the server does not start again.
    pub fn crash(&self) {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        let process = file.lines().next().unwrap_or_default();
        assert_success(command(Path::new("kill")).args(["-KILL", process]).output());
        // Its own processes notice this, and use its memory until then.
        let has_started = (0..STARTS).any(|start| {
            thread::sleep(Duration::from_millis(100) * start.min(1));
            self.try_control(&["-l", "/dev/null", "start"])
        });
        assert!(has_started, "could not start PostgreSQL again");
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Returns the socket on which the server listens.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join(".s.PGSQL.5432")
    }

    fn control(&self, arguments: &[&str]) {
        assert!(self.try_control(arguments), "could not {arguments:?} PostgreSQL");
    }

    fn try_control(&self, arguments: &[&str]) -> bool {
        let mut control = command(&self.programs.join("pg_ctl"));
        control.arg("-D").arg(self.data()).arg("--wait").args(arguments);
        // The server would keep a pipe open.
        control.stdout(Stdio::null()).stderr(Stdio::null());
        control.status().unwrap().success()
    }
}

/// Starts a process that stops the server when its standard input closes.
fn guard(programs: &Path, data: &Path) -> Child {
    let script = "trap '' INT TERM HUP; cat >/dev/null; \"$0\" -D \"$1\" --mode=immediate stop; \
                  rm -rf \"$1\"";
    command(Path::new("sh"))
        .args(["-c", script])
        .arg(programs.join("pg_ctl"))
        .arg(data)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Returns a command that runs as the user of the server.
fn command(program: &Path) -> Command {
    let mut command = if is_root() { Command::new("runuser") } else { Command::new(program) };
    if is_root() {
        command.args(["-u", USER, "--"]).arg(program);
    }
    command.current_dir("/");
    command
}

fn assert_success(output: std::io::Result<std::process::Output>) {
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the directory of PostgreSQL's programs. Debian keeps them out of `PATH`.
fn programs() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = versions.map(|version| version.path().join("bin"));
    let is_complete = |directory: &PathBuf| {
        ["initdb", "pg_ctl", "createdb"].iter().all(|name| directory.join(name).is_file())
    };
    env::split_paths(&path).chain(debian).find(is_complete)
}

/// Lets the user that runs the server read and write a path.
fn give_to_server(path: &Path) {
    if let Some(user) = user_id().filter(|_| is_root()) {
        chown(path, Some(user), None).unwrap();
    }
}

fn is_root() -> bool {
    id(&["-u"]) == Some(0)
}

fn user_id() -> Option<u32> {
    id(&["-u", USER])
}

fn id(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
