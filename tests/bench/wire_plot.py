"""Plots rows per second against rows per message, one panel a transport.

Usage: wire_plot.py WIRE.jsonl IMAGE
"""

import json
import pathlib
import sys

import matplotlib

matplotlib.use('Agg')

# pylint: disable=wrong-import-position
from matplotlib import pyplot as plt  # noqa: E402

_LINES = {
    ('shared_memory', 'F32'): ('shared memory, F32', 'tab:green', '-'),
    ('shared_memory', 'BF16'): ('shared memory, BF16', 'tab:green', ':'),
    ('inline', 'F32'): ('inline, F32', 'tab:blue', '-'),
    ('inline', 'BF16'): ('inline, BF16', 'tab:blue', ':'),
    ('candidates', 'F32'): ('candidates, 256', 'tab:purple', '-'),
    ('obvious', 'F32'): ('obvious design, F32', 'tab:orange', '-'),
    ('chain', 'F32'): ('the chain alone, F32', 'tab:gray', '-'),
}


def main() -> None:
    """Draws the lines."""
    source, image = map(pathlib.Path, sys.argv[1:])
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    rows = [row for row in rows if row['threads'] == 2 and 'workers' not in row]
    figure, panels = plt.subplots(
        1, 2, figsize=(11, 4.5), sharey=True, layout='constrained'
    )
    for axes, transport in zip(panels, ('unix', 'tcp')):
        for key, (label, color, style) in _LINES.items():
            points = sorted(
                (row['rows'], row['rows_per_s'])
                for row in rows
                if (row['payload'], row['data_type']) == key
                and row['transport'] == transport
            )
            if points:
                axes.plot(
                    *zip(*points), style, color=color, marker='o', label=label
                )
        axes.set_title(transport)
        axes.set_xscale('log', base=2)
        axes.set_yscale('log')
        axes.set_xticks([1, 8, 64], ['1', '8', '64'])
        axes.set_xlabel('rows per message')
        axes.grid(alpha=0.3)
    panels[0].set_ylabel('rows per second')
    panels[0].legend(fontsize=8)
    figure.savefig(image, dpi=130)


if __name__ == '__main__':
    main()
