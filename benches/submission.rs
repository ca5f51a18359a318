//! What a submission costs over bare reqwest, as ratios within one run: a small request, and eight
//! images of 8 MB.
//!
//! The server has a thread of its own, and the client another. Rounds of both alternate, and the
//! median counts, because machines are noisy. On Linux the client's thread tells the time that it
//! computed, which leaves out waiting for the server. The bare client does what every careful one
//! would: it serialises the request, sends the key, and looks for the id in the response.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use imagekiln::{Client, types::Gen2Pro};
use serde_json::Value;
use tokio::{runtime, time::Instant};

const ROUNDS: usize = 15;
const SMALL_SUBMISSIONS: u32 = 2_000;
const UPLOADS: u32 = 4;
const IMAGE: usize = 8_000_000;

const RESPONSE: &str = concat!(
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 94\r\n\r\n",
    r#"{"id":"f7a1c9","polling_url":"http://127.0.0.1/v1/get_result?id=f7a1c9","cost":4,"input_mp":0}"#,
);

fn main() {
    let server = serve();
    let runtime = runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let bare =
            Bare { http: reqwest::Client::new(), url: format!("http://{server}/v1/gen-2-pro") };
        let client = Client::builder().api_key("key").base_url(format!("http://{server}"));
        let client = client.build().expect("the settings are complete");
        compare(&bare, &client, "small", SMALL_SUBMISSIONS, &|| {
            Gen2Pro::new("a red fox in the snow").width(1024).height(768).seed(7)
        })
        .await;
        let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &vec![7; IMAGE]].concat();
        let png = bytes::Bytes::from(png);
        compare(&bare, &client, "eight images of 8 MB", UPLOADS, &|| {
            Gen2Pro::new("a red fox in the snow")
                .input_image(png.clone())
                .input_image_2(png.clone())
                .input_image_3(png.clone())
                .input_image_4(png.clone())
                .input_image_5(png.clone())
                .input_image_6(png.clone())
                .input_image_7(png.clone())
                .input_image_8(png.clone())
        })
        .await;
    });
}

struct Bare {
    http: reqwest::Client,
    url: String,
}

impl Bare {
    async fn submit(&self, body: bytes::Bytes) -> String {
        let request = self.http.post(&self.url).header("x-key", "key").body(body);
        let request = request.header("content-type", "application/json");
        let response = request.send().await.and_then(reqwest::Response::error_for_status);
        let body = response.expect("the server answers").bytes().await.expect("a whole response");
        let document: Value = serde_json::from_slice(&body).expect("JSON");
        document["id"].as_str().expect("an id").to_owned()
    }
}

async fn compare(
    bare: &Bare,
    client: &Client,
    what: &str,
    count: u32,
    request: &dyn Fn() -> Gen2Pro,
) {
    // A large body is ready beforehand: that is the least that an upload can cost.
    let ready = serde_json::to_vec(&request()).expect("it serialises");
    let ready = (ready.len() > 1_000_000).then(|| bytes::Bytes::from(ready));
    let (mut of_bare, mut of_sdk) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let started = Mark::now();
        for _ in 0..count {
            let serialised = || serde_json::to_vec(&request()).expect("it serialises").into();
            bare.submit(ready.clone().unwrap_or_else(serialised)).await;
        }
        of_bare.push(started.elapsed(count));
        let started = Mark::now();
        for _ in 0..count {
            let _task = client.submit(request()).await.expect("it is accepted");
        }
        of_sdk.push(started.elapsed(count));
    }
    for (index, measure) in ["elapsed", "computed"].into_iter().enumerate() {
        let [bare, sdk] =
            [&of_bare, &of_sdk].map(|rounds| median(rounds.iter().map(|round| round[index])));
        let ratio = sdk.as_secs_f64() / bare.as_secs_f64();
        println!("{what}, {measure}: bare {bare:.1?}, imagekiln {sdk:.1?}, ratio {ratio:.2}");
    }
}

/// A point in time, and how long this thread had computed by then.
struct Mark(Instant, Duration);

impl Mark {
    fn now() -> Self {
        // Elsewhere nothing tells, and the ratio is not a number.
        let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let nanoseconds = text.split(' ').next().and_then(|first| first.parse().ok());
        Self(Instant::now(), Duration::from_nanos(nanoseconds.unwrap_or_default()))
    }

    /// Elapsed and computed, for one submission.
    fn elapsed(&self, count: u32) -> [Duration; 2] {
        let now = Self::now();
        [(now.0 - self.0) / count, (now.1 - self.1) / count]
    }
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Accepts every submission, on threads of its own.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound listener has an address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    address
}

fn answer(mut stream: TcpStream) {
    let mut buffer = vec![0; 1 << 20];
    let mut head = Vec::new();
    stream.set_nodelay(true).expect("a TCP stream");
    loop {
        let end = loop {
            if let Some(at) = head.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(read) => head.extend_from_slice(&buffer[..read]),
            }
        };
        let text = String::from_utf8_lossy(&head[..end]).to_ascii_lowercase();
        let length = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        let length: usize = length.and_then(|length| length.parse().ok()).expect("a length");
        let mut left = length - (head.len() - end).min(length);
        while left > 0 {
            match stream.read(&mut buffer[..left.min(1 << 20)]) {
                Ok(0) | Err(_) => return,
                Ok(read) => left -= read,
            }
        }
        head.clear();
        if stream.write_all(RESPONSE.as_bytes()).is_err() {
            return;
        }
    }
}
