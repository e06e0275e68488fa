"""The experiments of the founding paper, measured again: `exactcp reproduce NAME`.

Who calls whom:

- `configs` says what an experiment measures: a `Config` plans `Point` objects;
- `runner` goes through them: what the journal (`measurements`) has is not measured again, the rest is sent to a worker;
- `worker` is a process of its own, from both sides: started with its threads, ended at the timeout;
- in it, `measuring` prepares `data`, compiles, and measures;
- `lines` makes means, slopes and extrapolations; `tables` and `figures` show them beside the numbers of the `paper`.

`demo` is `exactcp demo`.
"""

from exactcp.experiments.configs import NAMES, Config, make_config
from exactcp.experiments.runner import Reproduction, reproduce

__all__ = ["NAMES", "Config", "Reproduction", "make_config", "reproduce"]
