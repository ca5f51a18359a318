//! Test cases: polling URLs with whether they receive the key, and delivery URLs with whether the
//! client fetches them. `docs/key-hosts.md` shows some of these cases.

/// A base URL, a polling URL, and whether the client sends the key to the polling URL.
pub(super) const KEY: &[(&str, &str, bool)] = &[
    // The base URL.
    ("https://api.x.com", "https://api.x.com/v1/get_result", true),
    // The base URL, in a different spelling.
    ("https://api.x.com", "https://API.x.com./v1", true),
    // A region.
    ("https://api.x.com", "https://api.eu.x.com", true),
    ("https://api.x.com", "https://us1.x.com", true),
    ("https://api.x.com", "https://us-east-1.api.x.com", true),
    // The domain itself.
    ("https://api.x.com", "https://x.com", true),
    // A service word.
    ("https://api.x.co.uk", "https://polling.x.co.uk", true),
    // One domain in two spellings.
    ("https://api.bücher.de", "https://api.eu.xn--bcher-kva.de", true),
    // A different port of a host of the provider.
    ("https://api.x.com", "https://api.x.com:8443", true),
    // The same environment.
    ("https://api.staging.x.com", "https://eu.api.staging.x.com", true),
    // One host.
    ("http://127.0.0.1:4000", "http://localhost:4000", true),
    ("http://localhost:4000", "http://[::1]:4000", true),
    // A different environment.
    ("https://api.x.com", "https://api.staging.x.com", false),
    // Not encrypted.
    ("https://api.x.com", "http://api.x.com", false),
    ("https://api.x.com", "http://eu.x.com", false),
    // A different domain.
    ("https://api.x.com", "https://api.x.net", false),
    ("https://api.x.com", "https://api.x.com.evil.com", false),
    ("https://api.x.com", "https://apix.com", false),
    ("https://api.x.co.uk", "https://api.co.uk", false),
    // An unknown name.
    ("https://api.x.com", "https://acme.x.com", false),
    ("https://api.x.com", "https://acme.api.x.com", false),
    // More than two digits.
    ("https://api.x.com", "https://api-8000.x.com", false),
    // The base URL has an unknown name.
    ("https://acme.x.com", "https://api.x.com", false),
    // A different port and an unknown name.
    ("https://acme.x.com", "https://acme.x.com:8443", false),
    // Hosting domain.
    ("https://acme--app.modal.run", "https://evil--app.modal.run", false),
    ("https://api.modal.run", "https://us1.modal.run", false),
    // The base URL.
    ("https://acme--app.modal.run", "https://acme--app.modal.run/poll", true),
    // Hosting domain.
    ("https://abc-8000.proxy.runpod.net", "https://xyz-8000.proxy.runpod.net", false),
    ("https://abc-8000.proxy.runpod.net", "https://abc-8001.proxy.runpod.net", false),
    ("https://api.runpod.ai", "https://us.api.runpod.ai", false),
    ("https://acme.cognitiveservices.azure.com", "https://evil.cognitiveservices.azure.com", false),
    ("https://api.openai.azure.com", "https://us.openai.azure.com", false),
    (
        "https://abc.us-east-1.aws.endpoints.huggingface.cloud",
        "https://xyz.us-east-1.aws.endpoints.huggingface.cloud",
        false,
    ),
    ("https://api.replicate.delivery", "https://jobs.replicate.delivery", false),
    // Public suffix.
    ("https://api.ngrok-free.app", "https://us.ngrok-free.app", false),
    ("https://api.fly.dev", "https://us.fly.dev", false),
    ("https://api-uc.a.run.app", "https://us-uc.a.run.app", false),
    ("https://api.us-central1.run.app", "https://jobs.us-central1.run.app", false),
    (
        "https://abc.execute-api.us-east-1.amazonaws.com",
        "https://xyz.execute-api.us-east-1.amazonaws.com",
        false,
    ),
    // Hosting domain.
    ("https://api.us-new-9.amazonaws.com", "https://us.us-new-9.amazonaws.com", false),
    // Public suffix.
    ("https://api.azurewebsites.net", "https://us.azurewebsites.net", false),
    ("https://api.azure-api.net", "https://us.azure-api.net", false),
    ("https://api.acme.workers.dev", "https://api.evil.workers.dev", false),
    // A customer's own domain.
    ("https://api.acme.workers.dev", "https://eu.acme.workers.dev", true),
    // Public suffix.
    ("https://api.vercel.app", "https://us.vercel.app", false),
    ("https://api.onrender.com", "https://us.onrender.com", false),
    ("https://api.up.railway.app", "https://us.up.railway.app", false),
    // Hosting domain.
    ("https://api.railway.app", "https://us.railway.app", false),
    ("https://api.gradio.live", "https://us.gradio.live", false),
    // Public suffix.
    ("https://api.trycloudflare.com", "https://us.trycloudflare.com", false),
    // Hosting domain.
    ("https://api.beam.cloud", "https://us.beam.cloud", false),
    ("https://api.baseten.co", "https://model-abc.api.baseten.co", false),
    // Public suffix.
    (
        "https://us-central1-acme.cloudfunctions.net",
        "https://us-central1-evil.cloudfunctions.net",
        false,
    ),
    ("https://api.hf.space", "https://us.hf.space", false),
    // Unknown suffix.
    ("https://api.internal", "https://us.internal", false),
    ("https://api.x.internal", "https://us.x.internal", false),
    ("https://gateway", "https://api.gateway", false),
    // The base URL is a public suffix.
    ("https://co.uk", "https://api.co.uk", false),
    // IP address.
    ("https://10.0.0.1", "https://10.0.0.2", false),
    ("https://10.0.0.1", "https://10.0.0.1:8443", false),
    // A different port.
    ("http://127.0.0.1:4000", "http://localhost:4001", false),
    // A different address.
    ("http://127.0.0.1:4000", "http://127.0.0.2:4000", false),
    // A different scheme.
    ("http://127.0.0.1:4000", "https://localhost:4000", false),
];

/// A base URL, a delivery URL, and whether the client fetches the delivery URL.
pub(super) const DELIVERY: &[(&str, &str, bool)] = &[
    // Public.
    ("https://api.x.com", "https://cdn.example.net/fox.png", true),
    ("https://api.x.com", "https://8.8.8.8/fox.png", true),
    ("https://api.x.com", "https://[2606:4700::1111]/fox.png", true),
    // Host of the base URL.
    ("https://api.x.com", "https://api.x.com:9000/fox.png", true),
    ("https://api.x.com", "http://api.x.com/fox.png", true),
    // Not encrypted.
    ("https://api.x.com", "http://cdn.example.net/fox.png", false),
    // The base URL also uses http.
    ("http://127.0.0.1:4000", "http://cdn.example.net/fox.png", true),
    // Host of the base URL.
    ("http://127.0.0.1:4000", "http://localhost:5000/fox.png", true),
    ("http://localhost:4000", "http://[::1]:5000/fox.png", true),
    ("http://simulator:4000", "http://simulator:5000/fox.png", true),
    ("http://10.0.0.7:4000", "http://10.0.0.7:5000/fox.png", true),
    // Private.
    ("http://10.0.0.7:4000", "http://10.0.0.8:5000/fox.png", false),
    // A different loopback address.
    ("http://127.0.0.1:4000", "http://127.0.0.2:4000/fox.png", false),
    // Link-local: cloud metadata.
    ("https://api.x.com", "https://169.254.169.254/latest/meta-data", false),
    // The same address as a number.
    ("https://api.x.com", "https://2852039166/latest/meta-data", false),
    // The same address in IPv6.
    ("https://api.x.com", "https://[::ffff:169.254.169.254]/", false),
    // The same address in NAT64.
    ("https://api.x.com", "https://[64:ff9b::a9fe:a9fe]/", false),
    // The same address in 6to4.
    ("https://api.x.com", "https://[2002:a9fe:a9fe::1]/", false),
    // Loopback.
    ("https://api.x.com", "https://127.0.0.1/fox.png", false),
    ("https://api.x.com", "https://localhost./fox.png", false),
    ("https://api.x.com", "https://[::1]/fox.png", false),
    // Unspecified.
    ("https://api.x.com", "https://0.0.0.0/fox.png", false),
    ("https://api.x.com", "https://[::]/fox.png", false),
    // Private.
    ("https://api.x.com", "https://192.168.1.1/fox.png", false),
    // Carrier-grade NAT.
    ("https://api.x.com", "https://100.64.0.1/fox.png", false),
    // Private.
    ("https://api.x.com", "https://[fd00::1]/fox.png", false),
    // Link-local.
    ("https://api.x.com", "https://[fe80::1]/fox.png", false),
    // Multicast.
    ("https://api.x.com", "https://224.0.0.1/fox.png", false),
    // Broadcast.
    ("https://api.x.com", "https://255.255.255.255/fox.png", false),
    // Benchmarking.
    ("https://api.x.com", "https://198.18.0.1/fox.png", false),
    // Documentation.
    ("https://api.x.com", "https://203.0.113.7/fox.png", false),
    // Reserved.
    ("https://api.x.com", "https://240.0.0.1/fox.png", false),
    // A password.
    ("https://api.x.com", "https://user:password@cdn.example.net/fox.png", false),
    // A user name.
    ("https://api.x.com", "https://user@api.x.com/fox.png", false),
    // A different scheme.
    ("https://api.x.com", "file:///etc/passwd", false),
    ("https://api.x.com", "ftp://cdn.example.net/fox.png", false),
];
