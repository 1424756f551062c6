"""transformers as a peer: its real processors, in the order of generate()."""

from collections.abc import Callable

import numpy as np
import torch
from transformers.generation import logits_process as real

from cases import Answer
from cases import Case
from cases import filter_names
from cases import value
from requests_of import Params

# A row is small work, and threads that wait would spin.
torch.set_num_threads(1)

# GenerationConfig.
_TOP_K = 50
# GenerationMixin._get_logits_processor.
_CHAIN = (
    'temperature',
    'top_h',
    'top_k',
    'top_p',
    'min_p',
    'typical_p',
    'epsilon_cutoff',
    'eta_cutoff',
)
# Beside these values it makes no processor.
_OFF = {'temperature': 1.0, 'top_p': 1.0, 'typical_p': 1.0} | {
    name: 0.0 for name in ('epsilon_cutoff', 'eta_cutoff', 'top_h')
}


def _processors(case: Case) -> list[real.LogitsProcessor]:
    """Those that act whether it samples or not."""
    params = case.params
    made: list[real.LogitsProcessor] = []
    if params.logit_bias:
        biases = {(b.id,): b.bias for b in params.logit_bias}
        made.append(real.SequenceBiasLogitsProcessor(biases))
    repetition = value(params, 'repetition_penalty', 1.0)
    if repetition != 1.0:
        made.append(real.RepetitionPenaltyLogitsProcessor(repetition))
    if params.no_repeat_ngram_size > 0:
        made.append(
            real.NoRepeatNGramLogitsProcessor(params.no_repeat_ngram_size)
        )
    if params.bad_token_sequences:
        bad = [list(s.token_ids) for s in params.bad_token_sequences]
        made.append(real.NoBadWordsLogitsProcessor(bad))
    if params.min_tokens > 0:
        made.append(
            real.MinNewTokensLengthLogitsProcessor(
                len(case.prompt), params.min_tokens, list(params.stop_ids)
            )
        )
    if params.allowed_ids:
        allowed = list(params.allowed_ids)
        made.append(
            real.PrefixConstrainedLogitsProcessor(lambda *_: allowed, 1)
        )
    return made


def _warper(name: str, params: Params) -> real.LogitsProcessor | None:
    if name == 'top_k':
        k = int(value(params, name, _TOP_K))
        if k == 0:
            return None
        return real.TopKLogitsWarper(k, min_tokens_to_keep=_keep(params))
    if not params.HasField(name) or getattr(params, name) == _OFF.get(name):
        return None
    amount = getattr(params, name)
    if name == 'temperature':
        return real.TemperatureLogitsWarper(amount)
    if name == 'top_h':
        return real.TopHLogitsWarper(amount)
    make: dict[str, Callable[..., real.LogitsProcessor]] = {
        'top_p': real.TopPLogitsWarper,
        'min_p': real.MinPLogitsWarper,
        'typical_p': real.TypicalLogitsWarper,
        'epsilon_cutoff': real.EpsilonLogitsWarper,
        'eta_cutoff': real.EtaLogitsWarper,
    }
    return make[name](amount, min_tokens_to_keep=_keep(params))


def _keep(params: Params) -> int:
    return max(1, int(value(params, 'min_keep', 1)))


def processed(case: Case) -> torch.Tensor:
    """The scores that generate() would draw from, or take the largest of."""
    chain = filter_names(case.params) or _CHAIN
    processors = real.LogitsProcessorList(_processors(case))
    if value(case.params, 'temperature', 1.0) > 0:  # do_sample
        warpers = (_warper(name, case.params) for name in chain)
        processors.extend(warper for warper in warpers if warper)
    input_ids = torch.tensor([case.history], dtype=torch.long)
    return processors(input_ids, torch.from_numpy(case.logits[None]))[0]


class Transformers:
    """See compare.Peer."""

    def answer(self, case: Case, mended: bool = False) -> Answer:
        scores = processed(case)
        p = torch.softmax(scores, -1).numpy()
        ids = np.flatnonzero(~np.isneginf(scores.numpy()))
        return Answer(ids, p[ids].astype(np.float64))

    def defects(self, case: Case) -> list[str]:
        return []
