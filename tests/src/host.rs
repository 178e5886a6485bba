//! A host of the lab, for one test.

use crate::output::{Output, Running, start};
use std::{
    fs::File,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// The machine's address, as hosts see it.
const MACHINE: &str = "10.77.0.1";

/// A command may take this many seconds.
const LIMIT: u32 = 400;

/// Begins the logs of a host after a failed test.
pub(crate) const LOGS: &str = "what the host says:";

/// A freshly booted host with nodeinit and a configuration for it as the only master. Removed when it is dropped.
#[derive(Debug)]
pub struct Host {
    name: String,
    address: String,
    _named: File,
}

/// A host's name and address, and what keeps them from another run of tests on this machine: a lock on a file.
fn name() -> (String, String, File) {
    for number in 1..=20 {
        let name = format!("n{number}");
        let file = File::create(lock_directory().join(format!("tests-{name}"))).unwrap();
        if file.try_lock().is_ok() {
            return (name, format!("10.77.0.{}", 70 + number), file);
        }
    }
    panic!("twenty hosts of tests are at work on this machine");
}

/// Where the lab keeps what it makes.
#[must_use]
pub(crate) fn lab_directory() -> PathBuf {
    let from = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    let cache = || from("XDG_CACHE_HOME").unwrap_or_else(|| from("HOME").unwrap_or_default().join(".cache"));
    from("LAB_DIR").unwrap_or_else(|| cache().join("nodeinit-lab"))
}

/// The version of Kubernetes that its hosts get: `LAB_VERSION`, or the one that `tests/lab` pins.
#[must_use]
pub fn version() -> String {
    let pinned = || include_str!("../lab/lib.sh").lines().find_map(|line| line.strip_prefix("pinned_version="));
    std::env::var("LAB_VERSION").unwrap_or_else(|_| pinned().unwrap().to_owned())
}

/// Where the programs and images of that version are, and the configuration of a cluster.
#[must_use]
pub fn release_directory() -> PathBuf {
    let ask = format!(". {} && release_dir", lab("lib.sh"));
    PathBuf::from(start("release_dir", LIMIT, &["bash", "-c", &ask]).wait().exits(0).stdout.trim())
}

/// Where its locks are.
pub(crate) fn lock_directory() -> PathBuf {
    let locks = lab_directory().join("lock");
    std::fs::create_dir_all(&locks).unwrap();
    locks
}

/// The path of a program of the lab.
pub(crate) fn lab(program: &str) -> String {
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

/// What a new host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// containerd, and an empty disk.
    Plain,
    /// The same with all images in containerd.
    WithImages,
    /// No containerd.
    Bare,
}

/// Boots hosts, all at once.
pub(crate) fn booted(count: usize, how: Made) -> Vec<Host> {
    if how == Made::Bare {
        start("containerd.sh", 1800, &[&lab("containerd.sh")]).wait().exits(0);
    }
    let hosts: Vec<Host> = (0..count)
        .map(|_| {
            let (name, address, named) = name();
            Host { name, address, _named: named }
        })
        .collect();
    let booting: Vec<Running> = hosts.iter().map(|host| host.boot_empty(how)).collect();
    booting.into_iter().for_each(|host| drop(host.wait().exits(0)));
    hosts
}

impl Host {
    /// Boots one.
    #[must_use]
    pub fn fresh() -> Self {
        Self::made(Made::Plain)
    }

    /// Boots one that has all images in containerd already, for what does not depend on their import.
    #[must_use]
    pub fn with_images() -> Self {
        Self::made(Made::WithImages)
    }

    /// Boots one without containerd. Containers' own programs, which it can get, are in `/opt/lab/bin/runtime`.
    #[must_use]
    pub fn bare() -> Self {
        Self::made(Made::Bare)
    }

    fn made(how: Made) -> Self {
        let host = booted(1, how).remove(0);
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
        self.put(
            "/etc/nodeinit/config.yaml",
            &std::fs::read_to_string(release_directory().join("cluster.yaml")).unwrap(),
        );
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

    /// The last part of its address, which no other test has.
    fn number(&self) -> u32 {
        self.address.rsplit('.').next().unwrap().parse().unwrap()
    }

    /// An address that belongs to no host and to no other test, for the hosts of this test.
    #[must_use]
    pub fn spare_address(&self) -> String {
        format!("10.77.0.{}", self.number() + 130)
    }

    /// A port of the machine that no other test has, for a [`Server`].
    #[must_use]
    pub fn spare_port(&self) -> u16 {
        17_000 + u16::try_from(self.number()).unwrap()
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
        build_addons(names);
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
            assert!(seconds < limit, "timed out after {limit} s waiting for {what}; last seen: {}", last.text());
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// The digest of the cluster's CA, or nothing where there is none.
    #[must_use]
    pub fn ca(&self) -> String {
        self.must("[ ! -e /etc/kubernetes/pki/ca.crt ] || sha256sum </etc/kubernetes/pki/ca.crt")
    }

    /// The path on this machine of a file that it has written to its disk, whether it is up or not.
    #[must_use]
    pub fn on_disk(&self, path: &str) -> PathBuf {
        lab_directory().join("hosts").join(&self.name).join("upper").join(path)
    }

    /// Cuts its power.
    pub fn cut_power(&self) {
        self.verb("kill", &[]).exits(0);
    }

    /// Boots it after a power cut.
    pub fn boot(&self) {
        self.verb("up", &[]).exits(0);
    }

    /// Gives it a new, empty disk at the same address, as a machine that is built again; its images are in containerd.
    pub fn rebuild(&self) {
        self.boot_empty(Made::WithImages).wait().exits(0);
    }

    /// Begins to boot it with an empty disk.
    fn boot_empty(&self, how: Made) -> Running {
        let how = match how {
            Made::Plain => "LAB_IMPORTED=",
            Made::WithImages => "LAB_IMPORTED=1",
            Made::Bare => "LAB_BARE=1",
        };
        let script = format!("{0} down $1 && {0} up $1 $2", lab("host.sh"));
        start("host.sh up", LIMIT, &["env", how, "bash", "-c", &script, "up", &self.name, &self.address])
    }

    /// Stops all of its processes where they are, or lets them continue.
    pub fn freeze(&self, on: bool) {
        self.verb("freeze", &[if on { "on" } else { "off" }]).exits(0);
    }

    /// Lays a disk of a size such as `8k` over a path, enlarges it, or takes it `off`.
    pub fn disk(&self, path: &str, size: &str) {
        self.verb("disk", &[path, size]).exits(0);
    }

    /// Plugs its cable in, or pulls it.
    pub fn network(&self, on: bool) {
        self.verb("network", &[if on { "on" } else { "off" }]).exits(0);
    }

    /// Lets all that it sends arrive `milliseconds` later, until it is stopped.
    pub fn delay(&self, milliseconds: u32) {
        self.verb("delay", &[&milliseconds.to_string()]).exits(0);
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
            eprintln!("{LOGS} {}\n{}", self.name, self.run(look).text());
        }
        // The next host begins with removing what is left of this one.
        let _ = self.verb("down", &[]);
    }
}

/// Builds images that only some tests need, by the names of the folders in `lab/addons`; hosts see them as archives.
pub fn build_addons(names: &[&str]) {
    let program = lab("addons.sh");
    start("addons.sh", 1800, &[&[program.as_str()], names].concat()).wait().exits(0);
}

/// A load balancer of the machine before the API servers of some masters. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Balancer {
    port: String,
}

impl Balancer {
    /// Stands before these masters.
    pub(crate) fn of(masters: &[Host]) -> Self {
        let port = (16_000 + masters[0].number()).to_string();
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

/// Stand-ins for upstream's servers, with TLS by the lab's own CA. Ends when it is dropped.
#[derive(Debug)]
pub struct Upstream {
    port: u16,
}

impl Upstream {
    /// Serves the files and images of the release to a host; `access` is what the registry demands: `none`, `basic` or `token`.
    #[must_use]
    pub fn of(host: &Host, access: &str) -> Self {
        let upstream = Self { port: 18_000 + 4 * u16::try_from(host.number()).unwrap() };
        upstream.end();
        verb(&["upstream", &upstream.port.to_string(), access]).exits(0);
        upstream
    }

    /// The file server's URL, as hosts see it.
    #[must_use]
    pub fn files(&self) -> String {
        format!("https://{MACHINE}:{}", self.port)
    }

    /// The registry's URL, as hosts see it.
    #[must_use]
    pub fn registry(&self) -> String {
        format!("https://{MACHINE}:{}", self.port + 1)
    }

    /// What the lab keeps of it: `ca.pem`, and `password` with `USER:PASSWORD`.
    #[must_use]
    pub fn kept(name: &str) -> PathBuf {
        lab_directory().join("upstream").join(name)
    }

    fn end(&self) {
        for port in self.port..self.port + 3 {
            let _ = verb(&["unserve", &port.to_string()]);
        }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.end();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = verb(&["unserve", &self.port]);
    }
}
