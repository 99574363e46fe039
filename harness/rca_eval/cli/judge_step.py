"""`rca-eval job judge`: the judge's step of an eval Job, behind the scoring. It never fails the Job."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from rca_eval.contract import ContractError, Reason, canonical, one_line, parse_scorecard
from rca_eval.contract.scorecard import SCORECARD_LIMIT
from rca_eval.job.commands import terminate
from rca_eval.job.files import read_bytes
from rca_eval.judge import Endpoint, Limits, judge


def judge_step(env: Mapping[str, str] = os.environ) -> int:
    """Always 0. Where it says no number of tokens, it may have used all of them. The judgement is one line on stdout, its summary the termination message; or what was wrong.

    `RCA_EVAL_SCORECARD_FILE` is the scorecard, `RCA_JUDGE_{ENDPOINT,MODEL,KEY,TOKENS,SECONDS}` say whom to ask, with
    what limits.
    """
    model = env.get("RCA_JUDGE_MODEL", "")
    try:
        said = _judged(env, model)
    except ContractError as error:
        said = {**_failed(model, f"{error.reason}: {error.message}"), "tokens": 0}
    except Exception as error:  # whatever it is, it has no say in the verdict
        said = _failed(model, f"{type(error).__name__}: {error}")
    terminate({"judge": said}, env)
    return 0


def _judged(env: Mapping[str, str], model: str) -> dict[str, object]:
    path = Path(env.get("RCA_EVAL_SCORECARD_FILE", ""))
    data = read_bytes(path, what="the scorecard", limit=SCORECARD_LIMIT, reason=Reason.SCORECARD_INVALID)
    endpoint = Endpoint(env.get("RCA_JUDGE_ENDPOINT", ""), model, env.get("RCA_JUDGE_KEY", "").strip())
    limits = Limits(int(env.get("RCA_JUDGE_TOKENS", "50000")), float(env.get("RCA_JUDGE_SECONDS", "300")))
    found = judge(parse_scorecard(data, source=str(path)), endpoint, limits)
    sys.stdout.write(canonical(found).decode() + "\n")
    sys.stdout.flush()
    return found.summary()


def _failed(model: str, text: str) -> dict[str, object]:
    shown = one_line(text)[:600]
    sys.stderr.write(f"{shown}\n")
    return {"model": model, "judged": 0, "skipped": 0, "message": shown}
