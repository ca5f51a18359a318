//! Compares the cost of a submission with bare reqwest, as ratios within one run: a small request,
//! and eight images of 8 MB.
//!
//! The server and the client run on separate threads. Rounds of both clients alternate, and the
//! median is reported, because machines are noisy. On Linux, the benchmark also reports the CPU
//! time of the client's thread, which excludes waiting for the server. The bare client does the
//! minimum that a careful client does: it serializes the request, sends the key, and reads the id
//! from the response.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use serde_json::Value;
use tokio::{runtime, time::Instant};

use imagekiln::{Client, types::Gen2Pro};

const ROUNDS: usize = 15;
const SMALL_SUBMISSIONS: u32 = 2_000;
const UPLOADS: u32 = 4;
const IMAGE: usize = 8_000_000;

const RESPONSE: &str = concat!(
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 94\r\n\r\n",
    r#"{"id":"f7a1c9","polling_url":"http://127.0.0.1/v1/get_result?id=f7a1c9","#,
    r#""cost":4,"input_mp":0}"#,
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
        let body =
            response.expect("the server responds").bytes().await.expect("a complete response");
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
    // Serialize large bodies in advance: that is the minimum cost of an upload.
    let ready = serde_json::to_vec(&request()).expect("it serializes");
    let ready = (ready.len() > 1_000_000).then(|| bytes::Bytes::from(ready));
    let (mut bare_rounds, mut sdk_rounds) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let started = Mark::now();
        for _ in 0..count {
            let serialized = || serde_json::to_vec(&request()).expect("it serializes").into();
            bare.submit(ready.clone().unwrap_or_else(serialized)).await;
        }
        bare_rounds.push(started.elapsed(count));
        let started = Mark::now();
        for _ in 0..count {
            let _task = client.submit(request()).await.expect("it is accepted");
        }
        sdk_rounds.push(started.elapsed(count));
    }
    for (index, measure) in ["elapsed", "CPU"].into_iter().enumerate() {
        let [bare, sdk] = [&bare_rounds, &sdk_rounds]
            .map(|rounds| median(rounds.iter().map(|round| round[index])));
        let ratio = sdk.as_secs_f64() / bare.as_secs_f64();
        println!("{what}, {measure}: bare {bare:.1?}, imagekiln {sdk:.1?}, ratio {ratio:.2}");
    }
}

/// A point in time, and the CPU time of this thread until then.
struct Mark(Instant, Duration);

impl Mark {
    fn now() -> Self {
        // Not available on other systems, where the ratio is NaN.
        let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let nanoseconds = text.split(' ').next().and_then(|first| first.parse().ok());
        Self(Instant::now(), Duration::from_nanos(nanoseconds.unwrap_or_default()))
    }

    /// Returns the elapsed time and the CPU time per submission.
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

/// Accepts every submission, on separate threads.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound listener has an address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || respond(stream));
        }
    });
    address
}

fn respond(mut stream: TcpStream) {
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
