"""Jumps of the time of day under load, in a virtual machine that has its own.

Usage: python clock.py DIRECTORY

DIRECTORY holds `kernel`, and gets the rest of the machine: an archive with the
binaries and clock_guest.sh, which says what happens in there. Not faked times
in a process: what waits in the kernel would not see them.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

_HERE = pathlib.Path(__file__).parent
_BUILD = pathlib.Path(
    os.environ.get('TOKENDRAW_BUILD', _HERE.parents[1] / 'build/release')
)
_WORKERS = 4
_RATE = 3  # steps a second of each worker; emulation is slow
_SECONDS = 30
_LOAD = (
    f'--workers {_WORKERS} --rate {_RATE} --steps {_RATE * _SECONDS} '
    '--rows 4 --vocab_size 4096 --deadline_ms 30000 '
    '--typical_p 0.9 --xtc_probability 0.5 --temperature 0.8'
)
_DEADLINE_S = 3
_PATIENCE_S = 300  # for all of it; some 80 are usual
# Restarts cost a step, and emulation a moment. Waits for a time of day that was
# set back cost more than ten seconds.
_SLACK_MS = 3000


def _archive(directory: pathlib.Path) -> pathlib.Path:
    """The root of the machine, as the kernel wants it."""
    root = directory / 'root'
    for name in ('bin', 'dev', 'proc', 'tmp'):
        (root / name).mkdir(parents=True)
    for name in ('tokendrawd', 'tokendraw'):
        shutil.copy(_BUILD / name, root / 'bin')
        listed = subprocess.run(
            ['ldd', _BUILD / name], check=True, capture_output=True, text=True
        )
        for library in re.findall(r'(/\S+) \(0x', listed.stdout):
            place = root / library.lstrip('/')
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)
    shutil.copy('/bin/busybox', root / 'bin')
    shutil.copy(_HERE / 'clock_guest.sh', root / 'init')
    (root / 'init').chmod(0o755)
    names = [str(path.relative_to(root)) for path in sorted(root.rglob('*'))]
    archive = directory / 'archive'
    with archive.open('wb') as file:
        subprocess.run(
            ['busybox', 'cpio', '-o', '-H', 'newc'],
            check=True,
            cwd=root,
            input='\n'.join(names).encode(),
            stdout=file,
        )
    return archive


def _run(directory: pathlib.Path) -> str:
    """What the machine prints until it powers off."""
    machine = [
        *('qemu-system-x86_64', '-accel', 'tcg', '-cpu', 'max', '-smp', '2'),
        *('-m', '1024', '-nic', 'none', '-display', 'none', '-no-reboot'),
        *('-monitor', 'none', '-serial', 'stdio'),
        *('-kernel', str(directory / 'kernel')),
        *('-initrd', str(_archive(directory))),
        '-append',
        f'console=ttyS0 quiet panic=-1 LOAD="{_LOAD}" DEADLINE_S={_DEADLINE_S}',
    ]
    try:
        done = subprocess.run(
            machine,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=_PATIENCE_S,
        )
        return done.stdout.decode(errors='replace')
    except subprocess.TimeoutExpired as error:
        console = (error.stdout or b'').decode(errors='replace')
        raise SystemExit(f'{console}\nnot over in {_PATIENCE_S} s') from error


def main() -> int:
    """Fails if a call failed, a token was another, or something stalled."""
    console = _run(pathlib.Path(sys.argv[1]))
    found = dict(re.findall(r'^RESULT (\w+) (.+?)\r?$', console, re.MULTILINE))
    try:
        results = {name: json.loads(text) for name, text in found.items()}
        calm, jumps = results['undisturbed'], results['jumps']
        begun, ended = results['deadline']
        faults = results['faults']
    except (KeyError, ValueError) as error:
        raise SystemExit(f'{console}\nincomplete: {error!r}') from error
    failures = calm['failed'] + jumps['failed']
    took_s = ended - begun
    differs = calm['tokens_hash'] != jumps['tokens_hash']
    print(
        f'{"clock jumps":18} faults {faults:4}  '
        f'calls {jumps["steps"] + jumps["failed"]:6}  '
        f'failures {failures}  '
        f'tokens {"DIFFER" if differs else "equal"}  '
        f'p50 {jumps["p50_ms"]:.1f} ms  '
        f'max {jumps["max_ms"]:.0f} ms, {calm["max_ms"]:.0f} undisturbed  '
        f'{jumps["seconds"]:.0f} s, {calm["seconds"]:.0f} undisturbed  '
        f'call of {_DEADLINE_S} s ended after {took_s:.1f}  '
        f'{jumps["faults"] or ""}'
    )
    slack_ms = _SLACK_MS + 3 * calm['max_ms']
    late_ms = {
        'a step': jumps['max_ms'],
        'the load': (jumps['seconds'] - calm['seconds']) * 1000,
        'the deadline': (took_s - _DEADLINE_S) * 1000,
    }
    faulty = [
        f'{what} is {late:.0f} ms late, over {slack_ms:.0f}'
        for what, late in late_ms.items()
        if late > slack_ms
    ]
    if 'crashed' in results:
        faulty.append(f'server and its exit code: {results["crashed"]}')
    print(*faulty, sep='\n', end='\n' if faulty else '')
    return 1 if failures or differs or faulty else 0


if __name__ == '__main__':
    sys.exit(main())
