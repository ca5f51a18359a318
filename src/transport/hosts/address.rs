//! Decides which IP addresses are public. A delivery URL with any other address could make the
//! client send requests into the private network of the machine on which it runs.

use std::net::{IpAddr, Ipv4Addr};

/// The networks of the IANA special-purpose registries for IPv4 and IPv6, with the words for error
/// messages. Every other IPv4 address is public. Every other IPv6 address is public if it is within
/// [`GLOBAL`].
const SPECIAL: &[(&str, &[&str])] = &[
    ("an unspecified address", &["0.0.0.0/8", "::/128"]),
    ("a loopback address", &["127.0.0.0/8", "::1/128"]),
    ("a private address", &["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]),
    ("a private address", &["fc00::/7", "fec0::/10"]),
    ("a shared address (carrier-grade NAT)", &["100.64.0.0/10"]),
    ("a link-local address", &["169.254.0.0/16", "fe80::/10"]),
    ("a documentation address", &["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"]),
    ("a documentation address", &["2001:db8::/32", "3fff::/20"]),
    ("a benchmarking address", &["198.18.0.0/15"]),
    ("a multicast address", &["224.0.0.0/4", "ff00::/8"]),
    ("the broadcast address", &["255.255.255.255/32"]),
    ("a reserved address", &["192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4", "2001::/23"]),
];

const GLOBAL: &str = "2000::/3";

// Addresses in these two networks contain an IPv4 address, to which a gateway forwards the packets.
const NAT64: &str = "64:ff9b::/96";
const SIX_TO_FOUR: &str = "2002::/16";

/// Returns why an address is not public, for example `a private address`. `None` if it is public.
pub(crate) fn reason_not_public(address: IpAddr) -> Option<&'static str> {
    let address = match address.to_canonical() {
        IpAddr::V6(outer) if is_within(outer.into(), NAT64) => {
            Ipv4Addr::from_bits(outer.to_bits() as u32).into()
        }
        IpAddr::V6(outer) if is_within(outer.into(), SIX_TO_FOUR) => {
            Ipv4Addr::from_bits((outer.to_bits() >> 80) as u32).into()
        }
        address => address,
    };
    let listed = SPECIAL
        .iter()
        .find(|(_, networks)| networks.iter().any(|network| is_within(address, network)));
    match listed {
        Some((reason, _)) => Some(reason),
        None if address.is_ipv4() || is_within(address, GLOBAL) => None,
        None => Some("a reserved address"),
    }
}

/// Whether the address is in a network such as `10.0.0.0/8`.
fn is_within(address: IpAddr, network: &str) -> bool {
    let parsed = network.split_once('/').and_then(|(first, length)| {
        Some((first.parse::<IpAddr>().ok()?, length.parse::<u32>().ok()?))
    });
    match (address, parsed) {
        (IpAddr::V4(address), Some((IpAddr::V4(first), length))) => {
            (address.to_bits() ^ first.to_bits()) >> (32 - length) == 0
        }
        (IpAddr::V6(address), Some((IpAddr::V6(first), length))) => {
            (address.to_bits() ^ first.to_bits()) >> (128 - length) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use proptest::prelude::*;

    use super::*;

    fn reason(address: &str) -> Option<&'static str> {
        reason_not_public(address.parse().unwrap())
    }

    #[test]
    fn special_networks_are_refused_up_to_their_bounds() {
        for (before, first, last, after, kind) in [
            (None, "0.0.0.0", "0.255.255.255", Some("1.0.0.0"), "unspecified"),
            (Some("9.255.255.255"), "10.0.0.0", "10.255.255.255", Some("11.0.0.0"), "private"),
            (
                Some("100.63.255.255"),
                "100.64.0.0",
                "100.127.255.255",
                Some("100.128.0.0"),
                "shared",
            ),
            (
                Some("126.255.255.255"),
                "127.0.0.0",
                "127.255.255.255",
                Some("128.0.0.0"),
                "loopback",
            ),
            (
                Some("169.253.255.255"),
                "169.254.0.0",
                "169.254.255.255",
                Some("169.255.0.0"),
                "link-local",
            ),
            (Some("172.15.255.255"), "172.16.0.0", "172.31.255.255", Some("172.32.0.0"), "private"),
            (Some("191.255.255.255"), "192.0.0.0", "192.0.0.255", Some("192.0.1.0"), "reserved"),
            (Some("192.0.1.255"), "192.0.2.0", "192.0.2.255", Some("192.0.3.0"), "documentation"),
            (
                Some("192.88.98.255"),
                "192.88.99.0",
                "192.88.99.255",
                Some("192.88.100.0"),
                "reserved",
            ),
            (
                Some("192.167.255.255"),
                "192.168.0.0",
                "192.168.255.255",
                Some("192.169.0.0"),
                "private",
            ),
            (
                Some("198.17.255.255"),
                "198.18.0.0",
                "198.19.255.255",
                Some("198.20.0.0"),
                "benchmarking",
            ),
            (
                Some("198.51.99.255"),
                "198.51.100.0",
                "198.51.100.255",
                Some("198.51.101.0"),
                "documentation",
            ),
            (
                Some("203.0.112.255"),
                "203.0.113.0",
                "203.0.113.255",
                Some("203.0.114.0"),
                "documentation",
            ),
            (Some("223.255.255.255"), "224.0.0.0", "239.255.255.255", None, "multicast"),
            (None, "240.0.0.0", "255.255.255.254", None, "reserved"),
            (None, "255.255.255.255", "255.255.255.255", None, "broadcast"),
            (None, "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, "private"),
            (None, "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, "link-local"),
            (None, "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None, "multicast"),
            (None, "2001::", "2001:1ff:ffff::1", Some("2001:200::"), "reserved"),
            (
                Some("2001:db7:ffff::"),
                "2001:db8::",
                "2001:db8:ffff::1",
                Some("2001:db9::"),
                "documentation",
            ),
            (
                Some("3ffe:ffff::"),
                "3fff::",
                "3fff:fff:ffff::1",
                Some("3fff:1000::"),
                "documentation",
            ),
        ] {
            for address in [first, last] {
                assert!(
                    reason(address).is_some_and(|reason| reason.contains(kind)),
                    "{address} {kind}"
                );
            }
            for address in [before, after].into_iter().flatten() {
                assert_eq!(reason(address), None, "{address}");
            }
        }
    }

    /// A network with a typing error would never match, so its addresses would count as public.
    #[test]
    fn every_network_is_refused() {
        for network in SPECIAL.iter().flat_map(|(_, networks)| *networks) {
            let (first, _) = network.split_once('/').unwrap();
            assert!(reason(first).is_some(), "{network}");
        }
    }

    #[test]
    fn embedded_addresses_are_checked() {
        for (address, kind) in [
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("::ffff:169.254.169.254", "link-local"),
            ("::ffff:10.0.0.7", "private"),
            ("::10.0.0.7", "reserved"),
            ("::8.8.8.8", "reserved"),
            ("::ffff:0:10.0.0.7", "reserved"),
            ("64:ff9b::10.0.0.7", "private"),
            ("64:ff9b::169.254.169.254", "link-local"),
            ("64:ff9b:1::8.8.8.8", "reserved"),
            ("2002:a9fe:a9fe::1", "link-local"),
            ("2002:7f00:1::", "loopback"),
            ("4000::1", "reserved"),
            ("100::1", "reserved"),
        ] {
            assert!(
                reason(address).is_some_and(|reason| reason.contains(kind)),
                "{address} {kind}"
            );
        }
        for address in
            ["8.8.8.8", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1", "2606:4700::1111"]
        {
            assert_eq!(reason(address), None, "{address}");
        }
    }

    proptest! {
        /// An embedded IPv4 address is classified like the address itself, regardless of the
        /// embedding.
        #[test]
        fn an_embedded_address_is_classified_like_the_address_itself(bits: u32) {
            let inner = Ipv4Addr::from_bits(bits);
            let verdict = reason_not_public(inner.into());
            let nat64 = Ipv6Addr::from_bits(0x64_ff9b << 96 | u128::from(bits));
            let six_to_four = Ipv6Addr::from_bits(0x2002 << 112 | u128::from(bits) << 80);
            for wrapped in [inner.to_ipv6_mapped(), nat64, six_to_four] {
                prop_assert_eq!(reason_not_public(wrapped.into()), verdict);
            }
        }

        /// The predicates of the standard library agree that public addresses are not special.
        #[test]
        fn public_addresses_are_neither_private_nor_local(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            if reason_not_public(address.into()).is_none() {
                let special = address.is_private()
                    || address.is_loopback()
                    || address.is_link_local()
                    || address.is_multicast()
                    || address.is_broadcast()
                    || address.is_documentation()
                    || address.is_unspecified();
                prop_assert!(!special);
            }
        }
    }
}
