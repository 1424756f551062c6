"""The generated code of the wire contract, compiled when a session starts.

Nothing is written into the tree: the modules live in a temporary directory
for as long as the process does.
"""

import atexit
import importlib.resources
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _compile() -> None:
    out = tempfile.TemporaryDirectory(prefix='tokendraw_protos.')
    atexit.register(out.cleanup)
    protos = sorted((ROOT / 'proto/tokendraw/v1').glob('*.proto'))
    builtin = importlib.resources.files('grpc_tools') / '_proto'
    # In a process of its own: the protobuf inside grpc_tools and the one that
    # Debian's torch brings (tests/conformance) do not bear each other.
    subprocess.run(
        [
            sys.executable,
            '-m',
            'grpc_tools.protoc',
            f'-I{ROOT / "proto"}',
            f'-I{builtin}',
            f'--python_out={out.name}',
            f'--grpc_python_out={out.name}',
            *map(str, protos),
        ],
        check=True,
    )
    sys.path.insert(0, out.name)


_compile()

# pylint: disable=wrong-import-position
from tokendraw.v1 import logits_pb2  # noqa: E402
from tokendraw.v1 import params_pb2  # noqa: E402
from tokendraw.v1 import sampling_pb2  # noqa: E402
from tokendraw.v1 import sampling_pb2_grpc  # noqa: E402

__all__ = [
    'ROOT',
    'logits_pb2',
    'params_pb2',
    'sampling_pb2',
    'sampling_pb2_grpc',
]
