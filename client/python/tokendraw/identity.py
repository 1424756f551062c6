"""What a client proves itself with, and what it wants of servers."""

import os
import pathlib

import grpc

TokenFile = str | os.PathLike[str]
Metadata = tuple[tuple[str, str], ...]


class Identity:
    """Thread-safe.

    Attributes:
        credentials: for addresses with a port; None: no TLS.
        server_name: the name that certificates must have; None: the HOST of
            the address.
    """

    def __init__(
        self,
        credentials: grpc.ChannelCredentials | None,
        server_name: str | None,
        token_file: TokenFile | None,
    ) -> None:
        """As Client has them.

        Raises:
            TypeError, ValueError: an option makes no sense; the text names it.
        """
        if not isinstance(credentials, grpc.ChannelCredentials | None):
            raise TypeError(
                'credentials must be grpc.ChannelCredentials, '
                f'got {type(credentials).__name__}'
            )
        if server_name and not credentials:
            raise ValueError(
                'server_name is the name in a certificate: it needs credentials'
            )
        self.credentials = credentials
        self.server_name = server_name
        self._token_file = token_file
        self._token = _read_token(token_file) if token_file is not None else ''

    def authorization(self) -> Metadata:
        """Metadata of one call.

        The file is read again for each: it is small, and may have changed. If
        it has no token now, the last one goes.
        """
        if self._token_file is None:
            return ()
        try:
            self._token = _read_token(self._token_file)
        except ValueError:
            pass
        return (('authorization', f'Bearer {self._token}'),)


def _read_token(file: TokenFile) -> str:
    """The first word. Raises ValueError if there is none that gRPC can send."""
    try:
        words = pathlib.Path(file).read_text(encoding='ascii').split()
    except OSError as error:
        raise ValueError(f'token_file cannot be read: {error}') from error
    except UnicodeDecodeError as error:
        raise ValueError(f'token_file: {file} is not ASCII') from error
    if not words or not words[0].isprintable():
        raise ValueError(f'token_file: {file} has no token')
    return words[0]
