//! Power cuts of the whole host.

use nodeinit_tests::Host;

#[test]
fn after_a_power_cut_the_cluster_comes_back_by_itself() {
    let host = Host::with_cluster();
    let ca = host.ca();
    host.kubectl("create configmap kept");
    host.cut_power();
    host.boot();
    let ready = "kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw /readyz";
    let seconds = host.until("the API server after a power cut", 120.0, ready);
    eprintln!("the API server was ready {seconds:.1} s after the boot");
    host.kubectl("get configmap kept");
    host.until("the addons after a power cut", 120.0, "nodeinit plan");
    host.check_pods();
    assert_eq!(ca, host.ca());
}

#[test]
fn after_a_power_cut_in_the_middle_up_goes_on() {
    let host = Host::fresh();
    let up = host.start("nodeinit up");
    host.until("the kubelet's start", 120.0, "systemctl is-active kubelet");
    let ca = host.ca();
    host.cut_power();
    let _ = up.wait();
    host.boot();
    host.up();
    assert_eq!(ca, host.ca(), "the CA was made anew");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
}
