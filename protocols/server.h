// The worker's side of every parameter server, and how workers and servers are laid out.
#pragma once

#include <functional>
#include <vector>

#include "protocols/node.h"

namespace hopbench {

/// What a worker says with its push of iteration k, and what it makes of the first server's words in the answer. Either
/// may be empty.
struct Talk {
  std::function<Words(Iter k)> say = {};
  std::function<void(Iter k, const Words& words)> hear = {};
};

/// A worker: it pushes the gradient of iteration k, a slice to each server, and goes on when all have answered with
/// their weights.
void work(Node& self, const Talk& talk = {});

/// How many servers there are: the knob, and the facts extra_ranks and links of a protocol that has it.
Knob servers_knob();
int server_count(const Setting& setting);
std::vector<Edge> server_links(const Setting& setting);  // every worker to every server; the first to the others

}  // namespace hopbench
