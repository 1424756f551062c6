"""Carries out the Dockerfile in directories, where no container engine runs.

Each stage is a debootstrap root in build/image_root; RUN lines run in it by
chroot. Then the image is used as its README says: its user, a read-only root,
its health check, one sample, SIGTERM. Needs root. The compiler's line takes a
while; without --build the binaries of TOKENDRAW_BUILD take its place.

Usage: image_root.py [--build]
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / 'build/image_root'
READY = ROOT / os.environ.get('TOKENDRAW_BUILD', 'build/release')
PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

# A private /proc and process table, as a container has; all ends with it.
_CONTAINER = ['unshare', '--mount', '--pid', '--fork', '--kill-child']


def _base() -> pathlib.Path:
    """A bare Debian 12, from the mirror that this machine's apt uses."""
    root = WORK / 'base'
    if not root.exists():
        mirrors = subprocess.run(
            ['apt-get', 'indextargets', '--format', '$(RELEASE) $(REPO_URI)'],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        mirror = re.search(r'^bookworm (\S+)', mirrors, re.MULTILINE)[1]
        unfinished = WORK / 'base.unfinished'
        shutil.rmtree(unfinished, ignore_errors=True)
        subprocess.run(
            [
                'debootstrap',
                '--variant=minbase',
                'bookworm',
                unfinished,
                mirror,
            ],
            check=True,
            stdout=sys.stderr,
        )
        unfinished.rename(root)
    return root


class Stage:
    """One FROM of the Dockerfile and what follows it."""

    def __init__(self, name: str) -> None:
        self.root = WORK / name
        self.env = {'PATH': PATH}
        self.directory = '/'
        self.user = '0:0'
        self.volumes: list[str] = []
        self.health: list[str] = []
        self.entry: list[str] = []
        shutil.rmtree(self.root, ignore_errors=True)
        subprocess.run(['cp', '-a', _base(), self.root], check=True)
        shutil.copy('/etc/resolv.conf', self.root / 'etc/resolv.conf')

    def _command(self, command: list[str], prepare: str) -> list[str]:
        """`command` in the root, after `prepare` has made its mounts."""
        inside = ['chroot', f'--userspec={self.user}', str(self.root)]
        inside += ['env', '-i', f'--chdir={self.directory}']
        inside += [f'{name}={value}' for name, value in self.env.items()]
        mounts = f'set -e; {prepare}; mount -t proc proc {self.root}/proc; '
        return [
            *_CONTAINER,
            'bash',
            '-c',
            mounts + f'exec {shlex.join(inside + command)}',
        ]

    def run(self, script: str) -> None:
        command = self._command(['sh', '-c', script], 'true')
        subprocess.run(command, check=True, stdout=sys.stderr)

    def read_only(self, script: str) -> list[str]:
        """A command line: `script` as the image's user, the root read-only."""
        root = self.root
        prepare = (
            f'mount --rbind {root} {root}; mount -o remount,ro,bind {root}'
        )
        for volume in self.volumes:
            # An engine fills a new volume with what the image has there.
            owner = (root / volume.lstrip('/')).stat()
            prepare += (
                f'; mount -t tmpfs -o mode={owner.st_mode & 0o7777:o},'
                f'uid={owner.st_uid},gid={owner.st_gid} tmpfs {root}{volume}'
            )
        return self._command(['sh', '-c', script], prepare)


def _instructions(text: str) -> list[tuple[str, str]]:
    """(name, rest) of each instruction; comments gone, lines joined."""
    text = re.sub(r'^\s*#.*\n', '', text, flags=re.MULTILINE)
    lines = re.sub(r'\\\n\s*', '', text).splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line.strip()]


def _copy(stage: Stage, rest: str, stages: dict[str, Stage]) -> None:
    words = rest.split()
    *sources, to = [word for word in words if not word.startswith('--')]
    target = stage.root / os.path.join(stage.directory, to).lstrip('/')
    target.mkdir(parents=True, exist_ok=True)
    if words[0].startswith('--from='):
        from_root = stages[words[0].removeprefix('--from=')].root
        for source in sources:
            shutil.copy2(from_root / source.lstrip('/'), target)
    elif sources == ['.']:
        # .dockerignore leaves out what git does, and .git.
        files = subprocess.run(
            ['git', 'ls-files', '-z', '-co', '--exclude-standard'],
            cwd=ROOT,
            check=True,
            capture_output=True,
        ).stdout
        subprocess.run(
            ['xargs', '-0', 'cp', '-a', '--parents', '-t', target],
            cwd=ROOT,
            check=True,
            input=files,
        )
    else:
        for source in sources:
            shutil.copy2(ROOT / source, target)


def _use_ready_binaries(stage: Stage) -> None:
    target = stage.root / stage.directory.lstrip('/') / 'build/release'
    for name in ('tokendrawd', 'tokendraw'):
        shutil.copy2(READY / name, target)


def build(compiles: bool) -> Stage:
    """Carries out all instructions; returns the last stage."""
    stages: dict[str, Stage] = {}
    text = (ROOT / 'deploy/Dockerfile').read_text(encoding='utf-8')
    for name, rest in _instructions(text):
        print(f'image: {name} {rest[:90]}', flush=True)
        if name == 'FROM':
            image, *alias = rest.split(' AS ')
            if image != 'debian:12-slim':
                raise ValueError(f'FROM {image}: only Debian 12 is known here')
            stage = Stage(alias[0] if alias else 'image')
            stages[stage.root.name] = stage
        elif name == 'RUN' and 'cmake --build' in rest and not compiles:
            print(f'image: (the binaries of {READY.name}/ instead)')
            _use_ready_binaries(stage)
        elif name == 'RUN':
            stage.run(f'umask 022; {rest}')
        elif name == 'COPY':
            _copy(stage, rest, stages)
        elif name == 'WORKDIR':
            stage.directory = rest
            (stage.root / rest.lstrip('/')).mkdir(parents=True, exist_ok=True)
        elif name == 'ENV':
            stage.env |= dict(word.split('=', 1) for word in shlex.split(rest))
        elif name == 'USER':
            stage.user = rest
        elif name == 'VOLUME':
            stage.volumes.append(rest)
        elif name == 'HEALTHCHECK':
            stage.health = json.loads(rest[rest.index('CMD') + 3 :])
        elif name == 'ENTRYPOINT':
            stage.entry = json.loads(rest)
        elif name not in ('ARG', 'LABEL'):
            raise ValueError(f'{name}: not known here')
    return stage


def use(image: Stage) -> None:
    """Serves from the image, asks it for health and a token, ends it."""
    health = shlex.join(image.health)
    script = f"""
        set -e
        {shlex.join(image.entry)} & server=$!
        echo '[0, 3, 1]' |
            tokendraw sample --deadline_ms 30000 --temperature 0 --json
        {health}
        id -u
        if touch /written; then echo 'the root can be written to'; exit 1; fi
        kill "$server"
        wait "$server"
        if {health}; then echo 'healthy without a server'; exit 1; fi
    """
    done = subprocess.run(
        image.read_only(script), check=False, capture_output=True, text=True
    )
    print(done.stdout, done.stderr, sep='')
    if done.returncode != 0 or '"token_ids":[1]' not in done.stdout:
        raise RuntimeError('the image does not do what it should')


def main() -> None:
    WORK.mkdir(parents=True, exist_ok=True)
    image = build(compiles='--build' in sys.argv[1:])
    use(image)
    size = subprocess.run(
        ['du', '-sm', image.root], check=True, capture_output=True, text=True
    ).stdout.split()[0]
    print(f'image: {size} MB, of which the bare Debian is most')
    print('image: ok')


if __name__ == '__main__':
    main()
