"""Tables of what ci/studies/gpu_peer measured: FOLDER/bench.jsonl becomes FOLDER/steps.csv, memory.csv and bench.md.

gpu_tables.py FOLDER

Each figure is the median over rounds of each round's median, with the quartiles over rounds; a ratio is one of medians of
the same round.
"""
import csv
import json
import os
import statistics
import sys


def quartiles(values):
    if len(values) == 1:
        return values * 3
    return statistics.quantiles(values, n=4, method="inclusive")


def shown(values):
    low, middle, high = quartiles(values)
    return f"{middle:.3g} ({low:.3g} .. {high:.3g})"


class Rounds(dict):
    """What was measured -> round -> its median."""

    def add(self, key, number, values):
        self.setdefault(key, {})[number] = statistics.median(values)

    def of(self, key):
        return list(self.get(key, {}).values())

    def ratios(self, above, below):
        a, b = self.get(above, {}), self.get(below, {})
        return [a[number] / b[number] for number in a if number in b]


def read(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                yield json.loads(line)
            except ValueError:  # the last one, where the measuring was ended
                continue


STEP = ("model", "batch", "precision", "who", "work", "layout", "graph", "clock")


def collect(lines):
    steps, memory, notes, context, clocks, ipc = Rounds(), Rounds(), [], {}, [], {}
    for line in lines:
        what = line.pop("what")
        if what in ("PyTorch", "hopbench"):
            for clock in ("event", "wall"):
                if clock + "_ms" in line:
                    key = (line["model"], line["batch"], line["precision"], what, line["work"], line.get("layout", ""),
                           line.get("graph", ""), clock)
                    steps.add(key, line["round"], line[clock + "_ms"])
        elif what == "memory":
            memory.add(("PyTorch", line["operation"]), line["round"], [line["bytes"] / ms / 1e6 for ms in line["event_ms"]])
        elif what == "hopbench memory":
            memory.add(("hopbench", line["operation"]), line["round"], [rate / 1e9 for rate in line["rates"]])
        elif what == "ipc":
            ipc = line
        elif what == "clocks":
            clocks.append(line)
        elif what == "context":
            context = line
        elif what == "skipped":
            where = ", ".join(f"{name} {value}" for name, value in line.items() if name not in ("part", "reason"))
            notes.append(f"{line['part']}{' (' + where + ')' if where else ''}: {line['reason']}")
    return steps, memory, notes, context, clocks, ipc


def write_csv(path, header, rounds, unit):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow([*header, "rounds", f"median_{unit}", f"low_{unit}", f"high_{unit}"])
        for key, values in rounds.items():
            low, middle, high = quartiles(list(values.values()))
            out.writerow([*key, len(values), *(f"{value:.6g}" for value in (middle, low, high))])


def variant(key):
    layout, graph = key[STEP.index("layout")], key[STEP.index("graph")]
    return layout + (", graph" if graph else "")


def step_tables(steps):
    """Of PyTorch beside hopbench, and of all that PyTorch does."""
    settings = list(dict.fromkeys(key[:3] for key in steps))
    work = next((key[4] for key in steps if key[3] == "hopbench"), "gradient")
    rows = []
    for setting in settings:
        wall = [key for key in steps if key[:3] == setting and key[3:5] == ("PyTorch", work) and key[7] == "wall"]
        plain = (*setting, "PyTorch", work, "NCHW", False, "wall")
        ours = (*setting, "hopbench", work, "", "", "wall")
        if not wall and ours not in steps:
            continue
        best = min(wall, key=lambda key: statistics.median(steps.of(key)), default=None)
        cell = lambda key: shown(steps.of(key)) if key in steps else ""
        ratio = lambda key: shown(steps.ratios(key, ours)) if steps.ratios(key, ours) else ""
        rows.append([*setting, cell(ours), cell(plain), ratio(plain), cell(best), variant(best) if best else "", ratio(best)])
    yield (f"A {work}, ms of wall time", ["model", "batch", "precision", "hopbench", "PyTorch", "PyTorch / hopbench",
                                         "PyTorch at its best", "which is", "that / hopbench"], rows)
    rows = []
    for setting in settings:
        for work in ("gradient", "step"):
            keys = [(*setting, "PyTorch", work, layout, graph, clock)
                    for layout in ("NCHW", "NHWC") for graph in (False, True) for clock in ("event", "wall")]
            if any(key in steps for key in keys):
                rows.append([*setting, work, *(shown(steps.of(key)) if key in steps else "" for key in keys)])
    heads = [f"{layout}{graph}, {clock}" for layout in ("NCHW", "NHWC") for graph in ("", ", graph") for clock in ("event", "wall")]
    yield "PyTorch, ms between events and of wall time", ["model", "batch", "precision", "work", *heads], rows


def memory_table(memory, ipc):
    rows = [[who, operation, shown(memory.of((who, operation)))] for who, operation in memory]
    if ipc.get("works"):
        rows.append(["PyTorch", "copy from another process (CUDA IPC), 36.9 MB", shown([ipc["bytes"] / ms / 1e6 for ms in ipc["event_ms"]])])
    yield "Memory, GB/s of bytes that must be read and written", ["who", "operation", "GB/s"], rows


def markdown(title, header, rows):
    if not rows:
        return ""
    lines = [f"### {title}", "", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n\n"


def main():
    folder = sys.argv[1]
    steps, memory, notes, context, clocks, ipc = collect(read(os.path.join(folder, "bench.jsonl")))
    write_csv(os.path.join(folder, "steps.csv"), STEP, steps, "ms")
    write_csv(os.path.join(folder, "memory.csv"), ("who", "operation"), memory, "gb_s")
    text = "## hopbench and PyTorch in turns\n\n"
    if context:
        text += f"PyTorch {context['torch']}, CUDA {context['cuda']}, cuDNN {context['cudnn']}, {context['gpu'] or 'CPU'}; up to " \
                f"{context['rounds']} rounds of {context['steps']} steps; medians, quartiles over rounds" \
                f"{'; PyTorch deterministic' if context['deterministic'] else ''}.\n\n"
    if clocks:
        text += "Between rounds: " + ", ".join(f"{name} {shown([line[name] for line in clocks])}" for name in clocks[0]) + ".\n\n"
    for table in (*step_tables(steps), *memory_table(memory, ipc)):
        text += markdown(*table)
    if ipc and not ipc["works"]:
        notes.append(f"CUDA IPC between two processes does not work: {ipc.get('reason', 'what arrived is not what was sent')}")
    if notes:
        text += "Not measured:\n\n" + "".join(f"- {note}\n" for note in dict.fromkeys(notes)) + "\n"
    with open(os.path.join(folder, "bench.md"), "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
