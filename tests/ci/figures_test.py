#!/usr/bin/env python3
"""Tests ci/pages/figures: values out of JSON, verdicts, blocks of pages, what is refused, the script from outside, and this tree's own pages.

  figures_test.py HOPBENCH SOURCE_DIR
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest

HOPBENCH, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SCRIPT = os.path.join(SOURCE, "ci/pages/figures")
sys.dont_write_bytecode = True
os.environ.pop("HOPBENCH_ROOT", None)
loader = importlib.machinery.SourceFileLoader("figures", SCRIPT)
figures = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures", loader))
sys.modules["figures"] = figures
loader.exec_module(figures)

# The pages that quote measured figures of hopbench.
MEASURED_PAGES = ["README.md", "docs/performance.md", "docs/fidelity.md", "docs/scale.md", "docs/gate.md", "docs/reliability.md", "docs/fuzzing.md",
                  "docs/tuning.md", "docs/sixteen_workers.md", "docs/clusters.md", "docs/measured/fidelity-one-machine.md",
                  "docs/measured/fidelity-shaped-links.md", "docs/measured/vgg11-passes.md", "docs/measured/real-ranks.md", "docs/which_protocol.md"]
TOML = """pages = ["page.md"]
[[run]]
id = "fast"
command = ["measure", "it now"]
json = ["--json"]
needs = ["quiet"]
minutes = 1
[[claim]]
id = "speed"
says = "ours against theirs"
run = "fast"
kind = "ratio"
value = "/rows/way=ours/rate"
over = "/rows/way=theirs/rate"
at_least = 1.5
show = "{:.1f}x"
[[claim]]
id = "files"
says = "open files"
run = "fast"
kind = "count"
value = "/files"
at_least = 10
at_most = 10
[[claim]]
id = "seconds"
says = "its time"
run = "fast"
kind = "limit"
value = "/s"
expected = 1
at_most = 2
[[claim]]
id = "memory"
says = "how much it takes"
run = "fast"
kind = "recorded"
value = "/mib"
[[table]]
id = "ways"
run = "fast"
rows = "/rows"
columns = [{ head = "way", value = "/way" }, { head = "rate", value = "/rate", show = "{} ({least} .. {most})" }]
"""
SECOND_RUN = """[[run]]
id = "slow"
command = ["measure", "it", "slowly"]
json = ["--json"]
needs = []
minutes = 1
[[claim]]
id = "slow-files"
says = "open files"
run = "slow"
kind = "count"
value = "/files"
at_least = 10
at_most = 10
[[table]]
id = "both"
run = ["fast", "slow"]
rows = "/rows"
columns = [{ head = "way", value = "/way" }]
"""
JSON = '{"rows":[{"way":"ours","rate":[4,6,8]},{"way":"theirs","rate":[2,3,4]}],"files":10,"s":1.2,"mib":20}'
PAGE = """# Page
It is <!-- measured: speed -->?<!-- /measured --> as fast, with <!-- measured: files -->?<!-- /measured --> files in
about <!-- measured: seconds -->?<!-- /measured --> s.

<!-- measured: ways -->
<!-- /measured -->

| a | b |
|---|---|
| memory | <!-- measured: memory -->?<!-- /measured --> |

<!-- measured: runs -->
<!-- /measured -->
"""


def replaced(text, old, new):
    assert old in text, old
    return text.replace(old, new, 1)


def reading(value, **more):
    return {"value": value, "over": "", "times": "", "unit": 1.0, "show": "{}", "statistic": "median", **more}


class Fake:
    """A command that prints `json` while others take so much of the cores' time; the next call finds the next share."""

    def __init__(self, toml=TOML):
        self.figures, self.values, self.plan = figures.parse_figures(toml, "f.toml"), {}, figures.Plan()
        self.json, self.again, self.missing, self.others, self.exit_code = JSON, "", "", [0.0], 0
        self.order, self.saved, self.said = [], 0, ""

    def run(self, run):
        self.order.append(run["id"])
        printed = self.again if len(self.order) > 1 and self.again else self.json
        return figures.Ran(self.exit_code, printed, "what it said", self.others[min(len(self.order), len(self.others)) - 1])

    def judged(self):
        def save(_):
            self.saved += 1

        self.order = []
        world = types.SimpleNamespace(run=self.run, missing=lambda needs: self.missing, save=save, date="2026-11-23", commit="abcdef",
                                      machine="a machine")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            judged = figures.Judging(self.figures, self.plan, world, self.values).all()
        self.said = said.getvalue()
        return judged

    def verdicts(self):
        return [f"{each.id}: {each.verdict}" for each in self.judged()]

    def page(self, text=PAGE):
        return figures.filled("page.md", text, self.figures, self.values)


class Values(unittest.TestCase):
    def test_are_found_by_selectors_and_shown(self):
        root = json.loads('{"rows":[{"k":"a/b","n":8,"v":[1,2,3,4]},{"k":"c","n":8,"v":[1209000]}],"t":"x","z":0}')
        nested = json.loads('[{"a":{"b":"y"},"v":1},{"a":{"b":"z"},"v":2}]')
        for at, place, more, text in [
                (root, "/rows/k=a~1b,n=8/v", {"show": "{} ({q1:.2f} .. {most})"}, "2.5 (1.75 .. 4)"),
                (root, "/rows/1/v", {"show": "{:n} of {n}"}, "1 209 000 of 1"),
                (root, "/rows/*/n", {"show": "{:.1f}", "statistic": "sum"}, "16.0"),
                (root, "/t", {"show": "<{}>"}, "<x>"),
                (root, "/rows/0/v", {"over": "/rows/0/n", "unit": 0.01, "show": "{:s3} %"}, "31.2 %"),
                (root, "/rows/0/v", {"times": "/rows/0/v", "show": "{sum}"}, "30"),
                (root, "/rows/0/n", {"over": "/z", "show": "{:s3} {:.1f}"}, "inf inf"),
                (root, "/z", {"show": "{:s3}"}, "0.00"),
                (nested, "/a.b=z/v", {}, "2")]:
            self.assertEqual(figures.shown(at, reading(place, **more)), text)
        for place, more, says in [("/rows/k=z/v", {}, "nothing is at"), ("/t", {}, "not a number"),
                                  ("/rows/0/v", {"over": "/rows/*/n"}, "has 2 values, not 4")]:
            with self.assertRaisesRegex(figures.Mistake, says):
                figures.values_of(root, reading(place, **more))
        for text in ("no JSON", "", "NaN", "[" * 100000):
            with self.assertRaisesRegex(figures.Mistake, "c printed no JSON, but: "):
                figures.parsed(text, "c")

    def test_make_tables_of_grouped_rows(self):
        root = json.loads('{"rows":[{"n":2,"way":"a","t":[4,6]},{"n":2,"way":"b","t":[2,2]},{"n":4,"way":"a","t":8},{"n":9,"way":"c"}]}')
        columns = [reading("/0/n"), reading("/way=a/t"), reading("/way=b/t", over="/way=a/t", show="{:.2f}")]
        rows = lambda where, columns: figures.rows_of(root, {"id": "t", "rows": "/rows", "where": where, "by": ["n"], "columns": columns})
        self.assertEqual(rows("", columns), [["2", "5", "0.42"], ["4", "8", ""], ["9", "", ""]])
        self.assertEqual(rows("way=b", columns), [["2", "", ""]])
        self.assertEqual(rows("way=b|c", columns), [["2", "", ""], ["9", "", ""]])
        self.assertEqual(rows("way=b|c", [reading("/way=b/t", show="{} of {/0/n}{/0/none}")]), [["2 of 2"], [""]])
        with self.assertRaisesRegex(figures.Mistake, "no rows"):
            rows("way=d", columns)


class Verdicts(unittest.TestCase):
    ALL = ["speed: holds", "files: holds", "seconds: holds", "memory: recorded", "ways: recorded"]

    def test_hold_and_are_written(self):
        fake = Fake()
        judged = fake.judged()
        self.assertEqual([f"{each.id}: {each.verdict}" for each in judged], self.ALL)
        self.assertTrue(all(each.written for each in judged))
        self.assertEqual((fake.order, fake.saved, len(fake.values)), (["fast"], 1, 5))
        self.assertEqual(fake.values["speed"], {"text": "2.0x", "value": 2.0, "at_least": 1.5, "measured": "2026-11-23", "commit": "abcdef",
                                                "machine": "a machine", "commands": ["measure 'it now'"]})
        self.assertEqual(fake.values["ways"]["rows"], [["ours", "6 (4 .. 8)"], ["theirs", "3 (2 .. 4)"]])

    def test_of_a_slowdown_are_false_and_nothing_is_written(self):
        fake = Fake()
        fake.json = '{"rows":[{"way":"ours","rate":[2,3,4]},{"way":"theirs","rate":[2,3,4]}],"files":11,"s":2.4,"mib":20}'
        self.assertEqual(fake.verdicts(), ["speed: false", "files: false", "seconds: false", "memory: recorded", "ways: not run"])
        self.assertEqual((figures.exit_code_of(fake.judged()), fake.values, fake.saved), (1, {}, 0))

    def test_are_undecided_if_the_machine_was_busy_twice(self):
        fake = Fake()
        fake.others, fake.json = [0.3, 0.2], '{"rows":[{"way":"ours","rate":1},{"way":"theirs","rate":1}],"files":10,"s":1.2,"mib":20}'
        judged = fake.judged()  # a limit that holds all the same holds; a count does not depend on others
        self.assertEqual([each.verdict for each in judged], ["undecided: busy", "holds", "holds", "undecided: busy", "undecided: busy"])
        self.assertEqual((fake.order, fake.values, [each.written for each in judged]), (["fast"] * 2, {}, [False] * 5))
        self.assertIn("others took 20 %", judged[0].reason)
        self.assertEqual(figures.exit_code_of(judged), 0)
        fake.json = replaced(fake.json, '"files":10', '"files":11')
        self.assertEqual(figures.exit_code_of(fake.judged()), 1, "a count is judged")
        fake.others = [0.3, 0.01]
        fake.json = JSON
        self.assertEqual(fake.verdicts(), self.ALL, "the second run is not disturbed")
        self.assertEqual(fake.saved, 1)

    def test_of_a_time_are_false_the_second_time_only(self):
        fake = Fake()
        fake.json, fake.again = replaced(JSON, '"s":1.2', '"s":2.4'), JSON
        self.assertEqual((figures.exit_code_of(fake.judged()), len(fake.order), fake.values["seconds"]["text"]), (0, 2, "1.2"))
        fake.again = fake.json
        self.assertIn("seconds: false", fake.verdicts())
        fake.json = fake.again = replaced(JSON, '"files":10', '"files":11')
        self.assertIn("files: false", fake.verdicts())
        self.assertEqual(fake.order, ["fast"], "a count does not depend on others")

    def test_in_doubt_are_measured_once_more_after_all_others(self):
        fake = Fake(TOML + SECOND_RUN)
        fake.others = [0.3, 0.01]
        self.assertEqual(fake.verdicts(), ["slow-files: holds", "both/slow: recorded", *self.ALL, "both/fast: recorded"])
        self.assertEqual(fake.order, ["fast", "slow", "fast"])
        self.assertIn("fast: others took 30 % of the cores' time: once more at the end", fake.said)

    def test_are_not_run_with_a_reason(self):
        fake = Fake()
        fake.missing = "needs root"
        judged = fake.judged()
        self.assertEqual({(each.verdict, each.reason) for each in judged}, {("not run", "needs root")})
        self.assertEqual((fake.order, figures.exit_code_of(judged)), ([], 0))
        fake.missing, fake.plan = "", figures.Plan(minutes=0.5)
        self.assertEqual(fake.judged()[0].reason, "takes 1 minutes, and --minutes is 0.5")
        fake.plan, fake.exit_code = figures.Plan(), 6
        self.assertEqual((fake.judged()[0].verdict, fake.judged()[0].reason), ("not run", "what it said"))

    def test_fail_if_the_command_or_its_json_does(self):
        fake = Fake()
        fake.json = '{"files":10}'
        self.assertEqual(fake.verdicts()[:3], ["speed: failed", "files: holds", "seconds: failed"])
        self.assertEqual(figures.exit_code_of(fake.judged()), 3)
        fake.json = replaced(JSON, "[2,3,4]", "0")
        self.assertIn("not a finite number", fake.judged()[0].reason)
        for fake.json, fake.exit_code in (("Segmentation fault", 0), (JSON, 1), (JSON, 139)):
            self.assertNotIn("holds", " ".join(fake.verdicts()))
            self.assertEqual(fake.values, {})
        fake.exit_code, fake.figures = 1, figures.parse_figures(replaced(TOML, "minutes = 1", "minutes = 1\nexit_codes = [0, 1]"), "f.toml")
        self.assertEqual(fake.verdicts(), self.ALL)

    def test_are_of_the_runs_that_measure_what_was_asked_for(self):
        fast, slow = [*self.ALL, "both/fast: recorded"], ["slow-files: holds", "both/slow: recorded"]
        fake = Fake(TOML + SECOND_RUN)
        for fake.plan.ids, expected in ((["files"], fast), (["slow-files"], slow), (["both"], fast + slow)):
            self.assertEqual(fake.verdicts(), expected, "all that a run measures, so that no page shows two runs of one command")
        fake.plan, fake.saved = figures.Plan(judged=True), 0
        self.assertEqual(fake.verdicts(), ["speed: holds", "files: holds", "seconds: holds", "slow-files: holds"])
        self.assertEqual(fake.saved, 0, "--judged writes nothing")


class Pages(unittest.TestCase):
    def setUp(self):
        self.fake = Fake()
        self.fake.judged()

    def messages(self, pages=None):
        return figures.check_values(self.fake.figures, self.fake.values, pages or {})

    def test_of_several_runs_say_when_each_was_measured(self):
        fake = Fake(TOML + SECOND_RUN)
        page = "<!-- measured: both -->\n<!-- /measured -->\n\n<!-- measured: runs -->\n<!-- /measured -->\n"
        fake.plan.ids = ["slow-files"]
        fake.judged()
        self.assertNotIn("| way |", fake.page(page), "half of it is not there")
        fake.plan.ids = ["both"]
        fake.judged()
        self.assertIn("| way |\n|---|\n| ours |\n| theirs |\n| ours |\n| theirs |\n", fake.page(page))
        self.assertEqual(fake.page(page).count("Measured "), 1)
        fake.values["both/slow"].update(measured="2026-12-31", rows=[["another"]])
        for text in ("| ours |\n| theirs |\n| another |\n", "; 2026-12-31, ", "| 2026-12-31, "):
            self.assertIn(text, fake.page(page))

    def test_are_filled_once_and_for_all(self):
        text = self.fake.page()
        for part in ("It is <!-- measured: speed -->2.0x<!-- /measured --> as fast", "| memory | <!-- measured: memory -->20<!-- /measured --> |\n",
                     "<!-- measured: ways -->\n| way | rate |\n|---|--:|\n| ours | 6 (4 .. 8) |\n",
                     "\n\nMeasured 2026-11-23, abcdef: `measure 'it now'`\n<!-- /measured -->",
                     "| `measure 'it now'` | 2026-11-23, abcdef | a machine |\n<!-- /measured -->"):
            self.assertIn(part, text)
        self.assertEqual(self.fake.page(text), text)
        self.assertEqual(figures.check_blocks(self.fake.figures, {"page.md": text}) + self.messages({"page.md": text}), [])
        self.assertIn("page.md says something else", self.messages({"page.md": PAGE})[0])

    def test_name_the_figures_of_a_command_that_was_run_twice(self):
        for name in ("speed", "memory"):
            self.fake.values[name]["measured"] = "2026-11-24"
        self.assertIn("| `measure 'it now'` | 2026-11-24, abcdef: `speed`, `memory` | a machine |\n"
                      "| `measure 'it now'` | 2026-11-23, abcdef: `files`, `seconds`, `ways` | a machine |\n", self.fake.page())

    def test_keep_a_block_whose_entry_has_no_value(self):
        self.fake.values["gone"] = self.fake.values.pop("speed")
        self.assertIn("speed -->?<!--", self.fake.page())
        self.assertEqual(self.messages(), ["the entry 'speed' has no value in measured.json", "the value 'gone' of measured.json has no entry"])

    def test_show_no_rows_that_were_measured_under_other_heads(self):
        last = self.fake.values["ways"]
        for last["heads"], last["rows"], says in ((["rate", "way"], last["rows"], "'ways' has the columns 'way', 'rate', but 'rate', 'way'"),
                                                  (["way", "rate"], [["ours"]], "rows of another length")):
            self.assertEqual(len(self.messages()), 1)
            self.assertIn(says, self.messages()[0])
            self.assertNotIn("| ours |", self.fake.page())

    def test_need_a_block_for_each_entry_and_an_entry_for_each_block(self):
        messages = lambda text: "\n".join(figures.check_blocks(self.fake.figures, {"page.md": text}))
        table, runs = "<!-- measured: ways -->\n<!-- /measured -->\n", "<!-- measured: runs -->\n<!-- /measured -->\n"
        self.assertEqual(messages(PAGE), "")
        self.assertEqual(messages(replaced(PAGE, "measured: speed", "measured: sped")),
                         "page.md:2: the block 'sped' has no entry in figures.toml\nthe entry 'speed' of figures.toml has no block")
        self.assertIn("0 blocks 'runs'", messages(replaced(PAGE, "measured: runs", "measured: ways")))
        self.assertNotIn("blocks 'runs'", messages(table), "a table says itself when it was measured")
        self.assertIn("2 blocks 'runs'", messages(table + runs + runs))
        self.assertIn("is a table: its markers need lines of their own", messages(replaced(PAGE, "measured: memory", "measured: ways")))
        self.assertIn("is a claim: it belongs into a line", messages(replaced(PAGE, "measured: ways", "measured: memory")))

    def test_refuse_markers_that_git_hub_would_show_or_that_are_not_closed(self):
        figures.blocks_of("p.md", "a <!-- measured: x -->1<!-- /measured --> b")
        for text, says in [("a\n  <!-- measured: x -->1<!-- /measured --> b", "p.md:2: the block 'x' begins a line"),
                           ("a <!-- measured: x -->\n1\n<!-- /measured -->", "need lines of their own"),
                           ("<!-- measured: x -->\n1\n<!-- /measured --> b", "need lines of their own"),
                           ("a <!-- measured: x -->1", "is not closed"),
                           ("a <!-- measured: x -->1 <!-- measured: y -->2<!-- /measured -->", "'x' is not closed"),
                           ("a <!-- /measured -->", "closes no block"), ("a <!-- measured: x", "not complete"),
                           ("a <!-- measured: x\n -->", "not complete")]:
            with self.assertRaisesRegex(figures.Mistake, says):
                figures.blocks_of("p.md", text)


class File(unittest.TestCase):
    def test_is_refused_with_the_place_of_each_mistake(self):
        for old, new, says in [
                (TOML, "pages = [", "f.toml:1:"), ("at_least = 1.5\n", "", "f.toml:8: a 'ratio' claim needs 'at_least'"),
                ("at_least = 1.5", "atleast = 1.5", "unknown key 'atleast' in \\[\\[claim\\]\\]: did you mean 'at_least'?"),
                ("kind = \"recorded\"", "kind = \"recorded\"\nat_most = 3", "not judged"),
                ("at_most = 2\n", "at_most = 1.9\n", "less than a factor of 2"),
                ("expected = 1\n", "", "'expected' belongs to a 'limit'"), ("kind = \"count\"", "kind = \"cuont\"", "did you mean 'count'?"),
                ("run = \"fast\"\nkind", "run = \"fats\"\nkind", "did you mean 'fast'?"), ("\"quiet\"", "\"queit\"", "did you mean 'quiet'?"),
                ("\"quiet\"", "\"cores:two\"", "unknown need 'cores:two'"), ("\"quiet\"", "\"package:\"", "unknown need 'package:'"),
                ("id = \"files\"", "id = \"speed\"", "f.toml:17: two entries have the ID 'speed'"),
                ("id = \"files\"", "id = \"The files\"", "the ID 'The files'"),
                ("id = \"files\"", "id = \"runs\"", "the ID 'runs'"), ("id = \"files\"\n", "", "f.toml:17: \\[\\[claim\\]\\] needs 'id'"),
                ("{:.1f}x", "{:.1q}x", "is not a format"), ("{:.1f}x", "{mean}x", "'{mean}' is not one of"), ("{:.1f}x", "{:.1f", "a brace too many"),
                ("\"/files\"", "\"files\"", "does not begin with a slash"), ("\"/files\"", "\"/files\"\nstatistic = \"q1\"", "the statistic 'q1'"),
                ("\"/files\"", "\"/files\"\nunit = 0", "not above 0"), ("minutes = 1", "minutes = 0", "above 0"),
                ("minutes = 1", "minutes = \"1\"", "'minutes' in \\[\\[run\\]\\] is a number"), ("[\"--json\"]", "\"--json\"", "is a list of texts"),
                ("minutes = 1", "minutes = 1\nexit_codes = [256]", "0 to 255"), ("{ head = \"way\",", "{ haed = \"way\",", "did you mean 'head'?"),
                ("[[claim]]", "[[run]]\nid=\"idle\"\ncommand=[\"x\"]\njson=[]\nneeds=[]\nminutes=1\n[[claim]]",
                 "nothing is measured by the run 'idle'")]:
            with self.subTest(new), self.assertRaisesRegex(figures.Mistake, says.replace("?", "\\?").replace("{", "\\{")):
                figures.parse_figures(replaced(TOML, old, new), "f.toml")
        with self.assertRaises(figures.Mistake) as caught:
            figures.parse_figures(replaced(replaced(TOML, "at_least = 1.5\n", ""), "expected = 1\n", ""), "f.toml")
        self.assertEqual(len(str(caught.exception).splitlines()), 2, "all mistakes at once")

    def test_refuses_a_wider_range_without_a_reason(self):
        fake = Fake()
        fake.judged()
        messages = lambda toml: list(figures.check_ranges(figures.parse_figures(toml, "f"), fake.values))
        self.assertEqual(messages(TOML) + messages(replaced(TOML, "at_least = 1.5", "at_least = 1.6")), [])
        self.assertIn("claim 'speed' accepts at least 1.4, wider than the last range (at least 1.5)",
                      messages(replaced(TOML, "at_least = 1.5", "at_least = 1.4"))[0])
        because = replaced(TOML, "at_least = 1.5", "at_least = 1.4\nwidened = \"a slower library\"")
        self.assertEqual(messages(because), [])
        fake.values["speed"]["widened"] = "a slower library"
        self.assertIn("give the reason", messages(because)[0], "the reason is that of another time")

    def test_keeps_last_values_through_json(self):
        fake = Fake()
        fake.judged()
        text = figures.values_text(fake.values)
        self.assertEqual(figures.values_text(figures.parse_values(text, "measured.json")), text)
        for damaged in ("", "{}", "[1]", '{"values":{"a":{}}}', '{"values":{"a":{"measured":1}}}', replaced(text, '"value": 2.0', '"value": true'),
                        replaced(text, '"ours"', "1")):
            with self.assertRaisesRegex(figures.Mistake, "measured.json is damaged: .*Restore it from git"):
                figures.parse_values(damaged, "measured.json")


class Machine(unittest.TestCase):
    def test_knows_the_share_of_others(self):
        # Two cores, 10 s: 2000 ticks. 500 of user time, 300 of which are ours, 100 stolen; 50 of interrupts do not count.
        before, after = "cpu  100 0 100 1000 0 10 10 0 0 0\ncpu0 1\n", "cpu  600 0 100 2350 0 30 40 100 0 0\n"
        self.assertAlmostEqual(figures.share_of_others(before, after, 3.0, 100), 0.15)
        self.assertEqual(figures.share_of_others(before, after, 9.0, 100), 0.0, "rounding is not a negative share")
        self.assertIsNone(figures.share_of_others(before, before, 0, 100))
        self.assertIsNone(figures.share_of_others("", "", 0, 100))

    def test_says_what_is_missing(self):
        os.environ["HOPBENCH"] = HOPBENCH
        program = figures.Program()
        self.assertEqual(figures.missing_need(["quiet", "cores:1", "program:sh", "data:synthetic"], program), "")
        for need, says in [("cores:100000", "needs 100000 cores"), ("program:no-such-program", "not in $PATH"),
                           ("package:no-such-package", "apt-get install no-such-package"), ("data:no_such_data", "unknown data set")]:
            self.assertIn(says, figures.missing_need([need], program))
        self.assertRegex(program.machine(), r"^\d+ cores, .+, \d+ GiB, Linux .+$")
        self.assertRegex(program.commit(), r"^([0-9a-f]{12}\+?)?$")


class FromOutside(unittest.TestCase):
    FIGURES = """pages = ["docs/page.md"]
[[run]]
id = "numbers"
command = ["cat", "numbers.json"]
json = []
needs = []
minutes = 1
[[claim]]
id = "speed"
says = "ours against theirs"
run = "numbers"
kind = "ratio"
value = "/ours"
over = "/theirs"
at_least = 1.5
show = "{:.1f}x"
[[table]]
id = "rows"
run = "numbers"
rows = "/rows"
columns = [{ head = "way", value = "/way" }]
[[run]]
id = "never"
command = ["cat", "nothing.json"]
json = []
needs = ["program:no-such-program"]
minutes = 1
[[claim]]
id = "never"
says = "cannot be measured here"
run = "never"
kind = "recorded"
value = "/x"
"""
    COMMAND = '["cat", "numbers.json"]'
    PAGE = ("A ratio of <!-- measured: speed -->?<!-- /measured -->, and <!-- measured: never -->?<!-- /measured -->.\n\n"
            "<!-- measured: rows -->\n<!-- /measured -->\n\n<!-- measured: runs -->\n<!-- /measured -->\n")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.write(figures.FIGURES, self.FIGURES)
        self.write("docs/page.md", self.PAGE)
        self.write("numbers.json", '{"ours":[2,4],"theirs":[1,1],"rows":[{"way":"a"}]}')
        self.environment = {**os.environ, "HOPBENCH": HOPBENCH, "HOPBENCH_ROOT": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}

    def write(self, name, text):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def command(self, command):
        self.write(figures.FIGURES, replaced(self.FIGURES, self.COMMAND, json.dumps(command)))

    def text(self, name):
        return (self.folder / name).read_text()

    def run_it(self, *words):
        return subprocess.run([sys.executable, SCRIPT, *words], env=self.environment, cwd=self.folder, capture_output=True, text=True, check=False)

    def test_measures_judges_and_writes_the_pages(self):
        ended = self.run_it("--json=out.json", "--markdown", "out.md")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        for says in ("never: not run: needs the program no-such-program", "3 figures: 1 holds, 1 recorded, 0 false, 0 undecided: busy, 1 not run",
                     "\nwritten: 2 of 3 figures; not written: never\n"):
            self.assertIn(says, ended.stdout)
        page, values = self.text("docs/page.md"), self.text(figures.MEASURED)
        for says in ("<!-- measured: speed -->3.0x<!-- /measured -->", "| a |", "`cat numbers.json`", "never -->?<!--"):
            self.assertIn(says, page)
        self.assertIn('"value": 3.0', values)
        self.assertEqual(len(json.loads(self.text("out.json"))["figures"]), 3)
        self.assertIn("| speed | holds | 3.0x | at least 1.5 |", self.text("out.md"))
        self.assertRegex(self.run_it("--list").stdout, r"speed +ratio +at least 1\.5 +3\.0x +20..-..-.. +cat numbers\.json")
        self.assertNotIn("speed", self.run_it("--list", "--claim", "never").stdout)
        self.assertEqual(self.run_it("--pages").returncode, 0)
        self.assertIn("written: nothing, since --judged only judges", self.run_it("--judged").stdout)
        self.assertEqual((self.text("docs/page.md"), self.text(figures.MEASURED)), (page, values))
        self.write("docs/page.md", self.PAGE)
        self.assertEqual(self.run_it("--pages").returncode, 0)
        self.assertEqual(self.text("docs/page.md"), page)

    def test_keeps_the_pages_if_the_last_values_are_gone_or_do_not_fit(self):
        self.run_it()
        page, values = self.text("docs/page.md"), self.text(figures.MEASURED)
        for last, says in [('{"schema_version": "1.3", "values": {}}', "measured.json is missing or has no values: restore it"),
                           ("{}", "measured.json is damaged: 'values' is missing"),
                           (replaced(values, '"heads": [\n', '"heads": [\n"other",\n'), "table 'rows' has the columns 'way', but 'other', 'way'")]:
            self.write(figures.MEASURED, last)
            ended = self.run_it("--pages")
            self.assertEqual((ended.returncode, self.text("docs/page.md")), (2, page))
            self.assertIn(says, ended.stderr)
        (self.folder / figures.MEASURED).unlink()
        self.assertEqual((self.run_it("--pages").returncode, self.text("docs/page.md")), (2, page))

    def test_says_false_and_keeps_the_page(self):
        self.run_it()
        page, values = self.text("docs/page.md"), self.text(figures.MEASURED)
        self.write("numbers.json", '{"ours":[1,1.8],"theirs":[1,1],"rows":[{"way":"b"}]}')
        for words in ([], ["--judged"]):
            ended = self.run_it(*words)
            self.assertEqual(ended.returncode, 1)
            self.assertRegex(ended.stdout, r"speed +false +1\.4x(.|\n)*1 false")
        self.assertIn("written: 0 of 3 figures; not written: speed, rows, never", self.run_it().stdout)
        alone = self.run_it("--json=-")
        self.assertIn("not written: speed, rows, never", alone.stderr)
        self.assertEqual(json.loads(alone.stdout)["figures"][0]["verdict"], "false")
        self.assertEqual((self.text("docs/page.md"), self.text(figures.MEASURED)), (page, values))

    def test_fails_with_the_command(self):
        self.write("numbers.json", "no JSON")
        ended = self.run_it()
        self.assertEqual(ended.returncode, 3)
        self.assertIn("speed: failed: cat numbers.json printed no JSON, but: no JSON", ended.stdout)
        (self.folder / "numbers.json").unlink()
        self.assertRegex(self.run_it().stdout, "speed: failed: exit code 1: .*No such file")
        self.command(["no-such-command"])
        self.assertIn("speed: failed: exit code 127: no-such-command: No such file", self.run_it().stdout)

    def test_runs_the_program_in_the_root_and_tells_scripts_where_it_is(self):
        self.command(["hopbench", "version"])
        self.assertIn("hopbench version printed no JSON, but: hopbench 0.", self.run_it().stdout)
        self.command(["sh", "-c", "$HOPBENCH version; pwd; echo \"CI:$CI\""])
        self.environment["CI"] = "true"
        self.assertRegex(self.run_it().stdout, rf"but: hopbench 0\..*\n{self.folder}\nCI:\n")
        self.write(figures.FIGURES, replaced(self.FIGURES, self.COMMAND + "\njson = []", '["cp", "numbers.json"]\njson = ["{file}"]'))
        self.assertIn("1 holds", self.run_it().stdout)

    def test_ends_if_the_program_is_rebuilt(self):
        self.write("program", f"#!/bin/sh\nexec {HOPBENCH} \"$@\"\n")
        (self.folder / "program").chmod(0o755)
        self.environment["HOPBENCH"] = str(self.folder / "program")
        figures_text = replaced(self.FIGURES, self.COMMAND, '["sh", "-c", "cp -p program new; mv new program; cat numbers.json"]')
        self.write(figures.FIGURES, replaced(figures_text, '["program:no-such-program"]', "[]"))
        ended = self.run_it()
        self.assertEqual(ended.returncode, 6, ended.stderr)
        self.assertIn("was rebuilt while it measured", ended.stderr)
        self.assertIn("3.0x", self.text("docs/page.md"))

    def test_refuses_mistakes_before_it_runs(self):
        def refused(words, says):
            ended = self.run_it(*words)
            self.assertEqual(ended.returncode, 2, ended.stdout)
            self.assertIn(says, ended.stderr)

        refused(["--claim", "sped"], "there is no figure 'sped'. Did you mean 'speed'? ci/pages/figures --list")
        refused(["-o", "out"], "unrecognized arguments")
        refused(["--pages", "--judged"], "--pages runs nothing")
        refused(["--pages", "--list"], "--pages runs nothing")
        refused(["--json=docs/page.md"], "--json docs/page.md would overwrite docs/page.md")
        refused(["--json=a", "--markdown=a"], "are the same file")
        refused(["--json=no/a"], "there is no folder")
        for wrong in ("0", "abc", "nan", "inf", "-1"):
            refused([f"--minutes={wrong}"], f"--minutes: '{wrong}' is not a number above 0")
        self.write("docs/page.md", replaced(self.PAGE, "measured: speed", "measured: sped"))
        refused([], "docs/page.md:1: the block 'sped' has no entry")
        (self.folder / "docs/page.md").unlink()
        refused([], "the page docs/page.md is not there")
        self.write(figures.FIGURES, "pages = [")
        refused([], "results/published/hopbench/figures.toml:1:")
        (self.folder / figures.FIGURES).unlink()
        refused([], "measured in a checkout")
        self.assertFalse((self.folder / figures.MEASURED).exists())
        self.setUp()
        self.environment["HOPBENCH"] = "/no/such/program"
        refused([], "/no/such/program is no program")

    def test_ends_the_command_when_it_is_interrupted(self):
        self.command(["sh", "-c", "echo $$ > pid; exec sleep 60"])
        for number in (signal.SIGINT, signal.SIGTERM):
            (self.folder / "pid").unlink(missing_ok=True)
            with subprocess.Popen([sys.executable, SCRIPT], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
                self.assertTrue(soon(lambda: (self.folder / "pid").exists() and self.text("pid").endswith("\n")))
                running.send_signal(number)
                self.assertEqual(running.wait(30), 128 + number)
            self.assertTrue(soon(lambda: is_gone(int(self.text("pid")))))

    def test_ends_the_daemons_of_a_command(self):
        self.command(["bash", "-c", "setsid sleep 600 >/dev/null & echo $! >daemon; cat numbers.json"])
        self.assertEqual(self.run_it("--claim", "speed").returncode, 0)
        self.assertTrue(is_gone(int(self.text("daemon"))))


class ThisTree(unittest.TestCase):
    def test_has_blocks_on_all_measured_pages_which_say_what_was_measured(self):
        text = lambda path: pathlib.Path(SOURCE, path).read_text()
        published = figures.parse_figures(text(figures.FIGURES), figures.FIGURES)
        values = figures.parse_values(text(figures.MEASURED), figures.MEASURED)
        self.assertEqual(sorted(published.pages), sorted(MEASURED_PAGES))
        pages = {path: text(path) for path in MEASURED_PAGES}
        for path in pages:
            self.assertTrue(figures.blocks_of(path, pages[path]), path)
        messages = [*figures.check_blocks(published, pages), *figures.check_values(published, values, pages),
                    *figures.check_ranges(published, values)]
        self.assertEqual("\n".join(messages), "")


def is_gone(process):
    try:
        os.kill(process, 0)
        return False
    except ProcessLookupError:
        return True


def soon(happens):
    end = time.monotonic() + 30
    while not happens() and time.monotonic() < end:
        time.sleep(0.02)
    return happens()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
