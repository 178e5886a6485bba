//! A counter in a cluster, to detect lost data.

use crate::{
    Cluster,
    host::{lab_directory, release_directory},
    output::{Output, start},
};
use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How many seconds a number takes at most, on average from the start in a running cluster to the end: an undisturbed API takes less
/// than one second for it, and may be silent for a part of a test.
const SLOWEST: u64 = 10;

/// Increments a number in a ConfigMap from this machine, through the load balancer of the cluster. It starts when the API
/// answers and continues whatever happens to the hosts.
#[derive(Debug)]
pub struct Counter {
    kubectl: Kubectl,
    /// When it had its first number, and that number, if the cluster was running.
    began: Option<(Instant, u64)>,
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    counting: Option<JoinHandle<Result<(), String>>>,
}

/// Runs `kubectl` on this machine, with a copy of the first master's kubeconfig: a test may replace that machine.
#[derive(Clone, Debug)]
struct Kubectl {
    program: String,
    original: PathBuf,
    kubeconfig: PathBuf,
}

impl Counter {
    /// Starts counting in a running cluster, and waits for the first number. From then on, the number must grow.
    ///
    /// # Panics
    /// If there is no number after a minute.
    #[must_use]
    #[track_caller]
    pub fn of_running(cluster: &Cluster) -> Self {
        let (mut counter, started) = (Self::of(cluster), Instant::now());
        while counter.acknowledged() == 0 {
            assert!(started.elapsed().as_secs() < 60, "the counter does not start");
            thread::sleep(Duration::from_millis(100));
        }
        counter.began = Some((Instant::now(), counter.acknowledged()));
        counter
    }

    /// Starts counting in a cluster that is starting.
    #[must_use]
    pub fn of(cluster: &Cluster) -> Self {
        let copies = lab_directory().join("counter");
        fs::create_dir_all(&copies).unwrap();
        let first = cluster.first();
        let kubectl = Kubectl {
            program: release_directory().join("bin/kubectl").display().to_string(),
            original: first.on_disk("etc/kubernetes/admin.conf"),
            kubeconfig: copies.join(first.name()),
        };
        // A killed test leaves its copy.
        let _ = fs::remove_file(&kubectl.kubeconfig);
        let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let counting = thread::spawn({
            let (kubectl, stop, acknowledged) = (kubectl.clone(), Arc::clone(&stop), Arc::clone(&acknowledged));
            move || {
                while !stop.load(Ordering::Relaxed) {
                    kubectl.count(&acknowledged)?;
                    thread::sleep(Duration::from_millis(200));
                }
                Ok(())
            }
        });
        Self { kubectl, began: None, stop, acknowledged, counting: Some(counting) }
    }

    /// Returns the highest number that the API has acknowledged so far, or 0 if it has not answered yet.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Stops and returns the last number. Fails the test if the cluster ever returned less than an acknowledged number, if the
    /// number hardly grew in a running cluster, or if the cluster does not accept the next number.
    #[track_caller]
    pub fn end(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.counting.take().unwrap().join().unwrap().unwrap();
        let (before, started) = (self.acknowledged(), Instant::now());
        if let Some((began, first)) = self.began {
            let (grown, seconds) = (before - first, began.elapsed().as_secs());
            assert!(grown > seconds / SLOWEST, "the counter grew by only {grown} in {seconds} s");
        }
        while self.acknowledged() == before {
            assert!(started.elapsed().as_secs() < 60, "the counter stays at {before}");
            self.kubectl.count(&self.acknowledged).unwrap();
        }
        self.acknowledged()
    }
}

impl Drop for Counter {
    /// Stops. Fails the test if the cluster has lost data, even if `end` was not called.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let counted = self.counting.take().map(JoinHandle::join);
        let _ = fs::remove_file(&self.kubectl.kubeconfig);
        if !thread::panicking()
            && let Some(counted) = counted
        {
            counted.unwrap().unwrap();
        }
    }
}

impl Kubectl {
    /// Reads the number and writes the next one. A lower number is an error. It is none if the API does not answer, or if there is no
    /// kubeconfig yet.
    fn count(&self, acknowledged: &AtomicU64) -> Result<(), String> {
        if !self.kubeconfig.exists() && fs::copy(&self.original, &self.kubeconfig).is_err() {
            return Ok(());
        }
        let read = self.run("get configmap counter --ignore-not-found -o jsonpath={.data.number}");
        if read.code != 0 {
            return Ok(());
        }
        let (number, least) = (read.stdout.trim().parse().unwrap_or(0), acknowledged.load(Ordering::Relaxed));
        if number < least {
            return Err(format!("the cluster has lost data: the counter is {number} and was {least}"));
        }
        let next = number + 1;
        let written = match number {
            0 => self.run("create configmap counter --from-literal=number=1"),
            _ => self.run(&format!("patch configmap counter --patch {{\"data\":{{\"number\":\"{next}\"}}}}")),
        };
        if written.code == 0 {
            acknowledged.store(next, Ordering::Relaxed);
        }
        Ok(())
    }

    fn run(&self, arguments: &str) -> Output {
        let kubeconfig = self.kubeconfig.display().to_string();
        let argv = [self.program.as_str(), "--kubeconfig", &kubeconfig, "--request-timeout", "3s"];
        let argv: Vec<&str> = argv.into_iter().chain(arguments.split(' ')).collect();
        start("kubectl", 10, &argv).wait()
    }
}
