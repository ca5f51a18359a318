//! Decides which IP addresses are public. Others may belong to the network of the machine that runs
//! the client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The IANA IPv4 special-purpose registry: network, prefix length, description.
const V4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "an unspecified address"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a shared address (carrier-grade NAT)"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback address"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local address"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "a documentation address"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "a benchmarking address"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "a documentation address"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "a documentation address"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (Ipv4Addr::BROADCAST, 32, "the broadcast address"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved address"),
];

/// The IANA IPv6 special-purpose registry. Addresses that match no row are public within `2000::/3`
/// and reserved outside of it.
const V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, "an unspecified address"),
    (Ipv6Addr::LOCALHOST, 128, "a loopback address"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "a private address"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "a link-local address"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "a private address"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "a multicast address"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "a reserved address"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "a documentation address"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "a documentation address"),
];

const GLOBAL: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0);
const NAT64: Ipv6Addr = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0);
const SIX_TO_FOUR: Ipv6Addr = Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0);

/// Returns why an address is not public, for example `a private address`.
pub(crate) fn reason_not_public(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

fn v4(address: Ipv4Addr) -> Option<&'static str> {
    let within =
        |network: Ipv4Addr, length| (address.to_bits() ^ network.to_bits()) >> (32 - length) == 0;
    V4.iter().find(|(network, length, _)| within(*network, *length)).map(|(_, _, reason)| *reason)
}

fn v6(address: Ipv6Addr) -> Option<&'static str> {
    let within = |network: Ipv6Addr, length: u32| {
        (address.to_bits() ^ network.to_bits()) >> (128 - length) == 0
    };
    // These two networks embed an IPv4 address, to which a gateway forwards.
    if within(NAT64, 96) {
        return v4(Ipv4Addr::from_bits(address.to_bits() as u32));
    }
    if within(SIX_TO_FOUR, 16) {
        return v4(Ipv4Addr::from_bits((address.to_bits() >> 80) as u32));
    }
    let listed = V6.iter().find(|(network, length, _)| within(*network, *length));
    match listed {
        Some((_, _, reason)) => Some(reason),
        None if within(GLOBAL, 3) => None,
        None => Some("a reserved address"),
    }
}

#[cfg(test)]
mod tests {
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
            let nat64 = Ipv6Addr::from_bits(NAT64.to_bits() | u128::from(bits));
            let six_to_four = Ipv6Addr::from_bits(SIX_TO_FOUR.to_bits() | u128::from(bits) << 80);
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
