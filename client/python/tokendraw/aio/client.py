"""The client of a sampling service, for asyncio."""

from collections.abc import Sequence
from typing import Any, Self

import grpc
import numpy.typing as npt

from tokendraw.aio.connection import Connection
from tokendraw.aio.sampler import AsyncSampler
from tokendraw.aio.stream import SampleStream
from tokendraw.batch import parameter_sets
from tokendraw.conversation import converse_async
from tokendraw.explain import explain_request
from tokendraw.identity import Identity, TokenFile
from tokendraw.retry import Deadline, check_deadline
from tokendraw.row_buffer import RowBuffer
from tokendraw.sharing import Sharing
from tokendraw.v1 import params_pb2, sampling_pb2


class Client(AsyncSampler):
    """tokendraw.Client, for the tasks of one event loop.

    Arguments, results, retries and errors are the same. Rows that go as bytes
    are copied, and candidates chosen, in the loop's own thread.
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
        """As tokendraw.Client; to be called where the event loop runs."""
        check_deadline(deadline)
        identity = Identity(credentials, server_name, token_file)
        super().__init__(
            Connection(address, identity), Sharing(shm_dir), deadline
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *unused: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends its calls and streams, and closes its row buffers."""
        await self._connection.close()
        self._sharing.close()

    async def info(self) -> sampling_pb2.GetServerInfoResponse:
        """Versions, limits and what the server can do."""
        info: sampling_pb2.GetServerInfoResponse = await self._call(
            'GetServerInfo', sampling_pb2.GetServerInfoRequest()
        )
        return info

    async def validate(
        self,
        params: params_pb2.SamplingParams | Sequence[params_pb2.SamplingParams],
        *,
        vocab_size: int = 0,
        validation: sampling_pb2.Validation = sampling_pb2.VALIDATION_STRICT,
    ) -> list[sampling_pb2.ParamViolation]:
        """As tokendraw.Client.validate."""
        request = sampling_pb2.ValidateParamsRequest(
            params=parameter_sets(params),
            vocab_size=vocab_size,
            validation=validation,
        )
        reply = await self._call('ValidateParams', request)
        return list(reply.violations)

    async def explain(
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
        """As tokendraw.Client.explain."""
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
        explained: sampling_pb2.ExplainRowResponse = await self._call(
            'ExplainRow', request
        )
        return explained

    async def row_buffer(self, nbytes: int) -> RowBuffer:
        """As tokendraw.Client.row_buffer."""
        deadline = Deadline(self._deadline)
        link = await self._connection.link(deadline)
        return await converse_async(
            self._sharing.row_buffer(nbytes, link.info),
            lambda request: self._exchange(request, deadline),
        )

    sample = AsyncSampler._sample

    def stream(self) -> SampleStream:
        """A decode loop for one task."""
        return SampleStream(self._connection, self._sharing, self._deadline)

    async def _exchange(
        self, request: sampling_pb2.SampleTokensRequest, deadline: Deadline
    ) -> sampling_pb2.SampleTokensResponse:
        response: sampling_pb2.SampleTokensResponse = (
            await self._connection.call('SampleTokens', request, deadline)
        )
        return response

    async def _call(self, method: str, request: Any) -> Any:
        deadline = Deadline(self._deadline)
        return await self._connection.call(method, request, deadline)
