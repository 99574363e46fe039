"""A report as JUnit XML: a suite for each arm with its incidents as cases, and one for the gate with its checks.

A lost incident is a `<failure>`; one without a ranking (Error, Timeout, Missing) an `<error>`; one that was missed
before too is `<skipped>`: known, and no news. The gate's own suite keeps a run red that loses no incident and fails
for another reason. There is no time stamp: equal evidence gives equal bytes.
"""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rca_eval.report.document import CheckRow, Fact, IncidentRow, LostRow, Report
from rca_eval.report.lines import margin_moved, rank_moved, what_now, why_lines
from rca_eval.report.text import moved, number, term

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
NO_TIME = "0"


def report_junit(report: Report) -> str:
    """Valid XML 1.0 for any report: what XML cannot hold was replaced when the report was built."""
    suites = Element("testsuites", name="rca-eval")
    verdict = _suite(suites, "gate" if report.checks else "comparison", report.run)
    if report.checks:
        for check in report.checks:
            _check(verdict, check)
    else:
        _verdict(verdict, report)
    lost = {(row.arm, row.id): row for row in report.lost}
    for arm in dict.fromkeys(row.arm for row in report.incidents):
        suite = _suite(suites, arm, report.run)
        for row in report.incidents:
            if row.arm == arm:
                _incident(suite, row, lost.get((row.arm, row.id)))
    text = SubElement(verdict, "system-out")
    text.text = "\n".join(
        [f"{report.verdict.verdict}: {report.verdict.message}", *why_lines(report), *_notes(report)]
    )
    for suite in suites:
        _count(suite)
    for name in ("tests", "failures", "errors", "skipped"):
        suites.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    indent(suites)
    return HEAD + tostring(suites, encoding="unicode") + "\n"


def _notes(report: Report) -> Sequence[str]:
    return report.context.caveats


def _suite(parent: Element, name: str, facts: Sequence[Fact]) -> Element:
    suite = SubElement(parent, "testsuite", name=name)
    properties = SubElement(suite, "properties")
    for fact in facts:
        SubElement(properties, "property", name=fact.name, value=fact.value)
    return suite


def _check(suite: Element, check: CheckRow) -> None:
    name = " ".join(
        part for part in (check.name, check.arm, f"against {check.against}" if check.against else "") if part
    )
    case = SubElement(suite, "testcase", name=name, classname="gate", time=NO_TIME)
    match check.result:
        case "Failed":
            SubElement(case, "failure", type=check.name, message=check.message)
        case "Inconclusive" | "Error":
            SubElement(case, "error", type=check.result, message=check.message)
        case "NotApplicable":
            SubElement(case, "skipped", message=check.message)
        case _:
            SubElement(case, "system-out").text = check.message


def _verdict(suite: Element, report: Report) -> None:
    case = SubElement(suite, "testcase", name="comparison", classname="comparison", time=NO_TIME)
    if report.verdict.exit_code:
        SubElement(case, "failure", type=report.verdict.reason, message=report.verdict.message)


def _incident(suite: Element, row: IncidentRow, lost: LostRow | None) -> None:
    case = SubElement(
        suite,
        "testcase",
        name=row.id,
        classname=row.fault_class,
        time=number(row.seconds, 6) if row.seconds else NO_TIME,
    )
    expected = ", ".join(row.expected)
    said = (
        f"rank {rank_moved(row)}; margin {margin_moved(row)}; expected {expected}; now first {what_now(row)}"
    )
    if row.outcome in ("Kept", "Fixed"):
        SubElement(case, "system-out").text = f"{row.outcome}: {said}"
    elif row.status != "Ranked":
        SubElement(case, "error", type=row.status, message=what_now(row)).text = said
    elif row.outcome == "StillMissed":
        SubElement(case, "skipped", message=f"missed in the reference too: {said}")
    else:
        SubElement(case, "failure", type="Lost", message=said).text = _details(lost)


def _details(lost: LostRow | None) -> str:
    if lost is None:
        return ""
    rows = [*lost.terms, *([lost.total] if lost.total else [])]
    lines = [
        f"{one.term}: {moved(term(one.cause_was) if one.cause_was else None, term(one.cause))} | "
        f"{moved(term(one.winner_was) if one.winner_was else None, term(one.winner))}"
        for one in rows
    ]
    head = [f"term: {lost.cause} | {lost.winner}"] if lines else []
    return "\n".join(
        [*head, *lines, *(f"would bring it back: {one.text}" for one in lost.changes if one.restores)]
    )


def _count(suite: Element) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
