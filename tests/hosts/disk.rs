//! Full disks.

use nodeinit_tests::{Host, difference};

pub(crate) fn a_disk_that_fills_up_while_keys_are_generated() {
    let host = Host::with_images();
    the_journals_disk_is_full_for_a_while(&host);
    host.disk("/etc/kubernetes/pki", "16k");
    let full = host.nodeinit("up").exits(75);
    full.says(&[
        "cannot write /etc/kubernetes/pki/",
        "No space left on device",
        "df -h /etc/kubernetes/pki",
        "run the same command again",
    ]);
    assert_eq!(host.must("find /etc/kubernetes -name '*.nodeinit-new'"), "", "half-written files are left");
    let ca = host.ca();
    host.disk("/etc/kubernetes/pki", "4m");
    host.up();
    assert!(ca.is_empty() || ca == host.ca(), "the CA was generated again");
}

/// Afterwards, `reset` still knows everything that was created.
fn the_journals_disk_is_full_for_a_while(host: &Host) {
    let before = host.listing();
    host.disk("/var/lib/nodeinit", "8k");
    let full = host.nodeinit("up").exits(75);
    full.says(&["cannot write /var/lib/nodeinit/", "No space left on device", "df -h /var/lib/nodeinit"]);
    host.disk("/var/lib/nodeinit", "4m");
    host.up();
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
    host.must(
        "cp -a /var/lib/nodeinit /root/journal && umount /var/lib/nodeinit
        cp -a /root/journal/. /var/lib/nodeinit && rm -r /root/journal",
    );
    host.nodeinit("reset --yes").exits(0);
    let changes = difference(&before, &host.listing());
    assert!(changes.is_empty(), "reset left {changes:#?}");
}

pub(crate) fn a_disk_that_fills_up_while_images_are_imported() {
    let host = Host::fresh();
    host.disk("/var/lib/containerd", "130m");
    let full = host.nodeinit("up").exits(75);
    full.says(&[
        "/opt/lab/images/",
        "no space left on device",
        "df -h /var/lib/containerd",
        "run the same command again",
    ]);
    let ca = host.ca();
    assert!(!ca.is_empty(), "keys are made beside the images");
    host.disk("/var/lib/containerd", "off");
    host.up();
    assert_eq!(ca, host.ca(), "the CA was generated again");
}
