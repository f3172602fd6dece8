// One figure of a run for a paper: the page's own drawing, laid out for a column. Dashes tell its lines apart as well
// as colours (Okabe and Ito's, which colour-blind readers tell apart).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/files/run_folder.h"

namespace hopbench {

struct PaperFigureKind {
  const char *id, *what;
};
std::span<const PaperFigureKind> paper_figures();

struct PaperFigure {
  std::string svg;      // 3.33 inches wide
  std::string caption;  // the text to put below it: n, seeds, clock, evaluated model, tuned or not, reading
};

/// Makes a figure of these trials, with a panel for each measure and scenario that has such a figure, at most four.
/// Error(kUsage) for an unknown id, for no panel, or for more than four (--filter takes some). `title` stands above the
/// figure. If it is empty, the figure has no titles at all. If it is not given, several panels are named by their
/// scenarios, and a single one has no title.
PaperFigure paper_figure(std::span<const TrialRow> rows, const std::string& reference, const std::string& id,
                         const std::optional<std::string>& title = std::nullopt);

/// Draws the figure into FILE.svg, .png (300 dots an inch) or .pdf (fonts embedded). Error(kUsage) for another ending,
/// Error(kEnvironment) if rsvg-convert, which makes PNG and PDF of the SVG, is not there or fails.
void draw(const PaperFigure& figure, const std::string& file);

}  // namespace hopbench
