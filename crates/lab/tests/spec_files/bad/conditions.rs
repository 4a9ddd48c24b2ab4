//! What is said about `[conditions]`.

use std::path::Path;
use std::time::Duration;

use bystander_lab::plan::Conditions;
use bystander_lab::spec;
use insta::assert_snapshot;

use crate::shown::{FILE, shown};

fn file(conditions: &str) -> String {
    format!("[program]\ncommand = ['true']\n[plan]\ndescribe = true\n[conditions]\n{conditions}\n")
}

fn conditions(text: &str) -> String {
    shown(&file(text))
}

fn read(text: &str) -> Conditions {
    spec::parse(&file(text), Path::new(FILE)).expect("is valid").plan.conditions
}

#[test]
fn what_is_left_out_is_as_by_default() {
    assert_eq!(read(""), Conditions::default());
    let all = read("gpus = [0, 'GPU-1b2c']\ngpu_memory = '512MiB'\nfree_memory = '4GiB'\nload = 4\ntitles = ['my::*']\nsettle = '0s'");
    assert_eq!(all.gpus, Some(vec!["0".to_owned(), "GPU-1b2c".to_owned()]));
    assert_eq!((all.gpu_memory_bytes, all.free_memory_bytes, all.load), (512 << 20, Some(4 << 30), Some(4.0)));
    assert_eq!((all.titles, all.settle), (vec!["my::*".to_owned()], Duration::ZERO));
    assert_eq!(read("gpus = []\ntitles = []"), Conditions { gpus: Some(Vec::new()), titles: Vec::new(), ..Conditions::default() });
}

#[test]
fn keys_and_types_are_checked() {
    assert_snapshot!(conditions("gpu = [0]\nsetle = '1s'"), @r#"
    error spec.unknown_key 6:1 "gpu"
      unknown key `gpu` in `[conditions]`
      ^ not a key of this table
      help: did you mean `gpus`?
    error spec.unknown_key 7:1 "setle"
      unknown key `setle` in `[conditions]`
      ^ not a key of this table
      help: did you mean `settle`?
    "#);
    assert_snapshot!(conditions("settle = 60\nload = 'high'"), @r#"
    error spec.wrong_type 6:10 "60"
      `conditions.settle` must be a span of time, a string such as "15m", found a whole number
      ^ a whole number
      help: say the unit: "60s"
    error spec.wrong_type 7:8 "'high'"
      `conditions.load` must be a number, found a string
      ^ a string
    "#);
}

#[test]
fn gpus_are_indices_and_uuids_each_once() {
    assert_snapshot!(conditions("gpus = 0"), @r#"
    error spec.wrong_type 6:8 "0"
      `conditions.gpus` must be a list of GPUs, by index or by UUID, such as [0, 1], found a whole number
      ^ a whole number
    "#);
    assert_snapshot!(conditions("gpus = [0, '1', 'H100', 0, -1, 1.5]"), @r#"
    error spec.invalid_value 6:12 "'1'"
      `conditions.gpus[1]` is no UUID of a GPU
      help: write the index without quotes: 1
    error spec.invalid_value 6:17 "'H100'"
      `conditions.gpus[2]` is no UUID of a GPU
      help: `nvidia-smi -L` lists the GPUs with their UUIDs, which begin with `GPU-`
    error spec.invalid_value 6:25 "0"
      `conditions.gpus[3]` names GPU 0 a second time
    error spec.invalid_value 6:28 "-1"
      `conditions.gpus[4]` must be from 0 to 1023
    error spec.wrong_type 6:32 "1.5"
      `conditions.gpus[5]` must be the index of a GPU, or its UUID, found a number with a fraction
      ^ a number with a fraction
    "#);
}

#[test]
fn sizes_name_their_unit() {
    assert_snapshot!(conditions("gpu_memory = 1\nfree_memory = '4 gb'"), @r#"
    error spec.wrong_type 6:14 "1"
      `conditions.gpu_memory` must be a size of memory, a string such as "1GiB", found a whole number
      ^ a whole number
      help: say the unit: "1GiB"
    error spec.invalid_value 7:15 "'4 gb'"
      `conditions.free_memory` is no size of memory
      ^ failed to know the unit `gb`
      help: did you mean `GB`?
    "#);
    assert_snapshot!(conditions("gpu_memory = '1024'\nfree_memory = '4G'"), @r#"
    error spec.invalid_value 6:14 "'1024'"
      `conditions.gpu_memory` is no size of memory
      ^ failed to find a unit after `1024`
      help: say the unit: "1024GiB"
    error spec.invalid_value 7:15 "'4G'"
      `conditions.free_memory` is no size of memory
      ^ failed to know the unit `G`
      help: did you mean `GiB`?
    "#);
    assert_snapshot!(conditions("gpu_memory = 'much'"), @r#"
    error spec.invalid_value 6:14 "'much'"
      `conditions.gpu_memory` is no size of memory
      ^ failed to find a number at `much`
      help: write it like "1GiB", "512MiB" or "1.5GB"
    "#);
}

#[test]
fn loads_and_titles_that_mean_nothing_are_refused() {
    assert_snapshot!(conditions("load = -1\ntitles = ['*', ' ', 'ok*']"), @r#"
    error spec.invalid_value 6:8 "-1"
      `conditions.load` must be a load of 0 or more, such as 4.0: the greatest average of the last minute
    error spec.invalid_value 7:11 "'*'"
      `conditions.titles[0]` would match the title of every process
      help: name what only your engine's processes are called, such as "myengine::*"
    error spec.invalid_value 7:16 "' '"
      `conditions.titles[1]` is empty
    "#);
    assert_snapshot!(conditions("load = nan"), @r#"
    error spec.invalid_value 6:8 "nan"
      `conditions.load` must be a load of 0 or more, such as 4.0: the greatest average of the last minute
    "#);
}
