//! A host of the lab, for one test.

use crate::output::{Output, Running, start};
use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The machine's address, as hosts see it.
const MACHINE: &str = "10.77.0.1";

/// A command may take this many seconds.
const LIMIT: u32 = 400;

/// One host at a time: they share the machine's processors with what is measured on them.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A freshly booted host with nodeinit and a configuration for it as the only master. Removed when it is dropped.
#[derive(Debug)]
pub struct Host {
    name: String,
    address: String,
    _named: File,
    /// Held by a host that is alone; hosts of a cluster share their cluster's.
    _only: Option<MutexGuard<'static, ()>>,
}

/// A host's name and address, and what keeps them from another run of tests on this machine: a lock on a file.
fn name() -> (String, String, File) {
    let locks = lab_directory().join("lock");
    std::fs::create_dir_all(&locks).unwrap();
    for number in 1..=20 {
        let name = format!("n{number}");
        let file = File::create(locks.join(format!("tests-{name}"))).unwrap();
        if file.try_lock().is_ok() {
            return (name, format!("10.77.0.{}", 70 + number), file);
        }
    }
    panic!("twenty hosts of tests are at work on this machine");
}

/// Where the lab keeps what it makes.
#[must_use]
pub fn lab_directory() -> PathBuf {
    let from = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    let cache = || from("XDG_CACHE_HOME").unwrap_or_else(|| from("HOME").unwrap_or_default().join(".cache"));
    from("LAB_DIR").unwrap_or_else(|| cache().join("nodeinit-lab"))
}

fn lab(program: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("lab").join(program).display().to_string()
}

/// A binary that the environment names; `make test` does.
pub(crate) fn binary(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} does not name a binary: run `make test`"))
}

#[track_caller]
fn verb(arguments: &[&str]) -> Output {
    let program = lab("host.sh");
    start(&format!("host.sh {}", arguments.join(" ")), LIMIT, &[&[program.as_str()], arguments].concat()).wait()
}

/// Waits for the hosts of another test to end; a failed test has nothing to do with the next one.
pub(crate) fn only() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Boots hosts, all at once.
pub(crate) fn booted(count: usize, imported: &str) -> Vec<Host> {
    let hosts: Vec<Host> = (0..count)
        .map(|_| {
            let (name, address, named) = name();
            Host { name, address, _named: named, _only: None }
        })
        .collect();
    let imported = format!("LAB_IMPORTED={imported}");
    let script = format!("{0} down $1 && {0} up $1 $2", lab("host.sh"));
    let up = |host: &Host| {
        start("host.sh up", LIMIT, &["env", &imported, "bash", "-c", &script, "up", &host.name, &host.address])
    };
    let booting: Vec<Running> = hosts.iter().map(up).collect();
    booting.into_iter().for_each(|host| drop(host.wait().exits(0)));
    hosts
}

impl Host {
    /// Boots one.
    #[must_use]
    pub fn fresh() -> Self {
        Self::made("")
    }

    /// Boots one that has all images in containerd already, for what does not depend on their import.
    #[must_use]
    pub fn with_images() -> Self {
        Self::made("1")
    }

    fn made(imported: &str) -> Self {
        let only = only();
        let mut host = booted(1, imported).remove(0);
        host._only = Some(only);
        host.equip(&[&host], &[], "");
        host
    }

    /// Gives it nodeinit, and the configuration of a cluster of these hosts; an empty endpoint stands for none.
    pub(crate) fn equip(&self, masters: &[&Self], workers: &[&Self], endpoint: &str) {
        let names = |hosts: &[&Self]| hosts.iter().map(|host| host.name.clone()).collect::<Vec<_>>();
        let arguments = [names(masters), vec!["--".to_owned()], names(workers)].concat();
        let (endpoint, program) = (format!("LAB_ENDPOINT={endpoint}"), lab("machines.sh"));
        let argv: Vec<&str> =
            ["env", &endpoint, &program].into_iter().chain(arguments.iter().map(String::as_str)).collect();
        let machines = start("machines.sh", LIMIT, &argv).wait().exits(0).stdout;
        self.put("/etc/nodeinit/config.yaml", &std::fs::read_to_string(lab("cluster.yaml")).unwrap());
        self.put("/etc/nodeinit/conf.d/10-machines.yaml", &machines);
        self.copy(&binary("NODEINIT_LAB"), "/usr/local/bin/nodeinit");
    }

    /// Boots one with images and runs `nodeinit up` on it.
    #[must_use]
    pub fn with_cluster() -> Self {
        let host = Self::with_images();
        host.up();
        host
    }

    #[track_caller]
    fn verb(&self, verb: &str, arguments: &[&str]) -> Output {
        self::verb(&[&[verb, self.name.as_str()], arguments].concat())
    }

    /// Its name, which is the node's too.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Starts a script in it and returns at once.
    #[must_use]
    pub fn start(&self, script: &str) -> Running {
        start(script, LIMIT, &[&lab("host.sh"), "ssh", &self.name, script])
    }

    /// Runs a script in it.
    pub fn run(&self, script: &str) -> Output {
        self.start(script).wait()
    }

    /// Runs a script in it that must succeed, and returns what it wrote to standard output.
    #[track_caller]
    pub fn must(&self, script: &str) -> String {
        self.run(script).exits(0).stdout
    }

    /// Runs nodeinit in it.
    pub fn nodeinit(&self, arguments: &str) -> Output {
        self.run(&format!("nodeinit {arguments}"))
    }

    /// Runs `nodeinit up`, which must succeed.
    #[track_caller]
    pub fn up(&self) -> Output {
        let output = self.nodeinit("up").exits(0);
        eprintln!("up took {:.1} s", output.seconds);
        output
    }

    /// Runs `kubectl` in it, which must succeed.
    #[track_caller]
    pub fn kubectl(&self, arguments: &str) -> String {
        self.must(&format!("kubectl --kubeconfig /etc/kubernetes/admin.conf {arguments}"))
    }

    /// Brings images that only some tests need into its containerd, by the names of the folders in `lab/addons`. Builds them first, which takes minutes.
    pub fn import_addons(&self, names: &[&str]) {
        let program = lab("addons.sh");
        start("addons.sh", 1800, &[&[program.as_str()], names].concat()).wait().exits(0);
        for name in names {
            self.must(&format!("ctr -n k8s.io images import /opt/lab/images/addons/{name}.tar"));
        }
    }

    /// Puts a layer over its configuration, in the place of the former one.
    pub fn configure(&self, yaml: &str) {
        self.put("/etc/nodeinit/conf.d/50-test.yaml", yaml);
    }

    /// Writes a file in it.
    pub fn put(&self, path: &str, content: &str) {
        self.must(&format!("install -D /dev/stdin {path} <<'END-OF-FILE'\n{content}\nEND-OF-FILE"));
    }

    /// Copies a file of this machine into it.
    pub fn copy(&self, from: &str, to: &str) {
        self.verb("copy", &[from, to]).exits(0);
    }

    /// Copies the nodeinit that tests can kill into it, as `nodeinit-failpoints`.
    pub fn add_failpoints(&self) {
        self.copy(&binary("NODEINIT_LAB_FAILPOINTS"), "/usr/local/bin/nodeinit-failpoints");
    }

    /// Runs a script in it until it succeeds, and returns the seconds that it took.
    ///
    /// # Panics
    /// Where it does not within `limit` seconds.
    #[track_caller]
    pub fn until(&self, what: &str, limit: f64, script: &str) -> f64 {
        let begun = Instant::now();
        loop {
            let last = self.run(script);
            let seconds = begun.elapsed().as_secs_f64();
            if last.code == 0 {
                return seconds;
            }
            assert!(seconds < limit, "{what} did not come within {limit} s; last seen: {}", last.text());
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// The digest of the cluster's CA, or nothing where there is none.
    #[must_use]
    pub fn ca(&self) -> String {
        self.must("[ ! -e /etc/kubernetes/pki/ca.crt ] || sha256sum </etc/kubernetes/pki/ca.crt")
    }

    /// Cuts its power.
    pub fn cut_power(&self) {
        self.verb("kill", &[]).exits(0);
    }

    /// Boots it after a power cut.
    pub fn boot(&self) {
        self.verb("up", &[]).exits(0);
    }

    /// Lays a disk of a size such as `8k` over a path, enlarges it, or takes it `off`.
    pub fn disk(&self, path: &str, size: &str) {
        self.verb("disk", &[path, size]).exits(0);
    }

    /// Plugs its cable in, or pulls it.
    pub fn network(&self, on: bool) {
        self.verb("network", &[if on { "on" } else { "off" }]).exits(0);
    }

    /// Begins or ends heavy writes on the disk that it is on.
    pub fn writes(&self, on: bool) {
        self.verb("writes", &[if on { "on" } else { "off" }]).exits(0);
    }

    /// Proves its pod network: pods reach each other by address, service and name.
    pub fn check_pods(&self) {
        start("check-pods.sh", LIMIT, &[&lab("check-pods.sh"), &self.name]).wait().exits(0);
    }

    /// Each restart of a container of the control plane, by its logs: its name, and the seconds from its end to its start.
    #[must_use]
    pub fn restarts(&self) -> Vec<(String, f64)> {
        let script = r#"cd /var/log/pods && for new in kube-system_*/*/*.log; do
            n=$(basename "$new" .log) folder=$(dirname "$new")
            old=$folder/$((n - 1)).log
            [ "$n" -gt 0 ] && [ -s "$old" ] && [ -s "$new" ] || continue
            end=$(tail -n 1 "$old" | cut -d' ' -f1) start=$(head -n 1 "$new" | cut -d' ' -f1)
            echo "$(basename "$folder") $(date -d "$end" +%s.%N) $(date -d "$start" +%s.%N)"
        done"#;
        let restart = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let second = |at: usize| words[at].parse::<f64>().unwrap();
            (words[0].to_owned(), second(2) - second(1))
        };
        self.must(script).lines().map(restart).collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if thread::panicking() {
            let look =
                "journalctl -u kubelet -n 15 --no-pager; ctr -n k8s.io tasks ls; tail -n 5 /var/log/pods/*/*/*.log";
            eprintln!("what the host says:\n{}", self.run(look).text());
        }
        // The next host begins with removing what is left of this one.
        let _ = self.verb("down", &[]);
    }
}

/// A load balancer of the machine before the API servers of some masters. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Balancer {
    port: String,
}

impl Balancer {
    /// Stands before these masters.
    pub(crate) fn of(masters: &[Host]) -> Self {
        // The first master's address is no other test's.
        let port = format!("16{:0>3}", masters[0].address.rsplit('.').next().unwrap());
        let _ = verb(&["unserve", &port]);
        let names = masters.iter().map(|master| master.name.as_str());
        verb(&["balance", &port].into_iter().chain(names).collect::<Vec<_>>()).exits(0);
        Self { port }
    }

    /// Where it is, as hosts see it.
    pub(crate) fn endpoint(&self) -> String {
        format!("{MACHINE}:{}", self.port)
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = verb(&["unserve", &self.port]);
    }
}

/// A file server of the machine, which hosts use as a mirror. Ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    port: String,
}

impl Server {
    /// Serves a directory; with `cut`, each answer ends after so many bytes.
    #[must_use]
    pub fn of(directory: &str, port: u16, cut: Option<u64>) -> Self {
        let port = port.to_string();
        let cut = cut.map(|bytes| bytes.to_string());
        let mut arguments = vec!["serve", &port, directory];
        arguments.extend(cut.as_deref());
        verb(&arguments).exits(0);
        Self { port }
    }

    /// Its URL, as hosts see it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{MACHINE}:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = verb(&["unserve", &self.port]);
    }
}
