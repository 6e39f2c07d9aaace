"""The page in a real browser: whole deals by mouse, touch and keys; narrow, dark, replayed.

Chromium must be there already: the environment variable CHROMIUM names it, else /usr/bin/chromium.
Whatever the page writes to the console is a failure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

import chinese_ten_env as ct
from chinese_ten_env.web.share import share
from tests.browser.serve import launched, serving
from tests.helpers import TABLES, table_id

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server on this machine."""
    with serving(tmp_path_factory.mktemp("web")) as place:
        yield place


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser."""
    with launched() as browser:
        yield browser


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    """Opens pages, and fails if one of them complains or asks another server for anything.

    `refused` is a status that the server is to answer, which the browser writes to the console.
    """
    complaints: list[str] = []
    contexts = []

    def open_page(place: str, refused: int = 0, **options: Any) -> Page:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        expected = f"the server responded with a status of {refused} "
        page.on("console", lambda message: note(message.text, expected, complaints))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: foreign(request.url, place, complaints))
        page.goto(place)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints


def note(text: str, expected: str, complaints: list[str]) -> None:
    """Complain about what a page writes to the console, but for what is expected."""
    if expected not in text:
        complaints.append(text)


def foreign(url: str, place: str, complaints: list[str]) -> None:
    """Complain if a page asks any server but its own."""
    home = re.match(r"https?://[^/]+|file:", place)
    if home is not None and not url.startswith((home[0], "data:", "blob:")):
        complaints.append(f"asked {url}")


def begin(address: str, **wish: Any) -> str:
    """Begin a game; return its address."""
    body = {"variant": "mainland", "seed": 5, **wish}
    response = httpx2.post(f"{address}/api/games", json=body, timeout=120)
    assert response.status_code == 201, response.text
    return f"{address}/games/{response.json()['id']}"


def actions(page: Page) -> str:
    """Return the number of actions of the position that the page shows."""
    page.wait_for_selector("#board svg")
    return page.locator("#board").get_attribute("data-actions") or ""


def play_on(page: Page, press: Callable[[Page], None]) -> int:
    """Play the first legal card until there is none; return the number of decisions."""
    decisions = 0
    while (before := actions(page)) and page.locator("#board .legal").count():
        press(page)
        page.wait_for_selector(f'#board:not([data-actions="{before}"])')
        expect(page.locator("#board")).to_have_attribute("aria-busy", "false")
        decisions += 1
        assert decisions < 100
    return decisions


def click(page: Page) -> None:
    """Play the first legal card by mouse."""
    page.locator("#board .legal").first.click()


def fits(page: Page) -> bool:
    """Tell whether nothing is wider than the window."""
    return bool(page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_a_whole_deal_by_clicks(address: str, open_page: Open, table: Any) -> None:
    variant, players = table
    page = open_page(begin(address, variant=variant, num_players=players))
    play_on(page, click)
    expect(page.locator("#result")).to_be_visible()
    expect(page.locator("#status")).to_contain_text("The game is over")
    assert page.locator("#log li").count() == int(actions(page))
    assert page.locator("#review").is_hidden()
    assert fits(page)


def test_a_whole_deal_by_keys_alone(address: str, open_page: Open) -> None:
    page = open_page(begin(address))
    actions(page)
    while page.evaluate("() => document.activeElement.closest('.legal') === null"):
        page.keyboard.press("Tab")
    first = page.evaluate("() => document.activeElement.dataset.card")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.dataset.card") != first
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("() => document.activeElement.dataset.card") == first
    keys = ["Enter", "Space"]

    def press(page: Page) -> None:
        # The focus stays on the board from move to move.
        assert page.evaluate("() => document.activeElement.closest('.legal') !== null")
        keys.append(keys.pop(0))
        page.keyboard.press(keys[0])

    assert play_on(page, press) >= 12


def test_a_whole_deal_on_a_telephone(address: str, open_page: Open) -> None:
    page = open_page(
        begin(address, variant="taiwan"),
        viewport={"width": 360, "height": 740},
        has_touch=True,
        is_mobile=True,
    )

    def tap(page: Page) -> None:
        assert fits(page)
        card = page.locator("#board .legal").first
        box = card.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 24  # enough for a finger
        card.tap()

    play_on(page, tap)
    assert fits(page)
    expect(page.locator("#result")).to_be_visible()


def test_what_a_card_captures_lights_up(address: str, open_page: Open) -> None:
    page = open_page(begin(address))
    lit = 0
    while (before := actions(page)) and page.locator("#board .legal").count() and not lit:
        cards = page.locator("#board .legal")
        for index in range(cards.count()):
            cards.nth(index).hover()
            name = str(cards.nth(index).get_attribute("data-card"))
            taken = page.locator("#board .taken")
            for place in range(taken.count()):
                assert name in str(taken.nth(place).get_attribute("data-captured-by"))
                lit += 1
        click(page)
        page.wait_for_selector(f'#board:not([data-actions="{before}"])')
    assert lit


def test_a_reload_and_a_second_tab_show_the_same(address: str, open_page: Open) -> None:
    place = begin(address)
    page, other = open_page(place), open_page(place, refused=409)
    start = actions(page)
    click(page)
    page.wait_for_selector(f'#board:not([data-actions="{start}"])')
    board = page.locator("#board").inner_html()
    page.reload()
    actions(page)
    assert page.locator("#board").inner_html() == board
    # The other tab has not noticed, is told so, and shows what is.
    assert actions(other) == start
    with other.expect_response(lambda response: response.status == 409):
        click(other)
    expect(other.locator("#error")).to_contain_text("stale")
    expect(other.locator("#board")).to_have_attribute("data-actions", actions(page))


def test_practice_hints_and_languages(address: str, open_page: Open) -> None:
    page = open_page(begin(address, practice=True))
    start = actions(page)
    expect(page.locator("#undo")).to_be_disabled()
    page.locator("#hint").click()
    expect(page.locator("#hints table")).to_be_visible(timeout=240_000)  # kernels compile
    assert page.locator("#hints").inner_text().count("★") >= 3
    click(page)
    page.wait_for_selector(f'#board:not([data-actions="{start}"])')
    expect(page.locator("#hints")).to_be_hidden()
    page.locator("#undo").click()
    expect(page.locator("#board")).to_have_attribute("data-actions", start)
    for language, title in (("zh", "撿紅點"), ("th", "กบดำกบแดง"), ("en", "Chinese Ten")):
        page.locator("#language").select_option(language)
        expect(page.locator("h1")).to_have_text(title)
        assert page.evaluate("() => document.documentElement.lang") == language
    page.locator("#language").select_option("zh")
    page.reload()
    expect(page.locator("h1")).to_have_text("撿紅點")


def test_a_new_game_from_the_page(address: str, open_page: Open) -> None:
    page = open_page(f"{address}/", viewport={"width": 360, "height": 740})
    expect(page.locator("#wish")).to_be_visible()
    wish = page.locator("#wish")
    assert wish.evaluate("(dialog) => dialog.scrollWidth <= dialog.clientWidth")
    page.locator("#variant").select_option("taiwan")
    assert page.locator("#opponents select").count() == 3
    page.locator("#opponents select").nth(1).select_option("random")
    page.locator("#wish button[value=begin]").click()
    page.wait_for_url(f"{address}/games/*")
    actions(page)
    expect(page.locator("#points")).to_contain_text("random")
    place = page.url
    page.locator("#new").click()
    page.keyboard.press("Escape")
    expect(page.locator("#wish")).to_be_hidden()
    assert page.url == place


def test_review_replay_and_downloads(address: str, open_page: Open, tmp_path: Path) -> None:
    page = open_page(begin(address), refused=400)
    play_on(page, click)
    page.locator("#judge").click()
    expect(page.locator("#review li").first).to_be_visible(timeout=240_000)
    with page.expect_download() as saving:
        page.get_by_text("Download (JSON)").click()
    saved = tmp_path / "game.json"
    saving.value.save_as(saved)
    game = ct.Game.from_json(saved.read_text())
    page.locator("#review li a").nth(2).click()
    page.wait_for_url("**/replays/*")
    page.wait_for_selector('#board[data-actions]:not([data-actions="0"])')
    at = int(actions(page))
    page.locator("#forward").click()
    expect(page.locator("#board")).to_have_attribute("data-actions", str(at + 1))
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#board")).to_have_attribute("data-actions", str(at))
    page.locator("#last").click()
    expect(page.locator("#number")).to_have_text(f"{len(game.history)} of {len(game.history)}")
    # The review is there too, and its jumps stay on the page.
    page.locator("#judge").click()
    page.locator("#review li a").nth(2).click()
    expect(page.locator("#board")).to_have_attribute("data-actions", str(at))
    expect(page.locator("#review li")).not_to_have_count(0)
    page.locator("#first").click()
    expect(page.locator("#back")).to_be_disabled()
    count = page.locator("#board [data-card]").count()
    page.locator("#hands").uncheck()
    expect(page.locator("#board [data-card]")).not_to_have_count(count)
    page.set_input_files("#file", saved)
    page.wait_for_function("() => !document.getElementById('board').dataset.actions.match(/[1-9]/)")
    expect(page.locator("#log li")).to_have_count(len(game.history))
    expect(page.locator("#review")).to_be_hidden()  # it was of the other game
    saved.write_text('{"format": 1, "rules": 3}')
    with page.expect_response(lambda response: response.status == 400):
        page.set_input_files("#file", saved)
    expect(page.locator("#error")).to_contain_text("rules: dict is needed")


def test_a_shared_file_works_without_a_server(open_page: Open, tmp_path: Path) -> None:
    game = ct.Game(ct.make_rules("taiwan"), seed=2)
    while not game.is_over:
        game.play(game.legal[0])
    file = tmp_path / "game.html"
    file.write_text(share(game), encoding="utf-8")
    page = open_page(file.as_uri())
    count = len(game.history)
    expect(page.locator("#number")).to_have_text(f"0 of {count}")
    page.locator("#forward").click()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#number")).to_have_text(f"2 of {count}")
    page.locator("#last").click()
    expect(page.locator("#happened")).to_contain_text("Net:")


def test_the_first_paint_is_soon_and_the_dark_theme_is_dark(address: str, open_page: Open) -> None:
    place = begin(address)
    page = open_page(place, color_scheme="dark")
    actions(page)
    painted = page.evaluate(
        "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
    )
    print(f"\nfirst paint after {painted:.0f} ms")
    assert painted < 1000
    ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in re.findall(r"\d+", ground)[:3]) < 60


def test_what_is_not_seen_is_said(address: str, open_page: Open) -> None:
    page = open_page(begin(address))
    start = actions(page)
    cards = page.locator("#board .legal")
    for index in range(cards.count()):
        assert cards.nth(index).get_attribute("role") == "button"
        assert " of " in str(cards.nth(index).get_attribute("aria-label"))
    click(page)
    page.wait_for_selector(f'#board:not([data-actions="{start}"])')
    expect(page.locator("#news")).to_contain_text("you: ")
    expect(page.locator("#status")).to_have_attribute("role", "status")
    for button in page.locator("button:visible").all():
        assert button.inner_text() or button.get_attribute("aria-label")
    for field in page.locator("select, input:visible").all():
        assert field.evaluate("(element) => element.labels.length") == 1


def faults(page: Page) -> list[str]:
    """Return what axe finds that keeps people out: roles, labels, contrast, order."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {[n['html'][:90] for n in one['nodes']]}" for one in found
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_keeps_people_out(address: str, open_page: Open, scheme: str) -> None:
    # The checker is a script of its own, which the page's policy would refuse.
    options = {"color_scheme": scheme, "bypass_csp": True}
    place = begin(address, variant="g4a", num_players=3, practice=True)
    page = open_page(place, **options)
    actions(page)
    assert not faults(page)
    page.locator("#hint").click()
    expect(page.locator("#hints table")).to_be_visible(timeout=240_000)
    assert not faults(page)
    page.locator("#new").click()
    expect(page.locator("#wish")).to_be_visible()
    assert not faults(page)
    page.keyboard.press("Escape")
    play_on(page, click)
    page.locator("#judge").click()
    expect(page.locator("#review li").first).to_be_visible(timeout=240_000)
    assert not faults(page)
    page.goto(place.replace("games", "replays"))
    actions(page)
    assert not faults(page)
    narrow = open_page(place, viewport={"width": 360, "height": 740}, **options)
    actions(narrow)
    assert not faults(narrow)
