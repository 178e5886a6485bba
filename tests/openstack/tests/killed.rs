//! The provisioner is killed repeatedly, each time after the answer to a write request, and then continues.

use nodeinit_tests::Cloud;

/// The exit code of a process that called `abort`.
const DIED: i32 = 128 + 6;

/// Runs a command that is killed after its first write, until no write is left. Returns how often it was killed.
#[track_caller]
fn killed_all_the_way(cloud: &Cloud, command: &str) -> usize {
    // Killed after requesting the lock, and after taking it but before the first change.
    let mut killed = 0;
    for writes in [1, 2] {
        let ended = cloud.killed_after(writes, command);
        assert_eq!(ended.code, DIED, "{}", ended.text());
        killed += 1;
    }
    // The first two requests take over the lock of the previous run.
    loop {
        let ended = cloud.killed_after(3, command);
        if ended.code != DIED {
            ended.exits(0);
            eprintln!("{command} was killed {killed} times");
            return killed;
        }
        killed += 1;
        assert!(killed < 80, "{command} never finishes:\n{}", ended.text());
    }
}

#[test]
fn killed_after_each_writing_request() {
    let cloud = Cloud::empty();
    // With one resource of every kind.
    let all = "floatingIPs: none, bastion: {}, network: {create: {publicCIDR: 10.78.0.0/24}}";
    // One request at a time, so that the process is killed after each of them.
    cloud.configure(&format!("openstack: {{parallel: 1, {all}}}"));
    let killed = killed_all_the_way(&cloud, "apply --yes --resources-only");
    assert!(killed > 18, "apply was killed only {killed} times");
    cloud.configure(&format!("openstack: {{{all}}}"));
    cloud.apply();
    cloud.all_is_well();

    // With several requests at the same time.
    let killed = killed_all_the_way(&cloud, "destroy --yes");
    assert!(killed > 3, "destroy was killed only {killed} times");
    cloud.run("destroy --yes").exits(0).says(&["no resources of this cluster are left"]);
    assert_eq!(cloud.objects(), [""; 0]);
}
