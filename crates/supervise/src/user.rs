//! Users by their names, as people know them.

use std::fs;
use std::path::Path;

/// Where the users of this machine are listed.
const PASSWD: &str = "/etc/passwd";

/// The name of a user of this machine; the number, where the machine's list does not have it.
#[must_use]
pub fn user(uid: u32) -> String {
    listed(Path::new(PASSWD), uid).unwrap_or_else(|| uid.to_string())
}

fn listed(passwd: &Path, uid: u32) -> Option<String> {
    let text = fs::read(passwd).ok()?;
    let text = String::from_utf8_lossy(&text);
    let mut users = text.lines().map(|line| line.split(':'));
    users.find_map(|mut fields| {
        let (name, _, number) = (fields.next()?, fields.next()?, fields.next()?);
        (number.parse() == Ok(uid) && !name.is_empty()).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{listed, user};

    #[test]
    fn who_is_listed_has_a_name_and_who_is_not_a_number() {
        let folder = tempfile::tempdir().expect("a folder");
        let passwd = folder.path().join("passwd");
        fs::write(&passwd, b"\xff\nbroken:x\n:x:7:7::/:/bin/false\nann:x:1000:100::/home/ann:/bin/sh\nann2:x:1000:1::/:/bin/sh\n")
            .expect("written");
        assert_eq!(listed(&passwd, 1000).as_deref(), Some("ann"));
        assert_eq!([7, 100, 0].map(|uid| listed(&passwd, uid)), [None, None, None]);
        assert_eq!(listed(Path::new("/nowhere/passwd"), 0), None);
        assert_eq!(user(4_000_000_001), "4000000001");
    }
}
