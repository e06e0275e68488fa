"""`exactcp predict --cluster` and `--workers`: the parts that are written hold what one process writes of one file."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import exactcp
from exactcp import FullConformalClassifier
from exactcp.cli import _cluster, _cluster_tasks, _parts, app
from exactcp.cli._part_vectors import exact_sums, exponents, scales_of
from exactcp.measures import KNN

HERE = {**os.environ, "PYTHONPATH": str(Path(exactcp.__file__).parents[1])}  # for processes elsewhere
PAGES = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def address():
    """A cluster of two threads of this process."""
    how = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": "127.0.0.1:0", "set_as_default": False}
    with Client(processes=False, **how) as client:
        yield client.scheduler.address


def a_table(n=260):
    rng = np.random.default_rng(0)
    kind = np.array(["ant", "bee", "cat"])[rng.integers(0, 3, size=n)]
    mean = pd.Series(kind).map({"ant": 0.0, "bee": 1.0, "cat": 3.0}).to_numpy()
    return pd.DataFrame(
        {
            "id": [f"r{i}" for i in range(n)],
            "x": mean + rng.normal(size=n),
            "y": 1e5 + 100 * (mean + rng.normal(size=n)),
            "colour": rng.choice(["red", "green", "blue"], n),
            "count": rng.integers(0, 5, n),
            "day": pd.Timestamp("2026-01-31") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "kind": kind,
            "price": np.exp(mean / 3 + rng.normal(size=n) / 5),
        }
    )


def in_parts(table, folder, sizes):
    folder.mkdir()
    for number, rows in enumerate(np.split(np.arange(len(table)), np.cumsum(sizes)[:-1])):
        # the index that Dask and pandas write is no column; small row groups are no parts of their own
        table.iloc[rows].to_parquet(folder / f"{number}.parquet", row_group_size=7)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A directory with a table in parts and in one file, which is the current one; parts have 80 rows at most."""
    table = a_table()
    in_parts(table[:200], tmp_path / "train", [1, 5, 0, 100, 20, 74])
    in_parts(table[200:], tmp_path / "test", [11, 49])
    table[:200].to_parquet(tmp_path / "train.parquet")
    table[200:].to_parquet(tmp_path / "test.parquet")
    monkeypatch.setattr(_parts, "PART_ROWS", 80)
    monkeypatch.setattr(_parts, "FEW_ROWS", 80)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["predict", *[str(a) for a in arguments]], env={"COLUMNS": "200"})


def compared(address, *options, train="train", test="test"):
    """Return what a cluster writes, what one process writes, and both summaries; options are separate words."""
    results = [
        run(train, test, *options, "--cluster", address, "--output", "many", "--json"),
        run("train.parquet", "test.parquet", *options, "--output", "one.parquet", "--json"),
    ]
    for result in results:
        assert result.exit_code == 0, result.output
    return (*(pd.read_parquet(name) for name in ("many", "one.parquet")), *(json.loads(r.stdout) for r in results))


@pytest.mark.parametrize(
    "options",
    [
        "--target kind --measure knn --ignore price --confidence 0.9 --confidence 0.8",
        "--target kind --measure knn --option k=3 --ignore price --mondrian label --id id",
        # random numbers depend on the bits of objects, whose last one scaling may change
        "--target kind --measure knn --ignore price --smoothed --seed 3 --scale none",
        "--target kind --measure simplified-knn --scale none --ignore price --categorical count --keep-ids --ignore id",
        pytest.param(
            "--target kind --measure random-forest --option n_estimators=5 --ignore price", marks=pytest.mark.slow
        ),
        "--target count --measure knn --ignore price --ignore kind",
    ],
)
def test_sets_are_those_of_one_process(folder, address, options):
    many, one, told, also = compared(address, *options.split())
    pd.testing.assert_frame_equal(many, one, check_exact=True)
    assert told["coverage"] == also["coverage"]
    alike = ("n_train", "n_test", "accuracy", "set_size", "verdict", "expected_coverage", "measure", "seed", "classes")
    assert {name: told[name] for name in alike} == {name: also[name] for name in alike}
    assert told["mean_fuzziness"] == pytest.approx(also["mean_fuzziness"])
    assert told["shards"] > 1


@pytest.mark.parametrize(
    "options",
    [
        "--target price --ignore kind --measure knn --log --max 20 --confidence 0.9 --confidence 0.8",
        "--target price --ignore kind --measure knn --smoothed --seed 1 --scale none --option k=5",
    ],
)
def test_intervals_are_those_of_one_process(folder, address, options):
    many, one, told, also = compared(address, *options.split())
    pd.testing.assert_frame_equal(many, one, check_exact=True)
    alike = ("n_train", "n_test", "coverage", "verdict", "infinite", "measure")
    assert {name: told[name] for name in alike} == {name: also[name] for name in alike}
    assert [told[name] for name in ("mean_width", "mean_absolute_error")] == pytest.approx(
        [also[name] for name in ("mean_width", "mean_absolute_error")]
    )


def test_parts_are_files_of_one_schema_with_the_rows_of_test_in_their_order(folder, address, monkeypatch):
    monkeypatch.setattr(_parts, "PART_ROWS", 40)
    result = run("train/*.parquet", "test/*.parquet", "--target", "kind", "--cluster", address, "--output", "many")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    # 11 and 49 rows, in parts of 40 rows at most
    assert [pq.read_metadata(path).num_rows for path in sorted(Path("many").iterdir())] == [11, 24, 25]
    assert sorted(os.listdir("many")) == [f"part.000{number}.parquet" for number in range(3)]
    schemas = {str(pq.read_schema(path).remove_metadata()) for path in Path("many").iterdir()}
    assert len(schemas) == 1
    assert pd.read_parquet("many")["id"].tolist() == [f"r{i}" for i in range(200, 260)]
    said = " ".join(result.stderr.split())
    assert "no --measure is given: by knn;" in said
    assert "column 'id' is an ID and is left out" in said
    assert "column 'day' has dates and is left out" in said
    assert "60 rows from 200, coverage 0." in said
    assert not list(folder.glob(".exactcp*"))


def test_answers_do_not_depend_on_how_rows_are_cut(folder, address, monkeypatch):
    words = ("--target", "kind", "--cluster", address)
    assert run("train", "test", *words, "--output", "many").exit_code == 0
    monkeypatch.setattr(_parts, "FEW_ROWS", 25)
    monkeypatch.setattr(_parts, "PART_ROWS", 25)
    assert run("train.parquet", "test.parquet", *words, "--output", "more").exit_code == 0
    assert len(os.listdir("more")) > len(os.listdir("many"))
    pd.testing.assert_frame_equal(pd.read_parquet("many"), pd.read_parquet("more"), check_exact=True)


def test_the_numbers_are_those_of_the_library(folder, address):
    assert run("train", "test", "--target", "kind", "--scale", "none", "--ignore", "colour", "--ignore", "price",
               "--cluster", address, "--output", "many").exit_code == 0  # fmt: skip
    train, test = pd.read_parquet("train.parquet"), pd.read_parquet("test.parquet")
    names = ["x", "y", "count"]
    model = FullConformalClassifier(KNN()).fit(train[names].to_numpy(float), train["kind"].to_numpy(str))
    p = pd.read_parquet("many")[["p_ant", "p_bee", "p_cat"]].to_numpy()
    assert (p == model.predict_p(test[names].to_numpy(float))).all()


def test_test_rows_without_a_target_a_taken_name_and_empty_sets(folder, address):
    table = pd.read_parquet("test.parquet").drop(columns="kind").assign(prediction="mine")
    table["x"] = 1e6  # where no label fits
    table.to_parquet("blind.parquet")
    result = run("train", "blind.parquet", "--target", "kind", "--confidence", "0.5", "--cluster", address,
                 "--output", "many")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert result.stderr.count("written as 'prediction_given'") == 1
    assert "coverage" not in result.stderr
    found = pd.read_parquet("many")
    assert (found["prediction_given"] == "mine").all()
    empty = found["set_text"] == ""
    assert empty.any()
    assert (found["set"].map(len)[empty] == 0).all()
    assert pq.read_schema("many/part.0000.parquet").field("set").type == pa.list_(pa.string())


def test_a_summary_alone_and_an_empty_directory(folder, address):
    result = run("train", "test", "--target", "kind", "--cluster", address, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["output"] is None
    assert sum(told["seconds"].values()) == pytest.approx(told["total_seconds"])
    Path("empty").mkdir()
    assert run("train", "test", "--target", "kind", "--cluster", address, "--output", "empty").exit_code == 0
    assert sorted(os.listdir("empty")) == ["part.0000.parquet", "part.0001.parquet"]


def test_labels_that_train_lacks_are_told(folder, address):
    table = pd.read_parquet("test.parquet")
    table.loc[table.index[:2], "kind"] = ["dog", None]
    table.to_parquet("test/2.parquet")
    result = run("train", "test/2.parquet", "--target", "kind", "--cluster", address, "--json")
    assert "1 rows of TEST have a label that TRAIN lacks ('dog')" in result.stderr
    assert json.loads(result.stdout)["new_labels"] == {"dog": 1}


def test_exact_sums_scale_as_scikit_learn_does_and_do_not_depend_on_the_order(rng):
    columns = {
        "plain": rng.normal(size=6000),
        "far": 1e9 + rng.normal(size=6000),
        "tiny": 1e-300 * rng.normal(size=6000),
        "constant": np.full(6000, 0.1),
        "zero": np.zeros(6000),
    }
    powers = exponents({name: float(np.abs(column).max()) for name, column in columns.items()})

    def scales(order, cuts):
        parts = [{n: exact_sums(c[rows], powers[n]) for n, c in columns.items()} for rows in np.split(order, cuts)]
        return scales_of(powers, parts)

    found = scales(np.arange(6000), [1, 1000, 5999])
    assert found == scales(rng.permutation(6000), [1024, 2048, 2999])
    for name, column in columns.items():
        near = np.ldexp(column, -powers[name])
        expected = StandardScaler().fit_transform(near[:, None])[:, 0]
        tolerance = 1e-6 if name == "far" else 1e-12  # digits that the column itself does not have
        np.testing.assert_allclose(found[name].scaled(column), expected, rtol=tolerance, atol=tolerance)
    exact = [int(v) for v in np.rint(np.ldexp(columns["plain"], 52 - powers["plain"]))]
    assert exact_sums(columns["plain"], powers["plain"]) == (6000, sum(exact), sum(v * v for v in exact))


def changed(folder, name, change):
    """Write a part of the table, as `change` makes it of it."""
    table = pd.read_parquet(folder / "train.parquet")
    change(table.iloc[:30].copy()).to_parquet(folder / name)


def with_cell(column, row, value):
    def change(table):
        table[column] = table[column].astype(object) if isinstance(value, str | list) else table[column]
        table.iat[row, table.columns.get_loc(column)] = value
        return table

    return change


BAD_PARTS = {
    "a gap": (
        "train/7.parquet",
        with_cell("x", 3, np.nan),
        "row 4 of train/7.parquet has no value in column 'x': fill",
    ),
    "a gap to predict": ("test/7.parquet", with_cell("x", 0, np.nan), "row 1 of test/7.parquet has no value in column"),
    "no target": ("train/7.parquet", with_cell("kind", 2, None), "row 3 of train/7.parquet has no target 'kind'"),
    "infinity": ("train/7.parquet", with_cell("x", 2, np.inf), "column 'x' has infinite values"),
    "text for numbers": (
        "train/7.parquet",
        lambda table: table.assign(x=["much", "little"] * 15),
        "column 'x' has numbers in train/0.parquet and text in train/7.parquet: make them alike",
    ),
    "a column less": (
        "train/7.parquet",
        lambda table: table.drop(columns="x"),
        "train/7.parquet lacks the column 'x', which train/0.parquet has",
    ),
    "a column more": (
        "test/7.parquet",
        lambda table: table.assign(z=1),
        "test/0.parquet lacks the column 'z', which test/7.parquet has",
    ),
    "a bar in a label": ("train/7.parquet", with_cell("kind", 0, "a|b"), "the label 'a|b' contains |"),
    "many texts": (
        "train/7.parquet",
        lambda table: pd.concat([table] * 5).assign(colour=[f"c{i}" for i in range(150)]),
        "different texts, and each would be a column: leave it out with --ignore colour",
    ),
    "decimal commas": (
        "train/7.parquet",
        lambda table: table.assign(colour=[f"{i},5" for i in range(30)]),
        "column 'colour' of train/7.parquet has numbers with decimal commas",
    ),
}


@pytest.mark.parametrize("name", BAD_PARTS)
def test_what_is_wrong_with_a_part_is_told_with_its_name(folder, address, name, monkeypatch):
    monkeypatch.setattr(_parts, "PART_ROWS", 1000)
    file, change, sentence = BAD_PARTS[name]
    changed(folder, file, change)
    result = run("train", "test", "--target", "kind", "--ignore", "price", "--cluster", address, "--output", "many")
    check_sentence(result, 1, sentence)


def check_sentence(result, code, sentence):
    """A sentence and an exit code, and nothing is left."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    said = [line for line in result.stderr.splitlines() if not line.startswith("exactcp: warning: ")]
    told = [line for line in said if "no --measure is given" not in line and "the cluster inproc" not in line]
    assert len(told) == 1, result.stderr
    assert sentence in told[0]
    assert told[0].startswith("exactcp: ")
    assert told[0].endswith((".", "?"))
    assert not Path("many").exists()
    assert not list(Path().glob(".exactcp*"))


MISTAKES = {
    "train test --target kin": (2, "--target kin is not a column of TRAIN"),
    "train test --target kind --ignore z": (2, "--ignore z is not a column"),
    "train test --target kind --id z": (2, "--id z is not a column of the rows that are predicted"),
    "train test --target kind --measure lasso": (2, "--measure lasso is for regression"),
    "train test --target price --measure lasso": (1, "LassoResidual"),
    "train test --target kind --measure model --option estimator=SVC": (1, "ModelScore"),
    "train test --target kind --option k=0": (1, "k=0"),
    "train test --target kind --log": (2, "--log is for regression"),
    "train test --target price --mondrian label": (2, "--mondrian label is for classification"),
    "train test --target price --max 1": (1, "--max 1 says that there are none above it: raise it"),
    "train test --target x --task classification": (1, "different labels in 200 rows: expected labels that come again"),
    "train test --target kind --task regression": (1, "row 1 of train/0.parquet has 'cat' as its target 'kind'"),
}


@pytest.mark.parametrize("words", MISTAKES)
def test_mistakes_get_a_sentence_and_leave_nothing(folder, address, words):
    code, sentence = MISTAKES[words]
    check_sentence(run(*words.split(), "--cluster", address, "--output", "many"), code, sentence)


def test_a_scheduler_that_does_not_answer(folder, monkeypatch):
    monkeypatch.setattr(_cluster, "ANSWERS_WITHIN", 0.3)
    words = ("train", "test", "--target", "kind", "--output", "many", "--cluster")
    check_sentence(run(*words, "tcp://127.0.0.1:1"), 1, "does not answer as a scheduler of Dask within 0.3 seconds")
    check_sentence(run(*words, "nonsense"), 2, "is no address (missing port number in address 'nonsense'): write the")


def test_without_dask_it_is_told_what_to_install(folder, monkeypatch):
    for name in ("dask", "dask.utils", "dask.array", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    result = run("train", "test", "--target", "kind", "--output", "many", "--workers", "2")
    check_sentence(result, 1, 'is not installed: run python -m pip install "exactcp[dask]"')


def test_an_interruption_leaves_neither_tasks_nor_parts(folder, address, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(pq, "write_table", interrupt)
    result = run("train", "test", "--target", "kind", "--cluster", address, "--output", "many")
    check_sentence(result, 130, "exactcp: interrupted.")
    with Client(address, set_as_default=False) as client:
        wait_until(lambda: not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))


def wait_until(is_so, seconds=30):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_bar_shows_the_tasks_that_are_left(address, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(_cluster_tasks, "OFTEN", 0.01)
    go_on, left = tmp_path / "go on", []

    def counting(client):
        def ask(work):
            left.append(ask_scheduler(work))
            return left[-1]

        ask_scheduler = client.run_on_scheduler
        monkeypatch.setattr(client, "run_on_scheduler", ask)

    with Client(address, set_as_default=False) as client:
        counting(client)
        futures = [client.submit(wait_until, go_on.exists, pure=False) for _ in range(3)]
        with _cluster_tasks.telling_of_tasks(client, 1):
            wait_until(lambda: 3 in left)
            go_on.touch()
            client.gather(futures)
            wait_until(lambda: left[-1] == 0)
        told = len(left)
        with _cluster_tasks.telling_of_tasks(client, 0):
            pass
    assert len(left) == told
    assert re.search(r"learning .* 3/3 ", capsys.readouterr().err)


def test_workers_that_do_not_come(folder, monkeypatch):
    monkeypatch.setattr(_cluster, "LONG", 0.2)
    how = {"n_workers": 0, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**how) as cluster:
        address = cluster.scheduler_address
        result = run("train", "test", "--target", "kind", "--cluster", address, "--output", "many")
    assert f"the cluster {address} has no worker yet, and one is waited for." in result.stderr
    assert f"has had no worker for 0.2 seconds: start some, by dask worker {address}." in result.stderr
    assert result.exit_code == 1
    assert not Path("many").exists()


def test_files_may_be_anywhere_and_must_stay_what_they_are(folder):
    elsewhere = fsspec.filesystem("memory")
    for number in (10, 9):
        elsewhere.pipe(f"/rows/{number}.parquet", Path("test.parquet").read_bytes())
    elsewhere.pipe("/rows/_SUCCESS", b"")
    files = _parts.find_files(Path("memory://rows/*"), "TRAIN")
    assert [file.url for file in files] == ["memory:///rows/9.parquet", "memory:///rows/10.parquet"]
    piece = _parts.cut(files)[0].pieces[0]
    assert _parts.read_piece(piece, ["id"]).column("id").to_pylist()[:2] == ["r200", "r201"]
    elsewhere.pipe("/rows/9.parquet", Path("train/1.parquet").read_bytes())
    with pytest.raises(ValueError, match=r"rows/9.parquet has changed since it was looked at: give the command again"):
        _parts.read_piece(piece)
    elsewhere.rm("/rows", recursive=True)
    with pytest.raises(ValueError, match="cannot be read where the work is done"):
        _parts.read_piece(piece)


@pytest.mark.slow  # three processes, which start and compile
def test_workers_are_started_used_and_ended(folder, tmp_path):
    words = ["train/*.parquet", "test/*.parquet", "--target", "kind", "--ignore", "price"]
    command = [sys.executable, "-m", "exactcp", "predict", *words, "--workers", "2", "--output", "many", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=HERE)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith("exactcp: ")] == []
    one = run("train.parquet", "test.parquet", *words[2:], "--measure", "knn", "--output", "one.parquet", "--json")
    assert json.loads(done.stdout)["coverage"] == json.loads(one.stdout)["coverage"]
    pd.testing.assert_frame_equal(pd.read_parquet("many"), pd.read_parquet("one.parquet"), check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [2, 5, 7, 20])
def test_ctrl_c_ends_all_processes(folder, seconds):
    """While it starts, while workers start, and while they work."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60_000, 20)), columns=[f"x{i}" for i in range(20)])
    table.assign(kind=np.where(table["x0"] > 0, "a", "b")).to_parquet("large.parquet")
    words = ["large.parquet", "large.parquet", "--target", "kind", "--workers", "2", "--output", "many"]
    command = [sys.executable, "-m", "exactcp", "predict", *words]
    # a group of its own, all of which hears the key, as in a terminal
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it, and so on
    started = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True, env=HERE)
    signal.signal(signal.SIGINT, before)
    time.sleep(seconds)
    os.killpg(started.pid, signal.SIGINT)
    said = started.communicate(timeout=120)[1]
    # shells say 130 of both: Python ends by the signal if it came while a text was executed, of a dataclass for one
    assert started.returncode in (130, -signal.SIGINT)
    assert said.splitlines()[-1] == "exactcp: interrupted."
    assert "Traceback" not in said
    assert not Path("many").exists()
    assert not list(folder.glob(".exactcp*"))
    with pytest.raises(ProcessLookupError):
        wait_until(lambda: os.killpg(started.pid, 0))  # nobody is left in it


@pytest.mark.parametrize("page", ["dask.md", "command-line.md"])
def test_the_commands_of_the_pages_work(page, tmp_path, monkeypatch, address):
    text = (PAGES / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines() if re.search("--workers|--cluster", line)]
    assert commands
    table = a_table(90).drop(columns="kind").rename(columns={"price": "Y"})
    in_parts(table[:60], tmp_path / "train", [30, 30])
    in_parts(table[60:], tmp_path / "test", [10, 20])
    monkeypatch.chdir(tmp_path)
    for number, command in enumerate(commands):
        # the same words, with the cluster that there is
        words = re.sub(r"--workers \d+|--cluster \S+", f"--cluster {address}", command.partition("#")[0])
        words = words.replace("--output sets", f"--output sets{number}").replace("'", "")
        assert words.startswith("exactcp predict ")
        result = run(*words.split()[2:])
        assert result.exit_code == 0, result.output
        assert len(os.listdir(f"sets{number}")) == 2
