//! What is checked before the weights are loaded, and platforms that count differently.

use bystander_model::memory::{CauseClass, Direction, State};

use crate::told::{class, same, server, share, text};

fn check(free: &str, total: &str, share: &str, gib: &str) -> String {
    format!(
        "(EngineCore_DP0 pid=9) ERROR 11-29 13:24:54 [core.py:1] ValueError: Free memory on device cuda:0 ({free}/{total} GiB) on startup is less than desired GPU memory utilization ({share}, {gib} GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
    )
}

#[test]
fn a_share_that_is_not_free_names_the_highest_that_passes_and_no_other() {
    // 17.66 of 23.58 GiB: other processes hold a quarter of the card.
    let found = server(&check("17.66", "23.58", "0.9", "21.22"));
    assert_eq!((class(&found), found.state), (CauseClass::OtherProcessHoldsMemory, State::Failed));
    let advice = share(&found, Direction::None);
    same(advice.break_even.expect("the highest share").value, 0.749, 3);
    assert_eq!(advice.recommended, None);
    assert!(advice.text.contains("0.7489"), "{}", advice.text);
}

#[test]
fn what_is_missing_is_computed_from_the_exact_share() {
    let found = server(&check("19.77", "22.05", "0.9", "19.84"));
    assert!(text(&found).contains("short by 77 MiB"), "{}", text(&found));
    same(share(&found, Direction::None).break_even.expect("the highest share").value, 0.8966, 4);
}

#[test]
fn contexts_and_a_display_are_no_other_process() {
    let found = server(&check("22.75", "24.0", "0.972", "23.33"));
    assert_eq!(class(&found), CauseClass::ContextBaseline);
    let advice = share(&found, Direction::Down);
    assert_eq!(advice.recommended, Some(0.94));
}

#[test]
fn one_memory_for_host_and_card_has_a_floor_of_its_own() {
    for (free, highest, recommended) in [("102.2", 0.8398, 0.83), ("101.3", 0.8324, 0.82)] {
        let found = server(&check(free, "121.69", "0.87", "105.87"));
        assert_eq!(class(&found), CauseClass::PlatformMisreports);
        let advice = share(&found, Direction::Down);
        same(advice.break_even.expect("the highest share").value, highest, 4);
        assert_eq!(advice.recommended, Some(recommended));
        assert_eq!(found.advice[0].knob, "gpu_memory_utilization");
        assert!(text(&found).contains(if free == "102.2" { "19.49 GiB" } else { "20.39 GiB" }), "{}", text(&found));
    }
}

#[test]
fn page_cache_is_told_by_what_the_host_calls_available() {
    let found = server(&format!("MemAvailable:   121475891 kB\n{}", check("41.52", "121.69", "0.9", "109.52")));
    assert_eq!(class(&found), CauseClass::PlatformMisreports);
    assert_eq!((found.advice[0].knob.as_str(), found.advice[0].direction), ("", Direction::None));
    assert!(found.advice[0].text.contains("74.33 GiB above"), "{}", found.advice[0].text);
}

#[test]
fn placeholders_in_a_pasted_line_give_no_number() {
    let found = server(
        "ValueError: Free memory on device cuda:0 (<free>/121.69 GiB) on startup is less than desired GPU memory utilization (<F>, <G> GiB).\n",
    );
    assert!(matches!(class(&found), CauseClass::PlatformMisreports | CauseClass::OtherProcessHoldsMemory));
    assert!(found.advice.iter().all(|advice| advice.break_even.is_none() && advice.recommended.is_none()));
}

#[test]
fn memory_that_others_release_is_named_with_its_amount() {
    let found = server(
        "(EngineCore pid=3) ERROR 11-29 13:24:54 [core.py:1] AssertionError: Error in memory profiling. Initial free memory 82.94 GiB, current free memory 90.17 GiB. This happens when other processes sharing the same container release GPU memory while vLLM is profiling during initialization.\n",
    );
    assert_eq!(class(&found), CauseClass::OtherProcessHoldsMemory);
    assert!(text(&found).starts_with("7.23 GiB became free"), "{}", text(&found));
    assert_eq!(found.advice[0].direction, Direction::None);
}

#[test]
fn the_driver_without_memory_of_the_host_is_the_platform() {
    let found = server(
        "(EngineCore pid=3) INFO 11-29 13:24:54 [base_loader.py:1] Loading weights took 549.60 seconds\n(EngineCore pid=3) INFO 11-29 13:24:55 [m.py:1] Model loading took 80.1 GiB memory and 552.1 seconds\n[ 1234.5] NVRM: NV_ERR_NO_MEMORY returned\n",
    );
    assert_eq!(class(&found), CauseClass::PlatformMisreports);
    share(&found, Direction::Down);
}

#[test]
fn weights_of_nothing_were_measured_on_another_card() {
    let found = server(
        "INFO 02-14 08:23:15 model_runner.py:1115] Loading model weights took 0.0000 GB\nINFO 02-14 08:23:20 worker.py:266] the current vLLM instance can use total_gpu_memory (79.32GiB) x gpu_memory_utilization (0.80) = 63.46GiB\nINFO 02-14 08:23:20 worker.py:266] model weights take 0.00GiB; non_torch_memory takes 15.62GiB; PyTorch activation peak memory takes 1.20GiB; the rest of the memory reserved for KV Cache is 46.64GiB.\n",
    );
    assert_eq!(class(&found), CauseClass::WrongDevice);
    assert_eq!(found.advice[0].knob, "CUDA_VISIBLE_DEVICES");
    let mended = server(
        "INFO 02-14 08:23:15 model_runner.py:1115] Loading model weights took 15.5300 GB\nINFO 02-14 08:23:20 worker.py:266] the current vLLM instance can use total_gpu_memory (79.32GiB) x gpu_memory_utilization (0.80) = 63.46GiB\nINFO 02-14 08:23:20 worker.py:266] model weights take 15.53GiB; non_torch_memory takes 0.09GiB; PyTorch activation peak memory takes 1.73GiB; the rest of the memory reserved for KV Cache is 46.11GiB.\n",
    );
    let formula = mended.formula.expect("a formula");
    same(formula.rest_gib.value, 46.11, 2);
    assert_eq!(formula.text, "KV = 0.8 \u{d7} 79.32 \u{2212} 15.53 \u{2212} 0.09 \u{2212} 1.73 = 46.11 GiB");
    assert!(mended.ranks[0].unexplained_gib.is_some_and(|rest| rest.value.abs() < 0.02));
}
