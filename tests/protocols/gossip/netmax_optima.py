#!/usr/bin/python3
"""Writes netmax_optima.csv: 200 random networks, and for each the best policy of NetMax that linear programmes find.

A line has the number of workers n, the best predicted rate at which models come together (docs/protocols/gossip.md,
reading N3 of netmax), and n x n times of an iteration in ms: row i of worker i while it pulls from each rank, on the
diagonal from nobody, 0 for no link. For 20 pulls and 21 mean times, a linear programme finds chances of at least twice
the pull with this mean time for all workers (or as near as a worker can come), with the fewest iterations without a
pull. Takes some 10 minutes on two cores. Needs python3-scipy.
"""
import multiprocessing
import os
import random

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import lil_matrix

PULLS, PACES = 20, 20


def networks(count):
    draw = random.Random(20)
    for k in range(count):
        n = 3 + k % 14
        kind = draw.choice(["ring", "complete", "random", "tree"])
        links = {(a, a - 1 if kind == "ring" else draw.randrange(a)) for a in range(1, n)}
        links |= {(n - 1, 0)} if kind == "ring" else set()
        share = {"complete": 1, "random": 0.3}.get(kind, 0)
        links |= {(a, b) for a in range(n) for b in range(a) if draw.random() < share}
        far, slow = draw.choice([1, 1.05, 2, 10, 50]), draw.choice([1, 1, 1.05, 2, 4])
        latency, alike = draw.choice([50, 200]), draw.random() < 0.5
        times = np.diag([round(200 * slow ** draw.random()) for _ in range(n)])
        for a, b in sorted(links):
            there, back = latency * far ** draw.random(), latency * far ** draw.random()
            times[a, b] = max(times[a, a], round(there))
            times[b, a] = max(times[b, b], round(there if alike else back))
        yield times


def rate(times, chances, pull):
    """The predicted rate. A pull is W = 1 - w e_i (e_i - e_m)', of which W'W is added up entry by entry."""
    n = len(times)
    square = np.eye(n)
    for i, m in zip(*np.nonzero(times)):
        if i != m:
            w = pull / chances[i, m]
            square[i, i] += chances[i, m] / n * (w * w - 2 * w)
            square[m, m] += chances[i, m] / n * w * w
            square[i, m] += chances[i, m] / n * (w - w * w)
            square[m, i] += chances[i, m] / n * (w - w * w)
    factor = np.linalg.eigvalsh(square)[-2]
    return -np.log(factor) / np.mean(np.sum(chances * times, axis=1))


def programme(times, pull, pace):
    n = len(times)
    arcs = [(i, m) for i in range(n) for m in range(n) if times[i, m] > 0]
    equal, wanted = lil_matrix((2 * n, len(arcs))), np.ones(2 * n)
    for v, (i, m) in enumerate(arcs):
        equal[i, v], equal[n + i, v] = 1, times[i, m] / 200
    for i, (low, high) in enumerate(paces(times, pull)):
        wanted[n + i] = min(max(pace, low), high) / 200
    found = linprog([i == m for i, m in arcs], A_eq=equal.tocsr(), b_eq=wanted, method="highs",
                    bounds=[(0 if i == m else 2 * pull, 1) for i, m in arcs])
    if found.status != 0:
        return None
    chances = np.zeros((n, n))
    chances[tuple(np.transpose(arcs))] = found.x
    return chances


def paces(times, pull):
    """The mean times that each worker can have."""
    for i, row in enumerate(times):
        others = np.delete(row, i)
        others = others[others > 0]
        spent, left = 2 * pull * others.sum(), 1 - 2 * pull * len(others)
        yield spent + left * min(row[i], others.min()), spent + left * others.max()


def best(times):
    degree = max(np.count_nonzero(row) - 1 for row in times)
    found = 0
    for r in range(1, PULLS + 1):
        pull = r / PULLS * 0.5 / degree
        low, high = (side(each) for side, each in zip((max, min), zip(*paces(times, pull))))
        for pace in np.linspace(low, high, PACES + 1):
            chances = programme(times, pull, pace)
            if chances is not None:
                found = max(found, rate(times, chances, pull))
    return found


def main():
    with open(os.path.join(os.path.dirname(__file__), "netmax_optima.csv"), "w") as out:
        for times, found in zip(networks(200), multiprocessing.Pool(2).imap(best, networks(200))):
            print(len(times), "%.9g" % found, *times.flatten(), sep=",", file=out, flush=True)


main()
