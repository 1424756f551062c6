"""Decodes 50 tokens over one stream and prints their ids: a worker's loop.

Usage: python decode.py ADDRESS ROWS.safetensors

ADDRESS is unix:PATH or HOST:PORT. The package asks for the server's limits,
tries again after UNAVAILABLE and when a full server says when it will have
room, and keeps the deadline.
"""

import json
import pathlib
import sys

import numpy as np
import numpy.typing as npt
import tokendraw

_STEPS = 50


def read_rows(path: str) -> npt.NDArray[np.float32]:
    """The BF16 tensor `logits`, [rows, vocab], of a safetensors file.

    That is the length of a JSON header, the header, and the data. An engine
    has its rows on its device.
    """
    file = pathlib.Path(path).read_bytes()
    start = 8 + int.from_bytes(file[:8], 'little')
    about = json.loads(file[8:start])['logits']
    begin, end = about['data_offsets']
    halves = np.frombuffer(file[start + begin : start + end], '<u2')
    # BF16 is the upper half of a float32.
    wide = halves.astype('<u4') << 16
    return wide.view(np.float32).reshape(about['shape'])


def decode(address: str, rows: npt.NDArray[np.float32]) -> list[int]:
    """The tokens of one sequence."""
    params = tokendraw.SamplingParams(
        temperature=0.8,
        typical_p=0.9,
        xtc_probability=0.5,
        xtc_threshold=0.1,
        repetition_penalty=1.1,
    )
    output: list[int] = []
    with (
        tokendraw.Client(address, deadline=60.0) as client,
        client.stream() as stream,
    ):
        for step in range(_STEPS):
            row = tokendraw.RowSpec(seed=42, position=step, output_ids=output)
            logits = rows[[step % len(rows)]]
            result = stream.step(logits, params, [row], step=step)
            for error in result.response.row_errors:
                raise RuntimeError(error.message)
            output += result.token_ids.tolist()
    return output


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit('usage: decode.py ADDRESS ROWS.safetensors')
    print(*decode(sys.argv[1], read_rows(sys.argv[2])))
