//! The address of a server: where to connect and what to ask for. Plain HTTP only: a trial's server is on this machine or near it, and the cost of TLS
//! would be measured with it.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs as _};

use bystander_model::traffic::Endpoint;

/// An address is none that can be asked.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// It begins with something else than `http://`.
    #[error("take an address that does not begin with http://")]
    NotHttp,
    /// There is no host in it, or a port that is none, or what no address holds.
    #[error("find host and port in the address")]
    NoHost,
    /// The name of the host leads nowhere.
    #[error("find the host {host}")]
    Unknown {
        /// The host.
        host: String,
        /// What the resolver says.
        #[source]
        source: Option<std::io::Error>,
    },
}

/// An address, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The name of the host, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What stands before `/v1`, without a slash at its end.
    pub path: String,
}

impl Address {
    /// Takes an address apart: `http://host[:port][/path][/v1]`.
    ///
    /// # Errors
    /// Where it is none.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let rest = text.strip_prefix("http://").ok_or(AddressError::NotHttp)?;
        if rest.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#' | '@')) {
            return Err(AddressError::NoHost);
        }
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let (host, port) = match authority.rsplit_once(':') {
            // The colons of an IPv6 address are inside brackets.
            Some((host, port)) if !port.contains(']') => (host, port.parse().map_err(|_: std::num::ParseIntError| AddressError::NoHost)?),
            _ => (authority, 80),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if host.is_empty() || port == 0 {
            return Err(AddressError::NoHost);
        }
        let path = path.trim_end_matches('/');
        let path = path.strip_suffix("/v1").unwrap_or(path).trim_end_matches('/');
        Ok(Self { host: host.to_owned(), port, path: path.to_owned() })
    }

    /// Where its connections go, the first address that the resolver knows first.
    ///
    /// # Errors
    /// Where the host is not known.
    pub fn resolve(&self) -> Result<Vec<SocketAddr>, AddressError> {
        let unknown = |source| AddressError::Unknown { host: self.host.clone(), source };
        let found: Vec<SocketAddr> = (self.host.as_str(), self.port).to_socket_addrs().map_err(|error| unknown(Some(error)))?.collect();
        if found.is_empty() { Err(unknown(None)) } else { Ok(found) }
    }

    /// The target of a request.
    pub(crate) fn target(&self, endpoint: Endpoint) -> String {
        let part = match endpoint {
            Endpoint::Chat => "chat/completions",
            Endpoint::Completions => "completions",
        };
        format!("{}/v1/{part}", self.path)
    }
}

impl fmt::Display for Address {
    /// Writes host and port, as a request names them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') { write!(f, "[{}]:{}", self.host, self.port) } else { write!(f, "{}:{}", self.host, self.port) }
    }
}

#[cfg(test)]
mod tests {
    use bystander_model::traffic::Endpoint;

    use super::Address;

    #[test]
    fn addresses_are_taken_apart_and_the_version_may_stand_in_them() {
        for (text, shown, path) in [
            ("http://127.0.0.1:8000", "127.0.0.1:8000", "/v1/chat/completions"),
            ("http://localhost:8000/v1/", "localhost:8000", "/v1/chat/completions"),
            ("http://[::1]:80/v1", "[::1]:80", "/v1/chat/completions"),
            ("http://host", "host:80", "/v1/chat/completions"),
            ("http://host:1/engine/v1", "host:1", "/engine/v1/chat/completions"),
        ] {
            let address = Address::parse(text).expect(text);
            assert_eq!((address.to_string().as_str(), address.target(Endpoint::Chat).as_str()), (shown, path), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "https://host",
            "host:80",
            "http://",
            "http://:80",
            "http://h:0",
            "http://h:99999",
            "http://h:x",
            "http://a b",
            "http://u@h",
        ] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
