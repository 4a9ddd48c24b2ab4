//! Where another machine is: `ssh://user@host:port/folder`.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

use crate::typed::escaped;

/// How an address begins.
const SCHEME: &str = "ssh://";
/// The form of an address, for people.
pub const FORM: &str = "ssh://user@host[:port][/folder]";

/// A machine, as OpenSSH names it, and a folder there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// Who logs in; `None` leaves it to the user's configuration of SSH.
    pub user: Option<String>,
    /// The host, or a name that the user's configuration of SSH has for it.
    pub host: String,
    /// The port; `None` leaves it to the user's configuration of SSH.
    pub port: Option<u16>,
    /// The folder that commands run in there and relative paths begin at; `None` is the home directory.
    pub folder: Option<PathBuf>,
}

/// What is wrong with a text that should be an address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    /// It begins otherwise.
    #[error("it does not begin with `{SCHEME}`; its form is {FORM}")]
    Scheme,
    /// It names no host.
    #[error("it names no host; its form is {FORM}")]
    NoHost,
    /// Its host or user has a character that none has, or begins with a dash.
    #[error("`{0}` is no name of a {1}")]
    Name(String, &'static str),
    /// Its port is no number from 1 to 65535.
    #[error("`{0}` is no port: a number from 1 to 65535 is")]
    Port(String),
    /// It holds a password.
    #[error("it holds a password, which would be seen by everybody on this machine; use a key or an agent")]
    Password,
}

impl Address {
    /// The machine alone, as it is printed and kept.
    #[must_use]
    pub fn machine(&self) -> String {
        Self { folder: None, ..self.clone() }.to_string()
    }
}

impl Address {
    /// Reads an address as it is typed: its folder may be of any bytes.
    ///
    /// # Errors
    /// It is none.
    pub fn of_os(text: &OsStr) -> Result<Self, AddressError> {
        let rest = text.as_bytes().strip_prefix(SCHEME.as_bytes()).ok_or(AddressError::Scheme)?;
        let (machine, folder) = rest.iter().position(|byte| *byte == b'/').map_or((rest, None), |slash| {
            let folder = &rest[slash..];
            (&rest[..slash], Some(folder))
        });
        let machine = str::from_utf8(machine).map_err(|_not_text| AddressError::Name(escaped(machine), "host"))?;
        let (user, machine) = machine.rsplit_once('@').map_or((None, machine), |(user, machine)| (Some(user), machine));
        if user.is_some_and(|user| user.contains(':')) {
            return Err(AddressError::Password);
        }
        let (host, port) = host_and_port(machine)?;
        if host.is_empty() {
            return Err(AddressError::NoHost);
        }
        let port = port.map(|port| port.parse().ok().filter(|port| *port > 0).ok_or_else(|| AddressError::Port(port.to_owned())));
        Ok(Self {
            user: user.map(|user| name(user, "user")).transpose()?,
            host: name(host, "host")?,
            port: port.transpose()?,
            // `/~/x` is below the home directory, as other tools have it.
            folder: folder.filter(|folder| !matches!(*folder, b"/" | b"/~" | b"/~/")).map(|folder| {
                let below_home = folder.strip_prefix(b"/~/");
                PathBuf::from(OsStr::from_bytes(below_home.unwrap_or(folder)))
            }),
        })
    }

    /// The address as it is typed, with the bytes of its folder.
    #[must_use]
    pub fn to_os_string(&self) -> OsString {
        let mut text = OsString::from(self.machine());
        if let Some(folder) = &self.folder {
            if !folder.is_absolute() {
                text.push("/~/");
            }
            text.push(folder);
        }
        text
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        Self::of_os(OsStr::new(text))
    }
}

/// Splits the port off; an address of IPv6 stands in brackets.
fn host_and_port(machine: &str) -> Result<(&str, Option<&str>), AddressError> {
    if let Some(rest) = machine.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or_else(|| AddressError::Name(machine.to_owned(), "host"))?;
        return match after.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if after.is_empty() => Ok((host, None)),
            None => Err(AddressError::Name(machine.to_owned(), "host")),
        };
    }
    Ok(machine.split_once(':').map_or((machine, None), |(host, port)| (host, Some(port))))
}

/// A name that SSH cannot take for an option, and no shell for anything else.
fn name(text: &str, of: &'static str) -> Result<String, AddressError> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '%' | '+' | '\\' | '$' | '@');
    let fits = !text.is_empty() && !text.starts_with('-') && text.chars().all(plain);
    if fits { Ok(text.to_owned()) } else { Err(AddressError::Name(text.to_owned(), of)) }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEME)?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?;
        } else {
            f.write_str(&self.host)?;
        }
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        match &self.folder {
            Some(folder) if folder.is_absolute() => f.write_str(&escaped(folder.as_os_str().as_bytes())),
            Some(folder) => write!(f, "/~/{}", escaped(folder.as_os_str().as_bytes())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::{Address, AddressError};

    fn read(text: &str) -> Result<Address, AddressError> {
        text.parse()
    }

    #[test]
    fn every_part_is_read_and_printed_again() {
        for text in [
            "ssh://gpu1",
            "ssh://ann@gpu1",
            "ssh://ann@gpu1:2222",
            "ssh://ann@gpu1:2222/srv/my engine",
            "ssh://ann@gpu1/~/engine",
            "ssh://[fe80::1%eth0]:22",
            "ssh://a@b@gpu1",
        ] {
            assert_eq!(read(text).expect(text).to_string(), text);
        }
        let address = read("ssh://a@b@gpu1:22/srv").expect("an address");
        assert_eq!((address.user.as_deref(), address.host.as_str(), address.port), (Some("a@b"), "gpu1", Some(22)));
        assert_eq!(address.machine(), "ssh://a@b@gpu1:22");
        assert_eq!(read("ssh://gpu1/").expect("an address").folder, None);
    }

    #[test]
    fn the_folder_may_be_of_any_bytes_and_the_rest_is_text() {
        for text in [&b"ssh://gpu1/srv/\xff"[..], b"ssh://gpu1/~/\xff b", b"ssh://gpu1"] {
            let text = OsStr::from_bytes(text);
            assert_eq!(Address::of_os(text).expect("an address").to_os_string(), text);
        }
        assert_eq!(Address::of_os(OsStr::from_bytes(b"ssh://gpu1/\xff")).expect("an address").to_string(), "ssh://gpu1/\\xff");
        let wrong = Address::of_os(OsStr::from_bytes(b"ssh://gpu\xff/srv")).expect_err("no name").to_string();
        assert_eq!(wrong, "`gpu\\xff` is no name of a host");
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        assert_eq!(read("gpu1"), Err(AddressError::Scheme));
        assert_eq!(read("ssh://"), Err(AddressError::NoHost));
        assert_eq!(read("ssh://ann@"), Err(AddressError::NoHost));
        assert_eq!(read("ssh://ann@:22"), Err(AddressError::NoHost));
        assert_eq!(read("ssh://ann:secret@gpu1"), Err(AddressError::Password));
        for port in ["0", "65536", "x", ""] {
            assert_eq!(read(&format!("ssh://gpu1:{port}")), Err(AddressError::Port(port.into())));
        }
        for host in ["-oProxyCommand=x", "a b", "a;b", "a`b", "[::1", "[::1]x"] {
            assert!(matches!(read(&format!("ssh://{host}")), Err(AddressError::Name(..))), "{host}");
        }
        assert!(matches!(read("ssh://-l@gpu1"), Err(AddressError::Name(..))));
    }
}
