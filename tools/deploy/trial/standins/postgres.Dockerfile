# In place of postgres: Debian's PostgreSQL, with as much of that image's entrypoint as the compose file counts on.
ARG BASE
FROM ${BASE}
ARG VERSION
RUN apt-get update \
    && apt-get install --yes --no-install-recommends "postgresql-${VERSION}" \
    && rm -rf /var/lib/apt/lists/* /var/lib/postgresql \
    && install -d -o postgres -g postgres -m 1777 /var/lib/postgresql /var/lib/postgresql/data /docker-entrypoint-initdb.d \
    && install -d -o postgres -g postgres -m 3777 /run/postgresql
ENV PATH=/usr/lib/postgresql/${VERSION}/bin:$PATH PGDATA=/var/lib/postgresql/data
COPY postgres.sh /usr/local/bin/docker-entrypoint.sh
ENTRYPOINT ["docker-entrypoint.sh"]
STOPSIGNAL SIGINT
CMD ["postgres"]
