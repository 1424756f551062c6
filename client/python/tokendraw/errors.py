"""What a call that failed raises."""

import grpc

from tokendraw.v1 import sampling_pb2

_ERROR_CODES: dict[int, grpc.StatusCode] = {
    code.value[0]: code
    for code in grpc.StatusCode
    if code is not grpc.StatusCode.OK
}


class TokendrawError(Exception):
    """A call, or one step of a stream, was refused or did not come to an end.

    Attributes:
        code: the status, the server's own or the transport's.
        details: its text.
        retry_after: seconds after which the same call may succeed; None if it
            would fail again.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        details: str,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f'{code.name}: {details}')
        self.code = code
        self.details = details
        self.retry_after = retry_after


# What gRPC calls a stream that was reset on its way.
_MAY_BE_CUT = (grpc.StatusCode.INTERNAL, grpc.StatusCode.CANCELLED)


def of_call(error: grpc.RpcError, address: str) -> TokendrawError:
    """The status that a call ended with.

    A reset is UNAVAILABLE: that is what a proxy does whose server died.
    """
    code, details = error.code(), error.details() or ''
    if code in _MAY_BE_CUT and 'RST_STREAM' in details:
        code, details = grpc.StatusCode.UNAVAILABLE, f'cut off: {details}'
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        # gRPC does not always say whom it waited for.
        details = f'{details} ({address})'
    advice_ms = 0
    for key, value in error.trailing_metadata() or ():
        if key == 'grpc-retry-pushback-ms':
            advice_ms = _milliseconds(value)
    return TokendrawError(code, details, _retry_after(code, advice_ms))


def of_message(error: sampling_pb2.Error) -> TokendrawError:
    """What one message of a stream was refused with."""
    code = _ERROR_CODES.get(error.code, grpc.StatusCode.UNKNOWN)
    return TokendrawError(
        code, error.message, _retry_after(code, error.retry_after_ms)
    )


def check_size(
    request: sampling_pb2.SampleTokensRequest, most_bytes: int
) -> None:
    """Raises TokendrawError unless the server takes a message of that size."""
    size = request.ByteSize()
    if size > most_bytes:
        raise TokendrawError(
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            f'the message has {size} bytes, and the server takes {most_bytes}',
        )


def of_end(address: str) -> TokendrawError:
    """A stream that the server ended without a status that says why."""
    return TokendrawError(
        grpc.StatusCode.UNAVAILABLE,
        f'the server ended the stream ({address})',
        retry_after=0.0,
    )


def of_late(address: str) -> TokendrawError:
    """A message of a stream whose reply did not come in time."""
    return TokendrawError(
        grpc.StatusCode.DEADLINE_EXCEEDED,
        f'the deadline passed before the reply ({address})',
    )


def _milliseconds(advice: str | bytes) -> int:
    """0 is no advice to retry."""
    try:
        return int(advice)
    except ValueError:
        return 0


def _retry_after(code: grpc.StatusCode, advice_ms: int) -> float | None:
    if code is grpc.StatusCode.UNAVAILABLE:
        return max(advice_ms, 0) / 1000
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and advice_ms > 0:
        return advice_ms / 1000
    return None
