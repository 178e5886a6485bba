//! nodeinit on hosts of the lab (systemd-nspawn containers), with real Kubernetes: `make test` runs it, with root and the lab.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_macros,
    reason = "a test ends where something is not as it expects, and prints"
)]

mod addons;
mod artifacts;
mod at_once;
mod bastion;
mod bootstrap;
mod cluster;
mod configuration;
mod containerd;
mod disk;
mod etcd;
mod fanout;
mod images;
mod kill;
mod kills;
mod lead;
mod load;
mod metadata;
mod observer;
mod os;
mod power;
mod quorum;
mod rebuilt;
mod releases;
mod reset;
mod rolling;
mod secrets;
mod security;
mod slow;
mod tokens;
mod unfit;
mod upgrade;
mod virtual_address;
mod worker;

use nodeinit_tests::{Test, test};
use std::process::ExitCode;

/// Every test, with its budget in seconds; one that takes longer fails.
const TESTS: &[Test] = &[
    test!(addons::addons_are_applied_and_removed, 240).long(),
    test!(artifacts::a_broken_image_archive, 60),
    test!(artifacts::a_digest_that_is_not_the_pinned_one, 60),
    test!(artifacts::a_mirror_that_cuts_every_answer_and_stops, 90),
    test!(artifacts::only_the_first_master_needs_the_artifacts, 150),
    test!(artifacts::a_cluster_from_fetched_artifacts, 180),
    test!(artifacts::programs_from_the_machine_image_and_images_from_a_registry, 90).long(),
    test!(artifacts::five_bare_machines_from_one_bundle, 240).long(),
    test!(artifacts::the_tutorial_makes_three_masters_of_official_artifacts, 240).long(),
    test!(at_once::a_second_run_names_the_lock_holder_and_ctrl_c_stops_a_run, 60),
    test!(bastion::a_private_network_reaches_the_outside_only_through_its_bastion, 420).long(),
    test!(bootstrap::a_first_master_from_nothing, 180),
    test!(cluster::three_masters_and_two_workers, 360),
    test!(configuration::settings_change_in_place_or_are_refused, 90),
    test!(containerd::containerd_is_installed_if_it_is_missing, 180).long(),
    test!(containerd::an_installed_containerd_is_reconfigured_and_restored, 120).long(),
    test!(disk::a_disk_that_fills_up_while_keys_are_generated, 120),
    test!(disk::a_disk_that_fills_up_while_images_are_imported, 60),
    test!(etcd::three_masters_from_nothing, 260),
    test!(etcd::a_master_that_is_killed_at_every_point_joins, 240).long(),
    test!(etcd::obstacles_to_etcd_membership_are_reported_or_repaired, 300).long(),
    test!(etcd::a_master_is_removed_and_replaced, 240).long(),
    test!(etcd::lost_quorum_a_full_database_and_a_second_bootstrap, 600).long(),
    test!(etcd::a_voter_that_lost_its_disk_does_not_vote_again, 480).long(),
    test!(fanout::a_master_that_never_answers_is_named_and_added_later, 150).long(),
    test!(fanout::host_keys_are_enforced_and_jump_hosts_used, 90),
    test!(fanout::the_fan_out_resumes_after_a_kill_at_every_boundary, 300),
    test!(fanout::the_fan_out_resumes_after_a_kill_of_all_machines_at_every_step, 240).long(),
    test!(fanout::a_network_loss_at_any_stage_is_survived, 360).long(),
    test!(images::a_baked_machine_joins_on_its_own_with_every_other_network_cut, 180).long(),
    test!(kill::a_run_resumes_after_a_kill_at_every_point, 420),
    test!(kills::ten_kills_spread_over_a_bootstrap, 480),
    test!(kills::many_kills_spread_over_a_bootstrap, 4 * 60 * 60).alone().long(),
    test!(lead::any_master_leads_and_configurations_are_never_merged, 300).long(),
    test!(lead::one_master_leads_at_a_time, 180).long(),
    test!(lead::a_replacement_survives_power_cuts, 500).long(),
    test!(lead::every_machine_is_replaced, 300).long(),
    test!(lead::a_machine_is_replaced_at_another_address, 400).long(),
    test!(lead::the_first_master_is_removed, 300).long(),
    test!(lead::a_replacement_resumes_after_a_kill_at_every_point, 1200).long(),
    test!(os::the_operating_system_is_set_up_changed_and_restored, 480).alone().long(),
    test!(os::each_machine_has_the_values_of_its_role_and_host, 300).long(),
    test!(os::what_lets_users_log_in_stays, 200).long(),
    test!(os::a_mirror_that_does_not_answer_is_named_and_dpkg_repaired, 240).long(),
    test!(os::the_disk_of_etcd_is_emptied_by_a_reset_and_used_again, 240).alone().long(),
    test!(os::the_setup_resumes_after_a_kill_at_every_step, 1200).alone().long(),
    test!(power::the_cluster_recovers_from_a_power_cut_on_its_own, 90).long(),
    test!(power::up_resumes_after_a_power_cut_during_a_run, 60),
    test!(power::all_hosts_lose_their_power_and_the_last_master_boots_first, 240).long(),
    test!(power::all_hosts_lose_their_power_and_boot_in_every_order, 900).long(),
    test!(releases::three_masters_and_two_workers_that_kubeadm_accepts, 300).long(),
    test!(reset::reset_leaves_the_host_as_it_was_and_up_works_again, 180),
    test!(rolling::a_changed_flag_restarts_one_api_server_after_the_other, 240).long(),
    test!(rolling::machines_that_ask_for_a_reboot_get_one_in_turn, 400).long(),
    test!(rolling::changes_roll_out_under_load, 600).alone().long(),
    test!(rolling::a_rollout_stops_resumes_and_does_not_begin_at_boot, 400).long(),
    test!(rebuilt::a_rebuilt_first_master_never_replaces_the_cluster, 360),
    test!(rebuilt::after_a_power_cut_a_rebuilt_first_master_joins_in_every_order, 900).long(),
    test!(rebuilt::masters_of_a_new_cluster_come_up_in_any_order, 140),
    test!(secrets::a_cluster_from_a_secrets_bundle, 90),
    test!(security::the_agent_is_enabled_and_disabled_in_a_running_cluster, 240).long(),
    test!(security::what_an_attacker_with_one_worker_can_and_cannot_do, 300),
    test!(slow::a_bootstrap_with_heavy_disk_writes, 90).alone(),
    test!(slow::a_lost_race_against_etcd_is_repaired, 90).alone(),
    test!(tokens::a_bootstrap_token_becomes_valid_once, 260).long(),
    test!(unfit::a_machine_that_fails_preflight, 120),
    test!(unfit::network_obstacles_are_named_before_anything_changes, 40),
    test!(upgrade::three_masters_and_two_workers_under_load, 900).alone().long(),
    test!(upgrade::every_minor_version_in_one_command_under_load, 1800).alone().long(),
    test!(upgrade::a_component_that_does_not_start_is_replaced_by_the_former_one, 900).long(),
    test!(upgrade::an_unfinished_upgrade_is_rolled_back_under_load, 900).alone().long(),
    test!(upgrade::a_cluster_that_kubeadm_upgraded_is_taken_over, 400).long(),
    test!(upgrade::a_system_extension_is_refreshed_in_place, 400).long(),
    test!(upgrade::an_upgrade_resumes_after_a_kill_at_every_point, 1500).long(),
    test!(upgrade::an_upgrade_survives_ctrl_c_power_cuts_and_a_broken_image, 600).long(),
    test!(upgrade::the_last_etcd_of_an_upgrade_keeps_its_version, 600).long(),
    test!(virtual_address::the_api_answers_at_the_virtual_address, 90),
    test!(virtual_address::the_address_moves_before_its_holder_restarts, 400).alone().long(),
    test!(virtual_address::the_address_moves_when_its_holder_is_gone, 200).long(),
    test!(worker::a_worker_joins_in_three_requests_and_removes_its_token, 90),
    test!(worker::obstacles_to_a_join_are_named_and_retried, 150),
    test!(worker::a_used_name_and_an_unsigned_request, 90),
    test!(worker::a_pin_is_enough, 90),
    test!(worker::a_worker_that_is_killed_at_every_point_joins, 150),
];

fn main() -> ExitCode {
    nodeinit_tests::main(TESTS, concat!(env!("CARGO_TARGET_TMPDIR"), "/hosts"))
}
