//! A user at a terminal.

use nodeinit_tests::Cloud;

#[test]
fn what_is_under_way_stands_at_the_foot() {
    let cloud = Cloud::empty();
    let apply = cloud.on_a_terminal("apply --yes --resources-only").exits(0);
    apply.says(&[
        "s  … server/t1: creating",
        "created  server/t1",
        "\x1b[1A\x1b[J",
        "everything matches the configuration; nothing to do",
    ]);
    let destroy = cloud.on_a_terminal("destroy --yes").exits(0);
    destroy.says(&["s  … server/t1: deleting", "deleted  server/t1", "no resources of this cluster are left"]);
    assert_eq!(cloud.objects(), [""; 0]);
}

#[test]
fn apply_shows_the_plan_and_asks() {
    let cloud = Cloud::empty();
    let mark = cloud.mark();
    cloud.run("apply --resources-only").exits(64).says(&["standard input is not a terminal; add --yes to confirm"]);
    let refused = cloud.answering("n", "apply --resources-only").exits(1);
    refused.says(&["create   server/t1", "apply these changes? [y/N]", "nothing was changed"]);
    assert_eq!(cloud.writes(&mark), [""; 0], "something was written");
    cloud.answering("y", "apply --resources-only").exits(0).says(&["created  server/t1"]);
    // Nothing is to be done, and nothing is asked.
    cloud
        .on_a_terminal("apply --resources-only")
        .exits(0)
        .says(&["everything matches the configuration; nothing to do"]);
    let drawn = cloud.run("timeline").exits(0);
    drawn.says(&["provisioner apply on ", ", cluster trial, ", "\ncloud\n", "server/t1"]);
    cloud.run("timeline -o svg").exits(0).says(&["<svg ", "cloud resources"]);
}
