#include "protocols/hop/unheard.h"

namespace hopbench::hop {

void Unheard::lose(Iter k) { self_.lost(k, "jumped before it was sent in time"); }

void Unheard::lose_all() {
  for (const Iter k : gradients_) lose(k);
  gradients_.clear();
}

}  // namespace hopbench::hop
