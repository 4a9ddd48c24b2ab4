//! The live edits of everybody on this machine: whose registry can be read, and whose cannot.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bystander_model::patch::{EditStatus, UnseenUser};

use crate::registry::registry_status;

/// Where the users of this machine are listed.
const PASSWD: &str = "/etc/passwd";

/// What is known of the edits of other users.
#[derive(Debug, Default)]
pub struct Others {
    /// Their live edits, where they may be read.
    pub edits: Vec<EditStatus>,
    /// Users whose edits may not be read: they may have some, or none.
    pub unseen: Vec<UnseenUser>,
}

/// Looks at the registries of all users in `passwd`, but for `own`. Registries that a variable of theirs has moved are not found.
#[must_use]
pub fn others(passwd: &Path, own: &Path) -> Others {
    let text = fs::read(passwd).unwrap_or_default();
    let mut found = Others::default();
    let mut seen: Vec<PathBuf> = Vec::new();
    for line in String::from_utf8_lossy(&text).lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [user, _, _, _, _, home, ..] = fields[..] else { continue };
        let registry = Path::new(home).join(".local/state/bystander/edits");
        // Accounts of services share homes that are none.
        if !home.starts_with('/') || home == "/" || registry == own || seen.contains(&registry) {
            continue;
        }
        seen.push(registry.clone());
        let unseen = |why: String| UnseenUser { user: user.to_owned(), home: PathBuf::from(home), why };
        match fs::read_dir(&registry) {
            Ok(_) => match registry_status(&registry) {
                Ok(edits) => found.edits.extend(edits),
                Err(error) => found.unseen.push(unseen(format!("failed to {error}"))),
            },
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => found.unseen.push(unseen("permission denied".to_owned())),
            // No home, or nothing of ours in it.
            Err(_) => {}
        }
    }
    found
}

/// The name of a user of this machine; the number, where the machine's list does not have it.
pub(crate) fn user(uid: u32) -> String {
    let number = uid.to_string();
    user_name(Path::new(PASSWD), &number).unwrap_or(number)
}

/// The name of a user by the number, as `passwd` has it; `None` where it does not list it.
#[must_use]
pub fn user_name(passwd: &Path, uid: &str) -> Option<String> {
    let text = fs::read(passwd).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut fields = text.lines().map(|line| line.split(':'));
    fields.find_map(|mut fields| {
        let (name, _, number) = (fields.next()?, fields.next()?, fields.next()?);
        (number == uid && !name.is_empty()).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{others, user_name};

    #[test]
    fn users_are_those_with_a_home_of_their_own() {
        let world = tempfile::tempdir().expect("a temporary folder");
        let home = |name: &str| world.path().join(name);
        fs::create_dir_all(home("ann").join(".local/state/bystander/edits")).expect("created");
        fs::create_dir_all(home("bob").join(".local/state/bystander/edits")).expect("created");
        fs::write(home("bob").join(".local/state/bystander/edits/0.json"), "{").expect("written");
        let entry = |name: &str| format!("{name}:x:1:1::{}:/bin/sh\n", home(name).display());
        let passwd = world.path().join("passwd");
        fs::write(&passwd, format!("{}{}{}daemon:x:1:1::/:/bin/false\nbroken\n", entry("ann"), entry("bob"), entry("none")))
            .expect("written");
        let found = others(&passwd, &home("ann").join(".local/state/bystander/edits"));
        assert_eq!((found.edits.len(), found.unseen.len()), (0, 1), "{found:?}");
        assert_eq!(found.unseen[0].user, "bob");
        assert!(found.unseen[0].why.contains("damaged"), "{}", found.unseen[0].why);
    }

    #[test]
    fn a_user_is_named_as_the_list_has_it() {
        let world = tempfile::tempdir().expect("a temporary folder");
        let passwd = world.path().join("passwd");
        fs::write(&passwd, "broken\nroot:x:0:0::/root:/bin/sh\n:x:7:7::/:/bin/false\nann:x:1000:100::/home/ann:/bin/sh\n")
            .expect("written");
        assert_eq!(user_name(&passwd, "1000").as_deref(), Some("ann"));
        assert_eq!(user_name(&passwd, "0").as_deref(), Some("root"));
        for unknown in ["7", "100", "10000", "", "ann"] {
            assert_eq!(user_name(&passwd, unknown), None, "{unknown}");
        }
        assert_eq!(user_name(&world.path().join("none"), "0"), None);
    }
}
