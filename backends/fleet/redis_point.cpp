#include "backends/fleet/redis_point.h"

#include <algorithm>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/text.h"

#ifdef HB_HAVE_HIREDIS

#include <hiredis/hiredis.h>

namespace hopbench {
namespace {

constexpr timeval kTimeout{5, 0};
constexpr const char* kLifetime = "3600";  // seconds; the lifetime of what a killed run leaves behind

class RedisPoint : public MeetingPoint {
 public:
  RedisPoint(const std::string& where, const std::string& run) {
    std::string rest = where;
    if (const std::size_t at = rest.rfind('@'); at != std::string::npos) {
      password_ = rest.substr(rest.front() == ':' ? 1 : 0, at - (rest.front() == ':' ? 1 : 0));
      rest = rest.substr(at + 1);
    }
    const std::size_t slash = rest.find('/');
    const std::string prefix = slash == std::string::npos ? "" : rest.substr(slash + 1);
    std::string server = rest.substr(0, slash);
    if (const std::size_t colon = server.rfind(':'); colon != std::string::npos) {
      const std::string digits = server.substr(colon + 1);
      const bool number = !digits.empty() && digits.size() <= 5 &&
                          std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
      port_ = number ? std::stoi(digits) : 0;
      server.resize(colon);
    }
    if (server.empty() || port_ < 1 || port_ > 65535)
      throw usage_error(without_password("redis://" + where) + " is no Redis server: redis://host:port/prefix");
    host_ = server;
    key_ = (prefix.empty() ? "hopbench" : prefix) + "/" + (run.empty() ? "run" : run);
  }

  void leave(const Invitation& invitation) override { ask({"SET", key_, to_text(invitation), "EX", kLifetime}); }
  std::optional<Invitation> look() override { return invitation_from_text(ask({"GET", key_})); }
  void clear(const Invitation& invitation) override {
    try {
      const std::optional<Invitation> there = look();
      if (there && there->token == invitation.token) ask({"DEL", key_});
    } catch (const Error&) {  // the key expires in an hour
    }
  }
  bool is_shared() const override { return true; }
  std::string name() const override { return "redis://" + host_ + ":" + std::to_string(port_) + " as " + key_; }

 private:
  using Context = std::unique_ptr<redisContext, void (*)(redisContext*)>;
  using Reply = std::unique_ptr<redisReply, void (*)(void*)>;

  static Reply command(redisContext& context, const std::vector<std::string>& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> lengths;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      lengths.push_back(word.size());
    }
    return {static_cast<redisReply*>(
                redisCommandArgv(&context, static_cast<int>(words.size()), texts.data(), lengths.data())),
            freeReplyObject};
  }

  /// Uses one connection per command, so that a server that was away in between does not matter.
  std::string ask(const std::vector<std::string>& words) const {
    const Context context(redisConnectWithTimeout(host_.c_str(), port_, kTimeout), redisFree);
    if (context == nullptr || context->err != 0) throw unusable(context == nullptr ? "out of memory" : context->errstr);
    redisSetTimeout(context.get(), kTimeout);
    if (!password_.empty()) check(*context, command(*context, {"AUTH", password_}));
    const Reply reply = command(*context, words);
    check(*context, reply);
    return reply->type == REDIS_REPLY_STRING ? std::string(reply->str, reply->len) : "";
  }

  void check(const redisContext& context, const Reply& reply) const {
    if (reply == nullptr) throw unusable(context.errstr);
    if (reply->type == REDIS_REPLY_ERROR) throw unusable(std::string(reply->str, reply->len));
  }

  Error unusable(const std::string& why) const {
    return environment_error("cannot meet at redis://" + host_ + ":" + std::to_string(port_) + ": " + why +
                             ": is the server there, and may this machine use it?");
  }

  std::string host_, key_, password_;
  int port_ = 6379;
};

}  // namespace

std::unique_ptr<MeetingPoint> open_redis_point(const std::string& where, const std::string& run) {
  return std::make_unique<RedisPoint>(where, run);
}

}  // namespace hopbench

#else

namespace hopbench {

std::unique_ptr<MeetingPoint> open_redis_point(const std::string&, const std::string&) {
  throw environment_error("this build cannot meet in Redis: install libhiredis-dev and configure again");
}

}  // namespace hopbench

#endif
