//! Which other hosts of a domain belong to the service itself.
//!
//! An equal registrable domain is not enough: below `modal.run` or `azure.com` each host may be
//! another customer's. So both hosts must be named like a provider's own, in words that
//! `docs/key-hosts.md` lists.

use url::Url;

use super::{
    Host,
    words::{ENVIRONMENTS, HOSTING, REGIONS, SERVICE},
};

/// A longer number after a word is more likely a customer's than a region's.
const MAX_DIGITS: usize = 2;

/// Whether both are, over https, hosts of one provider's own.
pub(super) fn are_siblings(base: &Url, other: &Url) -> bool {
    let own = |url: &Url| (url.scheme() == "https").then(|| Host::of(url)).flatten();
    match (own(base), own(other)) {
        (Some(Host::Name(ours)), Some(Host::Name(theirs))) => {
            let ours = OwnHost::parse(&ours);
            ours.is_some() && ours == OwnHost::parse(&theirs)
        }
        _ => false,
    }
}

/// A host that is named like a provider's own. Two that are equal here are siblings.
#[derive(Debug, PartialEq, Eq)]
struct OwnHost<'a> {
    domain: &'a str,
    environments: Vec<&'a str>,
}

impl<'a> OwnHost<'a> {
    fn parse(name: &'a str) -> Option<Self> {
        let registrable = psl::domain(name.as_bytes())?;
        // An unknown suffix (`.internal`) tells nothing about who owns the domains below it.
        if !registrable.suffix().is_known()
            || HOSTING.iter().any(|hosting| is_within(name, hosting))
        {
            return None;
        }
        let domain = str::from_utf8(registrable.as_bytes()).ok()?;
        let mut environments = Vec::new();
        if let Some(labels) = name.strip_suffix(domain)?.strip_suffix('.') {
            for label in labels.split('.') {
                environments.extend(own_label(label)?);
            }
        }
        environments.sort_unstable();
        Some(Self { domain, environments })
    }
}

/// The environments named in a label whose words are all known; none for any other label.
fn own_label(label: &str) -> Option<Vec<&str>> {
    let mut environments = Vec::new();
    let mut named = false;
    for word in label.split('-') {
        let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
        if word.is_empty() || word.len() - stem.len() > MAX_DIGITS {
            return None;
        }
        if ENVIRONMENTS.contains(stem) {
            environments.push(word);
        } else if !stem.is_empty() && !SERVICE.contains(stem) && !REGIONS.contains(stem) {
            return None;
        }
        named |= !stem.is_empty();
    }
    named.then_some(environments)
}

fn is_within(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};

    use super::*;
    use crate::transport::hosts::documented;

    fn siblings(one: &str, other: &str) -> bool {
        let url = |host: &str| Url::parse(&format!("https://{host}/")).unwrap();
        are_siblings(&url(one), &url(other))
    }

    #[test]
    fn the_documented_words_and_domains_are_those_of_the_code() {
        for (heading, list) in [
            ("Service words:", SERVICE),
            ("Region words:", REGIONS),
            ("Environment words:", ENVIRONMENTS),
            ("Hosting domains:", HOSTING),
        ] {
            let words: Vec<&str> = list.iter().collect();
            assert_eq!(documented::list(heading), words, "{heading}");
            assert!(words.is_sorted(), "{heading}");
        }
    }

    /// Fails when the public suffix list adds one of the domains, which can then be removed here.
    #[test]
    fn no_hosting_domain_is_listed_twice() {
        for domain in HOSTING.iter() {
            let below = format!("customer.{domain}");
            let registrable = psl::domain(below.as_bytes()).unwrap();
            assert_ne!(
                registrable.as_bytes(),
                below.as_bytes(),
                "{domain} is a public suffix by now"
            );
        }
    }

    #[test]
    fn an_own_name_is_made_of_known_words() {
        for (label, own) in [
            ("api", true),
            ("us1", true),
            ("us-east-1", true),
            ("gw02", true),
            ("v1", true),
            ("api-eu", true),
            ("acme", false),
            ("api-acme", false),
            ("model-abc", false),
            ("api-8000", false),
            ("us123", false),
            ("1", false),
            ("1api", false),
            ("", false),
            ("-", false),
            ("api-", false),
            ("api--eu", false),
            ("api_eu", false),
            ("xn--bcher-kva", false),
        ] {
            assert_eq!(own_label(label).is_some(), own, "{label}");
        }
    }

    fn own_name() -> impl Strategy<Value = String> {
        let word = select(SERVICE.iter().chain(REGIONS.iter()).collect::<Vec<_>>());
        let label =
            (prop::collection::vec((word, prop::option::of(0..100u32)), 1..3)).prop_map(|words| {
                let words = words.iter().map(|(word, number)| {
                    number.map_or_else(|| (*word).to_owned(), |number| format!("{word}{number}"))
                });
                words.collect::<Vec<_>>().join("-")
            });
        prop::collection::vec(label, 0..3).prop_map(|mut labels| {
            labels.push("example.com".to_owned());
            labels.join(".")
        })
    }

    proptest! {
        #[test]
        fn own_hosts_of_a_domain_are_siblings_both_ways(one in own_name(), other in own_name()) {
            prop_assert!(siblings(&one, &other) && siblings(&other, &one), "{} {}", one, other);
            let (upper, dotted) = (one.to_ascii_uppercase(), format!("{other}."));
            prop_assert!(siblings(&upper, &dotted));
        }

        #[test]
        fn a_foreign_label_anywhere_makes_a_stranger(own in own_name(), name in "[bcdfghjklmpqrtwxyz]{5,9}") {
            for stranger in [format!("{name}.{own}"), own.replace("example.com", &format!("{name}.example.com"))] {
                prop_assert!(!siblings(&own, &stranger) && !siblings(&stranger, &own), "{} {}", own, stranger);
                prop_assert!(!siblings(&stranger, &stranger));
            }
        }

        #[test]
        fn hosts_of_another_domain_are_strangers(own in own_name()) {
            for other in ["example.net", "evilexample.com", "example.com.evil.com", "example.co.uk"] {
                prop_assert!(!siblings(&own, &own.replace("example.com", other)), "{} {}", own, other);
            }
        }

        #[test]
        fn below_a_hosting_domain_there_are_no_siblings(own in own_name(), domain in select(HOSTING.iter().collect::<Vec<_>>())) {
            let hosted = own.replace("example.com", domain);
            prop_assert!(!siblings(&hosted, &hosted), "{}", hosted);
        }
    }
}
