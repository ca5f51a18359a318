//! Finds warnings and errors in the output of a tool.

/// The words in lines with warnings or errors, in lower case.
const SIGNS: [&str; 7] = ["warn", "error", "exception", "skipping", "⚠", "✖", "✘"];

/// Lines that look like a warning, and that the contract does not cause: the start of the names of
/// the tools that print them, and a part of the line.
const EXPECTED: [(&str, &str); 7] = [
    // About the version of Node.js.
    ("redocly", "Deprecation warning: Node.js"),
    // Says that there are no errors.
    ("spectral", "No results with a severity of 'error' found!"),
    // Names the files that are written, such as `http_validation_error.py`.
    ("openapi-generator", "[main] INFO"),
    // The tool reads the name in the `$ref` of schemas that have no `$ref`: alternatives (in all
    // languages), parameters, and items of lists (in Python).
    ("openapi-generator", "ModelUtils - Failed to get the schema name: null"),
    // Violations have a field `type`, which is a keyword in Rust.
    ("openapi-generator-rust", "type cannot be used as a field/variable name. Renamed to r#type"),
    // The tool mistakes the media type for the name of a model.
    ("openapi-generator-rust", "ApplicationJson cannot be used as a model name."),
    // The tool mistakes the types of the alternatives of `oneOf` for names of models.
    ("openapi-generator-go", "(reserved word) cannot be used as model name."),
];

/// Returns the different lines that warn of something in the contract.
pub fn warnings(tool: &str, output: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in output.lines().map(str::trim) {
        let lower = line.to_lowercase();
        let is_expected =
            |(tools, text): &(&str, &str)| tool.starts_with(tools) && line.contains(text);
        if SIGNS.iter().any(|sign| lower.contains(sign))
            && !EXPECTED.iter().any(is_expected)
            && !found.iter().any(|earlier| earlier == line)
        {
            found.push(line.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_and_errors_are_found_in_the_formats_of_the_tools() {
        let samples = [
            ("redocly", "openapi.json:\n  4592:5  warning  no-unused-components  Component \"A\""),
            ("spectral", " 12:9  warning  oas3-unused-component  Potentially unused component"),
            ("openapi-typescript", " ✘  Can't resolve $ref at #/components/schemas/PollResult"),
            ("hey-api", "Skipping unresolvable $ref: openapi.json#/components/schemas/A"),
            ("openapi-python-client", "WARNING parsing GET /v1/get_result within tasks."),
            ("openapi-generator-go", "[main] WARN  o.o.codegen.DefaultCodegen - Empty operationId"),
            ("openapi-generator-go", "[main] ERROR o.o.codegen.DefaultGenerator - no content type"),
            ("openapi-generator-go", "Exception in thread \"main\" java.lang.RuntimeException"),
        ];
        for (tool, output) in samples {
            assert_eq!(warnings(tool, output), [output.lines().last().unwrap().trim()], "{tool}");
        }
    }

    #[test]
    fn expected_lines_are_only_expected_of_their_tool() {
        for (tool, text) in EXPECTED {
            let line = format!("warning: {text}");
            assert_eq!(warnings(tool, &line), [""; 0]);
            assert_eq!(warnings("openapi-typescript", &line), [line]);
        }
    }

    #[test]
    fn a_repeated_warning_is_shown_once() {
        let output = "writing file a\nWARN one\n  WARN one\nWARN two\n";
        assert_eq!(warnings("redocly", output), ["WARN one", "WARN two"]);
    }
}
