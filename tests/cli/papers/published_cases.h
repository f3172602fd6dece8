// A small figures.toml, what its commands print, and a page with its blocks.
#pragma once

namespace hopbench {

inline constexpr const char* kToml = R"toml(pages = ["page.md"]
[[run]]
id = "fast"
command = ["measure", "it now"]
json = ["--json"]
needs = ["quiet"]
minutes = 1
[[claim]]
id = "speed"
says = "ours against theirs"
run = "fast"
kind = "ratio"
value = "/rows/way=ours/rate"
over = "/rows/way=theirs/rate"
at_least = 1.5
show = "{:.1f}x"
[[claim]]
id = "files"
says = "open files"
run = "fast"
kind = "count"
value = "/files"
at_least = 10
at_most = 10
[[claim]]
id = "seconds"
says = "its time"
run = "fast"
kind = "limit"
value = "/s"
expected = 1
at_most = 2
[[claim]]
id = "memory"
says = "how much it takes"
run = "fast"
kind = "recorded"
value = "/mib"
[[table]]
id = "ways"
run = "fast"
rows = "/rows"
columns = [{ head = "way", value = "/way" }, { head = "rate", value = "/rate", show = "{} ({least} .. {most})" }]
)toml";
inline constexpr const char* kSecondRun = R"toml(
[[run]]
id = "slow"
command = ["measure", "it", "slowly"]
json = ["--json"]
needs = []
minutes = 1
[[claim]]
id = "slow-files"
says = "open files"
run = "slow"
kind = "count"
value = "/files"
at_least = 10
at_most = 10
[[table]]
id = "both"
run = ["fast", "slow"]
rows = "/rows"
columns = [{ head = "way", value = "/way" }]
)toml";
inline constexpr const char* kJson =
    R"({"rows":[{"way":"ours","rate":[4,6,8]},{"way":"theirs","rate":[2,3,4]}],"files":10,"s":1.2,"mib":20})";
inline constexpr const char* kPage = R"(# Page
It is <!-- measured: speed -->?<!-- /measured --> as fast, with <!-- measured: files -->?<!-- /measured --> files in
about <!-- measured: seconds -->?<!-- /measured --> s.

<!-- measured: ways -->
<!-- /measured -->

| a | b |
|---|---|
| memory | <!-- measured: memory -->?<!-- /measured --> |

<!-- measured: runs -->
<!-- /measured -->
)";

}  // namespace hopbench
