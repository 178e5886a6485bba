//! `reset` leaves the host as it was before `up`.

use nodeinit_tests::{Host, difference};

/// A pod that keeps writing to volumes of the host: a local one, a part of it, and one on a loop device.
const WRITER: &str = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: NAME}\n\
    spec:\n  capacity: {storage: 1Mi}\n  accessModes: [ReadWriteOnce]\n  storageClassName: by-hand\n  local: {path: /srv/NAME}\n  \
    nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: Exists}]}]}}\n---\n\
    apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: NAME}\n\
    spec: {accessModes: [ReadWriteOnce], storageClassName: by-hand, volumeName: NAME, resources: {requests: {storage: 1Mi}}}\n---\n";
const WRITING_POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: writer}\nspec:\n  terminationGracePeriodSeconds: 0\n  \
    tolerations: [{operator: Exists}]\n  containers:\n  - name: writer\n    image: localhost/tools:lab\n    \
    command: [sh, -c, 'for place in local part loop; do echo $place >/$place/written; done; while sleep 1; do :; done']\n    \
    readinessProbe: {periodSeconds: 1, exec: {command: [sh, -c, '[ -e /loop/written ]']}}\n    \
    volumeMounts: [{name: local, mountPath: /local}, {name: local, mountPath: /part, subPath: part}, {name: loop, mountPath: /loop}]\n  \
    volumes: [{name: local, persistentVolumeClaim: {claimName: local}}, {name: loop, persistentVolumeClaim: {claimName: loop}}]\n";

/// Lists the files on the volumes.
const WRITTEN: &str = "cat /srv/local/written /srv/local/part/written /srv/loop/written";

/// Creates volumes on the host: one on its disk, and one with a file system in a file. Does not test NFS: the lab's kernel has none.
fn has_volumes(host: &Host) {
    host.must(
        "mkdir -p /srv/local/part /srv/loop && mknod /dev/loop-control c 10 237 && for n in $(seq 0 31); do mknod /dev/loop$n b 7 $n; done
        truncate -s 8M /var/tmp/disk /var/tmp/other && mkfs.ext4 -q /var/tmp/disk && mkfs.ext4 -q /var/tmp/other && mount -o loop /var/tmp/disk /srv/loop
        ctr -n k8s.io images import /opt/lab/images/tools.tar",
    );
}

fn a_pod_writes_to_them(host: &Host) {
    let volumes = ["local", "loop"].map(|name| WRITER.replace("NAME", name)).concat();
    host.put("/root/writer.yaml", &(volumes + WRITING_POD));
    host.kubectl("apply -f /root/writer.yaml");
    host.kubectl("wait --for=condition=Ready pod/writer --timeout=120s");
    host.must("rm -r /root/writer.yaml /root/.kube");
    let mounted = host.must("grep -E 'local-volume|volume-subpaths' /proc/self/mountinfo");
    assert_eq!(mounted.lines().count(), 3, "{mounted}");
}

pub(crate) fn reset_leaves_the_host_as_it_was_and_up_works_again() {
    let host = Host::fresh();
    let network = "sysctl net.ipv4.ip_forward net.bridge.bridge-nf-call-iptables; ls /sys/class/net
        iptables-save | grep -E '^(-A|:KUBE|:CNI|:FLANNEL)' || true; mount | grep -E '/var/lib/kubelet/|/run/netns' || true
        nft list tables | grep nodeinit || true; ctr -n k8s.io tasks ls -q; ctr -n k8s.io images ls -q; systemctl is-active kubelet nodeinit-agent || true";
    // A directory of the cluster that is a symbolic link, a disk of others, and a rule of others.
    host.must("mkdir -p /srv/cni /srv/theirs && echo kept >/srv/theirs/file && ln -s /srv/cni /var/lib/cni");
    host.must("iptables -A INPUT -s 192.0.2.1 -m comment --comment 'not for KUBE-SERVICES or CNI-x' -j ACCEPT");
    has_volumes(&host);
    host.configure("network: {podsMayReadMetadata: false}\n");
    let before = (host.listing(), host.must(network));
    host.up();
    let first = host.ca();
    host.must("nft list table inet nodeinit_metadata");
    // Volumes as the kubelet mounts them: a local one of the same device, and one of another device.
    host.must("mkdir /srv/cni/local /srv/cni/remote && mount --bind /srv/theirs /srv/cni/local && mount -t tmpfs x /srv/cni/remote");
    host.must("mkdir /srv/cni/loop && mount -o loop /var/tmp/other /srv/cni/loop && echo other >/srv/cni/loop/written");
    a_pod_writes_to_them(&host);
    host.nodeinit("reset").exits(64).says(&["--yes"]);
    let reset = host.nodeinit("reset --yes").exits(0);
    eprintln!("reset took {:.1} s", reset.seconds);
    assert_eq!(host.must(WRITTEN), "local\npart\nloop\n");
    host.must("mount -o loop /var/tmp/other /mnt && grep -qx other /mnt/written && umount /mnt");
    host.must("rm /srv/local/written /srv/local/part/written /srv/loop/written");
    let changes = difference(&before.0, &host.listing());
    assert!(changes.is_empty(), "reset left {changes:#?}");
    assert_eq!(before.1, host.must(network));
    host.nodeinit("reset --yes").exits(0);

    host.up();
    assert_ne!(first, host.ca(), "another cluster has another CA");
    host.nodeinit("plan").exits(0).says(&["nothing to do"]);
}
