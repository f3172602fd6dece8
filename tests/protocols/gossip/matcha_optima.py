#!/usr/bin/python3
"""Writes the best mean connectivity of MATCHA's matchings, by cutting planes, into matcha_optima.csv.

Each line of the table has a graph's name, its number of workers, its matchings, and the largest second smallest eigenvalue of the
mean Laplacian at budgets 0.1, 0.3, 0.5, 0.7 and 1. The matchings are read from the table, so a new graph is a line that ends after
them. Needs python3-scipy.
"""
import os

import numpy
from scipy.optimize import linprog

BUDGETS = (0.1, 0.3, 0.5, 0.7, 1.0)
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "matcha_optima.csv")


def laplacian(workers, matching):
    result = numpy.zeros((workers, workers))
    for link in matching.split():
        a, b = map(int, link.split("-"))
        result[a, a] += 1
        result[b, b] += 1
        result[a, b] -= 1
        result[b, a] -= 1
    return result


def optimum(laplacians, budget):
    """Maximises t where v'Lv >= t for every v that was an eigenvector so far: an upper bound that comes down to the optimum."""
    most, best, cuts = budget * len(laplacians), 0, []
    chances = numpy.full(len(laplacians), budget)
    scale = numpy.linalg.eigvalsh(numpy.tensordot(chances, laplacians, 1))[1]
    for _ in range(3000):
        values, vectors = numpy.linalg.eigh(numpy.tensordot(chances, laplacians, 1))
        best = max(best, values[1])
        for v in vectors.T[1:]:
            cuts.append([-v @ each @ v / scale for each in laplacians] + [1.0])
        solution = linprog([0.0] * len(chances) + [-1.0], A_ub=cuts, b_ub=[0.0] * len(cuts), A_eq=[[1.0] * len(chances) + [0.0]],
                           b_eq=[most], bounds=[(0, 1)] * len(chances) + [(0, None)])
        if -solution.fun * scale - best <= 1e-5 * best:
            return best
        chances = solution.x[:-1]
    raise SystemExit("matcha_optima.py: no optimum within 3000 planes")


def main():
    with open(TABLE) as file:
        lines = [line.rstrip("\n").split(",") for line in file]
    with open(TABLE, "w") as file:
        print(*lines[0], sep=",", file=file)
        for name, workers, matchings, *_ in lines[1:]:
            laplacians = numpy.array([laplacian(int(workers), each) for each in matchings.split("|")])
            optima = ["%.6f" % optimum(laplacians, budget) for budget in BUDGETS]
            print(name, workers, matchings, *optima, sep=",", file=file, flush=True)


main()
