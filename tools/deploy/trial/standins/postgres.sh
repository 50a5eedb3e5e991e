#!/bin/bash
# Makes the database on the first start, by a server that answers on its socket alone; then becomes the server.
set -euo pipefail
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    chmod 700 "$PGDATA"
    initdb --username "$POSTGRES_USER" --pwfile <(printf '%s\n' "$POSTGRES_PASSWORD") \
        --auth-local trust --auth-host scram-sha-256 --encoding UTF8 --locale C.UTF-8
    printf "listen_addresses = '*'\n" >> "$PGDATA/postgresql.conf"
    printf 'host all all all scram-sha-256\n' >> "$PGDATA/pg_hba.conf"
    pg_ctl --wait --options "-c listen_addresses=''" start
    for script in /docker-entrypoint-initdb.d/*.sql; do
        psql --set ON_ERROR_STOP=1 --no-psqlrc --username "$POSTGRES_USER" --dbname postgres --file "$script"
    done
    pg_ctl --wait --mode fast stop
fi
exec "$@"
