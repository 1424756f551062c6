"""Validates Kubernetes manifests on stdin against the schemas, strictly.

Usage: check_manifests.py KUBERNETES_VERSION
"""

import json
import sys

from cloudcoil.models.prometheus_operator import v1 as operator
import kubernetes_validate
import yaml


def _check(manifest: dict[str, object], version: str) -> None:
    if manifest['kind'] != 'PodMonitor':
        kubernetes_validate.validate(manifest, version, strict=True)
        return
    # The model drops what it does not know.
    known = operator.PodMonitor.model_validate(manifest).model_dump(
        by_alias=True, exclude_unset=True, mode='json'
    )
    if known != manifest:
        raise ValueError(f'known is only {json.dumps(known)}')


def main() -> None:
    manifests = [one for one in yaml.safe_load_all(sys.stdin) if one]
    if not manifests:
        sys.exit('no manifests')
    for manifest in manifests:
        try:
            _check(manifest, sys.argv[1])
        except (kubernetes_validate.ValidationError, ValueError) as error:
            sys.exit(f'{manifest["kind"]}: {error}')


if __name__ == '__main__':
    main()
