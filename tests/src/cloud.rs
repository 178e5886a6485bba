//! The cloud of `tests/openstack`, and the provisioner's runs on it, for one test at a time.

use crate::{
    host::{binary, lab_directory, lock_directory, release_directory},
    output::{Output, Running, start},
    slot::Slot,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// A run of the provisioner may take this many seconds, and so may a verb of the cloud's.
const LIMIT: u32 = 900;

/// Under which nobody else has anything in the project.
const CLUSTER: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nname: trial\n";

/// There is one cloud, and a failed test has nothing to do with the next one.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The real OpenStack API, with nobody else at it and without faults. Faults end, and guests go, when it is dropped.
#[derive(Debug)]
pub struct Cloud {
    guests: bool,
    work: PathBuf,
    // Behind all else, so that it is over before another test may begin.
    _only: MutexGuard<'static, ()>,
    _slot: Slot,
}

impl Cloud {
    /// Whatever tests without guests have left is there still: `apply` begins with it.
    #[must_use]
    pub fn as_it_is() -> Self {
        let only = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        // For the whole run: a test may leave a cluster to the next one.
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
        // What a run has left that was killed; those of this process end in order.
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

    /// With an empty project.
    #[must_use]
    pub fn empty() -> Self {
        let cloud = Self::as_it_is();
        cloud.sweep();
        cloud
    }

    /// With an empty project, and servers that boot.
    #[must_use]
    pub fn with_guests() -> Self {
        let mut cloud = Self::empty();
        cloud.guests = true;
        cloud.verb(&["bake", &binary("NODEINIT_LAB"), "/usr/local/bin/nodeinit"]);
        let program = script();
        start("guests on", LIMIT, &["env", "LAB_IMPORTED=1", &program, "guests", "on"]).wait().exits(0);
        cloud
    }

    /// Deletes whatever is in the project.
    pub fn sweep(&self) {
        self.verb(&["sweep"]);
        let _ = fs::remove_file(self.path("trial.known_hosts"));
    }

    /// A file of the place where the provisioner runs.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    /// A verb of `cloud.sh`, which must succeed; what it printed.
    #[track_caller]
    pub fn verb(&self, arguments: &[&str]) -> String {
        self.try_verb(arguments).exits(0).stdout
    }

    /// A verb of `cloud.sh`.
    #[must_use]
    pub fn try_verb(&self, arguments: &[&str]) -> Output {
        let program = script();
        start(&format!("cloud.sh {}", arguments.join(" ")), LIMIT, &[&[program.as_str()], arguments].concat()).wait()
    }

    /// Waits until something is so.
    ///
    /// # Panics
    /// Where it is not within `limit` seconds.
    #[track_caller]
    pub fn until(&self, what: &str, limit: u64, so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !so() {
            assert!(begun.elapsed().as_secs() < limit, "{what}: not so within {limit} s");
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// All that the project has: kind, id and name, sorted.
    #[must_use]
    pub fn objects(&self) -> Vec<String> {
        let mut all: Vec<String> = self.verb(&["objects"]).lines().map(str::to_owned).collect();
        all.sort();
        all
    }

    /// Ends the test where there are two of something.
    #[track_caller]
    pub fn nothing_is_double(&self) {
        let objects = self.objects();
        let mut count: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for object in &objects {
            let words: Vec<&str> = object.splitn(3, ' ').collect();
            // A floating IP's name is its address.
            let name = if words[0] == "floatingip" { "" } else { words[2] };
            *count.entry((words[0], name)).or_default() += 1;
        }
        let nameless = |name: &str| name.is_empty() || name == "-";
        let twice: Vec<_> = count.iter().filter(|((_, name), number)| **number > 1 && !nameless(name)).collect();
        assert!(twice.is_empty(), "there are two of {twice:?}: {objects:#?}");
        let addresses = count.get(&("floatingip", "")).copied().unwrap_or_default();
        assert_eq!(addresses, 2, "floating IPs: {objects:#?}");
        assert!(objects.iter().all(|object| !object.ends_with(" nodeinit-lock")), "a lock is left: {objects:#?}");
    }

    /// A moment, for the next two.
    #[must_use]
    pub fn mark(&self) -> String {
        self.verb(&["mark"]).trim().to_owned()
    }

    /// Writing calls since then, by the services' own logs. Neutron's late notices to Nova of an earlier server do not count: no client
    /// sends them.
    #[must_use]
    pub fn writes(&self, mark: &str) -> Vec<String> {
        let notice = |line: &&str| !line.contains("os-server-external-events");
        self.verb(&["writes", mark]).lines().filter(notice).map(str::to_owned).collect()
    }

    /// Clients' calls since then, by the front door's log.
    #[must_use]
    pub fn calls(&self, mark: &str) -> String {
        self.verb(&["calls", mark])
    }

    /// Gives the cluster these masters and workers, at addresses that nobody else of the lab has.
    pub fn machines(&self, masters: &[&str], workers: &[&str]) {
        let line = |name: &&str| format!("- {{name: {name}, address: 10.77.0.16{}}}\n", &name[1..]);
        let (masters, workers): (String, String) =
            (masters.iter().map(line).collect(), workers.iter().map(line).collect());
        let workers = if workers.is_empty() { "workers: []\n".to_owned() } else { format!("workers:\n{workers}") };
        let id = self.cluster_id();
        self.put("machines.yaml", &format!("{CLUSTER}masters:\n{masters}{workers}openstack:\n  clusterID: {id}\n"));
        self.configure("");
    }

    /// Generated once: a test may leave a cluster to the next one.
    fn cluster_id(&self) -> String {
        let file = self.path("cluster-id");
        if !file.exists() {
            fs::write(&file, fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap()).unwrap();
        }
        fs::read_to_string(&file).unwrap().trim().to_owned()
    }

    /// Puts a layer over the configuration, in the place of the former one.
    pub fn configure(&self, yaml: &str) {
        self.put("test.yaml", &format!("{CLUSTER}{yaml}\n"));
    }

    /// Writes a file of the place where the provisioner runs.
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

    /// Makes the resources, and nothing on the machines; all must be well.
    #[track_caller]
    pub fn apply(&self) -> Output {
        self.run("apply --yes --resources-only").exits(0)
    }

    /// Ends the test unless all is there, and once.
    #[track_caller]
    pub fn all_is_well(&self) {
        self.run("plan").exits(0).says(&["0 to create, 0 to change, 0 to delete, "]);
        self.nothing_is_double();
    }

    /// Runs the provisioner, which dies by a signal after the answer to so many writing requests.
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
        // A process whose test was killed still holds it: the next one waits until that process has ended.
        let lock = at_work().display().to_string();
        let before = ["flock", "--shared", "--no-fork", &lock, "env", "-C", &work, &clouds, &dies_after, &program];
        let layers = layers.iter().flat_map(|layer| ["--config".to_owned(), layer.display().to_string()]);
        before.into_iter().chain(arguments.split_whitespace()).map(str::to_owned).chain(layers).collect()
    }

    /// Each part of the cluster as `status` tells it.
    #[must_use]
    pub fn status(&self) -> Vec<Value> {
        let told = self.run("status --resources-only --output json").exits(0).stdout;
        let lines = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["event"] == "resource").collect()
    }

    /// One part of the cluster, such as `server/t1`.
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

    /// Takes a file away from the image of machines that are made from now on.
    pub fn without_baked(&self, path: &str) {
        let _ = fs::remove_file(directory().join("image").join(path));
    }

    /// The SHA-256 of a file, in hex.
    #[must_use]
    pub fn digest(&self, path: &str) -> String {
        let told = start("sha256sum", 60, &["sha256sum", path]).wait().exits(0).stdout;
        told.split(' ').next().unwrap_or_default().to_owned()
    }

    /// Each server's user-data, as Nova's API has it, by the server's name.
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

    /// Each private value of the bundle: the lines of each private key, and what stands alone.
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
        // The first line of an OpenSSH key says only what it is.
        all.retain(|value| !value.starts_with("b3BlbnNzaC1rZXktdjEA"));
        // A short end of a key may stand anywhere.
        all.retain(|value| value.len() >= 16);
        assert!(all.len() > 15, "only {} secrets to look for", all.len());
        all
    }

    /// What the server of that name has on its console.
    #[must_use]
    pub fn console(&self, name: &str) -> String {
        self.verb(&["os", "console", "log", "show", name])
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("what is in the cloud:\n{}", self.try_verb(&["objects"]).text());
            for name in self.guests.then_some(["t1", "t4"]).into_iter().flatten() {
                let look =
                    "journalctl -t nodeinit -u nodeinit -n 30 --no-pager; tail -n 20 /var/log/cloud-init-output.log";
                eprintln!("what {name} says:\n{}", self.try_verb(&["ssh", name, look]).text());
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

/// A lock that each run of the provisioner shares.
fn at_work() -> PathBuf {
    lock_directory().join("openstack-provisioner")
}

/// Where the cloud keeps what it makes.
fn directory() -> PathBuf {
    let own = std::env::var_os("OSLAB_DIR").map(PathBuf::from);
    own.unwrap_or_else(|| lab_directory().with_file_name("nodeinit-openstack-lab"))
}
