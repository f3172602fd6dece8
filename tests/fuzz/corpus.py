#!/usr/bin/env python3
"""The inputs that a fuzz target begins with: tests/fuzz/corpus/TARGET.txt has a line "NAME BASE64" for each.

  tests/fuzz/corpus.py unpack FOLDER [TARGET...]   a file for each input, in FOLDER/TARGET (what else is there goes)
  tests/fuzz/corpus.py add TARGET FILE...          each file under its own name; one of the same name is replaced
"""
import base64
import pathlib
import shutil
import sys

CORPUS = pathlib.Path(__file__).parent / "corpus"


def read(target):
    """Returns the inputs by name."""
    file = CORPUS / f"{target}.txt"
    lines = file.read_text().splitlines() if file.exists() else []
    return {name: base64.b64decode(text, validate=True) for name, _, text in (line.partition(" ") for line in lines)}


def unpack(folder, *targets):
    for target in targets or sorted(file.stem for file in CORPUS.glob("*.txt")):
        to = pathlib.Path(folder) / target
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir(parents=True)
        for name, data in read(target).items():
            (to / name).write_bytes(data)


def add(target, *files):
    inputs = read(target) | {pathlib.Path(file).name: pathlib.Path(file).read_bytes() for file in files}
    wrong = [name for name in inputs if not name or any(letter.isspace() for letter in name)]
    if wrong:
        sys.exit(f"corpus.py: '{wrong[0]}' has a space: rename the file")
    text = "".join(f"{name} {base64.b64encode(data).decode()}\n" for name, data in sorted(inputs.items()))
    (CORPUS / f"{target}.txt").write_text(text)


if __name__ == "__main__":
    commands = {"unpack": unpack, "add": add}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])
