// What protocols over parameter servers share (protocols/parameter_server.cpp and others): a worker's and a server's
// side of an iteration, and which ranks there are. What a server keeps is in protocols/shard.h.
#pragma once

#include <functional>
#include <vector>

#include "protocols/node.h"
#include "protocols/stripes.h"

namespace hopbench {

/// The parts of the model that one of the servers keeps.
Stripes stripes_at(Node& self, int server);

/// A worker's gradient of iteration k, to each server what it keeps of it, as one message with `words`. Gathering
/// it is not charged, because a good implementation sends it from where it lies.
void push_gradient(Node& self, Iter k, const Vec& g, Words words = {});

/// Waits for all servers' answers to that push: the new weights, of the size and in the space of `like`. `said`, if
/// given, becomes the first server's words.
Vec pull_weights(Node& self, Iter k, const Vec& like, Words* said = nullptr);

/// What a worker says with its push of iteration k, and what it makes of the first server's words in the answer. Either
/// may be empty.
struct Talk {
  std::function<Words(Iter k)> say = {};
  std::function<void(Iter k, const Words& words)> hear = {};
};

/// A worker's whole run: it pushes the gradient of iteration k and goes on when all new weights are there. When that
/// is, and what is in them, is the servers' rule.
void work(Node& self, const KnobValues& knobs, const Talk& talk = {});

/// A server's whole run under BSP: gradients are added up as they come, in the order of the workers; once those of all
/// workers are in the mean, one step and the answers. `by_samples`: the first word of a push is the weight of its
/// gradient in the mean; else all weigh the same.
void serve_bsp(Node& self, bool by_samples = false);

/// The first pushes that `fits` accepts, so many of them; fewer where nobody is left who could send one, nobody's if
/// all have left. For a server that does not wait for everybody: `fits` is asked of each push as it comes, and answers
/// those that it does not accept.
std::vector<Message> first_pushes(Node& self, int enough, const std::function<bool(const Message& push)>& fits);

/// From the first server, where one decides for all, to the others: what it has decided, as a kClock of iteration k.
void tell_servers(Node& self, Iter k, Words decision);

/// The knob `servers`, and a protocol's own knobs followed by it and `overlap`.
Knob servers_knob();
std::vector<Knob> with_server_knobs(std::vector<Knob> own);
/// How many ranks `servers` asks for, and their links: all workers to all servers, and the first server, which decides,
/// to the others.
int server_count(const Setting& setting);
std::vector<Edge> server_links(const Setting& setting);

}  // namespace hopbench
