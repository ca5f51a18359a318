//! The kinds of objects outside of schemas, and the keywords that the generator knows.

use super::{
    Content::{
        self, Any, Component, Count, List, Named, NoElements, Object, OneOf, PathItem, Text, True,
    },
    Keyword, Kind,
};

/// At least one text.
pub const TEXTS: Content = List(&Text);

/// At least one correction.
pub const CORRECTIONS: Content = List(&Object(&CORRECTION));

const RESPONSES: Content = Named(&Component("responses", &RESPONSE));

const fn required(name: &'static str, value: Content) -> Keyword {
    Keyword { name, is_required: true, value }
}

const fn optional(name: &'static str, value: Content) -> Keyword {
    Keyword { name, is_required: false, value }
}

pub static DOCUMENT: Kind = Kind {
    name: "the document",
    keywords: &[
        required("openapi", Text),
        required("info", Object(&INFO)),
        required("servers", List(&Object(&SERVER))),
        required("security", List(&Named(&NoElements))),
        required("tags", List(&Object(&TAG))),
        required("components", Object(&COMPONENTS)),
        required("paths", Named(&PathItem(&OPERATION))),
    ],
};

static INFO: Kind = Kind {
    name: "`info`",
    keywords: &[
        required("title", Text),
        required("version", Text),
        required("description", Text),
        required("contact", Object(&NAMED_LINK)),
        required("license", Object(&NAMED_LINK)),
        optional("x-not-shown", TEXTS),
    ],
};

static NAMED_LINK: Kind = Kind {
    name: "a contact or license",
    keywords: &[required("name", Text), required("url", Text)],
};

static SERVER: Kind = Kind {
    name: "a server",
    keywords: &[
        required("url", Text),
        required("description", Text),
        optional("x-region", OneOf(&[REGIONAL])),
    ],
};

/// The only region besides the global one.
const REGIONAL: &str = "regional";

static TAG: Kind =
    Kind { name: "a tag", keywords: &[required("name", Text), required("description", Text)] };

static OPERATION: Kind = Kind {
    name: "an operation",
    keywords: &[
        required("operationId", Text),
        required("tags", TEXTS),
        required("summary", Text),
        required("description", Text),
        optional("deprecated", True),
        optional("x-migrate-to", TEXTS),
        optional("x-region", OneOf(&[REGIONAL])),
        optional("x-kind", OneOf(&OPERATION_KINDS)),
        optional("x-needs", List(&Object(&NEED))),
        optional("x-max-reference-images", Count),
        optional("x-max-input-megapixels", Count),
        optional("x-scaled-to-megapixels", Count),
        optional("x-not-accepted", TEXTS),
        optional("x-not-shown", TEXTS),
        optional("x-correction", CORRECTIONS),
        optional("parameters", List(&Object(&PARAMETER))),
        optional("requestBody", Object(&REQUEST_BODY)),
        required("responses", RESPONSES),
        optional("callbacks", Object(&CALLBACKS)),
    ],
};

/// What an operation does with the images of a request. The variants of `OperationKind` have the
/// same names.
const OPERATION_KINDS: [&str; 11] = [
    "create", "fill", "expand", "depth", "canny", "deblur", "erase", "try-on", "outpaint", "video",
    "finetune",
];

static NEED: Kind = Kind {
    name: "a need",
    keywords: &[
        optional("any-of", TEXTS),
        optional("unless-alpha-in", Text),
        optional("images", Count),
        required("why", Text),
    ],
};

static CORRECTION: Kind = Kind {
    name: "a correction",
    keywords: &[
        required("about", Text),
        required("listings", TEXTS),
        required("chosen", Text),
        required("why", Text),
    ],
};

static PARAMETER: Kind = Kind {
    name: "a parameter",
    keywords: &[
        required("name", Text),
        required("in", OneOf(&["path", "query"])),
        required("required", True),
        required("description", Text),
        required("schema", Object(&PARAMETER_SCHEMA)),
        optional("example", Text),
    ],
};

static PARAMETER_SCHEMA: Kind = Kind {
    name: "the schema of a parameter",
    keywords: &[required("type", OneOf(&["string"])), optional("pattern", Text)],
};

static REQUEST_BODY: Kind = Kind {
    name: "a request body",
    keywords: &[required("required", True), required("content", Object(&REQUEST_CONTENT))],
};

static REQUEST_CONTENT: Kind = Kind {
    name: "the content of a request",
    keywords: &[required("application/json", Object(&REQUEST_MEDIA))],
};

static REQUEST_MEDIA: Kind = Kind {
    name: "the media type of a request",
    keywords: &[required("schema", Any), required("example", Any)],
};

static RESPONSE: Kind = Kind {
    name: "a response",
    keywords: &[
        required("description", Text),
        optional("content", Object(&RESPONSE_CONTENT)),
        optional("links", Named(&Object(&LINK))),
    ],
};

static RESPONSE_CONTENT: Kind = Kind {
    name: "the content of a response",
    keywords: &[required("application/json", Object(&RESPONSE_MEDIA))],
};

static RESPONSE_MEDIA: Kind =
    Kind { name: "the media type of a response", keywords: &[required("schema", Any)] };

static LINK: Kind = Kind {
    name: "a link",
    keywords: &[
        required("operationId", Text),
        required("description", Text),
        required("parameters", Named(&Text)),
    ],
};

static CALLBACKS: Kind = Kind {
    name: "the callbacks of an operation",
    keywords: &[required("notification", Object(&CALLBACK))],
};

/// The expression for the URL of the receiver.
pub const WEBHOOK_URL: &str = "{$request.body#/webhook_url}";

static CALLBACK: Kind =
    Kind { name: "a callback", keywords: &[required(WEBHOOK_URL, PathItem(&CALLBACK_OPERATION))] };

static CALLBACK_OPERATION: Kind = Kind {
    name: "the operation of a callback",
    keywords: &[
        required("operationId", Text),
        required("summary", Text),
        required("description", Text),
        // The key of the service is not sent to the receiver.
        required("security", NoElements),
        required("responses", RESPONSES),
    ],
};

static COMPONENTS: Kind = Kind {
    name: "`components`",
    keywords: &[
        required("securitySchemes", Named(&Object(&SECURITY_SCHEME))),
        required("responses", Named(&Object(&RESPONSE))),
        required("schemas", Named(&Any)),
    ],
};

static SECURITY_SCHEME: Kind = Kind {
    name: "a security scheme",
    keywords: &[
        required("type", OneOf(&["apiKey"])),
        required("in", OneOf(&["header"])),
        required("name", Text),
        required("description", Text),
    ],
};
