# The same image as `make image` makes without Docker: the executable, the libraries it links to, certificates, a user
# that is not root, and nothing else.
#
#     docker build -t jobs:0.1.0 .
#     docker run --read-only -v jobs:/var/lib/jobs -v ./handlers:/app:ro jobs:0.1.0 run /app
FROM node:22-bookworm-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates git make
WORKDIR /src
COPY . .
RUN make image

FROM scratch
COPY --from=build /src/dist/rootfs /
COPY --from=build --chown=65532:65532 /src/dist/rootfs/var/lib/jobs /var/lib/jobs
ENV PATH=/usr/bin HOME=/var/lib/jobs SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt JOBS_STORE=sqlite:/var/lib/jobs/jobs.db JOBS_TRUSTED_FOLDER=/app
LABEL org.opencontainers.image.title="jobs" \
      org.opencontainers.image.description="Background jobs in one executable" \
      org.opencontainers.image.licenses="MIT"
USER 65532:65532
WORKDIR /app
VOLUME /var/lib/jobs
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=15s CMD ["/usr/bin/jobs", "doctor", "--ready"]
ENTRYPOINT ["/usr/bin/jobs"]
CMD ["run"]
