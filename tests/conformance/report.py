"""The table of one engine."""

from collections.abc import Iterable
import sys
import time

from compare import Tally
from compare import Verdict

_COLUMNS = ('rows', *(verdict.value for verdict in Verdict), 'largest')
_COMPLAINTS = 3  # of a sweep that are printed
# More rows than these, of all, that hang on a rounding are no coincidence.
_MOST_AT_THE_CUT = 0.001


def _line(name: str, cells: Iterable[object]) -> None:
    print(f'  {name:<22}' + ''.join(f'{cell:>12}' for cell in cells))


def _counts(tally: Tally) -> list[object]:
    verdicts = [tally.verdicts[verdict] for verdict in Verdict]
    return [tally.rows, *verdicts, f'{tally.largest:.1e}']


def report(engine: str, tallies: Iterable[Tally], least_rows: int) -> bool:
    """Prints it, and examples of what differs.

    Args:
        engine: its name and version.
        tallies: a line for each.
        least_rows: fewer than these prove nothing.

    Returns:
        Whether there were enough rows, and no undocumented difference.
    """
    start = time.monotonic()
    print(engine)
    _line('', _COLUMNS)
    total = Tally('total')
    for tally in tallies:
        _line(tally.name, _counts(tally))
        for complaint in sorted(tally.complaints, key=len)[:_COMPLAINTS]:
            print(complaint)
        sys.stdout.flush()
        total.rows += tally.rows
        total.verdicts += tally.verdicts
        total.defects += tally.defects
        total.largest = max(total.largest, tally.largest)
    _line(total.name, _counts(total))
    for defect, rows in sorted(total.defects.items()):
        print(f'  documented: {defect}: {rows} rows')
    print(f'  {time.monotonic() - start:.0f} s\n')
    if total.rows < least_rows:
        print(f'  fewer than {least_rows} rows\n')
        return False
    if total.verdicts[Verdict.ROUNDING] > _MOST_AT_THE_CUT * total.rows:
        print('  too many rows at a cut\n')
        return False
    return total.verdicts[Verdict.DIFFERENT] == 0
