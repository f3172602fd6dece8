#include "protocols/gossip/push_sum.h"

#include <bit>

#include "protocols/node/collectives.h"

namespace hopbench::gossip {
namespace push_sum {
namespace {

// Converts a number to a word of a message, and back.
std::int64_t word(double number) { return std::bit_cast<std::int64_t>(number); }
double number(std::int64_t bits) { return std::bit_cast<double>(bits); }

}  // namespace
}  // namespace push_sum

PushSum::PushSum(Node& self, bool weighs) : self_(self), weighs_(weighs), x_(self.initial()) {
  if (weighs_) z_ = self.initial();
}

void PushSum::push(const std::vector<int>& peers, Iter k, float p) {
  for (int peer : peers) self_.send(peer, kParams, k, share(x_), {push_sum::word(w_), push_sum::word(p)});
}

void PushSum::receive(const std::vector<Message>& pushes, Iter k, float p) {
  std::vector<Term> terms = terms_of(pushes);
  double w = p * w_;
  for (std::size_t i = 0; i < pushes.size(); ++i) {
    const double w_of_sender = push_sum::number(pushes[i].words[0]), p_of_sender = push_sum::number(pushes[i].words[1]);
    terms[i].weight = static_cast<float>(p_of_sender);
    w += p_of_sender * w_of_sender;
  }
  terms.push_back({.sender = self_.rank, .tag = k, .value = share(x_), .weight = p});
  x_ = sum(self_, k, std::move(terms));
  w_ = w;
  if (!weighs_) return;
  const Payload x[] = {share(x_)};
  const float inverse[] = {static_cast<float>(1 / w_)};
  self_.operate(bytes_of(2 * x_.size()), [&] { z_ = weighted_sum(x, inverse); });
}

}  // namespace hopbench::gossip
