# One image for every role: web, workers, beat and migrate (deploy/compose.yaml, docs/deployment.md).

ARG BASE=debian:trixie-slim

FROM ${BASE} AS build
RUN apt-get -qq update \
    && DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends python3 python3-venv \
    && python3 -m venv /opt/portal/.venv
WORKDIR /opt/portal
COPY requirements/extras.txt requirements/
# An index of your own comes as a pip.conf that stays in no layer: --secret id=pip.conf,src=FILE
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    .venv/bin/python -m pip install --quiet --no-cache-dir --disable-pip-version-check --no-input \
        --only-binary :all: --require-hashes --requirement requirements/extras.txt \
    && .venv/bin/python -m pip uninstall --quiet --yes pip
COPY . .
# Compiled here, for the root file system may be read-only where it runs.
RUN ENVIRONMENT=production .venv/bin/python manage.py collectstatic --noinput --verbosity 0 \
    && .venv/bin/python -m compileall -q accounts api core devportal oidc

FROM ${BASE}
# ca-certificates: the service checks those of mail servers and databases. tzdata: times in people's time zones.
RUN apt-get -qq update \
    && DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends ca-certificates python3 tzdata \
    && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/*.log \
    && install -d -o 1000 -g 1000 -m 0700 /var/lib/portal
COPY --from=build /opt/portal /opt/portal
WORKDIR /opt/portal
# DATA_DIR holds uploaded pictures and the schedule of beat: mount a volume there. All else that is written is in /tmp.
ENV PATH=/opt/portal/.venv/bin:$PATH PYTHONUNBUFFERED=1 ENVIRONMENT=production DATA_DIR=/var/lib/portal
# docs/operations.md#memory
ENV MALLOC_ARENA_MAX=2
USER 1000:1000
EXPOSE 8000
CMD ["python", "manage.py", "serve", "--address", "0.0.0.0"]
# Last, so that a new version builds no other layer anew.
ARG VERSION=unknown
LABEL org.opencontainers.image.title="Openport" \
    org.opencontainers.image.description="Sign-in service (OpenID Connect provider), developer API and console" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}"
# No HEALTHCHECK: images in OCI format have none, and each role needs its own. deploy/compose.yaml has them.
