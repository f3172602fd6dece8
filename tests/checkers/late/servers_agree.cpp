// Where the first server decides: every server makes the first one's updates, of the same gradients and in its order. A
// gradient of a worker that has died may be missing.
#include <set>

#include "tests/checkers/checkers.h"
#include "tests/checkers/server_updates.h"

namespace hopbench::checkers {
namespace {

using Gradients = std::set<std::pair<int, Iter>>;

class ServersAgree : public Checker {
 public:
  explicit ServersAgree(const CheckedRun& run) : Checker("servers_agree"), workers_(run.workers) {
    servers_.assign(std::size_t(run.servers), {ServerUpdates(run.workers), {}});
  }

  void on(const Event& event) override {
    if (event.what == EventKind::kPeerDied) dead_.insert(event.peer);
    if (event.rank < workers_) return;
    Server& server = servers_[std::size_t(event.rank - workers_)];
    const auto update = server.updates.on(event);
    if (!update) return;
    look();
    server.made.push_back({update->when, {}});
    for (const UsedGradient& g : update->gradients) server.made.back().gradients.insert({g.worker, g.iter});
  }

  void finish() override {
    for (std::size_t s = 1; s < servers_.size(); ++s) compare(servers_[s], workers_ + int(s));
  }

 private:
  struct Made {
    Time when{};
    Gradients gradients{};
  };
  struct Server {
    ServerUpdates updates;
    std::vector<Made> made;
  };

  void compare(const Server& server, int rank) {
    const std::vector<Made>& first = servers_[0].made;
    std::size_t at = 0;
    for (const Made& update : server.made) {
      while (at < first.size() && only_dead(first[at].gradients, update.gradients)) ++at;
      if (at >= first.size() || !same(first[at++].gradients, update.gradients))
        return fail(update.when, rank, "made an update that the first server did not make then");
    }
  }

  /// Returns true if the first server's update is of dead workers' gradients only, none of which came here.
  bool only_dead(const Gradients& first, const Gradients& here) const {
    if (first.empty()) return false;
    for (const auto& gradient : first) {
      if (dead_.count(gradient.first) == 0 || here.count(gradient) > 0) return false;
    }
    return true;
  }
  bool same(const Gradients& first, const Gradients& here) const {
    for (const auto& gradient : here) {
      if (first.count(gradient) == 0) return false;
    }
    for (const auto& gradient : first) {
      if (here.count(gradient) == 0 && dead_.count(gradient.first) == 0) return false;
    }
    return true;
  }

  int workers_;
  std::vector<Server> servers_;
  std::set<int> dead_;
};

}  // namespace

CheckerPtr servers_agree(const CheckedRun& run) { return std::make_unique<ServersAgree>(run); }

}  // namespace hopbench::checkers
