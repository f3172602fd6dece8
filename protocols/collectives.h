// Averages and collectives that protocols share. The path that a protocol of your own includes; it stays when
// directories change.
#pragma once

#include "protocols/node/collectives.h"
