#!/usr/bin/env python3
"""Runs docs/ci-workflow.yml step by step, as GitHub would, in a scratch repository.

  ci_workflow_test.py HOPBENCH SOURCE_DIR

What only GitHub has is replaced: actions are checked by name, `gh` and `apt-get` are recorded, and building prints a
folder with HOPBENCH. A head that is slower than the base branch's program must fail and be named in the comment.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

HOPBENCH, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
WORKFLOW = os.path.join(SOURCE, "docs/ci-workflow.yml")
ACTIONS = ("actions/checkout@v4", "actions/cache@v4", "actions/upload-artifact@v4")

SUITE = """schema = 1
name = "tiny"
[run]
world_size = 4
iterations = 8
repeats = 1
warmup_time = "0s"
[model]
name = "quadratic"
size = 64
[compute]
backend = "reference"
pace = "10ms"
[transport]
name = "sim"
[[protocol]]
name = "allreduce"
[[protocol]]
name = "hop"
[[scenario]]
name = "homogeneous"
"""

# Stands for hopbench: the rates of what it runs are FACTOR times what they were.
PROGRAM = """#!/usr/bin/env python3
import json, os, subprocess, sys
code = subprocess.call(["HOPBENCH"] + sys.argv[1:])
if sys.argv[1] == "run" and code == 0:
    path = os.path.join(sys.argv[sys.argv.index("-o") + 1], "trials.jsonl")
    rows = [json.loads(line) for line in open(path)]
    for row in rows:
        row["record"]["samples_per_s"] *= FACTOR
    open(path, "w").write("".join(json.dumps(row) + chr(10) for row in rows))
sys.exit(code)
"""


def write(path, text, executable=False):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    if executable:
        os.chmod(path, 0o755)


class Repository:
    """A commit of the base branch and one of the pull request, whose program is slower by a factor."""

    def __init__(self, factor):
        self.folder = tempfile.mkdtemp(prefix="hb_ci_")
        self.home, self.work = os.path.join(self.folder, "home"), os.path.join(self.folder, "work")
        os.makedirs(self.home)
        write(os.path.join(self.work, "bench/suite.toml"), SUITE)
        write(os.path.join(self.work, ".gitignore"), "/base-branch/\n/runs/\n/baselines/\n/gate.*\n")
        self.git("init", "-q", ".")
        self.base = self.commit(1.0)
        self.commit(factor)
        for name in ("gh", "apt-get"):
            write(os.path.join(self.folder, "bin", name),
                  f'#!/bin/bash\necho "{name} $*" >>"{self.folder}/called"\n'
                  f'[ {name} = apt-get ] || cat "${{@: -1}}" >>"{self.folder}/comment"\n', True)

    def git(self, *words):
        identity = ["-c", "user.name=t", "-c", "user.email=t@t"]
        return subprocess.check_output(["git", *identity, *words], cwd=self.work, text=True, env=self.environment())

    def commit(self, factor):
        program = PROGRAM.replace("HOPBENCH", HOPBENCH).replace("FACTOR", repr(factor))
        write(os.path.join(self.work, "hopbench/build/hopbench"), program, True)
        write(os.path.join(self.work, "hopbench/ci/setup"),
              '#!/bin/bash\ncd "$(dirname "$0")/.." && echo "$PWD/build"\n', True)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        return self.git("rev-parse", "HEAD").strip()

    def environment(self):
        env = {name: value for name, value in os.environ.items() if not name.startswith(("HOPBENCH_", "GITHUB_"))}
        env.update(HOME=self.home, CI="true", HOPBENCH_ROOT=SOURCE, GIT_CONFIG_NOSYSTEM="1",
                   PATH=os.path.join(self.folder, "bin") + os.pathsep + os.environ["PATH"],
                   GITHUB_ENV=os.path.join(self.folder, "env"),
                   GITHUB_STEP_SUMMARY=os.path.join(self.folder, "summary"))
        return env

    def text(self, name):
        path = os.path.join(self.folder, name)
        return open(path).read() if os.path.exists(path) else ""


def expanded(text, repository):
    """GitHub's expressions; one that this test does not know is a mistake."""
    known = {"github.event.pull_request.base.sha": repository.base, "github.event.pull_request.head.sha": "head",
             "github.event.pull_request.number": "7", "github.token": "secret",
             "hashFiles(env.SUITE)": "hash"}
    return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: known[found.group(1)], str(text))


def check_action(step, repository):
    assert step["uses"] in ACTIONS, step["uses"]
    for value in step.get("with", {}).values():
        expanded(value, repository)
    if "upload-artifact" in step["uses"]:
        for path in step["with"]["path"].split():
            assert os.path.exists(os.path.join(repository.work, path)), f"{path} is not there to be kept"


def run_workflow(repository):
    """Returns the name of the first step that failed; None if none did."""
    with open(WORKFLOW) as file:
        workflow = yaml.safe_load(file)
    (job,) = workflow["jobs"].values()
    assert workflow["defaults"]["run"]["shell"] == "bash", "in a container the default is sh"
    failed = None
    for step in job["steps"]:
        condition = step.get("if", "success()")
        assert condition in ("success()", "always()"), condition
        if failed and condition != "always()":
            continue
        if "uses" in step:
            check_action(step, repository)
            continue
        env = repository.environment()
        for variables in (workflow.get("env", {}), job.get("env", {}), step.get("env", {})):
            env.update({name: expanded(value, repository) for name, value in variables.items()})
        env.update(line.split("=", 1) for line in repository.text("env").splitlines())
        ended = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", expanded(step["run"], repository)], env=env,
                               cwd=repository.work, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if ended.returncode != 0 and not step.get("continue-on-error"):
            print(f"step {step['name']} ended with {ended.returncode}:\n{ended.stdout}")
            failed = failed or step["name"]
    return failed


def check(factor, expected_failure, said):
    repository = Repository(factor)
    try:
        failed = run_workflow(repository)
        assert failed == expected_failure, f"at {factor}: {failed} failed, not {expected_failure}"
        assert "gh pr comment 7 -F gate.md" in repository.text("called"), repository.text("called")
        for place in ("comment", "summary"):
            for words in said:
                assert words in repository.text(place), f"'{words}' is not in the {place}:\n{repository.text(place)}"
    finally:
        shutil.rmtree(repository.folder)


if shutil.which("git") is None:
    print("skipped: there is no git, which the workflow calls")
    sys.exit(77)
check(1.0, None, ["the gate passes"])
check(0.98, None, ["the gate passes", "| within 5 % | tiny/rate/homogeneous/hop", "slower by 2.04 %"])
check(0.9, "Gate", ["the gate fails", "| regression | tiny/rate/homogeneous/hop | virtual samples/s | 0.9000x"])
print("passed: docs/ci-workflow.yml catches a slowdown, and says which row")
