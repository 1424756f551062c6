"""The client of a sampling service."""

from collections.abc import Sequence
from typing import Any, Self

import grpc
import numpy.typing as npt

from tokendraw.batch import parameter_sets
from tokendraw.connection import Connection
from tokendraw.conversation import converse
from tokendraw.explain import explain_request
from tokendraw.identity import Identity, TokenFile
from tokendraw.retry import Deadline, check_deadline
from tokendraw.row_buffer import RowBuffer
from tokendraw.sampler import BlockingSampler
from tokendraw.sharing import Sharing
from tokendraw.stream import SampleStream
from tokendraw.v1 import params_pb2, sampling_pb2


class Client(BlockingSampler):
    """Calls one address. Thread-safe. All calls block.

    Every call raises TokendrawError with the server's code and text. Before
    that it is made again, until the deadline, after UNAVAILABLE, and after
    RESOURCE_EXHAUSTED if the server says when there will be room.
    """

    def __init__(
        self,
        address: str,
        *,
        deadline: float = 30.0,
        shm_dir: str | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        server_name: str | None = None,
        token_file: TokenFile | None = None,
    ) -> None:
        """Connects nowhere yet.

        Args:
            address: "unix:PATH" or "HOST:PORT". Calls rotate over all servers
                that HOST stands for.
            deadline: seconds that one call, or one step of a stream, may take
                with its retries. (0, 24 h].
            shm_dir: where this process sees the server's --shm_dir; None: at
                the same path.
            credentials: such as grpc.ssl_channel_credentials() makes them, for
                an address with a port. None: no TLS.
            server_name: the name that servers' certificates must have. None:
                HOST.
            token_file: its first word goes with every call as
                `authorization: Bearer TOKEN`. It may be replaced at any time.

        Raises:
            TypeError, ValueError: an option is not as said here; the text
                names it.
        """
        check_deadline(deadline)
        identity = Identity(credentials, server_name, token_file)
        super().__init__(
            Connection(address, identity), Sharing(shm_dir), deadline
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends its calls and streams, and closes its row buffers."""
        self._connection.close()
        self._sharing.close()

    def info(self) -> sampling_pb2.GetServerInfoResponse:
        """Versions, limits and what the server can do."""
        info: sampling_pb2.GetServerInfoResponse = self._call(
            'GetServerInfo', sampling_pb2.GetServerInfoRequest()
        )
        return info

    def validate(
        self,
        params: params_pb2.SamplingParams | Sequence[params_pb2.SamplingParams],
        *,
        vocab_size: int = 0,
        validation: sampling_pb2.Validation = sampling_pb2.VALIDATION_STRICT,
    ) -> list[sampling_pb2.ParamViolation]:
        """All violations of parameter sets; none: sample() would take them.

        Token ids are checked against `vocab_size`; 0: only to be >= 0.
        """
        request = sampling_pb2.ValidateParamsRequest(
            params=parameter_sets(params),
            vocab_size=vocab_size,
            validation=validation,
        )
        return list(self._call('ValidateParams', request).violations)

    def explain(
        self,
        logits: npt.NDArray[Any],
        params: params_pb2.SamplingParams | None = None,
        row: sampling_pb2.RowSpec | None = None,
        *,
        seed: int | None = None,
        position: int | None = None,
        sample_index: int = 0,
        top_tokens: int = 20,
        data_type: str | None = None,
        validation: sampling_pb2.Validation = sampling_pb2.VALIDATION_STRICT,
    ) -> sampling_pb2.ExplainRowResponse:
        """What each stage did to one row, and why its token was drawn.

        The token is the one that sample() gives for the same row, parameters,
        seed and position. For people and tools, not for each step.

        Args:
            logits: [vocab], otherwise as in sample(); at most 1,048,576.
            params: None: the defaults.
            row: what the row is drawn with; its params_index and sample_count
                play no part.
            seed: in place of `row`, such as a reply's. None: the server draws
                one.
            position: in place of `row`. None: 0.
            sample_index: which of the row's draws.
            top_tokens: about so many of the most probable tokens are told of,
                at each end of the chain. [1, 1000].
            data_type: as in sample().
            validation: as in sample().

        Returns:
            The message as sampling.proto describes it: `token_id`, `stages`
            with what each removed, `tokens` with their way through these,
            `xtc_coin`, `row_error` and more.

        Raises:
            TokendrawError: the server refused it, or did not answer. A row
                that has no token is no error: see `row_error`.
            TypeError, ValueError: an argument is not as said here.
        """
        request = explain_request(
            logits,
            params,
            row,
            seed=seed,
            position=position,
            sample_index=sample_index,
            top_tokens=top_tokens,
            data_type=data_type,
            validation=validation,
        )
        explained: sampling_pb2.ExplainRowResponse = self._call(
            'ExplainRow', request
        )
        return explained

    def row_buffer(self, nbytes: int) -> RowBuffer:
        """Memory for logits, to be written to step after step.

        Where the server shares a directory with this process it is a file
        there: sample() then sends where the rows lie, and not the rows. They
        must not change before sample() returns. Elsewhere it is ordinary
        memory. It lives until it, or the client, is closed.

        Raises:
            TokendrawError: the server did not say whether it shares one.
            OSError: it does, and there is no room.
            ValueError: `nbytes` < 1.
        """
        deadline = Deadline(self._deadline)
        info = self._connection.link(deadline).info
        return converse(
            self._sharing.row_buffer(nbytes, info),
            lambda request: self._exchange(request, deadline),
        )

    sample = BlockingSampler._sample

    def stream(self) -> SampleStream:
        """A decode loop for one thread."""
        return SampleStream(self._connection, self._sharing, self._deadline)

    def _exchange(
        self, request: sampling_pb2.SampleTokensRequest, deadline: Deadline
    ) -> sampling_pb2.SampleTokensResponse:
        response: sampling_pb2.SampleTokensResponse = self._connection.call(
            'SampleTokens', request, deadline
        )
        return response

    def _call(self, method: str, request: Any) -> Any:
        return self._connection.call(method, request, Deadline(self._deadline))
