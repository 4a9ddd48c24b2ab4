//! `http://` addresses: taken apart, and the addresses of this machine that they stand for.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs};

use ureq::http::Uri;

/// An address that cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
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

/// An address, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct HttpTarget {
    pub(crate) url: String,
    pub(crate) port: u16,
    /// Every address that the host stands for: the connection may go to any of them.
    pub(crate) addresses: Vec<IpAddr>,
    /// The host as it is written.
    host: String,
}

impl HttpTarget {
    pub(crate) fn parse(url: &str) -> Result<Self, AddressError> {
        let uri: Uri = url.parse().map_err(|source| AddressError::NotAnAddress { url: url.to_owned(), source })?;
        let (Some("http"), Some(host)) = (uri.scheme_str(), uri.host()) else {
            return Err(AddressError::NotHttp { url: url.to_owned() });
        };
        let port = uri.port_u16().unwrap_or(80);
        // An IPv6 address stands in brackets there, and without them here.
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let found = (name, port).to_socket_addrs().map_err(|source| AddressError::UnknownHost { url: url.to_owned(), source })?;
        // Servers listen on 0.0.0.0, and people write the same into the address: it means this machine.
        let addresses = found.map(|found| if found.ip().is_unspecified() { loopback_like(found.ip()) } else { found.ip() }).collect();
        Ok(Self { url: url.to_owned(), port, addresses, host: name.to_owned() })
    }

    /// Its addresses in words: a name stands for other addresses on other machines.
    pub(crate) fn place(&self, listed: &str) -> String {
        if self.host.parse::<IpAddr>().is_ok() { listed.to_owned() } else { format!("{listed}, which `{}` stands for here", self.host) }
    }
}

fn loopback_like(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    }
}

#[cfg(test)]
mod tests {
    use super::HttpTarget;

    #[test]
    fn an_address_is_taken_apart() {
        let target = HttpTarget::parse("http://127.0.0.1:8123/health?x=1").expect("parses");
        assert_eq!((target.port, target.addresses.clone()), (8123, vec!["127.0.0.1".parse().expect("an address")]));
        assert_eq!(target.place("::1"), "::1");
        let named = HttpTarget::parse("http://localhost:1/").expect("parses");
        assert_eq!(named.place("127.0.0.1"), "127.0.0.1, which `localhost` stands for here");
        assert_eq!(HttpTarget::parse("http://[::1]/").expect("parses").port, 80);
        assert_eq!(HttpTarget::parse("http://0.0.0.0:1/").expect("parses").addresses[0].to_string(), "127.0.0.1");
    }
}
