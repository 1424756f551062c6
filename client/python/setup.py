"""Generates tokendraw/v1 from the protos while the package is built."""

from importlib import metadata
import pathlib

from grpc_tools import protoc
from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithProtos(build_py):
    """Copies the modules, and adds those that protoc makes."""

    def run(self) -> None:
        super().run()
        # An editable installation imports from the tree.
        out = '.' if self.editable_mode else self.build_lib
        protos = pathlib.Path('proto/tokendraw/v1').glob('*.proto')
        failed = protoc.main(
            [
                'protoc',
                '-Iproto',
                f'--python_out={out}',
                f'--pyi_out={out}',
                f'--grpc_python_out={out}',
                *sorted(map(str, protos)),
            ]
        )
        if failed:
            raise RuntimeError('the protos do not compile')


# Generated modules refuse a grpcio or protobuf that is older than their
# generator, so the generator's own requirements are theirs.
_GENERATOR = [
    requirement
    for requirement in metadata.requires('grpcio-tools') or []
    if requirement.startswith(('grpcio', 'protobuf'))
]

setup(
    cmdclass={'build_py': BuildWithProtos},
    install_requires=['numpy>=1.26', *_GENERATOR],
)
