// For tests of the report: whether a page is well formed, and the figures and data in it.
#pragma once

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/files/csv.h"

namespace hopbench {

/// Every tag that is opened is closed, in order, attributes are quoted, and no text has a bare sign of its own.
inline std::string check_tag(const std::string& tag, std::vector<std::string>& open) {
  static const std::set<std::string> alone{"meta", "!DOCTYPE"};
  static const std::regex form(R"(([A-Za-z!][A-Za-z0-9]*)(\s+[A-Za-z][A-Za-z0-9-]*(="[^"<]*")?)*\s*/?)");
  if (tag[0] == '/') {
    if (open.empty() || open.back() != tag.substr(1)) return "closes what is not open: " + tag;
    open.pop_back();
    return "";
  }
  if (tag.size() < 2000 && !std::regex_match(tag, form)) return "is no tag: " + tag;
  const std::string name = tag.substr(0, tag.find_first_of(" \n/"));
  if (tag.back() != '/' && !alone.contains(name)) open.push_back(name);
  return "";
}

inline std::string check_text(std::string_view text) {
  static const std::regex entity("&(amp|lt|gt|quot|#39);.*");
  for (std::size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
    if (!std::regex_match(std::string(text.substr(at, 7)), entity)) return "a bare &: " + std::string(text);
  }
  return text.find('>') == std::string_view::npos ? "" : "a bare >: " + std::string(text);
}

/// Empty: it is well formed.
inline std::string check_markup(const std::string& page) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t begin = std::min(page.find('<', at), page.size());
    const bool verbatim = !open.empty() && (open.back() == "script" || open.back() == "style");
    const std::string end_tag = verbatim ? "</" + open.back() + ">" : "";
    if (verbatim) {
      at = page.find(end_tag, at);
      if (at == std::string::npos) return "an endless " + open.back();
      at += end_tag.size();
      open.pop_back();
      continue;
    }
    if (std::string wrong = check_text(std::string_view(page).substr(at, begin - at)); !wrong.empty()) return wrong;
    if (begin == page.size()) break;
    const std::size_t end = page.find('>', begin);
    if (end == std::string::npos) return "an endless tag";
    if (std::string wrong = check_tag(page.substr(begin + 1, end - begin - 1), open); !wrong.empty()) return wrong;
    at = end + 1;
  }
  return open.empty() ? "" : "still open: " + open.back();
}

inline std::string unescaped(std::string text) {
  for (const auto& [from, to] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}}) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; ++at)
      text.replace(at, std::string(from).size(), to);
  }
  return text;
}

inline std::string percent_decoded(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
    } else {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    }
  }
  return out;
}

/// The figure with this caption, the nth of them.
inline std::string figure_of(const std::string& page, const std::string& caption, int nth = 0) {
  std::size_t at = 0;
  for (int i = 0; i <= nth; ++i) at = page.find("<figcaption>" + caption + "</figcaption>", at + 1);
  return at == std::string::npos ? "" : page.substr(at, page.find("</figure>", at) - at);
}

inline std::vector<std::vector<std::string>> data_of(const std::string& figure) {
  const std::string before = "<pre>";
  const std::size_t begin = figure.find(before) + before.size();
  return read_csv(unescaped(figure.substr(begin, figure.find("</pre>") - begin)), "figure");
}

}  // namespace hopbench
