//! Full disks.

use nodeinit_tests::Host;

#[test]
fn a_disk_that_is_full_while_keys_are_made() {
    let host = Host::with_images();
    host.disk("/etc/kubernetes/pki", "16k");
    let full = host.nodeinit("up").exits(75);
    full.says(&[
        "cannot write /etc/kubernetes/pki/",
        "No space left on device",
        "df -h /etc/kubernetes/pki",
        "nodeinit up",
    ]);
    assert_eq!(host.must("find /etc/kubernetes -name '*.nodeinit-new'"), "", "half-written files are left");
    let ca = host.ca();
    host.disk("/etc/kubernetes/pki", "4m");
    host.up();
    assert!(ca.is_empty() || ca == host.ca(), "the CA was made anew");
}

#[test]
fn a_disk_that_is_full_while_images_are_imported() {
    let host = Host::fresh();
    host.disk("/var/lib/containerd", "130m");
    let full = host.nodeinit("up").exits(75);
    full.says(&["/opt/lab/images/", "no space left on device", "df -h /var/lib/containerd", "nodeinit up"]);
    let ca = host.ca();
    assert!(!ca.is_empty(), "keys are made beside the images");
    host.disk("/var/lib/containerd", "off");
    host.up();
    assert_eq!(ca, host.ca(), "the CA was made anew");
}
