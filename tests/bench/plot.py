"""Plots time per row against V, one panel a chain.

Usage: plot.py CHAINS.jsonl IMAGE
"""

from collections.abc import Sequence
import json
import pathlib
import sys

import matplotlib

matplotlib.use('Agg')

# pylint: disable=wrong-import-position
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402

_SERIES = {
    'peer_us': ('llama.cpp', 'tab:orange'),
    'ours_us': ('tokendraw', 'tab:blue'),
    'floor_us': ('floor: max, then sum of exp', 'tab:gray'),
}
_STYLES = {
    'peaked': {'linestyle': '-', 'marker': 'o', 'markersize': 4},
    'flat': {'linestyle': ':', 'marker': 'o', 'markersize': 4, 'mfc': 'white'},
    'real': {'linestyle': 'none', 'marker': '*', 'markersize': 10, 'zorder': 3},
}
_TICKS = (32_000, 49_152, 128_256, 262_144)
_COLUMNS = 5

Row = dict[str, str | float]


def _draw_panel(axes: Axes, title: str, rows: Sequence[Row]) -> None:
    for key, (_, color) in _SERIES.items():
        for kind, style in _STYLES.items():
            chosen = [row for row in rows if row['rows'] == kind]
            points = sorted((row['vocab'], row[key]) for row in chosen)
            axes.plot(*zip(*points), color=color, **style)
    axes.set_title(title.replace(' + T', '\n+ T'), fontsize=9)
    axes.set_xscale('log')
    axes.set_yscale('log')
    axes.set_xticks(_TICKS, [f'{v // 1000}k' for v in _TICKS])
    axes.set_xticks([], minor=True)
    axes.grid(alpha=0.3)


def _legend() -> list[Line2D]:
    colors = [
        Line2D([], [], color=color, linewidth=3, label=label)
        for label, color in _SERIES.values()
    ]
    styles = [
        Line2D([], [], color='black', label=f'{kind} rows', **style)
        for kind, style in _STYLES.items()
    ]
    return colors + styles


def main() -> None:
    """Draws the lines of one thread."""
    source, image = map(pathlib.Path, sys.argv[1:])
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    rows = [row for row in rows if row['threads'] == 1]
    chains = list(dict.fromkeys(row['chain'] for row in rows))
    figure, panels = plt.subplots(
        -(-len(chains) // _COLUMNS),
        _COLUMNS,
        figsize=(14, 7.5),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout='constrained',
    )
    for axes, chain in zip(panels.flat, chains):
        _draw_panel(axes, chain, [row for row in rows if row['chain'] == chain])
    for axes in panels[-1]:
        axes.set_xlabel('V, tokens')
    for axes in panels[:, 0]:
        axes.set_ylabel('time per row, µs')
    figure.legend(handles=_legend(), loc='outside lower center', ncols=6)
    figure.savefig(image, dpi=130)


if __name__ == '__main__':
    main()
