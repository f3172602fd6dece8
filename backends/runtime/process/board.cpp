#include "backends/runtime/process/board.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "backends/base/error.h"

namespace hopbench {
namespace {

// Each slot and the credits lie on cache lines of their own, because ranks write theirs all the time.
constexpr std::size_t kStride = 256;
static_assert(sizeof(RankSlot) <= kStride && sizeof(Credits) <= kStride);
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<float>::is_always_lock_free);

std::size_t board_bytes(int ranks) { return kStride * (static_cast<std::size_t>(ranks) + 1); }

Error board_error(const char* what) {
  return environment_error(std::string("cannot share a page between launcher and ranks: ") + what + ": " +
                           std::strerror(errno) + (errno == EMFILE ? ": allow more open files (ulimit -n)" : ""));
}

}  // namespace

const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::kStarting:
      return "starting";
    case Phase::kConnecting:
      return "connecting";
    case Phase::kReady:
      return "ready";
    case Phase::kComputing:
      return "computing";
    case Phase::kWaiting:
      return "waiting";
    case Phase::kRunning:
      return "running";
    case Phase::kFinished:
      return "finished";
    case Phase::kEvaluating:
      return "evaluating";
    case Phase::kDone:
      return "done";
  }
  return "in an unknown phase";
}

std::unique_ptr<Board> Board::create(int ranks, std::int64_t credits) {
  const int fd = memfd_create("hopbench-board", MFD_CLOEXEC);
  if (fd < 0) throw board_error("memfd_create");
  std::unique_ptr<Board> board(new Board(fd, ranks));
  if (ftruncate(fd, static_cast<off_t>(board->bytes_)) != 0) throw board_error("ftruncate");
  board->map();
  new (board->memory_) Credits(credits);
  for (int r = 0; r < ranks; ++r) new (&board->slot(r)) RankSlot;
  return board;
}

std::unique_ptr<Board> Board::create_elsewhere(int ranks, std::int64_t credits) {
  std::unique_ptr<Board> board = create(ranks, 0);
  new (board->memory_) Credits(credits, Credits::FromElsewhere{});
  return board;
}

std::unique_ptr<Board> Board::attach(int fd, int ranks) {
  std::unique_ptr<Board> board(new Board(fd, ranks));
  struct stat file {};
  if (fstat(fd, &file) != 0) throw board_error("fstat");
  if (static_cast<std::size_t>(file.st_size) != board->bytes_) {
    throw environment_error("the page shared with the launcher has an unexpected size: launcher and rank differ");
  }
  board->map();
  return board;
}

Board::Board(int fd, int ranks) : fd_(fd), ranks_(ranks), bytes_(board_bytes(ranks)) {}

Board::~Board() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
  close(fd_);
}

void Board::map() {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) throw board_error("mmap");
  memory_ = memory;
}

RankSlot& Board::slot(int rank) {
  HB_ASSERT(rank >= 0 && rank < ranks_);
  return *reinterpret_cast<RankSlot*>(static_cast<char*>(memory_) + kStride * (static_cast<std::size_t>(rank) + 1));
}

Credits& Board::credits() { return *static_cast<Credits*>(memory_); }

}  // namespace hopbench
