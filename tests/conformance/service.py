"""Asks a real server, over a socket of its own."""

from collections.abc import Sequence
import pathlib
import tempfile

import numpy as np

from cases import Answer
from cases import Case
from cases import SamplerState
from client import Client
from harness import Server
from protos import params_pb2
from requests_of import Params
from requests_of import Request
from requests_of import Response
from requests_of import RowSpec
from requests_of import tensor

_REPORT = Params(
    return_kept=True,
    logprobs=params_pb2.Logprobs(
        mode=params_pb2.LOGPROB_MODE_PROCESSED, top_count=2**31 - 1
    ),
)


class Service:
    """One server with default flags. A context, which ends it."""

    def __enter__(self) -> 'Service':
        self._directory = tempfile.TemporaryDirectory(prefix='conformance.')
        self._server = Server(pathlib.Path(self._directory.name))
        self._client = Client(self._server.address)
        return self

    def __exit__(self, *unused: object) -> None:
        self._client.__exit__()
        self._server.close()
        self._directory.cleanup()

    def answers(self, cases: Sequence[Case]) -> list[Answer]:
        """What the draw of each case is made from. All have one vocabulary."""
        return [_answer(detail) for detail in self._ask(cases).details]

    def draw(self, case: Case) -> tuple[Answer, int]:
        """Also the drawn token."""
        reply = self._ask([case])
        return _answer(reply.details[0]), reply.token_ids[0]

    def steps(
        self, cases: Sequence[Case], position: int
    ) -> list[tuple[Answer, int, SamplerState]]:
        """Also the drawn tokens, and the states after them."""
        reply = self._ask(cases, position)
        answers = map(_answer, reply.details)
        return list(zip(answers, reply.token_ids, reply.sampler_states))

    def _ask(self, cases: Sequence[Case], position: int = 0) -> Response:
        params, rows = [], []
        for index, case in enumerate(cases):
            asked = Params()
            asked.CopyFrom(case.params)
            asked.MergeFrom(_REPORT)
            params.append(asked)
            rows.append(
                RowSpec(
                    params_index=index,
                    seed=index,
                    position=position,
                    prompt_ids=case.prompt,
                    output_ids=case.output,
                    sampler_state=case.state,
                )
            )
        logits = tensor(np.stack([case.logits for case in cases]))
        reply = self._client.sample(
            Request(params=params, rows=rows, logits=logits)
        )
        if reply.row_errors:
            raise RuntimeError(f'rows without an answer: {reply.row_errors}')
        return reply


def _answer(detail) -> Answer:
    """Raises RuntimeError if the two reports of the reply disagree."""
    ids = np.array([t.token_id for t in detail.top_logprobs], np.int64)
    p = np.exp([t.logprob for t in detail.top_logprobs], dtype=np.float64)
    order = ids.argsort()
    if ids[order].tolist() != list(detail.kept_ids):
        raise RuntimeError('kept_ids are not those that have log-probabilities')
    return Answer(ids[order], p[order])
