"""300 random rows through the wire against an outside implementation."""

import math

import numpy as np
import pytest

from client import Client
from harness import Server
import oracle
from oracle import BAND
from philox import philox
from protos import params_pb2
from requests_of import FloatArray
from requests_of import Params
from requests_of import Request
from requests_of import RowSpec
from requests_of import request

_ROWS = 300
_FILTERS = list(
    range(params_pb2.FILTER_TOP_N_SIGMA, params_pb2.FILTER_MIN_P + 1)
)

Rng = np.random.Generator


def _row(rng: Rng) -> FloatArray:
    """Logits of any shape, some with ties, some with masked tokens."""
    vocab = int(rng.choice([2, 3, 31, 32, 33, 100, 257, 1000, 2048]))
    x = rng.normal(0, rng.choice([0.5, 2, 6]), vocab) + rng.choice([0, 50])
    if rng.random() < 0.3:
        x = np.round(x * 4) / 4
    if rng.random() < 0.3:
        x[rng.random(vocab) < 0.4] = -np.inf
        x[rng.integers(vocab)] = rng.normal()
    return x.astype(np.float32)


def _ids(rng: Rng, vocab: int, most: int) -> list[int]:
    return rng.choice(vocab, min(vocab, most), replace=False).tolist()


def _filters(rng: Rng, vocab: int, params: Params) -> None:
    """About a third of the filters, in any order."""
    values = {
        'top_n_sigma': rng.uniform(0.3, 3),
        'p_less': True,
        'typical_p': rng.uniform(0.05, 1),
        'temperature': rng.uniform(0.2, 2.5),
        'top_k': int(rng.integers(1, vocab + 2)),
        'top_p': rng.uniform(0.05, 1),
        'min_p': rng.uniform(0, 0.5),
        'min_keep': int(rng.integers(0, 5)),
        'xtc_probability': rng.choice([0.5, 1.0]),
    }
    for name, value in values.items():
        if rng.random() < 0.35:
            setattr(params, name, value)
    if params.xtc_probability and rng.random() < 0.7:
        params.xtc_threshold = rng.uniform(0.01, 0.4)
        params.xtc_protected_ids.extend(_ids(rng, vocab, 2))
    if rng.random() < 0.05:
        params.temperature = 0
    if rng.random() < 0.4:
        count = int(rng.integers(1, 9))
        chain = rng.choice(_FILTERS, count, replace=False)
        params.chain.extend(chain.tolist())


def _edits(rng: Rng, vocab: int, params: Params, spec: RowSpec) -> None:
    if rng.random() < 0.3:
        for token in _ids(rng, vocab - 1, 3):
            bias = rng.choice([rng.normal(), -math.inf])
            params.logit_bias.add(id=token, bias=bias)
    if rng.random() < 0.3:
        words = rng.integers(1, 2**32, (vocab + 31) // 32, dtype=np.uint32)
        words[-1] |= 1 << ((vocab - 1) % 32)  # not all masked
        spec.allowed_mask = words.astype('<u4').tobytes()
    if rng.random() < 0.5:
        params.repetition_penalty = rng.uniform(0.6, 2)
        params.frequency_penalty = rng.uniform(-0.5, 1)
        params.presence_penalty = rng.uniform(-0.5, 1)
        params.frequency_scope = int(rng.integers(0, 3))
    if rng.random() < 0.3:
        params.penalty_last_n = int(rng.choice([-1, 0, 1, 7, 1000]))


def _history(rng: Rng, vocab: int, params: Params, spec: RowSpec) -> None:
    """Few distinct ids, so that they repeat; with DRY on half of them."""
    few = _ids(rng, vocab, 4)
    if rng.random() < 0.2 and params.penalty_last_n <= 0:
        for token in few:
            counts = rng.integers(0, 3, 2).tolist()
            spec.token_counts.add(
                token_id=token, count=counts[0], prompt_count=counts[1]
            )
        return
    spec.prompt_ids.extend(rng.choice(few, rng.integers(0, 20)).tolist())
    spec.output_ids.extend(rng.choice(few, rng.integers(0, 20)).tolist())
    if rng.random() < 0.5:
        params.dry_multiplier = rng.uniform(0.1, 2)
        if rng.random() < 0.5:
            params.dry_base = rng.uniform(1, 3)
            params.dry_allowed_length = int(rng.integers(1, 4))
            params.dry_penalty_last_n = int(rng.choice([-1, 0, 10]))
            params.dry_breaker_ids.extend(_ids(rng, vocab, 1))


def _make(seed: int) -> tuple[FloatArray, Params, RowSpec]:
    rng = np.random.default_rng(seed)
    logits = _row(rng)
    params = Params(return_kept=True)
    spec = RowSpec(
        seed=int(rng.integers(0, 2**64, dtype=np.uint64)),
        position=int(rng.choice([0, 1, 77, 2**32 + 5, 2**63 - 1])),
        sample_count=int(rng.choice([0, 1, 3, 8])),
    )
    # The last token is neither banned nor masked, so that no row is empty.
    logits[-1] = rng.normal()
    _filters(rng, len(logits), params)
    _edits(rng, len(logits), params, spec)
    _history(rng, len(logits), params, spec)
    return logits, params, spec


def _request(logits: FloatArray, params: Params, spec: RowSpec) -> Request:
    return request(logits[np.newaxis], params, [spec])


def test_philox_gives_the_known_answers() -> None:
    """The first and third vectors of Random123's kat_vectors."""
    zero = np.zeros(1, np.uint64)
    words = philox([zero] * 4, (0, 0))
    assert [int(w[0]) for w in words] == [
        0x6627E8D5,
        0xE169C58D,
        0xBC57AC4C,
        0x9B00DBD8,
    ]
    pi = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
    counter = [zero + np.uint64(word) for word in pi]
    words = philox(counter, (0xA4093822, 0x299F31D0))
    assert [int(w[0]) for w in words] == [
        0xD16CFE09,
        0x94FDCCEB,
        0x5001E420,
        0x24126EA1,
    ]


def test_random_rows_equal_the_outside_implementation(server: Server) -> None:
    uncertain = draws = xtc = 0
    with Client(server.address) as client:
        for seed in range(_ROWS):
            logits, params, spec = _make(seed)
            reply = client.sample(_request(logits, params, spec))
            wanted = oracle.sample(logits, params, spec)
            assert not reply.row_errors, seed
            assert len(reply.details) == len(reply.token_ids) == len(wanted)
            for draw, detail in zip(wanted, reply.details, strict=True):
                draws += 1
                xtc += draw.xtc_applied
                if not draw.certain:
                    uncertain += 1
                    continue
                context = f'row {seed}: {params} {spec}'
                assert list(detail.kept_ids) == draw.kept, context
                assert detail.token_id == draw.token, context
                assert detail.xtc_applied == draw.xtc_applied, context
    # The comparison is worth little if it skips much.
    assert draws > 2 * _ROWS
    assert uncertain <= draws // 50, f'{uncertain} of {draws} within {BAND}'
    assert xtc > 20


@pytest.mark.parametrize('seed', [3, 2**64 - 1])
def test_draws_of_a_flat_row_are_the_noise_of_its_key(
    server: Server, seed: int
) -> None:
    flat = np.zeros((1, 64), np.float32)
    spec = RowSpec(seed=seed, position=2**40 + 9, sample_count=200)
    with Client(server.address) as client:
        reply = client.sample(request(flat, Params(), [spec]))
    wanted = [draw.token for draw in oracle.sample(flat[0], Params(), spec)]
    assert list(reply.token_ids) == wanted
    assert len(set(wanted)) > 50
