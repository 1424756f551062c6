"""Compares the service with answers worked out by hand.

For the engines that cannot be installed. Exit code 1: they differ.
"""

import sys

from report import report
from service import Service
from vector import check
from vectors import mlxcel
from vectors import sharp_inference
from vectors import textgen_webui
from vectors import vllm

_ENGINES = {
    'vLLM 0.33.0': vllm,
    'mlxcel 2026': mlxcel,
    'SharpInference 6a37fc0': sharp_inference,
    'text-generation-webui 2025': textgen_webui,
}


def main() -> int:
    fine = []
    with Service() as service:
        for engine, vectors in _ENGINES.items():
            tally = check('by hand', service, vectors.PROFILE, vectors.VECTORS)
            fine.append(report(engine, [tally], len(vectors.VECTORS)))
    return 0 if all(fine) else 1


if __name__ == '__main__':
    sys.exit(main())
