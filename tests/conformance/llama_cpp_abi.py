"""The part of llama.h, as of llama.cpp v0.5.0, that is called."""

from collections.abc import Sequence
import ctypes
from ctypes import c_bool
from ctypes import c_float
from ctypes import c_int32
from ctypes import c_int64
from ctypes import c_size_t
from ctypes import c_uint32
from ctypes import c_void_p
import os

import numpy as np
import numpy.typing as npt

from requests_of import FloatArray

# llama_token_data.
CANDIDATE = np.dtype([('id', '<i4'), ('logit', '<f4'), ('p', '<f4')])

SEED = 1

# Where the state of a mirostat sampler has its mu, by version.
_MU_OFFSET = {1: 24, 2: 16}


class _Array(ctypes.Structure):
    _fields_ = [
        ('data', c_void_p),
        ('size', c_size_t),
        ('selected', c_int64),
        ('sorted', c_bool),
    ]


class _Sampler(ctypes.Structure):
    _fields_ = [('functions', c_void_p), ('state', c_void_p)]


_Handle = ctypes.POINTER(_Sampler)
_lib = ctypes.CDLL(os.environ['TOKENDRAW_LLAMA_LIBRARY'])

_INITS = {
    'top_k': (c_int32,),
    'top_p': (c_float, c_size_t),
    'min_p': (c_float, c_size_t),
    'typical': (c_float, c_size_t),
    'temp_ext': (c_float, c_float, c_float),
    'xtc': (c_float, c_float, c_size_t, c_uint32),
    'top_n_sigma': (c_float,),
    'mirostat': (c_int32, c_uint32, c_float, c_float, c_int32),
    'mirostat_v2': (c_uint32, c_float, c_float),
    'adaptive_p': (c_float, c_float, c_uint32),
    'penalties': (c_int32, c_int32, c_float, c_float, c_float),
    'logit_bias': (c_int32, c_int32, c_void_p),
    'dist': (c_uint32,),
}
# llama_sampler_init_dry reads breakers as text, through a model's vocabulary;
# llama.cpp's own tests give it tokens: (float, float, int, int,
# const std::vector<std::vector<int>>&).
_DRY = '_Z30llama_sampler_init_dry_testingffiiRKSt6vectorIS_IiSaIiEESaIS1_EE'


def _function(name: str, result: type | None, *arguments: type):
    function = getattr(_lib, name)
    function.restype = result
    function.argtypes = arguments
    return function


_init = {
    name: _function(f'llama_sampler_init_{name}', _Handle, *arguments)
    for name, arguments in _INITS.items()
}
_init_dry = _function(
    _DRY, _Handle, c_float, c_float, c_int32, c_int32, c_void_p
)
_apply = _function('llama_sampler_apply', None, _Handle, ctypes.POINTER(_Array))
_accept = _function('llama_sampler_accept', None, _Handle, c_int32)
_free = _function('llama_sampler_free', None, _Handle)

# It warns of each DRY sampler without breakers.
_Log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, c_void_p)
_quiet = _Log(lambda level, text, user_data: None)
_function('llama_log_set', None, _Log, c_void_p)(_quiet, None)


class Candidates:
    """A llama_token_data_array of all tokens of a row."""

    def __init__(self, logits: FloatArray) -> None:
        self._set(np.zeros(logits.size, CANDIDATE))
        self.now['id'] = np.arange(logits.size)
        self.now['logit'] = logits

    def _set(self, tokens: npt.NDArray) -> None:
        self._tokens = tokens  # keeps the memory
        self.array = _Array(tokens.ctypes.data, tokens.size, -1, False)

    @property
    def now(self) -> npt.NDArray:
        """What a sampler has left, in its order: it may move `data`, too."""
        nbytes = self.array.size * CANDIDATE.itemsize
        memory = (ctypes.c_char * nbytes).from_address(self.array.data)
        return np.frombuffer(memory, CANDIDATE)

    @property
    def masked(self) -> npt.NDArray[np.bool_]:
        """Which have no chance, and are candidates still."""
        return np.isneginf(self.now['logit'])

    @property
    def at_zero(self) -> npt.NDArray[np.bool_]:
        """Also those whose probability is 0 as a float32."""
        logits = self.now['logit']
        p = np.exp(logits - logits.max())
        return p / p.sum() == 0

    def drop(self, which: npt.NDArray[np.bool_]) -> None:
        self._set(self.now[~which].copy())

    @property
    def selected(self) -> int:
        return int(self.now['id'][self.array.selected])


class Sampler:
    """One llama_sampler."""

    def __init__(self, name: str, *arguments: float) -> None:
        self.name = name
        self._handle = _init[name](*arguments)

    def __del__(self) -> None:
        _free(self._handle)

    def apply(self, candidates: Candidates) -> None:
        _apply(self._handle, ctypes.byref(candidates.array))

    def accept(self, token: int) -> None:
        _accept(self._handle, token)

    def mu(self, version: int) -> c_float:
        """Of mirostat, in its memory: nothing in the library tells it."""
        return c_float.from_address(
            self._handle.contents.state + _MU_OFFSET[version]
        )


def logit_bias(vocab: int, biases: Sequence[tuple[int, float]]) -> Sampler:
    entries = np.array(biases, [('token', '<i4'), ('bias', '<f4')])
    return Sampler('logit_bias', vocab, entries.size, entries.ctypes.data)


class Dry(Sampler):
    """With breakers that are tokens."""

    def __init__(
        self,
        multiplier: float,
        base: float,
        allowed_length: int,
        last_n: int,
        breakers: Sequence[Sequence[int]],
    ) -> None:
        self.name = 'dry'
        arrays = [np.array(breaker, '<i4') for breaker in breakers]
        # A std::vector of libstdc++ is its begin, its end, and that of its
        # memory.
        ends = [
            (a.ctypes.data, a.ctypes.data + a.nbytes, a.ctypes.data + a.nbytes)
            for a in arrays
        ]
        inner = np.array(ends, '<u8')
        begin, end = inner.ctypes.data, inner.ctypes.data + inner.nbytes
        outer = np.array([begin, end, end], '<u8')
        self._handle = _init_dry(
            multiplier, base, allowed_length, last_n, outer.ctypes.data
        )
