// Words that users of PyTorch, Horovod, torchrun, MPI and other simulators type, and the names that hopbench has for
// them.
#include <algorithm>
#include <cctype>

#include "backends/base/text.h"

namespace hopbench {
namespace {

// The first name that is a candidate is suggested, since a word may be looked up among protocols, transports or keys.
const std::vector<Synonym> kSynonyms = {
    // Protocols
    {"ddp", {"allreduce"}},
    {"fsdp", {"allreduce"}},
    {"horovod", {"allreduce"}},
    {"deepspeed", {"allreduce"}},
    {"zero", {"allreduce"}},
    {"distributeddataparallel", {"allreduce"}},
    {"fullyshardeddataparallel", {"allreduce"}},
    {"dataparallel", {"allreduce"}},
    {"sgd", {"allreduce"}},
    {"ssgd", {"allreduce"}},
    {"syncsgd", {"allreduce"}},
    {"sync", {"allreduce"}},
    {"synchronous", {"allreduce"}},
    {"ringallreduce", {"allreduce"}},
    {"baseline", {"allreduce"}},
    {"bsp", {"ps_bsp"}},
    {"ps", {"ps_bsp", "star"}},
    {"parameterserver", {"ps_bsp", "star"}},
    {"asp", {"ps_asp"}},
    {"async", {"ps_asp"}},
    {"asgd", {"ps_asp"}},
    {"asyncsgd", {"ps_asp"}},
    {"downpour", {"ps_asp"}},
    {"hogwild", {"ps_asp"}},
    {"ssp", {"ps_ssp"}},
    {"backupworkers", {"ps_backup"}},
    {"gossip", {"dpsgd"}},
    {"bluefog", {"dpsgd"}},
    {"decentralized", {"dpsgd"}},
    {"decentralised", {"dpsgd"}},
    {"neighborallreduce", {"dpsgd"}},
    {"pushsum", {"sgp"}},
    {"gradientpush", {"sgp"}},
    {"chocosgd", {"choco"}},
    {"fedavg", {"local_sgd"}},
    {"federated", {"local_sgd"}},
    {"postlocalsgd", {"local_sgd"}},
    {"modelaveraging", {"local_sgd"}},
    {"diloco", {"local_sgd"}},
    {"preduce", {"partial_reduce"}},
    // Transports
    {"tcp", {"gloo"}},
    {"socket", {"gloo"}},
    {"sockets", {"gloo"}},
    {"ethernet", {"gloo"}},
    {"mpi", {"gloo"}},
    {"nccl", {"gloo", "allreduce"}},
    {"sharedmemory", {"shm"}},
    {"ipc", {"shm"}},
    {"simulated", {"sim"}},
    {"simulation", {"sim"}},
    {"simulator", {"sim"}},
    {"virtual", {"sim"}},
    {"virtualtime", {"sim"}},
    // Backends
    {"cpu", {"onednn"}},
    {"mkl", {"onednn"}},
    {"mkldnn", {"onednn"}},
    {"dnnl", {"onednn"}},
    {"pytorch", {"onednn", "allreduce"}},
    {"gpu", {"cuda"}},
    {"cudnn", {"cuda"}},
    {"nvidia", {"cuda"}},
    {"naive", {"reference"}},
    // Models and data sets
    {"cnn", {"lenet"}},
    {"lenet5", {"lenet"}},
    {"resnet", {"resnet20"}},
    {"vgg", {"vgg11"}},
    {"vgg16", {"vgg11"}},
    {"alexnet", {"alexnet_small"}},
    {"svm", {"linear_svm"}},
    {"logreg", {"logistic_regression"}},
    {"logistic", {"logistic_regression"}},
    {"dense", {"mlp"}},
    {"dummy", {"timing_only", "synthetic"}},
    {"timing", {"timing_only"}},
    {"cifar", {"cifar10"}},
    {"libsvm", {"svmlight"}},
    {"random", {"synthetic", "bernoulli"}},
    // Rules and faults of a scenario
    {"fixed", {"constant"}},
    {"static", {"constant"}},
    {"slow", {"constant"}},
    {"straggler", {"constant"}},
    {"normal", {"log_normal"}},
    {"gaussian", {"log_normal"}},
    {"exp", {"exponential"}},
    {"powerlaw", {"pareto"}},
    {"heavytail", {"pareto"}},
    {"kill", {"crash"}},
    {"die", {"crash"}},
    {"fail", {"crash"}},
    {"failure", {"crash"}},
    {"preempt", {"leave"}},
    {"exit", {"leave"}},
    {"pause", {"hang"}},
    {"stop", {"hang"}},
    {"freeze", {"hang"}},
    {"stall", {"hang"}},
    {"partition", {"cut"}},
    {"disconnect", {"cut"}},
    // Topologies, splits, measures
    {"full", {"complete"}},
    {"fullyconnected", {"complete"}},
    {"alltoall", {"complete"}},
    {"mesh", {"complete"}},
    {"clique", {"complete"}},
    {"hub", {"star"}},
    {"noniid", {"dirichlet"}},
    {"throughput", {"rate"}},
    {"speed", {"rate", "bandwidth"}},
    {"accuracy", {"convergence"}},
    {"loss", {"convergence"}},
    {"training", {"convergence"}},
    // Keys
    {"workers", {"world_size"}},
    {"numworkers", {"world_size"}},
    {"nproc", {"world_size"}},
    {"nprocpernode", {"world_size"}},
    {"np", {"world_size"}},
    {"ranks", {"world_size"}},
    {"processes", {"world_size"}},
    {"nodes", {"hosts", "world_size"}},
    {"nnodes", {"hosts", "world_size"}},
    {"batchsize", {"batch"}},
    {"minibatch", {"batch"}},
    {"bs", {"batch"}},
    {"learningrate", {"lr"}},
    {"wd", {"weight_decay"}},
    {"steps", {"iterations"}},
    {"iters", {"iterations"}},
    {"maxsteps", {"iterations"}},
    {"maxiter", {"iterations"}},
    {"runs", {"repeats"}},
    {"device", {"backend"}},
    {"delay", {"latency", "factor"}},
    {"rtt", {"latency"}},
    {"bw", {"bandwidth"}},
    {"slowdown", {"factor"}},
    {"prob", {"probability"}},
    {"duration", {"lasts"}},
    {"graph", {"topology"}},
    {"algorithm", {"protocol"}},
    {"method", {"protocol"}},
    {"strategy", {"protocol"}},
};

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

std::span<const Synonym> synonyms() { return kSynonyms; }

bool is_synonym(std::string_view word) {
  if (word.size() > kLongest) return false;
  const std::string wanted = plain(word);
  return std::any_of(kSynonyms.begin(), kSynonyms.end(),
                     [&](const Synonym& synonym) { return synonym.word == wanted; });
}

std::string synonym_of(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > kLongest) return "";
  const std::string wanted = plain(word);
  const auto same = [&](const std::string& candidate) { return plain(candidate) == wanted; };
  if (const auto found = std::find_if(candidates.begin(), candidates.end(), same);
      !wanted.empty() && found != candidates.end())
    return *found;
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.word != wanted) continue;
    for (const char* name : synonym.names) {
      if (std::find(candidates.begin(), candidates.end(), name) != candidates.end()) return name;
    }
  }
  return "";
}

}  // namespace hopbench
