"""One row by the rules of the semantics page, slow and obvious.

Plain numpy in float64 (the edits in float32): whole softmaxes and whole sorts.
Nothing here was taken from the server, so an answer that agrees was reached
twice.
"""

from collections.abc import Callable
import dataclasses

import numpy as np
import numpy.typing as npt

from edits import edit
from philox import TOKEN_NOISE
from philox import XTC_COIN
from philox import uniform
from protos import params_pb2
from requests_of import FloatArray
from requests_of import Params
from requests_of import RowSpec

# A decision nearer to its cut than this (relative) may go either way.
BAND = 1e-6

_Floats = npt.NDArray[np.float64]
_Ids = npt.NDArray[np.int64]

_DEFAULT_CHAIN = (
    params_pb2.FILTER_TOP_N_SIGMA,
    params_pb2.FILTER_P_LESS,
    params_pb2.FILTER_TYPICAL_P,
    params_pb2.FILTER_XTC,
    params_pb2.FILTER_TEMPERATURE,
    params_pb2.FILTER_TOP_K,
    params_pb2.FILTER_TOP_P,
    params_pb2.FILTER_MIN_P,
)


@dataclasses.dataclass
class Draw:
    """What one draw must answer."""

    token: int
    kept: list[int]  # ascending
    xtc_applied: bool
    margin: float  # how near the nearest decision came to its cut

    @property
    def certain(self) -> bool:
        return self.margin > BAND


def _value(params: Params, name: str, unset: float) -> float:
    return getattr(params, name) if params.HasField(name) else unset


def _softmax(x: _Floats) -> _Floats:
    e = np.exp(x - x.max())
    return e / e.sum()


def _distance(values: _Floats, cut: float | _Floats) -> float:
    """The least relative distance of any of `values` from `cut`, at most 1."""
    if values.size == 0:
        return 1.0
    scale = np.maximum(np.maximum(np.abs(values), np.abs(cut)), 1e-300)
    return float(np.min(np.abs(values - cut) / scale, initial=1.0))


class _Row:
    """The survivors: ids ascending and their logits."""

    def __init__(
        self, params: Params, ids: _Ids, x: _Floats, coin: float
    ) -> None:
        self.params = params
        self.ids, self.x = ids, x
        self.tempered = False
        self.xtc_acts = coin < _value(params, 'xtc_probability', 0.0)
        self.xtc_applied = False
        self.margin = 1.0

    @property
    def _least(self) -> int:
        asked = int(_value(self.params, 'min_keep', 1))
        return min(max(asked, 1), len(self.ids))

    def near(self, distance: float) -> None:
        """Notes how near a decision came to its cut."""
        self.margin = min(self.margin, distance)

    def _keep(self, keep: npt.NDArray[np.bool_]) -> None:
        self.ids, self.x = self.ids[keep], self.x[keep]

    def _keep_from(self, values: _Floats, cut: float) -> None:
        """Values from `cut` on, with all that tie with the largest logit."""
        top = self.x == self.x.max()
        self.near(_distance(values[~top], cut))
        keep = top | (values >= cut)
        keep[np.argsort(-self.x, kind='stable')[: self._least]] = True
        self._keep(keep)

    def _keep_mass(self, mass: float, keys: _Floats) -> None:
        """By ascending key, while the mass before a token is below `mass`."""
        order = np.argsort(keys, kind='stable')
        before = np.concatenate(
            ([0.0], np.cumsum(_softmax(self.x)[order])[:-1])
        )
        self.near(_distance(before[1:], mass))
        count = max(int((before < mass).sum()), self._least)
        for edge in order[count - 1 : count + 1] if count < len(order) else []:
            # The order itself is uncertain where two logits have one key.
            others = self.x != self.x[edge]
            self.near(_distance(keys[others], keys[edge]))
        keep = np.zeros(len(order), bool)
        keep[order[:count]] = True
        self._keep(keep)

    def top_n_sigma(self) -> None:
        n = _value(self.params, 'top_n_sigma', 0.0)
        if n != 0:
            self._keep_from(self.x - self.x.max(), -n * self.x.std())

    def p_less(self) -> None:
        if not self.params.p_less:
            return
        t = 1.0 if self.tempered else _value(self.params, 'temperature', 1.0)
        q = _softmax((self.x - self.x.max()) / t)
        self._keep_from(q, float(np.sum(q * q)))

    def typical_p(self) -> None:
        mass = _value(self.params, 'typical_p', 1.0)
        if mass == 1:
            return
        p = _softmax(self.x)
        relative = self.x - self.x.max()
        log_p = relative - np.log(np.exp(relative).sum())
        entropy = -np.sum(p * log_p)
        self._keep_mass(mass, np.abs(-log_p - entropy))

    def xtc(self) -> None:
        if not self.xtc_acts:
            return
        threshold = _value(self.params, 'xtc_threshold', 0.1)
        p = _softmax(self.x)
        self.near(_distance(p, threshold))
        above = np.flatnonzero(p >= threshold)
        if len(above) < 2:
            return
        least = above[np.argmin(self.x[above])]
        protected = np.isin(self.ids, list(self.params.xtc_protected_ids))
        remove = np.zeros(len(p), bool)
        remove[above] = True
        remove[least] = False
        remove &= ~protected
        if remove.any() and (~remove).sum() >= self._least:
            self.xtc_applied = True
            self._keep(~remove)

    def temperature(self) -> None:
        t = _value(self.params, 'temperature', 1.0)
        self.x = (self.x - self.x.max()) / t
        self.tempered = True

    def top_k(self) -> None:
        k = int(_value(self.params, 'top_k', 0))
        if k == 0:
            return
        keep = np.zeros(len(self.x), bool)
        keep[np.argsort(-self.x, kind='stable')[: max(k, self._least)]] = True
        self._keep(keep)

    def top_p(self) -> None:
        mass = _value(self.params, 'top_p', 1.0)
        if mass != 1:
            self._keep_mass(mass, -self.x)

    def min_p(self) -> None:
        ratio = _value(self.params, 'min_p', 0.0)
        if ratio != 0:
            self._keep_from(np.exp(self.x - self.x.max()), ratio)


_FILTERS: dict[int, Callable[[_Row], None]] = {
    params_pb2.FILTER_TOP_N_SIGMA: _Row.top_n_sigma,
    params_pb2.FILTER_P_LESS: _Row.p_less,
    params_pb2.FILTER_TYPICAL_P: _Row.typical_p,
    params_pb2.FILTER_XTC: _Row.xtc,
    params_pb2.FILTER_TEMPERATURE: _Row.temperature,
    params_pb2.FILTER_TOP_K: _Row.top_k,
    params_pb2.FILTER_TOP_P: _Row.top_p,
    params_pb2.FILTER_MIN_P: _Row.min_p,
}


def _draw(params: Params, spec: RowSpec, ids: _Ids, x: _Floats, n: int) -> Draw:
    key = (spec.seed, spec.position)
    temperature = _value(params, 'temperature', 1.0)
    if temperature == 0 or params.top_k == 1:
        token = int(ids[np.argmax(x)])
        kept = ids.tolist() if temperature == 0 else [token]
        return Draw(token, kept, False, 1.0)
    coin = uniform(*key, XTC_COIN, n, np.array([0]))[0]
    row = _Row(params, ids, x, coin)
    for name in params.chain or _DEFAULT_CHAIN:
        _FILTERS[name](row)
    u = uniform(*key, TOKEN_NOISE, n, row.ids)
    scores = row.x - row.x.max() - np.log(-np.log(u))
    best = int(np.argmax(scores))
    row.near(_distance(np.delete(scores, best), scores[best]))
    return Draw(
        int(row.ids[best]), row.ids.tolist(), row.xtc_applied, row.margin
    )


def sample(logits: FloatArray, params: Params, spec: RowSpec) -> list[Draw]:
    """All draws of a row that holds at least one legal token and no NaN."""
    edited = edit(logits, params, spec)
    ids = np.flatnonzero(edited > -np.inf)
    x = edited[ids].astype(np.float64)
    count = max(spec.sample_count, 1)
    return [_draw(params, spec, ids, x, n) for n in range(count)]
