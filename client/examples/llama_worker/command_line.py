"""The flags of the examples, and what they print."""

import argparse
from collections.abc import Sequence
import json

from google.protobuf import text_format

from engine import CONTEXT
from engine import Engine
from steps import Drawer
import tokendraw

_PARAMS = [field.name for field in tokendraw.SamplingParams.DESCRIPTOR.fields]


def parser(description: str) -> argparse.ArgumentParser:
    """With the flags that all have."""
    flags = argparse.ArgumentParser(description=description, allow_abbrev=False)
    flags.add_argument(
        '--prompt',
        action='append',
        required=True,
        help='what to answer; may be given several times',
    )
    flags.add_argument(
        '--max_tokens', type=int, default=64, help='of each answer (64)'
    )
    flags.add_argument(
        '--seed',
        type=int,
        help='of the first prompt, one more for each after it; the service '
        'draws them if it is not given',
    )
    flags.add_argument(
        '--json', action='store_true', help='a line of JSON for each prompt'
    )
    group = flags.add_argument_group(
        'sampler parameters',
        'the fields of SamplingParams in protobuf text format, such as '
        '--typical_p 0.9 --xtc_protected_ids "[2, 198]"',
    )
    for name in _PARAMS:
        group.add_argument(f'--{name}', metavar='VALUE')
    return flags


def params(flags: argparse.Namespace) -> tokendraw.SamplingParams:
    """Raises text_format.ParseError if a value is not one of its field."""
    given = {name: getattr(flags, name) for name in _PARAMS}
    text = '\n'.join(
        f'{name}: {value}' for name, value in given.items() if value is not None
    )
    parsed = tokendraw.SamplingParams()
    text_format.Parse(text, parsed)
    return parsed


def sequences(
    flags: argparse.Namespace, engine: Engine
) -> list[tokendraw.RowSpec]:
    """One for each prompt, before its first token."""
    made: list[tokendraw.RowSpec] = []
    for index, prompt in enumerate(flags.prompt):
        ids = engine.prompt_ids(prompt)
        if not 0 < flags.max_tokens <= CONTEXT - len(ids):
            raise ValueError(
                f'max_tokens must be in [1, {CONTEXT - len(ids)}], '
                f'got {flags.max_tokens}'
            )
        seed = None if flags.seed is None else flags.seed + index
        made.append(tokendraw.RowSpec(prompt_ids=ids, seed=seed))
    return made


def report(
    flags: argparse.Namespace,
    engine: Engine,
    drawer: Drawer,
    answers: Sequence[tokendraw.RowSpec],
) -> None:
    """Prints the answers."""
    for prompt, answer in zip(flags.prompt, answers, strict=True):
        text = engine.text(answer.output_ids)
        if flags.json:
            line = {
                'prompt': prompt,
                'seed': answer.seed,
                'output_ids': list(answer.output_ids),
                'text': text,
                'payload': drawer.payload,
            }
            print(json.dumps(line, ensure_ascii=False))
        else:
            print(f'> {prompt}\n{text}\n')
