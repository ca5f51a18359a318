//! The known findings of published clients.

const NO_MODEL: &str = "the contract does not have this model";
const UNKNOWN_STATUS: &str = "the client does not know this status, and continues to poll";
const OPEN: &str = "the contract leaves the field open, so the simulator had to decide";
const WORDS: &str = "the contract says so in words, which the tester does not read";

/// The client, a part of the line that its program prints, and why it is not a defect of the
/// simulator.
pub const EXPECTED: [(&str, &str, &str); 22] = [
    ("blackforest", "failed pro: API request failed: 404", NO_MODEL),
    ("blackforest", "failed usage: ", "the contract has no operation that counts licensed use"),
    ("blackforest", "failed status Error: Error getting synchronous result", UNKNOWN_STATUS),
    ("blackforest", "failed status Request Moderated: ", UNKNOWN_STATUS),
    ("blackforest", "failed status Content Moderated: ", UNKNOWN_STATUS),
    (
        "litellm",
        "failed another host: ",
        "it polls only hosts of the provider; in the other cases, its program removes this check",
    ),
    ("litellm", "failed pro: ", NO_MODEL),
    ("litellm", "failed kontext-max: ", NO_MODEL),
    ("litellm", "failed edit kontext-max: ", NO_MODEL),
    ("ai-sdk", "failed kontext-max: AI_APICallError: Not Found", NO_MODEL),
    (
        "ai-sdk",
        "failed draft and its enhancement: Error: the draft has no draft_cache",
        "the contract does not show the result of a draft",
    ),
    (
        "ai-sdk",
        "failed download of a video: AI_DownloadError: ",
        "it downloads videos only from public addresses; in the other cases, its program does so",
    ),
    ("ai-sdk", "failed status Request Moderated: Error: Error: ", UNKNOWN_STATUS),
    (
        "ai-sdk",
        "failed status Content Moderated: Error: AI_APICallError: Invalid JSON response",
        "the client does not know this status, and fails without saying which one it is",
    ),
    ("memberjunction", "BFL API error (404): ", NO_MODEL),
    ("schemathesis", ": Value error, the data is not a jpeg, png or webp image (", WORDS),
    ("schemathesis", ": Value error, the image is not valid base64 (", WORDS),
    ("schemathesis", ": Value error, an aspect ratio consists of two positive integers", WORDS),
    (
        "schemathesis",
        ": Input should be less than or equal to 8192 (",
        "the contract has no maximum, and the simulator has one for what it renders",
    ),
    ("schemathesis", "POST /v1/flux-tools/outpainting-v1 body.", OPEN),
    ("schemathesis", "POST /v1/flux-3-video body", OPEN),
    (
        "schemathesis",
        "response 404 (1: POST /v1/{base_model}-finetuned)",
        "a name that does not match the parameter's pattern is the path of no operation",
    ),
];
