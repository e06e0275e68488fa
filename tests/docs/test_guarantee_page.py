"""The page on what breaks the guarantee: its code runs, and its numbers are those of the script's table."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from exactcp import ValidityWarning

PAGE = Path(__file__).parents[2] / "docs" / "guarantee.md"
if not PAGE.exists():
    pytest.skip("the documentation is not part of this distribution", allow_module_level=True)
guarantee = pytest.importorskip("benchmarks.guarantee")
TEXT = PAGE.read_text(encoding="utf-8")
PROSE = TEXT.split(guarantee.END)[1].split("## What is not exact")[0]
CELL = re.compile(r"([\d.]+) \(([\d.]+) to ([\d.]+)\)")


def table(start: str, end: str) -> dict[str, list[list[str]]]:
    """The rows of a table of the page under the name of their line, each with its cells."""
    found: dict[str, list[list[str]]] = {}
    for row in TEXT.split(start)[1].split(end)[0].strip().splitlines()[2:]:
        name, *cells = (cell.strip() for cell in row.strip("| ").split(" | "))
        if name.startswith("`"):
            found[name.strip("`")] = []
        found[list(found)[-1]].append(cells if name.startswith("`") else [name, *cells])
    return found


SEEN = table(guarantee.SEEN_START, guarantee.SEEN_END)
UNSEEN = table(guarantee.START, guarantee.END)
TABLE = SEEN | UNSEEN
SECTIONS = dict(zip(guarantee.UNSEEN, PROSE.split("\n### ")[1:], strict=True))
SIMULATED = [name for name, line in guarantee.LINES.items() if line.does != guarantee.REFUSES]
WARNED = [name for name, line in guarantee.LINES.items() if line.does == guarantee.WARNS]
REFUSED = [name for name, line in guarantee.LINES.items() if line.does == guarantee.REFUSES]


def shares(name: str) -> list[tuple[str, ...]]:
    """What was got, and got with each remedy: the number as it is written, and the ends of its range."""
    return [CELL.fullmatch(cell).groups() for row in TABLE[name] for cell in row if CELL.fullmatch(cell)]


@pytest.mark.parametrize("name", SIMULATED)
def test_a_line_runs_and_the_library_does_what_the_table_says(name: str) -> None:
    line, (mistake, *remedies) = guarantee.LINES[name], guarantee.repeat(name, 3)
    assert len(remedies) == len(line.instead)
    assert all(0 <= share.times <= share.of <= 3 for share in (mistake, *remedies))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for seed in range(3):
            line.once(np.random.default_rng(seed))
    told = [one for one in caught if issubclass(one.category, ValidityWarning)]
    assert bool(told) == (line.does == guarantee.WARNS), [str(one.message) for one in told]


@pytest.mark.parametrize("name", REFUSED)
def test_the_library_refuses_what_the_table_says(name: str) -> None:
    with pytest.raises(ValueError, match=r"share no position|of the same row alone|learns from labels"):
        guarantee.LINES[name].once(np.random.default_rng(0))


def test_the_tables_have_the_lines_of_the_script() -> None:
    assert list(SEEN) == list(guarantee.SEEN)
    assert list(UNSEEN) == list(guarantee.UNSEEN)
    assert set(WARNED) | set(REFUSED) == set(guarantee.SEEN)
    for name, line in guarantee.LINES.items():
        done, asked, got, *told = TABLE[name][0][:-2]
        assert done == line.done
        assert told == ([line.does] if name in SEEN else [])
        assert [row[-2] for row in TABLE[name]] == list(line.instead)
        assert asked == (line.promise if name in SIMULATED else "-")
        assert (got == TABLE[name][0][-1] == "-") == (name in REFUSED)
        assert len(shares(name)) == (1 + len(line.instead) if name in SIMULATED else 0)


@pytest.mark.parametrize("name", SIMULATED)
def test_a_mistake_is_one_and_a_remedy_helps(name: str) -> None:
    line, (mistake, *remedies) = guarantee.LINES[name], shares(name)
    sign = -1 if line.counts_alarms else 1
    lucky, unlucky = (2, 1) if sign == 1 else (1, 2)  # the ends of a range
    assert sign * float(mistake[lucky]) < sign * line.asked
    for remedy in remedies:
        assert sign * float(remedy[lucky]) >= sign * line.asked
        assert sign * float(remedy[unlucky]) > sign * float(mistake[lucky])


@pytest.mark.parametrize("name", guarantee.UNSEEN)
def test_a_section_quotes_its_numbers(name: str) -> None:
    quoted = re.findall(r"\d\.\d{3}", SECTIONS[name])
    assert quoted == [share[0] for share in shares(name)]


@pytest.mark.parametrize("name", ["metric", "precision", "folds"])
def test_a_table_is_written_between_its_marks(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, marks = tmp_path / "guarantee.md", (guarantee.SEEN_START, guarantee.SEEN_END, guarantee.START, guarantee.END)
    parts = ["before\n", "\nold\n", "\nbetween\n", "\nold\n", "\nafter\n"]
    page.write_text("".join(part for pair in zip(parts, (*marks, ""), strict=True) for part in pair), encoding="utf-8")
    guarantee.main(["--quick", "--page", str(page), name])
    written = re.split("|".join(map(re.escape, marks)), page.read_text(encoding="utf-8"))
    table = 1 if name in SEEN else 3
    assert capsys.readouterr().out.strip() in written[table]
    assert [*written[:table], "\nold\n", *written[table + 1 :]] == parts
