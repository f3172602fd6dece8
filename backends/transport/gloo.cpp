// Gloo's TCP transport as a Wire: messages between pairs, not Gloo's collectives.
#include <csignal>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/ran_out.h"
#include "backends/transport/wire.h"

#ifdef HB_HAVE_GLOO

#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <net/if.h>

#include "backends/transport/gloo_link.h"

namespace hopbench {

namespace {

/// Keeps a device until the process ends. Since 2023, Gloo holds a device's thread for every connection that has not
/// yet identified itself. If a stranger's connection is the last to release it, the thread waits for itself, and the
/// process aborts.
std::shared_ptr<gloo::transport::Device> kept(std::shared_ptr<gloo::transport::Device> device) {
  static std::mutex mutex;
  static auto& devices = *new std::vector<std::shared_ptr<gloo::transport::Device>>();
  const std::lock_guard lock(mutex);
  devices.push_back(device);
  return device;
}

}  // namespace

std::shared_ptr<gloo::transport::Device> open_gloo_device(const std::string& interface, const std::string& address) {
  if (!interface.empty() && if_nametoindex(interface.c_str()) == 0) {
    throw environment_error("there is no network interface '" + interface + "': name one that `ip link` lists");
  }
  gloo::transport::tcp::attr attr;
  if (interface.empty()) {
    attr.hostname = address.empty() ? "127.0.0.1" : address;
  } else {
    attr.iface = interface;
  }
  try {
    return kept(gloo::transport::tcp::CreateDevice(attr));
  } catch (const std::exception& e) {
    if (ran_out(e)) throw;  // the device starts a thread: the interface is not at fault
    const std::string where = interface.empty() ? attr.hostname : "network interface '" + interface + "'";
    throw environment_error("cannot use " + where + " with Gloo: " + e.what() +
                            ": name one that has an address (`ip address`)");
  }
}

namespace {

using Links = std::map<int, std::unique_ptr<GlooLink>>;

constexpr int kAttempts = 5;  // to form a mesh if a stranger takes one of its connections

/// Connects all of `links` at once, each to its blob. Returns the error of each (empty: it succeeded).
std::vector<std::string> connect_all(const std::vector<std::unique_ptr<GlooLink>>& links,
                                     const std::vector<std::string>& blobs) {
  std::vector<std::string> wrong(links.size());
  {
    std::vector<std::jthread> threads;  // joined, too, if one of them cannot be started
    for (std::size_t i = 0; i < links.size(); ++i) {
      threads.emplace_back([&, i] { wrong[i] = links[i]->connect(blobs[i]); });
    }
  }
  return wrong;
}

/// Any process may connect to a listening pair before its peer does. Then the tokens do not match, both ends learn this
/// from each other's verdict, and only this pair is made anew.
Links form_mesh(const WireOptions& options, Meeting& meeting, std::shared_ptr<gloo::transport::Device> device) {
  Links links;
  std::vector<int> missing = options.peers;
  std::string why;
  for (int attempt = 0; attempt < kAttempts && !missing.empty(); ++attempt) {
    std::vector<std::unique_ptr<GlooLink>> fresh;
    std::vector<std::string> blobs;
    for (int peer : missing) {
      const Duration limit =
          options.connect_timeout / (kAttempts + 1);  // ends before the other ranks give up waiting for this one
      fresh.push_back(std::make_unique<GlooLink>(peer, device, limit, eager_of(options)));
      blobs.push_back(fresh.back()->blob());
    }
    const auto wrong = connect_all(fresh, meeting.exchange(missing, blobs));
    const auto their_wrong = meeting.exchange(missing, wrong);
    std::vector<int> still_missing;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (wrong[i].empty() && their_wrong[i].empty()) {
        links[missing[i]] = std::move(fresh[i]);
        continue;
      }
      still_missing.push_back(missing[i]);
      why = "rank " + std::to_string(options.rank) + " cannot connect to rank " + std::to_string(missing[i]) +
            " over Gloo: " +
            (wrong[i].empty() ? "rank " + std::to_string(missing[i]) + " says: " + their_wrong[i] : wrong[i]);
    }
    missing = std::move(still_missing);
  }
  if (!missing.empty()) {
    throw trial_error(why + ": look whether something else connects to the ports of this machine")
        .as(FailureKind::kError, options.rank);
  }
  return links;
}

class GlooWire : public Wire {
 public:
  GlooWire(const WireOptions& options, Meeting& meeting)
      : rank_(options.rank),
        device_(open_gloo_device(options.interface, options.address)),
        links_(form_mesh(options, meeting, device_)) {
    inbox_.news = options.news;
    for (auto& [peer, link] : links_) link->start(inbox_);
    watching_ = std::thread([this] { watch(); });
  }

  ~GlooWire() override {
    {
      const std::lock_guard lock(watch_mutex_);
      stopping_ = true;
      if (!watches_.empty()) watches_.back()->abortWaitRecv();
    }
    watching_.join();
    links_.clear();  // before the watches, which pairs refer to
  }

  bool try_send(int to, const Message& message) override {
    const auto link = links_.find(to);
    HB_ASSERT_MSG(link != links_.end(), "rank " + std::to_string(rank_) + " is not connected to " + std::to_string(to));
    return link->second->try_send(message);
  }

  std::optional<Message> poll() override {
    const std::lock_guard lock(inbox_.mutex);
    if (!inbox_.damage.empty()) throw trial_error(inbox_.damage);
    if (inbox_.arrived.empty()) return std::nullopt;
    Message message = std::move(inbox_.arrived.front());
    inbox_.arrived.pop_front();
    return message;
  }

  void wait(Duration timeout, int messages) override {
    const auto until = std::chrono::steady_clock::now() + std::min<Duration>(timeout, std::chrono::hours(1));
    std::unique_lock lock(inbox_.mutex);
    inbox_.wanted = static_cast<std::size_t>(messages);
    inbox_.changed.wait_until(lock, until, [&] { return inbox_.enough() || inbox_.woken || inbox_.room; });
    inbox_.woken = inbox_.room = false;
  }

  void wake() override {
    const std::lock_guard lock(inbox_.mutex);
    inbox_.woken = true;
    inbox_.tell();
  }

  std::map<std::string, std::vector<int>> carriers() const override {
    std::map<std::string, std::vector<int>> all;
    for (const auto& [peer, link] : links_) all["gloo"].push_back(peer);
    return all;
  }

  std::int64_t awaited_bodies() const override {
    std::int64_t sum = 0;
    for (const auto& [peer, link] : links_) sum += link->awaited_bodies();
    return sum;
  }

  void close(Duration timeout) override {
    const auto until = std::chrono::steady_clock::now() + std::min<Duration>(timeout, std::chrono::hours(1000));
    for (auto& [peer, link] : links_) link->say_bye();
    std::unique_lock lock(inbox_.mutex);
    inbox_.changed.wait_until(lock, until, [&] {
      for (const auto& [peer, link] : links_) {
        if (!link->finished()) return false;
      }
      return true;
    });
  }

 private:
  /// Posts one receive on every living pair. Nothing is ever sent for it, so only a pair's death ends it.
  void watch() {
    const auto context = device_->createContext(0, 1);
    std::vector<GlooLink*> alive;
    for (auto& [peer, link] : links_) alive.push_back(link.get());
    while (true) {
      gloo::transport::UnboundBuffer* buffer = nullptr;
      {
        const std::lock_guard lock(watch_mutex_);
        if (stopping_) return;
        watches_.push_back(context->createUnboundBuffer(&nothing_, 1));
        buffer = watches_.back().get();
      }
      std::erase_if(alive, [&](GlooLink* link) {
        const bool dead = !link->watch(*buffer);
        if (dead) link->died();
        return dead;
      });
      try {
        buffer->waitRecv(nullptr, std::chrono::hours(24 * 365));
      } catch (const std::exception&) {  // a peer died: found above
      }
    }
  }

  const int rank_;
  std::shared_ptr<gloo::transport::Device> device_;
  GlooInbox inbox_;
  Links links_;

  std::mutex watch_mutex_;
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> watches_;  // the last one is waited on
  char nothing_ = 0;
  bool stopping_ = false;
  std::thread watching_;
};

std::string unavailable() { return ""; }

std::unique_ptr<Wire> connect(const WireOptions& options, Meeting& meeting) {
  // Gloo writes to sockets whose other end may be gone; it expects an error, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  return std::make_unique<GlooWire>(options, meeting);
}

}  // namespace

extern const Transport kGlooTransport{"gloo", "TCP by Gloo, as Hop's and most decentralised papers' implementations",
                                      unavailable, connect};

}  // namespace hopbench

#else

namespace hopbench {
namespace {

std::string unavailable() { return "this build has no Gloo: install libgloo-dev and configure again"; }

std::unique_ptr<Wire> connect(const WireOptions&, Meeting&) { throw environment_error(unavailable()); }

}  // namespace

extern const Transport kGlooTransport{"gloo", "TCP by Gloo", unavailable, connect};

}  // namespace hopbench

#endif
