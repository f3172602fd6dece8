// A worker that was away, in protocols over parameter servers.
#pragma once

#include <functional>

#include "protocols/node/node.h"

namespace hopbench::server {

/// A worker that was away (Node::returned) takes all servers' weights into x. Returns the iteration with which it goes
/// on, which is k or, where the servers keep a clock, the first server's choice. `hear` is called with the number of
/// updates in the first server's weights.
Iter rejoin(Node& self, Iter k, Vec& x, const std::function<void(const Words& words)>& hear = {});

}  // namespace hopbench::server
