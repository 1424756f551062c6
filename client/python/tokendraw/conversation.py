"""What is said to a server, whatever carries it: blocking calls or asyncio.

A conversation is a generator. It yields each message, is sent the reply or
thrown what came instead of it, and returns what it was held for.
"""

from collections.abc import Awaitable, Callable, Generator
from typing import TypeVar

from tokendraw.v1 import sampling_pb2

_T = TypeVar('_T')

Conversation = Generator[
    sampling_pb2.SampleTokensRequest, sampling_pb2.SampleTokensResponse, _T
]


def converse(
    conversation: Conversation[_T],
    exchange: Callable[
        [sampling_pb2.SampleTokensRequest], sampling_pb2.SampleTokensResponse
    ],
) -> _T:
    """Holds it; `exchange` sends a message and returns its reply."""
    try:
        request = next(conversation)
        while True:
            try:
                response = exchange(request)
            except BaseException as error:
                request = conversation.throw(error)
            else:
                request = conversation.send(response)
    except StopIteration as end:
        result: _T = end.value
        return result


async def converse_async(
    conversation: Conversation[_T],
    exchange: Callable[
        [sampling_pb2.SampleTokensRequest],
        Awaitable[sampling_pb2.SampleTokensResponse],
    ],
) -> _T:
    """As converse()."""
    try:
        request = next(conversation)
        while True:
            try:
                response = await exchange(request)
            except BaseException as error:
                request = conversation.throw(error)
            else:
                request = conversation.send(response)
    except StopIteration as end:
        result: _T = end.value
        return result
