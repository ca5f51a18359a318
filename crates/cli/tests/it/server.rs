//! A scripted server: it passes each request to the test, which decides when to respond, if at all.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::bench::Outcome;

pub struct Server {
    address: SocketAddr,
    requests: mpsc::Receiver<Exchange>,
}

/// A complete request that waits for its response.
pub struct Exchange {
    pub line: String,
    /// The header lines.
    pub headers: String,
    pub body: Vec<u8>,
    stream: TcpStream,
}

impl Server {
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::channel();
        thread::spawn(move || {
            // Responses close their connections, so each request comes on a new one.
            while let Ok((stream, _)) = listener.accept() {
                if sender.send(Exchange::read(stream)).is_err() {
                    return;
                }
            }
        });
        Self { address, requests }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Points a command to this server.
    pub fn point<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("IMAGEKILN_API_KEY", "a-key").env("IMAGEKILN_BASE_URL", self.url())
    }

    /// Runs a command against this server while the test responds.
    pub fn run(&self, command: &mut Command, respond: impl FnOnce(&Self)) -> Outcome {
        let command = self.point(command).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        respond(self);
        Outcome::of(child.wait_with_output().unwrap())
    }

    /// The response to a submission, whose task is polled here.
    pub fn accepted(&self, id: &str) -> Value {
        let polling_url = format!("{}/v1/get_result?id={id}", self.url());
        json!({ "id": id, "polling_url": polling_url })
    }

    /// The response to a poll of a task whose picture is delivered here.
    pub fn ready(&self) -> Value {
        json!({ "status": "Ready", "result": { "sample": format!("{}/picture", self.url()) } })
    }

    /// Waits for the next request. Fails if none arrives, so that the test does not hang.
    pub fn next(&self) -> Exchange {
        self.requests.recv_timeout(Duration::from_secs(60)).expect("no request arrived")
    }
}

/// Sends a request to a server, which closes the connection. Returns the status code, the head and
/// the body of the response.
pub fn exchange(address: &str, request: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
}

impl Exchange {
    fn read(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let (mut length, mut headers) = (0, String::new());
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            headers += &header;
            match header.trim().to_lowercase().split_once(':') {
                Some(("content-length", value)) => length = value.trim().parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        Self { line: line.trim().to_owned(), headers, body, stream }
    }

    pub fn respond(self, status: u16, body: &Value) {
        self.respond_with(status, "", body);
    }

    /// Responds with additional header lines.
    pub fn respond_with(mut self, status: u16, headers: &str, body: &Value) {
        let body = body.to_string();
        write!(
            self.stream,
            "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n{headers}connection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
    }

    /// Responds with a file.
    pub fn send(mut self, file: &[u8]) {
        let length = file.len();
        write!(
            self.stream,
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        self.stream.write_all(file).unwrap();
    }

    /// Closes the connection without a response.
    pub fn hang_up(self) {
        drop(self.stream);
    }
}
