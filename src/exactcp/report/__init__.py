"""One HTML page about predictions, which needs no network.

`facts` reads the frames of `predict_frame` and computes the numbers of the page at every level of its slider; `rows`
embeds the rows, exactly; `figures` draws with the displays of `exactcp.inspection`; `page` fills the template (jinja2).
"""

from exactcp.report.page import render, write_report

__all__ = ["render", "write_report"]
