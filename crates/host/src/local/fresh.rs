//! What a trial has for itself: an empty working directory and empty caches, where the plan asks for them. Paths are of the same length in every cell: the
//! names of cells are not in them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bystander_lab::plan::Plan;

/// Variables that name a cache of what was compiled or computed, with the folder that each gets.
const CACHES: [(&str, &str); 11] = [
    ("XDG_CACHE_HOME", "xdg"),
    ("CUDA_CACHE_PATH", "cuda"),
    ("TRITON_CACHE_DIR", "triton"),
    ("TORCHINDUCTOR_CACHE_DIR", "inductor"),
    ("TORCH_EXTENSIONS_DIR", "extensions"),
    ("VLLM_CACHE_ROOT", "vllm"),
    ("SGLANG_DG_CACHE_DIR", "deep_gemm"),
    ("FLASHINFER_WORKSPACE_BASE", "flashinfer"),
    ("TILELANG_CACHE_DIR", "tilelang"),
    ("NUMBA_CACHE_DIR", "numba"),
    ("JAX_COMPILATION_CACHE_DIR", "jax"),
];

/// Variables that name where models are kept, with the folder that each has by default in the user's cache: nobody wants to load them again.
const MODELS: [(&str, &str); 2] = [("HF_HOME", "huggingface"), ("TORCH_HOME", "torch")];

/// The directories of one trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Own {
    /// The working directory.
    pub(super) cwd: PathBuf,
    /// The directory of caches: the trial's own, or one for the whole run.
    pub(super) cache: PathBuf,
    is_fresh: Fresh,
}

/// Which of them belong to the trial alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fresh {
    cwd: bool,
    cache: bool,
}

impl Own {
    /// Names the directories of the trial in `folder`; `run` is the folder of its run. Nothing is made.
    pub(super) fn of(plan: &Plan, folder: &Path, run: &Path) -> Self {
        let fresh = plan.program.fresh;
        Self {
            cwd: if fresh.cwd { folder.join("cwd") } else { plan.program.cwd.clone() },
            cache: if fresh.cache { folder.join("cache") } else { run.join("cache") },
            is_fresh: Fresh { cwd: fresh.cwd, cache: fresh.cache },
        }
    }

    /// Makes them, empty. A cache that all trials share is made where it is asked for.
    pub(super) fn make(&self, is_cache_named: bool) -> io::Result<()> {
        for (folder, fresh) in [(&self.cwd, self.is_fresh.cwd), (&self.cache, self.is_fresh.cache)] {
            if fresh {
                remove(folder)?;
                fs::create_dir_all(folder)?;
            }
        }
        if self.is_fresh.cache {
            for (_, name) in CACHES {
                fs::create_dir_all(self.cache.join(name))?;
            }
        }
        if is_cache_named { fs::create_dir_all(&self.cache) } else { Ok(()) }
    }

    /// Variables that move caches into the trial; none where they are shared.
    pub(super) fn variables(&self) -> Vec<(&'static str, OsString)> {
        if !self.is_fresh.cache {
            return Vec::new();
        }
        let moved = CACHES.iter().map(|(name, folder)| (*name, self.cache.join(folder).into_os_string()));
        // They are found through XDG_CACHE_HOME where nothing else names them, and must stay where they are.
        let usual = env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
        let usual = usual.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
        let kept = MODELS.iter().filter(|(name, _)| env::var_os(name).is_none());
        let kept = kept.filter_map(|(name, folder)| Some((*name, usual.as_ref()?.join(folder).into_os_string())));
        moved.chain(kept).collect()
    }

    /// What is removed when the trial is over, also when Bystander is killed: caches may be larger than everything else of it.
    pub(super) fn removed(&self) -> Option<PathBuf> {
        self.is_fresh.cache.then(|| self.cache.clone())
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{CACHES, MODELS};

    #[test]
    fn no_variable_is_both_moved_and_kept() {
        assert!(CACHES.iter().all(|(name, _)| MODELS.iter().all(|(model, _)| model != name)));
        let mut folders: Vec<&str> = CACHES.iter().map(|(_, folder)| *folder).collect();
        folders.sort_unstable();
        folders.dedup();
        assert_eq!(folders.len(), CACHES.len());
    }
}
