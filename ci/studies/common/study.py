"""What every study needs: the program under test, its runs, and Markdown tables."""
import argparse
import csv
import functools
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
COMMAND = f"ci/studies/{pathlib.Path(sys.argv[0]).name}"


def parser(json_help="JSON instead of the table (docs/figures.md)"):
    """Returns a parser that shows the study's own text as its help. Without `json_help` it has no --json."""
    found = argparse.ArgumentParser(COMMAND, description=sys.modules["__main__"].__doc__, allow_abbrev=False,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    if json_help:
        found.add_argument("--json", action="store_true", help=json_help)
    return found


def names(text):
    return text.split(",")


def numbers(text):
    return [int(part) for part in text.split(",")]


def give_up(reason, code=1):
    """Ends the study. Code 2: it was called wrongly, 6: this machine lacks something."""
    print(f"{COMMAND}: {reason}", file=sys.stderr)
    sys.exit(code)


@functools.cache
def program():
    """Returns the program under test, which HOPBENCH names. Without it ci/setup builds one first."""
    named = os.environ.pop("HOPBENCH", None)
    if not named:
        built = subprocess.run([ROOT / "ci/setup", "hopbench"], stdout=subprocess.PIPE, text=True, check=False)
        if built.returncode:
            sys.exit(built.returncode)
        named = built.stdout.strip() + "/hopbench"
    os.environ.setdefault("HOPBENCH_ROOT", str(ROOT))  # where suites are found
    found = shutil.which(named)
    return str(pathlib.Path(found).resolve()) if found else give_up(f"{named} is no program: HOPBENCH is to name one", 2)


def hopbench(*words, before=(), accepted=(0,), progress=False, cwd=None):
    """Returns what `hopbench WORDS` printed. Another exit code than those accepted ends the study. `before`: words of a program that starts it.
    `progress`: shows what hopbench writes to standard error."""
    command = [str(word) for word in (*before, program(), *words)]
    ended = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=None if progress else subprocess.PIPE, text=True, check=False)
    if ended.returncode not in accepted:
        give_up(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stdout[-1500:]}{(ended.stderr or '')[-1500:]}")
    return ended.stdout


def children(pid):
    """Returns the processes that `pid` started."""
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]


def rows_of(path):
    """Returns the rows of a table that hopbench wrote."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return f"{middle:.3g} ({low:.3g} .. {high:.3g})"


def print_row(cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def print_head(heads, texts=1):
    """Prints the head of a table whose first columns are texts and whose others are numbers."""
    print_row(heads)
    print("|" + "---|" * texts + "--:|" * (len(heads) - texts), flush=True)


def print_table(heads, rows, texts=1):
    print_head(heads, texts)
    for row in rows:
        print_row(row)
