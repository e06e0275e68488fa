"""Files in parts on the command line: where parts begin and end, what is summed, and whose last label decides."""

from __future__ import annotations

from mutants import Family, Mutant

CUT = ("cli/test_cli_cluster.py::test_answers_do_not_depend_on_how_rows_are_cut",)
SUMS = ("cli/test_cli_cluster.py::test_exact_sums_scale_as_scikit_learn_does_and_do_not_depend_on_the_order",)
SETS = ("cli/test_cli_cluster.py::test_sets_are_those_of_one_process",)

FAMILY = Family(
    tests=CUT,
    mutants={
        "the row group before a part is read, too": Mutant(
            "cli/_parts.py", "(ends > piece.start)", "(ends >= piece.start)", survives="its rows are sliced off again"
        ),
        "the row group where a part ends is not read": Mutant(
            "cli/_parts.py", "(ends - sizes < piece.stop)", "(ends < piece.stop)"
        ),
        "a part begins at its row group": Mutant(
            "cli/_parts.py", "table.slice(piece.start - skipped, ", "table.slice(0, "
        ),
        "products of halves count once": Mutant(
            "cli/_part_vectors.py", "(mixed << HALF_BITS + 1)", "(mixed << HALF_BITS)", tests=SUMS
        ),
        "sums of more than 64 bits": Mutant(
            "cli/_part_vectors.py", "SUMMED_AT_ONCE = 1024", "SUMMED_AT_ONCE = 4096 * 16", tests=SUMS
        ),
        "scaled by the first piece": Mutant(
            "cli/_part_vectors.py", "every = list(sums)", "every = list(sums)[:1]", tests=CUT
        ),
        "ties of p-values go to the first label": Mutant(
            "cli/_part_results.py", "if tied.size:", "if tied.size < 0:", tests=SETS
        ),
    },
)
