//! A user at a terminal.

use nodeinit_tests::Cloud;

#[test]
fn what_is_under_way_stands_at_the_foot() {
    let cloud = Cloud::empty();
    let apply = cloud.on_a_terminal("apply --resources-only").exits(0);
    apply.says(&["s  … server/t1: creating", "created  server/t1", "\x1b[1A\x1b[J", "all is as it should be"]);
    let destroy = cloud.on_a_terminal("destroy --yes").exits(0);
    destroy.says(&["s  … server/t1: deleting", "deleted  server/t1", "nothing of this cluster is left"]);
    assert_eq!(cloud.objects(), [""; 0]);
}
