"""The demo: full CP is more efficient than split CP, and what is said of other divisions is what they gave."""

from __future__ import annotations


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
        assert {key: row[key] for key in ("coverage", "set_size")}.items() <= splits[0][name].items()
    made_up = [
        {"full": {"coverage": 0.9, "set_size": 1.0}, "split": {"coverage": 1.0, "set_size": 2.0}},
        {"full": {"coverage": 1.0, "set_size": 3.0}, "split": {"coverage": 1.0, "set_size": 2.0}},
    ]
    assert say_splits(made_up).replace("\N{NO-BREAK SPACE}", " ") == (
        "full CP covers 95 % with 2 labels, split CP covers 100 % with 2 labels on average; full CP has the smaller "
        "sets in 1 of 2"
    )
