# The `ptc` command as a small image: no shell, no package manager, not root.
#
#   docker build -t ptc .
#   docker run --rm ptc eval -e '(reduce + (range 10))'
#   docker run --rm -i ptc mcp                                  # an MCP server over stdio
#   docker run --rm -p 7332:7332 -e PTC_RUNNER_MCP_HTTP_AUTH_TOKEN=… ptc \
#     mcp --http 0.0.0.0:7332 --http-allow-unsafe-network       # over HTTP, with a token
#
# Traces, stores and runs go where /data is mounted: -v "$PWD/data:/data".

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --release --package ptc && mkdir /data

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /src/target/release/ptc /usr/local/bin/ptc
COPY --from=build --chown=65532:65532 /data /data
ENV XDG_STATE_HOME=/data/state
WORKDIR /data
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/ptc"]
CMD ["--help"]
