//! Brings this executable to the far end: after a look at system, processor and C library, into the user's state directory there, whole or not at all.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use object::read::{Object as _, ObjectSection as _};
use openssh::Session;
use sha2::{Digest as _, Sha256};

use super::OWN;
use super::far::{BINARIES, UNFINISHED};
use super::link::{Doing, LinkError, script};
use super::message::{PROTOCOL, VERSION};

/// The user's state directory, in the words of a shell.
const STATE: &str = "\"${XDG_STATE_HOME:-$HOME/.local/state}\"";

/// The path of the executable that this one would be copied to, in the words of a shell.
pub(super) fn place() -> Result<String, LinkError> {
    Ok(format!("{STATE}/{BINARIES}/{}/bystander", name().map_err(LinkError::Local)?))
}

/// What tells one build from another: what is cheap to look at is enough, since another name only costs another copy.
fn name() -> io::Result<String> {
    let found = std::fs::metadata(OWN)?;
    let text = format!("{VERSION} {PROTOCOL} {} {} {}", found.len(), found.mtime(), found.mtime_nsec());
    let hash = Sha256::digest(text.as_bytes());
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{VERSION}-{hash}"))
}

/// Copies this executable there.
///
/// # Errors
/// It cannot run there, there is no room, or the connection breaks.
pub(super) fn bring(doing: &Doing<'_>, session: &Session) -> Result<(), LinkError> {
    let own = Needs::of_this().map_err(LinkError::Local)?;
    let said = script(doing, session, "uname -s; uname -m; getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>&1 | head -n 1", None)?;
    own.met_by(&said).map_err(|why| LinkError::NoAgent { why })?;
    let file = File::open(OWN).map_err(LinkError::Local)?;
    let length = file.metadata().map_err(LinkError::Local)?.len();
    let to = place()?;
    // A copy that was cut is never moved to where it would be started.
    let text = [
        "set -e",
        &format!("b={to}"),
        "d=\"${b%/*}\"",
        "umask 077",
        "mkdir -p \"$d\"",
        &format!("t=\"$d/{UNFINISHED}$$\""),
        "trap \"\" PIPE",
        "trap \"rm -f \\\"\\$t\\\"\" EXIT",
        "trap \"exit 1\" HUP INT TERM",
        "cat >\"$t\"",
        "n=$(wc -c <\"$t\")",
        &format!("[ \"$n\" -eq {length} ] || {{ echo \"only $n of {length} bytes arrived\" >&2; exit 1; }}"),
        "chmod 700 \"$t\"",
        "mv -f \"$t\" \"$b\"",
    ];
    let text = text.join("; ");
    script(doing, session, &text, Some(file)).map(drop).map_err(|error| match error {
        LinkError::NoAgent { why } => LinkError::NoAgent { why: format!("this executable could not be copied there: {why}") },
        LinkError::Broken(why) => LinkError::Broken(format!("this executable was being copied there: {why}")),
        other => other,
    })
}

/// What an executable needs to run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Needs {
    /// The processor, as Rust names it.
    processor: String,
    /// The least version of glibc; `None` where it needs none.
    glibc: Option<(u32, u32)>,
}

impl Needs {
    /// What this executable needs, by its own headers: the versions of glibc's symbols that it names.
    fn of_this() -> io::Result<Self> {
        let bytes = std::fs::read(OWN)?;
        let file = object::File::parse(&*bytes).map_err(io::Error::other)?;
        let names = file.section_by_name(".dynstr").and_then(|section| section.data().ok()).unwrap_or_default();
        let names = names.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
        let glibc = names.filter_map(|name| version(name.strip_prefix("GLIBC_")?)).max();
        Ok(Self { processor: std::env::consts::ARCH.to_owned(), glibc })
    }

    /// Whether the far end has it, from the lines that it printed of itself; or why not.
    fn met_by(&self, said: &str) -> Result<(), String> {
        let mut lines = said.lines().map(str::trim);
        let (system, machine, library) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""), lines.next().unwrap_or(""));
        if system != "Linux" {
            return Err(format!(
                "the far end runs {}, bystander runs on Linux",
                if system.is_empty() { "an unknown system" } else { system }
            ));
        }
        let processor = match machine {
            "arm64" => "aarch64",
            "amd64" => "x86_64",
            other => other,
        };
        if processor != self.processor {
            return Err(format!(
                "the far end has a processor of the kind {machine}, this executable is for {}; install bystander there",
                self.processor
            ));
        }
        let Some((major, minor)) = self.glibc else { return Ok(()) };
        let found = library.split_whitespace().rev().find_map(version);
        match found {
            _ if library.to_lowercase().contains("musl") => {
                Err("the far end has musl as its C library, this executable needs glibc; install bystander there".to_owned())
            }
            Some(found) if found >= (major, minor) => Ok(()),
            Some((old, older)) => Err(format!(
                "the far end has glibc {old}.{older}, this executable needs {major}.{minor} or newer; install a bystander there that was built for it"
            )),
            // What cannot be read is tried: an executable that does not start says why.
            None => Ok(()),
        }
    }
}

/// A version of two numbers, such as `2.36`.
fn version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    let digits = minor.find(|c: char| !c.is_ascii_digit()).map_or(minor, |end| &minor[..end]);
    Some((major.parse().ok()?, digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Needs, version};

    #[test]
    fn this_executable_runs_here_by_its_own_account() {
        let needs = Needs::of_this().expect("its headers");
        if cfg!(target_env = "gnu") {
            assert!(needs.glibc.is_some_and(|least| least >= (2, 2)), "{needs:?}");
        }
        let said = format!("Linux\n{}\nglibc 99.1\n", std::env::consts::ARCH);
        assert_eq!(needs.met_by(&said), Ok(()));
    }

    #[test]
    fn another_system_processor_or_library_is_refused_by_name() {
        let needs = Needs { processor: "x86_64".into(), glibc: Some((2, 34)) };
        let why = |said: &str| needs.met_by(said).expect_err(said);
        assert!(why("Darwin\narm64\n").contains("runs Darwin"));
        assert!(why("Linux\naarch64\nglibc 2.36\n").contains("of the kind aarch64"));
        assert!(why("Linux\nx86_64\nglibc 2.17\n").contains("glibc 2.17, this executable needs 2.34"));
        assert!(why("Linux\nx86_64\nmusl libc (x86_64)\n").contains("musl"));
        assert!(why("").contains("an unknown system"));
        for fits in ["glibc 2.34", "ldd (Debian GLIBC 2.36-9+deb12u14) 2.36", "ldd (GNU libc) 2.35", ""] {
            assert_eq!(needs.met_by(&format!("Linux\namd64\n{fits}\n")), Ok(()), "{fits}");
        }
        assert!(why("Linux\nx86_64\nldd (GNU libc) 2.9\n").contains("2.9"));
        assert_eq!(version("2.36-9"), Some((2, 36)));
    }
}
