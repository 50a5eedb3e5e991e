-- Run once, by the superuser, when PostgreSQL finds no data. The platform's role owns its database, and is no superuser.
\getenv password CROSSLENS_PASSWORD
CREATE ROLE crosslens LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE crosslens OWNER crosslens;
REVOKE ALL ON DATABASE crosslens FROM PUBLIC;
REVOKE ALL ON DATABASE postgres FROM PUBLIC;
