//! When a program counts as ready: every named condition holds, and whoever listens belongs to the trial's own tree.
//!
//! A server of somebody else that answers on the port is never a sign of readiness; it is reported instead.

pub(crate) mod watch;

use std::net::{IpAddr, ToSocketAddrs};

use bystander_model::ids::TimeNs;
use regex::bytes::Regex;
use ureq::http::Uri;

use crate::listener::Holder;
use crate::output::Line;

/// The conditions; all that are named must hold.
#[derive(Debug, Clone, Default)]
pub struct ReadySpec {
    /// A line of either stream matches.
    pub log: Option<Regex>,
    /// A GET on this `http://` address is answered with 200 to 399.
    pub http: Option<String>,
    /// A process of the tree listens on this TCP port.
    pub port: Option<u16>,
}

/// A condition that cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum ReadySpecError {
    /// It is no address at all.
    #[error("read the address `{url}`")]
    NotAnAddress {
        /// The address.
        url: String,
        /// The cause.
        #[source]
        source: ureq::http::uri::InvalidUri,
    },
    /// It is no `http://HOST[:PORT]/...`.
    #[error("use the address `{url}`: only http://HOST:PORT/PATH can be checked")]
    NotHttp {
        /// The address.
        url: String,
    },
    /// Its host is not known here.
    #[error("look up the host of `{url}`")]
    UnknownHost {
        /// The address.
        url: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

/// An HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The address that was asked.
    pub url: String,
    /// The status of the answer.
    pub status: u16,
}

/// What the conditions on ports and addresses found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Health {
    pub(crate) time_ns: TimeNs,
    pub(crate) listener: Option<Holder>,
    pub(crate) http: Option<HttpAnswer>,
}

/// The proof that a program was ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// When the last condition was found to hold.
    pub time_ns: TimeNs,
    /// The line that matched.
    pub log: Option<Line>,
    /// The process of the tree that listens.
    pub listener: Option<Holder>,
    /// The answer.
    pub http: Option<HttpAnswer>,
}

impl ReadySpec {
    /// Checks that every condition can be checked, without a program.
    ///
    /// # Errors
    /// When the address is not one that can be asked.
    pub fn check(&self) -> Result<(), ReadySpecError> {
        self.targets().map(drop)
    }

    /// The ports to look at and the address to ask.
    pub(crate) fn targets(&self) -> Result<Targets, ReadySpecError> {
        let http = self.http.as_deref().map(HttpTarget::parse).transpose()?;
        Ok(Targets { http, port: self.port })
    }
}

/// What has to be polled.
#[derive(Debug, Clone)]
pub(crate) struct Targets {
    pub(crate) http: Option<HttpTarget>,
    pub(crate) port: Option<u16>,
}

impl Targets {
    /// Whether nothing has to be polled.
    pub(crate) fn is_empty(&self) -> bool {
        self.http.is_none() && self.port.is_none()
    }
}

/// An address, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct HttpTarget {
    pub(crate) url: String,
    pub(crate) port: u16,
    /// Every address that the host stands for: the connection may go to any of them.
    pub(crate) addresses: Vec<IpAddr>,
}

impl HttpTarget {
    fn parse(url: &str) -> Result<Self, ReadySpecError> {
        let uri: Uri = url.parse().map_err(|source| ReadySpecError::NotAnAddress { url: url.to_owned(), source })?;
        let (Some("http"), Some(host)) = (uri.scheme_str(), uri.host()) else {
            return Err(ReadySpecError::NotHttp { url: url.to_owned() });
        };
        let port = uri.port_u16().unwrap_or(80);
        // An IPv6 address stands in brackets there, and without them here.
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let found = (name, port).to_socket_addrs().map_err(|source| ReadySpecError::UnknownHost { url: url.to_owned(), source })?;
        // Servers listen on 0.0.0.0, and people write the same into the address: it means this machine.
        let addresses = found.map(|found| if found.ip().is_unspecified() { loopback_like(found.ip()) } else { found.ip() }).collect();
        Ok(Self { url: url.to_owned(), port, addresses })
    }
}

fn loopback_like(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
    }
}

#[cfg(test)]
mod tests {
    use super::{HttpTarget, ReadySpec};

    #[test]
    fn an_address_is_taken_apart() {
        let target = HttpTarget::parse("http://127.0.0.1:8123/health?x=1").expect("parses");
        assert_eq!((target.port, target.addresses), (8123, vec!["127.0.0.1".parse().expect("an address")]));
        assert_eq!(HttpTarget::parse("http://[::1]/").expect("parses").port, 80);
        assert_eq!(HttpTarget::parse("http://0.0.0.0:1/").expect("parses").addresses[0].to_string(), "127.0.0.1");
    }

    #[test]
    fn what_cannot_be_asked_is_refused_with_the_reason() {
        let told = |url: &str| ReadySpec { http: Some(url.to_owned()), ..ReadySpec::default() }.check().map_err(|error| error.to_string());
        assert!(told("https://127.0.0.1/").is_err_and(|text| text.contains("only http://")));
        assert!(told("/health").is_err_and(|text| text.contains("only http://")));
        assert!(told("http://a b/").is_err_and(|text| text.contains("read the address")));
        assert!(ReadySpec::default().check().is_ok());
    }
}
