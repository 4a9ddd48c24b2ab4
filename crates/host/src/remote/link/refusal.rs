//! Why SSH did not connect, from what it says.

use std::io;

use bystander_model::chain::with_causes;

use super::LinkError;

/// What SSH says where the host's key is not the known one.
const OF_KEY: [&str; 3] = ["Host key verification failed", "HOST IDENTIFICATION HAS CHANGED", "host key is known"];

/// What is said where SSH says nothing.
const SILENT: &str = "ssh ended without a word: the connection was cut, or ssh was killed";

/// Why there is no connection.
pub(super) fn unconnected(error: &openssh::Error) -> LinkError {
    let source = match error {
        openssh::Error::Connect(source) => source,
        openssh::Error::Master(_) | openssh::Error::Disconnected | openssh::Error::RemoteProcessTerminated => {
            return LinkError::Broken(with_causes(error));
        }
        _ => return LinkError::Local(io::Error::other(with_causes(error))),
    };
    if source.kind() == io::ErrorKind::NotFound {
        return LinkError::Local(io::Error::other("there is no `ssh` on the PATH: install the OpenSSH client"));
    }
    of_text(&source.to_string())
}

fn of_text(text: &str) -> LinkError {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('@')).collect();
    if let Some((known, remove)) = changed_key(&lines) {
        let now = lines.iter().find(|line| line.starts_with("SHA256:")).map(|line| line.trim_end_matches('.'));
        let now = now.map_or_else(String::new, |now| format!(", and it is {now} now"));
        return LinkError::HostKey {
            said: format!("the host key has changed: another one is known from {known}{now}"),
            remove: Some(remove),
        };
    }
    let said = lines.join(" ");
    if OF_KEY.iter().any(|words| said.contains(words)) {
        LinkError::HostKey { said, remove: None }
    } else if said.contains("Permission denied") || said.contains("Too many authentication failures") {
        LinkError::Refused { said }
    } else {
        LinkError::Unreachable { said: if said.is_empty() { SILENT.to_owned() } else { said } }
    }
}

/// The place of a known key that is another one than the host has, and how it is removed; `None` where none has changed.
fn changed_key(lines: &[&str]) -> Option<(String, String)> {
    let offending = lines.iter().find(|line| line.starts_with("Offending ") && line.contains(" key in "))?;
    let (file, line) = offending.split_once(" key in ")?.1.rsplit_once(':')?;
    // Some builds of SSH say the command themselves, with the name that the key is known by.
    let said = lines.iter().find(|line| line.starts_with("ssh-keygen ") && line.contains(" -R "));
    let remove = said.map_or_else(|| format!("remove line {line} of {file}"), |command| format!("`{command}` removes it"));
    Some((format!("{file}, line {line}"), remove))
}

#[cfg(test)]
mod tests {
    use super::{LinkError, SILENT, of_text};

    #[test]
    fn a_changed_key_is_told_with_its_place() {
        let text = "@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@@@\nIT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\n\
                    The fingerprint for the ED25519 key sent by the remote host is\nSHA256:abc.\nAdd correct host key in /a b/known to get rid of this message.\n\
                    Offending ED25519 key in /a b/known:17\nHost key for [h]:22 has changed and you have requested strict checking.\n\
                    Host key verification failed.\n";
        let LinkError::HostKey { said, remove } = of_text(text) else { panic!("another error") };
        assert_eq!(said, "the host key has changed: another one is known from /a b/known, line 17, and it is SHA256:abc now");
        assert_eq!(remove.as_deref(), Some("remove line 17 of /a b/known"));
        let text = text.replace("Host key for", "  remove with:\n  ssh-keygen -f \"/a b/known\" -R \"[h]:22\"\nHost key for");
        let LinkError::HostKey { remove, .. } = of_text(&text) else { panic!("another error") };
        assert_eq!(remove.as_deref(), Some("`ssh-keygen -f \"/a b/known\" -R \"[h]:22\"` removes it"));
    }

    #[test]
    fn other_reasons_are_told_as_they_are() {
        let unknown =
            of_text("No ED25519 host key is known for [h]:22 and you have requested strict checking.\nHost key verification failed.\n");
        assert!(matches!(unknown, LinkError::HostKey { remove: None, .. }));
        assert!(matches!(of_text("u@h: Permission denied (publickey).\n"), LinkError::Refused { .. }));
        assert!(matches!(of_text(""), LinkError::Unreachable { said } if said == SILENT));
    }
}
