"""Files and streams of the command line: nothing that is read is written, and nothing is left half written."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from exactcp._replacing import replacing
from exactcp.cli import app
from full_disk import no_file_beyond

ROWS = 60


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A directory with a classification problem, which is the current one."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(2 * ROWS, 2)), columns=["x", "z"])
    table["kind"] = np.where(table["x"] + rng.normal(size=2 * ROWS) > 0, "a", "b")
    table[:ROWS].to_csv(tmp_path / "train.csv", index=False)
    table[ROWS:].to_csv(tmp_path / "test.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["predict", "train.csv", "test.csv", "--target", "kind", *map(str, arguments)])


def command(*arguments, before="", after=""):
    """Run the command in a shell of its own."""
    line = f'{before} {sys.executable} -m exactcp "$@" {after}'
    return subprocess.run(["bash", "-c", line, "bash", *arguments], capture_output=True, text=True, check=False)


PREDICT = ("predict", "train.csv", "test.csv", "--target", "kind")


# --- what is read is not written


@pytest.mark.parametrize("option", ["--output", "--report"])
@pytest.mark.parametrize(
    "spelling", ["train.csv", "./test.csv", "../{}/train.csv", "link", "hard.html", "here/test.csv"]
)
def test_an_input_is_never_written(option, spelling, folder):
    (folder / "link").symlink_to("train.csv")
    os.link("test.csv", "hard.html")
    os.link("test.csv", "hard.csv")
    (folder / "here").symlink_to(folder)
    path = spelling.format(folder.name)
    if option == "--report":
        path = path.replace("train.csv", "train.html").replace("test.csv", "test.html")
        for name in ("train", "test"):
            os.link(f"{name}.csv", f"{name}.html")
    else:
        path = path.replace(".html", ".csv")
    before = {name: (folder / name).read_bytes() for name in ("train.csv", "test.csv")}
    result = run(option, path)
    assert result.exit_code == 2, result.output
    assert "which would be lost: give the name of another file." in result.stderr
    assert {name: (folder / name).read_bytes() for name in before} == before


@pytest.mark.parametrize(
    "words",
    [PREDICT, pytest.param(("drift", "train.csv", "--ignore", "kind", "--json"), marks=pytest.mark.slow)],
)
def test_standard_output_that_is_appended_to_an_input(words, folder):
    before = (folder / "train.csv").read_bytes()
    result = command(*words, after=">> train.csv")
    assert result.returncode == 2
    assert "which would be lost: redirect it to another file." in result.stderr
    assert (folder / "train.csv").read_bytes() == before


@pytest.mark.parametrize(
    "name", ["rows", "rows.CSV", "rows.v2.csv", "rows.csv.gz", "rows.csv.xz", "rows.txt", "rows.pq"]
)
def test_every_ending_that_is_written_can_be_read_again(name, folder):
    assert run("--output", name).exit_code == 0
    again = pd.read_parquet(name).drop(columns="set") if name.endswith("pq") else pd.read_csv(name)
    assert run("--output", "plain.csv").exit_code == 0
    pd.testing.assert_frame_equal(again, pd.read_csv("plain.csv"), check_dtype=False)


# --- the old file or the new one


@pytest.mark.parametrize(
    ("option", "name"),
    [("--output", "rows.csv"), ("--output", "rows.parquet"), ("--report", "page.html")],
)
def test_a_full_disk_leaves_the_old_file_and_is_told_with_its_name(option, name, folder):
    assert run(option, name).exit_code == 0  # caches of compiled code and fonts are not what the disk is full of
    (folder / name).write_text("old")
    with no_file_beyond(1024):
        result = run(option, name, "--json")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith(f"exactcp: {name}: ")
    assert "File too large" in result.stderr
    assert (folder / name).read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == sorted(["train.csv", "test.csv", name])


@pytest.mark.slow  # a process for each
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_standard_output_on_a_full_disk(folder):
    result = command(*PREDICT, after="> /dev/full")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == "exactcp: standard output: No space left on device."


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(28, "No space left on device")])
def test_replacing_is_all_or_nothing(error, tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("old")

    def write():
        with replacing(path) as unfinished:
            unfinished.write_text("half")
            assert path.read_text() == "old"
            raise error

    with pytest.raises(error if isinstance(error, type) else OSError) as raised:
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    if isinstance(error, OSError):
        assert raised.value.filename == str(path)


def test_replacing_keeps_links_and_permissions(tmp_path):
    place, link = tmp_path / "place.csv", tmp_path / "link.csv"
    place.write_text("old")
    place.chmod(0o640)
    link.symlink_to("place.csv")
    with replacing(link) as unfinished:
        unfinished.write_text("new")
    assert link.is_symlink()
    assert place.read_text() == "new"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    umask = os.umask(0o027)
    try:
        with replacing(tmp_path / "fresh.csv") as unfinished:
            unfinished.write_text("new")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "fresh.csv").stat().st_mode) == 0o640


@pytest.mark.slow  # a process for each
def test_a_device_is_written_itself(folder):
    assert run("--output", os.devnull, "--report", os.devnull).exit_code == 0
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    shown = command(*PREDICT, "--output", "/dev/stdout", after=">> rows.txt")
    assert shown.returncode == 0
    assert (folder / "rows.txt").read_text().startswith("x,z,kind,prediction,set_text,confidence,credibility,p_a,p_b")


# --- streams that are closed, files that are cut off


@pytest.mark.slow
def test_a_closed_error_stream_costs_nothing(folder):
    result = command(*PREDICT, "--output", "rows.csv", after="2>&-")
    assert result.returncode == 0
    assert run("--output", "same.csv").exit_code == 0
    assert (folder / "rows.csv").read_text() == (folder / "same.csv").read_text()


@pytest.mark.slow  # it starts three processes
def test_a_closed_standard_output(folder):
    assert command(*PREDICT, "--output", "rows.csv", after=">&-").returncode == 0
    assert len(pd.read_csv("rows.csv")) == ROWS
    for words in (PREDICT, ("drift", "train.csv", "--ignore", "kind")):
        result = command(*words, after=">&-")
        assert result.returncode == 1
        assert result.stderr.startswith("exactcp: standard output is closed")


@pytest.mark.slow  # a process for each
def test_a_closed_standard_input(folder):
    result = command("drift", "-", after="<&-")
    assert result.returncode == 1
    assert result.stderr == (
        "exactcp: standard input is closed: give it something to read, or name a file instead of -.\n"
    )


TEXT = "x,kind\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(2000))


@pytest.mark.parametrize("ending", ["gz", "bz2", "zip", "xz", "tar"])
@pytest.mark.parametrize("content", ["text", "cut off"])
def test_files_that_cannot_be_unpacked(ending, content, folder):
    packed = {"gz": gzip.compress, "bz2": bz2.compress}.get(ending, gzip.compress)(TEXT.encode())
    path = folder / f"data.csv.{ending}"
    path.write_bytes(TEXT.encode() if content == "text" else packed[: len(packed) // 2])
    result = CliRunner().invoke(app, ["predict", str(path), "test.csv", "--target", "kind"])
    assert result.exit_code == 1
    assert "cannot be unpacked" in result.stderr
    assert "(unexpected" not in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_packed_files_are_read(folder):
    (folder / "train.csv.gz").write_bytes(gzip.compress((folder / "train.csv").read_bytes(), mtime=0))
    words = ["predict", "train.csv.gz", "test.csv", "--target", "kind", "--output", "a.csv"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert run("--output", "b.csv").exit_code == 0
    assert (folder / "a.csv").read_text() == (folder / "b.csv").read_text()


@pytest.mark.parametrize(
    "package", ["sklearn", *(pytest.param(other, marks=pytest.mark.slow) for other in ("typer", "numba", "pandas"))]
)
def test_an_interruption_while_importing_is_no_traceback(package, folder):
    shadow = folder / "shadow"
    shadow.mkdir()
    (shadow / f"{package}.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    )
    paths = os.pathsep.join([str(shadow), os.environ.get("PYTHONPATH", "")])
    result = subprocess.run(
        [sys.executable, "-m", "exactcp", *PREDICT], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (130, "exactcp: interrupted.\n")


def test_a_program_that_imports_the_package_keeps_its_own_interruptions():
    code = "import signal, exactcp; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "True\n"


@pytest.mark.slow
def test_the_seconds_are_all_that_one_waits_for(folder):
    import time

    start = time.perf_counter()
    result = command(*PREDICT, "--json", "--report", "page.html")
    waited = time.perf_counter() - start
    told = json.loads(result.stdout)
    assert told["fit_seconds"] + told["predict_seconds"] < told["total_seconds"] < waited
    # importing, comparing and drawing are in; starting Python, and ending it, is not
    assert told["total_seconds"] > waited / 2


def test_a_column_that_has_every_new_name_is_kept_under_a_third(folder):
    for name in ("train", "test"):
        table = pd.read_csv(f"{name}.csv").assign(prediction=1.5, prediction_given=2.5)
        table.to_csv(f"{name}.csv", index=False)
    assert run("--output", "out.csv").exit_code == 0
    out = pd.read_csv("out.csv")
    assert out.columns.is_unique
    assert not any(name.endswith(".1") for name in out.columns)
    assert out["prediction_given"].eq(2.5).all()
    assert out["prediction_given_given"].eq(1.5).all()
