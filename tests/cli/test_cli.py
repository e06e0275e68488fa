from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import exactcp
from exactcp import measures
from exactcp.cli import app

ROOT = Path(__file__).parents[2]


def test_version():
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"exactcp {exactcp.__version__}\n"


def test_demo_prints_its_table_and_writes_its_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["demo", "--confidence", "0.9"], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    page = (tmp_path / "exactcp-demo.html").read_text(encoding="utf-8")
    assert "Which digit is it?" in page
    assert '"pictures":{"height":8,"width":8' in page
    assert "90\N{NO-BREAK SPACE}% sets" in result.output
    for heading in ("coverage", "set size", "fuzziness", "fit", "predict"):
        assert heading in result.output
    assert len(re.findall(r"(full|split) +(KNN|SimplifiedKNN) ", result.output)) == 4
    assert "In 10 other random divisions, full CP covers" in " ".join(result.output.split())


def test_demo_for_scripts_and_where_the_report_goes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["demo", "--json", "--report", "page.html"])
    told = json.loads(result.stdout)
    assert told["report"] == "page.html"
    assert [row["predictor"] for row in told["rows"]] == ["full", "split", "full", "split"]
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_demo_works_without_the_packages_of_reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 0
    assert "no report was written: a report needs jinja2" in result.stderr
    assert "fuzziness" in result.stdout
    asked_for = CliRunner().invoke(app, ["demo", "--report", "page.html"])
    assert asked_for.exit_code == 1


def test_an_error_is_one_sentence_and_debug_shows_where():
    command = ["predict", "nothing.csv", "nothing.csv", "--target", "y"]
    result = CliRunner().invoke(app, command)
    assert (result.exit_code, result.stderr) == (1, "exactcp: nothing.csv: No such file or directory.\n")
    for with_debug in (["--debug", *command], [*command, "--debug"]):
        shown = CliRunner().invoke(app, with_debug)
        assert shown.exit_code == 1
        assert shown.stderr.startswith("Traceback")
        assert shown.stderr.endswith(result.stderr)


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (ValueError("k=0 is too small:\n  use 1."), 1, "exactcp: k=0 is too small: use 1.\n"),
        (KeyError("x"), 1, "exactcp: KeyError: 'x' (unexpected: run again with --debug to see where).\n"),
        (MemoryError("12 GiB"), 1, "exactcp: not enough memory (12 GiB): use fewer rows or columns.\n"),
        (KeyboardInterrupt(), 130, "exactcp: interrupted.\n"),
    ],
)
def test_whatever_goes_wrong_there_is_no_traceback(error, code, sentence, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("exactcp.experiments.demo.run_demo", fail)
    result = CliRunner().invoke(app, ["demo"])
    assert (result.exit_code, result.stderr) == (code, sentence)


def test_help_names_every_command_and_completion():
    result = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"})
    for word in ("predict", "drift", "demo", "reproduce", "--debug", "--version", "--install-completion"):
        assert word in result.output
    assert CliRunner().invoke(app, ["nonsense"]).exit_code == 2


def test_measures_complete():
    from exactcp.cli._measure_option import complete_measure

    assert complete_measure("k") == ["kde", "knn"]
    named = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # not guessed from running processes
    script = subprocess.run(
        [sys.executable, "-m", "exactcp", "--show-completion", "bash"],
        capture_output=True, text=True, check=False, env=named,
    )  # fmt: skip
    assert "_EXACTCP_COMPLETE" in script.stdout


def test_full_cp_is_more_efficient_than_split_cp_in_the_demo():
    from exactcp.experiments.demo import run_demo
    from exactcp.metrics.bands import expected_coverage

    facts = run_demo()
    rows = {(row["predictor"], row["measure"]): row for row in facts["rows"]}
    for measure in ("KNN", "SimplifiedKNN"):
        assert rows["full", measure]["mean_fuzziness"] < rows["split", measure]["mean_fuzziness"]
        assert rows["full", measure]["set_size"] < rows["split", measure]["set_size"]
        assert rows["full", measure]["coverage"] > 0.9
    # which digit it is stays open for a good part of them, so that there is something to see
    page = facts["report"]()
    sizes = page["predictions"]["full"]["set"].map(len)
    assert 0.1 < (sizes > 1).mean() < 0.5
    assert page["n_calibration"] == facts["n_train"] == 100
    low, high = expected_coverage(0.95, 1000, 100)
    assert low <= rows["full", "KNN"]["coverage"] <= high


def test_what_the_demo_says_of_other_divisions_is_what_they_gave():
    from exactcp.experiments.demo import run_demo, say_splits

    splits = run_demo()["splits"]
    assert [split["seed"] for split in splits] == list(range(1000, 1010))
    first = run_demo(seed=1000)["rows"]
    for row, name in zip(first, ("full", "split"), strict=False):
        assert {key: row[key] for key in ("coverage", "set_size")} == splits[0][name]
    made_up = [
        {"full": {"coverage": 0.9, "set_size": 1.0}, "split": {"coverage": 1.0, "set_size": 2.0}},
        {"full": {"coverage": 1.0, "set_size": 3.0}, "split": {"coverage": 1.0, "set_size": 2.0}},
    ]
    assert say_splits(made_up).replace("\N{NO-BREAK SPACE}", " ") == (
        "full CP covers 95 % with 2 labels, split CP covers 100 % with 2 labels on average; full CP has the smaller "
        "sets in 1 of 2"
    )


def test_importing_loads_nothing_optional():
    heavy = ["matplotlib", "dask", "typer", "jinja2"]  # scikit-learn itself loads pandas and rich where they are
    code = f"import sys, exactcp; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_the_readme_starts_with_the_two_commands():
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks[0].strip().endswith("exactcp demo")
    assert blocks[1].strip().endswith("-m pytest")
    assert all(len(block.strip().splitlines()) == 1 for block in blocks[:2])


def test_the_readmes_python_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_public_names():
    for name in exactcp.__all__:
        assert hasattr(exactcp, name)
    for name in measures.__all__:
        assert getattr(measures, name).__doc__, name


@pytest.mark.parametrize(
    "module", ["exactcp.counting", "exactcp.geometry", "exactcp.measures", "exactcp.measures.neighbours.kernels"]
)
def test_packages_explain_themselves(module):
    import importlib

    assert len(importlib.import_module(module).__doc__.splitlines()) >= 5


def test_the_page_about_the_command_line_names_options_that_exist_and_its_python_runs():
    import typer

    text = (ROOT / "docs" / "command-line.md").read_text()
    group = typer.main.get_command(app)
    shared = {option for parameter in group.params for option in parameter.opts} | {"--help"}
    for name, section in re.findall(
        r"^## `exactcp ([\w-]+).*?`$(.*?)(?=^## |\Z)", text, flags=re.DOTALL | re.MULTILINE
    ):
        own = {option for parameter in group.commands[name].params for option in parameter.opts}
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", section))
        beside = group.commands["predict"].params if name == "fit" else []  # whose models predict uses
        assert named <= own | shared | {option for parameter in beside for option in parameter.opts}, name
        if name in ("predict", "fit", "inspect", "drift"):  # and none is left out
            assert {option for option in own if option.startswith("--")} - named <= {"--jobs", "--separator"} | {
                "--measure", "--option", "--seed", "--output", "--confidence", "--decimal",
            }  # fmt: skip
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, "command-line.md", "exec"), {})


def test_the_help_waits_for_nothing_heavy():
    heavy = "{'numba', 'sklearn', 'scipy', 'pandas', 'dask', 'distributed'}"
    code = f"import sys, exactcp.cli; print(sorted({heavy} & {{*sys.modules}}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_names_are_imported_when_they_are_asked_for():
    code = (
        "import exactcp; assert 'FullConformalClassifier' in dir(exactcp); exactcp.FullConformalClassifier; "
        "exactcp.measures.KNN; print(hasattr(exactcp, 'nonsense'), exactcp.__version__); "
        "import sys, exactcp.inspection; print('matplotlib' in sys.modules); del exactcp, sys; "
        "from exactcp import *; print(sorted(name for name in dir() if name[0] != '_'))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = sorted(name for name in exactcp.__all__ if name[0] != "_")
    assert found.stdout.splitlines() == [f"False {exactcp.__version__}", "False", f"{names}"]
