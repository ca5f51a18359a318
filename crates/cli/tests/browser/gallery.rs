//! The page of `kiln gallery` as a file: the pictures of commands and of a batch.

use std::{fs, thread};

use imagekiln_testbed::{
    Runtime, Trial,
    browser::{BROWSER, Browser, ENTER, ESCAPE, RIGHT},
    name_of,
};
use serde_json::json;

use super::bench::Bench;

pub fn tests() -> Vec<Trial> {
    vec![
        test(the_newest_picture_is_the_first),
        test(a_picture_has_its_facts_and_commands),
        test(a_picture_leads_to_what_it_was_made_from),
        test(two_pictures_of_one_size_have_a_slider),
        test(four_pictures_are_compared_side_by_side),
        test(more_data_is_loaded_when_it_is_needed),
    ]
}

/// Four foxes of one command, a wolf of another size, a lost owl, and two jobs of a batch.
pub fn fill(bench: &Bench) {
    let small = ["--width", "64", "--height", "64"];
    let generate = |words: &[&str]| bench.run(&[&["generate"], words].concat());
    generate(&[&["a fox", "-n", "4", "-o", "fox-{index}.{ext}"], &small[..]].concat()).ok();
    generate(&["a wolf at night", "-s", "96x64", "-o", "wolf.png"]).ok();
    generate(&[&["an owl", "-o", "owl.png"], &small[..]].concat()).ok();
    fs::remove_file(bench.place.path("owl.png")).unwrap();
    bench.place.write("jobs.txt", "a hare\na lynx\n");
    let run = ["batch", "run", "jobs.txt", "--output", "pictures", "--group", "anna"];
    bench.run(&[&run, &small[..]].concat()).ok();
}

/// A test with a bench, whose simulator has a runtime of its own.
pub fn with_bench(run: impl FnOnce(&Bench) + Send + 'static) {
    thread::spawn(|| run(&Bench::new())).join().unwrap();
}

fn test<S>(scene: S) -> Trial
where
    S: AsyncFnOnce(&Browser, &Bench) + Send + 'static,
{
    imagekiln_testbed::test(name_of(&scene), &[BROWSER], Runtime::CurrentThread, async || {
        with_bench(|bench| {
            fill(bench);
            let page = bench.run("gallery --json").ok().json();
            let url = format!("file://{}", page["path"].as_str().unwrap());
            tokio::runtime::Runtime::new().unwrap().block_on(Browser::with_reused(
                async |browser| {
                    browser.open(&url).await;
                    browser.wait("document.querySelector('.job img:not([hidden])')").await;
                    scene(browser, bench).await;
                    assert_eq!(browser.problems().await, Vec::<String>::new());
                },
            ));
        });
    })
}

async fn find(browser: &Browser, words: &str) -> serde_json::Value {
    browser
        .run(&format!(
            "form.elements.text.value = {words:?};
             form.dispatchEvent(new Event('input'));"
        ))
        .await;
    browser.wait("!document.querySelector('#count').textContent.startsWith('searching')").await;
    browser.run("return shown.map((position) => items[position].name)").await
}

async fn the_newest_picture_is_the_first(browser: &Browser, _: &Bench) {
    let names = browser.run("return items.map((item) => item.name)").await;
    let numbered: Vec<_> = names
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|name| name.as_str().unwrap().strip_prefix('@')?.parse::<u64>().ok())
        .collect();
    assert_eq!(numbered, [6, 5, 4, 3, 2, 1]);
    assert_eq!(names.as_array().unwrap().len(), 8);
    assert_eq!(find(browser, "wolf NIGHT").await, json!(["@5"]));
    assert_eq!(find(browser, "anna").await.as_array().unwrap().len(), 2);
    assert_eq!(find(browser, "deleted").await, json!(["@6"]));
    let lost = browser.run("return document.querySelector('.job').innerText").await;
    assert!(lost.as_str().unwrap().contains("the file was deleted"), "{lost}");
}

async fn a_picture_has_its_facts_and_commands(browser: &Browser, bench: &Bench) {
    assert_eq!(find(browser, "wolf").await, json!(["@5"]));
    browser.click(".job button").await;
    let file = bench.place.path("wolf.png").canonicalize().unwrap();
    browser.wait("document.querySelector('#detail-picture').src.endsWith('/wolf.png')").await;
    let text = browser.run("return document.querySelector('dialog').innerText").await;
    let digest = browser.run("return items[shown[0]].sha256").await;
    let task = &bench.simulator.tasks()[4].id;
    let facts = ["a wolf at night", "gen-2-pro", "credits", "96 × 64", task];
    for fact in facts.into_iter().chain([file.to_str().unwrap(), digest.as_str().unwrap()]) {
        assert!(text.as_str().unwrap().contains(fact), "{fact}: {text}");
    }
    let commands = browser
        .run("return [...document.querySelectorAll('code')].map((code) => code.textContent)")
        .await;
    assert_eq!(commands, json!(["kiln show @5", "kiln again @5", "kiln edit \"...\" @5"]));
    let permission = json!({ "permission": { "name": "clipboard-write" }, "setting": "granted" });
    browser.devtools("Browser.setPermission", permission).await;
    browser.tab_to(".command button").await;
    browser.press(&[ENTER]).await;
    browser
        .wait("document.querySelector('#announcement').textContent === 'copied kiln show @5'")
        .await;
    browser.press(&[ESCAPE]).await;
    // The four foxes of one command.
    find(browser, "").await;
    find(browser, "fox").await;
    browser.click(".job button").await;
    browser.click(".actions button").await;
    browser.wait("shown.length === 4").await;
}

async fn a_picture_leads_to_what_it_was_made_from(browser: &Browser, bench: &Bench) {
    bench.run("edit 'at dawn' @5 -o dawn.png --width 64 --height 64").ok();
    bench.run("gallery").ok();
    browser.run("location.reload()").await;
    browser.wait("items.filter(Boolean).length === 9").await;
    assert_eq!(find(browser, "dawn").await, json!(["@7"]));
    browser.click(".job button").await;
    let link = "[...document.querySelectorAll('.actions button')]
        .find((button) => button.textContent === 'Made from @5')";
    browser.wait(link).await;
    browser.run(&format!("{link}.click()")).await;
    let name = "document.querySelector('#detail-text .name')?.textContent";
    browser.wait(&format!("{name} === '@5'")).await;
}

/// Chooses what is shown, with the keyboard.
async fn compare(browser: &Browser, count: usize) {
    browser.tab_to(".job .frame").await;
    for index in 0..count {
        browser.tab_to(".pick input").await;
        browser.press(&[" "]).await;
        browser.wait(&format!("selected.size === {}", index + 1)).await;
        browser.press(&[RIGHT]).await;
    }
    browser.tab_to("#compare").await;
    browser.press(&[ENTER]).await;
    browser.wait("document.querySelector('#comparison').open").await;
}

async fn two_pictures_of_one_size_have_a_slider(browser: &Browser, _: &Bench) {
    find(browser, "fox").await;
    compare(browser, 2).await;
    let clip = "return getComputedStyle(document.querySelector('figure:last-child img')).clipPath";
    assert_eq!(browser.run(clip).await, "inset(0px 0px 0px 50%)");
    browser.tab_to("#split").await;
    browser.press(&[RIGHT, RIGHT]).await;
    assert_eq!(browser.run(clip).await, "inset(0px 0px 0px 51%)");
    // Both images are at the same place.
    let places = "const place = (image) => JSON.stringify(image.getBoundingClientRect());
         return new Set([...document.querySelectorAll('figure img')].map(place)).size";
    assert_eq!(browser.run(places).await, 1);
    let rows = "return [...document.querySelectorAll('#differences tbody th')]
         .map((row) => row.textContent)";
    assert_eq!(browser.run(rows).await, json!(["seed"]));
    browser.click("#slide input").await;
    assert_eq!(browser.run(places).await, 2);
    browser.press(&[ESCAPE]).await;
    browser.wait("!document.querySelector('#comparison').open").await;
}

async fn four_pictures_are_compared_side_by_side(browser: &Browser, _: &Bench) {
    find(browser, "saved").await;
    compare(browser, 4).await;
    let shown = "return [document.querySelectorAll('figure img').length,
         document.querySelector('#slide').hidden, document.querySelector('#split').hidden]";
    assert_eq!(browser.run(shown).await, json!([4, true, true]));
    browser.click("#leave").await;
    // A fifth picture takes the place of the first one.
    let fifth = "document.querySelectorAll('.pick input')[4].click();
         return [selected.size, document.querySelectorAll('.pick :checked').length]";
    assert_eq!(browser.run(fifth).await, json!([4, 4]));
    browser.click("#clear").await;
    browser.wait("document.querySelector('#selection').hidden").await;
}

async fn more_data_is_loaded_when_it_is_needed(browser: &Browser, bench: &Bench) {
    // A page of 1,200 pictures: the second chunk is loaded for what is on the screen.
    let folder = bench.place.state("gallery");
    let data = fs::read_to_string(folder.join("data/0.js")).unwrap();
    let item = data.strip_prefix("receive(0,[").unwrap().split(",{\"name\"").next().unwrap();
    let page = fs::read_to_string(folder.join("index.html")).unwrap();
    let tag = |index| format!("data-count=\"400\" data-source=\"data/{index}.js\"");
    let first = "data-count=\"8\" data-source=\"data/0.js\"";
    let scripts: Vec<_> = (1..4)
        .map(|index| {
            let items = vec![item; 400].join(",");
            fs::write(
                folder.join(format!("data/{index}.js")),
                format!("receive({index},[{items}])"),
            )
            .unwrap();
            format!("<script type=\"application/json\" {}></script>", tag(index))
        })
        .collect();
    let marker = format!("{first}></script>");
    assert!(page.contains(&marker));
    fs::write(
        folder.join("long.html"),
        page.replace(&marker, &(marker.clone() + &scripts.concat())),
    )
    .unwrap();
    browser.open(&format!("file://{}", folder.join("long.html").display())).await;
    browser.wait("document.querySelector('.job img:not([hidden])')").await;
    let loaded = "return chunks.map(({ first }) => Boolean(items[first]))";
    browser.wait("items[8]").await;
    assert_eq!(browser.run(loaded).await, json!([true, true, false, false]));
    browser.run("scrollTo(0, document.body.scrollHeight)").await;
    browser.wait("items[1207] && !document.querySelector('.loading')").await;
    assert_eq!(browser.run(loaded).await, json!([true, true, false, true]));
    assert_eq!(find(browser, "nothing has this").await, json!([]));
    assert_eq!(browser.run(loaded).await, json!([true, true, true, true]));
}
