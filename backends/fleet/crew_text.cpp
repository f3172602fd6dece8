#include "backends/fleet/crew_text.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "backends/base/json_value.h"

namespace hopbench {
namespace {

constexpr int kMostRanks = 1 << 20;

/// A slot as it travels. Machines of one run have one byte order, because they run one program.
struct SlotImage {
  std::int32_t rank = 0;
  Phase phase = Phase::kStarting;
  std::int64_t iteration = -1, beats = 0, since = 0, crashed = -1, samples = 0;
  float loss = 0;
  std::int32_t stopped = 0;
  char waiting_for[sizeof RankSlot::waiting_for] = {};
  char silent[sizeof RankSlot::silent] = {};
};

}  // namespace

std::string to_text(const RemoteJob& remote) {
  const CrewJob& job = remote.job;
  nlohmann::json members = nlohmann::json::array();
  for (const CrewMember& member : job.members)
    members.push_back({member.rank, member.local.number, member.local.ranks});
  const nlohmann::json head{{"ranks", job.ranks},
                            {"members", members},
                            {"check_every", job.check_every.count()},
                            {"credits", remote.credits}};
  return head.dump() + "\n" + job.job;
}

bool from_text(const std::string& text, RemoteJob& remote) {
  const std::size_t line = text.find('\n');
  if (line == std::string::npos) return false;
  try {
    const nlohmann::json head = nlohmann::json::parse(text.substr(0, line));
    CrewJob& job = remote.job;
    job.ranks = integer_of<int>(head.at("ranks"));
    job.check_every = Duration{integer_of<std::int64_t>(head.at("check_every"))};
    remote.credits = integer_of<std::int64_t>(head.at("credits"));
    for (const nlohmann::json& member : head.at("members"))
      job.members.push_back(
          {integer_of<int>(member.at(0)), {integer_of<int>(member.at(1)), integer_of<int>(member.at(2))}});
    job.job = text.substr(line + 1);
    return job.ranks >= 1 && job.ranks <= kMostRanks &&
           std::all_of(job.members.begin(), job.members.end(), [&](const CrewMember& member) {
             return member.rank >= 0 && member.rank < job.ranks && member.local.number >= 0 &&
                    member.local.number < member.local.ranks;
           });
  } catch (const std::exception&) {
    return false;
  }
}

std::string slots_text(const Board& board, const std::vector<CrewMember>& members) {
  std::string text;
  for (const CrewMember& member : members) {
    const RankSlot& slot = board.slot(member.rank);
    SlotImage image{member.rank,  slot.phase, slot.iteration, slot.beats, slot.since, slot.crashed_ns,
                    slot.samples, slot.loss,  slot.stopped,   {},         {}};
    std::memcpy(image.waiting_for, slot.waiting_for, sizeof image.waiting_for);
    std::memcpy(image.silent, slot.silent, sizeof image.silent);
    text.append(reinterpret_cast<const char*>(&image), sizeof image);
  }
  return text;
}

bool show_slots(const std::string& text, std::int64_t shift_ns, const std::vector<int>& ranks, Board& board) {
  if (text.size() % sizeof(SlotImage) != 0) return false;
  for (std::size_t at = 0; at < text.size(); at += sizeof(SlotImage)) {
    SlotImage image;
    std::memcpy(&image, text.data() + at, sizeof image);
    if (image.rank < 0 || image.rank >= board.ranks()) return false;
    if (std::find(ranks.begin(), ranks.end(), image.rank) == ranks.end()) continue;
    RankSlot& slot = board.slot(image.rank);
    slot.phase = image.phase;
    slot.iteration = image.iteration;
    slot.beats = image.beats;
    slot.since = image.since == 0 ? 0 : image.since + shift_ns;
    slot.crashed_ns = image.crashed;
    slot.samples = image.samples;
    slot.loss = image.loss;
    slot.stopped = image.stopped != 0;
    std::memcpy(slot.waiting_for, image.waiting_for, sizeof image.waiting_for - 1);
    std::memcpy(slot.silent, image.silent, sizeof image.silent - 1);
  }
  return true;
}

}  // namespace hopbench
