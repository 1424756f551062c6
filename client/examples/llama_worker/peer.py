"""llama.cpp's own samplers, set as SamplingParams say."""

from collections.abc import Sequence

import llama_cpp

from engine import Engine
import tokendraw


class LlamaChain:
    """The samplers of llama-server in their order, for one sequence.

    Of logit_bias, DRY, dynamic temperature, mirostat and adaptive-p it knows
    nothing.
    """

    def __init__(
        self, engine: Engine, params: tokendraw.SamplingParams, seed: int
    ) -> None:
        """`params` must say all that is asked of them here."""
        self._chain = llama_cpp.llama_sampler_chain_init(
            llama_cpp.llama_sampler_chain_default_params()
        )
        p = params
        for sampler in (
            llama_cpp.llama_sampler_init_penalties(
                engine.vocab_size,
                p.penalty_last_n,
                p.repetition_penalty,
                p.frequency_penalty,
                p.presence_penalty,
            ),
            llama_cpp.llama_sampler_init_top_n_sigma(p.top_n_sigma),
            llama_cpp.llama_sampler_init_top_k(p.top_k),
            llama_cpp.llama_sampler_init_typical(p.typical_p, 1),
            llama_cpp.llama_sampler_init_top_p(p.top_p, 1),
            llama_cpp.llama_sampler_init_min_p(p.min_p, 1),
            llama_cpp.llama_sampler_init_xtc(
                p.xtc_probability, p.xtc_threshold, 1, seed
            ),
            llama_cpp.llama_sampler_init_temp(p.temperature),
            llama_cpp.llama_sampler_init_dist(seed),
        ):
            llama_cpp.llama_sampler_chain_add(self._chain, sampler)
        self._context = engine.context

    def accept(self, ids: Sequence[int]) -> None:
        """Adds to the history that the penalties look at."""
        for token in ids:
            llama_cpp.llama_sampler_accept(self._chain, token)

    def draw(self) -> int:
        """A token from the engine's last row, which it accepts."""
        return int(
            llama_cpp.llama_sampler_sample(self._chain, self._context, -1)
        )

    def close(self) -> None:
        """Frees the samplers."""
        llama_cpp.llama_sampler_free(self._chain)
