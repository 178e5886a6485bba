//! Programs that observe a cluster from one of its hosts while it changes.

use nodeinit_tests::Host;
use serde_json::Value;
use std::time::Instant;

/// A Python program that runs on a host until its first argument, a file, exists. Then it prints a JSON object.
pub(crate) struct Observer<'a> {
    host: &'a Host,
    name: &'static str,
    started: Instant,
}

impl<'a> Observer<'a> {
    /// Starts a program with these further arguments.
    pub(crate) fn start(host: &'a Host, name: &'static str, program: &str, arguments: &str) -> Self {
        host.put(&format!("/root/{name}.py"), program);
        host.must(&format!(
            "rm -f /run/{name}-stop
            setsid python3 /root/{name}.py /run/{name}-stop {arguments} </dev/null >/root/{name}.json 2>/root/{name}.log &"
        ));
        Self { host, name, started: Instant::now() }
    }

    /// Ends the program; returns what it printed, and for how many seconds it ran.
    #[track_caller]
    pub(crate) fn end(self) -> (Value, f64) {
        let (host, name, seconds) = (self.host, self.name, self.started.elapsed().as_secs_f64());
        let printed =
            format!("touch /run/{name}-stop; [ -s /root/{name}.json ] || {{ tail /root/{name}.log; exit 1; }}");
        host.until(&format!("the end of {name}.py"), 60.0, &printed);
        let printed = host.must(&format!("cat /root/{name}.json"));
        eprintln!("{name}.py in {seconds:.0} s: {printed}{}", host.must(&format!("cat /root/{name}.log")));
        (serde_json::from_str(&printed).unwrap(), seconds)
    }
}
