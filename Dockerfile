# An image that runs `leadsync run`. It reads the configuration from /etc/leadsync/leadsync.yaml and keeps its data in /data, so
# set `data_dir: /data`. It runs as user 1000, and needs neither a writable root file system nor capabilities.
#
#   docker build -t leadsync --build-arg COMMIT=$(git rev-parse HEAD) .
#   docker run --read-only --tmpfs /tmp --cap-drop ALL -v ./leadsync.yaml:/etc/leadsync/leadsync.yaml:ro -v leads:/data leadsync

# Runs on the platform of the build machine, once for all target platforms.
FROM --platform=$BUILDPLATFORM docker.io/library/node:24-bookworm-slim AS build
WORKDIR /app
ENV NPM_CONFIG_UPDATE_NOTIFIER=false NPM_CONFIG_FUND=false NPM_CONFIG_AUDIT=false
COPY package.json package-lock.json ./
RUN npm ci --include=dev --ignore-scripts
COPY scripts/build.ts scripts/bundle.ts scripts/
COPY scripts/release/runtime.ts scripts/release/
COPY src src
ARG COMMIT=unknown
RUN LEADSYNC_COMMIT=$COMMIT npm run build && node scripts/release/runtime.ts /runtime

# The packages for the target platform. That of SQLite contains its native code, so no install script has to run.
FROM docker.io/library/node:24-bookworm-slim AS packages
WORKDIR /app
COPY --from=build /runtime ./
RUN npm ci --ignore-scripts --no-update-notifier --no-fund --no-audit

FROM docker.io/library/node:24-bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends tini \
 && rm -rf /var/lib/apt/lists/* \
 && mkdir -p /etc/leadsync /data \
 && chown 1000:1000 /data \
 && chmod 0700 /data \
 && ln -s /app/bin/leadsync.js /usr/local/bin/leadsync

WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json ./
COPY bin bin
COPY docs/store.md docs/
COPY --from=build /app/dist dist
# The compile cache of the user below. `leadsync --version` fills it, because the file system may be read-only later.
RUN install -d -o 1000 -g 1000 node_modules/.cache/leadsync

ARG COMMIT=unknown
LABEL org.opencontainers.image.title="leadsync" \
      org.opencontainers.image.description="Brings every new lead from a lead listing service to webhooks, CRMs, databases, files and people: none lost, none twice, within seconds." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="$COMMIT" \
      org.opencontainers.image.licenses="UNLICENSED" \
      org.opencontainers.image.base.name="docker.io/library/node:24-bookworm-slim"

ENV NODE_ENV=production LEADSYNC_CONFIG=/etc/leadsync/leadsync.yaml
# A number, so that Kubernetes can verify that the user is not root (runAsNonRoot).
USER 1000:1000
RUN leadsync --version
VOLUME /data

# Requests /livez at admin.listen: whether the process answers, regardless of services and sinks.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 CMD ["leadsync", "healthcheck"]

# tini reaps orphaned processes and forwards signals: SIGTERM starts a clean stop of at most stop.grace (25 s).
ENTRYPOINT ["/usr/bin/tini", "--", "leadsync"]
CMD ["run"]
