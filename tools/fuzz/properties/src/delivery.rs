//! Responses of delivery URLs, and which URLs may be fetched.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::LazyLock,
};

use imagekiln::{Client, ErrorKind, FileKind, Picture, TaskRef};
use reqwest::header::{HeaderValue, LOCATION};
use serde_json::json;
use url::{Host, Url};

use crate::{
    exchange::{BASE, CLIENT, KEY, SIGNATURE, assert_safe, builder, has_secret, ok, response},
    pictures::extent,
    service::call,
    values::whole::Extent,
};

/// The host of polls without TLS.
const POLLS: &str = "polls.example.net";

/// A delivery is a whole picture or an error about the task. The content decides, and no header.
pub fn delivery(data: &[u8]) {
    static PICTURE: LazyLock<Picture> = LazyLock::new(|| {
        let address = format!("http://cdn.example.com/fox.png?signature={SIGNATURE}");
        picture(&CLIENT, BASE, &address).expect("the delivery URL is a URL")
    });
    let response = response(data);
    let (outcome, _) = call(&response, PICTURE.bytes());
    match outcome {
        Ok(bytes) => {
            assert_eq!(response.status, 200);
            // A compressed body is another one.
            let body = response.chunks.concat();
            assert!(body.starts_with(&bytes) || body.starts_with(&[0x1f, 0x8b]) || is_zlib(&body));
            assert!(FileKind::of(&bytes).is_some());
            let extent = extent(&[&bytes]).0;
            assert!(matches!(extent, Extent::Complete | Extent::Open), "{extent:?}");
        }
        Err(error) => {
            assert_eq!(error.task(), Some(PICTURE.task()));
            // An error names the scheme of a redirect, in lower case.
            let location = response.headers.get(LOCATION).map(HeaderValue::as_bytes);
            let location = String::from_utf8_lossy(location.unwrap_or_default());
            if has_secret(&location.to_ascii_lowercase()) {
                return;
            }
            assert_safe(&error, &[KEY, SIGNATURE]);
        }
    }
}

fn is_zlib(body: &[u8]) -> bool {
    body.first_chunk().is_some_and(|&[first, second]| {
        first & 0x0f == 8 && u16::from_be_bytes([first, second]) % 31 == 0
    })
}

/// Polls a task with a picture at `address`.
fn picture(client: &Client, base: &str, address: &str) -> Option<Picture> {
    let task = client.task(TaskRef::new("t1", format!("{base}/v1/get_result?id=t1"), None));
    let ready = json!({ "id": "t1", "status": "Ready", "result": { "sample": address } });
    let (update, _) = call(&ok(ready.to_string().as_bytes()), task.poll());
    update.ok()?.picture().cloned()
}

/// A base URL with https, and clients for it.
struct Rules {
    base: Url,
    client: Client,
    /// Also allowed to poll at [`POLLS`].
    polling: Client,
}

impl Rules {
    fn of(base: &str) -> Self {
        let builder = || builder().base_url(base).allow_http(true);
        let polling = builder().allow_polling_host(POLLS).build();
        Self {
            base: Url::parse(base).expect("a URL"),
            client: builder().build().expect("the settings are complete"),
            polling: polling.expect("the settings are complete"),
        }
    }

    /// Whether the client fetches a picture from `url`, and why not.
    fn may_deliver(&self, url: &Url) -> Result<(), String> {
        let picture = picture(&self.polling, &format!("http://{POLLS}"), url.as_str());
        let picture = picture.ok_or("it cannot be a delivery URL")?;
        let (outcome, sent) = call(&ok(b""), picture.bytes());
        match outcome.expect_err("it is not a picture") {
            error if error.kind() == ErrorKind::AddressRefused => {
                assert_eq!(sent.requests, 0, "{error}");
                Err(error.message())
            }
            _ => Ok(()),
        }
    }

    /// Whether the client sends its key to `url`.
    fn may_receive_key(&self, url: &Url) -> bool {
        let task = self.client.task(TaskRef::new("t1", url.as_str(), None));
        let (outcome, sent) = call(&ok(b""), task.poll());
        let error = outcome.expect_err("it is not an update");
        let is_withheld = error.kind() == ErrorKind::KeyWithheld;
        assert!(!is_withheld || sent.requests == 0, "{error}");
        !is_withheld
    }
}

/// Pictures come from public addresses over http(s), without credentials. The key goes only over
/// the scheme of its base, and a path or a query changes neither.
pub fn hosts(data: &[u8]) {
    static RULES: LazyLock<[Rules; 2]> = LazyLock::new(|| {
        ["https://api.example.com", "https://api.eu.example.co.uk"].map(Rules::of)
    });
    let Ok(url) =
        str::from_utf8(data).map_err(drop).and_then(|text| Url::parse(text).map_err(drop))
    else {
        return;
    };
    let other = {
        let mut url = url.clone();
        url.set_path("/other");
        url.set_query(Some("a=https://api.example.com"));
        url.set_fragment(Some("@api.example.com"));
        url
    };
    for rules in &*RULES {
        let base = &rules.base;
        let is_fetched = rules.may_deliver(&url);
        assert_eq!(is_fetched, rules.may_deliver(&other), "{url}");
        if is_fetched.is_ok() {
            // The host of the base URL may deliver over http.
            let is_base = is_same_host(base, &url);
            assert!(url.scheme() == "https" || (is_base && url.scheme() == "http"), "{url}");
            assert!(url.username().is_empty() && url.password().is_none(), "{url}");
            assert!(is_public(&url), "{url}");
        }
        let has_key = rules.may_receive_key(&url);
        assert_eq!(has_key, rules.may_receive_key(&other), "{url}");
        if has_key {
            assert_eq!(url.scheme(), "https", "{url}");
            let domain = base.host_str().and_then(|host| host.strip_prefix("api."));
            let domain = domain.map(|domain| domain.strip_prefix("eu.").unwrap_or(domain));
            let host = url.host_str().unwrap_or_default().trim_end_matches('.');
            assert!(domain.is_some_and(|domain| host.ends_with(domain)), "{url}");
        }
    }
}

fn is_same_host(one: &Url, other: &Url) -> bool {
    let host = |url: &Url| url.host_str().map(|host| host.trim_end_matches('.').to_owned());
    host(one) == host(other)
}

/// A weaker rule than that of the client.
fn is_public(url: &Url) -> bool {
    let v4 = |address: Ipv4Addr| {
        !(address.is_private()
            || address.is_loopback()
            || address.is_link_local()
            || address.is_unspecified()
            || address.is_broadcast()
            || address.is_multicast())
    };
    let v6 = |address: Ipv6Addr| {
        !(address.is_loopback()
            || address.is_unspecified()
            || address.is_multicast()
            || address.is_unique_local()
            || address.is_unicast_link_local())
    };
    match url.host() {
        None => false,
        Some(Host::Domain(name)) => name.trim_end_matches('.') != "localhost",
        Some(Host::Ipv4(address)) => v4(address),
        Some(Host::Ipv6(address)) => match IpAddr::V6(address).to_canonical() {
            IpAddr::V4(address) => v4(address),
            IpAddr::V6(address) => v6(address),
        },
    }
}
