//! Decides where the key may be sent. `docs/key-hosts.md` explains the rule.

use url::Url;

use super::{AllowedHost, Host, is_loopback, same_origin};

/// The hosts that may receive the key: those of the base URLs, their siblings at the same provider,
/// and the hosts that the user allowed.
#[derive(Debug, Clone)]
pub(crate) struct KeyOrigins {
    pub(crate) bases: Vec<Url>,
    pub(crate) allowed: Vec<AllowedHost>,
    pub(crate) allow_http: bool,
}

impl KeyOrigins {
    pub(crate) fn may_receive_key(&self, url: &Url) -> bool {
        let scheme_is_safe = match url.scheme() {
            "https" => true,
            "http" => self.allow_http || is_loopback(url),
            _ => false,
        };
        self.bases.iter().any(|base| same_origin(base, url) || are_siblings(base, url))
            || scheme_is_safe && self.allowed.iter().any(|allowed| allowed.matches(url))
    }
}

// The words and domains of the rule in `docs/key-hosts.md`, sorted and separated by single spaces.

/// Words that providers use to name the hosts of their own APIs.
const SERVICE: &str = "\
    api apis edge gateway gen generate global gw image images inference job jobs poll polling \
    polls prod production queue region regional result results service services task tasks v";

/// Words for regions, countries with data centers, and directions.
const REGIONS: &str = "\
    ae af africa america americas ap apac asia at au be br ca central ch cn de dk east emea es eu \
    europe euwest fi fr gb hk id ie il in it jp kr latam me mx na nl no north northeast northwest \
    nz oceania pl sa se sg south southeast southwest uk us useast uswest west za";

/// Words for environments. Siblings must have the same environments, so that a key for one
/// environment, such as `staging`, is not sent to another one.
const ENVIRONMENTS: &str = "beta dev preview sandbox staging test";

/// Domains below which each host may belong to a different customer, and that are not in the public
/// suffix list.
const HOSTING: &str = "\
    alicloudapi.com amazonaws.com apigee.net appdomain.cloud azure.com azurecontainerapps.io \
    azuredatabricks.net b-cdn.net baseten.co beam.cloud bore.pub databricksapps.com devtunnels.ms \
    e2b.dev fcapp.run github.dev gitpod.io glitch.me gradio.app gradio.live huggingface.cloud \
    koyeb.app lepton.run lhr.life litng.ai loca.lt localhost.run localtunnel.me modal.host \
    modal.run mybluemix.net nip.io octoai.run oraclecloud.com ovh.net paperspacegradient.com \
    pinggy.io pinggy.link pipedream.net railway.app replicate.delivery runpod.ai runpod.net \
    salad.cloud scw.cloud serveo.net sslip.io tcloudbase.com tencentcs.com traefik.me windows.net \
    zrok.io";

/// The maximum number of digits after a word. A longer number usually identifies a customer, not a
/// region.
const MAX_DIGITS: usize = 2;

/// Whether both URLs use https and their hosts belong to the same provider.
fn are_siblings(base: &Url, other: &Url) -> bool {
    let host_name = |url: &Url| (url.scheme() == "https").then(|| Host::of(url)).flatten();
    match (host_name(base), host_name(other)) {
        (Some(Host::Name(ours)), Some(Host::Name(theirs))) => {
            let ours = ProviderHost::parse(&ours);
            ours.is_some() && ours == ProviderHost::parse(&theirs)
        }
        _ => false,
    }
}

/// A host whose name below its domain consists of words that providers use for their own hosts. Two
/// hosts with equal values are siblings.
#[derive(Debug, PartialEq, Eq)]
struct ProviderHost<'a> {
    domain: &'a str,
    environments: Vec<&'a str>,
}

impl<'a> ProviderHost<'a> {
    fn parse(name: &'a str) -> Option<Self> {
        let registrable = psl::domain(name.as_bytes())?;
        // For an unknown suffix such as `.internal`, it is not known who owns the domains below it.
        if !registrable.suffix().is_known()
            || HOSTING.split(' ').any(|hosting| is_within(name, hosting))
        {
            return None;
        }
        let domain = str::from_utf8(registrable.as_bytes()).ok()?;
        let mut environments = Vec::new();
        if let Some(labels) = name.strip_suffix(domain)?.strip_suffix('.') {
            for label in labels.split('.') {
                environments.extend(environments_in(label)?);
            }
        }
        environments.sort_unstable();
        Some(Self { domain, environments })
    }
}

/// Returns the environments in one label of a host name, such as `staging` in `api-staging`. `None`
/// if the label contains an unknown word.
fn environments_in(label: &str) -> Option<Vec<&str>> {
    let mut environments = Vec::new();
    let mut has_word = false;
    for word in label.split('-') {
        let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
        if word.is_empty() || word.len() - stem.len() > MAX_DIGITS {
            return None;
        }
        let is_in = |list: &str| list.split(' ').any(|known| known == stem);
        if is_in(ENVIRONMENTS) {
            environments.push(word);
        } else if !stem.is_empty() && !is_in(SERVICE) && !is_in(REGIONS) {
            return None;
        }
        has_word |= !stem.is_empty();
    }
    has_word.then_some(environments)
}

fn is_within(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::select};

    use super::*;
    use crate::transport::hosts::{cases, documented};

    fn allows(base: &str, allowed: &[&str], allow_http: bool, url: &str) -> bool {
        let allowed = allowed.iter().map(|host| AllowedHost::parse(host).unwrap()).collect();
        KeyOrigins { bases: vec![Url::parse(base).unwrap()], allowed, allow_http }
            .may_receive_key(&Url::parse(url).unwrap())
    }

    #[test]
    fn the_documented_table_has_cases_of_this_module() {
        documented::is_part_of("| base | polling URL | key |", cases::KEY);
    }

    #[test]
    fn only_the_service_and_its_siblings_receive_the_key() {
        for &(base, polled, expected) in cases::KEY {
            assert_eq!(allows(base, &[], false, polled), expected, "{base} {polled}");
            if base.starts_with("https://") && !documented::same_host(base, polled) {
                assert_eq!(
                    allows(polled, &[], false, base),
                    expected,
                    "{polled} {base} (reversed)"
                );
            }
        }
    }

    #[test]
    fn allowed_hosts_receive_the_key_over_https_or_loopback() {
        let base = "https://api.example.com";
        for (allowed, url, with_http, expected) in [
            ("Polls.Other.net", "https://polls.other.net/x", false, true),
            ("polls.other.net", "http://polls.other.net/x", false, false),
            ("polls.other.net", "http://polls.other.net/x", true, true),
            ("other.net", "https://polls.other.net/x", true, false),
            ("127.0.0.1:9000", "http://127.0.0.1:9000/x", false, true),
            ("localhost:9000", "http://127.0.0.1:9000/x", false, true),
            ("127.0.0.1:9000", "http://127.0.0.1:9001/x", true, false),
            ("10.0.0.7", "http://10.0.0.7/x", false, false),
            ("10.0.0.7", "http://10.0.0.7/x", true, true),
            ("polls.other.net", "ftp://polls.other.net/x", true, false),
        ] {
            assert_eq!(
                allows(base, &[allowed], with_http, url),
                expected,
                "{allowed} {url} {with_http}"
            );
        }
    }

    #[test]
    fn allowing_http_does_not_allow_other_hosts() {
        assert!(!allows("https://api.example.com", &[], true, "http://api.example.com"));
        assert!(!allows("http://api.example.com", &[], true, "http://us1.example.com"));
        assert!(!allows("http://api.example.com", &[], true, "https://us1.example.com"));
        assert!(allows("http://api.example.com", &[], true, "http://api.example.com/x"));
    }

    fn siblings(one: &str, other: &str) -> bool {
        let url = |host: &str| Url::parse(&format!("https://{host}/")).unwrap();
        are_siblings(&url(one), &url(other))
    }

    #[test]
    fn the_words_and_domains_are_sorted() {
        for list in [SERVICE, REGIONS, ENVIRONMENTS, HOSTING] {
            assert!(list.split(' ').is_sorted(), "{list}");
        }
    }

    /// If this fails, the public suffix list has added a domain, which can then be removed from the
    /// list here.
    #[test]
    fn no_hosting_domain_is_a_public_suffix() {
        for domain in HOSTING.split(' ') {
            let below = format!("customer.{domain}");
            let registrable = psl::domain(below.as_bytes()).unwrap();
            assert_ne!(registrable.as_bytes(), below.as_bytes(), "{domain} is now a public suffix");
        }
    }

    #[test]
    fn a_provider_name_consists_of_known_words() {
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
            assert_eq!(environments_in(label).is_some(), own, "{label}");
        }
    }

    fn provider_name() -> impl Strategy<Value = String> {
        let word = select(SERVICE.split(' ').chain(REGIONS.split(' ')).collect::<Vec<_>>());
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
        fn provider_hosts_of_a_domain_are_siblings(
            one in provider_name(),
            other in provider_name(),
        ) {
            prop_assert!(siblings(&one, &other) && siblings(&other, &one), "{} {}", one, other);
            let (upper, dotted) = (one.to_ascii_uppercase(), format!("{other}."));
            prop_assert!(siblings(&upper, &dotted));
        }

        #[test]
        fn an_unknown_label_makes_a_host_foreign(
            own in provider_name(),
            name in "[bcdfghjklmpqrtwxyz]{5,9}",
        ) {
            let inner = own.replace("example.com", &format!("{name}.example.com"));
            for foreign in [format!("{name}.{own}"), inner] {
                prop_assert!(!siblings(&own, &foreign), "{} {}", own, foreign);
                prop_assert!(!siblings(&foreign, &own), "{} {}", foreign, own);
                prop_assert!(!siblings(&foreign, &foreign));
            }
        }

        #[test]
        fn hosts_of_other_domains_are_not_siblings(own in provider_name()) {
            for other in
                ["example.net", "evilexample.com", "example.com.evil.com", "example.co.uk"]
            {
                let foreign = own.replace("example.com", other);
                prop_assert!(!siblings(&own, &foreign), "{} {}", own, other);
            }
        }

        #[test]
        fn hosts_below_a_hosting_domain_are_not_siblings(
            own in provider_name(),
            domain in select(HOSTING.split(' ').collect::<Vec<_>>()),
        ) {
            let hosted = own.replace("example.com", domain);
            prop_assert!(!siblings(&hosted, &hosted), "{}", hosted);
        }
    }
}
