"""Facts (a dict) become one HTML page that needs no network.

`classification_facts` and `regression_facts` make the facts of predictions: plain numbers, texts and lists, which
`json` can write. `render` draws their pictures (matplotlib) and fills the template (jinja2); `write_report` also saves
it. Each `LabelRun` or `TargetRun` is what one predictor said about the same test rows: the first is the one the page is
about, the others stand beside it.
"""

from exactcp.report.carried_targets import TargetLevels
from exactcp.report.classification import LabelRun, classification_facts
from exactcp.report.levels import TARGET_LEVELS
from exactcp.report.page import check_can_render, render, write_report
from exactcp.report.regression import TargetRun, regression_facts
from exactcp.report.rows import TestRows

__all__ = [
    "TARGET_LEVELS",
    "LabelRun",
    "TargetLevels",
    "TargetRun",
    "TestRows",
    "check_can_render",
    "classification_facts",
    "regression_facts",
    "render",
    "write_report",
]
