"""`tokendraw explain`: the table, and the page in a real browser."""

from collections.abc import Iterator
import json
import math
import os
import pathlib
import subprocess

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from harness import COMMAND
from harness import PATIENCE_S
from harness import Server
from protos import ROOT

_ROWS = str(ROOT / 'tests/data/smollm2_rows.safetensors')
_VOCAB = str(ROOT / 'tests/data/smollm2_vocab.json')
_THREE = json.dumps([math.log(p) for p in (0.45, 0.275, 0.275)])
_REAL = (
    _ROWS,
    *('--vocab', _VOCAB, '--row', '11', '--seed', '42', '--position', '11'),
    *('--typical_p', '0.9', '--xtc_probability', '0.9'),
    *('--xtc_threshold', '0.05', '--temperature', '0.8', '--top_k', '40'),
)


def _explain(server: Server, *args: str, stdin: str = '') -> tuple[int, str]:
    done = subprocess.run(
        [COMMAND, 'explain', '--server', server.address, *args],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert not done.stderr
    return done.returncode, done.stdout


def test_the_most_probable_token_leaves_at_typical_p(server: Server) -> None:
    code, text = _explain(
        server, '--typical_p', '0.3', '--seed', '1', stdin=_THREE
    )
    assert code == 0
    stages, tokens, drawn = text.split('\n\n')
    lines = [line.split() for line in stages.splitlines()]
    assert lines[1][:6] == ['edits', '3', '3', '0.0000', '1.069', '1.069']
    assert lines[2][:6] == ['typical_p', '3', '2', '0.4500', '1.069', '0.693']
    assert stages.endswith('|-ln p - H| to 0.2216, next 0.2709')
    first = tokens.splitlines()[1].split()
    assert first[:3] == ['0', '-0.799', '0.4500']
    assert first[3] == '█' * 24
    assert first[-1] == 'typical_p'
    fates = [line.split()[-1] for line in tokens.splitlines()[2:]]
    assert sorted(fates) == ['drawn', 'stays']
    assert drawn.startswith('drawn: token ')


@pytest.mark.parametrize('row', range(0, 24, 5))
def test_explains_what_sample_draws(server: Server, row: int) -> None:
    flags = ('--seed', '5', '--position', str(row), *_REAL[-8:])
    code, text = _explain(server, _ROWS, '--row', str(row), '--json', *flags)
    assert code == 0
    told = json.loads(text)
    done = subprocess.run(
        [COMMAND, 'sample', '--server', server.address, _ROWS, *flags]
        + ['--rows', str(row), '--json', '--return_kept'],
        capture_output=True,
        check=True,
        timeout=PATIENCE_S,
    )
    drawn = json.loads(done.stdout)
    assert told['token_id'] == drawn['token_ids'][0]
    assert told['stages'][-1]['after'] == drawn['details'][0]['kept_count']
    assert told['xtc_coin']['applied'] == drawn['details'][0]['xtc_applied']
    kept = set(drawn['details'][0]['kept_ids'])
    for token in told['tokens']:
        assert ('removed_by' not in token) == (token['token_id'] in kept)


def test_a_bad_row_says_why(server: Server) -> None:
    assert _explain(server, stdin='[1, "nan"]') == (
        3,
        'NOT_FINITE: the logit of token 1 is NaN or +inf, as it came or after '
        'bias and penalties\n',
    )


@pytest.mark.parametrize(
    ('flags', 'text'),
    [
        (('--row', '1'), '--row must be in [0, 0], got "1"'),
        (('--draw', '-1'), '--draw must be in [0, 65535], got "-1"'),
        (('--top', '0'), '--top must be in [1, 1000], got "0"'),
        (('--html', '/nowhere/x.html'), '/nowhere/x.html cannot be written'),
    ],
)
def test_bad_flags_are_named(
    server: Server, flags: tuple[str, ...], text: str
) -> None:
    done = subprocess.run(
        [COMMAND, 'explain', '--server', server.address, *flags],
        input=_THREE,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 2
    assert text in done.stderr


@pytest.fixture(scope='module')
def browser() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = '/usr/bin/chromium'
    for flag in ('headless=new', 'no-sandbox', 'window-size=1200,1000'):
        options.add_argument(f'--{flag}')
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    driver = webdriver.Chrome(
        options, webdriver.ChromeService('/usr/bin/chromedriver')
    )
    yield driver
    driver.quit()


class _Page:
    """What a person sees of the page."""

    def __init__(self, browser: webdriver.Chrome, file: pathlib.Path) -> None:
        self.browser = browser
        browser.get(file.as_uri())

    def steps(self) -> list[WebElement]:
        return self.browser.find_elements(By.CSS_SELECTOR, '#steps button')

    def current(self) -> str:
        [step] = self.browser.find_elements(By.CSS_SELECTOR, '[aria-current]')
        return step.text.splitlines()[0]

    def press(self, key: str) -> None:
        self.browser.find_element(By.TAG_NAME, 'body').send_keys(key)

    def fates(self) -> dict[int, str]:
        """The words beside each token, by id."""
        rows = self.browser.find_elements(By.CSS_SELECTOR, '#tokens tr')
        return {
            int(row.get_attribute('data-id') or -1): row.find_element(
                By.CLASS_NAME, 'fate'
            ).text
            for row in rows
        }

    def facts(self) -> str:
        return self.browser.find_element(By.ID, 'facts').text

    def slide(self, name: str, position: int) -> str:
        """Moves a slider, and returns what it says."""
        slider = self.browser.find_element(By.NAME, name)
        self.browser.execute_script(
            'arguments[0].value = arguments[1];'
            'arguments[0].dispatchEvent(new Event("input"))',
            slider,
            position,
        )
        label = slider.find_element(By.XPATH, '..')
        return label.find_element(By.TAG_NAME, 'output').text


@pytest.fixture(scope='module')
def file(
    server: Server, tmp_path_factory: pytest.TempPathFactory
) -> pathlib.Path:
    path = tmp_path_factory.mktemp('page') / 'row.html'
    code, _ = _explain(server, *_REAL, '--html', str(path))
    assert code == 0
    return path


@pytest.fixture
def page(browser: webdriver.Chrome, file: pathlib.Path) -> _Page:
    return _Page(browser, file)


@pytest.fixture
def told(server: Server) -> dict[str, object]:
    return dict(json.loads(_explain(server, *_REAL, '--json')[1]))


def test_the_page_needs_nothing_from_outside(page: _Page) -> None:
    loaded = page.browser.execute_script(
        'return performance.getEntriesByType("resource").map((r) => r.name)'
    )
    assert [name for name in loaded if not name.startswith('data:')] == []
    assert page.browser.get_log('browser') == []


def test_the_page_steps_through_the_chain(
    page: _Page, told: dict[str, object]
) -> None:
    names = [step.text.splitlines()[0] for step in page.steps()]
    assert names == [
        'as it came',
        'edits',
        'typical_p',
        'xtc',
        'temperature',
        'top_k',
        'draw',
    ]
    page.steps()[0].click()
    assert page.current() == 'as it came'
    assert set(page.fates().values()) == {''}
    for name in names[1:]:
        page.press(Keys.ARROW_RIGHT)
        assert page.current() == name
    page.press(Keys.ARROW_RIGHT)
    assert page.current() == 'draw'
    stages = [
        'edits'
        if stage['filter'] == 'FILTER_UNSPECIFIED'
        else stage['filter'].removeprefix('FILTER_').lower()
        for stage in told['stages']
    ]
    wanted = {
        token['token_id']: stages[token['removed_by']]
        if 'removed_by' in token
        else 'drawn'
        if token['token_id'] == told['token_id']
        else ''
        for token in told['tokens']
    }
    assert page.fates() == wanted
    assert 'xtc' in wanted.values() and 'typical_p' in wanted.values()
    assert 'ln p + noise' in page.facts()

    page.press(Keys.ARROW_LEFT)
    page.press(Keys.ARROW_LEFT)
    page.press(Keys.ARROW_LEFT)
    assert page.current() == 'xtc'
    assert f'u = {told["xtc_coin"]["u"]:.4f}: acts' in page.facts()
    leaving = {id for id, fate in page.fates().items() if fate == 'leaves'}
    assert leaving == {id for id, fate in wanted.items() if fate == 'xtc'}


def test_bars_are_as_long_as_probabilities(
    page: _Page, told: dict[str, object]
) -> None:
    page.steps()[1].click()
    widths = page.browser.execute_script(
        'return [...document.querySelectorAll("#tokens .now")]'
        '.map((bar) => bar.getBoundingClientRect().width)'
    )
    most = max(p for token in told['tokens'] for p in token['probabilities'])
    track = page.browser.execute_script(
        'return document.querySelector(".track").getBoundingClientRect().width'
    )
    for width, token in zip(widths, told['tokens'], strict=True):
        assert width == pytest.approx(
            max(1, track * token['probabilities'][1] / most), abs=0.6
        )


def test_a_moved_parameter_shows_what_the_service_says(
    page: _Page, server: Server
) -> None:
    said = page.slide('typical_p', 2)
    assert said == '0.3'
    moved = [*_REAL]
    moved[moved.index('--typical_p') + 1] = said
    told = json.loads(_explain(server, *moved, '--json')[1])
    page.steps()[2].click()
    stage = told['stages'][1]
    assert f'{stage["before"]:,} → {stage["after"]:,}' in page.facts()
    assert set(page.fates()) == {t['token_id'] for t in told['tokens']}

    assert page.slide('top_k', 0) == '0'
    typical_p = page.browser.find_element(By.NAME, 'typical_p')
    assert typical_p.get_attribute('value') == typical_p.get_attribute(
        'data-home'
    ), 'one at a time'
    page.browser.find_element(By.ID, 'reset').click()
    assert 'top_k' in [step.text.splitlines()[0] for step in page.steps()]


def test_texts_cannot_leave_the_page(
    server: Server, browser: webdriver.Chrome, tmp_path: pathlib.Path
) -> None:
    hostile = '</script><script>document.title = 1</script><!--'
    vocab = tmp_path / 'vocab.json'
    vocab.write_text(json.dumps([hostile, '\u202e', '"']))
    path = tmp_path / 'row.html'
    _explain(server, '--vocab', str(vocab), '--html', str(path), stdin=_THREE)
    page = _Page(browser, path)
    assert browser.title == 'tokendraw explain'
    assert hostile in browser.find_element(By.ID, 'tokens').text
    assert len(page.fates()) == 3


def test_the_page_can_be_looked_at(page: _Page, tmp_path: pathlib.Path) -> None:
    """Leaves a picture where TOKENDRAW_PICTURES says."""
    directory = pathlib.Path(os.environ.get('TOKENDRAW_PICTURES', tmp_path))
    page.steps()[3].click()
    assert page.browser.save_screenshot(str(directory / 'explain.png'))
    overflow = page.browser.execute_script(
        'return document.documentElement.scrollWidth - innerWidth'
    )
    assert overflow <= 0
