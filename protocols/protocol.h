// A protocol as the rest of the program sees it. The path that a protocol of your own includes; it stays when
// directories change.
#pragma once

#include "protocols/node/protocol.h"
