"""Checks names that files of deploy/ share with the rest of the tree.

Usage: check_names.py flags|metrics|versions|times [RENDERED_MANIFEST...]

flags: each flag and variable is one of `tokendrawd --help` or the command's.
metrics: each metric is one that a running server exports; each query parses.
versions: the chart and the image have the version of CMakeLists.txt.
times: who is told to end gets the time that its flags give it.
"""

from collections.abc import Iterator
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

import promql_parser
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPLOY = ROOT / 'deploy'
BUILD = ROOT / os.environ.get('TOKENDRAW_BUILD', 'build/release')

# Variables that are not tokendrawd's flags.
_OTHERS = {
    'TOKENDRAW_BUILD',  # scripts
    'TOKENDRAW_SERVER',  # the command
    'TOKENDRAW_TESTS',  # CMake
}
# Parts of a histogram's name.
_PARTS = re.compile(r'_(bucket|sum|count)$')


def _output(*command: object) -> str:
    return subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout


def _texts(folder: pathlib.Path) -> Iterator[tuple[str, str]]:
    """(path, text) of each file that is not one of these checks."""
    for path in sorted(folder.rglob('*')):
        if path.is_file() and not path.name.startswith('check'):
            yield str(path.relative_to(ROOT)), path.read_text(encoding='utf-8')


def _containers(manifests: list[str]) -> Iterator[dict[str, object]]:
    """The rendered containers that are tokendraw's, with their pods' specs."""
    for path in manifests:
        with open(path, encoding='utf-8') as file:
            for one in yaml.safe_load_all(file):
                if not one or one['kind'] not in ('Pod', 'Deployment'):
                    continue
                spec = one['spec'].get('template', one)['spec']
                for container in [
                    *spec.get('initContainers', []),
                    *spec['containers'],
                ]:
                    if container['name'] == 'tokendraw':
                        yield {**container, 'spec': spec}


def check_flags(manifests: list[str]) -> list[str]:
    server = set(
        re.findall(r'--(\w+)', _output(BUILD / 'tokendrawd', '--help'))
    )
    sample = _output(BUILD / 'tokendraw', 'sample', '--help')
    known = server | set(re.findall(r'--(\w+)', sample))
    faults = []
    for path, text in _texts(DEPLOY):
        # Other programs have no underscores in their flags.
        for flag in re.findall(r'--([a-z]+(?:_[a-z0-9]+)+)', text):
            if flag not in known:
                faults.append(f'{path}: --{flag}')
        for name in re.findall(r'\bTOKENDRAW_[A-Z_]+', text):
            flag = name.removeprefix('TOKENDRAW_').lower()
            if name not in _OTHERS and flag not in server:
                faults.append(f'{path}: {name}')
    probes = set()
    for container in _containers(manifests):
        for argument in container['args']:
            flag = argument.removeprefix('--').partition('=')[0]
            if flag not in server:
                faults.append(f'chart: --{flag}')
        for name in ('startupProbe', 'readinessProbe', 'livenessProbe'):
            if 'exec' in container[name]:
                probes.add(tuple(container[name]['exec']['command']))
    for program, command, *arguments in sorted(probes):
        done = subprocess.run(
            [BUILD / program, command, '--help'],
            check=False,
            capture_output=True,
            text=True,
        )
        for flag in [one.partition('=')[0] for one in arguments]:
            if done.returncode != 0 or flag not in done.stdout:
                faults.append(f'chart: {program} {command} {flag}')
    return faults


def _exported() -> set[str]:
    """Metrics of a real server that has seen a row, and a row error."""
    with tempfile.TemporaryDirectory() as directory:
        address = f'unix:{directory}/s'
        server = subprocess.Popen(
            [
                BUILD / 'tokendrawd',
                f'--listen={address}',
                '--metrics_listen=127.0.0.1:0',
                '--log_format=json',
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        with server:
            try:
                said = server.stderr.readline()
                if not said:
                    raise RuntimeError('it ended')
                metrics = json.loads(said)['metrics']
                for rows in ('[0, 3, 1]', '[null, null]'):
                    subprocess.run(
                        [
                            BUILD / 'tokendraw',
                            'sample',
                            f'--server={address}',
                            '--deadline_ms=30000',
                        ],
                        input=rows,
                        text=True,
                        check=False,
                        capture_output=True,
                    )
                with urllib.request.urlopen(
                    f'http://{metrics}/metrics'
                ) as page:
                    text = page.read().decode()
            finally:
                server.terminate()
    return set(re.findall(r'^# TYPE (\S+)', text, re.MULTILINE))


def _queries() -> Iterator[str]:
    """PromQL of the dashboard, its variables filled in."""
    text = (DEPLOY / 'monitoring/dashboard.json').read_text(encoding='utf-8')
    for panel in json.loads(text)['panels']:
        for target in panel['targets']:
            yield re.sub(r'\$\w+', '5m', target['expr'])


def check_metrics(unused_manifests: list[str]) -> list[str]:
    faults = []
    for query in _queries():
        try:
            promql_parser.parse(query)
        except ValueError as error:
            faults.append(f'{query}: {error}')
    exported = _exported()
    for path, text in _texts(DEPLOY):
        for name in re.findall(r'\btokendraw_[a-z_]+\b', text):
            if not {name, _PARTS.sub('', name)} & exported:
                if '/monitoring/' in path or '/kubernetes/' in path:
                    faults.append(f'{path}: {name}')
    return faults


def check_versions(unused_manifests: list[str]) -> list[str]:
    cmake = (ROOT / 'CMakeLists.txt').read_text(encoding='utf-8')
    version = re.search(r'project\(tokendraw VERSION (\S+)', cmake)[1]
    image = (DEPLOY / 'Dockerfile').read_text(encoding='utf-8')
    chart = yaml.safe_load(
        (DEPLOY / 'kubernetes/tokendraw/Chart.yaml').read_text(encoding='utf-8')
    )
    others = {
        'Chart.yaml version': chart['version'],
        'Chart.yaml appVersion': chart['appVersion'],
        'Dockerfile': re.search(r'ARG VERSION=(\S+)', image)[1],
    }
    return [
        f'{name}: {other}, not {version}'
        for name, other in others.items()
        if other != version
    ]


def check_times(manifests: list[str]) -> list[str]:
    faults = []
    for container in _containers(manifests):
        flags = dict(
            argument.partition('=')[::2] for argument in container['args']
        )
        needed_s = (
            int(flags['--grace_ms']) + int(flags.get('--drain_delay_ms', 0))
        ) / 1000
        stop = container.get('lifecycle', {}).get('preStop', {})
        needed_s += stop.get('sleep', {}).get('seconds', 0)
        given_s = container['spec']['terminationGracePeriodSeconds']
        if given_s <= needed_s:
            faults.append(f'chart: {given_s} s to end, and {needed_s} s needed')
    return faults


def main() -> None:
    check = globals()[f'check_{sys.argv[1]}']
    faults = check(sys.argv[2:])
    if faults:
        sys.exit('\n'.join(dict.fromkeys(faults)))


if __name__ == '__main__':
    main()
