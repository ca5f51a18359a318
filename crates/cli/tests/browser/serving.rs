//! The page of `kiln gallery --serve`: favourites, and files that are deleted after a question.

#[path = "../it/webhook/listening.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod listening;

use imagekiln_testbed::{
    Runtime, Trial,
    browser::{AXE, BROWSER, Browser, ENTER, assert_accessible},
};

use self::listening::Listening;
use super::gallery::{fill, with_bench};

pub fn tests() -> Vec<Trial> {
    let name = "serving::a_person_marks_favourites_and_deletes_files";
    let needs = &[BROWSER, AXE];
    vec![imagekiln_testbed::test(name, needs, Runtime::CurrentThread, async || {
        with_bench(|bench| {
            fill(bench);
            let server = Listening::start(&mut bench.kiln("gallery --serve"));
            let scene = Browser::with_reused(async |browser| {
                browser.open(&server.url).await;
                browser.wait("document.querySelector('.job img:not([hidden])')").await;
                serve(browser).await;
            });
            tokio::runtime::Runtime::new().unwrap().block_on(scene);
            assert!(!bench.place.path("wolf.png").exists());
            assert!(bench.place.path("fox-1.jpg").exists());
            let history = bench.run("history wolf --json").ok().json();
            assert_eq!(history["state"], "deleted");
        });
    })]
}

async fn open(browser: &Browser, words: &str) {
    browser
        .run(&format!(
            "form.elements.text.value = {words:?};
             form.dispatchEvent(new Event('input'));"
        ))
        .await;
    browser.click(".job .frame").await;
    browser.wait("document.querySelector('#detail').open").await;
}

/// Presses the button of the picture that starts with a text.
async fn act(browser: &Browser, text: &str) {
    let button = format!(
        "[...document.querySelectorAll('.actions button')]
             .find((button) => button.textContent.startsWith({text:?}))"
    );
    browser.wait(&button).await;
    browser.run(&format!("{button}.focus()")).await;
    browser.press(&[ENTER]).await;
}

async fn serve(browser: &Browser) {
    open(browser, "wolf").await;
    // The file comes from the server, too.
    browser.wait("document.querySelector('#detail-picture').src.includes('/picture/5')").await;
    act(browser, "☆").await;
    browser.wait("items[shown[0]].favourite").await;
    act(browser, "Delete").await;
    browser.wait("document.querySelector('#question').open").await;
    assert_accessible(browser, "the question").await;
    browser.click("#keep").await;
    assert_eq!(browser.run("return items[shown[0]].state").await, "saved");
    act(browser, "Delete").await;
    browser.click("#delete").await;
    browser.wait("items[shown[0]].state === 'deleted'").await;
    let text = browser.run("return document.querySelector('#detail-text').innerText").await;
    assert!(text.as_str().unwrap().contains("kiln task save @5"), "{text}");
    browser.click("#close").await;
    // Another load of the page has what was changed.
    browser.run("location.reload()").await;
    browser.wait("document.querySelector('.job .star:not([hidden])')").await;
    browser.run("form.reset()").await;
    browser.click("#favourites input").await;
    browser.wait("shown.length === 1 && items[shown[0]].state === 'deleted'").await;
    assert_accessible(browser, "the favourites").await;
    assert_eq!(browser.problems().await, Vec::<String>::new());
}
