#include "results/tables/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/record/kinds.h"
#include "backends/base/text.h"

namespace hopbench {
namespace {

constexpr const char *kColumn = "column", *kRow = "row", *kSign = "sign", *kMark = "mark", *kFigure = "figure",
                     *kAdvice = "advice";

constexpr Column kTerms[] = {
    {kColumn, "variant", "", "a protocol with its knobs, by its label in the suite"},
    {kColumn, "n", "", "repeats that ended well; \"2 of 3\": one failed, and is in no number of the row"},
    {kColumn, "samples/s", "samples/s",
     "samples of gradients that were computed, all workers, after the warm-up and before the first worker ends"},
    {kColumn, "iterations/s", "1/s", "mean of the workers; a jumped iteration is not an iteration"},
    {kColumn, "speed-up", "",
     "over the reference: geometric mean of ratios paired by repeat, since all variants of a repeat meet the same "
     "draws. Of a measure of convergence: of times to the target"},
    {kColumn, "waiting", "share",
     "share of the workers' time in which they waited for a message or a token; median of the repeats"},
    {kColumn, "mostly for", "", "what the workers waited for longest"},
    {kColumn, "gradients lost", "",
     "gradients that were computed and reached no model that is kept; share of all gradients"},
    {kColumn, "iterations jumped", "", "iterations that a worker skipped; share of those it would have done"},
    {kColumn, "heard/s", "samples/s",
     "samples/s of gradients that another worker averaged or a server applied, and their speed-up; of one worker "
     "alone, its own"},
    {kColumn, "hosts", "", "also those of servers, group generators and controllers, where these have their own"},
    {kColumn, "samples/s a host", "samples/s", "samples/s divided by the number of hosts"},
    {kColumn, "time to target", "s", "time at which the fitted curve of the loss crosses the target",
     "time to target, s"},
    {kColumn, "time held", "s", "time of the first of several evaluations in a row that are at or below the target",
     "time held, s"},
    {kColumn, "samples to target", "samples", "samples at which the fitted curve of the loss crosses the target"},
    {kColumn, "samples held", "samples",
     "samples at the first of several evaluations in a row that are at or below the target"},
    {kColumn, "loss", "", "of the last evaluation, median of the repeats: mean model, median rank, worst rank",
     "loss: mean / median / worst rank"},
    {kColumn, "accuracy", "%", "of the last evaluation, median of the repeats: mean model, median rank, worst rank",
     "accuracy, %: mean / median / worst rank"},
    {kColumn, "ranks lost", "", "crashed or left before the end; rates and losses are of the others"},
    {kColumn, "against no faults", "", "over the same variant's trials without the scenario's faults"},
    {kColumn, "marks", "", "what to know about some of the repeats before comparing them; each is a word of this list"},
    {kColumn, "share of samples", "", "of the samples in gradients that were not lost"},
    {kColumn, "mean age", "iterations",
     "iterations by which what the worker averaged was older than its own iteration, on average; below 0: newer",
     "mean age, iterations"},
    {kColumn, "loss on its own", "",
     "of the final mean model on the worker's own samples: skewed data in virtual time only"},
    {kRow, "ideal", "", "the rate if no device had idled, the largest over the variants' windows"},
    {kRow, "slowest rank", "",
     "the rate if every worker went at the pace of the slowest one: lock step's, where one worker is always slow; "
     "where slowdowns are random, lock step is slower"},
    {kRow, "slowest left out", "", "the others alone, as slow as the slowest of them (same draws)"},
    {kSign, "(a .. b)", "", "smallest and largest of the repeats"},
    {kSign, "[a, b]", "", "95 % interval: of a median from 6 repeats on, of a speed-up (t-interval) from 3 pairs on"},
    {kSign, "> T", "", "not reached by the end of the trial; such a trial counts in n and in the median"},
    {kSign, "-", "", "not known: no trial has such a value"},
    {kSign, "a / b / c", "", "the worker with the least, the median worker, the one with the most"},
    {kSign, "1 (reference)", "", "the variant over which speed-ups are: run.reference"},
    {kSign, "untuned", "", "learning rates are the suite's, not found by hopbench tune"},
    {kSign, "who pays", "", "a table of what the workers contribute and bear, where they do not do so alike"},
    {kSign, "full-text", "", "the protocol follows its paper, which was read"},
    {kSign, "abstract+code", "", "the protocol follows the abstract of its paper and public code"},
    {kSign, "proposed here", "", "a protocol that no paper describes"},
    {kSign, "not checked", "",
     "recalled, and not checked against the paper's text: sure, likely or a guess. docs/protocols.md says what rests "
     "on it"},
    {kMark, "experimental", "",
     "a rule of this variant is not checked against the paper's text, and is likely or a guess"},
    {kMark, "failed", "", "a trial that ended too early: the notes below the table and trials.csv say why"},
    {kMark, "interrupted", "", "a trial that the user ended; hopbench run --resume runs it again"},
    {kFigure, "messages lost", "", "messages to this rank that were lost on their way (network.loss)"},
    {kFigure, "gradients cut", "",
     "gradients that this worker began, and threw away before their end; they count as none"},
    {kFigure, "samples abandoned", "", "samples that this worker had computed of gradients cut; they count in no rate"},
    {kFigure, "samples for others", "", "samples of other workers' share that this worker computed (ps_flexrr)"},
    {kFigure, "batch changes", "", "how often this worker's batch size changed"},
    {kFigure, "prediction error", "", "mean error of the predicted seconds for a sample, relative (lb_bsp)"},
    {kAdvice, "samples heard/s", "samples/s",
     "samples per second whose gradients reach other workers, and its 90 % interval", "samples heard/s [90 %]"},
    {kAdvice, "gain", "", "samples heard/s over that of the present protocol, and its 90 % interval"},
    {kAdvice, "bytes/sample", "", "bytes that all ranks send for each sample"},
    {kAdvice, "ahead at most", "", "iterations that a worker may be ahead of another; ?: no bound is known"},
    {kAdvice, "staleness", "",
     "age of averaged or applied terms, on average: in iterations between workers (below 0: newer than its own), and "
     "in updates at servers"},
    {kAdvice, "unheard", "", "share of a worker's gradients that reach no other rank; of the worker with the largest"},
    {kAdvice, "lost", "", "share of a worker's gradients that are thrown away; of the worker with the largest"},
    {kAdvice, "class", "",
     "what a variant changes: 1 nothing but rounding, against the updates of all-reduce; 2 every gradient is used and "
     "the lead is bounded, but averages come later, are compressed, or steps are of other gradients; 3 the rest"},
    {kAdvice, "verdict", "",
     "present, recommended, check convergence, or nothing: slower than the answer or not certain"},
    {kAdvice, "present", "", "a verdict: the protocol that the job uses now (--present)"},
    {kAdvice, "recommended", "", "a verdict: the fastest variant of class 1 whose whole interval of gain is above 1"},
    {kAdvice, "slowdown", "",
     "of hopbench whatif: samples/s with ideal workers alone over samples/s with this worker as recorded"},
    {kAdvice, "change", "", "of hopbench whatif: the one thing that differs from the recorded cluster"},
    {kAdvice, "for each worker", "",
     "of hopbench whatif: samples/s over the number of workers, against the recorded job"},
    {kAdvice, "check convergence", "",
     "a verdict: the fastest variant of class 2 whose whole interval of gain is above 1; speed alone does not tell if "
     "the job learns as well with it"},
    {kFigure, "loss on its own samples", "",
     "loss of the final mean model on the worker's own samples: skewed data only"},
};

}  // namespace

std::vector<Column> table_words() {
  std::vector<Column> all(std::begin(kTerms), std::end(kTerms));
  for (int k = 1; k < kWarningKinds; ++k) {  // 0 is for records of later versions
    const auto kind = static_cast<WarningKind>(k);
    all.push_back({kMark, to_string(kind), "", explanation_of(kind)});
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

const Column& term(std::string_view name) {
  const auto* const term =
      std::find_if(std::begin(kTerms), std::end(kTerms), [&](const Column& each) { return name == each.name; });
  HB_ASSERT(term != std::end(kTerms));
  return *term;
}

Head listed(const char* column) {
  const Column& known = term(column);
  return {known.name, known.title == nullptr ? known.name : known.title, known.unit};
}

std::vector<Head> listed(std::initializer_list<const char*> columns) {
  std::vector<Head> heads;
  for (const char* column : columns) heads.push_back(listed(column));
  return heads;
}

std::string explained(const char* name) { return fmt::format("{}: {}", name, term(name).meaning); }

void explain(Table& table, const char* column) {
  table.notes.push_back({explained(column), Note::Kind::kShared, column});
}

}  // namespace hopbench
