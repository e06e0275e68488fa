"""The same work by other packages: `python -m benchmarks.peers [--quick] [--page FILE]`, in an environment of its own.

`pip install -r benchmarks/peers-requirements.txt` beside exactcp. Read in this order:

- `contest`: what a contest is; `split`, `folds`, `venn_abers`, `least_squares`, `neighbours`: the contests, in each of
  which a peer is asked for what it is fastest at, with one thread; `contests`: all of them.
- `equality` compares the answers, `growth` the times against n, `validity` counts how often 9 examples cover.
- `results` runs these, `page` writes them down, `pictures` draws them.
"""
