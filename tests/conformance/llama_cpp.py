"""llama.cpp as a peer: its real samplers, in the order of llama-server."""

import numpy as np
import numpy.typing as npt

from cases import Answer
from cases import Case
from cases import filter_names
from cases import value
from llama_cpp_abi import Candidates
from llama_cpp_abi import Dry
from llama_cpp_abi import SEED
from llama_cpp_abi import Sampler
from llama_cpp_abi import logit_bias
from requests_of import Params

# common/common.h, common_params_sampling.
_ABSENT = {
    'temperature': 0.8,
    'dynatemp_range': 0.0,
    'dynatemp_exponent': 1.0,
    'top_k': 40,
    'top_p': 0.95,
    'min_p': 0.05,
    'typical_p': 1.0,
    'top_n_sigma': -1.0,
    'xtc_probability': 0.0,
    'xtc_threshold': 0.1,
    'min_keep': 0,
    'penalty_last_n': 64,
    'repetition_penalty': 1.0,
    'frequency_penalty': 0.0,
    'presence_penalty': 0.0,
    'dry_multiplier': 0.0,
    'dry_base': 1.75,
    'dry_allowed_length': 2,
    'dry_penalty_last_n': 64,
    'mirostat_tau': 5.0,
    'mirostat_eta': 0.1,
    'adaptive_target': -1.0,
    'adaptive_decay': 0.9,
}
# The filters among `samplers` there.
_CHAIN = (
    'top_n_sigma',
    'top_k',
    'typical_p',
    'top_p',
    'min_p',
    'xtc',
    'temperature',
)
# common_sampler_init.
_MIROSTAT_M = 100


def _value(params: Params, name: str) -> float:
    return value(params, name, _ABSENT[name])


def edits(case: Case) -> list[Sampler]:
    """The logit biases, and what looks at the history, which is accepted."""
    params = case.params
    vocab = case.logits.size
    samplers = []
    if params.logit_bias:
        samplers.append(
            logit_bias(vocab, [(b.id, b.bias) for b in params.logit_bias])
        )
    if params.mirostat:
        return samplers
    samplers.append(
        Sampler(
            'penalties',
            vocab,
            int(_value(params, 'penalty_last_n')),
            _value(params, 'repetition_penalty'),
            _value(params, 'frequency_penalty'),
            _value(params, 'presence_penalty'),
        )
    )
    last_n = int(_value(params, 'dry_penalty_last_n'))
    if _value(params, 'dry_multiplier') != 0 and last_n != 0:
        breakers = [[token] for token in params.dry_breaker_ids]
        breakers += [s.token_ids for s in params.dry_breaker_sequences]
        samplers.append(
            Dry(
                _value(params, 'dry_multiplier'),
                _value(params, 'dry_base'),
                int(_value(params, 'dry_allowed_length')),
                last_n,
                breakers,
            )
        )
    for sampler in samplers:
        for token in case.history:
            sampler.accept(token)
    return samplers


def _filter(name: str, params: Params) -> Sampler:
    keep = int(_value(params, 'min_keep'))
    match name:
        case 'top_k':
            return Sampler(name, int(_value(params, name)))
        case 'top_n_sigma':
            return Sampler(name, _value(params, name))
        case 'top_p' | 'min_p':
            return Sampler(name, _value(params, name), keep)
        case 'typical_p':
            return Sampler('typical', _value(params, name), keep)
        case 'xtc':
            probability = _value(params, 'xtc_probability')
            threshold = _value(params, 'xtc_threshold')
            return Sampler(name, probability, threshold, keep, SEED)
        case 'temperature':
            return Sampler(
                'temp_ext',
                _value(params, name),
                _value(params, 'dynatemp_range'),
                _value(params, 'dynatemp_exponent'),
            )
        case 'adaptive_p':
            target = _value(params, 'adaptive_target')
            return Sampler(name, target, _value(params, 'adaptive_decay'), SEED)
    raise ValueError(f'llama.cpp has no {name}')


def _mirostat(case: Case) -> list[Sampler]:
    params = case.params
    tau, eta = _value(params, 'mirostat_tau'), _value(params, 'mirostat_eta')
    if params.mirostat == 1:
        vocab = case.logits.size
        last = Sampler('mirostat', vocab, SEED, tau, eta, _MIROSTAT_M)
    else:
        last = Sampler('mirostat_v2', SEED, tau, eta)
    return [Sampler('temp_ext', _value(params, 'temperature'), 0, 1), last]


def samplers_of(case: Case) -> list[Sampler]:
    """What llama-server would run, to the one that draws."""
    if case.params.mirostat:
        return edits(case) + _mirostat(case)
    names = filter_names(case.params) or list(_CHAIN)
    # Wherever it is named, it comes last and draws.
    draws = 'adaptive_p' in names
    chain = [_filter(n, case.params) for n in names if n != 'adaptive_p']
    chain.append(
        _filter('adaptive_p', case.params) if draws else Sampler('dist', SEED)
    )
    return edits(case) + chain


def _defect(
    sampler: Sampler, candidates: Candidates, params: Params
) -> tuple[str, npt.NDArray[np.bool_]] | None:
    """What goes wrong with `sampler`, and the candidates that are the cause."""
    match sampler.name:
        case 'typical' if _value(params, 'typical_p') < 1:
            found = 'typical_p: NaN entropy', candidates.at_zero
        case 'mirostat':
            found = 'mirostat 1: NaN slope', candidates.at_zero
        case 'temp_ext' if _value(params, 'dynatemp_range') > 0:
            found = 'dynatemp: masked tokens in ln n', candidates.masked
        case 'xtc' if _value(params, 'min_keep') > 1:
            found = 'XTC: masked tokens in min_keep', candidates.masked
        case _:
            return None
    return found if found[1].any() else None


def run(
    samplers: list[Sampler], case: Case, mended: bool = False
) -> tuple[Candidates, list[str]]:
    """Applies them. Also the defects that it came across.

    Args:
        samplers: in order.
        case: where the row comes from.
        mended: takes what causes a defect out of the array before it does.
    """
    candidates = Candidates(case.logits)
    defects = []
    for sampler in samplers:
        if found := _defect(sampler, candidates, case.params):
            defects.append(found[0])
            if mended:
                candidates.drop(found[1])
        sampler.apply(candidates)
    return candidates, defects


def answer_of(candidates: Candidates) -> Answer:
    """What the last sampler drew from."""
    left = candidates.now[~np.isneginf(candidates.now['logit'])]
    left = left[left['id'].argsort()]
    return Answer(left['id'].astype(np.int64), left['p'].astype(np.float64))


class LlamaCpp:
    """See compare.Peer."""

    def answer(self, case: Case, mended: bool = False) -> Answer:
        return answer_of(run(samplers_of(case), case, mended)[0])

    def defects(self, case: Case) -> list[str]:
        return run(samplers_of(case), case)[1]
