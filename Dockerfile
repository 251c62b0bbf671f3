# One image for every role: web, workers, beat and migrate (deploy/compose.yaml, docs/deployment.md).

ARG BASE=debian:trixie-slim

FROM ${BASE} AS build
RUN apt-get -qq update \
    && DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends python3 python3-venv \
    && python3 -m venv /opt/portal/.venv
WORKDIR /opt/portal
COPY requirements/extras.txt requirements/
# To use your own package index, pass a pip.conf that no layer keeps: --secret id=pip.conf,src=FILE
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    .venv/bin/python -m pip install --quiet --no-cache-dir --disable-pip-version-check --no-input \
        --only-binary :all: --require-hashes --requirement requirements/extras.txt \
    && .venv/bin/python -m pip uninstall --quiet --yes pip
COPY . .
# Compiled here, because the root file system of the container may be read-only.
RUN ENVIRONMENT=production .venv/bin/python manage.py collectstatic --noinput --verbosity 0 \
    && .venv/bin/python -m compileall -q accounts api core devportal oidc

FROM ${BASE}
# ca-certificates: to verify mail servers and databases. tzdata: for times in people's time zones.
RUN apt-get -qq update \
    && DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends ca-certificates python3 tzdata \
    && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/*.log \
    && install -d -o 1000 -g 1000 -m 0700 /var/lib/portal
COPY --from=build /opt/portal /opt/portal
WORKDIR /opt/portal
# DATA_DIR holds uploaded pictures and the schedule of beat, so mount a volume there. All other files are in /tmp.
ENV PATH=/opt/portal/.venv/bin:$PATH PYTHONUNBUFFERED=1 ENVIRONMENT=production DATA_DIR=/var/lib/portal
# Limits memory use (docs/operations.md#memory).
ENV MALLOC_ARENA_MAX=2
USER 1000:1000
EXPOSE 8000
CMD ["python", "manage.py", "serve", "--address", "0.0.0.0"]
# This is last, so that a new version does not rebuild any other layer.
ARG VERSION=unknown
LABEL org.opencontainers.image.title="Openport" \
    org.opencontainers.image.description="Sign-in service (OpenID Connect provider), developer API and console" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}"
# No HEALTHCHECK: images in OCI format have none, and each role needs its own. deploy/compose.yaml has them.
