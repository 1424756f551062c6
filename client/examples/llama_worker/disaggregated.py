"""Answers prompts as worker.py does, with two processes.

The first evaluates the prompts and draws one token of each answer; the second
draws the others. What goes from one to the other is the sequence (its seed,
its position, its tokens) and what the model remembers of it. The sampling
service keeps nothing, so each process may call a server of its own.
"""

import argparse
import dataclasses
import multiprocessing
from multiprocessing.connection import Connection
import sys

import command_line
from engine import Engine
from steps import Drawer
from steps import decode
from steps import prefill
import tokendraw


@dataclasses.dataclass(frozen=True)
class Handover:
    """One sequence on its way to the decode process."""

    sequence: tokendraw.RowSpec
    memory: bytes


def _prefill_process(flags: argparse.Namespace, out: Connection) -> None:
    engine = Engine(len(flags.prompt))
    sequences = command_line.sequences(flags, engine)
    with tokendraw.Client(flags.prefill_server) as client:
        drawer = Drawer(
            client,
            command_line.params(flags),
            len(sequences),
            engine.vocab_size,
        )
        prefill(engine, drawer, sequences)
    for index, sequence in enumerate(sequences):
        out.send(Handover(sequence, engine.save(index)))


def _decode_process(flags: argparse.Namespace, handovers: Connection) -> None:
    engine = Engine(len(flags.prompt))
    sequences: list[tokendraw.RowSpec] = []
    for index in range(len(flags.prompt)):
        handover: Handover = handovers.recv()
        engine.load(index, handover.memory)
        sequences.append(handover.sequence)
    with tokendraw.Client(flags.decode_server) as client:
        drawer = Drawer(
            client,
            command_line.params(flags),
            len(sequences),
            engine.vocab_size,
        )
        decode(engine, drawer, sequences, flags.max_tokens)
    command_line.report(flags, engine, drawer, sequences)


def main() -> int:
    """Returns the exit code."""
    parser = command_line.parser(__doc__)
    parser.add_argument(
        '--prefill_server', required=True, help='unix:PATH or HOST:PORT'
    )
    parser.add_argument(
        '--decode_server', required=True, help='the same, or another'
    )
    flags = parser.parse_args()
    # Not forks: each has a model, and threads of gRPC, of its own.
    context = multiprocessing.get_context('spawn')
    receiver, sender = context.Pipe(duplex=False)
    processes = [
        context.Process(target=_prefill_process, args=(flags, sender)),
        context.Process(target=_decode_process, args=(flags, receiver)),
    ]
    for process in processes:
        process.start()
    # If one of them dies, the other must see the end of the pipe.
    sender.close()
    receiver.close()
    for process in processes:
        process.join()
    return int(any(process.exitcode for process in processes))


if __name__ == '__main__':
    sys.exit(main())
