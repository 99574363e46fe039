"""Reports: the same ids and numbers in every format, safe whatever the words of others are, and bounded in size."""

import json
import re
from functools import cache
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rca_testing import report_cases
from rich.cells import cell_len

from rca_eval.contract import Engine
from rca_eval.gate import GatePolicy, evaluate
from rca_eval.report.build import Sources, gate_report
from rca_eval.report.context import BY_CONSTRUCTION, small_sets
from rca_eval.report.html import report_html
from rca_eval.report.markdown import LINES, MARKER, code, plain, report_markdown
from rca_eval.report.render import ReportFormat, rendered
from rca_eval.report.text import margin

FORMATS = tuple(ReportFormat)
RUNS = tuple(report_cases.RUNS)
ID = re.compile(r"GT-0[0-9]")
MOVED = re.compile(r"([+-][0-9]\.[0-9]{4}) (?:->|&gt;|-&gt;) ([+-][0-9]\.[0-9]{4})")
HOSTILE = (
    "</style></title><script>alert(1)</script>",
    "]]>&amp;<![CDATA[<x onerror=alert(1)>",
    "| a | b |\n## heading\n<!-- x -->",
    "`code` ``more`` @team https://evil.example www.evil.example $x$ [l](javascript:1)",
    "{{ 7*7 }}{% raw %}{# c #}",
    "\x00\x07\x1b[2J\x9b31m\u202egnihtemos\u2066\ufeff\uffff",
    "[bold red]:boom:[/bold red] \U0001f4a5 \u4f60\u597d \\ ' \"",
    "x" * 3000,
)


@cache
def text(run: str, form: ReportFormat) -> str:
    return rendered(form, report_cases.report(run), report_cases.verdict(run))


def words(source: str) -> str:
    return " ".join(source.split())


def unescaped(form: ReportFormat, source: str) -> str:
    """The text as a reader sees it: entities and escapes resolved, lines joined."""
    if form is ReportFormat.HTML:
        reader = Reader()
        reader.feed(source)
        return words(" ".join(reader.texts))
    if form is ReportFormat.JUNIT:
        values = [
            value
            for one in ElementTree.fromstring(source).iter()
            for value in (one.text or "", *one.attrib.values())
        ]
        return words(" ".join(values))
    if form is ReportFormat.MARKDOWN:
        return words(re.sub(r"\\(.)", r"\1", source).replace("<br>", " ").replace("&lt;", "<"))
    if form is ReportFormat.JSON:
        return words(" ".join(strings(json.loads(source))))
    return words(source)


def strings(value) -> list[str]:
    match value:
        case dict():
            return [text for one in value.values() for text in strings(one)]
        case list():
            return [text for one in value for text in strings(one)]
        case str():
            return [value]
    return []


class Reader(HTMLParser):
    """Elements, attributes and visible text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("run", RUNS)
def test_every_format_says_the_verdict_the_why_and_the_caveats(run, form):
    report, said = report_cases.report(run), unescaped(form, text(run, form))
    assert report.verdict.message in said
    if report.why.sentence:
        assert report.why.sentence in said
    assert small_sets(9) in said
    assert BY_CONSTRUCTION in said
    assert "exam and pupil come from one hand" in said


@pytest.mark.parametrize("form", [form for form in FORMATS if form is not ReportFormat.JSON])
@pytest.mark.parametrize("run", RUNS)
def test_the_lost_ids_and_their_margins_are_the_same_in_every_format(run, form):
    report, said = report_cases.report(run), unescaped(form, text(run, form))
    wanted = {(row.id, margin(row.margin_was), margin(row.margin_now)) for row in report.lost}
    found = set()
    for row in report.lost:
        for match in re.finditer(re.escape(row.id), said):
            near = MOVED.search(said, match.end())
            if near:
                found.add((row.id, *near.groups()))
    assert wanted <= found
    assert len(wanted) == {"passed": 0, "two lost": 2, "nine lost": 9}[run]


@pytest.mark.parametrize("run", RUNS)
def test_json_holds_the_verdicts_own_fields_at_its_top_and_the_report_beside_them(run):
    document = json.loads(text(run, ReportFormat.JSON))
    verdict = report_cases.verdict(run).plain()
    assert {name: document[name] for name in verdict} == json.loads(json.dumps(verdict))
    assert document["report"] == json.loads(json.dumps(report_cases.report(run).plain()))
    assert [row["id"] for row in document["report"]["lost"]] == [
        row.id for row in report_cases.report(run).lost
    ]


def test_the_blocks_of_a_table_come_in_the_order_in_which_they_are_read():
    labels = [
        line.split()[0]
        for line in text("two lost", ReportFormat.TABLE).splitlines()
        if re.match(r"[A-Z]", line)
    ]
    assert labels == ["FAILED", "WHY", "LOST", "NEAR", "MOVED", "CHECKS", "CONTEXT", "RUN", "NEXT"]


@pytest.mark.parametrize("run", RUNS)
def test_a_table_fits_80_columns_and_has_no_blanks_at_the_ends_of_lines(run):
    lines = text(run, ReportFormat.TABLE).splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)


def test_junit_has_a_case_for_each_incident_of_each_arm_with_its_class_and_the_checks_of_the_gate():
    root = ElementTree.fromstring(text("two lost", ReportFormat.JUNIT))
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["gate", "LivePath", "ScorerOnly"]
    live = suites["LivePath"]
    assert (live.get("tests"), live.get("failures"), live.get("errors")) == ("9", "2", "0")
    failed = [case for case in live.findall("testcase") if case.find("failure") is not None]
    assert [(case.get("name"), case.get("classname")) for case in failed] == [
        ("GT-03-bad-deploy-archives-api", "deploy/config"),
        ("GT-07-bad-commit-web", "deploy/config"),
    ]
    assert "would bring it back: the chg term is gone" in failed[0].find("failure").text
    assert int(root.get("failures")) == sum(int(suite.get("failures")) for suite in suites.values())
    names = {one.get("name") for one in live.find("properties")}
    assert {"revision", "dataset", "baseline", "modes", "engine", "evidence"} <= names


@pytest.mark.parametrize("status", ["Error", "Timeout", "Missing"])
def test_an_incident_without_a_ranking_is_an_error_in_junit_and_never_a_pass(
    status, make_scorecard, make_baseline
):
    card = change_row(make_scorecard(), status=status, candidates=(), rank=None, error="it broke")
    report = gate_report(card, make_baseline(), evaluate(card, make_baseline()))
    root = ElementTree.fromstring(rendered(ReportFormat.JUNIT, report, evaluate(card, make_baseline())))
    live = next(suite for suite in root if suite.get("name") == "LivePath")
    assert (live.get("errors"), live.get("failures")) == ("1", "0")
    assert live.find("testcase/error").get("message") == f"{status}: it broke"
    assert report.why.sentence.startswith(f"1 of 1 lost incidents have no ranking (1 {status})")


def test_a_run_that_fails_without_a_lost_incident_is_red_in_junit_too(make_scorecard, make_baseline):
    card = make_scorecard(seconds={"With": "40"})
    result = evaluate(card, make_baseline())
    assert result.reason == "MTTR"
    root = ElementTree.fromstring(
        rendered(ReportFormat.JUNIT, gate_report(card, make_baseline(), result), result)
    )
    assert int(root.get("failures")) >= 1
    inconclusive = evaluate(card, None)
    broken = ElementTree.fromstring(
        rendered(ReportFormat.JUNIT, gate_report(card, None, inconclusive), inconclusive)
    )
    assert int(broken.get("errors")) >= 1


def change_row(card, **changes):
    """The scorecard with the first LivePath row of With changed."""
    variants = list(card.deterministic.variants)
    arms = list(variants[2].arms)
    rows = list(arms[1].incidents)
    rows[0] = rows[0].model_copy(update=changes)
    arms[1] = arms[1].model_copy(update={"incidents": tuple(rows)})
    variants[2] = variants[2].model_copy(update={"arms": tuple(arms)})
    return card.model_copy(
        update={"deterministic": card.deterministic.model_copy(update={"variants": tuple(variants)})}
    )


def hostile(make_scorecard, make_baseline, words_of_others):
    """A report in which everything that anybody may write is `words_of_others`."""
    card = make_scorecard(lost=("GT-02", "GT-03"))
    rows = card.deterministic.variants[2].arms[1].incidents
    names = [words_of_others + str(place) for place in range(3)]
    candidates = tuple(
        one.model_copy(update={"key": key, "terms": {words_of_others: one.score}})
        for one, key in zip(rows[1].candidates, ("cause", names[0]), strict=False)
    )
    card = change_row(
        card, status="Error", error=words_of_others, candidates=(), rank=None, decision=words_of_others
    )
    variants = list(card.deterministic.variants)
    arms = list(variants[2].arms)
    changed = list(arms[1].incidents)
    changed[1] = changed[1].model_copy(
        update={"table": words_of_others, "candidates": tuple(reversed(candidates)), "evidence": tuple(names)}
    )
    arms[1] = arms[1].model_copy(update={"incidents": tuple(changed)})
    variants[2] = variants[2].model_copy(
        update={"arms": tuple(arms), "modes": {words_of_others: words_of_others}}
    )
    deterministic = card.deterministic.model_copy(
        update={
            "variants": tuple(variants),
            "revision": words_of_others,
            "dataset": card.deterministic.dataset.model_copy(update={"profile": words_of_others}),
        }
    )
    measured = card.measured.model_copy(
        update={"engine": Engine.model_construct(name=words_of_others, version=words_of_others)}
    )
    whole = card.model_copy(update={"deterministic": deterministic, "measured": measured})
    result = evaluate(whole, make_baseline())
    message = result.model_copy(update={"message": words_of_others})
    return gate_report(whole, make_baseline(), message, sources=Sources(scorecard=words_of_others)), message


@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_words_of_others_stay_words_in_every_format(place, make_scorecard, make_baseline):
    report, result = hostile(make_scorecard, make_baseline, HOSTILE[place])
    page = report_html(report)
    reader = Reader()
    reader.feed(page)
    assert not reader.tags & {"script", "img", "iframe", "a", "link", "object", "x", "form", "input"}
    assert not [
        name for name in reader.attributes if name.startswith("on") or name in ("style", "src", "href")
    ]
    if "7*7" in HOSTILE[place]:
        assert "{{ 7*7 }}" in page  # a word, and no template
    root = ElementTree.fromstring(rendered(ReportFormat.JUNIT, report, result))
    assert {one.tag for one in root.iter()} <= {
        "testsuites", "testsuite", "properties", "property", "testcase", "failure", "error", "skipped", "system-out",
    }  # fmt: skip
    json.loads(rendered(ReportFormat.JSON, report, result), parse_constant=pytest.fail)
    table = rendered(ReportFormat.TABLE, report, result)
    assert max(map(cell_len, table.splitlines())) <= 80
    for form in FORMATS:
        if form is not ReportFormat.JSON:
            assert not re.search(
                r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2066\ufeff\uffff]", rendered(form, report, result)
            )


def outside_code(markdown: str) -> str:
    """Markdown without its code spans: what could still be markup."""
    return re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", markdown)


@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_markdown_stays_a_comment_of_at_most_60_lines_with_its_mark_first(
    place, make_scorecard, make_baseline
):
    report, _ = hostile(make_scorecard, make_baseline, HOSTILE[place])
    comment = report_markdown(report)
    lines = comment.splitlines()
    assert lines[0] == MARKER
    assert len(lines) <= LINES
    bare = outside_code("\n".join(lines[1:]))
    assert set(re.findall(r"(?<!\\)<(/?[a-z]+)", bare)) <= {
        "details",
        "/details",
        "summary",
        "/summary",
        "br",
        "sub",
        "/sub",
    }
    assert not re.search(r"(?:^|[^\w\\])@\w|https?://|www\.\w|(?<!\\)\]\(", bare)
    widths = {}
    for line in lines:
        if line.startswith("|"):
            cells = len(re.findall(r"(?<!\\)\|", outside_code(line)))
            widths.setdefault(cells, line)
    assert set(widths) <= {5, 8}


@given(st.text(max_size=200))
def test_nothing_can_end_a_code_span_from_within(words_of_others):
    from rca_eval.report.text import clean  # noqa: PLC0415

    span = code(clean(words_of_others))
    fence = re.match(r"`+", span)[0]
    inner = span[len(fence) : -len(fence)]
    assert fence not in re.findall(r"`+", inner)
    assert "\n" not in span
    assert "|" not in span


@given(st.text(max_size=200))
def test_a_plain_sentence_has_no_unescaped_markup(words_of_others):
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]<#|~$&]", plain(words_of_others))


@pytest.mark.parametrize("run", RUNS)
def test_the_page_is_one_file_that_its_own_policy_lets_show(run):
    page = text(run, ReportFormat.HTML)
    reader = Reader()
    reader.feed(page)
    assert "script" not in reader.tags
    assert not reader.attributes & {"src", "href", "style"}
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert page.count("<h1>") == 1
    assert "prefers-color-scheme:dark" in page
    assert "@media print" in page


def test_the_page_shows_times_and_terms_of_what_was_lost():
    page = unescaped(ReportFormat.HTML, text("two lost", ReportFormat.HTML))
    assert "rag-chat stands before archives-api , the true cause" in page
    assert "0 s: Deploy of archives-api (archives-api@1700172800)" in page
    assert "-1801 s: Deploy of rag-chat (rag-chat@1700170999), outside the window" in page
    assert "0.3706 was 0.3600" in page


@settings(max_examples=15, deadline=None)
@given(total=st.integers(1, 80), lost=st.integers(0, 80))
def test_every_format_is_bounded_and_counts_what_it_leaves_out(total, lost, make_scorecard, make_baseline):
    ids = tuple(f"IN-{number:03d}-x" for number in range(total))
    lost = min(lost, total)
    card = make_scorecard(ids=ids, lost=ids[:lost])
    reference = make_baseline(ids=ids)
    result = evaluate(card, reference, GatePolicy(protected_incidents=()))
    report = gate_report(card, reference, result)
    assert sum(row.outcome == "Lost" for row in report.incidents) == lost
    assert len(report_markdown(report).splitlines()) <= LINES
    table = rendered(ReportFormat.TABLE, report, result)
    assert max(map(cell_len, table.splitlines())) <= 80
    live = next(
        suite
        for suite in ElementTree.fromstring(rendered(ReportFormat.JUNIT, report, result))
        if suite.get("name") == "LivePath"
    )
    assert (int(live.get("tests")), int(live.get("failures"))) == (total, lost)
    if lost > 25:
        assert f"and {lost - 25} more; --report html=FILE" in words(table)


def test_a_report_of_thousands_of_incidents_is_cut_and_says_by_how_much(make_scorecard, make_baseline):
    ids = tuple(f"IN-{number:04d}-x" for number in range(2000))
    card = make_scorecard(ids=ids, lost=ids)
    reference = make_baseline(ids=ids)
    result = evaluate(card, reference, GatePolicy(protected_incidents=()))
    report = gate_report(card, reference, result)
    assert len(report.lost) == 500
    assert "of 2000 lost the first 500 were taken apart" in report.why.sentence
    page = report_html(report)
    assert len(page) < 2_000_000
    assert "and 1770 more lost" in page
    assert len(report_markdown(report).splitlines()) <= LINES
    assert len(rendered(ReportFormat.TABLE, report, result).splitlines()) < 200


def test_without_a_baseline_the_report_still_says_what_was_missed(make_scorecard):
    card = make_scorecard(lost=("GT-03",), without_lost=("GT-03",))
    result = evaluate(card, None)
    report = gate_report(card, None, result)
    assert report.verdict.exit_code == 2
    assert [row.id[:5] for row in report.incidents if row.outcome == "StillMissed"] == ["GT-03"]
    for form in FORMATS:
        assert rendered(form, report, result)


def test_a_figure_that_is_no_number_breaks_no_format(make_scorecard, make_baseline):
    card = make_scorecard()
    row = card.deterministic.variants[2].arms[1].incidents[0]
    broken = tuple(
        one.model_copy(update={"score": "NaN", "terms": {"topo": "Infinity"}}) for one in row.candidates
    )
    card = change_row(card, candidates=broken)
    result = evaluate(card, make_baseline())
    assert result.reason == "NonFinite"
    report = gate_report(card, make_baseline(), result)
    for form in FORMATS:
        assert "NonFinite" in rendered(form, report, result) or "no finite" in rendered(form, report, result)
