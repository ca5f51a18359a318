//! The sheet on narrow screens, and in both colour schemes.

use imagekiln_testbed::{Trial, browser::Browser};
use serde_json::json;

use super::fixture::{self, Fixture, Shared};

/// The lowest contrast between text and its background that WCAG calls readable.
const READABLE: f64 = 4.5;

/// Returns the text, the colours and the contrast of the least readable text on the page.
const WORST: &str = r"
const parse = (colour) => colour.match(/[\d.]+/g).map(Number);
const background = (element) => {
    const [red, green, blue, alpha = 1] = parse(getComputedStyle(element).backgroundColor);
    return alpha > 0 ? [red, green, blue] : background(element.parentElement);
};
const luminance = (colour) => {
    const [red, green, blue] = colour.slice(0, 3).map((part) => part / 255)
        .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const contrast = (one, other) => {
    const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
};
const cards = [...document.querySelectorAll('.job')];
const walk = (root) => [root, ...root.querySelectorAll('*')];
const texts = [document.querySelector('header'), document.querySelector('form'),
    document.querySelector('dialog'), ...cards].flatMap(walk)
    .filter((element) => element.checkVisibility() && !element.matches('.unseen'))
    .filter((element) => [...element.childNodes]
        .some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== ''))
    .map((element) => [contrast(parse(getComputedStyle(element).color), background(element)),
        `${element.tagName}.${element.className} ${element.textContent.slice(0, 40)}`]);
texts.sort((a, b) => a[0] - b[0]);
return [texts.length, ...texts[0]];
";

pub fn tests(fixture: &Shared) -> Vec<Trial> {
    vec![
        fixture::test(fixture, both_colour_schemes_are_readable),
        fixture::test(fixture, a_narrow_screen_scrolls_only_downwards),
    ]
}

async fn both_colour_schemes_are_readable(browser: &Browser, _: &Fixture) {
    // These have all states.
    browser.run("form.elements.text.value = '50'; form.dispatchEvent(new Event('input'));").await;
    browser.click(".job button").await;
    let mut grounds = Vec::new();
    for colours in ["light", "dark"] {
        browser.prefer(colours).await;
        let ground = "getComputedStyle(document.documentElement).backgroundColor";
        let is_dark = format!("parseInt({ground}.match(/\\d+/)) < 128");
        browser.wait(&format!("({is_dark}) === {}", colours == "dark")).await;
        grounds.push(browser.run(&format!("return {ground}")).await);
        let worst = browser.run(WORST).await;
        assert!(worst[0].as_u64().unwrap() > 50, "{worst}");
        assert!(worst[1].as_f64().unwrap() >= READABLE, "{colours}: {worst}");
    }
    assert_ne!(grounds[0], grounds[1]);
}

async fn a_narrow_screen_scrolls_only_downwards(browser: &Browser, _: &Fixture) {
    browser.resize(360, 740).await;
    browser.wait("innerWidth === 360").await;
    let widths = "const page = document.documentElement;
         return [page.scrollWidth <= page.clientWidth, innerWidth]";
    assert_eq!(browser.run(widths).await, json!([true, 360]));
    // With unbroken text, and with a picture.
    for number in [10, 12] {
        browser.run(&format!("focusCard({number})")).await;
        browser.click(&format!(".job[data-index='{number}'] button")).await;
        let fits = "const dialog = document.querySelector('dialog');
             return [dialog, ...dialog.querySelectorAll('*')]
                 .filter((element) => element.getBoundingClientRect().right > innerWidth)
                 .map((element) => element.outerHTML)";
        assert_eq!(browser.run(fits).await, json!([]));
        browser.click("#close").await;
    }
    assert_eq!(browser.run(widths).await, json!([true, 360]));
}
