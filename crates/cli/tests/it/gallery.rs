//! `kiln gallery`: the folder that it writes, and its server. `tests/browser` has what people see.

use std::{collections::BTreeMap, fs, path::Path, time::SystemTime};

use serde_json::{Value, json};

use crate::{
    batch::runs,
    bench::{Bench, small},
    history::history,
    server::exchange,
    webhook::listening::{Listening, with_length},
};

fn generate(bench: &Bench, prompt: &str, output: &str) {
    bench.run(&small(&["generate", prompt, "-o", output, "--seed", "7"])).ok();
}

/// The items of the page, in its order.
fn items(folder: &Path) -> Vec<Value> {
    let script = fs::read_to_string(folder.join("data/0.js")).unwrap();
    let items = script.strip_prefix("receive(0,").and_then(|rest| rest.strip_suffix(",]);\n"));
    serde_json::from_str(&format!("{}]", items.unwrap())).unwrap()
}

fn named<'i>(items: &'i [Value], name: &str) -> &'i Value {
    items.iter().find(|item| item["name"] == name).unwrap()
}

/// The thumbnails, and when they were made.
fn thumbnails(folder: &Path) -> BTreeMap<String, SystemTime> {
    let files = fs::read_dir(folder.join("thumbnails")).unwrap().map(Result::unwrap);
    let files = files.map(|file| (file.file_name().into_string().unwrap(), file));
    let pictures = files.filter(|(name, _)| name.ends_with(".jpg"));
    pictures.map(|(name, file)| (name, file.metadata().unwrap().modified().unwrap())).collect()
}

#[test]
fn the_page_has_the_pictures_of_the_history_and_of_batches() {
    let bench = Bench::new();
    let [red, grey] = ["a <b>red</b> fox", "a grey fox"];
    bench.run(&small(&["generate", red, "-n", "2", "-o", "fox-{index}.{ext}"])).ok();
    bench.run("generate 'a fox [[content-moderated]]'").fails(5);
    runs::run(&bench, &[grey], &[]).ok();
    let written = bench.run("gallery -o page").ok();
    assert_eq!((written.text(), written.stderr.as_str()), ("page/index.html\n".to_owned(), ""));
    let folder = bench.place.path("page");
    let items = items(&folder);
    assert_eq!(items.len(), 4);
    let [one, two] = ["@1", "@2"].map(|name| named(&items, name));
    assert_eq!((&one["prompt"], &one["state"]), (&json!(red), &json!("saved")));
    assert_eq!((&one["group"], &one["argument"]), (&two["group"], &json!("@1")));
    assert_eq!((&one["size"], &one["credits"]), (&json!([64, 64]), &json!(3.0)));
    assert!(one["link"].as_str().unwrap().starts_with("file:///"), "{one}");
    assert_eq!(named(&items, "@3")["state"], "moderated");
    let job = items.iter().find(|item| item["prompt"] == grey).unwrap();
    let picture = bench.place.path("pictures/1.jpg").canonicalize().unwrap();
    assert_eq!(job["argument"], json!(picture));
    assert_eq!(job["group"][1], "the batch pictures");
    // No text of the data is markup.
    assert!(!fs::read_to_string(folder.join("data/0.js")).unwrap().contains("<b>"));
    assert_eq!(thumbnails(&folder).len(), 3);
    let event = bench.run("gallery --json").ok().json();
    assert_eq!(event["path"], json!(bench.place.state("gallery/index.html")));
}

#[test]
fn thumbnails_are_made_once_and_shared() {
    let bench = Bench::new();
    generate(&bench, "a fox", "one.png");
    bench.run("again @1 -o two.png").ok();
    runs::run(&bench, &["a wolf"], &[]).ok();
    bench.run("gallery -o page").ok();
    let folder = bench.place.path("page");
    let made = thumbnails(&folder);
    let digest = |item: &Value| item["sha256"].as_str().unwrap().to_owned();
    let page = items(&folder);
    let [one, two] = ["@1", "@2"].map(|name| named(&page, name));
    assert_eq!((digest(one), &one["thumbnail"]), (digest(two), &two["thumbnail"]));
    assert_eq!(one["thumbnail"], format!("thumbnails/{}-64x64.jpg", digest(one)));
    assert_eq!(made.len(), 2);
    // Reading the picture of the batch again would fail now.
    fs::remove_file(bench.place.path("one.png")).unwrap();
    fs::remove_file(bench.place.path("pictures/1.jpg")).unwrap();
    bench.run("gallery -o page").ok();
    assert_eq!(thumbnails(&folder), made);
    let states: Vec<_> = items(&folder).into_iter().map(|mut item| item["state"].take()).collect();
    assert_eq!(states.iter().filter(|state| **state == "deleted").count(), 2, "{states:?}");
    assert_eq!(items(&folder).iter().filter(|item| item["thumbnail"].is_null()).count(), 0);
}

#[test]
fn ledgers_that_cannot_be_read_are_named_on_the_page() {
    let bench = Bench::new();
    runs::run(&bench, &["a wolf"], &[]).ok();
    let ledger = bench.place.path("pictures/.kiln-batch.db").canonicalize().unwrap();
    fs::rename(bench.place.path("pictures"), bench.place.path("moved")).unwrap();
    let written = bench.run("gallery -o page").ok();
    let expected = format!("not shown: the batch in {}", ledger.display());
    written.says(&expected);
    let page = fs::read_to_string(bench.place.path("page/index.html")).unwrap();
    assert!(page.contains(&expected), "{page}");
}

#[test]
fn another_page_is_not_replaced() {
    let bench = Bench::new();
    bench.place.write("index.html", "<h1>My page</h1>");
    bench.run("gallery -o .").fails(1).says("its index.html is not a gallery");
    assert_eq!(bench.place.read("index.html"), b"<h1>My page</h1>");
}

#[test]
fn a_picture_is_known_by_its_content() {
    let bench = Bench::new();
    generate(&bench, "a fox", "fox.png");
    bench.place.write("copy.png", bench.place.read("fox.png"));
    fs::rename(bench.place.path("fox.png"), bench.place.path("renamed.png")).unwrap();
    for name in ["copy.png", "renamed.png"] {
        let shown = bench.run(&["show", name, "--json"]).ok().json();
        assert_eq!((&shown["number"], &shown["state"]), (&json!(1), &json!("saved")));
        assert_eq!(shown["path"], json!(bench.place.path(name)));
    }
    bench.run("again copy.png -o again.png").ok();
    assert_eq!(bench.last_request()["prompt"], "a fox");
    bench.place.write("other.png", crate::bench::png(64, 64));
    bench.run("show other.png").fails(2);
}

#[test]
fn a_deleted_file_is_said_to_be_deleted_and_can_be_fetched_again() {
    let bench = Bench::new();
    generate(&bench, "a fox", "fox.png");
    let picture = bench.place.read("fox.png");
    fs::remove_file(bench.place.path("fox.png")).unwrap();
    assert_eq!(history(&bench)[0]["state"], "deleted");
    assert!(bench.run("history").ok().text().contains("deleted"));
    let shown = bench.run("show @1").ok();
    assert!(shown.text().contains("deleted"), "{}", shown.text());
    let how = "`kiln task save @1 -o fox.png` fetches it again until 20";
    shown.says(how);
    bench.run("task save @1 -o fox.png").ok();
    assert_eq!(bench.place.read("fox.png"), picture);
    assert_eq!(history(&bench)[0]["state"], "saved");
    runs::run(&bench, &["a wolf"], &[]).ok();
    fs::remove_file(bench.place.path("pictures/1.jpg")).unwrap();
    let status = |json: &[&str]| {
        bench.run(&[&["batch", "status", "--ledger", "pictures", "--all"], json].concat()).ok()
    };
    assert!(status(&[]).text().contains("1.jpg (the file was deleted)"), "{}", status(&[]).text());
    assert_eq!(status(&["--json"]).json()["listed"][0]["deleted"], true);
}

/// Sends a request, and returns the status code and the body.
fn send(
    server: &Listening,
    method: &str,
    path: &str,
    headers: &[String],
    body: &str,
) -> (u16, String) {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let request = format!("{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n{body}");
    let (status, _, body) = exchange(server.address(), &request);
    (status, body)
}

#[test]
fn the_server_changes_only_what_its_own_page_asks_for() {
    let bench = Bench::new();
    generate(&bench, "a fox", "fox.png");
    generate(&bench, "a wolf", "wolf.png");
    let server = Listening::start(&mut bench.kiln("gallery --serve"));
    let address = server.address();
    let path = server.url.split_once(address).unwrap().1.to_owned();
    assert!(address.starts_with("127.0.0.1:") && path.len() == 34, "{}", server.url);
    let host = format!("Host: {address}");
    let get = |path: &str, host: &str| send(&server, "GET", path, &[host.to_owned()], "").0;
    let page = send(&server, "GET", &path, std::slice::from_ref(&host), "");
    assert!(page.0 == 200 && page.1.contains(" data-served"), "{}", page.0);
    assert_eq!(get(&format!("{path}data/0.js"), &host), 200);
    assert_eq!(get(&path, "Host: evil.example"), 403);
    let port = address.rsplit(':').next().unwrap();
    assert_eq!(get(&path, &format!("Host: evil.example:{port}")), 403);
    for hidden in ["/", "/data/0.js", &path.replace(&path[1..3], "zz"), &format!("{path}../x")] {
        assert_eq!(get(hidden, &host), 404, "{hidden}");
    }
    for outside in ["data/../index.html", "data/%2e%2e/index.html", "thumbnails/seen.json/.."] {
        assert_eq!(get(&format!("{path}{outside}"), &host), 404, "{outside}");
    }

    let folder = bench.place.state("gallery");
    let item = named(&items(&folder), "@1").clone();
    let change = json!({ "id": item["id"], "sha256": item["sha256"], "favourite": true });
    let post = |name: &str, origin: &str, change: &Value| {
        let kind = "Content-Type: application/json".to_owned();
        let origin = (!origin.is_empty()).then(|| format!("Origin: {origin}"));
        let headers: Vec<_> = [host.clone(), kind].into_iter().chain(origin).collect();
        let body = change.to_string();
        let headers = with_length(&headers, body.len());
        send(&server, "POST", &format!("{path}{name}"), &headers, &body)
    };
    for origin in ["", "null", "http://evil.example", "https://127.0.0.1"] {
        for name in ["favourite", "delete"] {
            assert_eq!(post(name, origin, &change).0, 403, "{name} {origin}");
        }
    }
    let own = format!("http://{address}");
    assert!(bench.place.path("fox.png").exists());
    assert_eq!(post("favourite", &own, &change).0, 200);
    let kept = fs::read(bench.place.state("favourites.json")).unwrap();
    let kept: Vec<String> = serde_json::from_slice(&kept).unwrap();
    assert_eq!(kept, [item["sha256"].as_str().unwrap()]);
    bench.run("gallery").ok();
    assert_eq!(named(&items(&folder), "@1")["favourite"], true);

    // Another picture than the page shows is not deleted.
    let wolf = bench.place.read("wolf.png");
    let other = json!({ "id": "2", "sha256": item["sha256"] });
    assert_eq!(post("delete", &own, &other).0, 409);
    assert_eq!(bench.place.read("wolf.png"), wolf);
    let (code, body) = post("delete", &own, &change);
    assert_eq!(code, 200, "{body}");
    assert!(body.contains("`kiln task save @1"), "{body}");
    assert!(!bench.place.path("fox.png").exists());
    assert_eq!(history(&bench)[1]["state"], "deleted");
}

#[test]
fn damaged_favourites_are_not_lost() {
    let bench = Bench::new();
    generate(&bench, "a fox", "fox.png");
    let file = bench.place.state("favourites.json");
    fs::write(&file, "[\"unfinished").unwrap();
    bench.run("gallery").fails(1).says("could not read the favourites");
    assert_eq!(fs::read(&file).unwrap(), b"[\"unfinished");
}
