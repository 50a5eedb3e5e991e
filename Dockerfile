# The platform without torch: web, worker and beat are the same image with different commands (docker-compose.yml).
FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN groupadd --system crosslens && useradd --system --gid crosslens --home-dir /srv/crosslens crosslens \
    && mkdir -p /srv/crosslens/var /srv/crosslens/media && chown -R crosslens:crosslens /srv/crosslens
WORKDIR /srv/crosslens

COPY requirements.txt .
RUN pip install --requirement requirements.txt

COPY --chown=crosslens:crosslens . .
USER crosslens
# Static files need no secret and no server: the embedded settings collect them.
RUN python manage.py collectstatic --noinput --verbosity 0 && rm -f var/secret_key

EXPOSE 8000
CMD ["granian", "--interface", "wsgi", "--host", "0.0.0.0", "--port", "8000", "--workers", "2", \
     "--blocking-threads", "4", "--no-ws", "config.wsgi:application"]
