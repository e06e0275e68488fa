"""The experiments of the founding paper, measured again: `exactcp reproduce NAME`.

Who calls whom:

- `configs` says what an experiment measures: a `Config` plans `Point` objects (`points`);
- `runner` goes through them: what the journal knows is not measured again, the rest is sent to a worker;
- `worker_process` is this side of the worker: it starts it with its threads, and ends it at the timeout;
- `worker` is the other side, a process that prepares data (`generated`, `mnist`), compiles, and measures (`measuring`,
  `methods`);
- `journal` appends each measurement to a JSON lines file at once, and reads what an interrupted run left;
- `lines` makes means, slopes and extrapolations; `tables` and `figures` show them beside `paper`'s numbers;
- `reproduction` does all of this in order, `forecast` tells how long it will take.
"""

from exactcp.experiments.configs import NAMES, Config, make_config
from exactcp.experiments.reproduction import Reproduction, reproduce

__all__ = ["NAMES", "Config", "Reproduction", "make_config", "reproduce"]
