"""Runs linters and client generators of other projects on the contract, and each generated client
against the simulator: python3 xtask/generators/run.py [TOOL...]

The tools are installed and run below `target/generators`. A folder beside this file has the program
of a generated client, which makes a picture, saves it at the path in its last argument, and prints
the number of polls. The variable KILN names a `kiln` to use instead of a debug build.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from environment import GO_VALIDATOR, PHP_GUZZLE, RUBY_TYPHOEUS, Environment, Failed, Simulator

CONTRACT = "../../../openapi.json"
TYPESCRIPT = ("tsc driver.ts --strict --outDir built --rootDir . --target ES2022 --module CommonJS "
              "--moduleResolution Node10 --types node", "node built/driver.js")
PROGRAM = ("python -m compileall -q driver.py", "python driver.py")
PYTHON = ("python -m compileall -q generated driver.py", "python driver.py")


def openapi_generator(language, output="generated"):
    # `enumClassPrefix` is an option for Go, which has one namespace for the values of all enums.
    return (f"openapi-generator-cli generate --input-spec {CONTRACT} --additional-properties "
            f"enumClassPrefix=true --generator-name {language} --output {output}")


# The name, its package, what it needs that is not in the registries, the command that reads the
# contract, and the commands that build and run the client. Linters have no client.
TOOLS = [
    ("redocly", "@redocly/cli", [],
     f"redocly lint {CONTRACT} --extends recommended --format stylish", None),
    ("spectral", "@stoplight/spectral-cli", [],
     f"spectral lint {CONTRACT} --ruleset ruleset.json", None),
    # They read the contract that the simulator serves, without `x-` keywords.
    ("prism", "@stoplight/prism-cli", [], "prism --version", PROGRAM),
    ("fastmcp", "fastmcp", [], "fastmcp version", PROGRAM),
    ("aiopenapi3", "aiopenapi3", [], f"aiopenapi3 validate {CONTRACT}", PROGRAM),
    # By default, fields with a default value are required, also in requests.
    ("openapi-typescript", "openapi-typescript", [],
     f"openapi-typescript {CONTRACT} --output generated/schema.d.ts --default-non-nullable false",
     TYPESCRIPT),
    ("hey-api", "@hey-api/openapi-ts", [],
     f"openapi-ts --no-log-file -i {CONTRACT} -o generated", TYPESCRIPT),
    ("orval", "orval", [], "orval --config orval.config.mjs", TYPESCRIPT),
    # Its client discards the body of a response that is a reference.
    ("swagger-typescript-api", "swagger-typescript-api", [],
     "swagger-typescript-api generate --path ../inlined.json --output generated --name Api.ts",
     TYPESCRIPT),
    ("openapi-python-client", "openapi-python-client", [],
     f"openapi-python-client generate --path {CONTRACT} --output-path generated", PYTHON),
    ("openapi-generator-python", "openapi-generator-cli", ["java"],
     openapi_generator("python"), PYTHON),
    ("openapi-generator-typescript", "openapi-generator-cli", ["java", "npm"],
     openapi_generator("typescript-fetch"), TYPESCRIPT),
    ("openapi-generator-go", "openapi-generator-cli", ["java", "go", GO_VALIDATOR],
     openapi_generator("go", "src/openapi"), ("go build -o driver driver", "./driver")),
    ("openapi-generator-ruby", "openapi-generator-cli", ["java", "ruby", RUBY_TYPHOEUS],
     openapi_generator("ruby"), ("ruby -wc driver.rb", "ruby -I generated/lib driver.rb")),
    ("openapi-generator-php", "openapi-generator-cli", ["java", "php", PHP_GUZZLE],
     openapi_generator("php"), ("php -l driver.php", "php driver.php")),
    ("openapi-generator-rust", "openapi-generator-cli", ["java"],
     openapi_generator("rust"), ("cargo build --quiet", "../cargo/debug/driver")),
]

# The words in lines with warnings or errors, in lower case.
SIGNS = ["warn", "error", "exception", "skipping", "⚠", "✖", "✘"]

# Lines that look like a warning, and that the contract does not cause: the start of the names of
# the tools that print them, and a part of the line.
EXPECTED = [
    # About the version of Node.js.
    ("redocly", "Deprecation warning: Node.js"),
    # Says that there are no errors.
    ("spectral", "No results with a severity of 'error' found!"),
    # Names the files that are written, such as `http_validation_error.py`.
    ("openapi-generator", "[main] INFO"),
    # The tool reads the name in the `$ref` of schemas that have no `$ref`: alternatives (in all
    # languages), parameters, and items of lists (in Python).
    ("openapi-generator", "ModelUtils - Failed to get the schema name: null"),
    # Violations have a field `type`, which is a keyword in Rust.
    ("openapi-generator-rust", "type cannot be used as a field/variable name. Renamed to r#type"),
    # The tool mistakes the media type for the name of a model.
    ("openapi-generator-rust", "ApplicationJson cannot be used as a model name."),
    # The tool mistakes the types of the alternatives of `oneOf` for names of models.
    ("openapi-generator-go", "(reserved word) cannot be used as model name."),
]


def warnings(tool, output):
    """Returns the different lines that warn of something in the contract."""
    lines = dict.fromkeys(line.strip() for line in output.splitlines())
    return [line for line in lines if any(sign in line.lower() for sign in SIGNS)
            and not any(tool.startswith(start) and part in line for start, part in EXPECTED)]


def picture(environment, simulator, directory, client):
    """Builds and runs a client, and returns its picture and the number of polls."""
    build, run = client
    environment.run(directory, build)
    polls = int(environment.run(directory, f"{run} picture", simulator.variables()))
    saved = (directory / "picture").read_bytes()
    if not saved.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")):
        raise Failed(f"the client saved {len(saved)} bytes that are not a picture: {saved[:80]}")
    return saved, polls


def main():
    names = sys.argv[1:]
    unknown = set(names) - {name for name, *_ in TOOLS}
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}")
    environment = Environment("generators")
    first, ran, failed = None, 0, 0
    # A task takes a few polls.
    with Simulator("--ready-after", "0.25") as simulator:
        (environment.folder / "inlined.json").write_text(simulator.inlined_contract())
        for name, package, needs, generate, client in TOOLS:
            if names and name not in names:
                continue
            version = environment.version(package)
            reason = environment.missing(needs) or (version is None and "it is not installed")
            if reason:
                print(f"{name}: not run: {reason}")
                failed += name in names
                continue
            ran += 1
            found, result = [], ""
            try:
                directory = environment.prepare(name)
                try:
                    environment.run(directory, generate, output="output.txt")
                finally:
                    found = warnings(name, (directory / "output.txt").read_text())
                if client:
                    saved, polls = picture(environment, simulator, directory, client)
                    # The picture depends on the request, so another request is noticed.
                    first = first or saved
                    if saved != first:
                        raise Failed("the picture differs from that of the first client")
                    result = f"; polled {polls} times, saved a picture of {len(saved)} bytes"
            except Failed as error:
                result = f"; failed: {error}"
            failed += bool(found) or "; failed" in result
            line = f"{name} {version}: {len(found)} warnings{result}"
            print(line, *found, sep="\n  ", flush=True)
    sys.exit(failed > 0 or ran == 0)


main()
