//! Which model a server serves, where nobody says.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::address::Address;
use crate::http::{HttpError, Response};

/// A server that is ready answers this in no time.
const LIMIT: Duration = Duration::from_secs(30);
/// The longest list of models, in bytes.
const LONGEST: usize = 1 << 20;

/// The server does not say which model it serves.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// It cannot be asked.
    #[error("ask {url} which model it serves")]
    Ask {
        /// The address.
        url: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// What it answers is no HTTP.
    #[error("ask {url} which model it serves")]
    Http {
        /// The address.
        url: String,
        /// What is wrong with it.
        #[source]
        source: HttpError,
    },
    /// It answers with something else than a list of models.
    #[error("find a model in the answer of {url} (status {status}); name it: model = \"…\"")]
    None {
        /// The address.
        url: String,
        /// The status.
        status: u16,
    },
}

#[derive(Deserialize)]
struct Models {
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
}

/// Asks for the first model that the server lists.
pub(crate) fn first_model(address: &Address, key: Option<&str>) -> Result<String, DiscoverError> {
    let url = format!("http://{address}{}/v1/models", address.path);
    let (status, body) = get(address, &url, key)?;
    let models: Option<Models> = (status == 200).then(|| serde_json::from_slice(&body).ok()).flatten();
    models.and_then(|models| models.data.into_iter().next()).map(|model| model.id).ok_or(DiscoverError::None { url, status })
}

fn get(address: &Address, url: &str, key: Option<&str>) -> Result<(u16, Vec<u8>), DiscoverError> {
    let ask = |source| DiscoverError::Ask { url: url.to_owned(), source };
    let key = key.map_or_else(String::new, |key| format!("Authorization: Bearer {key}\r\n"));
    let request = format!(
        "GET {}/v1/models HTTP/1.1\r\nHost: {address}\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n{key}Connection: close\r\n\r\n",
        address.path
    );
    let deadline = Instant::now() + LIMIT;
    let mut stream = TcpStream::connect((address.host.as_str(), address.port)).map_err(ask)?;
    stream.set_write_timeout(Some(LIMIT)).map_err(ask)?;
    stream.write_all(request.as_bytes()).map_err(ask)?;
    let (mut response, mut body, mut buffer) = (Response::default(), Vec::new(), [0; 8192]);
    let http = |source| DiscoverError::Http { url: url.to_owned(), source };
    while !response.is_done() {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left)).map_err(ask)?;
        let length = stream.read(&mut buffer).map_err(ask)?;
        if length == 0 {
            response.close().map_err(http)?;
            break;
        }
        response.take(&buffer[..length], |_, data| body.extend_from_slice(data)).map_err(http)?;
        if body.len() > LONGEST {
            break;
        }
    }
    Ok((response.status().unwrap_or_default(), body))
}
