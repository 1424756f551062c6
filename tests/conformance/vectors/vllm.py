"""vLLM 0.33.0: vllm/v1/sample, vllm/v1/worker/gpu/sample, sampling_params.py.

Order: bias, repetition, frequency and presence, bans; temperature, min_p,
top_k, top_p.
"""

from protos import params_pb2
from vector import INF
from vector import Vector
from vector import equal
from vector import ln

PROFILE = params_pb2.PROFILE_VLLM

_AFTER_1 = [params_pb2.TokenSequence(token_ids=[1, 2])]

VECTORS = [
    # Nothing is on: the softmax.
    Vector('defaults', ln(0.5, 0.3, 0.2), {0: 0.5, 1: 0.3, 2: 0.2}),
    # T 2 takes square roots: (.707107, .547723, .447214) / 1.702043 =
    # (.415446, .321803, .262751). min_p .7 cuts below .290812. (Before
    # temperature: below .35, and token 1 would go.) Left: .547723 / 1.254830.
    Vector(
        'temperature before min_p',
        ln(0.5, 0.3, 0.2),
        {0: 0.563508, 1: 0.436492},
        params={'temperature': 2, 'min_p': 0.7},
    ),
    # min_p .6 cuts below .24: (.571429, .428571). top_p .5 is reached by the
    # first. (top_p first: .4 < .5, two tokens, which min_p keeps.)
    Vector(
        'min_p before top_p',
        ln(0.4, 0.3, 0.2, 0.1),
        {0: 1},
        params={'min_p': 0.6, 'top_p': 0.5},
    ),
    # top_k 2: (.571429, .428571); then as above. (top_p first: two.)
    Vector(
        'top_k before top_p',
        ln(0.4, 0.3, 0.2, 0.1),
        {0: 1},
        params={'top_k': 2, 'top_p': 0.5},
    ),
    # The GPU kernel trims what is equal to the k-th.
    Vector(
        'top_k keeps exactly k',
        ln(0.4, 0.2, 0.2, 0.2),
        {0: 2 / 3, 1: 1 / 3},
        params={'top_k': 2},
    ),
    # p - before: 0, .25, .5, .75 of four equal ones: .5 is not below .5.
    Vector('top_p reached', [0] * 4, equal(2), params={'top_p': 0.5}),
    # What is equal to min_p * largest stays.
    Vector('min_p reached', [0] * 4, equal(4), params={'min_p': 1}),
    # Below 1e-5 it is greedy, and no filter runs.
    Vector(
        'tiny temperature',
        ln(0.3, 0.5, 0.2),
        None,
        token=1,
        params={'temperature': 1e-6},
    ),
    # .005 is raised to .01: (0, -.01) / .01 = (0, -1): 1 / (1 + e^-1).
    Vector(
        'small temperature',
        [0, -0.01],
        {0: 0.731059, 1: 0.268941},
        params={'temperature': 0.005},
    ),
    # -inf becomes -100: token 1 has e^-100, and is still a candidate.
    Vector(
        'bias is clamped below',
        [0, 0, 0],
        {0: 0.5, 1: 0, 2: 0.5},
        params={'logit_bias': [params_pb2.LogitBias(id=1, bias=-INF)]},
    ),
    # 150 becomes 100: 100 - 99 = 1 above token 0: 1 / (1 + e^-1).
    Vector(
        'bias is clamped above',
        [99, 0],
        {0: 0.268941, 1: 0.731059},
        params={'logit_bias': [params_pb2.LogitBias(id=1, bias=150)]},
    ),
    # Token 0 is in the prompt alone: nothing. Token 1: -(.5 * 2 + .25).
    # e^-1.25 = .286505; / 2.286505.
    Vector(
        'frequency and presence over the output',
        [0, 0, 0],
        {0: 0.437349, 1: 0.125302, 2: 0.437349},
        prompt=(0, 0, 0),
        output=(1, 1),
        params={'frequency_penalty': 0.5, 'presence_penalty': 0.25},
    ),
    # Prompt and output, once per id, by sign: (2 / 2, -1 * 2, 1).
    # e^1, e^-2, e^1: 2.718282, .135335; / 5.571899.
    Vector(
        'repetition once per id',
        [2, -1, 1],
        {0: 0.487855, 1: 0.024289, 2: 0.487855},
        prompt=(0, 0),
        output=(1, 0),
        params={'repetition_penalty': 2},
    ),
    # 2 / 2 - .5 * 2 = 0. (Frequency first: (2 - 1) / 2 = .5.)
    Vector(
        'repetition before frequency',
        [2, 0],
        equal(2),
        output=(0, 0),
        params={'repetition_penalty': 2, 'frequency_penalty': 0.5},
    ),
    # -1 + 2 = 1, then 1 / 2. (Repetition first: -2 + 2 = 0.)
    # 1 / (1 + e^-.5).
    Vector(
        'bias before repetition',
        [-1, 0],
        {0: 0.622459, 1: 0.377541},
        prompt=(0,),
        params={
            'repetition_penalty': 2,
            'logit_bias': [params_pb2.LogitBias(id=0, bias=2)],
        },
    ),
    Vector(
        'bad words after the output',
        [0, 0, 0],
        equal(2),
        output=(1,),
        params={'bad_token_sequences': _AFTER_1},
    ),
    Vector(
        'bad words do not look at the prompt',
        [0, 0, 0],
        equal(3),
        prompt=(1,),
        params={'bad_token_sequences': _AFTER_1},
    ),
    Vector(
        'min_tokens not reached',
        [0, 0, 0],
        equal(2),
        prompt=(0, 0),
        output=(1,),
        params={'min_tokens': 2, 'stop_ids': [2]},
    ),
    Vector(
        'min_tokens reached',
        [0, 0, 0],
        equal(3),
        output=(1, 1),
        params={'min_tokens': 2, 'stop_ids': [2]},
    ),
    Vector('allowed ids', [0, 0, 0], equal(2), params={'allowed_ids': [1, 0]}),
]
