"""How a sequence becomes longer: logits of the engine, tokens of the service.

A sequence is the RowSpec that goes with each of its rows: seed, position,
prompt and output. Nothing else is needed to go on with it elsewhere, but what
the engine remembers.
"""

from collections.abc import Sequence

import numpy as np

from engine import Engine
import tokendraw


class Drawer:
    """Draws the next token of some sequences, step after step.

    Attributes:
        rows: where the logits of a step are written to: the server's shared
            memory, if it is on this host and has any.
        payload: how the last step's went to the server.
    """

    def __init__(
        self,
        client: tokendraw.Client,
        params: tokendraw.SamplingParams,
        sequences: int,
        vocab_size: int,
    ) -> None:
        self._stream = client.stream()
        self._params = params
        shape = (sequences, vocab_size)
        buffer = client.row_buffer(sequences * vocab_size * 4)
        self.rows = buffer.array(np.float32, shape)
        self.payload: tokendraw.Payload | None = None

    def draw(self, sequences: Sequence[tokendraw.RowSpec]) -> None:
        """Adds to each the token that is drawn from its row.

        Raises:
            TokendrawError: the service gave no answer.
            RuntimeError: a row has no token.
        """
        for sequence in sequences:
            sequence.position = len(sequence.prompt_ids)
            sequence.position += len(sequence.output_ids)
        result = self._stream.step(
            self.rows[: len(sequences)], self._params, sequences
        )
        reply = result.response
        if reply.row_errors:
            raise RuntimeError(str(reply.row_errors[0]))
        for row, sequence in enumerate(sequences):
            sequence.output_ids.append(reply.token_ids[row])
            # Unless it was given, the service has chosen it at the first step.
            sequence.seed = reply.seeds[row]
            if reply.sampler_states:  # of mirostat and adaptive-p
                sequence.sampler_state.CopyFrom(reply.sampler_states[row])
        self.payload = result.payload


def prefill(
    engine: Engine, drawer: Drawer, sequences: Sequence[tokendraw.RowSpec]
) -> None:
    """Evaluates the prompts, and draws the first token after each."""
    for index, sequence in enumerate(sequences):
        engine.prefill(index, sequence.prompt_ids)
        drawer.rows[index] = engine.row(-1)
    drawer.draw(sequences)


def decode(
    engine: Engine,
    drawer: Drawer,
    sequences: Sequence[tokendraw.RowSpec],
    max_tokens: int,
) -> None:
    """Draws the tokens after the first, until each sequence ends.

    That is with the model's end token, or `max_tokens` tokens.
    """

    def lives(sequence: tokendraw.RowSpec) -> bool:
        output = sequence.output_ids
        return len(output) < max_tokens and not engine.is_end(output[-1])

    while live := [i for i, s in enumerate(sequences) if lives(s)]:
        engine.decode(live, [sequences[i].output_ids[-1] for i in live])
        for row in range(len(live)):
            drawer.rows[row] = engine.row(row)
        drawer.draw([sequences[i] for i in live])
