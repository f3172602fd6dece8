// A rank as a protocol sees it. The path that a protocol of your own includes; it stays when directories change.
#pragma once

#include "protocols/node/node.h"
