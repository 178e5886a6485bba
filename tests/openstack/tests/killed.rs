//! The provisioner is killed after the answer to a writing request, again and again, and goes on.

use nodeinit_tests::Cloud;

/// How a process ends that called abort.
const DIED: i32 = 128 + 6;

/// Lets a command be killed after each first step that it does, until there is none left; returns how often it was.
#[track_caller]
fn killed_all_the_way(cloud: &Cloud, command: &str) -> usize {
    // With the lock asked for, and with the lock taken and nothing done.
    let mut killed = 0;
    for writes in [1, 2] {
        let ended = cloud.killed_after(writes, command);
        assert_eq!(ended.code, DIED, "{}", ended.text());
        killed += 1;
    }
    // The first two requests take the lock over from the one before.
    loop {
        let ended = cloud.killed_after(3, command);
        if ended.code != DIED {
            ended.exits(0);
            eprintln!("{command} was killed {killed} times");
            return killed;
        }
        killed += 1;
        assert!(killed < 80, "{command} comes to no end:\n{}", ended.text());
    }
}

#[test]
fn killed_after_each_writing_request() {
    let cloud = Cloud::empty();
    // With something of every kind.
    let all = "floatingIPs: none, bastion: {}, network: {create: {publicCIDR: 10.78.0.0/24}}";
    // One request at a time, so that it dies after each of them.
    cloud.configure(&format!("openstack: {{parallel: 1, {all}}}"));
    let killed = killed_all_the_way(&cloud, "apply --yes --resources-only");
    assert!(killed > 18, "apply was killed {killed} times only");
    cloud.configure(&format!("openstack: {{{all}}}"));
    cloud.apply();
    cloud.all_is_well();

    // And with several requests under way.
    let killed = killed_all_the_way(&cloud, "destroy --yes");
    assert!(killed > 3, "destroy was killed {killed} times only");
    cloud.run("destroy --yes").exits(0).says(&["nothing of this cluster is left"]);
    assert_eq!(cloud.objects(), [""; 0]);
}
