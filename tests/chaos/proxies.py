"""Proxies that balance each call, as a service mesh or an ingress does."""

from collections.abc import Iterator
import contextlib
import pathlib
import socket
import subprocess

from harness import wait_until

_NGINX = """
daemon off;
pid {directory}/nginx.pid;
error_log {directory}/nginx.log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  client_body_temp_path {directory}/body;
  upstream replicas {{
    {servers}
    keepalive 16;
  }}
  server {{
    listen 127.0.0.1:{port} http2;
    client_max_body_size 0;
    location / {{
      grpc_pass grpc://replicas;
      grpc_next_upstream error timeout http_502 http_503 http_504 non_idempotent;
      grpc_next_upstream_tries 3;
      grpc_read_timeout 1h;
      grpc_send_timeout 1h;
    }}
  }}
}}
"""

_HAPROXY = """
global
  maxconn 1000
defaults
  mode http
  timeout connect 1s
  timeout client 1h
  timeout server 1h
  retries 3
  option redispatch
  retry-on conn-failure empty-response
frontend calls
  bind 127.0.0.1:{port} proto h2
  default_backend replicas
backend replicas
  balance roundrobin
  {servers}
"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def _running(command: list[str], port: int) -> Iterator[str]:
    def answers() -> bool:
        with contextlib.suppress(OSError):
            socket.create_connection(('127.0.0.1', port), 1).close()
            return True
        return False

    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_until('the proxy answers', answers)
            yield f'127.0.0.1:{port}'
        finally:
            process.terminate()


@contextlib.contextmanager
def nginx(directory: pathlib.Path, backends: list[str]) -> Iterator[str]:
    """The address of an nginx in front of `backends`."""
    port = _free_port()
    # One that counts failures takes all three for dead at a time.
    servers = ' '.join(f'server {b} max_fails=0;' for b in backends)
    config = directory / 'nginx.conf'
    config.write_text(
        _NGINX.format(directory=directory, servers=servers, port=port)
    )
    with _running(['/usr/sbin/nginx', '-c', str(config)], port) as address:
        yield address


@contextlib.contextmanager
def haproxy(directory: pathlib.Path, backends: list[str]) -> Iterator[str]:
    """The address of an haproxy in front of `backends`."""
    port = _free_port()
    servers = '\n  '.join(
        f'server s{i} {b} proto h2 check inter 200ms rise 1 fall 1'
        for i, b in enumerate(backends)
    )
    config = directory / 'haproxy.cfg'
    config.write_text(_HAPROXY.format(servers=servers, port=port))
    with _running(['/usr/sbin/haproxy', '-f', str(config)], port) as address:
        yield address
