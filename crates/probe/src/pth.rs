//! A `.pth` file that starts the overlay: `site` runs it in every process of an interpreter, also where `-I` or `-E` hide the environment.
//!
//! It is to lie in a private layer over the interpreter's packages. Not run: under `-S`, and by interpreters with other packages.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use crate::overlay::{Overlay, OverlayError, literal};

/// The file's name: `site` runs such files by their names' order, and the overlay is to come after what is there.
pub const PTH_NAME: &str = "zzzz_bystander.pth";

impl Overlay {
    /// Writes the `.pth` file that starts this overlay into a folder of its own.
    ///
    /// # Errors
    /// [`OverlayError`] where the file cannot be written.
    pub fn write_pth(&self, layer: &Path) -> Result<(), OverlayError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| OverlayError::Write { path, source }
        };
        std::fs::DirBuilder::new().recursive(true).mode(0o755).create(layer).map_err(failed(layer))?;
        let file = layer.join(PTH_NAME);
        std::fs::write(&file, line(self.dir())).map_err(failed(&file))
    }
}

/// One line, because a `.pth` file is executed line by line; nothing that goes wrong in it may be printed by `site`.
fn line(folder: &Path) -> String {
    let folder = literal(folder.as_os_str().as_bytes());
    let code = format!(
        "try:\n import sys\n f,w={folder},sys.dont_write_bytecode\n if 'bystander_overlay' not in sys.modules:\n  \
         sys.dont_write_bytecode=w or bool(sys.pycache_prefix);sys.path.insert(0,f)\n  try:\n   \
         import bystander_overlay as o\n   o.start(f)\n  finally:\n   sys.path.remove(f);sys.dont_write_bytecode=w\n   \
         for p in(f,f+'/bystander_overlay'):sys.path_importer_cache.pop(p,None)\nexcept Exception:pass\n"
    );
    format!("import sys; exec({}, {{}})\n", literal(code.as_bytes()).replace("\\U0000000a", "\\n"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::line;

    #[test]
    fn the_file_is_one_line_that_site_executes() {
        let text = line(Path::new("/state/a \"b\" \u{e9}/overlay"));
        assert!(text.starts_with("import sys; ") && text.ends_with(", {})\n"), "{text}");
        assert_eq!(text.lines().count(), 1);
        assert!(text.is_ascii() && text.contains("\\U000000e9"), "{text}");
    }
}
