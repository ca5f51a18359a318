//! Responses of delivery URLs, and which URLs may be fetched.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::LazyLock,
};

use imagekiln::{Address, FileKind, TaskRef, fuzzing};
use url::{Host, Url};

use crate::exchange::{CLIENT, KEY, SIGNATURE, assert_safe, reply, run};

/// A delivery is a whole picture or an error about the task. The content decides, and no header.
pub fn delivery(data: &[u8]) {
    let reply = reply(data);
    let task = TaskRef::new("t1", "http://api.example.com/v1/get_result?id=t1", None);
    let address = format!("http://cdn.example.com/fox.png?signature={SIGNATURE}");
    let body = reply.chunks.concat();
    let status = reply.status;
    let outcome = run(fuzzing::download(&CLIENT, &task, Address::from(address), reply));
    match outcome {
        Ok((kind, bytes)) => {
            assert_eq!(status, 200);
            assert!(body.starts_with(&bytes));
            assert_eq!(FileKind::of(&bytes), Some(kind));
            let extent = fuzzing::extent(&[&bytes]).0;
            use fuzzing::Extent::{Complete, Open};
            assert!(matches!(extent, Complete | Open), "{extent:?}");
        }
        Err(error) => {
            assert_eq!(error.task(), Some(&task));
            assert_safe(&error, &[KEY, SIGNATURE]);
        }
    }
}

/// Pictures come from public
/// addresses over http(s), without credentials. The key goes only over the scheme of its base, and
/// a path or a query changes neither.
pub fn hosts(data: &[u8]) {
    static BASES: LazyLock<[Url; 2]> = LazyLock::new(|| {
        ["https://api.example.com", "https://api.eu.example.co.uk"]
            .map(|base| Url::parse(base).expect("a URL"))
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
    for base in &*BASES {
        let is_fetched = fuzzing::may_deliver(base, &url);
        assert_eq!(is_fetched, fuzzing::may_deliver(base, &other), "{url}");
        if is_fetched.is_ok() {
            // The host of the base URL may deliver over http.
            let is_base = is_same_host(base, &url);
            assert!(url.scheme() == "https" || (is_base && url.scheme() == "http"), "{url}");
            assert!(url.username().is_empty() && url.password().is_none(), "{url}");
            assert!(is_public(&url), "{url}");
        }
        let has_key = fuzzing::may_receive_key(base, &url);
        assert_eq!(has_key, fuzzing::may_receive_key(base, &other), "{url}");
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
