//! The cloud of `tests/openstack` and the runs of the provisioner on it, for one test at a time.

use crate::{
    host::{binary, lab_directory, lock_directory, release_directory},
    output::{Output, Running, start},
    slot::Slot,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The limit for a run of the provisioner and for a verb of `cloud.sh`, in seconds.
const LIMIT: u32 = 900;

/// The cluster of the tests; nothing else in the project has its name.
const CLUSTER: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nname: trial\n";

/// Lets one test at a time use the cloud; a failed test does not affect the next one.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Exclusive use of the OpenStack API, without faults. Dropping it ends faults and removes guests.
#[derive(Debug)]
pub struct Cloud {
    guests: bool,
    work: PathBuf,
    // The last field, so that the rest is dropped before the next test starts.
    _only: MutexGuard<'static, ()>,
    _slot: Slot,
}

impl Cloud {
    /// Keeps the resources that tests without guests have left; `apply` starts with them.
    #[must_use]
    pub fn as_it_is() -> Self {
        let only = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        // Kept for the whole run, because a test may leave a cluster to the next one.
        static ALONE: OnceLock<File> = OnceLock::new();
        ALONE.get_or_init(|| {
            let alone = File::create(lock_directory().join("openstack-tests")).unwrap();
            alone.lock().unwrap();
            alone
        });
        let slot = Slot::take(false);
        let work = lab_directory().join("cloud-tests");
        fs::create_dir_all(&work).unwrap();
        let cloud = Self { guests: false, work, _only: only, _slot: slot };
        cloud.verb(&["up"]);
        // Removes the remains of a killed run; the runs of this process clean up after themselves.
        static FIRST: Once = Once::new();
        FIRST.call_once(|| {
            File::create(at_work()).unwrap().lock().unwrap();
            cloud.verb(&["guests", "off"]);
            cloud.verb(&["heal"]);
        });
        cloud.machines(&["t1"], &["t4"]);
        if !cloud.path("secrets.yaml").exists() {
            let (nodeinit, file) = (binary("NODEINIT_LAB"), cloud.path("secrets.yaml").display().to_string());
            start("nodeinit secrets generate", 60, &[&nodeinit, "secrets", "generate", "--file", &file])
                .wait()
                .exits(0);
        }
        cloud
    }

    /// Starts with an empty project.
    #[must_use]
    pub fn empty() -> Self {
        let cloud = Self::as_it_is();
        cloud.sweep();
        cloud
    }

    /// Starts with an empty project, and with servers that boot.
    #[must_use]
    pub fn with_guests() -> Self {
        let mut cloud = Self::empty();
        cloud.guests = true;
        cloud.verb(&["bake", &binary("NODEINIT_LAB"), "/usr/local/bin/nodeinit"]);
        let program = script();
        start("guests on", LIMIT, &["env", "LAB_IMPORTED=1", &program, "guests", "on"]).wait().exits(0);
        cloud
    }

    /// Deletes all objects of the project.
    pub fn sweep(&self) {
        self.verb(&["sweep"]);
        let _ = fs::remove_file(self.path("trial.known_hosts"));
    }

    /// Returns the path of a file in the working directory of the provisioner.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    /// Runs a verb of `cloud.sh`, which must succeed, and returns its output.
    #[track_caller]
    pub fn verb(&self, arguments: &[&str]) -> String {
        self.try_verb(arguments).exits(0).stdout
    }

    /// Runs a verb of `cloud.sh`.
    #[must_use]
    pub fn try_verb(&self, arguments: &[&str]) -> Output {
        let program = script();
        start(&format!("cloud.sh {}", arguments.join(" ")), LIMIT, &[&[program.as_str()], arguments].concat()).wait()
    }

    /// Waits until `so` returns true.
    ///
    /// # Panics
    /// If it does not within `limit` seconds.
    #[track_caller]
    pub fn until(&self, what: &str, limit: u64, so: impl Fn() -> bool) {
        let started = Instant::now();
        while !so() {
            assert!(started.elapsed().as_secs() < limit, "timed out after {limit} s waiting for: {what}");
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Lists all objects of the project: kind, id and name, sorted.
    #[must_use]
    pub fn objects(&self) -> Vec<String> {
        let mut all: Vec<String> = self.verb(&["objects"]).lines().map(str::to_owned).collect();
        all.sort();
        all
    }

    /// Fails the test if an object exists twice.
    #[track_caller]
    pub fn nothing_is_double(&self) {
        let objects = self.objects();
        let mut count: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for object in &objects {
            let words: Vec<&str> = object.splitn(3, ' ').collect();
            // The name of a floating IP is its address.
            let name = if words[0] == "floatingip" { "" } else { words[2] };
            *count.entry((words[0], name)).or_default() += 1;
        }
        let nameless = |name: &str| name.is_empty() || name == "-";
        let twice: Vec<_> = count.iter().filter(|((_, name), number)| **number > 1 && !nameless(name)).collect();
        assert!(twice.is_empty(), "there are two of {twice:?}: {objects:#?}");
        let addresses = count.get(&("floatingip", "")).copied().unwrap_or_default();
        assert_eq!(addresses, 2, "floating IPs: {objects:#?}");
        assert!(
            objects.iter().all(|object| !object.ends_with(" nodeinit-lock")),
            "the lock was not released: {objects:#?}"
        );
    }

    /// Returns a mark of the current time for [`Self::writes`] and [`Self::calls`].
    #[must_use]
    pub fn mark(&self) -> String {
        self.verb(&["mark"]).trim().to_owned()
    }

    /// Lists the write requests since the mark, from the logs of the services, without Neutron's late notifications to Nova about
    /// an earlier server, which no client sends.
    #[must_use]
    pub fn writes(&self, mark: &str) -> Vec<String> {
        let notice = |line: &&str| !line.contains("os-server-external-events");
        self.verb(&["writes", mark]).lines().filter(notice).map(str::to_owned).collect()
    }

    /// Returns the requests of clients since the mark, from the log of the front door.
    #[must_use]
    pub fn calls(&self, mark: &str) -> String {
        self.verb(&["calls", mark])
    }

    /// Configures the cluster with these masters and workers, at addresses that nothing else in the lab uses.
    pub fn machines(&self, masters: &[&str], workers: &[&str]) {
        let line = |name: &&str| format!("- {{name: {name}, address: 10.77.0.16{}}}\n", &name[1..]);
        let (masters, workers): (String, String) =
            (masters.iter().map(line).collect(), workers.iter().map(line).collect());
        let workers = if workers.is_empty() { "workers: []\n".to_owned() } else { format!("workers:\n{workers}") };
        let id = self.cluster_id();
        self.put("machines.yaml", &format!("{CLUSTER}masters:\n{masters}{workers}openstack:\n  clusterID: {id}\n"));
        self.configure("");
    }

    /// Returns the id of the cluster, generated once because a test may leave a cluster to the next one.
    fn cluster_id(&self) -> String {
        let file = self.path("cluster-id");
        if !file.exists() {
            fs::write(&file, fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap()).unwrap();
        }
        fs::read_to_string(&file).unwrap().trim().to_owned()
    }

    /// Writes the last configuration file, replacing the previous one.
    pub fn configure(&self, yaml: &str) {
        self.put("test.yaml", &format!("{CLUSTER}{yaml}\n"));
    }

    /// Writes a file in the working directory of the provisioner.
    pub fn put(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Starts the provisioner.
    #[must_use]
    pub fn start(&self, arguments: &str) -> Running {
        self.start_as("PROVISIONER_LAB", "", arguments)
    }

    /// Runs the provisioner.
    pub fn run(&self, arguments: &str) -> Output {
        let output = self.start(arguments).wait();
        eprintln!("{arguments}: exit code {} after {:.1} s", output.code, output.seconds);
        output
    }

    /// Runs the provisioner on a terminal.
    #[must_use]
    pub fn on_a_terminal(&self, arguments: &str) -> Output {
        let argv = self.argv("PROVISIONER_LAB", "", arguments);
        start(&format!("provisioner {arguments}"), LIMIT, &["script", "-qefc", &argv.join(" "), "/dev/null"]).wait()
    }

    /// Runs the provisioner on a terminal at which somebody answers its question.
    #[must_use]
    pub fn answering(&self, answer: &str, arguments: &str) -> Output {
        let command = self.argv("PROVISIONER_LAB", "", arguments).join(" ");
        let pipe = "printf '%s\\n' \"$0\" | script -qefc \"$1\" /dev/null";
        start(&format!("provisioner {arguments}"), LIMIT, &["sh", "-c", pipe, answer, &command]).wait()
    }

    /// Runs `apply --resources-only`, which must succeed.
    #[track_caller]
    pub fn apply(&self) -> Output {
        self.run("apply --yes --resources-only").exits(0)
    }

    /// Fails the test unless each resource exists exactly once.
    #[track_caller]
    pub fn all_is_well(&self) {
        self.run("plan").exits(0).says(&["0 to create, 0 to change, 0 to delete, "]);
        self.nothing_is_double();
    }

    /// Runs the provisioner, which a signal kills after the answer to its `writes`th write request.
    pub fn killed_after(&self, writes: usize, arguments: &str) -> Output {
        self.start_as("PROVISIONER_LAB_FAILPOINTS", &writes.to_string(), arguments).wait()
    }

    fn start_as(&self, variable: &str, dies_after: &str, arguments: &str) -> Running {
        let argv = self.argv(variable, dies_after, arguments);
        start(&format!("provisioner {arguments}"), LIMIT, &argv.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn argv(&self, variable: &str, dies_after: &str, arguments: &str) -> Vec<String> {
        let program = binary(variable);
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let layers = [
            here.join("../docs/examples/openstack.yaml"),
            release_directory().join("cluster.yaml"),
            here.join("openstack/cluster.yaml"),
            self.path("machines.yaml"),
            self.path("test.yaml"),
        ];
        let work = self.work.display().to_string();
        let clouds = format!("OS_CLIENT_CONFIG_FILE={}", directory().join("clouds.yaml").display());
        let dies_after = format!("PROVISIONER_DIES_AFTER_WRITE={dies_after}");
        // The provisioner of a killed test still holds the lock: the next one waits for its end.
        let lock = at_work().display().to_string();
        let before = ["flock", "--shared", "--no-fork", &lock, "env", "-C", &work, &clouds, &dies_after, &program];
        let layers = layers.iter().flat_map(|layer| ["--config".to_owned(), layer.display().to_string()]);
        before.into_iter().chain(arguments.split_whitespace()).map(str::to_owned).chain(layers).collect()
    }

    /// Returns each part of the cluster from the output of `status`.
    #[must_use]
    pub fn status(&self) -> Vec<Value> {
        let output = self.run("status --resources-only --output json").exits(0).stdout;
        let lines = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["event"] == "resource").collect()
    }

    /// Returns one part of the cluster, such as `server/t1`.
    #[track_caller]
    #[must_use]
    pub fn part(&self, part: &str) -> Value {
        let all = self.status();
        all.iter().find(|one| one["part"] == part).cloned().unwrap_or_else(|| panic!("no {part} among {all:#?}"))
    }

    /// Runs `kubectl` on this machine, with the kubeconfig that the provisioner wrote.
    pub fn kubectl(&self, arguments: &[&str]) -> Output {
        let program = release_directory().join("bin/kubectl").display().to_string();
        let kubeconfig = self.path("trial.kubeconfig").display().to_string();
        let argv = [&[program.as_str(), "--kubeconfig", &kubeconfig, "--request-timeout", "30s"], arguments].concat();
        start(&format!("kubectl {}", arguments.join(" ")), 60, &argv).wait()
    }

    /// Removes a file from the image of future machines.
    pub fn without_baked(&self, path: &str) {
        let _ = fs::remove_file(directory().join("image").join(path));
    }

    /// Returns the SHA-256 of a file, in hex.
    #[must_use]
    pub fn digest(&self, path: &str) -> String {
        let output = start("sha256sum", 60, &["sha256sum", path]).wait().exits(0).stdout;
        output.split(' ').next().unwrap_or_default().to_owned()
    }

    /// Returns the user-data of each server, as Nova's API shows it, by the name of the server.
    #[must_use]
    pub fn user_data(&self) -> BTreeMap<String, String> {
        let directory = self.path("userdata");
        let _ = fs::remove_dir_all(&directory);
        self.verb(&["userdata", &directory.display().to_string()]);
        let files = fs::read_dir(&directory).unwrap().map(|file| file.unwrap().path());
        files
            .map(|file| (file.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&file).unwrap()))
            .collect()
    }

    /// Returns each private value of the bundle: the lines of each private key, and each separate value.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut inside = false;
        for line in fs::read_to_string(self.path("secrets.yaml")).unwrap().lines().map(str::trim) {
            match line {
                _ if line.starts_with("-----BEGIN") => inside = line.contains("PRIVATE KEY"),
                _ if line.starts_with("-----END") => inside = false,
                _ if inside => all.push(line.to_owned()),
                _ => {
                    let keys = ["encryptionKey: ", "workerTokenKey: ", "- "];
                    let alone = keys.into_iter().find_map(|key| line.strip_prefix(key));
                    all.extend(alone.map(|value| value.trim_matches('"').to_owned()));
                }
            }
        }
        // The first line of an OpenSSH key contains only its type.
        all.retain(|value| !value.starts_with("b3BlbnNzaC1rZXktdjEA"));
        // The short last line of a key may occur anywhere by chance.
        all.retain(|value| value.len() >= 16);
        assert!(all.len() > 15, "only {} secrets found in the bundle", all.len());
        all
    }

    /// Returns the console log of a server.
    #[must_use]
    pub fn console(&self, name: &str) -> String {
        self.verb(&["os", "console", "log", "show", name])
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        if thread::panicking() {
            // A second panic would hide the first one.
            let _ = writeln!(io::stderr(), "objects in the cloud:\n{}", self.try_verb(&["objects"]).text());
            for name in self.guests.then_some(["t1", "t4"]).into_iter().flatten() {
                let look =
                    "journalctl -t nodeinit -u nodeinit -n 30 --no-pager; tail -n 20 /var/log/cloud-init-output.log";
                let _ = writeln!(io::stderr(), "what {name} says:\n{}", self.try_verb(&["ssh", name, look]).text());
            }
        }
        let _ = self.try_verb(&["heal"]);
        if self.guests {
            let _ = self.try_verb(&["sweep"]);
            let _ = self.try_verb(&["guests", "off"]);
        }
    }
}

fn script() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("openstack/cloud.sh").display().to_string()
}

/// Returns the path of the lock that all runs of the provisioner share.
fn at_work() -> PathBuf {
    lock_directory().join("openstack-provisioner")
}

/// Returns the directory of the cloud's data.
fn directory() -> PathBuf {
    let own = std::env::var_os("OSLAB_DIR").map(PathBuf::from);
    own.unwrap_or_else(|| lab_directory().with_file_name("nodeinit-openstack-lab"))
}
