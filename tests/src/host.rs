//! A lab host for one test.

use crate::output::{Output, Running, start};
use std::{
    fs::File,
    io::{self, Write as _},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// The address of this machine in the network of the hosts.
const MACHINE: &str = "10.77.0.1";

/// The limit for a command, in seconds.
const LIMIT: u32 = 400;

/// The text before the logs of a host after a failed test.
pub(crate) const LOGS: &str = "what the host says:";

/// A freshly booted host with nodeinit and a configuration in which it is the only master. Dropping it removes the host.
#[derive(Debug)]
pub struct Host {
    name: String,
    address: String,
    _named: File,
}

/// Returns an unused name and address, and the locked file that reserves them on this machine.
fn name() -> (String, String, File) {
    for number in 1..=20 {
        let name = format!("n{number}");
        let file = File::create(lock_directory().join(format!("tests-{name}"))).unwrap();
        if file.try_lock().is_ok() {
            return (name, format!("10.77.0.{}", 70 + number), file);
        }
    }
    panic!("all twenty names of test hosts are in use on this machine");
}

/// Returns the directory of the lab's data.
#[must_use]
pub(crate) fn lab_directory() -> PathBuf {
    let from = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    let cache = || from("XDG_CACHE_HOME").unwrap_or_else(|| from("HOME").unwrap_or_default().join(".cache"));
    from("LAB_DIR").unwrap_or_else(|| cache().join("nodeinit-lab"))
}

/// Returns the Kubernetes version of the hosts: `LAB_VERSION`, or the version that `tests/lab` pins.
#[must_use]
pub fn version() -> String {
    std::env::var("LAB_VERSION").unwrap_or_else(|_| newest_version())
}

/// Returns the version that `tests/lab` pins.
#[must_use]
pub fn newest_version() -> String {
    let pinned = include_str!("../lab/lib.sh").lines().find_map(|line| line.strip_prefix("pinned_version="));
    pinned.unwrap().to_owned()
}

/// Returns the version of each release that nodeinit supports, oldest first.
#[must_use]
pub fn supported_versions() -> Vec<String> {
    let releases = concat!(env!("CARGO_MANIFEST_DIR"), "/../nodeinit/config/releases");
    let mut files: Vec<PathBuf> = std::fs::read_dir(releases).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let version = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().find_map(|line| line.strip_prefix("version: ")).unwrap().to_owned()
    };
    files.iter().map(version).collect()
}

/// Returns the directory with the programs, the images and the cluster configuration of that version.
#[must_use]
pub fn release_directory() -> PathBuf {
    let ask = format!(". {} && release_dir", lab("lib.sh"));
    PathBuf::from(start("release_dir", LIMIT, &["bash", "-c", &ask]).wait().exits(0).stdout.trim())
}

/// Returns the same directory of another version.
#[must_use]
pub fn release_directory_of(version: &str) -> PathBuf {
    lab_directory().join("release").join(version)
}

/// Returns the directory of the lab's locks.
pub(crate) fn lock_directory() -> PathBuf {
    let locks = lab_directory().join("lock");
    std::fs::create_dir_all(&locks).unwrap();
    locks
}

/// Returns the path of a program of the lab.
pub(crate) fn lab(program: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("lab").join(program).display().to_string()
}

/// Returns the path of a binary from an environment variable, which `make test` sets.
pub(crate) fn binary(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} is not set to the path of a binary: run `make test`"))
}

#[track_caller]
fn verb(arguments: &[&str]) -> Output {
    let program = lab("host.sh");
    start(&format!("host.sh {}", arguments.join(" ")), LIMIT, &[&[program.as_str()], arguments].concat()).wait()
}

/// The initial content of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// containerd without images.
    Plain,
    /// containerd with all images.
    WithImages,
    /// No containerd.
    Bare,
}

/// Boots hosts in parallel.
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
    /// Reserves the name and the address of a host that [`Self::boot_image`] boots.
    #[must_use]
    pub fn reserved() -> Self {
        let (name, address, named) = name();
        Self { name, address, _named: named }
    }

    /// Boots the host from a baked image (`packaging/image`), with this user-data and these further files on its disk. It sees nothing of
    /// the lab's programs and images.
    pub fn boot_image(&self, user_data: &str, files: &[(&str, &str)]) {
        let image = start("baked.sh", LIMIT, &[&lab("baked.sh"), &binary("NODEINIT_LAB")]).wait().exits(0).stdout;
        let work = lab_directory().join("image-tests").join(&self.name);
        let _ = std::fs::remove_dir_all(&work);
        let write = |path: PathBuf, content: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        write(work.join("seed/user-data"), user_data);
        write(work.join("seed/meta-data"), &format!("instance-id: {0}\nlocal-hostname: {0}\n", self.name));
        files.iter().for_each(|(path, content)| write(work.join("files").join(path.trim_start_matches('/')), content));
        let (root, files) =
            (format!("LAB_ROOT={}", image.trim()), format!("LAB_BAKED={}", work.join("files").display()));
        let script = format!("{0} down $1 && {0} up $1 $2 $3", lab("host.sh"));
        let seed = work.join("seed").display().to_string();
        let argv = ["env", &root, &files, "bash", "-c", &script, "up", &self.name, &self.address, &seed];
        start("host.sh up", LIMIT, &argv).wait().exits(0);
    }

    /// Boots a host.
    #[must_use]
    pub fn fresh() -> Self {
        Self::made(Made::Plain)
    }

    /// Boots a host with all images in containerd, for tests that do not depend on their import.
    #[must_use]
    pub fn with_images() -> Self {
        Self::made(Made::WithImages)
    }

    /// Boots a host without containerd, whose programs are in `/opt/lab/bin/runtime`.
    #[must_use]
    pub fn bare() -> Self {
        Self::made(Made::Bare)
    }

    fn made(how: Made) -> Self {
        let host = booted(1, how).remove(0);
        host.equip(&[&host], &[], "");
        host
    }

    /// Copies nodeinit and the configuration of a cluster of these hosts to the host; an empty endpoint means none.
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

    /// Boots a host with images and runs `nodeinit up` on it.
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

    /// Returns the name of the host, which is also the name of its node.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the address of the host.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the last part of the address, which no other test uses.
    fn number(&self) -> u32 {
        self.address.rsplit('.').next().unwrap().parse().unwrap()
    }

    /// Returns an address for this test that no host and no other test uses.
    #[must_use]
    pub fn spare_address(&self) -> String {
        format!("10.77.0.{}", self.number() + 130)
    }

    /// Returns a port of this machine that no other test uses, for a [`Server`].
    #[must_use]
    pub fn spare_port(&self) -> u16 {
        17_000 + u16::try_from(self.number()).unwrap()
    }

    /// Starts a script on the host without waiting for it.
    #[must_use]
    pub fn start(&self, script: &str) -> Running {
        start(script, LIMIT, &[&lab("host.sh"), "ssh", &self.name, script])
    }

    /// Runs a script on the host.
    pub fn run(&self, script: &str) -> Output {
        self.run_within(LIMIT, script)
    }

    /// Runs a script on the host that may take up to this many seconds.
    pub fn run_within(&self, seconds: u32, script: &str) -> Output {
        start(script, seconds, &[&lab("host.sh"), "ssh", &self.name, script]).wait()
    }

    /// Runs a script on the host, which must succeed, and returns its standard output.
    #[track_caller]
    pub fn must(&self, script: &str) -> String {
        self.run(script).exits(0).stdout
    }

    /// Runs nodeinit on the host.
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

    /// Runs `kubectl` on the host, which must succeed, and returns its standard output.
    #[track_caller]
    pub fn kubectl(&self, arguments: &str) -> String {
        self.must(&format!("kubectl --kubeconfig /etc/kubernetes/admin.conf {arguments}"))
    }

    /// Imports images that only some tests need, named by their folders in `lab/addons`. Builds them first, which takes minutes.
    pub fn import_addons(&self, names: &[&str]) {
        build_addons(names);
        for name in names {
            self.must(&format!("ctr -n k8s.io images import /opt/lab/images/addons/{name}.tar"));
        }
    }

    /// Writes the last configuration file of the host, replacing the previous one.
    pub fn configure(&self, yaml: &str) {
        self.put("/etc/nodeinit/conf.d/50-test.yaml", yaml);
    }

    /// Writes a file on the host.
    pub fn put(&self, path: &str, content: &str) {
        self.must(&format!("install -D /dev/stdin {path} <<'END-OF-FILE'\n{content}\nEND-OF-FILE"));
    }

    /// Copies a file from this machine to the host.
    pub fn copy(&self, from: &str, to: &str) {
        self.verb("copy", &[from, to]).exits(0);
    }

    /// Copies the nodeinit build with failpoints to the host, as `nodeinit-failpoints`.
    pub fn add_failpoints(&self) {
        self.copy(&binary("NODEINIT_LAB_FAILPOINTS"), "/usr/local/bin/nodeinit-failpoints");
    }

    /// Repeats a script on the host until it succeeds, and returns the seconds that this took.
    ///
    /// # Panics
    /// If it does not within `limit` seconds.
    #[track_caller]
    pub fn until(&self, what: &str, limit: f64, script: &str) -> f64 {
        let started = Instant::now();
        loop {
            let last = self.run(script);
            let seconds = started.elapsed().as_secs_f64();
            if last.code == 0 {
                return seconds;
            }
            assert!(seconds < limit, "timed out after {limit} s waiting for {what}; last state: {}", last.text());
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Returns the digest of the cluster CA, or an empty string if it does not exist.
    #[must_use]
    pub fn ca(&self) -> String {
        self.must("[ ! -e /etc/kubernetes/pki/ca.crt ] || sha256sum </etc/kubernetes/pki/ca.crt")
    }

    /// Returns the path on this machine of a file on the host's disk, whether the host is up or not.
    #[must_use]
    pub fn on_disk(&self, path: &str) -> PathBuf {
        lab_directory().join("hosts").join(&self.name).join("upper").join(path)
    }

    /// Cuts the power of the host.
    pub fn cut_power(&self) {
        self.verb("kill", &[]).exits(0);
    }

    /// Boots the host after a power cut.
    pub fn boot(&self) {
        self.verb("up", &[]).exits(0);
    }

    /// Replaces the host by a new one with the same address, an empty disk and all images in containerd.
    pub fn rebuild(&self) {
        self.boot_empty(Made::WithImages).wait().exits(0);
    }

    /// Starts booting the host with an empty disk.
    fn boot_empty(&self, how: Made) -> Running {
        let how = match how {
            Made::Plain => "LAB_IMPORTED=",
            Made::WithImages => "LAB_IMPORTED=1",
            Made::Bare => "LAB_BARE=1",
        };
        let script = format!("{0} down $1 && {0} up $1 $2", lab("host.sh"));
        start("host.sh up", LIMIT, &["env", how, "bash", "-c", &script, "up", &self.name, &self.address])
    }

    /// Freezes all processes of the host, or lets them continue.
    pub fn freeze(&self, on: bool) {
        self.verb("freeze", &[if on { "on" } else { "off" }]).exits(0);
    }

    /// Mounts a disk of a size such as `8k` over a path, enlarges it, or removes it (`off`).
    pub fn disk(&self, path: &str, size: &str) {
        self.verb("disk", &[path, size]).exits(0);
    }

    /// Connects or disconnects the network of the host.
    pub fn network(&self, on: bool) {
        self.verb("network", &[if on { "on" } else { "off" }]).exits(0);
    }

    /// Delays all packets from the host by `milliseconds`, until it is stopped.
    pub fn delay(&self, milliseconds: u32) {
        self.verb("delay", &[&milliseconds.to_string()]).exits(0);
    }

    /// Starts or stops heavy writes on the disk under the host.
    pub fn writes(&self, on: bool) {
        self.verb("writes", &[if on { "on" } else { "off" }]).exits(0);
    }

    /// Checks the pod network: pods reach each other by address, service and name.
    pub fn check_pods(&self) {
        start("check-pods.sh", LIMIT, &[&lab("check-pods.sh"), &self.name]).wait().exits(0);
    }

    /// Returns each restart of a control plane container from its logs: its name, and the seconds between its end and its start.
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
        // A second panic, for example if no process can be started, would abort, and hide the first one.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            if thread::panicking() {
                let look = "journalctl -t nodeinit -n 15 --no-pager; journalctl -u kubelet -n 15 --no-pager; ctr -n k8s.io tasks ls; \
                            tail -n 5 /var/log/pods/*/*/*.log";
                let _ = writeln!(io::stderr(), "{LOGS} {}\n{}", self.name, self.run(look).text());
            }
            // The next host first removes the remains of this one.
            let _ = self.verb("down", &[]);
        }));
    }
}

/// Builds images that only some tests need, named by their folders in `lab/addons`; hosts see them as archives.
pub fn build_addons(names: &[&str]) {
    let program = lab("addons.sh");
    start("addons.sh", 1800, &[&[program.as_str()], names].concat()).wait().exits(0);
}

/// A load balancer on this machine in front of the API servers of some masters. Dropping it stops the load balancer.
#[derive(Debug)]
pub(crate) struct Balancer {
    port: String,
}

impl Balancer {
    /// Starts a load balancer for these masters.
    pub(crate) fn of(masters: &[Host]) -> Self {
        let port = (16_000 + masters[0].number()).to_string();
        let _ = verb(&["unserve", &port]);
        let names = masters.iter().map(|master| master.name.as_str());
        verb(&["balance", &port].into_iter().chain(names).collect::<Vec<_>>()).exits(0);
        Self { port }
    }

    /// Returns the address and port under which hosts reach the load balancer.
    pub(crate) fn endpoint(&self) -> String {
        format!("{MACHINE}:{}", self.port)
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = verb(&["unserve", &self.port]);
    }
}

/// A file server on this machine, which hosts use as a mirror. Dropping it stops the server.
#[derive(Debug)]
pub struct Server {
    port: String,
}

impl Server {
    /// Serves a directory; with `cut`, each answer ends after that many bytes.
    #[must_use]
    pub fn of(directory: &str, port: u16, cut: Option<u64>) -> Self {
        let port = port.to_string();
        let cut = cut.map(|bytes| bytes.to_string());
        let mut arguments = vec!["serve", &port, directory];
        arguments.extend(cut.as_deref());
        verb(&arguments).exits(0);
        Self { port }
    }

    /// Returns the URL under which hosts reach the server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{MACHINE}:{}", self.port)
    }
}

/// Replacements of the upstream servers, with certificates of the lab's CA. Dropping it stops them.
#[derive(Debug)]
pub struct Upstream {
    port: u16,
}

impl Upstream {
    /// Serves the files and images of the release to a host; `access` is the authentication of the registry: `none`, `basic` or `token`.
    #[must_use]
    pub fn of(host: &Host, access: &str) -> Self {
        let upstream = Self { port: 18_000 + 4 * u16::try_from(host.number()).unwrap() };
        upstream.end();
        verb(&["upstream", &upstream.port.to_string(), access]).exits(0);
        upstream
    }

    /// Returns the URL under which hosts reach the file server.
    #[must_use]
    pub fn files(&self) -> String {
        format!("https://{MACHINE}:{}", self.port)
    }

    /// Returns the URL under which hosts reach the registry.
    #[must_use]
    pub fn registry(&self) -> String {
        format!("https://{MACHINE}:{}", self.port + 1)
    }

    /// Returns the path of a file of these servers: `ca.pem`, or `password` with `USER:PASSWORD`.
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
