//! Two runs on one cluster.

use nodeinit_tests::Cloud;

#[test]
fn two_applies_at_once() {
    let cloud = Cloud::empty();
    let (one, other) = (cloud.start("apply --resources-only"), cloud.start("apply --resources-only"));
    let ended = [one.wait(), other.wait()];
    let mut codes = [ended[0].code, ended[1].code];
    codes.sort_unstable();
    assert_eq!(codes, [0, 75], "{}\n{}", ended[0].text(), ended[1].text());
    let refused = ended.iter().find(|output| output.code == 75).unwrap();
    refused.says(&["another run is at work on this cluster: ", "--break-lock"]);
    cloud.all_is_well();

    let (one, other) = (cloud.start("destroy --yes"), cloud.start("destroy --yes"));
    let ended = [one.wait(), other.wait()];
    assert!(ended.iter().any(|output| output.code == 0), "{}\n{}", ended[0].text(), ended[1].text());
    assert!(ended.iter().all(|output| [0, 75].contains(&output.code)), "{}\n{}", ended[0].text(), ended[1].text());
    assert_eq!(cloud.objects(), [""; 0]);
}
