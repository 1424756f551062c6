"""Compares the service with transformers. Exit code 1: they differ."""

import importlib.metadata
import sys

import torch

from report import report
from service import Service
from sweep import SEED
from sweep import run_sweeps
from transformers_cases import SWEEPS
from transformers_cases import real_row_case
from transformers_peer import Transformers


def main() -> int:
    version = importlib.metadata.version('transformers')
    engine = f'transformers {version}, torch {torch.__version__}, seed {SEED}'
    with Service() as service:
        tallies = run_sweeps(service, Transformers(), SWEEPS, real_row_case)
        return 0 if report(engine, tallies, 5_000) else 1


if __name__ == '__main__':
    sys.exit(main())
