"""Compares the service with llama.cpp. Exit code 1: they differ."""

from collections.abc import Iterable
import sys

from compare import Tally
from llama_cpp import LlamaCpp
from llama_cpp_cases import SWEEPS
from llama_cpp_cases import real_row_case
from llama_cpp_steps import run_steps
from report import report
from service import Service
from sweep import SEED
from sweep import run_sweeps


def _tallies(service: Service) -> Iterable[Tally]:
    yield from run_sweeps(service, LlamaCpp(), SWEEPS, real_row_case)
    yield from run_steps(service, SEED)


def main() -> int:
    with Service() as service:
        engine = f'llama.cpp v0.5.0, seed {SEED}'
        return 0 if report(engine, _tallies(service), 20_000) else 1


if __name__ == '__main__':
    sys.exit(main())
