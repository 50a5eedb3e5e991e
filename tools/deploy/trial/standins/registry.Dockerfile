# A registry for the stand-ins, so that they have digests too. Only this machine reaches it.
ARG BASE
FROM ${BASE}
RUN apt-get update \
    && apt-get install --yes --no-install-recommends docker-registry \
    && rm -rf /var/lib/apt/lists/* \
    && printf '%s\n' 'version: 0.1' 'storage: {filesystem: {rootdirectory: /var/lib/docker-registry}}' \
        'http: {addr: "127.0.0.1:5000"}' > /etc/docker/registry/config.yml
CMD ["docker-registry", "serve", "/etc/docker/registry/config.yml"]
