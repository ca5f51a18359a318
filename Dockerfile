# The simulator as an image without a distribution: one static program, no shell, no root.
#
#   docker build --tag imagekiln .
#   docker run --publish 8314:8314 --publish 8315:8315 imagekiln
FROM rust:1-alpine AS build
# ring and mimalloc are compiled from C.
RUN apk add --no-cache musl-dev=~1
WORKDIR /source
COPY . .
# Alpine's target links statically.
RUN cargo build --release --locked --package imagekiln-cli

FROM scratch
COPY --from=build /source/target/release/kiln /kiln
USER 65534:65534
# The service, its regional models, and the control interface, which needs a token to be reached.
EXPOSE 8314 8315 8316
ENTRYPOINT ["/kiln"]
CMD ["simulate", "--allow-remote", "--listen", "0.0.0.0:8314", "--regional-listen", "0.0.0.0:8315"]
