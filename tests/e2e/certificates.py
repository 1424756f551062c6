"""Certificates for tests, made by openssl."""

import pathlib
import subprocess


class Authority:
    """Signs certificates.

    Attributes:
        cert: its own certificate, a PEM file.
    """

    def __init__(self, directory: pathlib.Path, name: str = 'ca') -> None:
        self._directory = directory
        self._key = directory / f'{name}.key'
        self.cert = directory / f'{name}.pem'
        _openssl(
            *('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'),
            *('-subj', f'/CN={name}'),
            *('-keyout', str(self._key), '-out', str(self.cert)),
        )

    def issue(self, name: str) -> tuple[pathlib.Path, pathlib.Path]:
        """The certificate and the key of `name`, for localhost."""
        paths = [self._directory / f'{name}.{end}' for end in ('pem', 'key')]
        request = self._directory / f'{name}.csr'
        names = self._directory / f'{name}.ext'
        names.write_text('subjectAltName=DNS:localhost,IP:127.0.0.1\n')
        _openssl(
            *('req', '-newkey', 'rsa:2048', '-nodes', '-subj', f'/CN={name}'),
            *('-keyout', str(paths[1]), '-out', str(request)),
        )
        _openssl(
            *('x509', '-req', '-in', str(request), '-days', '2'),
            *('-CA', str(self.cert), '-CAkey', str(self._key)),
            *('-CAcreateserial', '-extfile', str(names)),
            *('-out', str(paths[0])),
        )
        return paths[0], paths[1]


def _openssl(*args: str) -> None:
    subprocess.run(['openssl', *args], check=True, capture_output=True)
