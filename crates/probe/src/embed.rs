//! The Python files that this crate carries, and how they are handed to an interpreter.

/// The door of the overlay.
pub(crate) const SITECUSTOMIZE: &str = include_str!("../python/sitecustomize.py");

/// The first code of a check.
pub(crate) const BOOT: &str = include_str!("../python/bystander_check/boot.py");

macro_rules! modules {
    ($package:literal: $($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../python/", $package, "/", $name, ".py")))),+]
    };
}

/// The modules of the package `bystander_overlay`, by their names in it.
pub(crate) const OVERLAY: &[(&str, &str)] = modules!("bystander_overlay":
    "__init__", "capture", "captured", "compiled", "doors", "encode", "ends", "gate", "hook", "inject", "late", "native", "pattern", "place", "program", "pytest_cache", "reading",
    "rewrite", "ring", "scope", "script", "secret", "staging", "statement", "tails", "tree", "trouble", "words");

/// The modules of the package `bystander_check`, by their names in it.
pub(crate) const CHECK: &[(&str, &str)] =
    modules!("bystander_check": "answer", "inserted", "installed", "listing", "locate", "names", "text");

#[cfg(test)]
mod tests {
    use super::{CHECK, OVERLAY};

    #[test]
    fn every_python_file_is_carried() {
        for (package, modules, apart) in [("bystander_overlay", OVERLAY, ""), ("bystander_check", CHECK, "boot")] {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("python").join(package);
            let files = std::fs::read_dir(&folder).expect("lists the package").map(|entry| entry.expect("reads").path());
            for file in files.filter(|file| file.extension().is_some_and(|end| end == "py")) {
                let name = file.file_stem().and_then(|stem| stem.to_str()).expect("has a name");
                assert!(name == apart || modules.iter().any(|(known, _)| *known == name), "{} is not carried", file.display());
            }
        }
    }
}
