#include "results/tables/terms.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "results/files/kinds.h"

namespace hopbench {
namespace {

constexpr const char *kColumn = "column", *kRow = "row", *kSign = "sign", *kMark = "mark", *kFigure = "figure",
                     *kAdvice = "advice";

constexpr TableWord kTerms[] = {
    {"variant", kColumn, "a protocol with its knobs, by its label in the suite"},
    {"n", kColumn, "repeats that ended well; \"2 of 3\": one failed, and is in no number of the row"},
    {"samples/s", kColumn,
     "samples of gradients that were computed, all workers, after the warm-up and before the first worker ends"},
    {"iterations/s", kColumn, "mean of the workers; a jumped iteration is not an iteration"},
    {"speed-up", kColumn,
     "over the reference: geometric mean of ratios paired by repeat, since all variants of a repeat meet the same "
     "draws. "
     "Of a measure of convergence: of times to the target"},
    {"waiting", kColumn,
     "share of the workers' time in which they waited for a message or a token; median of the repeats"},
    {"mostly for", kColumn, "what the workers waited for longest"},
    {"gradients lost", kColumn,
     "gradients that were computed and reached no model that is kept; share of all gradients"},
    {"iterations jumped", kColumn, "iterations that a worker skipped; share of those it would have done"},
    {"heard/s", kColumn,
     "samples/s of gradients that another worker averaged or a server applied, and their speed-up; of one worker "
     "alone, "
     "its own"},
    {"hosts", kColumn, "also those of servers, group generators and controllers, where these have their own"},
    {"samples/s a host", kColumn, "samples/s divided by the number of hosts"},
    {"time to target", kColumn, "time at which the fitted curve of the loss crosses the target"},
    {"time held", kColumn, "time of the first of several evaluations in a row that are at or below the target"},
    {"samples to target", kColumn, "samples at which the fitted curve of the loss crosses the target"},
    {"samples held", kColumn, "samples at the first of several evaluations in a row that are at or below the target"},
    {"loss", kColumn, "of the last evaluation, median of the repeats: mean model, median rank, worst rank"},
    {"accuracy", kColumn, "of the last evaluation, median of the repeats: mean model, median rank, worst rank"},
    {"ranks lost", kColumn, "crashed or left before the end; rates and losses are of the others"},
    {"against no faults", kColumn, "over the same variant's trials without the scenario's faults"},
    {"marks", kColumn, "what to know about some of the repeats before comparing them; each is a word of this list"},
    {"share of samples", kColumn, "of the samples in gradients that were not lost"},
    {"mean age", kColumn,
     "iterations by which what the worker averaged was older than its own iteration, on average; below 0: newer"},
    {"loss on its own", kColumn,
     "of the final mean model on the worker's own samples: skewed data in virtual time only"},
    {"ideal", kRow, "the rate if no device had idled, the largest over the variants' windows"},
    {"slowest rank", kRow,
     "the rate if every worker went at the pace of the slowest one: lock step's, where one worker is always slow; "
     "where slowdowns are random, lock step is slower"},
    {"slowest left out", kRow, "the others alone, as slow as the slowest of them (same draws)"},
    {"(a .. b)", kSign, "smallest and largest of the repeats"},
    {"[a, b]", kSign, "95 % interval: of a median from 6 repeats on, of a speed-up (t-interval) from 3 pairs on"},
    {"> T", kSign, "not reached by the end of the trial; such a trial counts in n and in the median"},
    {"-", kSign, "not known: no trial has such a value"},
    {"a / b / c", kSign, "the worker with the least, the median worker, the one with the most"},
    {"1 (reference)", kSign, "the variant over which speed-ups are: run.reference"},
    {"untuned", kSign, "learning rates are the suite's, not found by hopbench tune"},
    {"who pays", kSign, "a table of what the workers contribute and bear, where they do not do so alike"},
    {"full-text", kSign, "the protocol follows its paper, which was read"},
    {"abstract+code", kSign, "the protocol follows the abstract of its paper and public code"},
    {"proposed here", kSign, "a protocol that no paper describes"},
    {"not checked", kSign,
     "recalled, and not checked against the paper's text: sure, likely or a guess. docs/protocols.md says what rests "
     "on it"},
    {"experimental", kMark, "a rule of this variant is not checked against the paper's text, and is likely or a guess"},
    {"failed", kMark, "a trial that ended too early: the notes below the table and trials.csv say why"},
    {"interrupted", kMark, "a trial that the user ended; hopbench run --resume runs it again"},
    {"messages lost", kFigure, "messages to this rank that were lost on their way (network.loss)"},
    {"gradients cut", kFigure, "gradients that this worker began, and threw away before their end; they count as none"},
    {"samples abandoned", kFigure, "samples that this worker had computed of gradients cut; they count in no rate"},
    {"samples for others", kFigure, "samples of other workers' share that this worker computed (ps_flexrr)"},
    {"batch changes", kFigure, "how often this worker's batch size changed"},
    {"prediction error", kFigure, "mean error of the predicted seconds for a sample, relative (lb_bsp)"},
    {"samples heard/s", kAdvice, "samples per second whose gradients reach other workers, and its 90 % interval"},
    {"gain", kAdvice, "samples heard/s over that of the present protocol, and its 90 % interval"},
    {"bytes/sample", kAdvice, "bytes that all ranks send for each sample"},
    {"ahead at most", kAdvice, "iterations that a worker may be ahead of another; ?: no bound is known"},
    {"staleness", kAdvice,
     "age of averaged or applied terms, on average: in iterations between workers (below 0: newer than its own), and "
     "in updates at servers"},
    {"unheard", kAdvice, "share of a worker's gradients that reach no other rank; of the worker with the largest"},
    {"lost", kAdvice, "share of a worker's gradients that are thrown away; of the worker with the largest"},
    {"class", kAdvice,
     "what a variant changes: 1 nothing but rounding, against the updates of all-reduce; 2 every gradient is used and "
     "the lead is bounded, but averages come later, are compressed, or steps are of other gradients; 3 the rest"},
    {"verdict", kAdvice, "present, recommended, check convergence, or nothing: slower than the answer or not certain"},
    {"present", kAdvice, "a verdict: the protocol that the job uses now (--present)"},
    {"recommended", kAdvice, "a verdict: the fastest variant of class 1 whose whole interval of gain is above 1"},
    {"slowdown", kAdvice,
     "of hopbench whatif: samples/s with ideal workers alone over samples/s with this worker as recorded"},
    {"change", kAdvice, "of hopbench whatif: the one thing that differs from the recorded cluster"},
    {"for each worker", kAdvice, "of hopbench whatif: samples/s over the number of workers, against the recorded job"},
    {"check convergence", kAdvice,
     "a verdict: the fastest variant of class 2 whose whole interval of gain is above 1; speed alone does not tell if "
     "the job learns as well with it"},
    {"loss on its own samples", kFigure, "loss of the final mean model on the worker's own samples: skewed data only"},
};

}  // namespace

std::vector<TableWord> table_words() {
  std::vector<TableWord> all(std::begin(kTerms), std::end(kTerms));
  for (int k = 1; k < kWarningKinds; ++k) {  // 0 is for records of later versions
    const auto kind = static_cast<WarningKind>(k);
    all.push_back({to_string(kind), kMark, explanation_of(kind)});
  }
  return all;
}

std::string provenance(std::string_view source) {
  std::string text(source);
  for (const auto& [memory, shown] : {std::pair{"memory high", "not checked (sure)"},
                                      {"memory medium", "not checked (likely)"},
                                      {"memory low", "not checked (guess)"},
                                      {"memory H", "not checked (sure)"},
                                      {"memory M", "not checked (likely)"},
                                      {"memory L", "not checked (guess)"},
                                      {"memory", "not checked"}}) {
    text = replaced(std::move(text), memory, shown);
  }
  return text;
}

std::string explained(std::string_view name) {
  const auto* const term =
      std::find_if(std::begin(kTerms), std::end(kTerms), [&](const TableWord& each) { return name == each.name; });
  HB_ASSERT(term != std::end(kTerms));
  return std::string(term->name) + ": " + term->meaning;
}

}  // namespace hopbench
