// The common parts of protocols over parameter servers (protocols/server/parameter_server.cpp and others): a worker's
// and a server's side of an iteration, and the ranks that there are. The part that a server keeps is in
// protocols/server/shard.h.
#pragma once

#include <functional>
#include <vector>

#include "protocols/node/node.h"
#include "protocols/server/stripes.h"

namespace hopbench::server {

/// Returns the parts of the model that one of the servers keeps.
Stripes stripes_at(Node& self, int server);

/// Sends each server its part of a worker's gradient of iteration k, as one message with `words`. Gathering the part is
/// not charged, because a good implementation sends it from where it lies.
void push_gradient(Node& self, Iter k, const Vec& g, Words words = {});

/// Waits for all servers' answers to that push, and returns the new weights, of the size and in the space of `like`. If
/// `said` is given, it becomes the first server's words.
Vec pull_weights(Node& self, Iter k, const Vec& like, Words* said = nullptr);

/// A worker that was away (Node::returned) takes all servers' weights into x. Returns the iteration with which it goes
/// on, which is k or, where the servers keep a clock, the first server's choice. `hear` is called with the number of
/// updates in the first server's weights.
Iter rejoin(Node& self, Iter k, Vec& x, const std::function<void(const Words& words)>& hear = {});

/// The words that a worker sends with its push of iteration k, and what it does with the first server's words in the
/// answer, and with the number of updates in the weights that it takes after an absence. Each may be empty.
struct Talk {
  std::function<Words(Iter k)> say = {};
  std::function<void(Iter k, const Words& words)> hear = {};
  std::function<void(const Words& words)> back = {};
};

/// Runs a worker: it pushes the gradient of iteration k and goes on when all new weights have arrived. The servers'
/// rule decides when that is, and what is in them.
void work(Node& self, const KnobValues& knobs, const Talk& talk = {});

/// Runs a server under BSP: adds up gradients as they come, in the order of the workers. Once those of all workers are
/// in the mean, makes one step and answers. If `by_samples`, the first word of a push is the weight of its gradient in
/// the mean; else all weigh the same.
void serve_bsp(Node& self, bool by_samples = false);

/// Sends a decision of the first server, if one decides for all, to the others, as a kClock of iteration k.
void tell_servers(Node& self, Iter k, Words decision);

/// Fills in what asynchronous protocols over servers have in common: ranks and links, and that the others go on without
/// a worker that is lost or away.
Protocol asynchronous(Protocol own);

/// Returns the knob `servers`, or a protocol's own knobs followed by it and `overlap`.
Knob servers_knob();
std::vector<Knob> with_server_knobs(std::vector<Knob> own);
/// Returns the number of ranks that `servers` asks for, or their links: all workers to all servers, and the first
/// server, which decides, to the others.
int server_count(const Setting& setting);
std::vector<Edge> server_links(const Setting& setting);

}  // namespace hopbench::server
