// One figure of a run as a paper has it: sized for a column, drawn by gnuplot, kept apart by dashes and points as well
// as by colours (Okabe and Ito's, which the colour-blind tell apart, ordered so that greys differ).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/run_folder.h"

namespace hopbench {

struct PaperFigureKind {
  const char *id, *what;
};
std::span<const PaperFigureKind> paper_figures();

struct PaperFigure {
  std::string id;
  std::string script;   // for gnuplot, data and all, but for terminal and output
  std::string caption;  // what must be said below it: n, seeds, clock, evaluated model, tuned or not, reading
  int panels = 1;
};

/// Of these trials, a panel for each measure and scenario that has such a figure, at most four. Error(kUsage) for an
/// unknown id, for none, or for more (--filter takes some). `title` stands above the figure. If it is empty, the figure
/// has no titles at all; if it is not given, several panels are named by their scenarios, and a single one has no
/// title.
PaperFigure paper_figure(std::span<const TrialRow> rows, const std::string& reference, const std::string& id,
                         const std::optional<std::string>& title = std::nullopt);

/// Draws it into FILE.svg, .png (300 dots an inch) or .pdf (fonts embedded). Error(kUsage) for another ending,
/// Error(kEnvironment) if gnuplot is not there or fails.
void draw(const PaperFigure& figure, const std::string& file);

}  // namespace hopbench
