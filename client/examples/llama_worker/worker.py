"""Answers prompts: SmolLM2's logits, tokens of a tokendraw server."""

import command_line
from engine import Engine
from steps import Drawer
from steps import decode
from steps import prefill
import tokendraw


def main() -> None:
    parser = command_line.parser(__doc__)
    parser.add_argument(
        '--server', required=True, help='unix:PATH or HOST:PORT'
    )
    flags = parser.parse_args()
    engine = Engine(len(flags.prompt))
    sequences = command_line.sequences(flags, engine)
    with tokendraw.Client(flags.server) as client:
        drawer = Drawer(
            client,
            command_line.params(flags),
            len(sequences),
            engine.vocab_size,
        )
        prefill(engine, drawer, sequences)
        decode(engine, drawer, sequences, flags.max_tokens)
    command_line.report(flags, engine, drawer, sequences)


if __name__ == '__main__':
    main()
