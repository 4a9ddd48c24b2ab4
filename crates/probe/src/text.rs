//! A probe as text: one statement on a line of the file, which brings the overlay into whatever process passes it.
//!
//! For programs that no overlay reaches: it needs no environment, no `site`, nobody who reads. The statement changes no line
//! number and no scope, and everything in it that could fail is inside a `try` that it carries as a string. Where it goes was tried by the
//! interpreter that checked the probe.

mod error;
mod window;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bystander_edit::EditSpec;
use serde::{Deserialize, Serialize};

use crate::check::CheckedProbe;
use crate::overlay::literal;

pub use error::TextError;

/// The most hits that a probe by text records in a process: so much room its ring has, because nobody may be reading it.
pub const TEXT_LIMIT: u64 = 65_536;

/// How long, in seconds, other threads wait at most at their first pass for the one that loads the overlay.
const WAIT_S: u32 = 10;

/// Where a statement goes into the text of a file, as the interpreter that checked the probe has tried it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum TextPlace {
    /// At a byte of the file.
    At {
        /// The offset.
        offset: usize,
        /// Whether it follows a statement there; else it stands before one.
        follows: bool,
    },
    /// Nowhere.
    Refused {
        /// Why not.
        refused: String,
    },
}

/// Makes the edit that puts a probe into the text of its file; `folder` is that of the [`crate::Overlay`] that holds the probe.
///
/// # Errors
/// [`TextError`] where the place has no room for a statement, or the probe needs what a statement cannot do.
pub fn insertion(probe: &CheckedProbe, folder: &Path) -> Result<EditSpec, TextError> {
    let (offset, follows) = place_of(probe)?;
    let bytes = read(&probe.path)?;
    Ok(spec(probe, folder, &bytes, offset, follows)?.0)
}

/// Makes the edits of several probes, to be made in this order: each is found in the text with those before it.
///
/// # Errors
/// The first [`TextError`].
pub fn insertions(probes: &[CheckedProbe], folder: &Path) -> Result<Vec<EditSpec>, TextError> {
    let mut texts: BTreeMap<&Path, Changed> = BTreeMap::new();
    let mut specs = Vec::new();
    for probe in probes {
        let (offset, follows) = place_of(probe)?;
        let text = match texts.entry(&probe.path) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Changed { bytes: read(&probe.path)?, inserted: Vec::new() }),
        };
        let at = text.moved(offset);
        let (spec, inserted) = spec(probe, folder, &text.bytes, at, follows)?;
        text.bytes.splice(at..at, inserted.bytes());
        text.inserted.push((offset, inserted.len()));
        specs.push(spec);
    }
    Ok(specs)
}

/// A file with the statements that were put into it so far.
struct Changed {
    bytes: Vec<u8>,
    /// Offsets in the file as it was, and lengths.
    inserted: Vec<(usize, usize)>,
}

impl Changed {
    /// Where an offset of the file as it was lies now: behind what was put there already.
    fn moved(&self, offset: usize) -> usize {
        offset + self.inserted.iter().filter(|(at, _)| *at <= offset).map(|(_, length)| length).sum::<usize>()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TextError> {
    std::fs::read(path).map_err(|source| TextError::Read { path: path.to_owned(), source })
}

/// Where the statement of a probe goes in its file, and whether it follows a statement there.
fn place_of(probe: &CheckedProbe) -> Result<(usize, bool), TextError> {
    let name = || probe.name.clone();
    if probe.unsafe_capture {
        return Err(TextError::Unsafe { probe: name() });
    }
    if probe.limit > TEXT_LIMIT {
        return Err(TextError::Limit { probe: name(), limit: probe.limit });
    }
    match &probe.text {
        Some(TextPlace::At { offset, follows }) => Ok((*offset, *follows)),
        Some(TextPlace::Refused { refused }) => Err(TextError::NoPlace { probe: name(), reason: refused.clone() }),
        None => Err(TextError::NoPlace { probe: name(), reason: "the place was not looked at".to_owned() }),
    }
}

/// The edit at an offset of some bytes, and what it puts in.
fn spec(probe: &CheckedProbe, folder: &Path, bytes: &[u8], offset: usize, follows: bool) -> Result<(EditSpec, String), TextError> {
    let statement = statement(&probe.name, folder);
    let text = if follows { format!("; {statement}") } else { format!("{statement}; ") };
    let found = window::around(bytes, offset, text.clone());
    let (find, action) = found.ok_or_else(|| TextError::Encoding { path: probe.path.clone() })?;
    let spec = EditSpec { name: probe.name.clone(), file: probe.path.clone(), find, action, sha256: Some(probe.sha256.clone()) };
    Ok((spec, text))
}

/// The name in `sys` under which the statements of a probe find their function.
fn key(name: &str, folder: &Path) -> String {
    let bytes = [folder.as_os_str().as_bytes(), b"\0", name.as_bytes()].concat();
    // FNV-1a: it only has to differ between the probes that one process can meet.
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("_bystander_{hash:016x}")
}

/// The statement: at its first pass it runs what it carries, later it calls what that has left in `sys`.
fn statement(name: &str, folder: &Path) -> String {
    let key = key(name, folder);
    let (folder, name) = (literal(folder.as_os_str().as_bytes()), literal(name.as_bytes()));
    let mut code = String::new();
    // Written without a failure: a string takes everything. Other threads that pass meanwhile wait a moment for the first.
    _ = write!(
        code,
        "try:\n import sys,posix as p,_thread as t\n l=t.allocate_lock();l.acquire();q=p.getpid();o=t.get_ident();m=[];g=[]\n \
         def w(c,n=0):\n  if p.getpid()!=q:sys.{key}=lambda*a:None\n  elif t.get_ident()!=o and l.acquire(True,{WAIT_S}):\n   l.release()\n   \
         if g:return g[0](sys._getframe(1)if n!=0 else c)\n  m.append(1)\n \
         k=sys.__dict__.setdefault('{key}',w)\n if k is not w:k(sys._getframe(1))\n else:\n  try:\n   \
         f={folder};n={{'FOLDER':f,'KEY':'{key}','NAME':{name}}}\n   \
         with open(f+'/bystander_overlay/late.py','rb')as h:exec(compile(h.read(),'<bystander late>','exec'),n)\n   \
         n['begin'](sys._getframe(1),m,g)\n  except Exception:sys.{key}=lambda*a:None\n  finally:l.release()\nexcept Exception:pass\n"
    );
    let code = literal(code.as_bytes()).replace("\\U0000000a", "\\n");
    format!("(__import__(\"sys\").__dict__.get(\"{key}\")or __import__(\"builtins\").__dict__[\"exec\"])({code},{{}})")
}
