"""Files and streams: nothing that is read is written, and nothing is left half written."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from exactcp._replacing import replacing
from full_disk import no_file_beyond

pytestmark = pytest.mark.usefixtures("folder")
PREDICT = "predict kinds_train.csv kinds_new.csv -t kind"


def command(words, before="", after=""):
    """Run the command in a shell of its own."""
    line = f"{before} {sys.executable} -m exactcp {words} {after}"
    return subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, check=False)


# --- kinds of files


KINDS = ("rows", "rows.CSV", "rows.v2.csv", "rows.csv.gz", "rows.csv.xz", "rows.tsv", "rows.jsonl", "rows.pq", "r.xlsx")


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_file_is_written_and_read(name, done, rows):
    done(f"{PREDICT} -o {name}")
    expected, kind = rows(PREDICT.removeprefix("predict ")), name.rpartition(".")[2]
    readers = {"pq": pd.read_parquet, "xlsx": pd.read_excel, "tsv": lambda path: pd.read_csv(path, sep="\t")}
    readers["jsonl"] = lambda path: pd.DataFrame(map(json.loads, Path(path).read_text("utf-8").splitlines()))
    again = readers.get(kind, pd.read_csv)(name)
    if kind in ("pq", "jsonl"):
        assert ["|".join(labels) for labels in again.pop("set")] == expected["set_text"].tolist()
    pd.testing.assert_frame_equal(again, expected, check_dtype=False, check_exact=kind != "xlsx")
    ignored = "".join(f" --ignore {column}" for column in expected.columns[3:])
    learned = rows(f"{name} kinds_new.csv -t kind {ignored}" + " --ignore set" * (kind in ("pq", "jsonl")))
    expected.to_csv("plain.csv", index=False)
    pd.testing.assert_frame_equal(learned, rows(f"plain.csv kinds_new.csv -t kind {ignored}"))


def test_json_lines_say_what_json_cannot(done, folder):
    pd.DataFrame({"x": [1.5, 2.5, 4.0, 5.0], "price": [1.0, 2.25, 3.5, 4.5]}).to_csv("few.csv", index=False)
    pd.DataFrame({"x": [1.0], "note": [None], "price": [np.nan]}).to_csv("one.csv", index=False)
    done("predict few.csv one.csv -t price --option k=1 -c 0.99 -o out.jsonl")
    assert json.loads((folder / "out.jsonl").read_text()) == {
        "x": 1.0, "note": None, "price": None, "prediction": 1.0, "lower": "-inf", "upper": "inf",
    }  # fmt: skip


def test_numbers_are_read_to_the_last_digit_and_decimal_commas(rows):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"x": rng.uniform(size=40), "price": rng.uniform(size=40)})
    table.to_csv("points.csv", index=False)
    table.to_csv("commas.csv", index=False, sep=";", decimal=",")
    out = rows("points.csv points.csv -t price")
    np.testing.assert_array_equal(out["x"], table["x"])
    np.testing.assert_array_equal(out["price"], table["price"])
    pd.testing.assert_frame_equal(rows("commas.csv commas.csv -t price --separator ; --decimal ,"), out)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("bad.csv", b"", "bad.csv is empty: expected a line of column names, then a line for each row."),
        ("bad.csv", b"x,kind\n", "bad.csv has column names but no rows"),
        ("bad.csv", b"x,kind\n1,a\n2,b,c\n", "cannot be read as CSV in UTF-8 (Expected 2 fields in line 3, saw 3)"),
        ("bad.csv", b"x,kind\n1,a,c\n2,b,c\n", "must say what it holds, and --separator what is between cells."),
        ("bad.csv", b"x,kind\n\xff\xfe\x00,a\n", "bad.csv cannot be read as CSV in UTF-8"),
        ("bad.csv.gz", b"x,kind\n1,a\n", "bad.csv.gz cannot be read"),
        ("bad.csv.gz", gzip.compress(b"x,kind\n" + b"1,a\n" * 999)[:30], "bad.csv.gz cannot be read"),
        ("bad.parquet", b"x,kind\n1,a\n", "bad.parquet cannot be read as a .parquet file"),
        ("bad.xlsx", b"x,kind\n1,a\n", "bad.xlsx cannot be read as a .xlsx file"),
        ("bad.jsonl", b"x,kind\n1,a\n", "bad.jsonl cannot be read as a .jsonl file"),
        ("bad.jsonl", b"[1]\n", "bad.jsonl cannot be read as a .jsonl file"),
        ("bad.jsonl", b"\n", "bad.jsonl has column names but no rows"),
        ("bad.parquet", None, "bad.parquet has two columns called 'x': rename one."),
    ],
)
def test_broken_files_get_one_sentence(name, content, sentence, folder, run, monkeypatch):
    if content is None:
        twice = pd.DataFrame([[1, 2]], columns=["x", "x"])
        monkeypatch.setattr(pd, "read_parquet", lambda _: twice)
    (folder / name).write_bytes(content or b"")
    result = run(f"predict {name} kinds_new.csv -t kind")
    assert result.exit_code == 1
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("hidden", "words", "sentence"),
    [
        ("pandas", PREDICT, 'needs pandas, which is not installed: run python -m pip install "exactcp[report]"'),
        ("jinja2", f"{PREDICT} --report page.html", "a report needs jinja2"),
        ("openpyxl", f"{PREDICT} -o rows.xlsx", "writing .xlsx files needs openpyxl"),
        ("pyarrow", "predict some.parquet kinds_new.csv -t kind", "reading .parquet files needs pyarrow"),
        ("skops", "fit kinds_train.csv -t kind -o m.exactcp", "saving models needs skops, which is not installed"),
    ],
)
def test_packages_that_are_not_installed_are_named(hidden, words, sentence, folder, run, monkeypatch):
    (folder / "some.parquet").touch()
    monkeypatch.setitem(sys.modules, hidden, None)
    monkeypatch.setitem(sys.modules, f"{hidden}.io", None)
    result = run(words)
    assert result.exit_code == 1
    assert sentence in result.stderr


# --- what is read is not written, and the old file or the new one is there


@pytest.mark.parametrize("option", ["--output", "--report"])
@pytest.mark.parametrize("spelling", ["kinds_train", "./kinds_new", "../{}/kinds_train", "hard", "here/kinds_new"])
def test_an_input_is_never_written(option, spelling, folder, run):
    end = ".csv" if option == "--output" else ".html"
    for name in ("kinds_train", "kinds_new"):
        if end == ".html":
            os.link(f"{name}.csv", f"{name}.html")
    os.link("kinds_new.csv", f"hard{end}")
    (folder / "here").symlink_to(folder)
    before = {name: (folder / name).read_bytes() for name in ("kinds_train.csv", "kinds_new.csv")}
    result = run(f"{PREDICT} {option} {spelling.format(folder.name)}{end}")
    assert result.exit_code == 2, result.output
    assert "which would be lost: give the name of another file." in result.stderr
    assert {name: (folder / name).read_bytes() for name in before} == before


@pytest.mark.slow  # a process
@pytest.mark.parametrize(
    "words", [PREDICT, "drift kinds_train.csv --ignore kind --json", "compare kinds_train.csv -t kind"]
)
def test_standard_output_that_is_appended_to_an_input(words, folder):
    before = (folder / "kinds_train.csv").read_bytes()
    result = command(words, after=">> kinds_train.csv")
    assert result.returncode == 2
    assert "which would be lost: redirect it to another file." in result.stderr
    assert (folder / "kinds_train.csv").read_bytes() == before


@pytest.mark.parametrize(
    "words", [f"{PREDICT} --output rows.csv", f"{PREDICT} --output rows.parquet", f"{PREDICT} --report p.html"]
)
def test_a_full_disk_leaves_the_old_file_and_is_told_with_its_name(words, folder, run, done):
    name = words.split()[-1]
    done(words)  # caches of compiled code and fonts are not what the disk is full of
    (folder / name).write_text("old")
    before = sorted(path.name for path in folder.iterdir())
    with no_file_beyond(1024):
        result = run(f"{words} --json")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"exactcp: {name}: ")
    assert "File too large" in result.stderr
    assert (folder / name).read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(28, "No space left on device")])
def test_replacing_is_all_or_nothing(error, tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    before = sorted(tmp_path.iterdir())

    def write():
        with replacing(path) as unfinished:
            unfinished.write_text("half")
            assert path.read_text() == "old"
            raise error

    with pytest.raises(error if isinstance(error, type) else OSError) as raised:
        write()
    assert (path.read_text(), sorted(tmp_path.iterdir())) == ("old", before)
    if isinstance(error, OSError):
        assert raised.value.filename == str(path)


def test_replacing_keeps_links_and_permissions(tmp_path):
    place, link = tmp_path / "place.txt", tmp_path / "link.txt"
    place.write_text("old")
    place.chmod(0o640)
    link.symlink_to("place.txt")
    with replacing(link) as unfinished:
        unfinished.write_text("new")
    assert (link.is_symlink(), place.read_text(), stat.S_IMODE(place.stat().st_mode)) == (True, "new", 0o640)
    umask = os.umask(0o027)
    try:
        with replacing(tmp_path / "fresh.txt") as unfinished:
            unfinished.write_text("new")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "fresh.txt").stat().st_mode) == 0o640


# --- pipes and devices, each in a process of its own


@pytest.mark.slow
@pytest.mark.parametrize("words", [PREDICT, "drift kinds_train.csv --ignore kind --json --seed 0"])
def test_a_reader_that_has_seen_enough_is_no_error(words):
    pd.concat([pd.read_csv("kinds_new.csv")] * 500).to_csv("kinds_new.csv", index=False)
    result = command(words, after="| head -n 1")
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) == 1
    assert "Error" not in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_standard_output_on_a_full_disk():
    result = command(PREDICT, after="> /dev/full")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == "exactcp: standard output: No space left on device."


@pytest.mark.slow
def test_a_device_is_written_itself(folder, done):
    done(f"{PREDICT} --output {os.devnull} --report {os.devnull}")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert command(f"{PREDICT} --output /dev/stdout", after=">> rows.txt").returncode == 0
    assert (folder / "rows.txt").read_text().startswith("x,z,kind,prediction,set_text,confidence,credibility,p_a,p_b")
