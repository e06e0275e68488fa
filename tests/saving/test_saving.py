"""Saved models: equal afterwards, refused where they are damaged, hostile or of another format, whole or not there."""

from __future__ import annotations

import io
import json
import pickle
import re
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from lightgbm import Booster, LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree._tree import Tree
from sklearn.utils.fixes import parse_version

import exactcp
from exactcp import (
    FullConformalClassifier,
    FullConformalRegressor,
    SplitConformalClassifier,
    _estimator,
    saving,
)
from exactcp.measures import KDE, KNN, ModelScore
from exactcp.saving import describe
from exactcp.taxonomies import bins
from public_estimators import LABELS, X, learn, make, public_classes
from saved_models import SAVED, SAVED_HERE, answers_of

io_extra = pytest.importorskip("skops.io")


def own_metric(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).sum())


class OwnMeasure(KNN):
    """A measure of the user's."""


def own_predictor(measure: Any = None, **what: Any) -> FullConformalClassifier:
    return FullConformalClassifier(measure or KNN(2, **what)).fit(X, LABELS)


def split(model: Any, y: Any = LABELS == 1) -> SplitConformalClassifier:
    return SplitConformalClassifier(model, random_state=0).fit(X, y)


LIGHT = LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1)


class TestTrust:
    @pytest.mark.parametrize(
        ("fit", "things"),
        [
            (lambda: own_predictor(metric=own_metric), [own_metric]),
            (lambda: own_predictor(OwnMeasure(2)), [OwnMeasure]),
            # whose positions scikit-learn does not check
            (lambda: split(RandomForestClassifier(2, random_state=0)), [Tree]),
            (lambda: split(HistGradientBoostingClassifier(max_iter=2)), [TreePredictor]),
            (lambda: split(LIGHT, LABELS), [OrderedDict, Booster, LGBMClassifier]),
        ],
    )
    def test_what_is_not_trusted_is_named_and_loaded_if_the_user_trusts_it(
        self, fit: Callable[[], Any], things: list[Any], path: Path
    ) -> None:
        predictor, names = fit(), [f"{thing.__module__}.{thing.__name__}" for thing in things]
        with pytest.warns(UserWarning, match="holds what exactcp does not trust in files: load it with ") as warned:
            exactcp.save(predictor, path)
        assert [(one.filename, str(one.message).startswith(str(path))) for one in warned] == [(__file__, True)]
        call = str(warned[0].message).partition("load it with ")[2].removesuffix(".")
        refusal = f"holds {', '.join(names)}, which exactcp does not trust: nothing was loaded."
        with pytest.raises(ValueError, match=rf"{re.escape(refusal)}.*{re.escape(f'trusted={names!r})')}"):
            exactcp.load(path)
        text = names[0] if len(names) == 1 else names
        for again in (eval(call), *(exactcp.load(path, trusted=trusted) for trusted in (things, names, text))):
            np.testing.assert_array_equal(again.predict_p(X), predictor.predict_p(X))

    @pytest.mark.parametrize(
        ("trusted", "sentence"),
        [
            *((one, r"is not a list: expected the names, classes or functions") for one in (True, 3, None)),
            ([3], r"trusted has 3: expected classes, functions"),
        ],
    )
    def test_what_is_no_list_of_names(self, trusted: Any, sentence: str, path: Path) -> None:
        with pytest.raises(TypeError, match=sentence):
            exactcp.load(path, trusted=trusted)

    def test_which_classes_are_ours(self) -> None:
        ours = ["exactcp.measures.neighbours._classification.KNN", "exactcp.geometry.screen.Screen"]
        others = [
            "exactcp.taxonomies.bins",  # a function
            "exactcp.measures.KNN",  # not where it is defined
            "exactcp.measures._contract.np",
            "exactcp.measures._contract.Enum",  # imported there
            "exactcp.experiments.worker.WorkerProcess",
            "exactcp.cli.main",
            "exactcp._jit.os",
            "exactcp.measures._nothing.KNN",
            "exactcp.KNN",
            "exactcp..measures.KNN",
            "exactcp.measures.neighbours._classification.KNN.fit",
            "exactcpmeasures.x.KNN",
            "os.system",
        ]
        assert [name for name in ours + others if saving._is_ours(name)] == ours

    def test_classes_that_are_trusted_do_nothing_outside_of_memory(self) -> None:
        source = Path(exactcp.__file__).parent
        rooms = [source / f"{room}{ending}" for room in saving.TRUSTED_ROOMS for ending in ("", ".py")]
        files = [file for room in rooms for file in ([room] if room.is_file() else room.rglob("*.py"))]
        assert len(files) > 100
        acts = re.compile(
            r"\b(open|eval|exec|__import__|compile|unlink|rmtree)\(|\bsubprocess\b|pickle\.load|os\.system"
        )
        assert not [(file.name, found[0]) for file in files if (found := acts.search(file.read_text()))]


# -- files that are damaged or hostile ---------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "model.skops"
    exactcp.save(own_predictor(), place)
    return place


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def rewrite(path: Path, content: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name, data in content.items():
            file.writestr(name, data)


Change = Callable[[dict[str, bytes]], dict[str, bytes]]  # of a file's members


class Marker:
    """Creates a file when it is unpickled, or called, or made."""

    def __init__(self, place: str = "") -> None:
        if place:
            Path(place).touch()

    def __reduce__(self) -> Any:
        return Path.touch, (Path("marker"),)


@pytest.fixture(autouse=True)
def nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Look for the marker in a folder of the test's own."""
    folder = tmp_path / "working"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield
    assert not (folder / "marker").exists()


def called(name: str, *args: str, loader: str = "ConstructorFromReduceNode") -> dict[str, Any]:
    """Return a part of a schema that would call something."""
    module, _, attribute = name.rpartition(".")
    texts = [
        {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(a)} for a in args
    ]
    content = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": texts}
    return {"__class__": attribute, "__module__": module, "__loader__": loader, "content": content}


def with_arrays(write: Callable[[Any], Any]) -> Change:
    buffer = io.BytesIO()
    write(buffer)
    made = buffer.getvalue()
    return lambda content: {name: made if name.endswith(".npy") else data for name, data in content.items()}


def with_schema(change: Callable[[Any], Any]) -> Change:
    return lambda content: {**content, "schema.json": json.dumps(change(json.loads(content["schema.json"]))).encode()}


def without(*endings: str) -> Change:
    return lambda content: {name: data for name, data in content.items() if not name.endswith(endings)}


def with_member(name: str, data: bytes) -> Change:
    return lambda content: {**content, name: data}


def of_format(number: Any) -> Change:
    return with_member("exactcp.json", json.dumps({"format": number, "exactcp": "9.8.7"}).encode())


TERABYTES = {"descr": "<f8", "fortran_order": False, "shape": (10**14,)}
PICKLED = np.array([Marker()], dtype=object)
NOT_WRITTEN = "has not written: expected a saved model"
ANOTHER = "saved by exactcp 9.8.7 in format {}, and exactcp .* {}"
SPOILT = {
    **{
        f"a member {name}": (with_member(name, pickle.dumps(Marker())), "which exactcp.save does not write: it is ref")
        for name in ("model.pkl", "../marker", "/marker", "a/b.npy", "x.npy/", "schema.json.py", "ü.npy")
    },
    "pickled objects": (
        with_arrays(lambda file: np.save(file, PICKLED, allow_pickle=True)),
        "damaged.*allow_pickle=False",
    ),
    "larger arrays": (with_arrays(lambda file: np.lib.format.write_array_header_1_0(file, TERABYTES)), "damaged"),
    "no arrays": (without(".npy"), "damaged"),
    "no schema": (without("schema.json"), NOT_WRITTEN),
    "no header": (without("exactcp.json"), NOT_WRITTEN),
    "another archive": (lambda _: {"a.npy": b""}, "zip archive that exactcp.save has not written"),
    "a schema without an end": (with_member("schema.json", b"[" * 200_000), "damaged.*RecursionError"),
    "an empty schema": (with_schema(lambda _: {}), "is damaged|holds"),
    "a listed schema": (with_schema(lambda _: []), "is damaged|holds"),
    **{
        f"a schema with {part}": (with_schema(lambda schema, part=part: {**schema, **part}), "is damaged|holds")
        for part in (
            {"protocol": 10**6},
            {"protocol": "2"},
            {"__loader__": "NoSuchNode"},
            {"content": 3},
            {"__class__": ["list"]},
            {"__class__": {"a": 1}},
        )
    },
    "a tuple": (
        with_schema(lambda schema: {**called("builtins.tuple", "a")["content"], "protocol": schema["protocol"]}),
        "holds a tuple: expected a predictor or measure",
    ),
    **{
        f"the header {data}": (with_member("exactcp.json", data), "damaged")
        for data in (b"", b"[]", b"{}", b"\xff", b"3")
    },
    "a later format": (of_format(99), ANOTHER.format(99, "Update exactcp")),
    "an earlier format": (of_format(0), ANOTHER.format(0, "Fit and save it anew")),
    "no format": (of_format("x"), ANOTHER.format("x", "Fit")),
}


CUT = r"model.skops is damaged, or no file of exactcp.save.*Save it anew"
SPOILT_BYTES = {
    "a text": (lambda _: b"nothing", CUT),
    "a pickle": (lambda _: pickle.dumps(Marker()), r"model.skops is damaged, or no file of exactcp.save"),
    "a file of skops itself": (lambda _: io_extra.dumps(own_predictor()), "that exactcp.save has not written"),
    **{
        f"{share} of it": (lambda data, share=share: data[: int(share * len(data))], CUT)
        for share in (0.0, 0.2, 0.5, 0.9, 0.999)
    },
}


@pytest.mark.parametrize("name", [*SPOILT, *SPOILT_BYTES])
def test_a_spoilt_file_is_refused(name: str, path: Path) -> None:
    if name in SPOILT:
        spoil, sentence = SPOILT[name]
        rewrite(path, spoil(members(path)))
    else:
        spoil, sentence = SPOILT_BYTES[name]
        path.write_bytes(spoil(path.read_bytes()))
        with pytest.raises(ValueError, match=sentence):
            describe(path)
    with pytest.raises((ValueError, TypeError), match=sentence):
        exactcp.load(path)


def test_the_marker_of_these_tests_would_be_left() -> None:
    pickle.loads(pickle.dumps(Marker()))
    Path("marker").unlink()


class TestHostileFiles:
    def test_a_member_twice(self, path: Path) -> None:
        with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as file:
            file.writestr("schema.json", "{}")
        with pytest.raises(ValueError, match="holds 'a member twice'"):
            exactcp.load(path)

    @pytest.mark.parametrize(
        "part",
        [
            called("os.system", "touch marker"),
            called("builtins.eval", "open('marker', 'w')"),
            called("pathlib.Path.touch", "marker"),
            called("subprocess.Popen", "touch", loader="ObjectNode"),
            called(f"{__name__}.Marker", "marker"),
            called("exactcp._replacing.replacing", "marker"),
            called("exactcp.experiments.measurements.Journal", "marker"),
            called("numpy.save", "marker", loader="FunctionNode"),
        ],
        ids=lambda part: f"{part['__module__']}.{part['__class__']}",
    )
    @pytest.mark.parametrize("whole", [True, False])
    def test_a_type_that_is_not_trusted(self, path: Path, part: dict[str, Any], whole: bool) -> None:
        def change(schema: dict[str, Any]) -> Any:
            if whole:
                return {**part, "protocol": schema["protocol"], "_skops_version": schema["_skops_version"]}
            schema["content"]["content"]["measure"] = part
            return schema

        rewrite(path, with_schema(change)(members(path)))
        with pytest.raises(
            ValueError, match=rf"holds {part['__module__']}.{part['__class__']}, which exactcp does not trust"
        ):
            exactcp.load(path)

    def test_a_bomb(self, path: Path) -> None:
        content = members(path)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, data in content.items():
                file.writestr(name, data)
            with file.open("bomb.npy", "w", force_zip64=True) as member:
                for _ in range(300):
                    member.write(bytes(2**20))
        with pytest.raises(ValueError, match=r"would grow to 31[0-9],... ?,?[0-9]* bytes"):
            exactcp.load(path)

    def test_bits_that_flipped(self, path: Path) -> None:
        """Every byte of the members' data is under a checksum."""
        before, data = own_predictor().predict_p(X), path.read_bytes()
        rng = np.random.default_rng(0)
        refused = 0
        for position in rng.integers(0, len(data), 60):
            path.write_bytes(data[:position] + bytes([data[position] ^ 0x10]) + data[position + 1 :])
            try:
                again = exactcp.load(path)
            except ValueError:
                refused += 1
            else:  # a byte that says nothing, such as a time
                np.testing.assert_array_equal(again.predict_p(X), before)
        assert refused > 30


class TestVersions:
    def test_a_file_of_another_version_and_the_same_format(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        predictor = own_predictor()
        for module in (saving, _estimator):
            monkeypatch.setattr(module, "__version__", "0.1.99")
        exactcp.save(predictor, tmp_path / "other")
        monkeypatch.undo()
        again = exactcp.load(tmp_path / "other")  # without a warning
        np.testing.assert_array_equal(again.predict_p(X), predictor.predict_p(X))

    @pytest.mark.parametrize("version", sorted(folder.name for folder in SAVED_HERE.iterdir()))
    @pytest.mark.parametrize("name", SAVED)
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")  # of scikit-learn's own
    def test_files_of_releases_are_read(self, version: str, name: str) -> None:
        """Files of this format must be readable; who raises `STATE_FORMAT` moves the files, and says so."""
        path = SAVED_HERE / version / f"{name}.skops"
        written = json.loads(members(path)["exactcp.json"])["sklearn"]
        if name == "split" and parse_version(sklearn.__version__) < parse_version(written):
            pytest.skip("it holds a model of a later scikit-learn, which does not promise to be read by an earlier one")
        again = exactcp.load(path)
        expected = np.load(SAVED_HERE / version / f"{name}.npy")
        np.testing.assert_allclose(answers_of(name, again), expected, rtol=1e-9)  # on other processors, the last digits
        np.testing.assert_allclose(answers_of(name, SAVED[name]()), expected, rtol=1e-9)


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_pickles_of_other_formats_are_refused_and_of_other_versions_told(cls, monkeypatch):
    estimator = learn(make(cls))
    monkeypatch.setattr(_estimator, "__version__", "99.1")
    of_another_version = pickle.dumps(estimator)
    monkeypatch.setattr(_estimator, "STATE_FORMAT", 99)
    of_another_format = pickle.dumps(estimator)
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"was stored by exactcp 99.1, and exactcp .* reads it: .* Fit it anew"):
        pickle.loads(of_another_format)
    with pytest.warns(InconsistentVersionWarning) as warned:
        again = pickle.loads(of_another_version)
    assert vars(again).keys() == vars(estimator).keys()
    own = f"this {cls.__name__} was pickled by exactcp 99.1, and exactcp {exactcp.__version__} reads it: nothing is"
    assert any(str(one.message).startswith(own) for one in warned)
    assert {one.filename for one in warned} == {__file__}
    said_nothing = f"this {cls.__name__} was stored by a version of exactcp that did not say"
    with pytest.raises(ValueError, match=said_nothing):
        make(cls).__setstate__(vars(estimator).copy())


# -- writing -----------------------------------------------------------------------------------------------------------


def with_generator() -> Any:
    model = LogisticRegression().fit(X, LABELS)
    model.generator_ = (i for i in range(3))
    return own_predictor(ModelScore(FrozenEstimator(model)))


BY_CLASS = LogisticRegression(class_weight={True: 1, False: 2})
RAW = (FullConformalClassifier, FullConformalRegressor, KNN, KDE, SplitConformalClassifier)
UNSAVED = [
    *((cls, NotFittedError, rf"this {cls.__name__} is not fitted, so that there is nothing to save") for cls in RAW),
    (lambda: FullConformalClassifier, TypeError, "exactcp.save got the class FullConformalClassifier"),
    (lambda: {"a": 1}, TypeError, "exactcp.save got a dict"),
    (lambda: bins("age", [3]), TypeError, "exactcp.save got a Bins"),
    (lambda: None, TypeError, "exactcp.save got a NoneType"),
    (lambda: LogisticRegression().fit(X, LABELS), TypeError, "this LogisticRegression holds nothing of exactcp"),
    (lambda: own_predictor(metric=lambda a, b: 1.0), TypeError, "<lambda>, which no module names.*use no lambda"),
    (lambda: split(BY_CLASS), TypeError, r"holds a dict whose keys a file cannot tell apart \(true, false\)"),
    (with_generator, TypeError, "this FullConformalClassifier holds something that cannot be saved"),
]


class TestWriting:
    def test_text_is_a_path(self, tmp_path: Path) -> None:
        exactcp.save(own_predictor(), str(tmp_path / "a"))
        assert isinstance(exactcp.load(str(tmp_path / "a")), FullConformalClassifier)
        assert sorted(one.name for one in tmp_path.iterdir()) == ["a", "working"]

    @pytest.mark.parametrize("path", [None, 3, b"model", io.BytesIO()])
    def test_what_is_no_path(self, path: Any) -> None:
        for act in (lambda: exactcp.save(own_predictor(), path), lambda: exactcp.load(path)):
            with pytest.raises(TypeError, match=r"expected the name of a file, such as 'model.skops'"):
                act()

    @pytest.mark.parametrize(("fit", "error", "sentence"), UNSAVED)
    def test_what_cannot_be_saved(self, fit: Any, error: Any, sentence: str, tmp_path: Path) -> None:
        thing = fit()
        with pytest.raises(error, match=sentence):
            exactcp.save(thing, tmp_path / "model")
        assert not (tmp_path / "model").exists()

    def test_places_that_are_not_there_or_are_folders(self, tmp_path: Path) -> None:
        for place, other, error in (
            (tmp_path, tmp_path, IsADirectoryError),
            (tmp_path / "none" / "model", tmp_path / "model", FileNotFoundError),
        ):
            with pytest.raises(error):
                exactcp.save(own_predictor(), place)
            with pytest.raises(error, match="a saved model cannot be read"):
                exactcp.load(other)

    @pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
    @pytest.mark.parametrize("nth", [0, 1, 5, saving.HEADER])
    def test_what_was_there_stays_if_saving_fails(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, nth: int | str, error: BaseException
    ) -> None:
        before, calls = path.read_bytes(), iter(range(100))
        write = zipfile.ZipFile.writestr

        def failing(file: zipfile.ZipFile, *args: Any) -> None:
            if nth in (next(calls), args[0]):
                raise error
            write(file, *args)

        monkeypatch.setattr(zipfile.ZipFile, "writestr", failing)
        with pytest.raises(type(error)):
            exactcp.save(FullConformalClassifier(KNN(3)).fit(X, LABELS), path)
        assert path.read_bytes() == before
        assert sorted(one.name for one in path.parent.iterdir()) == ["model.skops", "working"]


@pytest.mark.parametrize("act", [lambda: exactcp.save(own_predictor(), "x"), lambda: exactcp.load("x")])
def test_skops_is_not_there_or_has_known_holes(act: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["skops"], "__version__", "0.11.dev3")
    with pytest.raises(ImportError, match=r"needs skops 0.15, and 0.11.dev3 is installed: run .*exactcp\[io\]"):
        act()
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"needs skops, which is not installed: run .*pip install .*exactcp\[io\]"):
        act()


def test_a_change_meanwhile_is_not_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor = own_predictor()
    before, dump = predictor.predict_p(X), io_extra.dump

    def changing(one: Any, file: Any) -> None:
        predictor.unlearn([0])
        dump(one, file)

    monkeypatch.setattr(io_extra, "dump", changing)
    exactcp.save(predictor, tmp_path / "model")
    np.testing.assert_array_equal(exactcp.load(tmp_path / "model").predict_p(X), before)
    assert predictor.n_features_in_ == 2


def test_notes_are_kept_beside_a_predictor(tmp_path):
    path = tmp_path / "model.skops"
    notes = {"columns": ["x", "z"], "unit": "kg", "table": {"n": 3, "none": None}}
    exactcp.save(own_predictor(), path, notes=notes)
    told = describe(path)
    assert told["notes"] == notes
    assert (told["exactcp"], told["format"]) == (exactcp.__version__, saving.STATE_FORMAT)
    assert told.keys() >= {"numpy", "sklearn", "skops"}
    assert told["predictor"].endswith("FullConformalClassifier")
    assert isinstance(exactcp.load(path), FullConformalClassifier)
    exactcp.save(own_predictor(), path)
    assert describe(path)["notes"] is None


@pytest.mark.parametrize("notes", [{"when": np.arange(2)}, {"x": float("nan")}])
def test_notes_that_json_does_not_take(notes, tmp_path):
    with pytest.raises((TypeError, ValueError), match="notes hold something that JSON does not"):
        exactcp.save(own_predictor(), tmp_path / "model.skops", notes=notes)
    assert not (tmp_path / "model.skops").exists()
