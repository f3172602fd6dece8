// Gloo without our layer: its own contexts, unbound buffers and all-reduces.
#include "backends/transport/exchange.h"

#ifdef HB_HAVE_GLOO

#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/unbound_buffer.h>

#include <map>
#include <vector>

#include "backends/base/error.h"
#include "backends/transport/gloo_link.h"
#include "backends/transport/wire.h"

namespace hopbench {
namespace {

/// Gloo's ranks each store entries whose keys end in their number, all in one order, and look up those of all others.
class MeetingStore : public gloo::rendezvous::Store {
 public:
  MeetingStore(const ExchangeSpec& spec, Meeting& meeting) : spec_(spec), meeting_(meeting) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    std::vector<int> peers;
    for (int peer = 0; peer < spec_.size; ++peer) {
      if (peer != spec_.rank) peers.push_back(peer);
    }
    const std::string common = key.substr(0, key.find_last_not_of("0123456789") + 1);
    const auto theirs = meeting_.exchange(peers, std::vector<std::string>(peers.size(), {data.begin(), data.end()}));
    entries_[key] = data;
    for (std::size_t i = 0; i < peers.size(); ++i)
      entries_[common + std::to_string(peers[i])] = {theirs[i].begin(), theirs[i].end()};
  }
  std::vector<char> get(const std::string& key) override {
    const auto entry = entries_.find(key);
    if (entry == entries_.end())
      throw environment_error("this version of Gloo looks for '" + key + "', which no rank has");
    return entry->second;
  }
  void wait(const std::vector<std::string>& /*keys*/) override {}
  void wait(const std::vector<std::string>& /*keys*/, const std::chrono::milliseconds& /*timeout*/) override {}

 private:
  const ExchangeSpec& spec_;
  Meeting& meeting_;
  std::map<std::string, std::vector<char>> entries_;
};

class BareGloo : public RankExchange {
 public:
  BareGloo(const ExchangeSpec& spec, std::string algorithm, Meeting& meeting)
      : spec_(spec),
        algorithm_(std::move(algorithm)),
        context_(std::make_shared<gloo::rendezvous::Context>(spec.rank, spec.size)),
        heard_(spec.operation == Operation::kPingPong ? std::vector<int>{1 - spec.rank} : heard_by(spec)),
        x_(spec.floats),
        y_(heard_.size(), std::vector<float>(spec.floats)) {
    auto device = open_gloo_device(spec.interface);
    context_->setTimeout(std::chrono::duration_cast<std::chrono::milliseconds>(spec.timeout));
    MeetingStore store(spec_, meeting);
    context_->connectFullMesh(store, device);
    const int ends = spec.operation == Operation::kAverage ? spec.neighbours : 1;
    for (int i = 0; i < ends; ++i) mine_.push_back(context_->createUnboundBuffer(x_.data(), bytes()));
    for (auto& y : y_) {
      theirs_.push_back(context_->createUnboundBuffer(y.data(), bytes()));
      places_.push_back(y.data());
    }
    if (algorithm_ == "ring_chunked")
      all_ =
          std::make_unique<gloo::AllreduceRingChunked<float>>(context_, std::vector<float*>{x_.data()}, int(x_.size()));
    if (algorithm_ == "halving_doubling")
      all_ = std::make_unique<gloo::AllreduceHalvingDoubling<float>>(context_, std::vector<float*>{x_.data()},
                                                                     int(x_.size()));
  }

  void once() override {
    if (spec_.operation == Operation::kPingPong) return ping_pong();
    if (spec_.operation == Operation::kAverage) return average();
    if (all_ != nullptr) return all_->run();
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(algorithm_ == "bcube" ? gloo::AllreduceOptions::Algorithm::BCUBE
                                               : gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(x_.data(), x_.size());
    options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    gloo::allreduce(options);
  }

  std::span<const float> checked() override {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = pattern(spec_.rank, i);
    once();
    // Gloo sums; dividing is left to its user.
    if (spec_.operation == Operation::kAllReduce)
      for (float& x : x_) x /= float(spec_.size);
    return spec_.operation == Operation::kPingPong ? std::span<const float>(y_[0]) : std::span<const float>(x_);
  }

 private:
  std::size_t bytes() const { return x_.size() * sizeof(float); }

  void ping_pong() {
    constexpr std::uint64_t kSlot = 1;
    const int peer = heard_[0];
    gloo::transport::UnboundBuffer& got = *theirs_[0];
    got.recv(peer, kSlot);
    if (spec_.rank == 0) mine_[0]->send(peer, kSlot);
    if (spec_.rank == 0) mine_[0]->waitSend();
    got.waitRecv();
    if (spec_.rank == 1) got.send(peer, kSlot);
    if (spec_.rank == 1) got.waitSend();
  }

  void average() {
    for (std::size_t i = 0; i < heard_.size(); ++i) theirs_[i]->recv(heard_[i], slot(heard_[i], spec_.rank));
    for (int step = 1; step <= spec_.neighbours; ++step) {
      const int to = (spec_.rank + step) % spec_.size;
      mine_[std::size_t(step) - 1]->send(to, slot(spec_.rank, to));
    }
    for (auto& buffer : theirs_) buffer->waitRecv();
    for (auto& buffer : mine_) buffer->waitSend();
    average_in_place(x_, places_);
  }
  std::uint64_t slot(int from, int to) const {
    return std::uint64_t(from) * std::uint64_t(spec_.size) + std::uint64_t(to);
  }

  const ExchangeSpec spec_;
  const std::string algorithm_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  const std::vector<int> heard_;
  std::vector<float> x_;
  std::vector<std::vector<float>> y_;
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> mine_, theirs_;  // one operation each at a time
  std::vector<const float*> places_;
  std::unique_ptr<gloo::Algorithm> all_;
};

}  // namespace

std::unique_ptr<RankExchange> bare_gloo(const ExchangeSpec& spec, const std::string& algorithm, Meeting& meeting) {
  try {
    return std::make_unique<BareGloo>(spec, algorithm, meeting);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw environment_error(std::string("Gloo cannot connect ranks: ") + error.what());
  }
}

}  // namespace hopbench

#else

namespace hopbench {

std::unique_ptr<RankExchange> bare_gloo(const ExchangeSpec&, const std::string&, Meeting&) { return nullptr; }

}  // namespace hopbench

#endif
