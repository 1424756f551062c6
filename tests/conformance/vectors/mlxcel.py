"""mlxcel, 2026: src/lib/mlxcel-core/src/sampling.rs.

Order: bias, repetition, DRY, frequency and presence; top_n_sigma, p_less,
top_k, typical_p, top_p, min_p, XTC, temperature. Where typical_p stands to
top_k differs between its versions: no vector is about it.
"""

from protos import params_pb2
from vector import Vector
from vector import equal
from vector import ln

PROFILE = params_pb2.PROFILE_MLXCEL

_XTC = {'xtc_probability': 1, 'xtc_threshold': 0.15}

VECTORS = [
    # Before: 0, .5, .8: two tokens. (After temperature, (.415, .322, .263):
    # before the third .737, so three.) Then square roots of (.5, .3).
    Vector(
        'temperature is last',
        ln(0.5, 0.3, 0.2),
        {0: 0.563508, 1: 0.436492},
        params={'temperature': 2, 'top_p': 0.75},
    ),
    # Before: 0, .25, .5, .75: what comes at exactly .5 stays.
    Vector(
        'top_p keeps what reaches it', [0] * 4, equal(3), params={'top_p': 0.5}
    ),
    Vector(
        'ties at top_k stay',
        ln(0.4, 0.2, 0.2, 0.2),
        {0: 0.4, 1: 0.2, 2: 0.2, 3: 0.2},
        params={'top_k': 2},
    ),
    # top_k 2: (.571429, .428571); top_p .55 is reached by the first.
    Vector(
        'top_k before top_p',
        ln(0.4, 0.3, 0.2, 0.1),
        {0: 1},
        params={'top_k': 2, 'top_p': 0.55},
    ),
    Vector('min_p reached', [0] * 4, equal(4), params={'min_p': 1}),
    # top_p .85: before (0, .4, .7, .9): three, (.444444, .333333, .222222).
    # min_p .6 cuts below .266667.
    Vector(
        'top_p before min_p',
        ln(0.4, 0.3, 0.2, 0.1),
        {0: 0.571429, 1: 0.428571},
        params={'top_p': 0.85, 'min_p': 0.6},
    ),
    # H = 1.213008; abs(-ln p - H) = .519860, .173286, .866434, .866434.
    # Order 1, 0, 2, 3 with mass before 0, .25, .75, .875.
    Vector(
        'typical_p .2',
        ln(0.5, 0.25, 0.125, 0.125),
        {1: 1},
        params={'typical_p': 0.2},
    ),
    Vector(
        'typical_p .7',
        ln(0.5, 0.25, 0.125, 0.125),
        {0: 2 / 3, 1: 1 / 3},
        params={'typical_p': 0.7},
    ),
    Vector(
        'typical_p .8',
        ln(0.5, 0.25, 0.125, 0.125),
        {0: 4 / 7, 1: 2 / 7, 2: 1 / 7},
        params={'typical_p': 0.8},
    ),
    # Above .15 are 0, 1, 2; the least probable of them is left.
    Vector('XTC', ln(0.4, 0.3, 0.2, 0.1), {2: 2 / 3, 3: 1 / 3}, params=_XTC),
    # (.4, .2, .1) / .7.
    Vector(
        'XTC spares a protected token',
        ln(0.4, 0.3, 0.2, 0.1),
        {0: 4 / 7, 2: 2 / 7, 3: 1 / 7},
        params=_XTC | {'xtc_protected_ids': [0]},
    ),
    # p = t is not above t.
    Vector(
        'XTC is above, not at, the threshold',
        [0, 0],
        equal(2),
        params={'xtc_probability': 1, 'xtc_threshold': 0.5},
    ),
    # min_p .6 leaves (.571429, .428571): one above .5.
    Vector(
        'min_p before XTC',
        ln(0.4, 0.3, 0.2, 0.1),
        {0: 0.571429, 1: 0.428571},
        params={'min_p': 0.6, 'xtc_probability': 1, 'xtc_threshold': 0.5},
    ),
    # XTC takes 0 and 1; the largest of the rest.
    Vector(
        'XTC on a greedy row',
        ln(0.4, 0.3, 0.2, 0.1),
        None,
        token=2,
        params=_XTC | {'temperature': 0},
    ),
    # Mean 2, sigma sqrt(2) = 1.414214: 4 - 1.414214 = 2.585786.
    # (Of the two that top_k leaves: sigma .5, and 3 would go.)
    # 1 / (1 + e^-1).
    Vector(
        'top_n_sigma before top_k',
        [4, 3, 2, 1, 0],
        {0: 0.731059, 1: 0.268941},
        params={'top_n_sigma': 1, 'top_k': 2},
    ),
    # Sum of squares: .25 + .09 + .04 = .38.
    Vector('p_less', ln(0.5, 0.3, 0.2), {0: 1}, params={'p_less': True}),
    # (2 / 2, -1 * 2, 1): once per id. e^1, e^-2, e^1.
    Vector(
        'repetition once per id',
        [2, -1, 1],
        {0: 0.487855, 1: 0.024289, 2: 0.487855},
        output=(0, 0, 1),
        params={'repetition_penalty': 2},
    ),
    # Prompt and output: token 0 three times, token 1 once; f .5.
    # e^-1.5 = .223130, e^-.5 = .606531, 1; / 1.829661.
    Vector(
        'frequency over prompt and output',
        [0, 0, 0],
        {0: 0.121952, 1: 0.331499, 2: 0.546549},
        prompt=(0, 0),
        output=(0, 1),
        params={'frequency_penalty': 0.5},
    ),
    # mu = 2 tau = 2 bits: surprises .97, 1.94, 3.12, 3.12. Neither top_p nor
    # penalties run.
    Vector(
        'mirostat alone',
        ln(0.51, 0.26, 0.115, 0.115),
        {0: 0.662338, 1: 0.337662},
        output=(0,),
        params={
            'mirostat': 2,
            'mirostat_tau': 1,
            'top_p': 0.3,
            'presence_penalty': 2,
        },
    ),
]
