// Words that users of PyTorch, Horovod, torchrun, MPI and other simulators type, and the names that hopbench has for
// them.
#include <algorithm>
#include <cctype>
#include <sstream>

#include "backends/base/text.h"

namespace hopbench {
namespace {

/// Words for the same names. The first name that is a candidate is suggested, since a word may be looked up among
/// protocols, transports or keys.
struct Words {
  std::vector<const char*> names;
  const char* words;
};

const Words kWords[] = {
    // Protocols
    {{"allreduce"},
     "ddp fsdp horovod deepspeed zero distributeddataparallel fullyshardeddataparallel dataparallel "
     "sgd ssgd syncsgd sync synchronous ringallreduce baseline"},
    {{"ps_bsp"}, "bsp"},
    {{"ps_bsp", "star"}, "ps parameterserver"},
    {{"ps_asp"}, "asp async asgd asyncsgd downpour hogwild"},
    {{"ps_ssp"}, "ssp"},
    {{"ps_backup"}, "backupworkers"},
    {{"dpsgd"}, "gossip bluefog decentralized decentralised neighborallreduce"},
    {{"sgp"}, "pushsum gradientpush"},
    {{"choco"}, "chocosgd"},
    {{"local_sgd"}, "fedavg federated postlocalsgd modelaveraging diloco"},
    {{"partial_reduce"}, "preduce"},
    // Transports
    {{"gloo"}, "tcp socket sockets ethernet mpi"},
    {{"gloo", "allreduce"}, "nccl"},
    {{"shm"}, "sharedmemory ipc"},
    {{"sim"}, "simulated simulation simulator virtual virtualtime"},
    // Backends
    {{"onednn"}, "cpu mkl mkldnn dnnl"},
    {{"onednn", "allreduce"}, "pytorch"},
    {{"cuda"}, "gpu cudnn nvidia"},
    {{"reference"}, "naive"},
    // Models and data sets
    {{"lenet"}, "cnn lenet5"},
    {{"resnet20"}, "resnet"},
    {{"vgg11"}, "vgg vgg16"},
    {{"alexnet_small"}, "alexnet"},
    {{"linear_svm"}, "svm"},
    {{"logistic_regression"}, "logreg logistic"},
    {{"mlp"}, "dense"},
    {{"timing_only", "synthetic"}, "dummy"},
    {{"timing_only"}, "timing"},
    {{"cifar10"}, "cifar"},
    {{"svmlight"}, "libsvm"},
    {{"synthetic", "bernoulli"}, "random"},
    // Rules and faults of a scenario
    {{"constant"}, "fixed static slow straggler"},
    {{"log_normal"}, "normal gaussian"},
    {{"exponential"}, "exp"},
    {{"pareto"}, "powerlaw heavytail"},
    {{"crash"}, "kill die fail failure"},
    {{"leave"}, "preempt exit"},
    {{"hang"}, "pause stop freeze stall"},
    {{"cut"}, "partition disconnect"},
    // Topologies, splits, measures
    {{"complete"}, "full fullyconnected alltoall mesh clique"},
    {{"star"}, "hub"},
    {{"dirichlet"}, "noniid"},
    {{"rate"}, "throughput"},
    {{"rate", "bandwidth"}, "speed"},
    {{"convergence"}, "accuracy loss training"},
    // Keys
    {{"world_size"}, "workers numworkers nproc nprocpernode np ranks processes"},
    {{"hosts", "world_size"}, "nodes nnodes"},
    {{"batch"}, "batchsize minibatch bs"},
    {{"lr"}, "learningrate"},
    {{"weight_decay"}, "wd"},
    {{"iterations"}, "steps iters maxsteps maxiter"},
    {{"repeats"}, "runs"},
    {{"backend"}, "device"},
    {{"latency", "factor"}, "delay"},
    {{"latency"}, "rtt"},
    {{"bandwidth"}, "bw"},
    {{"factor"}, "slowdown"},
    {{"probability"}, "prob"},
    {{"lasts"}, "duration"},
    {{"topology"}, "graph"},
    {{"protocol"}, "algorithm method strategy"},
};

const std::vector<Synonym>& all() {
  static const std::vector<Synonym> known = [] {
    std::vector<Synonym> list;
    for (const auto& [names, words] : kWords) {
      std::istringstream text(words);
      for (std::string word; text >> word;) list.push_back({word, names});
    }
    return list;
  }();
  return known;
}

constexpr std::size_t kLongest = 64;  // bytes of a word that is looked up

// "D-PSGD", "d_psgd" and "dpsgd" are one word.
std::string plain(std::string_view word) {
  std::string letters;
  for (const char c : word) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

}  // namespace

std::span<const Synonym> synonyms() { return all(); }

bool is_synonym(std::string_view word) {
  if (word.size() > kLongest) return false;
  const std::string wanted = plain(word);
  return std::any_of(all().begin(), all().end(), [&](const Synonym& synonym) { return synonym.word == wanted; });
}

std::string synonym_of(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > kLongest) return "";
  const std::string wanted = plain(word);
  const auto same = [&](const std::string& candidate) { return plain(candidate) == wanted; };
  if (const auto found = std::find_if(candidates.begin(), candidates.end(), same);
      !wanted.empty() && found != candidates.end())
    return *found;
  for (const Synonym& synonym : all()) {
    if (synonym.word != wanted) continue;
    for (const char* name : synonym.names) {
      if (std::find(candidates.begin(), candidates.end(), name) != candidates.end()) return name;
    }
  }
  return "";
}

}  // namespace hopbench
