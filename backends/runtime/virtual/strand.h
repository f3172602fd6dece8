// A strand of control that can be suspended: stackful, so that protocols are plain blocking code.
//
// Two kinds with the identical order of events: fibers (Boost.Context, 16 ns a switch) and lock-step threads (25-54 us;
// for gdb, TSan and machines without Boost). The caller that resumes a strand stands still until it suspends again.
// Under ASan fibers announce their switches. Under TSan they are not available.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace hopbench {

enum class StrandKind { kFibers, kThreads };

class Strand {
 public:
  virtual ~Strand() = default;  // the body must have returned, or never have been started
  /// Runs the body until it suspends or returns. Called from outside the strand. Throws an exception that leaves the
  /// body.
  virtual void resume() = 0;
  /// Called from inside: returns control to the caller of resume. May be called within a catch block.
  virtual void suspend() = 0;
  virtual bool done() const = 0;
};

/// Makes a strand whose body starts at the first resume. `stack_bytes` is for fibers; overrunning it is a segmentation
/// fault, not silence. Throws Error(kEnvironment) if the kind is not available.
std::unique_ptr<Strand> make_strand(StrandKind kind, std::function<void()> body, std::size_t stack_bytes = 256 * 1024);

/// Returns true if this build has the kind. Fibers need Boost.Context and are not available under TSan.
bool strand_kind_available(StrandKind kind);

namespace detail {
bool fibers_available();
std::unique_ptr<Strand> make_fiber(std::function<void()> body, std::size_t stack_bytes);
}  // namespace detail

}  // namespace hopbench
