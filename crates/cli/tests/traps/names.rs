//! One test a trap, and one that none is left out.

use crate::{folder, spring};

macro_rules! traps {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            spring($name);
        })*

        #[test]
        fn every_trap_is_sprung() {
            let here = [$($name),*];
            let folders = std::fs::read_dir(folder()).expect("the traps").filter_map(Result::ok).filter(|entry| entry.path().is_dir());
            let mut there: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            there.sort();
            let mut named = here.map(str::to_owned).to_vec();
            named.sort();
            assert_eq!(there, named);
        }
    };
}

traps! {
    a_server_of_somebody_else_answers: "stale-server",
    a_server_is_ready_and_then_dies: "ready-then-dies",
    a_server_dies_at_its_ready_line: "dies-at-its-ready-line",
    a_grandchild_keeps_the_port: "setsid-grandchild",
    a_slow_start_is_taken_for_a_failure: "slow-start",
    a_warm_up_is_taken_for_an_effect: "warm-up",
    a_drift_is_taken_for_an_effect: "drift",
    an_exit_of_0_hides_a_crash: "exit-0-after-a-crash",
    a_warning_is_taken_for_the_cause: "warning-before-the-cause",
    a_healthy_log_is_full_of_errors: "healthy-log-with-errors",
    an_echo_is_taken_for_the_cause: "echo-of-another-rank",
    a_baseline_is_flaky: "flaky-baseline",
    a_start_is_cold: "cold-start",
    a_metric_matches_twice: "metric-that-matches-twice",
    a_print_uses_an_unbound_name: "print-with-an-unbound-name",
    a_print_is_blamed_for_a_broken_program: "print-blamed-for-a-broken-program",
    a_pipe_swallows_an_exit_code: "pipeline-exit-code",
    bytecode_of_the_same_size_and_second_is_stale: "stale-bytecode",
    a_line_is_lost_in_a_buffer: "unread-output",
    an_exact_number_differs_by_one: "deterministic-and-different",
    a_neighbour_takes_the_port: "foreign-listener",
    a_print_hides_a_race: "print-hides-a-race",
    the_kernel_ends_it_at_a_memory_limit: "memory-limit",
    a_server_ignores_the_wish_that_it_should_end: "ignores-the-end",
    every_answer_is_empty: "answers-without-tokens",
    a_cache_is_carried_over: "cache-carried-over",
    a_loader_waits_for_itself: "deadlock",
    health_is_green_before_the_warm_up: "health-before-warm-up",
    health_is_fine_and_nothing_is_generated: "health-without-generation",
    an_old_log_serves_as_the_baseline: "old-log-as-baseline",
    a_probe_is_never_reached: "probe-that-is-never-reached",
    a_server_refuses_and_looks_fast: "refuses-and-looks-fast",
    survivors_look_fast: "survivors-look-fast",
    a_treatment_is_not_applied: "treatment-not-applied",
    voids_fall_on_one_arm: "voids-in-one-arm",
    the_wrong_model_is_served: "wrong-model",
    a_server_dies_under_load: "dies-under-load",
    a_breakpoint_is_in_a_child: "breakpoint-in-a-child",
    line_ends_and_tabs_are_another_editors: "line-ends-and-tabs",
    a_text_has_blanks_for_tabs: "spaces-for-tabs",
    a_print_stays_in_what_was_built_with_it: "leftover-in-a-build",
    a_debugger_was_left_in_a_library: "leftover-debugger",
    a_print_is_on_the_stream_of_a_protocol: "print-on-a-protocol",
    a_patch_has_drifted: "patch-that-drifted",
    an_update_takes_the_edit_out: "upgrade-under-the-edit",
    a_print_breaks_the_compiler: "print-breaks-the-compiler",
    a_print_breaks_a_thread_of_a_program_that_completes: "print-breaks-a-thread",
    a_print_is_in_a_capture: "print-in-a-capture",
    a_compile_cache_is_stale: "stale-compile-cache",
    the_wrong_copy_is_edited: "wrong-copy-edited",
    a_part_dies_under_load: "part-dies-under-load",
    a_wrapper_says_the_same_of_two_crashes: "wrapper-over-two-crashes",
    a_launcher_says_the_same_of_two_failures: "launcher-over-two-failures",
    an_error_was_handled_before_ready: "handled-before-ready",
    two_failures_differ_by_a_number: "status-that-differs",
    health_is_red_under_load: "red-health-under-load",
    an_engine_is_dead_behind_its_health: "dead-engine-behind-health",
    a_launcher_waits_too_short: "launcher-waits-too-short",
    the_baseline_is_of_another_device: "baseline-of-another-device",
    a_default_is_not_what_is_written: "default-that-is-not",
    a_switch_turns_other_settings: "one-engine-is-held-back",
    a_flag_never_arrives: "flag-that-never-arrives",
    an_engine_says_in_two_lines_that_a_flag_did_not_arrive: "flag-that-is-overridden",
    a_stranger_answers_the_traffic: "stranger-answers-the-traffic",
    a_derived_port_is_a_neighbours: "derived-port-is-taken",
    a_prefix_cache_is_warm: "warm-prefix-cache",
    a_failure_is_not_noticed: "failure-that-stays",
    the_work_begins_with_a_silence: "leading-silence",
    a_neighbour_is_noisy: "noisy-neighbour",
    a_killed_server_leaves_its_state: "state-of-a-killed-server",
    an_orphan_answers_health: "orphan-answers-health",
    an_orphan_keeps_the_port: "orphan-keeps-the-port",
    a_colleague_has_a_server_of_that_name: "server-of-that-name",
    a_shell_gives_it_no_more_memory: "address-space-limit",
    the_kernel_ends_it_at_a_processor_limit: "processor-limit",
}
