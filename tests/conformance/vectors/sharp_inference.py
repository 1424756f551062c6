"""SharpInference 6a37fc0: src/SharpInference.Engine/Sampler.cs.

Order: bias, repetition, temperature, top_k, min_p, top_p. With 0 < top_k < V
and no bias another path runs ("fast" below), which differs in ties.
"""

from protos import params_pb2
from vector import Vector
from vector import equal
from vector import ln

PROFILE = params_pb2.PROFILE_SHARP_INFERENCE

VECTORS = [
    Vector('defaults', ln(0.5, 0.3, 0.2), {0: 0.5, 1: 0.3, 2: 0.2}),
    # T 2 takes square roots: (.415446, .321803, .262751). min_p .7 cuts below
    # .290812. (Before temperature: below .35.)
    Vector(
        'temperature before min_p',
        ln(0.5, 0.3, 0.2),
        {0: 0.563508, 1: 0.436492},
        params={'temperature': 2, 'min_p': 0.7},
    ),
    # min_p .6 cuts below .24: two tokens. top_p .5 adds up what they had
    # before: .4, .7. (Renormalised, the first would have .571429.)
    Vector(
        'top_p of the masses before min_p',
        ln(0.4, 0.3, 0.2, 0.1),
        {0: 0.571429, 1: 0.428571},
        params={'min_p': 0.6, 'top_p': 0.5},
    ),
    # top_k 2: (.571429, .428571), renormalised: the first has .5.
    Vector(
        'top_p of the masses after top_k',
        ln(0.4, 0.3, 0.2, 0.1),
        {0: 1},
        params={'top_k': 2, 'top_p': 0.5},
    ),
    # The first running sum >= p is the last: .25, .5.
    Vector('top_p reached', [0] * 4, equal(2), params={'top_p': 0.5}),
    Vector('min_p reached', [0] * 4, equal(4), params={'min_p': 1}),
    # Fast: the first k.
    Vector(
        'top_k keeps exactly k without a bias',
        ln(0.4, 0.2, 0.2, 0.2),
        {0: 2 / 3, 1: 1 / 3},
        params={'top_k': 2},
    ),
    # Slow: whatever is not below the k-th. (.4, .2, .2) / .8.
    Vector(
        'ties at top_k stay beside a bias',
        ln(0.4, 0.2, 0.2, 0.2),
        {0: 0.5, 1: 0.25, 2: 0.25},
        params={
            'top_k': 2,
            'logit_bias': [params_pb2.LogitBias(id=3, bias=-9)],
        },
    ),
    # Each occurrence: 2 / 2 / 2 = .5, -1 * 2 = -2, 1.
    # e^.5 = 1.648721, e^-2 = .135335, e^1 = 2.718282; / 4.502338.
    Vector(
        'repetition per occurrence',
        [2, -1, 1],
        {0: 0.366192, 1: 0.030059, 2: 0.603749},
        output=(0, 0, 1),
        params={'repetition_penalty': 2},
    ),
    # -1 + 2 = 1, then 1 / 2. 1 / (1 + e^-.5).
    Vector(
        'bias before repetition',
        [-1, 0],
        {0: 0.622459, 1: 0.377541},
        output=(0,),
        params={
            'repetition_penalty': 2,
            'logit_bias': [params_pb2.LogitBias(id=0, bias=2)],
        },
    ),
    # The largest logit as it came: token 0, whatever bias and penalty say.
    Vector(
        'greedy rows are not edited',
        [2, 1, 0],
        None,
        token=0,
        output=(0,),
        params={
            'temperature': 0,
            'repetition_penalty': 4,
            'logit_bias': [params_pb2.LogitBias(id=1, bias=5)],
        },
    ),
    Vector(
        'greedy is the first of equals',
        [1, 3, 3],
        None,
        token=1,
        params={'temperature': 0},
    ),
]
