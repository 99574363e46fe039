"""The record of real incidents, and MTTD, MTTA, MTTC and MTTR over it; see docs/kpis.md. Needs rca-rollout[agent]."""

from rca_eval.kpis.figures import DEFINED, PERCENTILE, Kpi, Lifecycle, Report, mean, percentile, report
from rca_eval.kpis.moments import Moment, parse_time, rfc3339
from rca_eval.kpis.store import Answer, LifecycleStore, Noted, open_lifecycles

__all__ = [
    "DEFINED",
    "PERCENTILE",
    "Answer",
    "Kpi",
    "Lifecycle",
    "LifecycleStore",
    "Moment",
    "Noted",
    "Report",
    "mean",
    "open_lifecycles",
    "parse_time",
    "percentile",
    "report",
    "rfc3339",
]
