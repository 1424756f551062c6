"""The random numbers of section 4 of the semantics, from the definition.

Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as
1, 2, 3", SC 2011.
"""

import numpy as np
import numpy.typing as npt

_U64 = npt.NDArray[np.uint64]
_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)

TOKEN_NOISE = 0
XTC_COIN = 1


def philox(counter: list[_U64], key: tuple[int, int]) -> list[_U64]:
    """Ten rounds on arrays of 32-bit words, each held in 64 bits."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        a = np.uint64(0xD2511F53) * c0
        b = np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (
            (b >> _WORD) ^ c1 ^ np.uint64(k0),
            b & _LOW,
            (a >> _WORD) ^ c3 ^ np.uint64(k1),
            a & _LOW,
        )
        k0 = (k0 + 0x9E3779B9) % 2**32
        k1 = (k1 + 0xBB67AE85) % 2**32
    return [c0, c1, c2, c3]


def uniform(
    seed: int,
    position: int,
    purpose: int,
    sample: int,
    ids: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """One number in (0, 1) for each token id."""
    ids = ids.astype(np.uint64)
    like = np.zeros_like(ids)
    counter = [
        ids >> np.uint64(1),
        like + np.uint64(purpose << 16 | sample),
        like + np.uint64(position % 2**32),
        like + np.uint64(position >> 32),
    ]
    words = philox(counter, (seed % 2**32, seed >> 32))
    odd = ids % np.uint64(2) == 1
    low = np.where(odd, words[2], words[0])
    high = np.where(odd, words[3], words[1])
    bits = (high << _WORD | low) >> np.uint64(11)
    u = (bits.astype(np.float64) + 0.5) * 2.0**-53
    return np.minimum(u, 1 - 2.0**-53)
