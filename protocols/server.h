// What protocols over parameter servers share (protocols/parameter_server.cpp and others): the worker's loop, and which
// ranks there are. What a server keeps is in protocols/shard.h.
#pragma once

#include <vector>

#include "protocols/node.h"

namespace hopbench {

/// A worker: pushes the gradient of iteration k to every server, a slice each, and goes on when all new weights are
/// there. When that is, and what is in them, is the servers' rule.
void work(Node& self);

/// The knob `servers`, how many ranks it asks for, and their links: all workers to all servers, and the first server,
/// which decides, to the others.
Knob servers_knob();
int server_count(const Setting& setting);
std::vector<Edge> server_links(const Setting& setting);

}  // namespace hopbench
