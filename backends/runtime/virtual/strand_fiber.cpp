#include "backends/base/error.h"
#include "backends/runtime/virtual/strand.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HB_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define HB_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HB_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define HB_TSAN 1
#endif

#if defined(HB_HAVE_FIBERS) && !defined(HB_TSAN)

#include <cxxabi.h>

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstring>
#include <exception>
#include <utility>

#ifdef HB_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace hopbench::detail {
namespace {

namespace context = boost::context;

// The C++ runtime keeps its state of exceptions in flight per thread. Fibers share a thread, so each has a copy of its
// own. Otherwise a strand suspended within a catch block would see the exceptions of another.
struct ExceptionState {
  unsigned char bytes[sizeof(void*) + sizeof(unsigned int)] = {};

  static ExceptionState swap(const ExceptionState& to) {
    ExceptionState old;
    void* globals = abi::__cxa_get_globals();
    std::memcpy(old.bytes, globals, sizeof(old.bytes));
    std::memcpy(globals, to.bytes, sizeof(to.bytes));
    return old;
  }
};

// Tells ASan on which stack we are. Without it g++ 12's ASan takes a throw on a fiber for a wild stack pointer.
class Switches {
 public:
#ifdef HB_ASAN
  void created(void* top, std::size_t bytes) {
    inside_bottom_ = static_cast<char*>(top) - bytes;
    inside_bytes_ = bytes;
    unpoison();
  }
  void ended() { unpoison(); }
  void entering() { __sanitizer_start_switch_fiber(&outside_fake_, inside_bottom_, inside_bytes_); }
  void entered() { __sanitizer_finish_switch_fiber(inside_fake_, &outside_bottom_, &outside_bytes_); }
  void leaving(bool for_good) {
    __sanitizer_start_switch_fiber(for_good ? nullptr : &inside_fake_, outside_bottom_, outside_bytes_);
  }
  void left() { __sanitizer_finish_switch_fiber(outside_fake_, nullptr, nullptr); }

 private:
  // A fiber's first frames never return, so ASan forbids their bytes for good: also to a file mapped there later.
  void unpoison() { __asan_unpoison_memory_region(inside_bottom_, inside_bytes_); }

  void *inside_fake_ = nullptr, *outside_fake_ = nullptr;
  void* inside_bottom_ = nullptr;
  const void* outside_bottom_ = nullptr;
  std::size_t inside_bytes_ = 0, outside_bytes_ = 0;
#else
  void created(void*, std::size_t) {}
  void ended() {}
  void entering() {}
  void entered() {}
  void leaving(bool) {}
  void left() {}
#endif
};

class FiberStrand final : public Strand {
 public:
  FiberStrand(std::function<void()> body, std::size_t stack_bytes)
      : body_(std::move(body)), stack_bytes_(stack_bytes) {}

  ~FiberStrand() override { HB_ASSERT(!started_ || done_); }

  void resume() override {
    HB_ASSERT(!done_);
    if (!started_) create();
    const ExceptionState outside = ExceptionState::swap(exceptions_);
    switches_.entering();
    inside_ = std::move(inside_).resume();
    switches_.left();
    if (done_) switches_.ended();
    exceptions_ = ExceptionState::swap(outside);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  void suspend() override {
    switches_.leaving(false);
    outside_ = std::move(outside_).resume();
    switches_.entered();
  }

  bool done() const override { return done_; }

 private:
  void create() {
    context::protected_fixedsize_stack allocator(stack_bytes_);
    const context::stack_context stack = allocator.allocate();
    switches_.created(stack.sp, stack.size);
    inside_ = context::fiber(std::allocator_arg, context::preallocated(stack.sp, stack.size, stack), allocator,
                             [this](context::fiber&& outside) { return run(std::move(outside)); });
    started_ = true;
  }

  context::fiber run(context::fiber&& outside) {
    outside_ = std::move(outside);
    switches_.entered();
    try {
      body_();
    } catch (...) {
      error_ = std::current_exception();
    }
    body_ = nullptr;
    done_ = true;
    switches_.leaving(true);
    return std::move(outside_);
  }

  std::function<void()> body_;
  std::size_t stack_bytes_;
  context::fiber inside_, outside_;
  ExceptionState exceptions_;
  Switches switches_;
  bool started_ = false, done_ = false;
  std::exception_ptr error_;
};

}  // namespace

bool fibers_available() { return true; }

std::unique_ptr<Strand> make_fiber(std::function<void()> body, std::size_t stack_bytes) {
  return std::make_unique<FiberStrand>(std::move(body), stack_bytes);
}

}  // namespace hopbench::detail

#else

namespace hopbench::detail {

bool fibers_available() { return false; }

std::unique_ptr<Strand> make_fiber(std::function<void()>, std::size_t) {
  assertion_failed("fibers_available()", __FILE__, __LINE__, "");
}

}  // namespace hopbench::detail

#endif
