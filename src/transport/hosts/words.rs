//! The words and domains of the sibling rule, sorted. `docs/key-hosts.md` has the same lists, and a
//! test compares them.

/// Words that providers use to name the hosts of their own APIs.
pub(super) const SERVICE: Words = Words(
    "\
    api apis edge gateway gen generate global gw image images inference job jobs poll polling \
    polls prod production queue region regional result results service services task tasks v",
);

/// Words for regions, countries with data centers, and directions.
pub(super) const REGIONS: Words = Words(
    "\
    ae af africa america americas ap apac asia at au be br ca central ch cn de dk east emea es eu \
    europe euwest fi fr gb hk id ie il in it jp kr latam me mx na nl no north northeast northwest \
    nz oceania pl sa se sg south southeast southwest uk us useast uswest west za",
);

/// Words for environments. Siblings must have the same environments, so that a key stays within its
/// environment.
pub(super) const ENVIRONMENTS: Words = Words("beta dev preview sandbox staging test");

/// Domains whose hosts belong to customers and that are not in the public suffix list.
pub(super) const HOSTING: Words = Words(
    "\
    alicloudapi.com amazonaws.com apigee.net appdomain.cloud azure.com azurecontainerapps.io \
    azuredatabricks.net b-cdn.net baseten.co beam.cloud bore.pub databricksapps.com devtunnels.ms \
    e2b.dev fcapp.run github.dev gitpod.io glitch.me gradio.app gradio.live huggingface.cloud \
    koyeb.app lepton.run lhr.life litng.ai loca.lt localhost.run localtunnel.me modal.host \
    modal.run mybluemix.net nip.io octoai.run oraclecloud.com ovh.net paperspacegradient.com \
    pinggy.io pinggy.link pipedream.net railway.app replicate.delivery runpod.ai runpod.net \
    salad.cloud scw.cloud serveo.net sslip.io tcloudbase.com tencentcs.com traefik.me windows.net \
    zrok.io",
);

/// A list of words separated by single spaces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words(&'static str);

impl Words {
    pub(super) fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.split(' ')
    }

    pub(super) fn contains(self, word: &str) -> bool {
        self.iter().any(|known| known == word)
    }
}
