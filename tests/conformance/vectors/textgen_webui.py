"""text-generation-webui, 2025: modules/sampler_hijack.py.

Order: repetition, presence, frequency, DRY; temperature, smoothing,
top_n_sigma, top_k, top_p, typical_p, epsilon and eta cutoff, tfs, top_a,
min_p, mirostat, XTC. The filters that transformers has are its own.
"""

from protos import params_pb2
from vector import Vector
from vector import equal
from vector import ln

PROFILE = params_pb2.PROFILE_TEXTGEN_WEBUI

_XTC = {'xtc_probability': 1, 'xtc_threshold': 0.15}
_DRY = {'dry_multiplier': 1, 'dry_base': 1.75, 'dry_allowed_length': 2}

VECTORS = [
    Vector('defaults', ln(0.5, 0.3, 0.2), {0: 0.5, 1: 0.3, 2: 0.2}),
    # T 2 takes square roots: (.415446, .321803, .262751), before the third
    # .737249. (Before temperature: .8.)
    Vector(
        'temperature before top_p',
        ln(0.5, 0.3, 0.2),
        {0: 0.415446, 1: 0.321803, 2: 0.262751},
        params={'temperature': 2, 'top_p': 0.75},
    ),
    # d = 0, -1, -2, -3; -f d^2 = 0, -.5, -2, -4.5.
    # e: 1, .606531, .135335, .011109; / 1.752975.
    Vector(
        'smoothing',
        [2, 1, 0, -1],
        {0: 0.570459, 1: 0.346001, 2: 0.077203, 3: 0.006337},
        params={'smoothing_factor': 0.5},
    ),
    # k = .5 f, s = .5 f: d = -1: -.25 - .25 = -.5; d = -2: -1 - 2 = -3;
    # d = -3: -2.25 - 6.75 = -9. e: 1, .606531, .049787, .000123; / 1.656441.
    Vector(
        'smoothing curve 2',
        [2, 1, 0, -1],
        {0: 0.603704, 1: 0.366165, 2: 0.030057, 3: 0.0000745},
        params={'smoothing_factor': 0.5, 'smoothing_curve': 2},
    ),
    # After T 2, d = 0, -.5, -1, -1.5: 0, -.125, -.5, -1.125.
    # e: 1, .882497, .606531, .324652; / 2.813680.
    Vector(
        'temperature before smoothing',
        [2, 1, 0, -1],
        {0: 0.355406, 1: 0.313645, 2: 0.215565, 3: 0.115383},
        params={'temperature': 2, 'smoothing_factor': 0.5},
    ),
    # -inf counts as 0: 4, 1, 0 have mean 5/3 and squares 8.666667 around it;
    # of a sample: sqrt(8.666667 / 2) = 2.081666. 4 - 1.45 * that = .981584.
    # (Of 4 and 1: 1.5, and the cut at 1.825.) 1 / (1 + e^-3).
    Vector(
        'top_n_sigma counts masked tokens as 0',
        [4, 1, -float('inf')],
        {0: 0.952574, 1: 0.047426},
        params={'top_n_sigma': 1.45},
    ),
    # 4 - 1.43 * 2.081666 = 1.023218.
    Vector(
        'top_n_sigma just above',
        [4, 1, -float('inf')],
        {0: 1},
        params={'top_n_sigma': 1.43},
    ),
    Vector(
        'ties at top_k stay',
        ln(0.4, 0.2, 0.2, 0.2),
        {0: 0.4, 1: 0.2, 2: 0.2, 3: 0.2},
        params={'top_k': 2},
    ),
    # H = 1.213008; abs(-ln p - H) = .519860, .173286, .866434, .866434.
    # Below .8: masses .25, .75. The next is 2, and 3 is as far.
    Vector(
        'ties at typical_p stay',
        ln(0.5, 0.25, 0.125, 0.125),
        {0: 0.5, 1: 0.25, 2: 0.125, 3: 0.125},
        params={'typical_p': 0.8},
    ),
    # Below .2: none. The first, 1, stays.
    Vector(
        'typical_p .2',
        ln(0.5, 0.25, 0.125, 0.125),
        {1: 1},
        params={'typical_p': 0.2},
    ),
    # (.4, .299, .2) / .899.
    Vector(
        'epsilon_cutoff',
        ln(0.4, 0.299, 0.101, 0.2),
        {0: 0.444939, 1: 0.332592, 3: 0.222469},
        params={'epsilon_cutoff': 0.15},
    ),
    # H = .639032: sqrt(e) e^-H = .25 * .527803 = .131951; e = .0625 is less.
    Vector(
        'eta_cutoff at e',
        ln(0.0, 0.1, 0.8, 0.1),
        {1: 0.1, 2: 0.8, 3: 0.1},
        params={'eta_cutoff': 0.0625},
    ),
    # H = 1.213008: sqrt(.3) * .297301 = .162839, less than .3.
    Vector(
        'eta_cutoff at the entropy',
        ln(0.5, 0.25, 0.125, 0.125),
        {0: 2 / 3, 1: 1 / 3},
        params={'eta_cutoff': 0.3},
    ),
    # Slopes .05, .05, .1, .02, .01; curvature 0, .05, .08, .01 of .14: sums
    # (0, .357143, .928571, 1). Of the first four, those up to z let their
    # successor stay. z .1: 1; the first two are left.
    Vector(
        'tfs .1',
        ln(0.3, 0.25, 0.2, 0.1, 0.08, 0.07),
        {0: 0.545455, 1: 0.454545},
        params={'tfs_z': 0.1},
    ),
    Vector(
        'tfs .5',
        ln(0.3, 0.25, 0.2, 0.1, 0.08, 0.07),
        {0: 0.4, 1: 0.333333, 2: 0.266667},
        params={'tfs_z': 0.5},
    ),
    Vector(
        'tfs .95',
        ln(0.3, 0.25, 0.2, 0.1, 0.08, 0.07),
        {0: 0.352941, 1: 0.294118, 2: 0.235294, 3: 0.117647},
        params={'tfs_z': 0.95},
    ),
    # .51 * .25 = .1275.
    Vector(
        'top_a',
        ln(0.5, 0.25, 0.125, 0.125),
        {0: 2 / 3, 1: 1 / 3},
        params={'top_a': 0.51},
    ),
    Vector(
        'top_a below',
        ln(0.5, 0.25, 0.125, 0.125),
        {0: 0.5, 1: 0.25, 2: 0.125, 3: 0.125},
        params={'top_a': 0.49},
    ),
    # Ranks whose next has p >= .15 go: 0 and 1.
    Vector('XTC', ln(0.4, 0.3, 0.2, 0.1), {2: 2 / 3, 3: 1 / 3}, params=_XTC),
    Vector(
        'XTC does nothing if a protected token would go',
        ln(0.4, 0.3, 0.2, 0.1),
        {0: 0.4, 1: 0.3, 2: 0.2, 3: 0.1},
        params=_XTC | {'xtc_protected_ids': [1]},
    ),
    Vector(
        'XTC acts if the protected token would stay',
        ln(0.4, 0.3, 0.2, 0.1),
        {2: 2 / 3, 3: 1 / 3},
        params=_XTC | {'xtc_protected_ids': [2]},
    ),
    # min_p .6 leaves (.571429, .428571): both reach .42, one .45.
    Vector(
        'min_p before XTC',
        ln(0.4, 0.3, 0.2, 0.1),
        {1: 1},
        params={'min_p': 0.6, 'xtc_probability': 1, 'xtc_threshold': 0.42},
    ),
    Vector(
        'min_p before XTC, one above',
        ln(0.4, 0.3, 0.2, 0.1),
        {0: 0.571429, 1: 0.428571},
        params={'min_p': 0.6, 'xtc_probability': 1, 'xtc_threshold': 0.45},
    ),
    # mu = 2 bits: surprises .97, 1.94, 3.12, 3.12. It draws at its place:
    # XTC finds one token.
    Vector(
        'mirostat before XTC',
        ln(0.51, 0.26, 0.115, 0.115),
        {0: 0.662338, 1: 0.337662},
        params=_XTC | {'mirostat': 2, 'mirostat_tau': 1},
    ),
    # Low .5, high 1.5; H / ln 4 = .875: T = 1.375. p^(1 / 1.375), as shares.
    Vector(
        'dynamic temperature',
        ln(0.5, 0.25, 0.125, 0.125),
        {0: 0.428489, 1: 0.258826, 2: 0.156343, 3: 0.156343},
        params={'dynatemp_range': 0.5},
    ),
    # Once per id, by sign: (2 / 2, -1 * 2, 1). e^1, e^-2, e^1.
    Vector(
        'repetition once per id',
        [2, -1, 1],
        {0: 0.487855, 1: 0.024289, 2: 0.487855},
        prompt=(0, 0),
        output=(1,),
        params={'repetition_penalty': 2},
    ),
    # 0 1 2 0 1: after 0 1 came 2, a repeat of 2: 1 * 1.75^0 = 1.
    # e^-1 = .367879; / 3.367879.
    Vector(
        'DRY',
        [0, 0, 0, 0],
        {0: 0.296923, 1: 0.296923, 2: 0.109232, 3: 0.296923},
        output=(0, 1, 2, 0, 1),
        params=_DRY,
    ),
    # Repetition 2 first: 2 / 2 = 1, then DRY 1: 0. (DRY first: 1 / 2.)
    # Tokens 0, 1: 0 * 2 = 0.
    Vector(
        'repetition before DRY',
        [0, 0, 2],
        equal(3),
        output=(0, 1, 2, 0, 1),
        params=_DRY | {'repetition_penalty': 2},
    ),
    Vector(
        'DRY: the last token is a breaker',
        [0, 0, 0],
        equal(3),
        output=(0, 1, 2, 0, 1),
        params=_DRY | {'dry_breaker_ids': [1]},
    ),
    Vector(
        'DRY: the next token is a breaker',
        [0, 0, 0],
        equal(3),
        output=(0, 1, 2, 0, 1),
        params=_DRY | {'dry_breaker_ids': [2]},
    ),
    # Sixty times token 0: a repeat of 59 counts as 50: 1.01^48 = 1.612226.
    # e^-1.612226 = .199443; / 1.199443. (1.01^57 = 1.763268: .146.)
    Vector(
        'DRY counts up to 50',
        [0, 0],
        {0: 0.166280, 1: 0.833720},
        output=(0,) * 60,
        params=_DRY | {'dry_base': 1.01},
    ),
    # do_sample is off: no filter runs.
    Vector(
        'temperature 0',
        ln(0.4, 0.3, 0.2, 0.1),
        None,
        token=0,
        params=_XTC | {'temperature': 0},
    ),
]
