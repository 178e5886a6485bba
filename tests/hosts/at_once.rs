//! Two runs at the same time, and a run that is stopped.

use nodeinit_tests::Host;

pub(crate) fn a_second_run_names_the_lock_holder_and_ctrl_c_stops_a_run() {
    let host = Host::fresh();
    let first = host.start("nodeinit up");
    host.until("the kubelet's start", 120.0, "systemctl is-active kubelet");
    let pid = host.must("pgrep -x nodeinit").trim().to_owned();
    for command in ["up", "reset --yes"] {
        let second = host.nodeinit(command).exits(75);
        second.says(&[&format!("another nodeinit (process {pid})"), "wait until it ends"]);
    }

    let ca = host.ca();
    host.must(&format!("kill -INT {pid}"));
    let stopped = first.wait().exits(75);
    stopped.says(&["stopped by Ctrl-C", "run the same command again, which resumes"]);
    assert_eq!(host.must("find / /var/lib/kubelet -xdev -name '*.nodeinit-new'"), "", "half-written files are left");

    host.up();
    assert_eq!(ca, host.ca(), "the CA was generated again");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
}
