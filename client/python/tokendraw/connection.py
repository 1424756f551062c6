"""The channel below the client."""

import json
import threading
from typing import Any, Generic, NamedTuple, TypeVar

import grpc

from tokendraw import errors
from tokendraw.identity import Identity
from tokendraw.retry import Deadline, retried
from tokendraw.v1 import sampling_pb2, sampling_pb2_grpc

GRPC_MESSAGE_BYTES = 4 << 20
_MOST_MESSAGE_BYTES = 2**31 - 1


_Channel = TypeVar('_Channel', grpc.Channel, grpc.aio.Channel)


class Link(NamedTuple, Generic[_Channel]):
    """A server that has told its limits."""

    channel: _Channel
    stub: sampling_pb2_grpc.SamplingServiceStub
    info: sampling_pb2.GetServerInfoResponse


class Connection:
    """One address. Thread-safe. Connects with the first call."""

    def __init__(self, address: str, identity: Identity) -> None:
        self.address = address
        self.identity = identity
        self._lock = threading.Lock()
        self._link: Link[grpc.Channel] | None = None  # guarded by _lock
        # A channel's limits cannot be changed, so the question for the
        # server's limits has a channel of its own.
        self._question = _channel(address, identity, GRPC_MESSAGE_BYTES)

    def close(self) -> None:
        """Ends all calls; they fail with CANCELLED."""
        with self._lock:
            self._question.close()
            if self._link:
                self._link.channel.close()

    def link(self, deadline: Deadline) -> Link[grpc.Channel]:
        """The channel, its stub and what the server said of itself.

        Raises:
            TokendrawError: it did not say it.
        """
        return retried(lambda waits: self._connect(deadline, waits), deadline)

    def _connect(self, deadline: Deadline, waits: bool) -> Link[grpc.Channel]:
        with self._lock:
            if self._link:
                return self._link
        # Without the lock: each caller has its own deadline.
        stub = sampling_pb2_grpc.SamplingServiceStub(self._question)
        try:
            info = stub.GetServerInfo(
                sampling_pb2.GetServerInfoRequest(),
                timeout=deadline.left(),
                metadata=self.identity.authorization(),
                wait_for_ready=waits,
            )
        except grpc.RpcError as error:
            raise errors.of_call(error, self.address) from error
        with self._lock:
            if not self._link:
                channel = _channel(
                    self.address, self.identity, info.max_message_bytes
                )
                stub = sampling_pb2_grpc.SamplingServiceStub(channel)
                self._link = Link(channel, stub, info)
            return self._link

    def call(self, method: str, request: Any, deadline: Deadline) -> Any:
        """One unary call of SamplingService, retried.

        Raises:
            TokendrawError: it failed, or there was no time for a retry.
        """

        def attempt(waits: bool) -> Any:
            link = self.link(deadline)
            try:
                return getattr(link.stub, method)(
                    request,
                    timeout=deadline.left(),
                    metadata=self.identity.authorization(),
                    wait_for_ready=waits,
                )
            except grpc.RpcError as error:
                raise errors.of_call(error, self.address) from error

        return retried(attempt, deadline)


def _channel(
    address: str, identity: Identity, message_bytes: int
) -> grpc.Channel:
    options = channel_options(address, identity, message_bytes)
    credentials = channel_credentials(address, identity)
    if credentials:
        return grpc.secure_channel(address, credentials, options)
    return grpc.insecure_channel(address, options)


def channel_credentials(
    address: str, identity: Identity
) -> grpc.ChannelCredentials | None:
    """None: the channel is plain, as that to a unix socket always is."""
    return None if _is_unix(address) else identity.credentials


def channel_options(
    address: str, identity: Identity, message_bytes: int
) -> list[tuple[str, int | str]]:
    """Of a channel whose messages may have so many bytes."""
    message_bytes = min(message_bytes, _MOST_MESSAGE_BYTES)
    options: dict[str, int | str] = {
        'grpc.max_receive_message_length': message_bytes,
        'grpc.max_send_message_length': message_bytes,
        'grpc.service_config': json.dumps(
            {'loadBalancingConfig': [{'round_robin': {}}]}
        ),
        'grpc.enable_retries': 0,  # see retry.py
        # A restarted server is found within a second.
        'grpc.initial_reconnect_backoff_ms': 100,
        'grpc.max_reconnect_backoff_ms': 1000,
        # The connect timeout, whatever its name.
        'grpc.min_reconnect_backoff_ms': 1000,
        # Otherwise all clients of a process would share one socket.
        'grpc.use_local_subchannel_pool': 1,
    }
    if not _is_unix(address):
        options['grpc.keepalive_time_ms'] = 30_000
        options['grpc.keepalive_timeout_ms'] = 10_000
    if identity.server_name:
        options['grpc.ssl_target_name_override'] = identity.server_name
    return list(options.items())


def _is_unix(address: str) -> bool:
    return address.startswith('unix:')
