"""Milliseconds per token: the model, llama.cpp's samplers, the service.

Every prompt is answered in three ways, one sequence at a time: through the
service; with llama.cpp's own samplers, the same parameters, in the same
process; and without sampling, the service's tokens given. Prints medians over
all tokens but the first of each answer. Where nothing is drawn, the tokens of
the service and of llama.cpp must be the same.
"""

import argparse
from collections.abc import Callable
import dataclasses
import time

import numpy as np

from engine import Engine
from peer import LlamaChain
from steps import Drawer
import tokendraw
from tokendraw.v1 import params_pb2

_PROMPTS = (
    'What is the capital of France?',
    'Write a short story about a lighthouse keeper.',
    'How do I bake bread?',
)
_SEED = 42
# llama.cpp's order and rules, with all filters off.
_OFF = tokendraw.SamplingParams(
    profile=params_pb2.PROFILE_LLAMA_CPP,
    temperature=1.0,
    top_n_sigma=0.0,
    top_k=0,
    typical_p=1.0,
    top_p=1.0,
    min_p=0.0,
    xtc_probability=0.0,
    xtc_threshold=0.1,
    repetition_penalty=1.0,
    frequency_penalty=0.0,
    presence_penalty=0.0,
    penalty_last_n=64,
)
_CASES = {
    'greedy, penalties': tokendraw.SamplingParams(
        temperature=0.0, repetition_penalty=1.1, frequency_penalty=0.1
    ),
    "llama-server's defaults": tokendraw.SamplingParams(
        temperature=0.8, top_k=40, top_p=0.95, min_p=0.05
    ),
    'typical_p, XTC, penalties': tokendraw.SamplingParams(
        temperature=0.8,
        typical_p=0.9,
        xtc_probability=0.5,
        repetition_penalty=1.1,
        frequency_penalty=0.1,
    ),
}


@dataclasses.dataclass
class Times:
    """Seconds of each step."""

    model: list[float] = dataclasses.field(default_factory=list)
    sampling: list[float] = dataclasses.field(default_factory=list)

    def line(self, name: str) -> str:
        model = 1000 * np.array(self.model)
        sampling = 1000 * np.array(self.sampling)
        return (
            f'| {name} | {np.median(model):.2f} | {np.median(sampling):.2f} '
            f'| {np.median(model + sampling):.2f} |'
        )


def _answer(
    engine: Engine,
    prompt_ids: list[int],
    draw: Callable[[], int],
    max_tokens: int,
    times: Times,
) -> list[int]:
    """Draws `max_tokens` tokens; an end token does not end it."""
    engine.prefill(0, prompt_ids)
    ids = [draw()]
    while len(ids) < max_tokens:
        start = time.perf_counter()
        engine.decode([0], ids[-1:])
        evaluated = time.perf_counter()
        ids.append(draw())
        times.sampling.append(time.perf_counter() - evaluated)
        times.model.append(evaluated - start)
    return ids


def _compare_answers(
    engine: Engine,
    drawer: Drawer,
    params: tokendraw.SamplingParams,
    prompt_ids: list[int],
    max_tokens: int,
    times: tuple[Times, Times, Times],
) -> None:
    """Answers one prompt: model alone, llama.cpp's samplers, service.

    Raises:
        RuntimeError: greedy tokens differ.
    """
    alone, chain, service = times
    sequence = tokendraw.RowSpec(prompt_ids=prompt_ids, seed=_SEED)
    llama = LlamaChain(engine, params, _SEED)
    llama.accept(prompt_ids)

    def draw() -> int:
        drawer.rows[0] = engine.row(-1)
        drawer.draw([sequence])
        return int(sequence.output_ids[-1])

    ids = _answer(engine, prompt_ids, draw, max_tokens, service)
    others = _answer(engine, prompt_ids, llama.draw, max_tokens, chain)
    llama.close()
    given = iter(ids)
    _answer(engine, prompt_ids, lambda: next(given), max_tokens, alone)
    if params.temperature == 0 and ids != others:
        raise RuntimeError(
            f'greedy tokens differ: {ids} here, {others} with llama.cpp'
        )


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument('--server', required=True, help='unix:PATH or HOST:PORT')
    flags.add_argument(
        '--max_tokens', type=int, default=64, help='of each answer (64)'
    )
    args = flags.parse_args()
    engine = Engine(1)
    with tokendraw.Client(args.server) as client:
        for name, settings in _CASES.items():
            params = tokendraw.SamplingParams()
            params.CopyFrom(_OFF)
            params.MergeFrom(settings)
            drawer = Drawer(client, params, 1, engine.vocab_size)
            times = Times(), Times(), Times()
            for prompt in _PROMPTS:
                _compare_answers(
                    engine,
                    drawer,
                    params,
                    engine.prompt_ids(prompt),
                    args.max_tokens,
                    times,
                )
            print(f'\n{name}\n\n| ms per token | model | sampling | both |')
            print('|---|---|---|---|')
            ways = (
                'model alone',
                "llama.cpp's samplers",
                f'service, {drawer.payload}',
            )
            for way, spent in zip(ways, times, strict=True):
                print(spent.line(way), flush=True)


if __name__ == '__main__':
    main()
