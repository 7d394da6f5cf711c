"""The pages in a real browser: what a visitor clicks, what a phone shows, what a screen reader meets.

Pictures of every page land in ``build/leaderboard`` for a person to look at.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if "browser" not in os.environ.get("ASSAY_REQUIRE", ""):
    pytest.importorskip("streamlit", reason="left out, needs streamlit: `make test-leaderboard` installs it")
    pytest.importorskip("axe_playwright_python", reason="left out, needs a driver: `make test-leaderboard` installs it")
    if shutil.which("chromium") is None:
        pytest.skip("left out, needs Chromium: apt-get install chromium", allow_module_level=True)

from axe_playwright_python.sync_playwright import Axe
from leaderboard_site import EPISODE, ROOT, fill, serving
from playwright.sync_api import Browser, Page, expect, sync_playwright

from leaderboard.export import main as write_site
from manifests.load import load
from runner.score import score_run
from runner.store.store import Store

PICTURES = ROOT / "build" / "leaderboard"
PAGES = {
    "overview": "",
    "ranking": "?view=ranking",
    "suites": "?view=suites",
    "tasks": "?view=tasks",
    "compare": "?view=compare",
    "failures": "?view=failures",
    "audit": "?view=audit",
    "submit": "?view=submit",
    "protocol": "?view=protocol",
    "run": "?run=half",
    "episode": f"?run={EPISODE}&attempt=2",
    "task": "?task=marble/dual-panda/A007",
}
SEEN = {"light": (1280, 800), "dark": (1280, 800), "phone": (390, 844)}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("leaderboard") / "home"
    store = Store(folder)
    fill(store)
    store.close()
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    with serving(home, home.parent / "cache") as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def static(home: Path) -> Path:
    folder = home.parent / "public"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_HOME", str(home))
        patch.setenv("ASSAY_CACHE", str(home.parent / "cache"))
        patch.delenv("ASSAY_STORE", raising=False)
        assert write_site(["-o", str(folder)]) == 0
    return folder


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    context.set_default_timeout(30_000)
    found = context.new_page()
    yield found
    context.close()


def visit(page: Page, where: str) -> None:
    """Until the script has ended and every picture is there. The status that Streamlit shows by itself comes late:
    without it a page may still be on its way."""
    page.goto(where)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning] .stHtml h1")
    page.wait_for_function("[...document.images].every(image => image.complete && image.naturalWidth > 0)")


def setting(page: Page, address: str, name: str) -> str:
    """The id of the setting whose title begins so."""
    visit(page, address + "?view=ranking")
    section = page.locator("section.standing", has=page.locator("h2", has_text=name)).first
    return str(section.get_attribute("id")).removeprefix("s-")


def rows(data: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data)))


@pytest.mark.parametrize("seen", SEEN)
def test_every_page_stands_in_light_and_dark_and_on_a_phone(browser: Browser, address: str, seen: str) -> None:
    width, height = SEEN[seen]
    scheme: Any = "dark" if seen == "dark" else "light"
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, query in PAGES.items():
        visit(page, address + query)
        expect(page.locator("[data-testid=stException]")).to_have_count(0)
        main = page.locator("[data-testid=stMain]")
        assert main.evaluate("e => e.scrollWidth - e.clientWidth") <= 0, f"{name} is wider than the screen"
        tall = int(main.evaluate("e => e.scrollHeight"))
        page.set_viewport_size({"width": width, "height": min(max(tall, height), 4000)})
        page.screenshot(path=PICTURES / f"{name}-{seen}.png")
        page.set_viewport_size({"width": width, "height": height})
    context.close()
    assert errors == []


def test_three_clicks_lead_from_the_front_page_to_the_very_episode_that_failed(page: Page, address: str) -> None:
    visit(page, address + "?view=ranking")
    page.get_by_role("link", name="lab/half", exact=True).first.click()
    page.wait_for_selector("text=Scored failures by code and clause")
    page.get_by_role("link", name="interlock.launch").first.click()
    page.wait_for_selector("text=Only those with code RULE, clause interlock.launch")
    page.get_by_role("link", name=re.compile(r"^#\d+ \[\d+\]$")).first.click()
    page.wait_for_selector("text=No launch before the aiming cycle is complete.")
    assert re.search(r"\?run=half&attempt=\d+$", page.url)


def test_a_deep_link_shows_its_setting_and_its_runs(page: Page, address: str) -> None:
    found = setting(page, address, "EP-100 Launch")
    visit(page, f"{address}?view=suites&setting={found}&runs=noop&runs=half")
    page.wait_for_selector("table.heatmap")
    heads = page.locator("table.heatmap thead th").all_inner_texts()
    assert heads[:3] == ["Type", "noop", "lab/half"]


def test_the_window_has_the_name_of_its_page(page: Page, address: str) -> None:
    for query, title in (("?view=failures", "Failures"), ("?run=half", "half"), ("?run=x", "No such run")):
        visit(page, address + query)
        assert page.title() == f"{title} · Assay leaderboard"


def test_a_filter_narrows_the_ranking_and_stands_in_the_address(page: Page, address: str) -> None:
    visit(page, address + "?view=ranking")
    assert page.locator("section.standing").count() == 3
    page.get_by_label("Subset").first.click()
    page.get_by_role("option", name="ep-100", exact=True).click()
    expect(page.locator("section.standing")).to_have_count(1)
    assert "subset=ep-100" in page.url
    visit(page, page.url)
    assert page.locator("section.standing h2").inner_text().startswith("EP-100 ")


def test_the_tasks_can_be_sorted_by_how_many_runs_solve_them(page: Page, address: str) -> None:
    found = setting(page, address, "EP-100 ·")
    visit(page, f"{address}?view=tasks&setting={found}")
    page.get_by_role("link", name="solved by most first").click()
    page.wait_for_url("**sort=easiest**")
    page.wait_for_selector("table.matrix")
    first, last = (page.locator("table.matrix tbody tr").nth(index).inner_text() for index in (0, -1))
    assert "1 of 1" in first
    assert "1 of 1" not in last.replace("1 of 1\t0 of 1", "")


def test_a_downloaded_ranking_has_the_numbers_of_the_score_command(page: Page, address: str, home: Path) -> None:
    store = Store(home, read_only=True)
    run = store.find_run("half")
    assert run is not None
    total = score_run(store, run, load())["total"]
    store.close()
    found = setting(page, address, "EP-100 Launch")
    visit(page, f"{address}?view=ranking&setting={found}")
    for label in ("CSV", "JSON", "Parquet", "SVG", "PNG"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=label, exact=True).first.click()
        content = Path(waiting.value.path()).read_bytes()
        name = waiting.value.suggested_filename
        assert name == f"ranking-{found}.{label.lower()}"
        if label in ("CSV", "JSON"):
            table = rows(content.decode()) if label == "CSV" else json.loads(content)
            row = next(row for row in table if row["run"] == "half")
            for key, metric in total["metrics"].items():
                assert float(row[f"{key}_percent"]) == float(metric["balanced"]["percent"])
                assert int(row[f"{key}_successes"]) == metric["successes"]
                assert int(row[f"{key}_planned"]) == metric["planned"]
        else:
            assert content.startswith({"Parquet": b"PAR1", "SVG": b"<svg", "PNG": b"\x89PNG"}[label])


def test_the_reconstructed_run_has_the_printed_numbers(page: Page, address: str) -> None:
    found = setting(page, address, "EP-100 ·")
    visit(page, f"{address}?view=suites&setting={found}")
    lines = [" ".join(text.split()) for text in page.locator("table.figures tbody tr").all_inner_texts()]
    printed = {
        "All suites": ("13.80 / 19.94", "18.42 / 27.41", "8.81 / 12.01", "15.42 / 18.75"),
        "Launch": ("19.12 / 25.74", "20.59 / 30.88", "17.65 / 20.59", "12.50 / 16.67"),
        "Tower": ("29.76 / 41.67", "45.45 / 61.36", "12.50 / 20.00", "12.50 / 25.00"),
        "Lock": ("6.25 / 14.06", "12.50 / 28.13", "0.00 / 0.00", "0.00 / 0.00"),
        "Cube": ("2.08 / 2.08", "4.17 / 4.17", "0.00 / 0.00", "8.33 / 8.33"),
        "Home": ("11.76 / 16.18", "9.38 / 12.50", "13.89 / 19.44", "43.75 / 43.75"),
    }
    for suite, values in printed.items():
        (line,) = (line for line in lines if line.startswith(f"{suite} "))
        assert all(value in line for value in values), line


@pytest.mark.parametrize("seen", SEEN)
def test_the_place_of_the_playback_is_never_empty(browser: Browser, address: str, seen: str) -> None:
    """From the moment when its heading stands there is the film, or a word that it is being loaded."""
    width, height = SEEN[seen]
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.goto(f"{address}?run={EPISODE}&attempt=2")
    page.wait_for_selector("h2:text('Playback')")
    page.locator("[data-testid=stImage] img").or_(page.get_by_text("Loading the film")).first.wait_for()
    page.wait_for_function("document.querySelector('[data-testid=stImage] img')?.naturalWidth == 96")
    box = page.locator("[data-testid=stImage] img").first.bounding_box()
    assert box is not None
    assert box["width"] >= 96
    assert box["height"] >= 64
    context.close()


def test_an_episode_is_played_by_the_keyboard(page: Page, address: str) -> None:
    visit(page, f"{address}?run={EPISODE}&attempt=2")
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_selector("text=first camera at 0.0 s")
    page.wait_for_selector("text=What the evaluator saw: 0 of 2 events")
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector("text=first camera at 2.0 s")
    page.wait_for_selector("text=What the evaluator saw: 1 of 2 events")
    assert page.locator("summary", has_text="Controls at 2.00 s: action 100 of 200").is_visible()
    page.wait_for_url("**t=2.0**")
    visit(page, page.url)  # what was chosen stands in the address
    page.wait_for_selector("text=first camera at 2.0 s")


def test_a_transcript_is_shown_and_not_obeyed(page: Page, address: str) -> None:
    visit(page, f"{address}?run={EPISODE}&attempt=2")
    text = page.locator("#transcript").inner_text()
    assert text.count("<script>document.title='taken'</script>") == 3
    assert "\\x1b[2J" in text
    assert "\\u202e" in text
    assert page.title() != "taken"
    sent = page.locator("#transcript img.sent")
    expect(sent).to_have_count(1)
    assert sent.evaluate("e => e.naturalWidth") == 64
    assert "9.81" not in page.locator("[data-testid=stMain]").inner_text()


def test_a_bundle_that_is_none_is_refused_on_the_page_and_nothing_is_imported(
    page: Page, address: str, tmp_path: Path, home: Path
) -> None:
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(b"PK\x03\x04 nothing of a bundle")
    visit(page, f"{address}?view=submit")
    page.locator("input[type=file]").set_input_files(bundle)
    page.wait_for_selector("text=bundle.zip: refused")
    store = Store(home, read_only=True)
    assert len(store.runs()) == 6
    store.close()


def test_the_bar_of_pages_is_reached_by_the_tab_key(page: Page, address: str) -> None:
    visit(page, address)
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.innerText"))
    assert {"Ranking", "Suites and types", "Tasks", "Failures"} <= set(reached)


@pytest.mark.parametrize("name", ["overview", "ranking", "tasks", "compare", "failures", "protocol", "run", "episode"])
def test_a_served_page_has_no_serious_accessibility_issue(page: Page, address: str, name: str) -> None:
    visit(page, address + PAGES[name])
    assert serious(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_static_export_has_no_serious_accessibility_issue(browser: Browser, static: Path, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    for path in sorted(static.glob("*.html")):
        page.goto(path.as_uri())
        assert serious(page) == [], path.name
    context.close()


def serious(page: Page) -> list[str]:
    """What axe-core finds, with where it is."""
    found = Axe().run(page).response["violations"]
    return [
        f"{item['id']}: {node['target']}: {node['any'] and node['any'][0]['message']}"
        for item in found
        if item["impact"] in ("serious", "critical")
        for node in item["nodes"][:3]
    ]


def test_every_link_of_the_static_export_leads_somewhere_in_it(page: Page, static: Path) -> None:
    names = {path.relative_to(static).as_posix() for path in static.rglob("*") if path.is_file()}
    for path in static.glob("*.html"):
        page.goto(path.as_uri())
        for where in page.eval_on_selector_all("a[href]", "all => all.map(a => a.getAttribute('href'))"):
            file, _, anchor = where.partition("#")
            assert not file or file in names, f"{path.name}: {where}"
            if anchor and not file:
                expect(page.locator(f"#{anchor}")).to_have_count(1)


def test_the_static_export_works_on_a_phone_and_holds_its_data(browser: Browser, static: Path, home: Path) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, java_script_enabled=False)
    page = context.new_page()
    for path in static.glob("*.html"):
        page.goto(path.as_uri())
        box = page.locator("body").bounding_box()
        assert box is not None
        assert box["width"] <= 390
    page.goto((static / "ranking.html").as_uri())
    embedded = page.locator("script[id^=data-ranking-]").all_text_contents()
    runs = [row["run"] for table in map(json.loads, embedded) for row in table]
    assert sorted(runs) == ["episode", "faulty", "gpt-6-astra", "half", "noop", "reference"]
    context.close()
